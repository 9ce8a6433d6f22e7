package handlers

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"shiftpost/db/dbtest"
	"shiftpost/db/roster"
)

// typed is the form that adds a shift of a teacher by index.
func (s *schoolSite) typed(teacher, day int, times string, pairs ...string) map[string][]string {
	return with(fields(pairs...), "teacher", itoa(s.Teachers[teacher].ID), "date", s.day(day), "times", times, "classroom", itoa(s.Teachers[teacher].ClassroomID))
}

func TestShiftIsAddedFromACell(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, state, said, mark string }{
		{"as a draft", "draft", "佐藤 花子さん 1/12(火) 17:00–21:30 を下書きで追加しました。", "下書き"},
		{"confirmed", "confirmed", "佐藤 花子さん 1/12(火) 17:00–21:30 を確定で追加しました。", "確定"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newSchool(t)
			s.get(s.month()+"/shifts/new?teacher=1&date="+s.day(12)).contains("<h1>佐藤 花子 1/12(火)</h1>", "下書きで追加", "確定で追加", "保存せずに戻る")
			a := s.post(s.month()+"/shifts", s.typed(0, 12, "17-2130", "state", c.state, "note", "鍵を持つ"))
			s.follow(a.wantRedirect(s.month()+"?day="+s.day(12))).contains(c.said, "17:00–21:30 駅前教室 "+c.mark)
			all := s.shifts()
			if len(all) != 1 || string(all[0].State) != c.state || all[0].Note != "鍵を持つ" {
				t.Errorf("stored %+v", all)
			}
		})
	}
}

func TestShiftSavedAboveTheGridDrawsTheGridAnewAndNamesTheCell(t *testing.T) {
	t.Parallel()
	s := newSchool(t)
	s.get(s.month()+"/shifts/new?teacher=1&date="+s.day(12), s.byHTMX()...).
		contains(`hx-post="/groups/1/months/2027-01/shifts"`, `hx-target="#shift-panel"`, `data-closes`, "佐藤 花子 1/12(火)").lacks("<html", "<h1>")
	a := s.post(s.month()+"/shifts", s.typed(0, 12, "17-2130", "state", "draft"), s.byHTMX()...).wantStatus(http.StatusOK).
		contains(`id="month"`, `<div id="month-said" hx-swap-oob="innerHTML">`, "下書きで追加しました。").lacks("<html")
	for name, want := range map[string]string{"HX-Retarget": "#month", "HX-Reswap": "outerHTML", "HX-Trigger-After-Swap": `{"shift-saved":{"cell":"1-2027-01-12"}}`} {
		if got := a.header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	s.get(s.month()).lacks("下書きで追加しました。")
}

func TestShiftTakesThePatternUnlessOtherTimesWereTyped(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, times, shown, pattern, want string }{
		{"only the pattern", "", "", "1", "17:00–21:30"},
		{"only typed", "10-12", "", "", "10:00–12:00"},
		{"the script wrote the pattern's times", "17:00–21:30", "", "1", "17:00–21:30"},
		{"typed, the pattern left over", "10-12", "17:00–21:30", "1", "10:00–12:00"},
		{"the pattern, what was filled in left over", "10:00–12:00", "10:00–12:00", "1", "17:00–21:30"},
		{"a pattern that is not there", "10-12", "10-12", "9", "10:00–12:00"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newSchool(t)
			s.pattern()
			s.post(s.month()+"/shifts", s.typed(0, 12, c.times, "shown_times", c.shown, "pattern", c.pattern, "state", "draft")).wantStatus(http.StatusSeeOther)
			if got := s.shifts()[0].Times.String(); got != c.want {
				t.Errorf("stored %s, want %s", got, c.want)
			}
		})
	}
}

