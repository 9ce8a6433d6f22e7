package db_test

import (
	"errors"
	"testing"
	"time"

	"shiftpost/db"
	"shiftpost/db/dbtest"
	"shiftpost/db/queue"
	"shiftpost/db/roster"
)

// spoil runs a statement that no code of ours would run.
func spoil(t *testing.T, s *dbtest.School, query string, args ...any) {
	t.Helper()
	dbtest.Must(s.Store.SessionDB().ExecContext(t.Context(), query, args...))(t)
}

// claimAll claims everything that is due.
func claimAll(t *testing.T, s *dbtest.School) (all []db.Work) {
	t.Helper()
	for {
		some, err := s.Store.Claim(t.Context(), 8)
		if errors.Is(err, queue.ErrNone) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, some...)
	}
}

func TestSeveralJobsAreClaimedAtOnceTheOneDueLongestFirst(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	first := s.Confirm(t, 1, 8, "16:00-21:30")
	second := s.Confirm(t, 0, 8, "16:00-21:30")
	s.Confirm(t, 0, 20, "16:00-21:30")
	s.Publish(t)
	if all := dbtest.Must(s.Store.Claim(t.Context(), 2))(t); len(all) != 2 {
		t.Fatalf("%d jobs were claimed, want 2", len(all))
	} else if a, b := dbtest.Must(s.Store.Delivery(t.Context(), all[0].Try.DeliveryID))(t), dbtest.Must(s.Store.Delivery(t.Context(), all[1].Try.DeliveryID))(t); a.ShiftID != first.ID || b.ShiftID != second.ID {
		t.Errorf("those of shifts %d and %d were claimed", a.ShiftID, b.ShiftID)
	}
	if all := claimAll(t, s); len(all) != 1 {
		t.Errorf("%d more jobs were claimed, want the publication's", len(all))
	}
}

func TestADeliveryThatCannotBeCheckedSpendsItsTriesAndKeepsNobodyWaiting(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	s.Confirm(t, 0, 20, "17:00-21:30")
	p := s.Publish(t)
	answer(t, s, db.Result{Outcome: roster.Accepted})
	dbtest.Must(ask(t, s, p, askPlan(t, s, p)))(t)
	if err := s.Store.RecordOpening(t.Context(), p.PublicationID, s.Teachers[0].ID); err != nil {
		t.Fatal(err)
	}
	spoil(t, s, `UPDATE receipts SET confirmed_at = 1, own = '"x"'`)
	x := s.Confirm(t, 1, 8, "16:00-21:30") // is to be reminded of
	if all := claimAll(t, s); len(all) != 1 || dbtest.Must(s.Store.Delivery(t.Context(), all[0].Try.DeliveryID))(t).ShiftID != x.ID {
		t.Errorf("behind the bad one %+v was claimed", all)
	}
	bad := dbtest.Must(s.Store.ReceiptRequests(t.Context(), p.PublicationID))(t)[0]
	if bad.State != roster.Queued || bad.Code != roster.CodeInternal || bad.LadderTries != 1 {
		t.Errorf("the bad one is %s %s after %d tries", bad.State, bad.Code, bad.LadderTries)
	}
	for range roster.MaxLadderTries - 1 {
		s.Clock.Advance(40 * time.Minute)
		claimAll(t, s)
	}
	if bad := dbtest.Must(s.Store.ReceiptRequests(t.Context(), p.PublicationID))(t)[0]; bad.State != roster.Failed || bad.Code != roster.CodeInternal {
		t.Errorf("in the end the bad one is %s %s", bad.State, bad.Code)
	}
}

func TestAJobOfAnUnknownKindOrWithoutADeliveryIsADeadLetter(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	for _, kind := range []string{"another_kind", db.JobNotice} {
		spoil(t, s, `INSERT INTO jobs (kind, subject_id, lane, state, run_at, created_at, updated_at) VALUES (?, 77, ?, 'ready', 0, 0, 0)`, kind, kind)
	}
	s.Confirm(t, 0, 20, "17:00-21:30")
	p := s.Publish(t)
	if all := claimAll(t, s); len(all) != 1 || all[0].Try.DeliveryID != p.DeliveryID {
		t.Errorf("behind them %+v was claimed", all)
	}
	var dead int
	if err := s.Store.SessionDB().QueryRowContext(t.Context(), `SELECT count(*) FROM jobs WHERE state = 'dead' AND subject_id = 77`).Scan(&dead); err != nil || dead != 2 {
		t.Errorf("%d dead letters, %v; want 2", dead, err)
	}
}

func TestWhatCameOfATryIsKeptThoughTheComparisonFailsAndTheSweepMakesUpForIt(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	x := s.Confirm(t, 0, 8, "16:00-21:30")
	try := dbtest.Must(dbtest.ClaimTry(t.Context(), s.Store))(t)
	dbtest.Must(s.Store.ChangeShift(t.Context(), x.ID, x.EditNumber, s.Edit(t, 0, 8, "16:30-21:30")))(t) // while it is sent
	spoil(t, s, `CREATE TRIGGER bad BEFORE INSERT ON deliveries WHEN new.kind = 'shift_correction' BEGIN SELECT RAISE(ABORT, 'bad'); END`)
	if err := s.Store.FinishTry(t.Context(), try, db.Result{Outcome: roster.Accepted}); err != nil {
		t.Fatal(err)
	}
	if d := dbtest.Must(s.Store.Delivery(t.Context(), try.DeliveryID))(t); d.State != roster.Sent {
		t.Errorf("the reminder is %s", d.State)
	}
	spoil(t, s, `DROP TRIGGER bad`)
	if n := dbtest.Must(s.Store.MakeReminders(t.Context()))(t); n != 1 {
		t.Errorf("the sweep made %d notices, want the correction", n)
	}
}
