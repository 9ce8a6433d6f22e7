package queue_test

import (
	"database/sql"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"shiftpost/db"
	"shiftpost/db/dbtest"
	"shiftpost/db/queue"
)

const lease = time.Minute

var start = dbtest.Start

// open returns the writer of a fresh migrated database.
func open(t *testing.T) *sql.DB {
	t.Helper()
	dir := t.TempDir()
	s, err := db.Open(t.Context(), db.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	d, err := sql.Open("sqlite3", "file:"+filepath.Join(dir, db.FileName)+"?_txlock=immediate&_busy_timeout=5000")
	if err != nil {
		t.Fatal(err)
	}
	d.SetMaxOpenConns(1)
	t.Cleanup(func() { d.Close() })
	return d
}

// in runs f in a transaction that is committed unless it fails.
func in(t *testing.T, d *sql.DB, f func(*sql.Tx) error) error {
	t.Helper()
	tx, err := d.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	if err := f(tx); err != nil {
		return err
	}
	return tx.Commit()
}

func enqueue(t *testing.T, d *sql.DB, subject int64, lane string, at time.Time) {
	t.Helper()
	err := in(t, d, func(tx *sql.Tx) error {
		return queue.Enqueue(t.Context(), tx, start, queue.NewJob{Kind: "k", SubjectID: subject, Lane: lane, RunAt: at})
	})
	if err != nil {
		t.Fatal(err)
	}
}

func claim(t *testing.T, d *sql.DB, now time.Time, owner string, held ...string) (queue.Job, error) {
	t.Helper()
	var j queue.Job
	err := in(t, d, func(tx *sql.Tx) (err error) {
		j, err = queue.Claim(t.Context(), tx, now, owner, lease, held)
		return err
	})
	return j, err
}

func wantSubject(t *testing.T, j queue.Job, err error, subject int64) {
	t.Helper()
	if err != nil || j.SubjectID != subject {
		t.Errorf("claimed subject %d (%v), want %d", j.SubjectID, err, subject)
	}
}

func wantNone(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, queue.ErrNone) {
		t.Errorf("claim answered %v, want ErrNone", err)
	}
}

func TestTheJobDueLongestIsClaimedFirstAndNoneBeforeItsTime(t *testing.T) {
	t.Parallel()
	d := open(t)
	enqueue(t, d, 1, "a", start.Add(time.Second))
	enqueue(t, d, 2, "b", start)
	enqueue(t, d, 3, "c", start.Add(time.Hour))
	_, err := claim(t, d, start.Add(-time.Millisecond), "me")
	wantNone(t, err)
	now := start.Add(time.Minute)
	j, err := claim(t, d, now, "me")
	wantSubject(t, j, err, 2)
	j, err = claim(t, d, now, "me")
	wantSubject(t, j, err, 1)
	_, err = claim(t, d, now, "me")
	wantNone(t, err)
}

func TestOneLaneHasOneJobAtATimeAndKeepsNobodyElseWaiting(t *testing.T) {
	t.Parallel()
	d := open(t)
	enqueue(t, d, 1, "a", start)
	enqueue(t, d, 2, "a", start)
	enqueue(t, d, 3, "b", start)
	first, err := claim(t, d, start, "me")
	wantSubject(t, first, err, 1)
	j, err := claim(t, d, start, "me")
	wantSubject(t, j, err, 3)
	_, err = claim(t, d, start, "me")
	wantNone(t, err)
	if err := in(t, d, func(tx *sql.Tx) error { return queue.Finish(t.Context(), tx, start, first.ID, "me") }); err != nil {
		t.Fatal(err)
	}
	j, err = claim(t, d, start, "me")
	wantSubject(t, j, err, 2)
}

func TestALeaseThatRanOutIsTakenOverAndItsFormerOwnerCanEndNothing(t *testing.T) {
	t.Parallel()
	d := open(t)
	enqueue(t, d, 1, "a", start)
	j, err := claim(t, d, start, "before")
	wantSubject(t, j, err, 1)
	_, err = claim(t, d, start.Add(lease-time.Millisecond), "after")
	wantNone(t, err)
	j, err = claim(t, d, start.Add(lease), "after")
	wantSubject(t, j, err, 1)
	if j.TakenOver != "before" {
		t.Errorf("taken over from %q, want before", j.TakenOver)
	}
	for name, end := range map[string]func(*sql.Tx) error{
		"finish": func(tx *sql.Tx) error { return queue.Finish(t.Context(), tx, start, j.ID, "before") },
		"retry":  func(tx *sql.Tx) error { return queue.RetryAt(t.Context(), tx, start, j.ID, "before", start) },
		"bury":   func(tx *sql.Tx) error { return queue.Bury(t.Context(), tx, start, j.ID, "before") },
	} {
		if err := in(t, d, end); !errors.Is(err, queue.ErrLeaseLost) {
			t.Errorf("%s by the former owner answered %v, want ErrLeaseLost", name, err)
		}
	}
}

func TestARenewedLeaseIsNotTakenOver(t *testing.T) {
	t.Parallel()
	d := open(t)
	enqueue(t, d, 1, "a", start)
	_, err := claim(t, d, start, "me")
	if err != nil {
		t.Fatal(err)
	}
	if err := in(t, d, func(tx *sql.Tx) error { return queue.Renew(t.Context(), tx, "me", start.Add(2*lease)) }); err != nil {
		t.Fatal(err)
	}
	_, err = claim(t, d, start.Add(lease), "other")
	wantNone(t, err)
}

