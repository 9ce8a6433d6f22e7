package db

import (
	"context"
	"errors"
	"fmt"
	"time"

	"shiftpost/db/roster"
)

// Holds lists why pushes wait now, the oldest cause first.
func (s *Store) Holds(ctx context.Context) ([]roster.Hold, error) {
	holds, err := holds(ctx, s.read)
	return holds, wrap(err, "read holds")
}

func holds(ctx context.Context, q querier) ([]roster.Hold, error) {
	return list(ctx, q, scanHold, `SELECT `+holdColumns+` FROM channel_holds WHERE ended_at IS NULL ORDER BY since, cause`)
}

const holdColumns = `cause, since, probe_at, notices, needed, delivery_id`

func scanHold(row scanner) (h roster.Hold, err error) {
	err = row.Scan(&h.Cause, scanInstant(&h.Since), scanInstant(&h.ProbeAt), &h.Notices, &h.Needed, scanRef(&h.DeliveryID))
	return h, err
}

// heldKinds returns the kinds of jobs that wait for a hold.
func heldKinds(ctx context.Context, q querier) ([]string, error) {
	all, err := holds(ctx, q)
	if err != nil || len(all) == 0 {
		return nil, wrap(err, "read holds")
	}
	for _, h := range all {
		if h.Notices {
			return []string{JobPublication, JobNotice}, nil
		}
	}
	return []string{JobPublication}, nil
}

// hold begins a hold that a delivery met, or makes the one there is also hold notices when a notice met it.
func (t *tx) hold(cause roster.HoldCause, d roster.Delivery) error {
	h := roster.Hold{Cause: cause, Notices: true, DeliveryID: d.ID}
	var lasts time.Duration
	switch cause {
	case roster.HoldUnauthorized:
		h.ProbeAt = t.now.Add(roster.UnauthorizedProbeEvery)
	case roster.HoldRateLimit:
		var ended time.Time
		var lasted int64
		err := t.row(`SELECT ended_at, lasts FROM channel_holds WHERE cause = ?
			UNION ALL SELECT NULL, 0 LIMIT 1`, cause).Scan(scanInstant(&ended), &lasted)
		if err != nil {
			return fmt.Errorf("read rate limit: %w", err)
		}
		lasts = roster.NextRateLimit(t.now, ended, time.Duration(lasted)*time.Millisecond)
		h.ProbeAt = t.now.Add(lasts)
	case roster.HoldMonthlyLimit:
		h.ProbeAt, h.Notices, h.Needed = roster.NextMonthlyProbe(t.now), d.Kind.Notice(), 1
		if !d.Kind.Notice() {
			g, err := group(t.ctx, t, d.GroupID)
			if err != nil {
				return err
			}
			h.Needed = max(1, g.LINEMemberCount) // it may not be known
		}
	}
	_, err := t.exec(`INSERT INTO channel_holds (cause, since, probe_at, notices, needed, lasts, delivery_id) VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (cause) DO UPDATE SET
			since = CASE WHEN ended_at IS NULL THEN since ELSE excluded.since END,
			notices = CASE WHEN ended_at IS NULL THEN max(notices, excluded.notices) ELSE excluded.notices END,
			needed = CASE WHEN ended_at IS NULL THEN min(needed, excluded.needed) ELSE excluded.needed END,
			probe_at = CASE WHEN ended_at IS NULL THEN probe_at ELSE excluded.probe_at END,
			lasts = CASE WHEN ended_at IS NULL THEN lasts ELSE excluded.lasts END,
			delivery_id = CASE WHEN ended_at IS NULL THEN delivery_id ELSE excluded.delivery_id END,
			ended_at = NULL`,
		cause, at(t.now), at(h.ProbeAt), h.Notices, h.Needed, lasts.Milliseconds(), h.DeliveryID)
	if err != nil {
		return fmt.Errorf("hold pushes for %s: %w", cause, err)
	}
	return nil
}

// PostponeProbe notes that a hold was looked at and goes on; it is next looked at at an instant.
func (s *Store) PostponeProbe(ctx context.Context, cause roster.HoldCause, until time.Time) error {
	err := s.inTx(ctx, func(t *tx) error {
		_, err := t.exec(`UPDATE channel_holds SET probe_at = ? WHERE cause = ? AND ended_at IS NULL`, at(until), cause)
		return err
	})
	return wrap(err, "postpone probe of %s", cause)
}

