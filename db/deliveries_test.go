package db_test

import (
	"strings"
	"testing"
	"time"

	"shiftpost/db"
	"shiftpost/db/dbtest"
	"shiftpost/db/roster"
)

func TestTheDatabaseRefusesEveryMoveThatIsNotInTheTable(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	d := s.Store.SessionDB()
	for _, from := range roster.DeliveryStates {
		res, err := d.ExecContext(t.Context(), `INSERT INTO deliveries (kind, state, code, retry_key, teacher_id, line_id, due_at, created_at, updated_at, next_attempt_at, finished_at, attempt_id, boot_id)
			SELECT 'shift_reminder', ?1, CASE WHEN ?1 IN ('failed', 'canceled') THEN 'X' ELSE '' END, 'k', ?2, 'U', 0, 0, 0,
			CASE WHEN ?1 IN ('pending', 'queued') THEN 0 END, CASE WHEN ?1 IN ('sent', 'failed', 'canceled') THEN 0 END,
			CASE WHEN ?1 = 'processing' THEN 1 END, CASE WHEN ?1 = 'processing' THEN 'b' END`, from, s.Teachers[0].ID)
		if err != nil {
			t.Fatal(err)
		}
		id := dbtest.Must(res.LastInsertId())(t)
		for _, to := range roster.DeliveryStates {
			if to == from {
				continue
			}
			begun := dbtest.Must(d.BeginTx(t.Context(), nil))(t)
			// The columns that go with the state stay, so a move that is allowed may end at another rule of the table.
			_, err := begun.ExecContext(t.Context(), `UPDATE deliveries SET state = ? WHERE id = ?`, to, id)
			if refused := err != nil && strings.Contains(err.Error(), "a delivery may not make this move"); refused == roster.MayMove(from, to) {
				t.Errorf("%s to %s answered %v, allowed: %v", from, to, err, roster.MayMove(from, to))
			}
			if err := begun.Rollback(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestTriesAheadAreListedTheSoonestFirst(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	ctx := t.Context()
	lose := func() {
		t.Helper()
		try := dbtest.Must(dbtest.ClaimTry(ctx, s.Store))(t)
		if err := s.Store.FinishTry(ctx, try, db.Result{Outcome: roster.Unknown, Code: "HTTP_503", Status: 503}); err != nil {
			t.Fatal(err)
		}
	}
	waiting := func(limit int) []db.DeliveryRow {
		t.Helper()
		return dbtest.Must(s.Store.WaitingTries(ctx, limit))(t)
	}
	x := s.Confirm(t, 0, 8, "16:30-20:00") // inside its window: reminded at once
	if all := waiting(10); len(all) != 0 {
		t.Errorf("a try that is due already is listed: %+v", all)
	}
	lose()
	s.Clock.Advance(time.Minute)
	s.Publish(t)
	lose()

	all := waiting(10)
	if len(all) != 2 {
		t.Fatalf("%d deliveries are listed, want 2", len(all))
	}
	if r := all[0]; r.Kind != roster.ShiftReminder || r.Work != x.Work() || r.Attempts != 1 || !r.NextAttemptAt.Equal(dbtest.Start.Add(2*time.Minute)) {
		t.Errorf("the first is %+v", r)
	}
	if p := all[1]; p.Kind != roster.ShiftPublication || p.Month != s.Month || p.Number != 1 || !p.NextAttemptAt.Equal(dbtest.Start.Add(3*time.Minute)) {
		t.Errorf("the second is %+v", p)
	}
	if one := waiting(1); len(one) != 1 || one[0].ID != all[0].ID {
		t.Errorf("of two asked for one: %+v", one)
	}
	s.Clock.Advance(time.Minute)
	if left := waiting(10); len(left) != 1 || left[0].ID != all[1].ID {
		t.Errorf("once the first is due: %+v", left)
	}
}
