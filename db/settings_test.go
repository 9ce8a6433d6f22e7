package db_test

import (
	"errors"
	"testing"
	"time"

	"shiftpost/db"
	"shiftpost/db/dbtest"
	"shiftpost/db/roster"
)

// startedWith opens a school whose program was started with that undo window.
func startedWith(t *testing.T, window time.Duration) *dbtest.School {
	t.Helper()
	return dbtest.NewSchool(t, func(o *db.Options) { o.Delivery.UndoWindow = window })
}

func TestUndoWindowIsTheOneOfTheStartUntilAnAdminSetsOne(t *testing.T) {
	t.Parallel()
	for start, want := range map[time.Duration]time.Duration{0: 30 * time.Second, -1: 0, time.Minute: time.Minute} {
		s := startedWith(t, start)
		v := dbtest.Must(s.Store.Settings(t.Context()))(t)
		if v.UndoWindow != want || !v.UpdatedAt.IsZero() {
			t.Errorf("started with %s: %+v, want %s", start, v, want)
		}
		if err := s.Store.EditSettings(t.Context(), v.EditNumber, db.SettingsEdit{UndoWindow: 2 * time.Minute, AdminID: s.Admin.ID}); err != nil {
			t.Fatal(err)
		}
		v = dbtest.Must(s.Store.Settings(t.Context()))(t)
		if v.UndoWindow != 2*time.Minute || !v.UpdatedAt.Equal(dbtest.Start) {
			t.Errorf("after it was set: %+v", v)
		}
	}
}

func TestUndoWindowStaysWithinItsBounds(t *testing.T) {
	t.Parallel()
	s := startedWith(t, 0)
	for _, window := range []time.Duration{-time.Second, roster.MaxUndoWindow + time.Second, 1500 * time.Millisecond} {
		if err := s.Store.EditSettings(t.Context(), 1, db.SettingsEdit{UndoWindow: window, AdminID: s.Admin.ID}); !errors.Is(err, db.ErrUndoWindow) {
			t.Errorf("%s: %v, want ErrUndoWindow", window, err)
		}
	}
	for i, window := range []time.Duration{0, roster.MaxUndoWindow} {
		if err := s.Store.EditSettings(t.Context(), int64(i+1), db.SettingsEdit{UndoWindow: window, AdminID: s.Admin.ID}); err != nil {
			t.Errorf("%s: %v", window, err)
		}
	}
}

func TestTwoAdminsNeverOverwriteEachOthersSettings(t *testing.T) {
	t.Parallel()
	s := startedWith(t, 0)
	first := dbtest.Must(s.Store.Settings(t.Context()))(t)
	if err := s.Store.EditSettings(t.Context(), first.EditNumber, db.SettingsEdit{UndoWindow: time.Minute, AdminID: s.Admin.ID}); err != nil {
		t.Fatal(err)
	}
	if err := s.Store.EditSettings(t.Context(), first.EditNumber, db.SettingsEdit{UndoWindow: 0, AdminID: s.Admin.ID}); !errors.Is(err, db.ErrEdited) {
		t.Errorf("the second admin's save: %v, want ErrEdited", err)
	}
	if v := dbtest.Must(s.Store.Settings(t.Context()))(t); v.UndoWindow != time.Minute {
		t.Errorf("the window is %s", v.UndoWindow)
	}
}

// tellFirst confirms a shift inside its reminder's window and lets LINE take the reminder.
func tellFirst(t *testing.T, s *dbtest.School) roster.Shift {
	t.Helper()
	x := s.Confirm(t, 0, 8, "16:30-20:00")
	try := dbtest.Must(dbtest.ClaimTry(t.Context(), s.Store))(t)
	if try == nil {
		t.Fatal("there was nothing to send")
	}
	if err := s.Store.FinishTry(t.Context(), try, db.Result{Outcome: roster.Accepted, Status: 200}); err != nil {
		t.Fatal(err)
	}
	return x
}

func TestACorrectionWaitsTheUndoWindowThatIsSetWhenItIsMade(t *testing.T) {
	t.Parallel()
	for _, window := range []time.Duration{0, 5 * time.Minute} {
		s := startedWith(t, 0)
		x := tellFirst(t, s)
		if err := s.Store.EditSettings(t.Context(), 1, db.SettingsEdit{UndoWindow: window, AdminID: s.Admin.ID}); err != nil {
			t.Fatal(err)
		}
		dbtest.Must(s.Store.ChangeShift(t.Context(), x.ID, x.EditNumber, s.Edit(t, 0, 8, "17:00-20:00")))(t)
		rows := dbtest.Must(s.Store.Deliveries(t.Context(), db.DeliveryFilter{Kind: roster.ShiftCorrection}))(t)
		if len(rows) != 1 || !rows[0].DueAt.Equal(dbtest.Start.Add(window)) {
			t.Errorf("window %s: %d corrections, due %v", window, len(rows), rows)
		}
	}
}
