package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"shiftpost/db/roster"
)

// Reasons why a delivery cannot be retried, sent again or called off.
var (
	// ErrMayHaveArrived asks a person first: an earlier try may have arrived, and a new retry key would post again.
	ErrMayHaveArrived = errors.New("an earlier try may have arrived")
	// ErrNotFailed tells that only failed deliveries can be retried.
	ErrNotFailed = errors.New("the delivery has not failed")
	// ErrNotWaiting tells that the delivery is being sent or has ended.
	ErrNotWaiting = errors.New("the delivery does not wait")
	// ErrLive tells that a delivery of the same group and month, or another notice about the same to the same person, is
	// still on its way.
	ErrLive = errors.New("a delivery of the same is on its way")
)

// NotWantedError tells that a delivery would be canceled at its next check.
type NotWantedError struct{ Code roster.Code }

// Error names the code.
func (e *NotWantedError) Error() string { return "the delivery is no longer wanted: " + string(e.Code) }

// retryOptions say how a delivery is retried.
type retryOptions struct {
	adminID    int64
	confirmed  bool // a person said to send although an earlier try may have arrived
	passesHold bool
}

// RetryDelivery begins a new ladder for a failed delivery: with the same retry key while LINE knows it, after that
// with a new one. It passes a hold. Beside failures the error is ErrNotFound, ErrNotFailed, a *NotWantedError, ErrLive,
// or ErrMayHaveArrived unless confirmed.
func (s *Store) RetryDelivery(ctx context.Context, deliveryID, adminID int64, confirmed bool) error {
	err := s.inTx(ctx, func(t *tx) error {
		d, err := one(t.ctx, t, scanDelivery, `SELECT `+deliveryColumns+` FROM deliveries WHERE id = ?`, deliveryID)
		if err != nil {
			return err
		}
		return s.retry(t, d, retryOptions{adminID: adminID, confirmed: confirmed, passesHold: true})
	})
	return wrap(err, "retry delivery %d", deliveryID)
}

func (s *Store) retry(t *tx, d roster.Delivery, o retryOptions) error {
	if d.State != roster.Failed {
		return ErrNotFailed
	}
	code, err := s.check(t, d)
	if err != nil {
		return err
	}
	if code != "" {
		return &NotWantedError{code}
	}
	if d.Kind.Notice() {
		subject, subjectID := "shift_id", d.ShiftID
		if d.Kind == roster.ReceiptRequest {
			subject, subjectID = "asked_id", d.AskedID
		}
		var live bool
		if err := t.row(`SELECT EXISTS (SELECT 1 FROM deliveries WHERE `+subject+` = ? AND line_id = ? AND state IN ('pending', 'queued', 'processing'))`, subjectID, d.LINEID).Scan(&live); err != nil {
			return fmt.Errorf("another one like delivery %d: %w", d.ID, err)
		}
		if live {
			return ErrLive
		}
	}
	event, key, keyFirst := EventRetried, d.RetryKey, d.KeyFirstTryAt
	if roster.KeyExpired(t.now, d.KeyFirstTryAt, s.opts.RetryKeyTTL) {
		maybe, err := t.mayHaveArrived(d.ID)
		if err != nil {
			return err
		}
		if maybe && !o.confirmed {
			return ErrMayHaveArrived
		}
		event, key, keyFirst = EventNewKey, uuid.NewString(), time.Time{}
	}
	err = t.execOne(errMoved, `UPDATE deliveries SET state = 'pending', code = ?, retry_key = ?, key_first_try_at = ?, ladder = ladder + 1, ladder_tries = 0,
		interruptions = 0, held_by = '', next_attempt_at = ?, finished_at = NULL, updated_at = ? WHERE id = ? AND state = 'failed'`,
		roster.CodeEnqueueFailed, key, at(keyFirst), at(t.now.Add(s.opts.SweepEvery)), at(t.now), d.ID)
	if err != nil {
		return err
	}
	if _, err := t.enqueue(d, t.now, o.passesHold); err != nil {
		return err
	}
	return t.event(d.ID, event, "", o.adminID)
}

