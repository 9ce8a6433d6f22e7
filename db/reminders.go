package db

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"shiftpost/db/roster"
)

// SweepReminders is the name the reminder sweep is recorded under.
const SweepReminders = "reminders"

// How many shifts of a sweep share a transaction: few enough that whoever waits for the writer does not notice.
const (
	sweepBatch = 20  // compared one by one
	plainBatch = 100 // first reminders, which two statements make
)

// MakeReminders makes what is due now: reminders of shifts inside their window, and corrections and cancellations of
// told shifts still ahead that are untrue. A shift that was confirmed in time and whose whole window passed since the
// last recorded run gets a canceled reminder, so that somebody can phone. It may run at any time, and beside itself in
// two processes. It returns how many notices it made or changed.
func (s *Store) MakeReminders(ctx context.Context) (int, error) {
	now := s.Now()
	today := roster.DateOf(now, s.loc)
	var errs []error
	compare, err := s.untrue(ctx, today)
	errs = append(errs, err)
	due, err := s.dueReminders(ctx, now, today)
	errs = append(errs, err)
	n := 0
	for batch := range slices.Chunk(due, plainBatch) {
		made, err := s.makePlain(ctx, batch)
		if err != nil {
			s.log.Warn("first reminders are made one by one", "error", err)
		}
		n += len(made)
		for _, w := range batch {
			if !made[w.shiftID] {
				compare = append(compare, w.pair)
			}
		}
	}
	for batch := range slices.Chunk(compare, sweepBatch) {
		changed, err := s.settleBatch(ctx, batch)
		n += changed
		errs = append(errs, err)
	}
	missed, err := s.missedReminders(ctx, now, today)
	return n + missed, errors.Join(append(errs, err)...)
}

// makePlain makes the reminders of those shifts about which there never was a notice, and whose teacher was not told the
// same of another shift: nothing there is to be compared. It returns the shifts it reminded of. On an error it made none.
func (s *Store) makePlain(ctx context.Context, windows []window) (made map[int64]bool, err error) {
	type plain struct {
		ID       int64  `json:"id"`
		Version  int64  `json:"version"`
		Lead     int    `json:"lead"`
		Deadline int64  `json:"deadline"`
		Key      string `json:"key"`
	}
	rows := make([]plain, len(windows))
	for i, w := range windows {
		rows[i] = plain{w.Shift.ID, w.Shift.Version, w.LeadMinutes, w.Shift.Start(s.loc).UnixMilli(), uuid.NewString()}
	}
	in, err := json.Marshal(rows)
	if err != nil {
		return nil, err
	}
	err = s.inTx(ctx, func(t *tx) error {
		var last int64
		if err := t.row(`SELECT coalesce(max(id), 0) FROM deliveries`).Scan(&last); err != nil {
			return err
		}
		if _, err := t.exec(`INSERT INTO deliveries (kind, state, retry_key, teacher_id, shift_id, shift_version, line_id, due_at, deadline_at, next_attempt_at, created_at, updated_at)
			SELECT ?1, 'queued', p.value ->> 'key', s.teacher_id, s.id, s.version, t.line_user_id, ?2, p.value ->> 'deadline', ?2, ?2, ?2
			FROM json_each(?3) p JOIN shifts s ON s.id = p.value ->> 'id' JOIN teachers t ON t.id = s.teacher_id
			JOIN classrooms c ON c.id = s.classroom_id JOIN groups g ON g.id = c.group_id
			WHERE s.state = 'confirmed' AND s.version = p.value ->> 'version' AND g.lead_minutes = p.value ->> 'lead' AND p.value ->> 'deadline' > ?2
			AND t.line_user_id <> '' AND t.notices_on AND t.archived_at IS NULL
			AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.shift_id = s.id)
			AND NOT EXISTS (SELECT 1 FROM told w WHERE w.line_id = t.line_user_id AND w.certainty <> 'void' AND w.classroom_id = s.classroom_id
				AND w.date = s.date AND w.start_minutes = s.start_minutes AND w.end_minutes = s.end_minutes)`,
			roster.ShiftReminder, at(t.now), string(in)); err != nil {
			return fmt.Errorf("save first reminders: %w", err)
		}
		type job struct {
			Delivery int64  `json:"delivery"`
			Lane     string `json:"lane"`
		}
		made = make(map[int64]bool, len(windows))
		queued, err := list(t.ctx, t, func(r scanner) (j job, err error) {
			var shiftID int64
			var lineID string
			err = r.Scan(&j.Delivery, &shiftID, &lineID)
			made[shiftID], j.Lane = true, noticeLane(lineID)
			return j, err
		}, `SELECT id, shift_id, line_id FROM deliveries WHERE id > ?`, last)
		if err != nil || len(queued) == 0 {
			return err
		}
		in, err := json.Marshal(queued)
		if err != nil {
			return err
		}
		if _, err := t.exec(`INSERT INTO jobs (kind, subject_id, lane, state, run_at, created_at, updated_at)
			SELECT ?1, p.value ->> 'delivery', p.value ->> 'lane', 'ready', ?2, ?2, ?2 FROM json_each(?3) p`, JobNotice, at(t.now), string(in)); err != nil {
			return fmt.Errorf("queue first reminders: %w", err)
		}
		t.queued = true
		return nil
	})
	if err != nil {
		return nil, err
	}
	return made, nil
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
	const untrue = ` JOIN teachers t ON t.line_user_id = x.line_id AND t.line_user_id <> ''
		WHERE x.certainty <> 'void' AND CASE WHEN x.canceled THEN s.state = 'confirmed' AND s.teacher_id = t.id
			ELSE NOT EXISTS (SELECT 1 FROM shifts o WHERE o.teacher_id = t.id AND o.state = 'confirmed' AND o.classroom_id = x.classroom_id
				AND o.date = x.date AND o.start_minutes = x.start_minutes AND o.end_minutes = x.end_minutes) END`
	// The order of each join is fixed: what is ahead is little, what was ever told is much.
	pairs, err := list(ctx, s.read, scanPair, `SELECT x.shift_id, t.id FROM told x CROSS JOIN shifts s ON s.id = x.shift_id`+untrue+` AND x.date >= ?1
		UNION SELECT x.shift_id, t.id FROM shifts s CROSS JOIN told x ON x.shift_id = s.id`+untrue+` AND s.date >= ?1`, today.AddDays(-2))
	return pairs, wrap(err, "look for told shifts that are untrue")
}

