package main

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"shiftpost/db/roster"
	"shiftpost/jobs/render/browsertest"
	"shiftpost/views"
)

// quietDay is the next Sunday, on which nobody of the sample school works, at a time of day.
func (s *demoStory) quietDay() func(clock string) time.Time {
	loc := s.app.store.Location()
	day := roster.DateOf(s.clock.Now(), loc).AddDays(1)
	for day.Weekday() != time.Sunday {
		day = day.AddDays(1)
	}
	return func(clock string) time.Time {
		at, err := time.ParseInLocation("2006-01-02 15:04", day.String()+" "+clock, loc)
		if err != nil {
			panic(err)
		}
		return at
	}
}

// setClock moves the clock that the site, the runner, the sweeps and LINE share.
func (s *demoStory) setClock(t *testing.T, to time.Time) {
	t.Helper()
	if err := s.clock.Set(to); err != nil {
		t.Fatal(err)
	}
}

// pastUndo lets the undo window pass.
func (s *demoStory) pastUndo(t *testing.T) {
	t.Helper()
	if err := s.clock.Advance(30 * time.Second); err != nil {
		t.Fatal(err)
	}
}

// phone opens the chat of a person with the school's account.
func (s *demoStory) phone(t *testing.T, browser *browsertest.Browser, name string) *browsertest.Tab {
	t.Helper()
	user := s.userID(t, name)
	tab := browser.Tab(t, 390, 844)
	tab.Open(s.opened.Simulator + "?" + url.Values{"chat": {user}, "as": {user}}.Encode())
	return tab
}

func TestStoryATeacherIsRemindedAndToldOfEveryChange(t *testing.T) {
	t.Parallel()
	s := startStory(t)
	clock := s.quietDay()
	s.setClock(t, clock("10:00"))
	admin, err := s.app.store.AdminByEmail(t.Context(), sampleEmail)
	if err != nil {
		t.Fatal(err)
	}
	groups, err := s.app.store.Groups(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	teachers, err := s.app.store.Teachers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	first, second := teachers[0], teachers[1] // 佐藤 花子, 鈴木 一郎
	day := roster.DateOf(s.clock.Now(), s.app.store.Location())
	month := s.opened.Admin + views.MonthPath(groups[0].ID, day.MonthOf())
	cell := func(v roster.Teacher) string { return fmt.Sprintf("a.cell[data-cell='%d-%s']", v.ID, day) }

	browser := browsertest.Start(t)
	desk := browser.Tab(t, 1280, 900)
	desk.Open(s.opened.Admin + s.app.auth.IssueSignInLink(admin.ID))
	desk.ClickOn("main form button")
	desk.Sees("要対応")
	hers, his := s.phone(t, browser, first.Name), s.phone(t, browser, second.Name)

	// Confirmed, and reminded of two hours before.
	desk.Open(month)
	desk.ClickOn(cell(first))
	desk.Type("#shift-panel input[name=times]", "17-2130")
	desk.Click("確定で追加")
	desk.Sees("17:00–21:30")
	s.setClock(t, clock("14:44"))
	if n := len(s.sim.Messages(first.LINEUserID)); n != 0 {
		t.Fatalf("%d messages came before the window", n)
	}
	s.setClock(t, clock("14:45"))
	hers.Sees("出勤のお知らせ")
	hers.Sees("17:00–21:30")
	hers.Shot("reminders-1-reminder")

	// Another time: the correction says before and after.
	desk.Open(month)
	desk.ClickOn(cell(first))
	desk.Type("#shift-panel input[name=times]", "18-2130")
	desk.Click("この内容で保存")
	desk.Sees("18:00–21:30")
	s.pastUndo(t)
	hers.Sees("シフトの変更")
	hers.Sees("17:00–21:30 → 18:00–21:30")
	hers.Shot("reminders-2-correction")

	// Given to somebody else inside the window: off for the first, a reminder for the second.
	s.setClock(t, clock("15:50"))
	desk.Open(month)
	desk.ClickOn(cell(first))
	desk.Click("ほかの講師・ほかの日に移す")
	browsertest.Value[bool](desk, fmt.Sprintf(`{ const s = document.querySelector("#shift-panel select[name=teacher]"); s.value = "%d"; s.dispatchEvent(new Event("change", { bubbles: true })); true }`, second.ID))
	desk.Click("この内容で保存")
	desk.Has(cell(second) + " .shift-line")
	his.Sees("出勤のお知らせ")
	his.Sees("18:00–21:30")
	s.pastUndo(t)
	hers.Sees("シフトの取消")
	hers.Shot("reminders-3-cancellation")
	his.Shot("reminders-4-reminder-of-the-second")
	if all := chatOf(s, second.LINEUserID); strings.Contains(all, first.Name) || strings.Contains(all, "取消") {
		t.Errorf("the second teacher reads\n%s", all)
	}

	// Deleted: off for the second too, and nothing more for the first.
	before := chatOf(s, first.LINEUserID)
	desk.Open(month)
	desk.ClickOn(cell(second))
	desk.Click("消す")
	desk.Sees("消しました")
	s.pastUndo(t)
	his.Sees("シフトの取消")
	his.Shot("reminders-5-cancellation-of-the-second")
	if after := chatOf(s, first.LINEUserID); after != before {
		t.Errorf("the first teacher reads more:\n%s", after)
	}
	s.sim.Assert(t)
}

// chatOf returns what the notifications of a chat say, a line each.
func chatOf(s *demoStory, user string) string {
	var all []string
	for _, m := range s.sim.Messages(user) {
		all = append(all, m.Text())
	}
	return strings.Join(all, "\n")
}
