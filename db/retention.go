package db

import (
	"context"
	"errors"
	"fmt"

	"shiftpost/db/queue"
	"shiftpost/db/roster"
)

// ErrRetention tells that a retention is neither 0 nor from roster.MinRetention to roster.MaxRetention months.
var ErrRetention = errors.New("not a possible retention")

// ErasesError tells that a retention, once set, erases that many deliveries for ever, which has to be confirmed.
type ErasesError struct{ Deliveries int }

// Error names the number.
func (e *ErasesError) Error() string { return fmt.Sprintf("it erases %d deliveries", e.Deliveries) }

// Retention reads how long records of what was sent are kept; for ever while it was never set.
func (s *Store) Retention(ctx context.Context) (roster.Retention, error) {
	return retention(ctx, s.read)
}

func retention(ctx context.Context, q querier) (roster.Retention, error) {
	set, err := readSetting(ctx, q, "retention")
	return roster.Retention{Months: set.value, EditNumber: set.editNumber, UpdatedAt: set.updatedAt}, err
}

// RetentionEdit is how long an admin wants records of what was sent to be kept.
type RetentionEdit struct {
	Months    int  // 0: for ever
	Confirmed bool // that what is older by now goes
	AdminID   int64
}

// EditRetention changes the retention that was read with that edit number; Prune then erases what is older. Beside
// failures the error is ErrEdited, ErrRetention, or an ErasesError when something is older by now and that was not
// confirmed.
func (s *Store) EditRetention(ctx context.Context, editNumber int64, e RetentionEdit) error {
	if e.Months != 0 && (e.Months < roster.MinRetention || e.Months > roster.MaxRetention) {
		return ErrRetention
	}
	err := s.inTx(ctx, func(t *tx) error {
		if err := t.writeSetting("retention", e.Months, editNumber, e.AdminID); err != nil || e.Confirmed {
			return err
		}
		expired, err := s.expiredDeliveries(t, -1)
		if err == nil && len(expired) > 0 {
			err = &ErasesError{len(expired)}
		}
		return err
	})
	return wrap(err, "edit retention")
}

// expiredDeliveries lists at most so many ended deliveries, all of them if it is negative, that are older than what is
// kept: all that they were about, and told, was in a month before, and so is their end. The newest row of each table
// stays, since its id must not be given away again, and so does what a present hold came from, and what says that a
// publication was called off before it was sent, without which it would count as one.
func (s *Store) expiredDeliveries(t *tx, most int) ([]roster.Delivery, error) {
	set, err := retention(t.ctx, t)
	if err != nil {
		return nil, err
	}
	from := set.KeptFrom(roster.DateOf(t.now, s.loc))
	if from.IsZero() {
		return nil, nil
	}
	expired, err := list(t.ctx, t, scanDelivery, `SELECT `+qualify("d", deliveryColumns)+` FROM deliveries d
		LEFT JOIN shifts s ON s.id = d.shift_id LEFT JOIN publications p ON p.id = coalesce(d.publication_id, d.asked_id)
		WHERE d.finished_at < ?1 AND coalesce(s.date, p.month || '-31') < ?2
		AND NOT EXISTS (SELECT 1 FROM told w WHERE w.delivery_id = d.id AND w.date >= ?2)
		AND d.id <> (SELECT max(id) FROM deliveries) AND d.id IS NOT (SELECT delivery_id FROM attempts ORDER BY id DESC LIMIT 1)
		AND NOT EXISTS (SELECT 1 FROM channel_holds h WHERE h.delivery_id = d.id AND h.ended_at IS NULL)
		AND NOT (d.publication_id IS NOT NULL AND d.state = 'canceled' AND d.first_try_at IS NULL)
		ORDER BY d.id LIMIT ?3`, at(roster.Instant(from, 0, s.loc)), from, most)
	return expired, wrap(err, "look for deliveries that are not kept")
}

// pruneDeliveries erases at most so many deliveries that are older than what is kept, with their attempts, their
// history and what they told, and lets their dead letters go.
func (s *Store) pruneDeliveries(t *tx, most int) (int, error) {
	expired, err := s.expiredDeliveries(t, most)
	if err != nil {
		return 0, err
	}
	for _, d := range expired {
		if _, err := queue.Withdraw(t.ctx, t, t.now, jobKind(d.Kind), d.ID); err != nil {
			return 0, err
		}
		for _, erase := range []string{
			`UPDATE channel_holds SET delivery_id = NULL WHERE delivery_id = ?`,
			`DELETE FROM told WHERE delivery_id = ?`,
			`DELETE FROM delivery_events WHERE delivery_id = ?`,
			`DELETE FROM attempts WHERE delivery_id = ?`,
			`DELETE FROM deliveries WHERE id = ?`,
		} {
			if _, err := t.exec(erase, d.ID); err != nil {
				return 0, fmt.Errorf("erase delivery %d: %w", d.ID, err)
			}
		}
	}
	return len(expired), nil
}
