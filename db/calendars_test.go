package db_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"shiftpost/db"
	"shiftpost/db/dbtest"
	"shiftpost/db/roster"
)

func TestACalendarHasThePublishedLiveShiftsOfItsTeacher(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	ctx := t.Context()
	x := s.Confirm(t, 0, 8, "17:00-21:30")
	s.Confirm(t, 1, 8, "17:00-21:30")
	s.Confirm(t, 0, 40, "17:00-21:30") // February, never published
	token := dbtest.Must(s.Store.CreateCalendar(ctx, s.Teachers[0].ID, "ja"))(t)
	read := func() []roster.CalendarShift {
		t.Helper()
		c := dbtest.Must(s.Store.Calendar(ctx, token))(t)
		if c.Teacher.ID != s.Teachers[0].ID || c.Language != "ja" {
			t.Errorf("the calendar is of %+v", c)
		}
		return c.Shifts
	}
	if got := read(); len(got) != 0 {
		t.Errorf("before anything is published it has %+v", got)
	}
	s.Publish(t)
	if got := read(); len(got) != 1 || got[0].ID != x.ID || got[0].Classroom != "駅前教室" {
		t.Errorf("it has %+v, want the one of January", got)
	}
	s.Draft(t, 0, 9, "17:00-21:30")
	s.Confirm(t, 0, 10, "17:00-21:30")
	dbtest.Must(s.Store.MoveShift(ctx, x.ID, x.EditNumber, roster.ShiftDeleted))(t)
	if got := read(); len(got) != 1 || got[0].Date.Day != 10 {
		t.Errorf("it has %+v, want the shifts as they are now", got)
	}
	if _, err := s.Store.PublishedShift(ctx, s.Teachers[0].ID, x.ID); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("a deleted shift: %v", err)
	}
	if _, err := s.Store.PublishedShift(ctx, s.Teachers[1].ID, read()[0].ID); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("somebody else's shift: %v", err)
	}
	if got, err := s.Store.PublishedShift(ctx, s.Teachers[0].ID, read()[0].ID); err != nil || got.Date.Day != 10 {
		t.Errorf("the shift itself: %+v, %v", got, err)
	}
	s.Clock.Advance(roster.CalendarPast + 3*24*time.Hour)
	if got := read(); len(got) != 0 {
		t.Errorf("long after, it has %+v", got)
	}
}

func TestACalendarAddressEndsWhenItShould(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		end  func(*testing.T, *dbtest.School) error
	}{
		{"the teacher ends it", func(t *testing.T, s *dbtest.School) error {
			return s.Store.DeleteCalendar(t.Context(), s.Teachers[0].ID)
		}},
		{"the teacher makes another", func(t *testing.T, s *dbtest.School) error {
			_, err := s.Store.CreateCalendar(t.Context(), s.Teachers[0].ID, "ja")
			return err
		}},
		{"the teacher left", func(t *testing.T, s *dbtest.School) error {
			return s.Store.ArchiveTeacher(t.Context(), s.Teachers[0].ID)
		}},
		{"the teacher was unlinked", func(t *testing.T, s *dbtest.School) error {
			return s.Store.UnlinkTeacher(t.Context(), s.Teachers[0].ID)
		}},
		{"the teacher is linked to another LINE user", func(t *testing.T, s *dbtest.School) error {
			return s.Store.LinkTeacher(t.Context(), s.Teachers[0].ID, dbtest.LINEUserID(7))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := dbtest.NewSchool(t)
			token := dbtest.Must(s.Store.CreateCalendar(t.Context(), s.Teachers[0].ID, "ja"))(t)
			dbtest.Must(s.Store.Calendar(t.Context(), token))(t)
			if err := c.end(t, s); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Store.Calendar(t.Context(), token); !errors.Is(err, db.ErrNotFound) {
				t.Errorf("the address still answers: %v", err)
			}
		})
	}
}

func TestACalendarIsOnlyForLinkedTeachersAndItsSecretIsNotKept(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	ctx := t.Context()
	if _, err := s.Store.CreateCalendar(ctx, s.Teachers[2].ID, "ja"); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("a teacher without LINE: %v", err)
	}
	token := dbtest.Must(s.Store.CreateCalendar(ctx, s.Teachers[0].ID, "ja"))(t)
	var kept string
	if err := s.Store.SessionDB().QueryRowContext(ctx, `SELECT token_hash FROM calendars`).Scan(&kept); err != nil {
		t.Fatal(err)
	}
	if len(token) < 26 || strings.Contains(kept, token) || len(kept) != 64 {
		t.Errorf("of the secret %q it keeps %q", token, kept)
	}
	if _, err := s.Store.Calendar(ctx, kept); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("what is kept opens the calendar: %v", err)
	}
}

func TestATeacherSwitchesTheirNotices(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	ctx := t.Context()
	before := s.Teachers[0]
	for _, on := range []bool{true, false, false, true} {
		if err := s.Store.SetNotices(ctx, before.ID, on); err != nil {
			t.Fatal(err)
		}
		if got := dbtest.Must(s.Store.Teacher(ctx, before.ID))(t); got.NoticesOn != on {
			t.Errorf("the switch is %v, want %v", got.NoticesOn, on)
		}
	}
	if got := dbtest.Must(s.Store.Teacher(ctx, before.ID))(t); got.EditNumber != before.EditNumber+2 {
		t.Errorf("the edit number went from %d to %d, want one for each change", before.EditNumber, got.EditNumber)
	}
	if err := s.Store.ArchiveTeacher(ctx, before.ID); err != nil {
		t.Fatal(err)
	}
	if err := s.Store.SetNotices(ctx, before.ID, false); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("who left: %v", err)
	}
}