func TestBadShiftComesBackWithItsMessageAndNothingIsStored(t *testing.T) {
	t.Parallel()
	s := newSchool(t)
	left := s.Teachers[2]
	if err := s.Store.ArchiveTeacher(t.Context(), left.ID); err != nil {
		t.Fatal(err)
	}
	if err := s.Store.ArchiveClassroom(t.Context(), s.Classrooms[1].ID); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, field, value, message string }{
		{"no times", "times", "", "時間を入力してください。"},
		{"one time", "times", "17:00", "始めと終わりの時刻を 17:00-21:30 のように入力してください。"},
		{"minutes", "times", "25:70-26:00", "分は00から59までで入力してください。"},
		{"order", "times", "21-17", "終わりの時刻は、始めより後にしてください。"},
		{"late", "times", "22-31", "時刻は30:00までで入力してください。"},
		{"long note", "note", strings.Repeat("長", 201), "メモは200文字までで入力してください。"},
		{"no teacher", "teacher", "", "講師を選んでください。"},
		{"teacher who left", "teacher", itoa(left.ID), "髙橋 健太さんは退職しているため、選べません。"},
		{"no classroom", "classroom", "", "教室を選んでください。"},
		{"classroom no longer used", "classroom", itoa(s.Classrooms[1].ID), "本町教室は利用を終えているため、選べません。"},
		{"no date", "date", "", "日付を 2027-01-08 のように入力してください。"},
		{"a date that does not exist", "date", "2027-01-32", "日付を 2027-01-08 のように入力してください。"},
		{"a date long ago", "date", "1927-01-12", "日付を 2027-01-08 のように入力してください。"},
	} {
		for name, headers := range map[string][]string{"page": nil, "above the grid": s.byHTMX()} {
			form := s.typed(0, 12, "17-2130", "state", "draft", "note", "メモの言葉")
			form[c.field] = []string{c.value}
			a := s.post(s.month()+"/shifts", form, headers...).wantStatus(http.StatusUnprocessableEntity).contains(c.message, `aria-invalid="true"`)
			if c.field != "note" {
				a.contains(`value="メモの言葉"`)
			}
			if c.field != "times" {
				a.contains(`value="17-2130"`)
			}
			if headers == nil {
				a.contains("<title>エラー：")
			} else {
				a.contains(`hx-target="#shift-panel"`).lacks("<html")
			}
			if t.Failed() {
				t.Fatalf("%s, %s", c.name, name)
			}
		}
	}
	s.post(s.month()+"/shifts", s.typed(0, 12, "17-2130", "state", "deleted")).wantStatus(http.StatusBadRequest)
	if all := s.shifts(); len(all) != 0 {
		t.Errorf("stored %+v", all)
	}
}

func TestOverlapNamesTheOtherShiftAndTheWayOut(t *testing.T) {
	t.Parallel()
	s := newSchool(t)
	other := s.Edit(t, 0, 20, "19-21:30")
	other.ClassroomID = s.Classrooms[1].ID
	dbtest.Must(s.Store.AddShift(t.Context(), other, roster.ShiftConfirmed))(t)
	s.Confirm(t, 0, 22, "22-25")
	for _, c := range []struct {
		day            int
		times, message string
	}{
		{20, "17-2130", "本町教室の 19:00–21:30 と重なります。19:00までにするか、本町教室のシフトを先に消してください。"},
		{20, "20-23", "本町教室の 19:00–21:30 と重なります。21:30からにするか、本町教室のシフトを先に消してください。"},
		{20, "20-21", "本町教室の 19:00–21:30 と重なります。本町教室のシフトを先に変えるか、消してください。"},
		{23, "0:30-3", "1/22(金) 駅前教室の 22:00–翌1:00 と重なります。1:00からにするか、"},
	} {
		s.post(s.month()+"/shifts", s.typed(0, c.day, c.times, "state", "draft")).wantStatus(http.StatusUnprocessableEntity).contains(c.message, `id="times-error"`)
	}
	s.get(s.month()+"/shifts/new?teacher=1&date="+s.day(20)).contains("この日のほかのシフト", "19:00–21:30", "本町教室", `href="/shifts/1/edit"`)
	s.post(s.month()+"/shifts", s.typed(0, 20, "17-19", "state", "draft")).wantStatus(http.StatusSeeOther)
}

