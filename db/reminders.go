package db

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"shiftpost/db/roster"
)

// SweepReminders is the name the reminder sweep is recorded under.
const SweepReminders = "reminders"

// sweepBatch is how many rows of a sweep share a transaction: few, so that nobody waits long for the writer.
const sweepBatch = 50

// MakeReminders makes what is due now: reminders of shifts inside their window, and corrections and cancellations of
// told shifts still ahead that are untrue. A shift that was confirmed in time and whose whole window passed since the
// last recorded run gets a canceled reminder, so that somebody can phone. It may run at any time, and beside itself in
// two processes. It returns how many notices it made or changed.
func (s *Store) MakeReminders(ctx context.Context) (int, error) {
	now := s.Now()
	today := roster.DateOf(now, s.loc)
	var errs []error
	untrue, err := s.untrue(ctx, today)
	errs = append(errs, err)
	due, err := s.dueReminders(ctx, now, today)
	errs = append(errs, err)
	n := 0
	for batch := range slices.Chunk(append(untrue, due...), sweepBatch) {
		changed, err := s.settleBatch(ctx, batch)
		n += changed
		errs = append(errs, err)
	}
	missed, err := s.missedReminders(ctx, now, today)
	return n + missed, errors.Join(append(errs, err)...)
}

// settleBatch compares several shifts in one transaction, or each in its own when that fails: one bad row must not stop
// the rest.
func (s *Store) settleBatch(ctx context.Context, pairs []pair) (n int, err error) {
	err = s.inTx(ctx, func(t *tx) (err error) {
		n, err = s.settleAll(t, pairs)
		return err
	})
	if err == nil || len(pairs) == 1 {
		return n, err
	}
	n = 0
	var errs []error
	for _, p := range pairs {
		changed, err := s.settleBatch(ctx, []pair{p})
		if err != nil {
			errs = append(errs, fmt.Errorf("shift %d: %w", p.shiftID, err))
		}
		n += changed
	}
	return n, errors.Join(errs...)
}

func (s *Store) settleAll(t *tx, pairs []pair) (int, error) {
	n := 0
	for _, p := range pairs {
		changed, err := s.settlePair(t, p, time.Time{})
		if err != nil {
			return 0, err
		}
		if changed {
			n++
		}
	}
	return n, nil
}

// untrue finds told shifts around today or later of which something is not so.
func (s *Store) untrue(ctx context.Context, today roster.Date) ([]pair, error) {
	const untrue = `SELECT x.shift_id, t.id FROM told x JOIN teachers t ON t.line_user_id = x.line_id JOIN shifts s ON s.id = x.shift_id
		WHERE x.certainty <> 'void' AND CASE WHEN x.canceled THEN s.state = 'confirmed' AND s.teacher_id = t.id
			ELSE NOT EXISTS (SELECT 1 FROM shifts o WHERE o.teacher_id = t.id AND o.state = 'confirmed' AND o.classroom_id = x.classroom_id
				AND o.date = x.date AND o.start_minutes = x.start_minutes AND o.end_minutes = x.end_minutes) END`
	pairs, err := list(ctx, s.read, scanPair, untrue+` AND x.date >= ?1 UNION `+untrue+` AND s.date >= ?1`, today.AddDays(-2))
	return pairs, wrap(err, "look for told shifts that are untrue")
}

// window is a confirmed shift with the lead of its group.
type window struct {
	pair
	roster.Standing
}

func scanWindow(r scanner) (w window, err error) {
	x := &w.Shift
	err = r.Scan(&x.ID, &x.TeacherID, &x.Date, &x.Times.Start, &x.Times.End, &w.LeadMinutes)
	w.pair = pair{x.ID, x.TeacherID}
	return w, err
}

// dueReminders finds confirmed shifts inside their window without a standing reminder of their version. What else can
// stand in a reminder's way, settle looks at.
func (s *Store) dueReminders(ctx context.Context, now time.Time, today roster.Date) ([]pair, error) {
	windows, err := list(ctx, s.read, scanWindow, `SELECT s.id, s.teacher_id, s.date, s.start_minutes, s.end_minutes, g.lead_minutes FROM shifts s
		JOIN classrooms c ON c.id = s.classroom_id JOIN groups g ON g.id = c.group_id JOIN teachers t ON t.id = s.teacher_id
		WHERE s.state = 'confirmed' AND s.date BETWEEN ? AND ?
		AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.shift_id = s.id AND d.line_id = t.line_user_id AND d.kind = 'shift_reminder' AND d.shift_version = s.version
			AND (d.state <> 'canceled' OR d.code = 'CANCELED_BY_ADMIN'))
		ORDER BY s.date, s.start_minutes`, today.AddDays(-2), today.AddDays(3))
	if err != nil {
		return nil, fmt.Errorf("look for due reminders: %w", err)
	}
	var due []pair
	for _, w := range windows {
		if w.Shift.Start(s.loc).After(now) && !w.ReminderFrom(s.loc).After(now) {
			due = append(due, w.pair)
		}
	}
	return due, nil
}

// missedReminders notes the shifts that began since the last recorded run, were confirmed before, and of which nobody
// was reminded. Before a first recorded run there is nothing to look back to.
func (s *Store) missedReminders(ctx context.Context, now time.Time, today roster.Date) (int, error) {
	var last time.Time
	err := s.read.QueryRowContext(ctx, `SELECT max(ran_at) FROM sweeps WHERE name = ?`, SweepReminders).Scan(scanInstant(&last))
	if err != nil {
		return 0, fmt.Errorf("last run of the reminders: %w", err)
	}
	if last.IsZero() {
		return 0, nil
	}
	windows, err := list(ctx, s.read, scanWindow, `SELECT s.id, s.teacher_id, s.date, s.start_minutes, s.end_minutes, g.lead_minutes FROM shifts s
		JOIN classrooms c ON c.id = s.classroom_id JOIN groups g ON g.id = c.group_id
		WHERE s.state = 'confirmed' AND s.date BETWEEN ? AND ?
		AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.shift_id = s.id AND d.shift_version = s.version AND d.kind IN ('shift_reminder', 'shift_correction'))`,
		roster.DateOf(last, s.loc).AddDays(-2), today)
	if err != nil {
		return 0, fmt.Errorf("look for missed reminders: %w", err)
	}
	n := 0
	var errs []error
	for _, w := range windows {
		start := w.Shift.Start(s.loc)
		if start.After(now) || w.ReminderFrom(s.loc).Before(last) {
			continue
		}
		err := s.inTx(ctx, func(t *tx) error {
			v, err := teacher(t.ctx, t, w.teacherID)
			if err != nil {
				return err
			}
			st, err := s.standing(t, w.shiftID, v)
			if err == nil {
				err = s.weigh(t, &st, v)
			}
			if err != nil || !st.Theirs || st.Reminded || !st.Shift.ChangedAt.Before(start) {
				return err
			}
			noted, err := t.noteUntold(roster.ShiftReminder, st.Shift, v, start, roster.CodeShiftStarted)
			if noted {
				n++
			}
			return err
		})
		if err != nil {
			errs = append(errs, fmt.Errorf("note the missed reminder of shift %d: %w", w.shiftID, err))
		}
	}
	return n, errors.Join(errs...)
}
