package handlers

import (
	"testing"
	"time"

	"shiftpost/db/dbtest"
	"shiftpost/jobs/render/browsertest"
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
		if err := s.Store.RecordSweep(t.Context(), name, s.Store.Now(), n, nil); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func TestScreensOfTroubleFitEveryWindowAndReader(t *testing.T) {
	t.Parallel()
	s := troubled(t)
	s.everyWindow(func(t *testing.T, w *window) {
		w.enter()
		w.suitsAt("/deliveries", "/deliveries?state=failed", "/deliveries/1", "/deliveries/1/retries/new", "/deliveries/2", "/deliveries/3", "/deliveries/4", "/deliveries/5",
			"/retries/new?code=HTTP_400", "/retries/new?code=TIMEOUT", "/publications/1", "/publications/1/deliveries/new", s.publishing(), "/channel")
		w.to("/deliveries/1")
		w.Script(`document.querySelector("[data-opens]").click()`)
		w.Until(`document.getElementById("new-key").open`)
		if focus := browsertest.Value[string](w.Tab, `document.activeElement.getAttribute("href")`); focus != "/deliveries/1" {
			t.Errorf("the focus is on %s, not on the safe answer", focus)
		}
		w.suits("new-key")
	})
}