func TestShiftsOfOtherPlacesAreNotFound(t *testing.T) {
	t.Parallel()
	s := newSchool(t)
	g, room, _ := s.elsewhere()
	x := s.Confirm(t, 0, 12, "10-12")
	gone := s.Confirm(t, 1, 12, "10-12")
	dbtest.Must(s.Store.MoveShift(t.Context(), gone.ID, gone.EditNumber, roster.ShiftDeleted))(t)
	edit := func(pairs ...string) map[string][]string {
		return s.typed(0, 12, "10-13", append([]string{"edit_number", itoa(x.EditNumber), "state", "draft"}, pairs...)...)
	}
	foreign := edit()
	foreign["classroom"] = []string{itoa(room.ID)}
	stranger := edit()
	stranger["teacher"] = []string{"99"}
	for _, a := range []*answer{
		s.get("/shifts/99/edit"), s.get("/shifts/x/edit"), s.get("/shifts/0/edit"), s.get("/shifts/" + itoa(gone.ID) + "/edit"),
		s.put("/shifts/99", edit()), s.del("/shifts/x"), s.post("/shifts/99/confirmation", edit()),
		s.put("/shifts/"+itoa(x.ID), foreign), s.put("/shifts/"+itoa(x.ID), stranger),
		s.post(s.month()+"/shifts", foreign), s.post(s.month()+"/shifts", stranger),
		s.get(s.month() + "/shifts/new?teacher=99"), s.get(s.month() + "/shifts/new?teacher=x"), s.get(s.month() + "/shifts/new?date=x"),
		s.post("/groups/"+itoa(g.ID)+"/months/2027-01/shifts", edit()),
	} {
		a.wantStatus(http.StatusNotFound).contains("このページは見つかりません")
	}
	s.put("/shifts/"+itoa(x.ID), s.typed(0, 12, "10-13")).wantStatus(http.StatusBadRequest)
	if got := s.shift(x.ID); got.EditNumber != x.EditNumber {
		t.Errorf("the shift was changed to %+v", got)
	}
}

func TestShiftIsChangedAndMoved(t *testing.T) {
	t.Parallel()
	s := newSchool(t)
	x := s.Confirm(t, 0, 12, "10-12")
	path := "/shifts/" + itoa(x.ID)
	s.get(path+"/edit").contains(`value="10:00–12:00"`, "下書きに戻す", "消す", "ほかの講師・ほかの日に移す", `name="edit_number" value="1"`).lacks("確定する<")
	s.follow(s.put(path, s.typed(0, 12, "10-13", "edit_number", "1"))).contains("佐藤 花子さん 1/12(火) 10:00–13:00 を保存しました。")
	s.follow(s.put(path, s.typed(0, 12, "10-13", "edit_number", "2"))).contains("変わっていません。")
	moved := s.typed(1, 15, "10-13", "edit_number", "2")
	s.follow(s.put(path, moved).wantRedirect(s.month() + "?day=" + s.day(15))).contains("鈴木 一郎さん 1/15(金) 10:00–13:00 を保存しました。")
	if got := s.shift(x.ID); got.TeacherID != s.Teachers[1].ID || got.Date.Day != 15 || got.State != roster.ShiftConfirmed {
		t.Errorf("stored %+v", got)
	}
}

func TestConfirmingAShiftSavesWhatTheFormShows(t *testing.T) {
	t.Parallel()
	s := newSchool(t)
	x := s.Draft(t, 0, 12, "10-12")
	path := "/shifts/" + itoa(x.ID)
	s.follow(s.post(path+"/confirmation", s.typed(0, 12, "10-13", "edit_number", "1"))).contains("1/12(火) 10:00–13:00 を確定しました。")
	if got := s.shift(x.ID); got.State != roster.ShiftConfirmed || got.Times.String() != "10:00–13:00" {
		t.Errorf("stored %+v", got)
	}
	s.post(path+"/confirmation", with(s.typed(0, 12, "x", "edit_number", "3"), "_method", "DELETE")).wantStatus(http.StatusUnprocessableEntity)
	s.follow(s.post(path+"/confirmation", fields("edit_number", "3", "_method", "DELETE"))).contains("下書きに戻しました。")
	if got := s.shift(x.ID); got.State != roster.ShiftDraft || got.Times.String() != "10:00–13:00" {
		t.Errorf("stored %+v", got)
	}
}

