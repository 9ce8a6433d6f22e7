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