// EndHold ends a hold; without one of that cause it does nothing. In the same transaction the notices that failed by
// it and are still wanted are queued again: with the same retry key while it lives, after that with a new one if every
// try was refused. What failed otherwise, and publications, are left for a person to retry.
func (s *Store) EndHold(ctx context.Context, cause roster.HoldCause) error {
	err := s.inTx(ctx, func(t *tx) error { return s.endHold(t, cause) })
	return wrap(err, "end hold of %s", cause)
}

func (s *Store) endHold(t *tx, cause roster.HoldCause) error {
	res, err := t.exec(`UPDATE channel_holds SET ended_at = ? WHERE cause = ? AND ended_at IS NULL`, at(t.now), cause)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return err
	}
	t.queued = true
	if cause == roster.HoldClock {
		return t.ageKeys()
	}
	failed, err := list(t.ctx, t, scanDelivery, `SELECT `+deliveryColumns+` FROM deliveries WHERE state = 'failed' AND held_by = ? AND kind <> 'shift_publication'`, cause)
	if err != nil {
		return err
	}
	for _, d := range failed {
		// What is wrong with one must not keep the hold, nor what ended it, from being written down.
		failure, err := t.within(func() error {
			return recovered(func() error { return s.retry(t, d, retryOptions{}) })
		})
		if err != nil {
			return err
		}
		var unwanted *NotWantedError
		if failure != nil && !errors.As(failure, &unwanted) && !errors.Is(failure, ErrMayHaveArrived) && !errors.Is(failure, ErrLive) {
			s.log.Error("a notice could not be queued again at the end of a hold", "delivery", d.ID, "cause", cause, "error", failure)
		}
	}
	return nil
}

// ageKeys makes retry keys that were first tried in what was the future when the clock's hold began as old as they can
// be: by how far it lay ahead. When the clock of then was wrong they are older than they seem, and LINE may have
// forgotten them.
func (t *tx) ageKeys() error {
	_, err := t.exec(`UPDATE deliveries SET key_first_try_at = key_first_try_at - (h.probe_at - h.since) FROM channel_holds h
		WHERE h.cause = 'clock' AND deliveries.state IN ('pending', 'queued', 'processing', 'failed') AND deliveries.key_first_try_at > h.since`)
	return wrap(err, "age retry keys")
}

// endHoldsByProof ends the holds that a message which passed them has disproved: LINE took it. What is left of the
// month's messages it says nothing about, nor about the clock.
func (s *Store) endHoldsByProof(t *tx) error {
	for _, cause := range []roster.HoldCause{roster.HoldUnauthorized, roster.HoldForbidden, roster.HoldRateLimit} {
		if err := s.endHold(t, cause); err != nil {
			return err
		}
	}
	return nil
}

// HeldWork says what a hold keeps back now and what its end sends; what is no longer wanted then is not sent. The end
// of the clock's hold by a person makes every waiting delivery due, that of another hold lets go what is due.
func (s *Store) HeldWork(ctx context.Context, h roster.Hold) (roster.HeldWork, error) {
	var w roster.HeldWork
	err := s.inReadTx(ctx, func(t *tx) error {
		err := t.row(`SELECT count(d.publication_id), count(d.teacher_id), coalesce(sum(coalesce(g.line_member_count, 1)), 0)
			FROM deliveries d LEFT JOIN groups g ON g.id = d.group_id
			WHERE d.state = 'queued' AND (d.next_attempt_at <= ? OR ?) AND (d.teacher_id IS NULL OR ?)`, at(t.now), h.Cause == roster.HoldClock, h.Notices).
			Scan(&w.Publications, &w.Notices, &w.Messages)
		if err != nil {
			return err
		}
		all, err := holds(ctx, t)
		if err != nil {
			return err
		}
		for _, other := range all {
			w.Blocked = w.Blocked || other.Cause != h.Cause && (other.Notices || !h.Notices)
		}
		failed, err := list(ctx, t, scanDelivery, `SELECT `+deliveryColumns+` FROM deliveries WHERE state = 'failed' AND held_by = ?`, h.Cause)
		if err != nil {
			return err
		}
		for _, d := range failed {
			code, err := s.check(t, d)
			if err != nil {
				return err
			}
			if code != "" {
				continue
			}
			unsure := false
			if roster.KeyExpired(t.now, d.KeyFirstTryAt, s.opts.RetryKeyTTL) {
				if unsure, err = t.mayHaveArrived(d.ID); err != nil {
					return err
				}
			}
			if unsure || !d.Kind.Notice() {
				w.Offered++
				continue
			}
			w.Again++
			w.Messages++
		}
		return nil
	})
	return w, wrap(err, "what the hold of %s keeps back", h.Cause)
}