func TestDeletedShiftCanBeTakenBack(t *testing.T) {
	t.Parallel()
	s := newSchool(t)
	x := s.Confirm(t, 0, 12, "22-25")
	a := s.post("/shifts/"+itoa(x.ID), fields("_method", "DELETE", "edit_number", "1"), s.byHTMX()...).
		contains("佐藤 花子さん 1/12(火) 22:00–翌1:00 を消しました。", "元に戻す", `name="times" value="22:00–25:00"`, `name="state" value="confirmed"`)
	if s.shift(x.ID).State != roster.ShiftDeleted {
		t.Fatal("the shift is still there")
	}
	form := map[string][]string{}
	for _, input := range strings.Split(a.body[strings.Index(a.body, "undo-bar"):], "<input ")[1:] {
		name, rest, _ := strings.Cut(strings.TrimPrefix(input, `type="hidden" name="`), `" value="`)
		value, _, _ := strings.Cut(rest, `"`)
		form[name] = []string{value}
	}
	s.post(s.month()+"/shifts", form, s.byHTMX()...).wantStatus(http.StatusOK)
	all := s.shifts()
	if len(all) != 1 || all[0].ID == x.ID || all[0].Work() != x.Work() || all[0].State != roster.ShiftConfirmed {
		t.Errorf("taken back as %+v", all)
	}
	s.follow(s.post("/shifts/"+itoa(all[0].ID), fields("_method", "DELETE", "edit_number", "1"))).contains("を消しました。").lacks("元に戻す")
}

func TestOvertakenShiftShowsTheLatestAndKeepsWhatWasTyped(t *testing.T) {
	t.Parallel()
	s := newSchool(t)
	x := s.Draft(t, 0, 12, "10-12")
	path := "/shifts/" + itoa(x.ID)
	s.Clock.Advance(time.Minute)
	dbtest.Must(s.Store.ChangeShift(t.Context(), x.ID, x.EditNumber, s.Edit(t, 0, 12, "18-2130")))(t)
	for _, a := range []*answer{
		s.put(path, s.typed(0, 12, "10-15", "edit_number", "1", "note", "入力したメモ")),
		s.put(path, s.typed(0, 12, "10-15", "edit_number", "1", "note", "入力したメモ"), s.byHTMX()...),
		s.post(path+"/confirmation", s.typed(0, 12, "10-15", "edit_number", "1", "note", "入力したメモ")),
	} {
		a.wantStatus(http.StatusConflict).contains("ほかの人が 14:33 に変更しました。", "18:00–21:30", `value="10-15"`, `value="入力したメモ"`, `name="edit_number" value="2"`)
	}
	s.post(path, fields("_method", "DELETE", "edit_number", "1")).wantStatus(http.StatusConflict).contains("ほかの人が 14:33 に変更しました。")
	s.put(path, s.typed(0, 12, "10-15", "edit_number", "2")).wantStatus(http.StatusSeeOther)
}

func TestShiftDeletedMeanwhileIsSaidSo(t *testing.T) {
	t.Parallel()
	s := newSchool(t)
	x := s.Draft(t, 0, 12, "10-12")
	dbtest.Must(s.Store.MoveShift(t.Context(), x.ID, x.EditNumber, roster.ShiftDeleted))(t)
	path := "/shifts/" + itoa(x.ID)
	for _, headers := range [][]string{nil, s.byHTMX()} {
		s.put(path, s.typed(0, 12, "10-15", "edit_number", "1"), headers...).wantStatus(http.StatusConflict).
			contains("このシフトは消されました", "ほかの人が 14:32 に 1/12(火) 10:00–12:00 のシフトを消しました。")
	}
}

func TestFormAsksForTeacherAndDayWhereNoCellGaveThem(t *testing.T) {
	t.Parallel()
	s := newSchool(t)
	_, _, helper := s.elsewhere()
	s.get(s.month()+"/shifts/new?date="+s.day(14)).contains("<h1>シフトを追加</h1>", "選んでください", `type="date"`, `value="2027-01-14"`, helper.Name, "佐藤 花子")
	form := s.typed(0, 14, "x", "state", "draft", "choose", "true")
	s.post(s.month()+"/shifts", form).wantStatus(http.StatusUnprocessableEntity).contains("<h1>シフトを追加</h1>", `type="date"`)
	form["times"] = []string{"10-12"}
	form["date"] = []string{"2027-03-01"}
	s.post(s.month()+"/shifts", form).wantRedirect("/groups/1/months/2027-03?day=2027-03-01")
}
