package handlers

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"shiftpost/db/dbtest"
)

// troubled is a school in which messages failed in many ways and nothing is sent at present.
func troubled(t *testing.T) *schoolSite {
	t.Helper()
	s, _ := announced(t)
	s.exhaust() // 1: an announcement, out of tries, whose key runs out
	s.later(24 * time.Hour)
	s.Confirm(t, 0, 9, "19-21")
	s.finish(refused) // 2: a reminder, refused
	s.Confirm(t, 1, 9, "19-21")
	s.finish(noAnswer) // 3: a reminder that waits to be retried
	_, room, teacher := s.elsewhere()
	if err := s.Store.LinkTeacher(t.Context(), teacher.ID, dbtest.LINEUserID(9)); err != nil {
		t.Fatal(err)
	}
	if err := s.Store.SetNotices(t.Context(), teacher.ID, true); err != nil {
		t.Fatal(err)
	}
	e := s.Edit(t, 0, 9, "18-21:30")
	e.TeacherID, e.ClassroomID = teacher.ID, room.ID
	dbtest.Must(s.Store.AddShift(t.Context(), e, "confirmed"))(t)
	s.finish(forbidden) // 4: a reminder that met a hold
	s.Confirm(t, 0, 9, "17:45-18:45")
	for name, n := range map[string]int{"reminders": 3, "recovery": 0} {
		if err := s.Store.RecordSweep(t.Context(), name, n, nil); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func TestScreensOfTroubleFitEveryWindowAndReader(t *testing.T) {
	t.Parallel()
	s := troubled(t)
	browser := chrome(t)
	for _, c := range []struct {
		name          string
		width, height int
		scheme        string
		language      string
	}{
		{"desktop", 1280, 900, "light", "ja"},
		{"desktop-en-dark", 1280, 900, "dark", "en"},
		{"phone-dark", 360, 740, "dark", "ja"},
		{"zoomed", 320, 256, "light", "en"}, // 1280 × 1024 at 400 %
	} {
		t.Run(c.name, func(t *testing.T) {
			w := s.open(t, browser, c.width, c.height, c.scheme)
			w.to("/session/new")
			if c.language == "en" {
				w.press(`form[action="/language"] button`, "Sign in")
			}
			w.enter()
			for _, path := range []string{"/deliveries", "/deliveries?state=failed", "/deliveries/1", "/deliveries/1/retries/new", "/deliveries/2", "/deliveries/3", "/deliveries/4", "/deliveries/5",
				"/retries/new?code=HTTP_400", "/retries/new?code=TIMEOUT", "/publications/1", "/publications/1/deliveries/new", s.publishing(), "/channel"} {
				w.to(path)
				w.fits(c.name + strings.NewReplacer("/", "-", "?", "-", "&", "-", "=", "-").Replace(path))
			}
			w.to("/deliveries/1")
			w.do(chromedp.Evaluate[chromedp.Void](`document.querySelector("[data-opens]").click()`))
			w.until(`document.getElementById("new-key").open`)
			if focus := ask[string](w, `document.activeElement.getAttribute("href")`); focus != "/deliveries/1" {
				t.Errorf("the focus is on %s, not on the safe answer", focus)
			}
			w.fits(c.name + "-new-key")
		})
	}
}
