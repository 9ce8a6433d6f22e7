package db

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"shiftpost/db/queue"
	"shiftpost/db/roster"
)

// JobWebhookEvent is the kind of job that works an event of a webhook. No hold stops it.
const JobWebhookEvent = "webhook_event"

// eventsKept is how long finished webhook events stay: LINE does not say after how long it may tell one again, and
// whoever looks for a fault wants to see what came.
const eventsKept = 30 * 24 * time.Hour

// How a webhook event ended.
const (
	eventApplied = "applied"
	eventIgnored = "ignored"
	eventFailed  = "failed" // its job is a dead letter
)

// ReceiveEvents stores the events of a webhook call, each with its job, in one transaction. An event that was told
// before is passed over. It returns how many jobs were queued.
func (s *Store) ReceiveEvents(ctx context.Context, events []roster.LINEEvent) (int, error) {
	queued := 0
	err := s.inTx(ctx, func(t *tx) error {
		for _, e := range events {
			asked, err := t.receive(e)
			if err != nil {
				return err
			}
			if asked {
				queued++
			}
		}
		return nil
	})
	return queued, wrap(err, "receive %d webhook events", len(events))
}

// receive stores one event and reports whether it got a job.
func (t *tx) receive(e roster.LINEEvent) (queued bool, err error) {
	work := e.Heeded()
	if !work && !e.Standby && e.GroupID != "" {
		// Any sign of life from a group that is not known tells of one whose invitation was missed.
		if err := t.row(`SELECT NOT EXISTS (SELECT 1 FROM line_groups WHERE line_group_id = ?)`, e.GroupID).Scan(&work); err != nil {
			return false, err
		}
	}
	var body, outcome any
	var finished time.Time
	if e.Heeded() {
		body = string(e.Body)
	}
	if !work {
		// Enough to know it again. Who says something in a group, and when, is nobody's business here.
		outcome, finished = eventIgnored, t.now
		e.GroupID, e.UserID, e.ReplyToken = "", "", ""
	}
	res, err := t.exec(`INSERT INTO webhook_events (event_id, kind, line_group_id, line_user_id, happened_at, received_at, reply_token, body, outcome, finished_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (event_id) DO NOTHING`,
		e.ID, e.Kind, e.GroupID, e.UserID, at(e.HappenedAt), at(t.now), e.ReplyToken, body, outcome, at(finished))
	if err != nil {
		return false, err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 || !work {
		return false, err
	}
	eventID, err := res.LastInsertId()
	if err != nil {
		return false, err
	}
	return true, queue.Enqueue(t.ctx, t, t.now, queue.NewJob{Kind: JobWebhookEvent, SubjectID: eventID, Lane: eventLane(e), RunAt: t.now})
}

// eventLane keeps the events of one group or user in line, without naming a LINE id.
func eventLane(e roster.LINEEvent) string {
	source := e.GroupID
	if source == "" {
		source = e.UserID
	}
	return "line:" + hashedID(source)
}

// hashedID stands for a LINE id where none may be named.
func hashedID(lineID string) string {
	sum := sha256.Sum256([]byte(lineID))
	return hex.EncodeToString(sum[:8])
}

// WebhookEvent is an event about which LINE must be asked, or which it wants an answer to. What it says by itself is
// stored already.
type WebhookEvent struct {
	ID     int64
	Kind   roster.LINEEventKind
	Linked bool // the user it is about is a linked teacher
	// GroupID is the LINE group whose name and member count are to be asked, empty if none.
	GroupID string
	// ReplyToken answers the event with a welcome, empty if it wants none. It was handed out for the first and last time.
	ReplyToken string
	// AskedAt is when it was claimed: no later than what LINE answers.
	AskedAt time.Time
	job     queue.Job
}

// EventResult is what came of asking LINE about an event.
type EventResult struct {
	Group *roster.LINEGroup // its name and member count; nil if the account is not in it or nothing was asked
	Err   error             // LINE could not be asked: try again later
}

// storedEvent is a row of webhook_events, as far as working it needs it.
type storedEvent struct {
	roster.LINEEvent
	rowID   int64
	tries   int
	outcome string
}

func scanEvent(r scanner) (e storedEvent, err error) {
	err = r.Scan(&e.rowID, &e.ID, &e.Kind, &e.GroupID, &e.UserID, scanInstant(&e.HappenedAt), &e.ReplyToken, &e.tries, &e.outcome)
	return e, err
}

const eventColumns = `id, event_id, kind, line_group_id, line_user_id, happened_at, reply_token, tries, coalesce(outcome, '')`

// beginEvent stores what a claimed event says by itself and returns it when LINE must be asked too; otherwise the event
// and its job end here. A try is spent by beginning it, so that an event whose worker never comes back ends as well.
func (s *Store) beginEvent(t *tx, job queue.Job) (*WebhookEvent, error) {
	e, err := one(t.ctx, t, scanEvent, `SELECT `+eventColumns+` FROM webhook_events WHERE id = ?`, job.SubjectID)
	if errors.Is(err, ErrNotFound) || err == nil && e.outcome != "" {
		s.log.Warn("job without a waiting webhook event", "event", job.SubjectID, "outcome", e.outcome)
		return nil, queue.Finish(t.ctx, t, t.now, job.ID, s.boot)
	}
	if err != nil {
		return nil, fmt.Errorf("webhook event %d: %w", job.SubjectID, err)
	}
	if e.tries >= roster.MaxEventTries {
		return nil, s.buryEvent(t, job, errors.New("its worker did not come back"))
	}
	err = t.execOne(ErrNotFound, `UPDATE webhook_events SET tries = tries + 1, reply_token = '' WHERE id = ?`, e.rowID)
	if err != nil {
		return nil, fmt.Errorf("begin webhook event %d: %w", e.rowID, err)
	}
	var ask *WebhookEvent
	failure, err := t.within(func() (err error) {
		ask, err = s.applyEvent(t, e, job)
		return err
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("apply webhook event %d: %w", e.rowID, err)
	case failure != nil:
		// It must not come up again at once, or nothing behind it would ever have its turn.
		s.log.Error("webhook event could not be applied", "event", e.rowID, "kind", e.Kind, "error", failure)
		return nil, s.retryEvent(t, job, failure)
	case ask.GroupID != "" || ask.ReplyToken != "":
		return ask, nil
	}
	return nil, s.endEvent(t, job)
}

// applyEvent stores what an event says by itself and returns what is left to ask LINE.
func (s *Store) applyEvent(t *tx, e storedEvent, job queue.Job) (*WebhookEvent, error) {
	ask := &WebhookEvent{ID: e.rowID, Kind: e.Kind, AskedAt: t.now, job: job}
	switch e.Kind {
	case roster.Followed, roster.Unfollowed:
		teacherID, _, err := s.setBlocked(t, e.UserID, e.Kind == roster.Unfollowed, e.HappenedAt)
		if err != nil {
			return nil, err
		}
		ask.Linked = teacherID != 0
		if e.Kind == roster.Followed && t.now.Sub(e.HappenedAt) < roster.ReplyTokenLife {
			ask.ReplyToken = e.ReplyToken
		}
	default:
		if err := t.seenInGroup(e.GroupID, e.HappenedAt, e.Kind); err != nil {
			return nil, err
		}
		if e.Kind != roster.BotLeft {
			ask.GroupID = e.GroupID
		}
	}
	return ask, nil
}

// FinishEvent stores what LINE answered about an event and ends its job, or lets it be tried again later, in one
// transaction. The error is queue.ErrLeaseLost when somebody else took it over; then nothing was changed.
func (s *Store) FinishEvent(ctx context.Context, e *WebhookEvent, r EventResult) error {
	err := s.inTx(ctx, func(t *tx) error {
		if r.Err != nil {
			return s.retryEvent(t, e.job, r.Err)
		}
		if e.GroupID != "" {
			if err := t.askedGroup(e.GroupID, r.Group, e.AskedAt); err != nil {
				return err
			}
		}
		return s.endEvent(t, e.job)
	})
	return wrap(err, "finish webhook event %d", e.ID)
}

func (s *Store) endEvent(t *tx, job queue.Job) error {
	if err := queue.Finish(t.ctx, t, t.now, job.ID, s.boot); err != nil {
		return err
	}
	_, err := t.exec(`UPDATE webhook_events SET outcome = ?, error = '', finished_at = ? WHERE id = ?`, eventApplied, at(t.now), job.SubjectID)
	return err
}

func (s *Store) retryEvent(t *tx, job queue.Job, cause error) error {
	var tries int
	if err := t.row(`SELECT tries FROM webhook_events WHERE id = ?`, job.SubjectID).Scan(&tries); err != nil {
		return err
	}
	if tries >= roster.MaxEventTries {
		return s.buryEvent(t, job, cause)
	}
	next := roster.NextTry(t.now, tries, roster.EventRetryBase, time.Time{})
	if err := queue.RetryAt(t.ctx, t, t.now, job.ID, s.boot, next); err != nil {
		return err
	}
	_, err := t.exec(`UPDATE webhook_events SET error = ? WHERE id = ?`, fmt.Sprintf("%.200s", cause), job.SubjectID)
	return err
}

// buryEvent gives an event up. What it says by itself is stored; the nightly pass asks LINE for the rest.
func (s *Store) buryEvent(t *tx, job queue.Job, cause error) error {
	if err := queue.Bury(t.ctx, t, t.now, job.ID, s.boot); err != nil {
		return err
	}
	_, err := t.exec(`UPDATE webhook_events SET outcome = ?, error = ?, finished_at = ? WHERE id = ?`, eventFailed, fmt.Sprintf("%.200s", cause), at(t.now), job.SubjectID)
	return err
}

// pruneEvents removes at most limit webhook events that ended long ago, and lets their dead letters go.
func (t *tx) pruneEvents(limit int) (int, error) {
	ids, err := list(t.ctx, t, func(r scanner) (id int64, err error) {
		err = r.Scan(&id)
		return id, err
	}, `SELECT id FROM webhook_events WHERE finished_at < ? LIMIT ?`, at(t.now.Add(-eventsKept)), limit)
	if err != nil {
		return 0, err
	}
	for _, id := range ids {
		if _, err := queue.Withdraw(t.ctx, t, t.now, JobWebhookEvent, id); err != nil {
			return 0, err
		}
		if _, err := t.exec(`DELETE FROM webhook_events WHERE id = ?`, id); err != nil {
			return 0, err
		}
	}
	return len(ids), nil
}
