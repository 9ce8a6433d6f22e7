package db

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"shiftpost/db/queue"
	"shiftpost/db/roster"
)

// Try is a request to LINE that the runner has to make now: its attempt is open and its delivery is processing.
type Try struct {
	DeliveryID int64
	AttemptID  int64
	RetryKey   string
	Body       []byte
	job        queue.Job
}

// Result is what came of a try.
type Result struct {
	Outcome           roster.Outcome // accepted, refused or unknown
	Code              roster.Code    // empty when accepted
	Status            int            // HTTP; 0 when there was no answer
	RequestID         string
	AcceptedRequestID string
	Message           string // LINE's words
	// Hold is the fault of the whole channel that refused the try, empty if it was the message's own.
	Hold roster.HoldCause
	// CutOff marks a request that the program's own shutdown ended: it spends no try.
	CutOff bool
}

// interruptedWait is how long a delivery rests from its second interruption in a row.
const interruptedWait = 2 * time.Minute

// maxInterruptions in a row fail a delivery.
const maxInterruptions = 3

// Work is what a claimed job asks of the runner: one of the two.
type Work struct {
	Try   *Try          // a delivery to send
	Event *WebhookEvent // an event of a webhook to ask LINE about
}

// Claim leases the jobs that have been due longest, at most so many, and prepares what they ask for: the check of a
// delivery, the freeze of its message at the first try, and what an event says by itself are in the same transaction. A
// job that needed no request leaves no work. The error is queue.ErrNone when no job is due.
func (s *Store) Claim(ctx context.Context, most int) ([]Work, error) {
	all, err := s.claim(ctx, most, false)
	if err != nil && !errors.Is(err, queue.ErrNone) && ctx.Err() == nil {
		// What is wrong with one job must not keep those behind it waiting: each is begun in a savepoint of its own, which
		// is left out before because it is needed so rarely.
		all, err = s.claim(ctx, most, true)
	}
	if err != nil && !errors.Is(err, queue.ErrNone) {
		err = fmt.Errorf("claim jobs: %w", err)
	}
	return all, err
}