// mayHaveArrived reports whether a try of a delivery is open or ended without a known answer, or one of the notice whose
// key it took over.
func (t *tx) mayHaveArrived(deliveryID int64) (bool, error) {
	var yes bool
	err := t.row(`SELECT `+mayHaveArrived+` OR EXISTS (SELECT 1 FROM told w JOIN deliveries b ON b.id = w.delivery_id
		WHERE w.line_id = d.line_id AND w.certainty = 'maybe' AND b.id <> d.id AND b.retry_key = d.retry_key) FROM deliveries d WHERE d.id = ?`, deliveryID).Scan(&yes)
	return yes, wrap(err, "read attempts of delivery %d", deliveryID)
}

// RetryPlan says what retrying every failed delivery of one code would do.
type RetryPlan struct {
	Deliveries int // that would be sent
	Messages   int // what they cost
	Unsure     int // that may have arrived and would need a new key: they are left out
	Unwanted   int // that are no longer true or wanted, or said by another one on its way: they are left out
}

// PlanRetries counts what RetryAll would do now.
func (s *Store) PlanRetries(ctx context.Context, code roster.Code) (RetryPlan, error) {
	var p RetryPlan
	err := s.inTx(ctx, func(t *tx) error {
		var err error
		p, err = s.retryAll(t, code, 0, true)
		return err
	})
	return p, wrap(err, "plan retries of %s", code)
}

// RetryAllInput says which failed deliveries an admin retries.
type RetryAllInput struct {
	Code    roster.Code
	AdminID int64
	Shown   RetryPlan // what the admin was shown and agreed to
}

// RetryAll retries every failed delivery of one code, but those that may have arrived and would need a new key, and
// those that are no longer wanted. Beside failures the error is ErrEdited when that is not what was shown; then nothing
// was changed.
func (s *Store) RetryAll(ctx context.Context, in RetryAllInput) error {
	err := s.inTx(ctx, func(t *tx) error {
		done, err := s.retryAll(t, in.Code, in.AdminID, false)
		if err == nil && (done.Deliveries != in.Shown.Deliveries || done.Messages != in.Shown.Messages) {
			return ErrEdited
		}
		return err
	})
	return wrap(err, "retry all of %s", in.Code)
}

func (s *Store) retryAll(t *tx, code roster.Code, adminID int64, dry bool) (RetryPlan, error) {
	var p RetryPlan
	failed, err := list(t.ctx, t, scanDelivery, `SELECT `+deliveryColumns+` FROM deliveries WHERE state = 'failed' AND code = ? ORDER BY id`, code)
	if err != nil {
		return p, err
	}
	for _, d := range failed {
		if _, err := t.exec(`SAVEPOINT one_retry`); err != nil {
			return p, err
		}
		err := s.retry(t, d, retryOptions{adminID: adminID, passesHold: true})
		var unwanted *NotWantedError
		switch {
		case errors.As(err, &unwanted), errors.Is(err, ErrLive):
			p.Unwanted++
		case errors.Is(err, ErrMayHaveArrived):
			p.Unsure++
		case err != nil:
			return p, err
		default:
			p.Deliveries++
			cost := 1
			if !d.Kind.Notice() {
				g, err := group(t.ctx, t, d.GroupID)
				if err != nil {
					return p, err
				}
				cost = g.LINEMemberCount
			}
			p.Messages += cost
		}
		if dry {
			if _, err := t.exec(`ROLLBACK TO one_retry`); err != nil {
				return p, err
			}
		}
		if _, err := t.exec(`RELEASE one_retry`); err != nil {
			return p, err
		}
	}
	return p, nil
}

