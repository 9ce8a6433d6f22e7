package db_test

import (
	"testing"
	"time"

	"shiftpost/db"
	"shiftpost/db/dbtest"
	"shiftpost/db/roster"
)

// accept lets LINE take everything that is due.
func accept(t *testing.T, s *dbtest.School, n int) {
	t.Helper()
	for range n {
		try := dbtest.Must(dbtest.ClaimTry(t.Context(), s.Store))(t)
		if try == nil {
			t.Fatal("a job needed no request")
		}
		if err := s.Store.FinishTry(t.Context(), try, db.Result{Outcome: roster.Accepted, Status: 200}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestOwnMessagesAreCountedWhenLINETakesThem(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	s.Confirm(t, 0, 8, "16:30-20:00") // inside its window: reminded at once
	if q := dbtest.Must(s.Store.Quota(t.Context()))(t); q.Own != 0 || q.Waiting != 1 {
		t.Errorf("before: %+v", q)
	}
	accept(t, s, 1)
	s.Publish(t)
	if q := dbtest.Must(s.Store.Quota(t.Context()))(t); q.Own != 1 || q.Waiting != 14 {
		t.Errorf("with an announcement on its way: %+v", q)
	}
	accept(t, s, 1)
	q := dbtest.Must(s.Store.Quota(t.Context()))(t)
	if q.Own != 15 || q.Used() != 15 || q.Waiting != 0 || q.Known() {
		t.Errorf("after: %+v", q)
	}
}

func TestLINEsCountStandsUntilItsMonthIsOver(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	if err := s.Store.RecordQuota(t.Context(), db.QuotaReading{Limited: true, Limit: 200, Used: 48}); err != nil {
		t.Fatal(err)
	}
	s.Confirm(t, 0, 8, "16:30-20:00")
	accept(t, s, 1)
	q := dbtest.Must(s.Store.Quota(t.Context()))(t)
	if !q.ReadAt.Equal(dbtest.Start) || q.Used() != 49 || q.Left() != 151 || q.Month != s.Month {
		t.Errorf("in January: %+v", q)
	}
	s.Clock.Advance(24 * 24 * time.Hour)
	q = dbtest.Must(s.Store.Quota(t.Context()))(t)
	if q.Month != s.Month.Add(1) || q.Used() != 0 || q.Left() != 200 || q.LINEKnown() {
		t.Errorf("in February: %+v", q)
	}
}

func TestALINEThatDoesNotAnswerLeavesItsLastAnswer(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	failed := func() {
		t.Helper()
		if err := s.Store.RecordQuotaFailure(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	failed()
	if q := dbtest.Must(s.Store.Quota(t.Context()))(t); q.Known() || !q.FailedAt.Equal(dbtest.Start) {
		t.Errorf("LINE never answered: %+v", q)
	}
	if err := s.Store.RecordQuota(t.Context(), db.QuotaReading{Limited: true, Limit: 200, Used: 48}); err != nil {
		t.Fatal(err)
	}
	if q := dbtest.Must(s.Store.Quota(t.Context()))(t); !q.FailedAt.IsZero() {
		t.Errorf("LINE answered: %+v", q)
	}
	s.Clock.Advance(time.Hour)
	failed()
	q := dbtest.Must(s.Store.Quota(t.Context()))(t)
	if !q.ReadAt.Equal(dbtest.Start) || q.LINEUsed != 48 || !q.FailedAt.Equal(dbtest.Start.Add(time.Hour)) {
		t.Errorf("LINE does not answer any more: %+v", q)
	}
}

func TestTheForecastHasAReminderForEachConfirmedShiftOfWhomCanBeTold(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	s.Confirm(t, 0, 8, "10:00-14:00")  // began already
	s.Confirm(t, 0, 8, "16:30-20:00")  // made at once: it waits
	s.Confirm(t, 0, 12, "17:00-21:30") // counts
	s.Confirm(t, 1, 20, "17:00-21:30") // counts
	s.Draft(t, 1, 21, "17:00-21:30")   // a draft is not reminded of
	s.Confirm(t, 2, 20, "17:00-21:30") // not linked
	s.Confirm(t, 0, 32, "1:00-3:00")   // of February, but reminded in January
	s.Confirm(t, 0, 33, "17:00-21:30") // of February
	q := dbtest.Must(s.Store.Quota(t.Context()))(t)
	if q.Reminders != 3 || q.Waiting != 1 {
		t.Errorf("%d reminders to come and %d waiting, want 3 and 1", q.Reminders, q.Waiting)
	}
	e := db.TeacherEdit{ClassroomID: s.Teachers[0].ClassroomID, Name: s.Teachers[0].Name, Position: 1, NoticesOn: false}
	if err := s.Store.EditTeacher(t.Context(), s.Teachers[0].ID, s.Teachers[0].EditNumber, e); err != nil {
		t.Fatal(err)
	}
	if q = dbtest.Must(s.Store.Quota(t.Context()))(t); q.Reminders != 1 {
		t.Errorf("%d reminders to come after one teacher switched them off, want 1", q.Reminders)
	}
}
