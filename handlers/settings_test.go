package handlers

import (
	"net/http"
	"testing"
	"time"

	"shiftpost/db"
	"shiftpost/db/dbtest"
)

func TestSettingsShowHowLongBeforeAShiftPeopleAreRemindedAndHowLongAChangeWaits(t *testing.T) {
	t.Parallel()
	ts := newSite(t).signIn()
	ts.get("/settings").contains("グループはまだありません。")
	ts.school()
	ts.get("/settings").wantStatus(http.StatusOK).contains("知らせ方", "<dt>駅前・本町グループ</dt>", "2時間前", `href="/groups/1/edit#lead_minutes"`,
		"変更を知らせるまで待つ時間", `<option value="30" selected>30秒</option>`, "待たない", "10分", `name="edit_number" value="1"`)
	ts.get("/settings", "Accept-Language", "en").contains("Wait before telling of a change", `selected>30 s<`)
}

func TestTheUndoWindowIsSetWithinItsBounds(t *testing.T) {
	t.Parallel()
	ts := newSite(t).signIn()
	for i, typed := range []string{"0", "45", "600"} {
		ts.follow(ts.put("/settings", fields("edit_number", itoa(int64(i+1)), "undo_window", typed)).wantRedirect("/settings")).
			contains("知らせ方を保存しました。もう待っている知らせの時間は変わりません。", `<option value="`+typed+`" selected>`)
	}
	for _, typed := range []string{"-1", "601", "", "1.5", "x"} {
		ts.put("/settings", fields("edit_number", "4", "undo_window", typed)).wantStatus(http.StatusUnprocessableEntity).
			contains("<title>エラー：設定 - Shiftpost</title>", "待つ時間は0秒から10分までで選んでください。", `aria-invalid="true"`, `<option value="600" selected>`)
	}
	ts.put("/settings", fields("undo_window", "0")).wantStatus(http.StatusBadRequest)
	if v := dbtest.Must(ts.store.Settings(t.Context()))(t); v.UndoWindow != 10*time.Minute {
		t.Errorf("the window is %s", v.UndoWindow)
	}
}

func TestASecondAdminSeesWhatTheFirstOneSet(t *testing.T) {
	t.Parallel()
	ts := newSite(t).signIn()
	if err := ts.store.EditSettings(t.Context(), 1, db.SettingsEdit{UndoWindow: 90 * time.Second, AdminID: ts.admin.ID}); err != nil {
		t.Fatal(err)
	}
	ts.put("/settings", fields("edit_number", "1", "undo_window", "0")).wantStatus(http.StatusConflict).
		contains("ほかの人が 14:32 に変更しました。", "1分30秒", `<option value="0" selected>`, `name="edit_number" value="2"`)
	ts.put("/settings", fields("edit_number", "2", "undo_window", "0")).wantRedirect("/settings")
}

func TestSettingsShowHowLongRecordsOfWhatWasSentAreKept(t *testing.T) {
	t.Parallel()
	ts := newSite(t).signIn()
	ts.get("/settings").contains("<h2>配信の記録</h2>", "記録を残す期間", `<option value="0" selected>期限なし</option><option value="3">3か月</option><option value="6">6か月</option><option value="12">1年</option>`+
		`<option value="24">2年</option><option value="36">3年</option><option value="60">5年</option><option value="120">10年</option>`, "元に戻せません。シフトと公開した表は残ります。")
	if err := ts.store.EditRetention(t.Context(), 1, db.RetentionEdit{Months: 18, AdminID: ts.admin.ID}); err != nil {
		t.Fatal(err)
	}
	ts.get("/settings").contains(`<option value="12">1年</option><option value="18" selected>18か月</option><option value="24">2年</option>`, `name="edit_number" value="2"`)
	ts.get("/settings", "Accept-Language", "en").contains("Records of what was sent", "Keep records for", ">No limit<", ">3 months<", ">1 year<", `selected>18 months<`, ">10 years<")
}