// HurryDelivery makes the next try of a queued delivery due now, and lets it pass a hold. Beside failures the error is ErrNotFound or
// ErrNotWaiting.
func (s *Store) HurryDelivery(ctx context.Context, deliveryID, adminID int64) error {
	err := s.inTx(ctx, func(t *tx) error {
		d, err := one(t.ctx, t, scanDelivery, `SELECT `+deliveryColumns+` FROM deliveries WHERE id = ?`, deliveryID)
		if err != nil {
			return err
		}
		if d.State != roster.Queued {
			return ErrNotWaiting
		}
		var hurried bool
		err = t.row(`SELECT run_at <= ? AND passes_hold FROM jobs WHERE kind = ? AND subject_id = ? AND state = 'ready'`, at(t.now), jobKind(d.Kind), d.ID).Scan(&hurried)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return ErrNotWaiting
		case err != nil:
			return err
		case hurried:
			return nil // a button pressed twice
		}
		if err := t.execOne(ErrNotWaiting, `UPDATE jobs SET run_at = ?, passes_hold = 1, updated_at = ? WHERE kind = ? AND subject_id = ? AND state = 'ready'`,
			at(t.now), at(t.now), jobKind(d.Kind), d.ID); err != nil {
			return err
		}
		if err := t.execOne(ErrNotWaiting, `UPDATE deliveries SET next_attempt_at = ?, updated_at = ? WHERE id = ? AND state = 'queued'`, at(t.now), at(t.now), d.ID); err != nil {
			return err
		}
		return t.event(d.ID, EventHurried, "", adminID)
	})
	return wrap(err, "hurry delivery %d", deliveryID)
}

// CancelDelivery calls off a delivery that waits. When neither it nor the announcement it had superseded was ever
// tried, that one gets a new delivery. Beside failures the error is ErrNotFound or ErrNotWaiting.
func (s *Store) CancelDelivery(ctx context.Context, deliveryID, adminID int64) error {
	err := s.inTx(ctx, func(t *tx) error {
		d, err := one(t.ctx, t, scanDelivery, `SELECT `+deliveryColumns+` FROM deliveries WHERE id = ?`, deliveryID)
		if err != nil {
			return err
		}
		if d.State != roster.Pending && d.State != roster.Queued {
			return ErrNotWaiting
		}
		if err := t.cancel(d, roster.CodeCanceledByAdmin, adminID); err != nil {
			return err
		}
		if d.Kind.Notice() {
			return s.afterNotice(t, d)
		}
		before, found, err := t.revivedBy(d)
		if err != nil || !found {
			return err
		}
		_, err = s.announce(t, before.GroupID, before.PublicationID, adminID)
		return err
	})
	return wrap(err, "cancel delivery %d", deliveryID)
}

// revivedBy finds the announcement that comes back when d is called off: the one that d superseded, if neither was ever
// tried.
func (t *tx) revivedBy(d roster.Delivery) (before roster.Delivery, found bool, err error) {
	if d.Kind.Notice() || !d.FirstTryAt.IsZero() {
		return before, false, nil
	}
	before, err = one(t.ctx, t, scanDelivery, `SELECT `+qualify("d", deliveryColumns)+` FROM deliveries d
		JOIN publications p ON p.id = d.publication_id JOIN publications n ON n.group_id = p.group_id AND n.month = p.month
		WHERE n.id = ? AND d.id < ? ORDER BY d.id DESC LIMIT 1`, d.PublicationID, d.ID)
	if errors.Is(err, ErrNotFound) {
		return before, false, nil
	}
	if err != nil {
		return before, false, fmt.Errorf("look for what delivery %d superseded: %w", d.ID, err)
	}
	return before, before.Code == roster.CodeSuperseded && before.FirstTryAt.IsZero(), nil
}

// ResendInput says what an admin sends again.
type ResendInput struct {
	PublicationID int64
	AdminID       int64
	// LastDeliveryID is the newest delivery of the group's month when the page was shown, 0 if there was none.
	LastDeliveryID int64
	// Confirmed says that the admin knows of an earlier one that arrived, or may have.
	Confirmed bool
}

// ResendPlan says what sending a publication again would do now, or why it cannot be done.
type ResendPlan struct {
	LastDeliveryID int64            // what ResendInput wants back
	Messages       int              // what it costs; 0 if the group's size is not known
	First          bool             // the publication was never announced
	Arrived        roster.Certainty // an earlier one was sent, or may have been: a person is asked first; empty if neither
	ArrivedAt      time.Time        // when that one was sent, or last tried; zero if no record of it is left
	LiveID         int64            // the delivery of the month that is on its way: ErrLive; 0 if none is
	Refusal        roster.Code      // why it is not wanted; empty if it is
}

