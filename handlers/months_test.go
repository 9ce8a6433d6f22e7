package handlers

import (
	"net/http"
	"strings"
	"testing"

	"shiftpost/db"
	"shiftpost/db/dbtest"
	"shiftpost/db/roster"
)

func TestMonthShowsShiftsAndWhatChangedSinceItsNewestPublication(t *testing.T) {
	t.Parallel()
	s := newSchool(t)
	s.pattern()
	moved := s.Confirm(t, 0, 12, "17-2130")
	s.Confirm(t, 1, 13, "17-2130")
	gone := s.Confirm(t, 2, 14, "10-15")
	s.get(s.month()).contains("公開へ進む", "確定 <strong>3件</strong>", `>佐藤 花子 1月12日(火) 夕 17:00–21:30 駅前教室 確定</span>`).lacks("★", "下書き1件", "変更1件")

	s.Publish(t)
	s.get(s.month()).contains("公開済み（第1版）を見る").lacks("公開へ進む")

	dbtest.Must(s.Store.ChangeShift(t.Context(), moved.ID, moved.EditNumber, s.Edit(t, 0, 12, "16:30-20")))(t)
	dbtest.Must(s.Store.MoveShift(t.Context(), gone.ID, gone.EditNumber, roster.ShiftDeleted))(t)
	s.Draft(t, 1, 20, "22-25")
	s.get(s.month()).contains(
		"公開へ進む（変更2件）", "下書き1件を確定", "★ 公開後の変更 2件",
		`>佐藤 花子 1月12日(火) 16:30–20:00 駅前教室 変更</span>`, "16半",
		`>髙橋 健太 1月14日(木) 10:00–15:00 本町教室 取消</span>`,
		`>鈴木 一郎 1月20日(水) 22:00–翌1:00 駅前教室 下書き</span>`, "翌1",
		`<span class="third">下書</span>`,
	)
}

func TestMonthMarksWeekendsAndHolidaysInWords(t *testing.T) {
	t.Parallel()
	s := newSchool(t)
	s.get(s.month()).contains("金祝", "月祝", "1/1(金) 元日、1/11(月) 成人の日", "day-saturday", "day-sunday")
	s.get(s.month(), "Accept-Language", "en").contains("Fri 1 Jan New Year&#39;s Day", "January 2027")
}

func TestMonthCountsPeopleByDayAndHoursByTeacher(t *testing.T) {
	t.Parallel()
	s := newSchool(t)
	_, room, _ := s.elsewhere()
	s.Confirm(t, 0, 12, "10-12:30")
	s.Draft(t, 0, 12, "13-15")
	s.Confirm(t, 1, 12, "10-12")
	away := s.Edit(t, 1, 15, "10-12")
	away.ClassroomID = room.ID
	dbtest.Must(s.Store.AddShift(t.Context(), away, roster.ShiftConfirmed))(t)
	body := s.get(s.month()).body
	row := func(name string) string {
		t.Helper()
		_, after, ok := strings.Cut(body, `<span class="name-wraps">`+name)
		if !ok {
			t.Fatalf("no row of %s", name)
		}
		before, _, _ := strings.Cut(after, "</tr>")
		return before
	}
	for name, want := range map[string][]string{"佐藤 花子": {"<strong>4.5</strong>", "1日"}, "鈴木 一郎": {"<strong>4</strong>", "2日", "shift-foreign", "港"}} {
		for _, w := range want {
			if !strings.Contains(row(name), w) {
				t.Errorf("the row of %s lacks %q: %s", name, w, row(name))
			}
		}
	}
	_, foot, _ := strings.Cut(body, "<tfoot>")
	foot, _, _ = strings.Cut(foot, "</tfoot>")
	cells := strings.Split(foot, "<td")
	if !strings.Contains(cells[12], ">2") {
		t.Errorf("two people work on the 12th: %s", cells[12])
	}
	if strings.ContainsAny(cells[15], "123456789") {
		t.Errorf("nobody works in the group on the 15th: %s", cells[15])
	}
}

func TestHelperOfAnotherGroupHasARowOfTheirOwnSection(t *testing.T) {
	t.Parallel()
	s := newSchool(t)
	_, _, helper := s.elsewhere()
	s.get(s.month()).lacks("ほかのグループの講師", helper.Name)
	e := s.Edit(t, 0, 12, "10-12")
	e.TeacherID = helper.ID
	dbtest.Must(s.Store.AddShift(t.Context(), e, roster.ShiftConfirmed))(t)
	s.get(s.month()).contains("ほかのグループの講師", helper.Name)
}