// ResumeClock says that the present clock is right although rows from its future exist: they no longer count, and
// every waiting job becomes due, and so is the next look at a hold that began in that future. Without a hold of the clock
// it does nothing.
func (s *Store) ResumeClock(ctx context.Context) error {
	err := s.inTx(ctx, func(t *tx) error {
		var held bool
		if err := t.row(`SELECT EXISTS (SELECT 1 FROM channel_holds WHERE cause = 'clock' AND ended_at IS NULL)`).Scan(&held); err != nil || !held {
			return err
		}
		if _, err := t.exec(`INSERT INTO clock_trust (id, attempt_id, delivery_id)
			SELECT 1, coalesce((SELECT max(id) FROM attempts), 0), coalesce((SELECT max(id) FROM deliveries), 0)
			ON CONFLICT (id) DO UPDATE SET attempt_id = excluded.attempt_id, delivery_id = excluded.delivery_id`); err != nil {
			return err
		}
		if _, err := t.exec(`UPDATE jobs SET run_at = ? WHERE state = 'ready' AND run_at > ?`, at(t.now), at(t.now)); err != nil {
			return err
		}
		if _, err := t.exec(`UPDATE deliveries SET next_attempt_at = ? WHERE state IN ('pending', 'queued') AND next_attempt_at > ?`, at(t.now), at(t.now)); err != nil {
			return err
		}
		if _, err := t.exec(`UPDATE channel_holds SET probe_at = ? WHERE since > ? AND ended_at IS NULL AND cause <> 'clock'`, at(t.now), at(t.now)); err != nil {
			return err
		}
		return s.endHold(t, roster.HoldClock)
	})
	return wrap(err, "resume after a clock change")
}

// CheckClock holds pushes when the clock is more than ten minutes behind the newest row, and ends that hold when the
// clock has passed it. It writes only when one of the two happens.
func (s *Store) CheckClock(ctx context.Context) error {
	newest, held, err := s.clockState(ctx)
	if err != nil {
		return wrap(err, "compare the clock with the newest row")
	}
	now := s.Now()
	switch {
	case held && !newest.After(now):
		return s.EndHold(ctx, roster.HoldClock)
	case held || newest.Sub(now) <= roster.ClockTolerance:
		return nil
	}
	err = s.inTx(ctx, func(t *tx) error {
		_, err := t.exec(`INSERT INTO channel_holds (cause, since, probe_at, notices) VALUES (?, ?, ?, 1)
			ON CONFLICT (cause) DO UPDATE SET since = excluded.since, probe_at = excluded.probe_at, ended_at = NULL`,
			roster.HoldClock, at(t.now), at(newest))
		return err
	})
	return wrap(err, "hold pushes for the clock")
}

// clockState returns the instant of the newest row that counts, and whether the clock holds pushes now.
func (s *Store) clockState(ctx context.Context) (newest time.Time, held bool, err error) {
	err = s.read.QueryRowContext(ctx, `SELECT max(x), EXISTS (SELECT 1 FROM channel_holds WHERE cause = 'clock' AND ended_at IS NULL) FROM (
		SELECT * FROM (SELECT started_at AS x FROM attempts WHERE id > coalesce((SELECT attempt_id FROM clock_trust), 0) ORDER BY id DESC LIMIT 100)
		UNION ALL SELECT * FROM (SELECT created_at FROM deliveries WHERE id > coalesce((SELECT delivery_id FROM clock_trust), 0) ORDER BY id DESC LIMIT 100))`).
		Scan(scanInstant(&newest), &held)
	return newest, held, err
}