// PlanResend says what Resend would do now. The error is ErrNotFound if there is no such publication.
func (s *Store) PlanResend(ctx context.Context, publicationID int64) (ResendPlan, error) {
	var plan ResendPlan
	err := s.inReadTx(ctx, func(t *tx) (err error) {
		_, plan, err = s.planResend(t, publicationID)
		return err
	})
	return plan, wrap(err, "plan to resend publication %d", publicationID)
}

func (s *Store) planResend(t *tx, publicationID int64) (roster.Publication, ResendPlan, error) {
	var plan ResendPlan
	p, err := publicationAlone(t.ctx, t, publicationID)
	if err != nil {
		return p, plan, err
	}
	g, err := group(t.ctx, t, p.GroupID)
	if err != nil {
		return p, plan, err
	}
	newest, err := newestPublication(t.ctx, t, p.GroupID, p.Month)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return p, plan, err
	}
	switch {
	case err == nil && newest.Number > p.Number:
		plan.Refusal = roster.CodeSuperseded
	case !g.Linked():
		plan.Refusal = roster.CodeGroupLeft
	}
	plan.Messages = g.LINEMemberCount
	var sent, maybe bool
	err = t.row(`SELECT coalesce(max(d.id), 0), coalesce(max(CASE WHEN d.state IN ('pending', 'queued', 'processing') THEN d.id END), 0),
		coalesce(max(d.publication_id = ?1), 0) = 0,
		coalesce(max(d.publication_id = ?1 AND d.state = 'sent'), 0), coalesce(max(d.publication_id = ?1 AND `+mayHaveArrived+`), 0),
		max(CASE WHEN d.publication_id = ?1 AND (d.state = 'sent' OR `+mayHaveArrived+`) THEN coalesce(CASE WHEN d.state = 'sent' THEN d.finished_at END,
			(SELECT max(a.started_at) FROM attempts a WHERE a.delivery_id = d.id)) END)
		FROM deliveries d JOIN publications p ON p.id = d.publication_id WHERE p.group_id = ?2 AND p.month = ?3`, p.ID, p.GroupID, p.Month).
		Scan(&plan.LastDeliveryID, &plan.LiveID, &plan.First, &sent, &maybe, scanInstant(&plan.ArrivedAt))
	if err != nil {
		return p, plan, err
	}
	kept, err := retention(t.ctx, t)
	switch {
	case sent:
		plan.Arrived = roster.Sure
	case maybe:
		plan.Arrived = roster.Maybe
	case kept.MayLack(p.Month, roster.DateOf(t.now, s.loc)):
		plan.First, plan.Arrived = false, roster.Maybe
	}
	return p, plan, err
}

// Resend makes a new delivery of a publication to the group's present LINE group. Beside failures the error is
// ErrNotFound; ErrLive while a delivery of the month is on its way; ErrEdited when one was made since the page was
// shown; a *NotWantedError when a newer publication exists or the group is not linked; or ErrMayHaveArrived, unless
// confirmed, when the publication was sent already or may have been.
func (s *Store) Resend(ctx context.Context, in ResendInput) (deliveryID int64, err error) {
	err = s.inTx(ctx, func(t *tx) error {
		p, plan, err := s.planResend(t, in.PublicationID)
		switch {
		case err != nil:
			return err
		case plan.Refusal != "":
			return &NotWantedError{plan.Refusal}
		case plan.LiveID != 0:
			return ErrLive
		case plan.LastDeliveryID != in.LastDeliveryID:
			return ErrEdited
		case plan.Arrived != "" && !in.Confirmed:
			return ErrMayHaveArrived
		}
		deliveryID, err = s.announce(t, p.GroupID, p.ID, in.AdminID)
		return err
	})
	return deliveryID, wrap(err, "resend publication %d", in.PublicationID)
}
