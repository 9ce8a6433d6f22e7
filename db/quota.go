package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"shiftpost/db/roster"
)

// QuotaReading is what LINE answered about the channel's monthly limit.
type QuotaReading struct {
	Limited bool
	Limit   int // messages a month, if limited
	Used    int // of the present month
}

// RecordQuota keeps what LINE answered, in place of what it answered before.
func (s *Store) RecordQuota(ctx context.Context, r QuotaReading) error {
	err := s.inTx(ctx, func(t *tx) error {
		own, err := ownMessages(t.ctx, t, roster.LINEMonth(t.now))
		if err != nil {
			return err
		}
		_, err = t.exec(`INSERT INTO quota_readings (id, read_at, limited, value, used, own) VALUES (1, ?, ?, ?, ?, ?)
			ON CONFLICT (id) DO UPDATE SET read_at = excluded.read_at, limited = excluded.limited, value = excluded.value, used = excluded.used,
			own = excluded.own, failed_at = NULL`, at(t.now), r.Limited, r.Limit, r.Used, own)
		return err
	})
	return wrap(err, "record quota")
}

// RecordQuotaFailure notes that LINE did not answer; what it answered before stays.
func (s *Store) RecordQuotaFailure(ctx context.Context) error {
	err := s.inTx(ctx, func(t *tx) error {
		_, err := t.exec(`INSERT INTO quota_readings (id, failed_at) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET failed_at = excluded.failed_at`, at(t.now))
		return err
	})
	return wrap(err, "record that the quota is not known")
}

// Quota reads how many of LINE's messages the month has used and will use, as far as it is known.
func (s *Store) Quota(ctx context.Context) (roster.Quota, error) {
	var q roster.Quota
	err := s.inReadTx(ctx, func(t *tx) (err error) {
		q, err = s.quota(t)
		return err
	})
	return q, wrap(err, "read quota")
}

func (s *Store) quota(t *tx) (roster.Quota, error) {
	q := roster.Quota{Month: roster.LINEMonth(t.now)}
	err := t.row(`SELECT read_at, failed_at, limited, value, used, own FROM quota_readings`).
		Scan(scanInstant(&q.ReadAt), scanInstant(&q.FailedAt), &q.Limited, &q.Limit, &q.LINEUsed, &q.OwnThen)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return q, fmt.Errorf("last reading: %w", err)
	}
	if !q.LINEKnown() {
		q.LINEUsed, q.OwnThen = 0, 0
	}
	if q.Own, err = ownMessages(t.ctx, t, q.Month); err != nil {
		return q, err
	}
	err = t.row(`SELECT coalesce(sum(coalesce(g.line_member_count, 1)), 0) FROM deliveries d LEFT JOIN groups g ON g.id = d.group_id
		WHERE d.state IN ('pending', 'queued', 'processing')`).Scan(&q.Waiting)
	if err != nil {
		return q, fmt.Errorf("waiting messages: %w", err)
	}
	q.Reminders, err = s.remindersToCome(t, roster.LINEMonthEnd(q.Month))
	return q, err
}

// remindersToCome counts the reminders that will be made before an instant as things are now.
func (s *Store) remindersToCome(t *tx, until time.Time) (int, error) {
	windows, err := list(t.ctx, t, scanWindow, `SELECT `+windowColumns+` FROM shifts s
		JOIN classrooms c ON c.id = s.classroom_id JOIN groups g ON g.id = c.group_id JOIN teachers t ON t.id = s.teacher_id
		WHERE s.state = 'confirmed' AND s.date BETWEEN ? AND ? AND t.line_user_id <> '' AND t.notices_on = 1 AND t.archived_at IS NULL
		AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.shift_id = s.id AND d.line_id = t.line_user_id AND d.kind = 'shift_reminder' AND d.shift_version = s.version
			AND (d.state <> 'canceled' OR d.code = 'CANCELED_BY_ADMIN'))`,
		roster.DateOf(t.now, s.loc), roster.DateOf(until, s.loc).AddDays(2))
	if err != nil {
		return 0, fmt.Errorf("reminders to come: %w", err)
	}
	n := 0
	for _, w := range windows {
		if w.Shift.Start(s.loc).After(t.now) && w.ReminderFrom(s.loc).Before(until) {
			n++
		}
	}
	return n, nil
}

// ownMessages reads how many messages LINE took from us in a month of its own.
func ownMessages(ctx context.Context, q querier, m roster.Month) (int, error) {
	var n int
	err := q.QueryRowContext(ctx, `SELECT coalesce((SELECT messages FROM sent_messages WHERE month = ?), 0)`, m).Scan(&n)
	return n, wrap(err, "messages of %s", m)
}

// countSent adds what a delivery that LINE took now costs to its month.
func (t *tx) countSent(d roster.Delivery) error {
	_, err := t.exec(`INSERT INTO sent_messages (month, messages) VALUES (?1, coalesce((SELECT line_member_count FROM groups WHERE id = ?2), 1))
		ON CONFLICT (month) DO UPDATE SET messages = messages + excluded.messages`, roster.LINEMonth(t.now), ref(d.GroupID))
	return wrap(err, "count the messages of delivery %d", d.ID)
}
