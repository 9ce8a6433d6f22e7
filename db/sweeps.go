package db

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"shiftpost/db/queue"
	"shiftpost/db/roster"
)

// RecordSweep notes that a sweep ran, and when it began: what became due after that instant it may not have seen.
func (s *Store) RecordSweep(ctx context.Context, name string, began time.Time, handled int, sweepErr error) error {
	text := ""
	if sweepErr != nil {
		text = fmt.Sprintf("%.200s", sweepErr)
	}
	err := s.inTx(ctx, func(t *tx) error {
		_, err := t.exec(`INSERT INTO sweeps (name, ran_at, handled, error, done_at) VALUES (?1, ?2, ?3, ?4, CASE WHEN ?4 = '' THEN ?2 END)
			ON CONFLICT (name) DO UPDATE SET ran_at = excluded.ran_at, handled = excluded.handled, error = excluded.error, done_at = coalesce(excluded.done_at, done_at)`,
			name, at(began), handled, text)
		return err
	})
	return wrap(err, "record sweep %s", name)
}

// SweepRuns lists the last run of each sweep, by name.
func (s *Store) SweepRuns(ctx context.Context) ([]roster.SweepRun, error) {
	runs, err := sweepRuns(ctx, s.read)
	return runs, wrap(err, "list sweeps")
}

func sweepRuns(ctx context.Context, q querier) ([]roster.SweepRun, error) {
	return list(ctx, q, func(r scanner) (x roster.SweepRun, err error) {
		err = r.Scan(&x.Name, scanInstant(&x.RanAt), &x.Handled, &x.Error)
		return x, err
	}, `SELECT name, ran_at, handled, error FROM sweeps ORDER BY name`)
}

// doneJobsKept is how long finished jobs stay to be looked at.
const doneJobsKept = 7 * 24 * time.Hour

// PreviewsKept is how long a drawn preview that was not published keeps its pictures, and how old a picture file that
// no row names must be to be removed.
const PreviewsKept = 24 * time.Hour

// RecoverDeliveries looks for deliveries that nothing would carry on: due ones without a job get one, and waiting ones
// whose retry key or deadline ran out end. It never touches failed ones. It may run at any time and beside itself: a row that
// somebody else moved is passed over. Every row is a transaction of its own, so that one bad row does not stop the
// rest. It returns how many rows it moved.
func (s *Store) RecoverDeliveries(ctx context.Context) (int, error) {
	now := s.Now()
	waiting, err := list(ctx, s.read, scanDelivery, `SELECT `+deliveryColumns+` FROM deliveries d WHERE (state = 'pending' AND next_attempt_at <= ?1)
		OR (state = 'queued' AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.subject_id = d.id AND j.kind IN ('publication_delivery', 'notice_delivery') AND j.state IN ('ready', 'leased')))
		OR (state IN ('pending', 'queued') AND (key_first_try_at <= ?2 OR deadline_at <= ?1))`, at(now), at(now.Add(roster.RetryKeyMargin-s.opts.RetryKeyTTL)))
	if err != nil {
		return 0, fmt.Errorf("look for deliveries without a job: %w", err)
	}
	n := 0
	var errs []error
	for _, d := range waiting {
		moved, err := s.recoverDelivery(ctx, d.ID)
		if err != nil {
			errs = append(errs, fmt.Errorf("recover delivery %d: %w", d.ID, err))
		}
		if moved {
			n++
		}
	}
	return n, errors.Join(errs...)
}

func (s *Store) recoverDelivery(ctx context.Context, deliveryID int64) (moved bool, err error) {
	err = s.inTx(ctx, func(t *tx) error {
		d, err := one(t.ctx, t, scanDelivery, `SELECT `+deliveryColumns+` FROM deliveries WHERE id = ?`, deliveryID)
		if err != nil {
			return err
		}
		if d.State != roster.Pending && d.State != roster.Queued {
			return nil
		}
		var leased bool
		if err := t.row(`SELECT EXISTS (SELECT 1 FROM jobs WHERE kind = ? AND subject_id = ? AND state = 'leased')`, jobKind(d.Kind), d.ID).Scan(&leased); err != nil {
			return err
		}
		if leased {
			return nil
		}
		if !d.DeadlineAt.IsZero() && !d.DeadlineAt.After(t.now) {
			moved = true
			code, err := s.check(t, d)
			if err != nil {
				return err
			}
			if err := t.cancel(d, cmp.Or(code, roster.CodeShiftStarted), 0); err != nil {
				return err
			}
			return s.afterNotice(t, d)
		}
		if roster.KeyExpired(t.now, d.KeyFirstTryAt, s.opts.RetryKeyTTL) {
			if _, err := queue.Withdraw(t.ctx, t, t.now, jobKind(d.Kind), d.ID); err != nil {
				return err
			}
			moved = true
			if err := t.expire(d); err != nil {
				return err
			}
			return s.afterNotice(t, d)
		}
		if d.State == roster.Pending {
			if d.NextAttemptAt.After(t.now) {
				return nil
			}
			if moved, err = t.enqueue(d, t.now, false); err != nil {
				return err
			}
			if !moved {
				return t.execOne(errMoved, `UPDATE deliveries SET next_attempt_at = ?, updated_at = ? WHERE id = ? AND state = 'pending'`,
					at(t.now.Add(s.opts.SweepEvery)), at(t.now), d.ID)
			}
			return t.event(d.ID, EventEnqueued, "", 0)
		}
		var waits bool
		if err := t.row(`SELECT EXISTS (SELECT 1 FROM jobs WHERE kind = ? AND subject_id = ? AND state = 'ready')`, jobKind(d.Kind), d.ID).Scan(&waits); err != nil || waits {
			return err
		}
		moved = true
		if err := queue.Enqueue(t.ctx, t, t.now, queue.NewJob{Kind: jobKind(d.Kind), SubjectID: d.ID, Lane: lane(d), RunAt: d.NextAttemptAt}); err != nil {
			return err
		}
		return t.event(d.ID, EventEnqueued, "", 0)
	})
	return moved && err == nil, err
}

// Prune removes finished jobs older than a week, the previews older than a day that were never published, webhook
// events that ended a month ago, and deliveries older than the retention, in small transactions. It returns how many of
// them went.
func (s *Store) Prune(ctx context.Context) (int, error) {
	const step = 100
	total := 0
	for _, remove := range []func(*tx) (int, error){
		func(t *tx) (int, error) { return queue.Prune(t.ctx, t, t.now.Add(-doneJobsKept), step) },
		func(t *tx) (int, error) {
			res, err := t.exec(`DELETE FROM preview_pages WHERE (sheet_hash, page) IN (SELECT sheet_hash, page FROM preview_pages WHERE created_at < ? LIMIT ?)`,
				at(t.now.Add(-PreviewsKept)), step)
			if err != nil {
				return 0, err
			}
			n, err := res.RowsAffected()
			return int(n), err
		},
		func(t *tx) (int, error) { return t.pruneEvents(step) },
		func(t *tx) (int, error) { return s.pruneDeliveries(t, step) },
	} {
		for {
			n := 0
			if err := s.inTx(ctx, func(t *tx) (err error) { n, err = remove(t); return err }); err != nil {
				return total, fmt.Errorf("prune: %w", err)
			}
			total += n
			if n < step {
				break
			}
		}
	}
	return total, nil
}