func TestEmptyMonthSaysSoAndHowToBegin(t *testing.T) {
	t.Parallel()
	s := newSchool(t)
	s.get(s.month()).contains("1月のシフトはまだありません。", "確定したシフトがまだありません")
	s.Draft(t, 0, 12, "10-12")
	s.get(s.month()).lacks("1月のシフトはまだありません。")
	g := dbtest.Must(s.Store.CreateGroup(t.Context(), db.GroupEdit{Name: "新しいグループ", LeadMinutes: 120}))(t)
	s.get("/groups/"+itoa(g.ID)+"/months/2027-01").contains("まだ講師がいません", `href="/classrooms/new"`)
}

func TestMonthThatDoesNotExistIsSaidPlainly(t *testing.T) {
	t.Parallel()
	s := newSchool(t)
	for _, m := range []string{"2026-13", "2026-00", "2026-1", "1999-01", "2050-01", "janvier", "2027-01-01"} {
		for _, page := range []string{"", "/shifts/new", "/publications/new"} {
			s.get("/groups/1/months/" + m + page).wantStatus(http.StatusNotFound).contains("この月は開けません")
		}
	}
	s.get("/groups/9/months/2027-01").wantStatus(http.StatusNotFound).contains("このページは見つかりません")
	s.get("/groups/1/months/2020-01").wantStatus(http.StatusOK).lacks("2019")
	s.get("/groups/1/months/2049-12").wantStatus(http.StatusOK).lacks("2050")
}

func TestNarrowWindowShowsTheDayOfTheAddress(t *testing.T) {
	t.Parallel()
	s := newSchool(t)
	s.Confirm(t, 0, 14, "18-2130")
	s.Draft(t, 2, 14, "10-12")
	phone := func(query string) *answer {
		t.Helper()
		a := s.get(s.month() + query)
		_, a.body, _ = strings.Cut(a.body, `class="month-phone"`)
		return a
	}
	phone("?day="+s.day(14)).contains("1/14(木)", "2名", "佐藤 花子", "18:00–21:30", "下書き", `href="/groups/1/months/2027-01?day=2027-01-21"`, "date="+s.day(14))
	phone("").contains("1/8(金)", "この日のシフトはありません")
	for _, wrong := range []string{"?day=2027-02-01", "?day=14", "?day="} {
		phone(wrong).wantStatus(http.StatusOK).contains("1/8(金)")
	}
	phone("?day="+s.day(1)).contains("元日", `href="/groups/1/months/2026-12?day=2026-12-28"`)
}

func TestAllDraftsOfAMonthAreConfirmedAtOnce(t *testing.T) {
	t.Parallel()
	s := newSchool(t)
	g, room, teacher := s.elsewhere()
	s.Draft(t, 0, 12, "10-12")
	s.Draft(t, 1, 13, "10-12")
	february := s.Edit(t, 0, 12, "10-12")
	february.Date = s.Month.Add(1).First()
	other := dbtest.Must(s.Store.AddShift(t.Context(), february, roster.ShiftDraft))(t)
	e := s.Edit(t, 0, 12, "10-12")
	e.TeacherID, e.ClassroomID = teacher.ID, room.ID
	foreign := dbtest.Must(s.Store.AddShift(t.Context(), e, roster.ShiftDraft))(t)

	s.follow(s.post(s.month()+"/confirmations", nil).wantRedirect(s.month())).contains("2件を確定しました。", "確定 <strong>2件</strong>").lacks("を確定</span>")
	s.follow(s.post(s.month()+"/confirmations", nil)).contains("確定する下書きはありませんでした。")
	for _, x := range []roster.Shift{other, foreign} {
		if s.shift(x.ID).State != roster.ShiftDraft {
			t.Errorf("shift %d of another month or group was confirmed", x.ID)
		}
	}
	s.post(s.month()+"/confirmations", fields("return", s.month()+"/publications/new")).wantRedirect(s.month() + "/publications/new")
	s.post(s.month()+"/confirmations", fields("return", "//evil.example/")).wantRedirect("/")
	s.post("/groups/"+itoa(g.ID)+"/months/2027-13/confirmations", nil).wantStatus(http.StatusNotFound)
}