// window is a confirmed shift with the lead of its group.
type window struct {
	pair
	roster.Standing
}

// windowColumns are a shift's and its group's, of shifts s and groups g.
const windowColumns = `s.id, s.teacher_id, s.date, s.start_minutes, s.end_minutes, s.version, g.lead_minutes`

func scanWindow(r scanner) (w window, err error) {
	x := &w.Shift
	err = r.Scan(&x.ID, &x.TeacherID, &x.Date, &x.Times.Start, &x.Times.End, &x.Version, &w.LeadMinutes)
	w.pair = pair{x.ID, x.TeacherID}
	return w, err
}

// dueReminders finds confirmed shifts inside their window without a standing reminder of their version. What else can
// stand in a reminder's way, settle looks at.
func (s *Store) dueReminders(ctx context.Context, now time.Time, today roster.Date) ([]window, error) {
	windows, err := list(ctx, s.read, scanWindow, `SELECT `+windowColumns+` FROM shifts s
		JOIN classrooms c ON c.id = s.classroom_id JOIN groups g ON g.id = c.group_id JOIN teachers t ON t.id = s.teacher_id
		WHERE s.state = 'confirmed' AND s.date BETWEEN ? AND ?
		AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.shift_id = s.id AND d.line_id = t.line_user_id AND d.kind = 'shift_reminder' AND d.shift_version = s.version
			AND (d.state <> 'canceled' OR d.code = 'CANCELED_BY_ADMIN'))
		ORDER BY s.date, s.start_minutes`, today.AddDays(-2), today.AddDays(3))
	if err != nil {
		return nil, fmt.Errorf("look for due reminders: %w", err)
	}
	return slices.DeleteFunc(windows, func(w window) bool {
		return !w.Shift.Start(s.loc).After(now) || w.ReminderFrom(s.loc).After(now)
	}), nil
}

// missedReminders notes the shifts that began since the last recorded run without trouble, were confirmed before, and of
// which nobody was reminded. Before a first one there is nothing to look back to.
func (s *Store) missedReminders(ctx context.Context, now time.Time, today roster.Date) (int, error) {
	var last time.Time
	err := s.read.QueryRowContext(ctx, `SELECT max(done_at) FROM sweeps WHERE name = ?`, SweepReminders).Scan(scanInstant(&last))
	if err != nil {
		return 0, fmt.Errorf("last run of the reminders: %w", err)
	}
	if last.IsZero() {
		return 0, nil
	}
	windows, err := list(ctx, s.read, scanWindow, `SELECT `+windowColumns+` FROM shifts s
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