func TestHeldKindsWaitUnlessTheyPassHolds(t *testing.T) {
	t.Parallel()
	d := open(t)
	enqueue(t, d, 1, "a", start)
	_, err := claim(t, d, start, "me", "k")
	wantNone(t, err)
	err = in(t, d, func(tx *sql.Tx) error {
		return queue.Enqueue(t.Context(), tx, start, queue.NewJob{Kind: "k", SubjectID: 2, Lane: "b", RunAt: start, PassesHold: true})
	})
	if err != nil {
		t.Fatal(err)
	}
	j, err := claim(t, d, start, "me", "k")
	wantSubject(t, j, err, 2)
	j, err = claim(t, d, start, "me", "other")
	wantSubject(t, j, err, 1)
}

func TestADeadLetterRunsAgainOnlyWhenItIsEnqueuedAnew(t *testing.T) {
	t.Parallel()
	d := open(t)
	enqueue(t, d, 1, "a", start)
	j, err := claim(t, d, start, "me")
	if err != nil {
		t.Fatal(err)
	}
	if err := in(t, d, func(tx *sql.Tx) error { return queue.Bury(t.Context(), tx, start, j.ID, "me") }); err != nil {
		t.Fatal(err)
	}
	_, err = claim(t, d, start.Add(24*time.Hour), "me")
	wantNone(t, err)
	enqueue(t, d, 1, "a", start)
	again, err := claim(t, d, start, "me")
	wantSubject(t, again, err, 1)
	if again.ID != j.ID {
		t.Errorf("a second job %d was made beside the dead letter %d", again.ID, j.ID)
	}
}

func TestASubjectHasOneJob(t *testing.T) {
	t.Parallel()
	d := open(t)
	enqueue(t, d, 1, "a", start)
	err := in(t, d, func(tx *sql.Tx) error {
		return queue.Enqueue(t.Context(), tx, start, queue.NewJob{Kind: "k", SubjectID: 1, Lane: "a", RunAt: start})
	})
	if err == nil {
		t.Error("a second job for the same subject was written")
	}
}

func TestNextDueIsWhatMayRunByItself(t *testing.T) {
	t.Parallel()
	d := open(t)
	due := func(held ...string) time.Time {
		t.Helper()
		at, err := queue.NextDue(t.Context(), d, held)
		if err != nil && !errors.Is(err, queue.ErrNone) {
			t.Fatal(err)
		}
		return at
	}
	if !due().IsZero() {
		t.Error("an empty queue has something due")
	}
	enqueue(t, d, 1, "a", start)
	enqueue(t, d, 2, "a", start.Add(time.Second))
	enqueue(t, d, 3, "b", start.Add(time.Hour))
	if at := due(); !at.Equal(start) {
		t.Errorf("next is due at %s, want now", at)
	}
	if _, err := claim(t, d, start, "me"); err != nil {
		t.Fatal(err)
	}
	if at := due(); !at.Equal(start.Add(lease)) {
		t.Errorf("next is due at %s, want when the lease runs out: the lane's second job cannot run before", at)
	}
	if !due("k").Equal(start.Add(lease)) {
		t.Error("held jobs count as due")
	}
}

func TestPruneRemovesOldFinishedJobsInSmallSteps(t *testing.T) {
	t.Parallel()
	d := open(t)
	for i := range int64(3) {
		enqueue(t, d, i, "a", start)
		j, err := claim(t, d, start, "me")
		if err != nil {
			t.Fatal(err)
		}
		if err := in(t, d, func(tx *sql.Tx) error { return queue.Finish(t.Context(), tx, start, j.ID, "me") }); err != nil {
			t.Fatal(err)
		}
	}
	enqueue(t, d, 9, "a", start)
	for _, want := range []int{2, 1, 0} {
		var n int
		err := in(t, d, func(tx *sql.Tx) (err error) {
			n, err = queue.Prune(t.Context(), tx, start.Add(time.Hour), 2)
			return err
		})
		if err != nil || n != want {
			t.Errorf("Prune removed %d (%v), want %d", n, err, want)
		}
	}
	j, err := claim(t, d, start, "me")
	wantSubject(t, j, err, 9)
}

func BenchmarkClaimFinish(b *testing.B) {
	s, err := db.Open(b.Context(), db.Options{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	d := s.SessionDB()
	for b.Loop() {
		for _, f := range []func(*sql.Tx) error{
			func(tx *sql.Tx) error {
				return queue.Enqueue(b.Context(), tx, start, queue.NewJob{Kind: "k", SubjectID: 1, Lane: "a", RunAt: start})
			},
			func(tx *sql.Tx) error {
				j, err := queue.Claim(b.Context(), tx, start, "me", lease, nil)
				if err != nil {
					return err
				}
				return queue.Finish(b.Context(), tx, start, j.ID, "me")
			},
		} {
			tx, err := d.Begin()
			if err != nil {
				b.Fatal(err)
			}
			if err := f(tx); err != nil {
				b.Fatal(err)
			}
			if err := tx.Commit(); err != nil {
				b.Fatal(err)
			}
		}
	}
}
