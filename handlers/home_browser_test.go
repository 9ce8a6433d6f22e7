package handlers

import (
	"strings"
	"testing"
	"time"

	"shiftpost/db"
	"shiftpost/db/dbtest"
	"shiftpost/db/roster"
	"shiftpost/jobs/render/browsertest"
)

// fullDay fills the school with a day on which everything happens.
func (s *schoolSite) fullDay() {
	s.Helper()
	ctx := s.Context()
	for i, name := range []string{"伊藤 さくら", "加藤 誠", "勅使河原 桜子", "マリア・フェルナンデス", "田中 美咲"} {
		v := dbtest.Must(s.Store.CreateTeacher(ctx, db.TeacherEdit{ClassroomID: s.Classrooms[i%2].ID, Name: name, NoticesOn: true}))(s)
		if err := s.Store.LinkTeacher(ctx, v.ID, dbtest.LINEUserID(10+i)); err != nil {
			s.Fatal(err)
		}
		s.Teachers = append(s.Teachers, dbtest.Must(s.Store.Teacher(ctx, v.ID))(s))
	}
	s.exec(`UPDATE teachers SET blocked = 1 WHERE name = '田中 美咲'`)
	for i := range s.Teachers {
		for day := 11 + i; day < 31; day += 4 {
			s.Confirm(s, i, day, []string{"17-2130", "16:30-20", "22-25"}[day%3])
		}
	}
	s.Draft(s, 0, 26, "17-2130")
	s.Publish(s)
	s.send1()
	moved := s.Confirm(s, 1, 9, "13-18")
	s.Confirm(s, 3, 8, "16:30-20:00")
	s.send1()
	s.Confirm(s, 4, 8, "16:30-20:00")
	s.finish(refused)
	s.Confirm(s, 0, 8, "17-2130")
	s.Confirm(s, 5, 8, "17-2130")
	s.Confirm(s, 7, 8, "17-2130")
	s.Confirm(s, 2, 8, "22-25")
	s.Confirm(s, 6, 9, "10-15")
	s.Confirm(s, 4, 9, "10-15")
	s.change(moved, "13-19")
	s.Draft(s, 3, 10, "10-15")
	next := roster.Month{Year: 2027, Month: time.February}
	for day := range 20 {
		e := s.Edit(s, day%8, 1, "17-2130")
		e.Date = next.First().AddDays(day)
		dbtest.Must(s.Store.AddShift(ctx, e, roster.ShiftDraft))(s)
	}
	if err := s.Store.RecordQuota(ctx, db.QuotaReading{Limited: true, Limit: 200, Used: 150}); err != nil {
		s.Fatal(err)
	}
	for name, n := range map[string]int{"reminders": 2, "recovery": 0, "quota": 1} {
		if err := s.Store.RecordSweep(ctx, name, s.Store.Now(), n, nil); err != nil {
			s.Fatal(err)
		}
	}
}

func TestHomeFitsEveryWindowAndReader(t *testing.T) {
	t.Parallel()
	quiet, full := newSchool(t), newSchool(t)
	full.fullDay()
	browsertest.Start(t) // so that one Chrome lasts for all windows
	for _, c := range []struct {
		name          string
		width, height int
		dark, english bool
	}{
		{"home-desktop", 1280, 900, false, false},
		{"home-desktop-dark", 1280, 900, true, false},
		{"home-desktop-en", 1280, 900, false, true},
		{"home-phone", 360, 740, false, false},
		{"home-phone-en-dark", 360, 740, true, true},
		{"home-zoomed", 320, 256, false, true}, // 1280 × 1024 at 400 %
	} {
		t.Run(c.name, func(t *testing.T) {
			for name, s := range map[string]*schoolSite{"": full, "-quiet": quiet} {
				w := s.open(t, c.width, c.height)
				w.name = c.name + name
				if c.dark {
					w.Dark()
				}
				w.to("/session/new")
				if c.english {
					w.ClickOn(`form[action="/language"] button`)
					w.Sees("Sign in")
				}
				w.enter()
				w.suitsAt("/")
				if s == full {
					w.suitsAt(s.month() + "/publications/new?wait")
				}
			}
		})
	}
}

func TestHomeFollowsByItself(t *testing.T) {
	t.Parallel()
	s := newSchool(t)
	s.Confirm(t, 0, 8, "16:30-20:00")
	w := s.open(t, 1280, 900)
	w.enter()
	w.to("/")
	w.Sees("待ち")
	// The page asks every 20 seconds; the test does so at once.
	poll := func() {
		t.Helper()
		w.Script(`htmx.ajax("GET", document.getElementById("home").getAttribute("hx-get"), {source: "#home", target: "#home", swap: "outerHTML"})`)
	}
	w.Script(`document.getElementById("home").seenBefore = true`)
	s.Clock.Advance(time.Minute)
	poll()
	w.Sees("14:33 現在")
	if !browsertest.Value[bool](w.Tab, `document.getElementById("home").seenBefore === true`) {
		t.Error("a page without news was drawn anew")
	}
	s.send1()
	poll()
	w.Sees("送信済 14:33")
	if got := browsertest.Value[string](w.Tab, `document.querySelectorAll("#home").length + " " + document.querySelectorAll("#home-now").length`); got != "1 1" {
		t.Errorf("after a swap there are %s of home and its time", got)
	}
	if broken := browsertest.Value[string](w.Tab, `document.getElementById("alerts").textContent`); strings.TrimSpace(broken) != "" {
		t.Errorf("the page shows %s", broken)
	}
}