func TestTheRetentionIsSetWithinItsBounds(t *testing.T) {
	t.Parallel()
	ts := newSite(t).signIn()
	for i, months := range []string{"3", "18", "120", "0", "36"} {
		ts.follow(ts.put("/settings/retention", fields("edit_number", itoa(int64(i+1)), "months", months)).wantRedirect("/settings")).
			contains("配信の記録を残す期間を保存しました。", `<option value="`+months+`" selected>`)
	}
	for typed, chosen := range map[string]string{"2": "2", "121": "121", "-1": "-1", "": "36", "6.5": "36", "x": "36"} {
		ts.put("/settings/retention", fields("edit_number", "6", "months", typed)).wantStatus(http.StatusUnprocessableEntity).
			contains("<title>エラー：設定 - Shiftpost</title>", "「期限なし」か、3か月から10年までの期間を選んでください。", `aria-invalid="true"`, `<option value="`+chosen+`" selected>`)
	}
	ts.put("/settings/retention", fields("edit_number", "6", "months", "2"), "Accept-Language", "en").contains("Choose “No limit”, or between 3 months and 10 years.")
	ts.put("/settings/retention", fields("months", "3")).wantStatus(http.StatusBadRequest)
	if kept := dbtest.Must(ts.store.Retention(t.Context()))(t); kept.Months != 36 {
		t.Errorf("records are kept for %d months", kept.Months)
	}
}

func TestASecondAdminSeesHowLongTheFirstOneKeepsRecords(t *testing.T) {
	t.Parallel()
	ts := newSite(t).signIn()
	if err := ts.store.EditRetention(t.Context(), 1, db.RetentionEdit{Months: 18, AdminID: ts.admin.ID}); err != nil {
		t.Fatal(err)
	}
	ts.put("/settings/retention", fields("edit_number", "1", "months", "60")).wantStatus(http.StatusConflict).
		contains("ほかの人が 14:32 に変更しました。", "<dt>記録を残す期間</dt>", "<dd>18か月</dd>", `<option value="60" selected>`, `name="edit_number" value="2"`)
	ts.put("/settings/retention", fields("edit_number", "2", "months", "60")).wantRedirect("/settings")
}

// longAgo is a school in May whose January was published and sent twice, and whose May once.
func longAgo(t *testing.T) *schoolSite {
	t.Helper()
	s := newSchool(t)
	announce := func(teacher, day int) {
		s.Confirm(t, teacher, day, "17-2130")
		s.Publish(t)
		s.send1()
	}
	announce(0, 12)
	announce(1, 13)
	s.Clock.Advance(time.Date(2027, time.May, 1, 9, 0, 0, 0, dbtest.Tokyo).Sub(s.Clock.Now()))
	s.Month = s.Month.Add(4)
	announce(0, 12)
	s.signIn()
	return s
}

func TestRecordsAreErasedOnlyAfterAQuestion(t *testing.T) {
	t.Parallel()
	s := longAgo(t)
	form := fields("edit_number", "1", "months", "3")
	s.put("/settings/retention", fields("edit_number", "1", "months", "4")).wantRedirect("/settings") // erases nothing
	form.Set("edit_number", "2")
	s.put("/settings/retention", form).wantStatus(http.StatusConflict).contains("<h1>2027年2月より前の配信の記録を消しますか</h1>",
		"配信2件の、だれに何をいつ送ったかの記録が消えます。", "消えた記録は、元に戻せません。", "シフトと公開した表は残ります。", "次の自動の見回りのとき（15分以内）に消えます。",
		`href="/settings"`, "消さずに戻る", `action="/settings/retention"`, `name="_method" value="PUT"`, `name="edit_number" value="2"`, `name="months" value="3"`,
		`name="confirmed" value="true"`, "button-danger", "2件の記録を消す")
	s.put("/settings/retention", form, "Accept-Language", "en").wantStatus(http.StatusConflict).contains("Erase the records of what was sent before February 2027?",
		"The records of 2 deliveries go", "within 15 minutes", "Erase 2 records", "Go back without erasing")
	if kept := dbtest.Must(s.Store.Retention(t.Context()))(t); kept.Months != 4 {
		t.Errorf("before it was confirmed records are kept for %d months", kept.Months)
	}
	form.Set("confirmed", "true")
	s.follow(s.put("/settings/retention", form).wantRedirect("/settings")).contains("配信の記録を残す期間を保存しました。", `<option value="3" selected>`)
	s.put("/settings/retention", form).wantStatus(http.StatusConflict).contains("ほかの人が 09:00 に変更しました。")
	if n := dbtest.Must(s.Store.Prune(t.Context()))(t); n < 2 {
		t.Errorf("%d rows went", n)
	}
	s.get("/deliveries/1").wantStatus(http.StatusNotFound)
	s.get("/deliveries/3").wantStatus(http.StatusOK)
}