func (s *Store) claim(ctx context.Context, most int, guarded bool) ([]Work, error) {
	var all []Work
	err := s.inTx(ctx, func(t *tx) error {
		held, err := heldKinds(t.ctx, t)
		if err != nil {
			return err
		}
		next := queue.Claim
		for claimed := 0; claimed < most; claimed++ {
			job, err := next(t.ctx, t, t.now, s.boot, s.opts.Lease, held)
			if errors.Is(err, queue.ErrNone) && claimed > 0 {
				return nil
			}
			if err != nil {
				return err
			}
			next = queue.ClaimReady
			work, err := s.begin(t, job, held, guarded)
			if err != nil {
				return err
			}
			if work != (Work{}) {
				all = append(all, work)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// begin prepares what a claimed job asks for; the work is empty when that is nothing now. Held are the kinds of jobs
// that wait for a hold. Guarded, a job with which something is wrong becomes a dead letter, or its subject spends a try.
func (s *Store) begin(t *tx, job queue.Job, held []string, guarded bool) (work Work, err error) {
	switch job.Kind {
	case JobWebhookEvent:
		work.Event, err = s.beginEvent(t, job)
	case JobPublication, JobNotice:
		work.Try, err = s.beginTry(t, job, held, guarded)
	default:
		s.log.Error("job of an unknown kind", "kind", job.Kind, "subject", job.SubjectID)
		err = queue.Bury(t.ctx, t, t.now, job.ID, s.boot)
	}
	return work, err
}

// beginTry opens an attempt for the delivery of a claimed job if it is still wanted. The try is nil when there is
// nothing to send now.
func (s *Store) beginTry(t *tx, job queue.Job, held []string, guarded bool) (*Try, error) {
	d, err := one(t.ctx, t, scanDelivery, `SELECT `+deliveryColumns+` FROM deliveries WHERE id = ?`, job.SubjectID)
	if errors.Is(err, ErrNotFound) {
		s.log.Error("job without a delivery", "kind", job.Kind, "delivery", job.SubjectID)
		return nil, queue.Bury(t.ctx, t, t.now, job.ID, s.boot)
	}
	if err != nil {
		return nil, fmt.Errorf("delivery %d: %w", job.SubjectID, err)
	}
	if job.TakenOver != "" || d.State == roster.Processing {
		wait, err := s.takeBack(t, &d, job, guarded)
		if err != nil || wait {
			return nil, err
		}
		if slices.Contains(held, job.Kind) && !job.PassesHold {
			if err := queue.RetryAt(t.ctx, t, t.now, job.ID, s.boot, t.now); err != nil {
				return nil, err
			}
			return nil, s.afterNotice(t, d)
		}
	}
	var try *Try
	open := func() error {
		return recovered(func() (err error) {
			try, err = s.openAttempt(t, d, job)
			return err
		})
	}
	if !guarded {
		err := open()
		return try, err
	}
	failure, err := t.within(open)
	if err != nil || failure == nil {
		return try, err
	}
	s.log.Error("a try could not be begun", "delivery", d.ID, "error", failure)
	return nil, s.spendTry(t, d, job)
}

// takeBack is interrupt, and guarded lets those behind go on when that fails: it is tried again later.
func (s *Store) takeBack(t *tx, d *roster.Delivery, job queue.Job, guarded bool) (wait bool, err error) {
	if !guarded {
		return s.interrupt(t, d, job)
	}
	wait = true
	err = s.orLater(t, job, func() error {
		waits, err := s.interrupt(t, d, job)
		if err == nil {
			wait = waits
		}
		return err
	})
	return wait, err
}

// orLater runs f for a job that is leased to this boot. When f fails alone, what it did is undone and the job rests a
// while.
func (s *Store) orLater(t *tx, job queue.Job, f func() error) error {
	failure, err := t.within(func() error { return recovered(f) })
	if err != nil || failure == nil {
		return err
	}
	s.log.Error("a job could not be taken back", "kind", job.Kind, "subject", job.SubjectID, "error", failure)
	return queue.RetryAt(t.ctx, t, t.now, job.ID, s.boot, t.now.Add(interruptedWait))
}

// recovered makes an error of a panic.
func recovered(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return f()
}

// openAttempt opens an attempt for a claimed delivery, or ends the job when there is nothing to send.
func (s *Store) openAttempt(t *tx, d roster.Delivery, job queue.Job) (*Try, error) {
	if d.State != roster.Queued {
		s.log.Warn("job without a waiting delivery", "delivery", d.ID, "state", d.State)
		return nil, queue.Finish(t.ctx, t, t.now, job.ID, s.boot)
	}
	var code roster.Code
	var st roster.Standing
	var err error
	if d.Kind.AboutShift() {
		code, st, err = s.checkNotice(t, d)
	} else {
		code, err = s.check(t, d)
	}
	if err != nil {
		return nil, err
	}
	if code != "" {
		if err := t.cancel(d, code, 0); err != nil {
			return nil, err
		}
		if err := queue.Finish(t.ctx, t, t.now, job.ID, s.boot); err != nil {
			return nil, err
		}
		return nil, s.afterNotice(t, d)
	}
	if roster.KeyExpired(t.now, d.KeyFirstTryAt, s.opts.RetryKeyTTL) {
		if err := t.expire(d); err != nil {
			return nil, err
		}
		if err := queue.Finish(t.ctx, t, t.now, job.ID, s.boot); err != nil {
			return nil, err
		}
		return nil, s.afterNotice(t, d)
	}
	if d.FirstTryAt.IsZero() {
		if err := s.freeze(t, &d, st); err != nil {
			return nil, err
		}
	} else {
		var err error
		if d.Body, err = body(t.ctx, t, d.ID); err != nil {
			return nil, err
		}
		if err := t.reopenTold(d); err != nil {
			return nil, err
		}
	}
	attemptID, err := t.insert(`INSERT INTO attempts (delivery_id, number, ladder, retry_key, boot_id, started_at)
		SELECT ?1, coalesce(max(number), 0) + 1, ?2, ?3, ?4, ?5 FROM attempts WHERE delivery_id = ?1`,
		d.ID, d.Ladder, d.RetryKey, s.boot, at(t.now))
	if err != nil {
		return nil, fmt.Errorf("open attempt of delivery %d: %w", d.ID, err)
	}
	err = t.execOne(errMoved, `UPDATE deliveries SET state = 'processing', code = '', attempt_id = ?, boot_id = ?, body = ?, retry_key = ?,
		first_try_at = coalesce(?, ?), key_first_try_at = coalesce(?, ?), next_attempt_at = NULL, updated_at = ?
		WHERE id = ? AND state = 'queued'`, attemptID, s.boot, d.Body, d.RetryKey,
		at(d.FirstTryAt), at(t.now), at(d.KeyFirstTryAt), at(t.now), at(t.now), d.ID)
	if err != nil {
		return nil, fmt.Errorf("begin try of delivery %d: %w", d.ID, err)
	}
	return &Try{DeliveryID: d.ID, AttemptID: attemptID, RetryKey: d.RetryKey, Body: d.Body, job: job}, nil
}

// freeze builds the message of a delivery: its recipient and bytes stay the same in every later try. A notice about a
// shift says what its check went by.
func (s *Store) freeze(t *tx, d *roster.Delivery, st roster.Standing) error {
	switch {
	case d.Kind.AboutShift():
		return s.freezeNotice(t, d, st)
	case d.Kind == roster.ReceiptRequest:
		return s.freezeReceiptRequest(t, d)
	}
	g, err := group(t.ctx, t, d.GroupID)
	if err != nil {
		return err
	}
	p, err := publicationAlone(t.ctx, t, d.PublicationID)
	if err != nil {
		return fmt.Errorf("publication %d: %w", d.PublicationID, err)
	}
	m := roster.PublicationMessage{LINEGroupID: g.LINEGroupID, GroupName: g.Name, Month: p.Month, Number: p.Number, PublishedAt: p.PublishedAt, DocumentID: p.DocumentID}
	base, certain, err := announcedBefore(t.ctx, t, g, p.Month, p.Number)
	switch {
	case err == nil:
		m.Base = &roster.Base{Number: base.Number, PublishedAt: base.PublishedAt, Certain: certain}
		for _, c := range roster.Compare(base.Sheet.Snapshot, p.Sheet.Snapshot) {
			switch c.Kind {
			case roster.ChangeAdded:
				m.Added++
			case roster.ChangeMoved:
				m.Changed++
			case roster.ChangeRemoved:
				m.Removed++
			}
		}
	case !errors.Is(err, ErrNotFound):
		return err
	}
	d.LINEID = g.LINEGroupID
	if d.Body, err = s.compose.ComposePublication(m); err != nil {
		return err
	}
	_, err = t.exec(`UPDATE deliveries SET line_id = ? WHERE id = ?`, d.LINEID, d.ID)
	return wrap(err, "note the recipient of delivery %d", d.ID)
}

// spendTry counts a try that ended before any request could be made.
func (s *Store) spendTry(t *tx, d roster.Delivery, job queue.Job) error {
	tries := d.LadderTries + 1
	if tries >= roster.MaxLadderTries {
		if err := queue.Bury(t.ctx, t, t.now, job.ID, s.boot); err != nil {
			return err
		}
		err := t.execOne(errMoved, `UPDATE deliveries SET state = 'failed', code = ?, ladder_tries = ?, next_attempt_at = NULL, finished_at = ?, updated_at = ?
			WHERE id = ? AND state = 'queued'`, roster.CodeInternal, tries, at(t.now), at(t.now), d.ID)
		if err != nil {
			return fmt.Errorf("fail delivery %d: %w", d.ID, err)
		}
		if err := t.event(d.ID, EventComposeFailed, roster.CodeInternal, 0); err != nil {
			return err
		}
		return s.afterNotice(t, d)
	}
	next := roster.NextTry(t.now, tries, s.opts.RetryBase, d.DeadlineAt)
	if err := queue.RetryAt(t.ctx, t, t.now, job.ID, s.boot, next); err != nil {
		return err
	}
	err := t.execOne(errMoved, `UPDATE deliveries SET code = ?, ladder_tries = ?, next_attempt_at = ?, updated_at = ? WHERE id = ? AND state = 'queued'`,
		roster.CodeInternal, tries, at(next), at(t.now), d.ID)
	if err != nil {
		return fmt.Errorf("spend try of delivery %d: %w", d.ID, err)
	}
	return t.event(d.ID, EventComposeFailed, roster.CodeInternal, 0)
}

// expire fails a queued or pending delivery whose retry key must no longer be used.
func (t *tx) expire(d roster.Delivery) error {
	err := t.execOne(errMoved, `UPDATE deliveries SET state = 'failed', code = ?, next_attempt_at = NULL, finished_at = ?, updated_at = ? WHERE id = ? AND state = ?`,
		roster.CodeRetryKeyExpired, at(t.now), at(t.now), d.ID, d.State)
	if err != nil {
		return fmt.Errorf("expire delivery %d: %w", d.ID, err)
	}
	return t.event(d.ID, EventExpired, roster.CodeRetryKeyExpired, 0)
}

// FinishTry writes down what came of a try: it closes the attempt, moves the delivery and ends or reschedules the
// job, in one transaction. The error is queue.ErrLeaseLost when somebody else took the try over; then nothing was
// changed and the result is void.
func (s *Store) FinishTry(ctx context.Context, try *Try, r Result) error {
	err := s.inTxLater(ctx, func(t *tx) error {
		err := t.execOne(queue.ErrLeaseLost, `UPDATE attempts SET finished_at = ?, outcome = ?, code = ?, status = ?, request_id = ?, accepted_request_id = ?, message = ?
			WHERE id = ? AND finished_at IS NULL AND boot_id = ?`,
			at(t.now), r.Outcome, r.Code, r.Status, r.RequestID, r.AcceptedRequestID, r.Message, try.AttemptID, s.boot)
		if err != nil {
			return fmt.Errorf("close attempt: %w", err)
		}
		d, err := one(t.ctx, t, scanDelivery, `SELECT `+deliveryColumns+` FROM deliveries WHERE id = ?`, try.DeliveryID)
		if err != nil {
			return err
		}
		tries := d.LadderTries + 1
		if r.CutOff {
			tries--
		}
		to := move{state: roster.Failed, code: r.Code, tries: tries}
		finish := func() error { return queue.Finish(t.ctx, t, t.now, try.job.ID, s.boot) }
		switch {
		case r.Outcome == roster.Accepted:
			to.state, to.code = roster.Sent, ""
			if err := t.countSent(d); err != nil {
				return err
			}
			if try.job.PassesHold {
				if err := s.endHoldsByProof(t); err != nil {
					return err
				}
			}
		case r.Outcome == roster.Refused:
			to.heldBy = r.Hold
			if r.Hold != "" {
				if err := t.hold(r.Hold, d); err != nil {
					return err
				}
			}
		case tries >= roster.MaxLadderTries:
			finish = func() error { return queue.Bury(t.ctx, t, t.now, try.job.ID, s.boot) }
		default:
			to.state, to.next = roster.Queued, t.now
			if !r.CutOff {
				to.next = roster.NextTry(t.now, tries, s.opts.RetryBase, d.DeadlineAt)
			}
			finish = func() error { return queue.RetryAt(t.ctx, t, t.now, try.job.ID, s.boot, to.next) }
		}
		if err := t.leave(d.ID, try.AttemptID, s.boot, to); err != nil {
			return err
		}
		if err := finish(); err != nil {
			return err
		}
		if !d.Kind.AboutShift() {
			return nil
		}
		if err := t.tell(d, r.Outcome); err != nil {
			return err
		}
		if r.Outcome == roster.Accepted && d.Kind == roster.ShiftReminder {
			settled, err := t.toldAsItIs(d)
			if err != nil || settled {
				return err
			}
		}
		return s.afterNotice(t, d)
	})
	if err != nil {
		return fmt.Errorf("finish try of delivery %d: %w", try.DeliveryID, err)
	}
	return nil
}

// afterNotice compares again what the person of a notice about a shift was told, after a try of it was closed or it
// ended. When that cannot be done, what came of the notice is kept all the same, and the sweep compares.
func (s *Store) afterNotice(t *tx, d roster.Delivery) error {
	if !d.Kind.AboutShift() {
		return nil
	}
	failure, err := t.within(func() error {
		return recovered(func() error { return s.settlePerson(t, d.ShiftID, d.LINEID) })
	})
	if failure != nil && err == nil {
		s.log.Error("what a person was told could not be compared", "delivery", d.ID, "error", failure)
	}
	return err
}

// move says where a delivery goes from processing.
type move struct {
	state         roster.DeliveryState
	code          roster.Code
	tries         int
	interruptions int
	next          time.Time        // of a queued one
	heldBy        roster.HoldCause // of a failed one
}

// leave moves a delivery out of processing. It names the attempt and the boot that hold it, so that there is exactly
// one finisher.
func (t *tx) leave(deliveryID, attemptID int64, boot string, m move) error {
	var finished time.Time
	if !m.state.Live() {
		finished = t.now
	}
	err := t.execOne(queue.ErrLeaseLost, `UPDATE deliveries SET state = ?, code = ?, ladder_tries = ?, interruptions = ?, next_attempt_at = ?, finished_at = ?, held_by = ?,
		attempt_id = NULL, boot_id = NULL, updated_at = ?
		WHERE id = ? AND state = 'processing' AND attempt_id = ? AND boot_id = ?`,
		m.state, m.code, m.tries, m.interruptions, at(m.next), at(finished), m.heldBy, at(t.now), deliveryID, attemptID, boot)
	if err != nil {
		return fmt.Errorf("move delivery %d to %s: %w", deliveryID, m.state, err)
	}
	return nil
}

// interrupt deals with a delivery whose worker is gone: its open attempt is closed as interrupted, which spends no
// try, and the delivery is queued again. It reports whether the delivery must wait, in which case its job is given
// back or buried; else d is updated and may be tried at once. The job must be leased to this boot.
func (s *Store) interrupt(t *tx, d *roster.Delivery, job queue.Job) (wait bool, err error) {
	if d.State != roster.Processing {
		return false, nil
	}
	var attemptID int64
	var boot string
	if err := t.row(`SELECT attempt_id, boot_id FROM deliveries WHERE id = ?`, d.ID).Scan(&attemptID, &boot); err != nil {
		return false, fmt.Errorf("read attempt of delivery %d: %w", d.ID, err)
	}
	err = t.execOne(queue.ErrLeaseLost, `UPDATE attempts SET finished_at = ?, outcome = 'interrupted', code = ? WHERE id = ? AND finished_at IS NULL`,
		at(t.now), roster.CodeInterrupted, attemptID)
	if err != nil {
		return false, fmt.Errorf("interrupt attempt of delivery %d: %w", d.ID, err)
	}
	m := move{state: roster.Queued, tries: d.LadderTries, interruptions: d.Interruptions + 1, next: t.now}
	switch {
	case m.interruptions >= maxInterruptions:
		m.state, m.code, m.next = roster.Failed, roster.CodeInterrupted, time.Time{}
	case m.interruptions > 1:
		m.code, m.next = roster.CodeInterrupted, t.now.Add(interruptedWait)
	}
	if err := t.leave(d.ID, attemptID, boot, m); err != nil {
		return false, err
	}
	if err := t.event(d.ID, EventInterrupted, "", 0); err != nil {
		return false, err
	}
	d.State, d.Code, d.Interruptions, d.NextAttemptAt = m.state, m.code, m.interruptions, m.next
	switch {
	case m.state == roster.Failed:
		wait, err = true, queue.Bury(t.ctx, t, t.now, job.ID, s.boot)
	case m.next.After(t.now):
		wait, err = true, queue.RetryAt(t.ctx, t, t.now, job.ID, s.boot, m.next)
	}
	if err != nil || !wait {
		return wait, err
	}
	return wait, s.afterNotice(t, *d)
}

// interruptJob is interrupt for the subject of any job. An event spends a try each time it is begun, which bounds how
// often its worker can be lost.
func (s *Store) interruptJob(t *tx, job queue.Job) (wait bool, err error) {
	if job.Kind == JobWebhookEvent {
		return false, nil
	}
	d, err := one(t.ctx, t, scanDelivery, `SELECT `+deliveryColumns+` FROM deliveries WHERE id = ?`, job.SubjectID)
	if err != nil {
		return false, fmt.Errorf("delivery %d: %w", job.SubjectID, err)
	}
	return s.interrupt(t, &d, job)
}

// afterInterruption is afterNotice for the delivery of a job that was given back.
func (s *Store) afterInterruption(t *tx, job queue.Job) error {
	if job.Kind != JobNotice {
		return nil
	}
	d, err := one(t.ctx, t, scanDelivery, `SELECT `+deliveryColumns+` FROM deliveries WHERE id = ?`, job.SubjectID)
	if err != nil {
		return fmt.Errorf("delivery %d: %w", job.SubjectID, err)
	}
	return s.afterNotice(t, d)
}

// RecoverOrphans queues again what other boots of this data folder left leased. It must run before the first claim,
// under the folder's lock. It returns how many jobs it took back.
func (s *Store) RecoverOrphans(ctx context.Context) (int, error) {
	n := 0
	err := s.inTx(ctx, func(t *tx) error {
		jobs, err := queue.Orphans(t.ctx, t, s.boot)
		if err != nil {
			return err
		}
		for _, job := range jobs {
			if err := queue.Adopt(t.ctx, t, t.now, job, s.boot); err != nil {
				return err
			}
			err := s.orLater(t, job, func() error {
				wait, err := s.interruptJob(t, job)
				if err != nil || wait {
					return err
				}
				if err := queue.RetryAt(t.ctx, t, t.now, job.ID, s.boot, t.now); err != nil {
					return err
				}
				return s.afterInterruption(t, job)
			})
			if err != nil {
				return err
			}
		}
		n = len(jobs)
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("recover orphans: %w", err)
	}
	return n, nil
}

// RenewLeases prolongs every lease of this process by the lease time.
func (s *Store) RenewLeases(ctx context.Context) error {
	err := s.inTx(ctx, func(t *tx) error { return queue.Renew(t.ctx, t, s.boot, t.now.Add(s.opts.Lease)) })
	if err != nil {
		return fmt.Errorf("renew leases: %w", err)
	}
	return nil
}

// NextDue returns when the next job is due that may run by itself. The error is queue.ErrNone when there is none.
func (s *Store) NextDue(ctx context.Context) (time.Time, error) {
	held, err := heldKinds(ctx, s.read)
	if err != nil {
		return time.Time{}, err
	}
	return queue.NextDue(ctx, s.read, held)
}
