package db

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"shiftpost/db/queue"
	"shiftpost/db/roster"
)

// The kinds of jobs that carry deliveries. They are two so that a hold of publications can let notices pass.
const (
	JobPublication = "publication_delivery"
	JobNotice      = "notice_delivery"
)

func jobKind(k roster.DeliveryKind) string {
	if k.Notice() {
		return JobNotice
	}
	return JobPublication
}

// lane names the destination of a delivery for the queue, without naming a LINE id.
func lane(d roster.Delivery) string {
	if d.Kind.Notice() {
		return noticeLane(d.LINEID)
	}
	return fmt.Sprintf("group:%d", d.GroupID)
}

// noticeLane goes by the LINE user, who may be linked to another teacher while a notice is on its way to them.
func noticeLane(lineID string) string { return "to:" + hashedID(lineID) }

// Delivery events, beside its making and its attempts, that a delivery's history shows.
const (
	EventEnqueueFailed = "enqueue_failed" // saved, but no job could be written
	EventEnqueued      = "enqueued"       // the job could be written after all
	EventRetried       = "retried"        // an admin began a new ladder
	EventNewKey        = "new_key"        // an admin began a new ladder with a new retry key
	EventHurried       = "hurried"        // an admin brought the next try forward
	EventCanceled      = "canceled"       // called off, with its code
	EventComposeFailed = "compose_failed" // its message could not be built; a try was spent
	EventExpired       = "expired"        // its retry key ran out
	EventInterrupted   = "interrupted"    // the program ended while it was being sent
	EventEdited        = "edited"         // its shift was edited while it was being sent
)

// announce makes the delivery of a publication to its group and calls off the older ones of that month that wait.
func (s *Store) announce(t *tx, groupID, publicationID, adminID int64) (int64, error) {
	deliveryID, err := s.makeDelivery(t, roster.Delivery{Kind: roster.ShiftPublication, GroupID: groupID, PublicationID: publicationID, DueAt: t.now, CreatedBy: adminID})
	if err != nil {
		return 0, err
	}
	older, err := list(t.ctx, t, scanDelivery, `SELECT `+qualify("d", deliveryColumns)+` FROM deliveries d
		JOIN publications p ON p.id = d.publication_id JOIN publications n ON n.group_id = p.group_id AND n.month = p.month
		WHERE n.id = ? AND d.id < ? AND d.state IN ('pending', 'queued')`, publicationID, deliveryID)
	if err != nil {
		return 0, fmt.Errorf("look for older announcements: %w", err)
	}
	for _, d := range older {
		if err := t.cancel(d, roster.CodeSuperseded, 0); err != nil {
			return 0, err
		}
	}
	return deliveryID, nil
}

// makeDelivery stores a delivery and its job. When the job alone cannot be written, the delivery stays pending and
// the recovery sweep queues it later; when the whole transaction is lost, the error says so.
func (s *Store) makeDelivery(t *tx, d roster.Delivery) (int64, error) {
	later := t.now.Add(s.opts.SweepEvery)
	var err error
	d.ID, err = t.insert(`INSERT INTO deliveries (kind, state, code, retry_key, group_id, publication_id, asked_id, teacher_id, shift_id, shift_version, line_id,
		due_at, deadline_at, next_attempt_at, created_at, created_by, updated_at)
		VALUES (?, 'pending', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		d.Kind, roster.CodeEnqueueFailed, uuid.NewString(), ref(d.GroupID), ref(d.PublicationID), ref(d.AskedID), ref(d.TeacherID), ref(d.ShiftID), ref(d.ShiftVersion), d.LINEID,
		at(d.DueAt), at(d.DeadlineAt), at(later), at(t.now), ref(d.CreatedBy), at(t.now))
	if err != nil {
		return 0, fmt.Errorf("save delivery: %w", err)
	}
	enqueued, err := t.enqueue(d, d.DueAt, false)
	if err != nil {
		return 0, err
	}
	if !enqueued {
		return d.ID, t.event(d.ID, EventEnqueueFailed, "", 0)
	}
	return d.ID, nil
}

// enqueue writes the job of a pending delivery and makes it queued. It reports false, and leaves the delivery as it
// is, when only the job's statement failed.
func (t *tx) enqueue(d roster.Delivery, runAt time.Time, passesHold bool) (bool, error) {
	jobErr, err := t.within(func() error {
		return queue.Enqueue(t.ctx, t, t.now, queue.NewJob{Kind: jobKind(d.Kind), SubjectID: d.ID, Lane: lane(d), RunAt: runAt, PassesHold: passesHold})
	})
	if err != nil || jobErr != nil {
		return false, err
	}
	err = t.execOne(errMoved, `UPDATE deliveries SET state = 'queued', code = '', next_attempt_at = ?, updated_at = ? WHERE id = ? AND state = 'pending'`,
		at(runAt), at(t.now), d.ID)
	if err != nil {
		return false, fmt.Errorf("queue delivery %d: %w", d.ID, err)
	}
	t.queued = true
	return true, nil
}

// errMoved tells that a delivery was no longer in the state that a move begins in.
var errMoved = errors.New("the delivery is in another state by now")

// cancel calls a pending or queued delivery off and withdraws its job.
func (t *tx) cancel(d roster.Delivery, code roster.Code, adminID int64) error {
	err := t.execOne(errMoved, `UPDATE deliveries SET state = 'canceled', code = ?, next_attempt_at = NULL, finished_at = ?, updated_at = ?
		WHERE id = ? AND state = ?`, code, at(t.now), at(t.now), d.ID, d.State)
	if err != nil {
		return fmt.Errorf("cancel delivery %d: %w", d.ID, err)
	}
	if _, err := queue.Withdraw(t.ctx, t, t.now, jobKind(d.Kind), d.ID); err != nil {
		return err
	}
	return t.event(d.ID, EventCanceled, code, adminID)
}

func (t *tx) event(deliveryID int64, event string, code roster.Code, adminID int64) error {
	_, err := t.exec(`INSERT INTO delivery_events (delivery_id, happened_at, event, code, admin_id) VALUES (?, ?, ?, ?, ?)`,
		deliveryID, at(t.now), event, code, ref(adminID))
	if err != nil {
		return fmt.Errorf("note %s of delivery %d: %w", event, deliveryID, err)
	}
	return nil
}

// check says whether a delivery is still wanted: an empty code if so, else the code it is canceled with.
func (s *Store) check(t *tx, d roster.Delivery) (roster.Code, error) {
	switch {
	case d.Kind.AboutShift():
		code, _, err := s.checkNotice(t, d)
		return code, err
	case d.Kind == roster.ReceiptRequest:
		return s.checkReceiptRequest(t, d)
	}
	superseded, err := t.superseded(d)
	if err != nil || superseded {
		return roster.CodeSuperseded, err
	}
	g, err := group(t.ctx, t, d.GroupID)
	if err != nil {
		return "", err
	}
	if !g.Linked() || (!d.FirstTryAt.IsZero() && g.LINEGroupID != d.LINEID) {
		return roster.CodeGroupLeft, nil
	}
	return "", nil
}

// superseded reports whether a newer delivery of the same group and month has taken the place of d: its time has
// come, which a clock that was set back since does not change, and it was not called off before any try.
func (t *tx) superseded(d roster.Delivery) (bool, error) {
	var yes bool
	err := t.row(`SELECT EXISTS (SELECT 1 FROM deliveries n JOIN publications np ON np.id = n.publication_id
		JOIN publications p ON p.group_id = np.group_id AND p.month = np.month
		WHERE p.id = ? AND n.id > ? AND n.due_at <= max(?, n.created_at) AND NOT (n.state = 'canceled' AND n.first_try_at IS NULL))`,
		d.PublicationID, d.ID, at(t.now)).Scan(&yes)
	if err != nil {
		return false, fmt.Errorf("look for what supersedes delivery %d: %w", d.ID, err)
	}
	return yes, nil
}

// DeliveryDetail is one delivery with everything its page shows.
type DeliveryDetail struct {
	roster.Delivery
	Group          roster.Group       // publications and receipt requests
	Publication    roster.Publication // publications and receipt requests
	Teacher        roster.Teacher     // notices
	Shift          roster.Shift       // notices about a shift: as it is now
	Classroom      roster.Classroom   // notices about a shift: the shift's
	Attempts       []roster.Attempt   // the newest first
	Events         []DeliveryEvent    // the newest first
	MayHaveArrived bool               // a try of it is open or ended without a known answer
	Dead           bool               // its job is a dead letter
	Unwanted       roster.Code        // failed: why a retry is refused, empty if it is not
	// Revives is the number of the publication whose announcement comes back when this one is called off, 0 if none
	// does.
	Revives int
}

// DeliveryEvent is an entry of a delivery's history beside its attempts.
type DeliveryEvent struct {
	At    time.Time
	Event string
	Code  roster.Code
	Admin string // name of the admin who did it, empty when the program did
}

// Delivery reads one delivery. The error is ErrNotFound if there is none.
func (s *Store) Delivery(ctx context.Context, deliveryID int64) (DeliveryDetail, error) {
	var d DeliveryDetail
	err := s.inReadTx(ctx, func(t *tx) (err error) {
		if d, err = delivery(ctx, t, deliveryID); err != nil {
			return err
		}
		switch d.State {
		case roster.Failed:
			d.Unwanted, err = s.check(t, d.Delivery)
		case roster.Pending, roster.Queued:
			before, found, err := t.revivedBy(d.Delivery)
			if err != nil || !found {
				return err
			}
			return t.row(`SELECT number FROM publications WHERE id = ?`, before.PublicationID).Scan(&d.Revives)
		}
		return err
	})
	return d, wrap(err, "delivery %d", deliveryID)
}

func delivery(ctx context.Context, q querier, deliveryID int64) (DeliveryDetail, error) {
	var d DeliveryDetail
	var err error
	if d.Delivery, err = one(ctx, q, scanDelivery, `SELECT `+deliveryColumns+` FROM deliveries WHERE id = ?`, deliveryID); err != nil {
		return d, err
	}
	if d.Body, err = body(ctx, q, deliveryID); err != nil {
		return d, err
	}
	if d.Kind.Notice() {
		if d.Teacher, err = teacher(ctx, q, d.TeacherID); err != nil {
			return d, err
		}
	}
	if d.Kind.AboutShift() {
		if d.Shift, err = one(ctx, q, scanShift, `SELECT `+shiftColumns+` FROM shifts WHERE id = ?`, d.ShiftID); err != nil {
			return d, err
		}
		if d.Classroom, err = classroom(ctx, q, d.Shift.ClassroomID); err != nil {
			return d, err
		}
	} else {
		if d.Publication, err = publication(ctx, q, `id = ?`, cmp.Or(d.PublicationID, d.AskedID)); err != nil {
			return d, err
		}
		if d.Group, err = group(ctx, q, d.Publication.GroupID); err != nil {
			return d, err
		}
	}
	if d.Attempts, err = list(ctx, q, scanAttempt, `SELECT `+attemptColumns+` FROM attempts WHERE delivery_id = ? ORDER BY number DESC`, deliveryID); err != nil {
		return d, err
	}
	d.Events, err = list(ctx, q, func(r scanner) (e DeliveryEvent, err error) {
		err = r.Scan(scanInstant(&e.At), &e.Event, &e.Code, &e.Admin)
		return e, err
	}, `SELECT e.happened_at, e.event, e.code, coalesce(a.name, '') FROM delivery_events e LEFT JOIN admins a ON a.id = e.admin_id
		WHERE e.delivery_id = ? ORDER BY e.id DESC`, deliveryID)
	if err != nil {
		return d, err
	}
	for _, a := range d.Attempts {
		if a.Outcome == "" || a.Outcome == roster.Unknown || a.Outcome == roster.Interrupted {
			d.MayHaveArrived = d.State != roster.Sent
		}
	}
	err = q.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM jobs WHERE kind = ? AND subject_id = ? AND state = 'dead')`, jobKind(d.Kind), deliveryID).Scan(&d.Dead)
	return d, err
}

// body reads the bytes of a delivery's request, of which there are none before its first try. They are long, and lists do
// without.
func body(ctx context.Context, q querier, deliveryID int64) (b []byte, err error) {
	err = q.QueryRowContext(ctx, `SELECT body FROM deliveries WHERE id = ?`, deliveryID).Scan(&b)
	return b, wrap(err, "message of delivery %d", deliveryID)
}

// DeliveryFilter narrows the list of deliveries. Zero values do not narrow.
type DeliveryFilter struct {
	State   roster.DeliveryState
	Dead    bool // those whose job is a dead letter
	Unknown bool // those that may have arrived although they are not sent
	Kind    roster.DeliveryKind
	Month   roster.Month // of the publication, or of the shift as it is now
	Code    roster.Code
	// Teacher is a part of the name of the teacher that a notice goes to; spaces do not count.
	Teacher string
	// Before is the id that the page before ended with; 0 is the first page.
	Before int64
	Limit  int
}

// DeliveryRow is one line of the list of deliveries.
type DeliveryRow struct {
	roster.Delivery
	GroupName string       // publications
	Month     roster.Month // publications and receipt requests
	Number    int          // publications and receipt requests
	Teacher   string       // notices
	Work      roster.Work  // notices about a shift: as it is now
	Classroom string       // notices about a shift: the shift's
	Messages  int          // what sending it costs; 0 if the group's size is not known
	Attempts  int
	Unknown   bool        // a try's outcome is unknown and it was not sent since
	Unwanted  roster.Code // failed: why a retry is refused, empty if it is not
}

// Deliveries lists deliveries, the newest first.
func (s *Store) Deliveries(ctx context.Context, f DeliveryFilter) ([]DeliveryRow, error) {
	month := ""
	if f.Month != (roster.Month{}) {
		month = f.Month.String()
	}
	var rows []DeliveryRow
	err := s.inReadTx(ctx, func(t *tx) (err error) {
		rows, err = list(ctx, t, scanDeliveryRow, deliveryRows+`
			WHERE (?1 = '' OR d.state = ?1) AND (?2 = '' OR d.kind = ?2) AND (?3 = '' OR coalesce(p.month, substr(s.date, 1, 7)) = ?3) AND (?4 = '' OR d.code = ?4)
			AND (?5 = 0 OR d.id < ?5) AND (?7 = '' OR replace(t.name, ' ', '') LIKE ?7 ESCAPE '\') AND (NOT ?8 OR `+isDead+`) AND (NOT ?9 OR d.state <> 'sent' AND `+mayHaveArrived+`)
			ORDER BY d.id DESC LIMIT ?6`, string(f.State), string(f.Kind), month, string(f.Code), f.Before, cmp.Or(f.Limit, 50), containing(f.Teacher), f.Dead, f.Unknown)
		if err != nil {
			return err
		}
		for i, d := range rows {
			if d.State == roster.Failed {
				if rows[i].Unwanted, err = s.check(t, d.Delivery); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list deliveries: %w", err)
	}
	return rows, nil
}

// WaitingTries lists at most so many of the queued deliveries whose next try is ahead, the soonest first. A delivery whose
// try is due and only waits for its turn or for the end of a hold is not among them.
func (s *Store) WaitingTries(ctx context.Context, limit int) ([]DeliveryRow, error) {
	rows, err := list(ctx, s.read, scanDeliveryRow, deliveryRows+`WHERE d.state = 'queued' AND d.next_attempt_at > ? ORDER BY d.next_attempt_at, d.id LIMIT ?`, at(s.Now()), limit)
	return rows, wrap(err, "list waiting tries")
}

// deliveryRows reads deliveries with what a list shows of them, for scanDeliveryRow.
var deliveryRows = `SELECT ` + qualify("d", deliveryColumns) + `, coalesce(g.name, ''), p.month, coalesce(p.number, 0),
	coalesce(t.name, ''), s.date, coalesce(s.start_minutes, 0), coalesce(s.end_minutes, 0), s.classroom_id, coalesce(c.name, ''),
	coalesce(g.line_member_count, 1), (SELECT count(*) FROM attempts a WHERE a.delivery_id = d.id), d.state <> 'sent' AND ` + mayHaveArrived + `
	FROM deliveries d LEFT JOIN publications p ON p.id = coalesce(d.publication_id, d.asked_id) LEFT JOIN groups g ON g.id = d.group_id
	LEFT JOIN teachers t ON t.id = d.teacher_id LEFT JOIN shifts s ON s.id = d.shift_id LEFT JOIN classrooms c ON c.id = s.classroom_id
	`

func scanDeliveryRow(r scanner) (DeliveryRow, error) {
	var d DeliveryRow
	var m sql.Null[roster.Month]
	var on sql.Null[roster.Date]
	err := r.Scan(append(deliveryTargets(&d.Delivery), &d.GroupName, &m, &d.Number, &d.Teacher, &on, &d.Work.Times.Start, &d.Work.Times.End, scanRef(&d.Work.ClassroomID),
		&d.Classroom, &d.Messages, &d.Attempts, &d.Unknown)...)
	d.Month, d.Work.Date = m.V, on.V
	return d, err
}

// containing makes the pattern of a LIKE that finds a part, with spaces left out; empty for an empty part.
func containing(part string) string {
	part = strings.NewReplacer(" ", "", `\`, `\\`, "%", `\%`, "_", `\_`).Replace(part)
	if part == "" {
		return ""
	}
	return "%" + part + "%"
}

// isDead is true for a delivery d whose job is a dead letter.
const isDead = `(d.state = 'failed' AND EXISTS (SELECT 1 FROM jobs j WHERE j.kind IN ('` + JobPublication + `', '` + JobNotice + `') AND j.subject_id = d.id
	AND j.state <> 'done' AND j.state = 'dead'))`

// Unfinished counts the deliveries that somebody waits for or must look at. Of the failed ones these are the
// announcements and notices that a retry could still send; the others are history.
type Unfinished struct {
	States  map[roster.DeliveryState]int // pending, queued, processing and failed
	Codes   map[roster.Code]int          // of the failed ones
	Unknown int                          // of all of them: those that may have arrived
	Dead    int                          // of the failed ones: those whose job is a dead letter
}

// UnfinishedDeliveries counts the unfinished deliveries. An announcement that failed counts until its month is over.
func (s *Store) UnfinishedDeliveries(ctx context.Context) (Unfinished, error) {
	u := Unfinished{States: map[roster.DeliveryState]int{}, Codes: map[roster.Code]int{}}
	err := s.inReadTx(ctx, func(t *tx) error {
		_, err := list(ctx, t, func(r scanner) (struct{}, error) {
			var state roster.DeliveryState
			var n, unknown int
			err := r.Scan(&state, &n, &unknown)
			u.States[state] = n
			u.Unknown += unknown
			return struct{}{}, err
		}, `SELECT d.state, count(*), sum(`+mayHaveArrived+`) FROM deliveries d WHERE d.state IN ('pending', 'queued', 'processing') GROUP BY d.state`)
		if err != nil {
			return err
		}
		type failure struct {
			roster.Delivery
			unknown, dead bool
		}
		failed, err := list(ctx, t, func(r scanner) (f failure, err error) {
			err = r.Scan(append(deliveryTargets(&f.Delivery), &f.unknown, &f.dead)...)
			return f, err
		}, `SELECT `+qualify("d", deliveryColumns)+`, `+mayHaveArrived+`, `+isDead+` FROM deliveries d LEFT JOIN publications p ON p.id = coalesce(d.publication_id, d.asked_id)
			WHERE d.state = 'failed' AND (d.deadline_at > ? OR p.month >= ?)`, at(t.now), roster.DateOf(t.now, s.loc).MonthOf())
		if err != nil {
			return err
		}
		for _, f := range failed {
			code, err := s.check(t, f.Delivery)
			if err != nil {
				return err
			}
			if code != "" {
				continue
			}
			u.States[roster.Failed]++
			u.Codes[f.Code]++
			if f.unknown {
				u.Unknown++
			}
			if f.dead {
				u.Dead++
			}
		}
		return nil
	})
	if err != nil {
		return Unfinished{}, fmt.Errorf("count deliveries: %w", err)
	}
	return u, nil
}

// PublicationDeliveries lists the deliveries of one publication, the newest first.
func (s *Store) PublicationDeliveries(ctx context.Context, publicationID int64) ([]roster.Delivery, error) {
	all, err := list(ctx, s.read, scanDelivery, `SELECT `+deliveryColumns+` FROM deliveries WHERE publication_id = ? ORDER BY id DESC`, publicationID)
	if err != nil {
		return nil, fmt.Errorf("deliveries of publication %d: %w", publicationID, err)
	}
	return all, nil
}

const deliveryColumns = `id, kind, state, code, retry_key, group_id, publication_id, asked_id, teacher_id, shift_id, shift_version, line_id, first_try_at, key_first_try_at, due_at, deadline_at, next_attempt_at, ladder, ladder_tries, interruptions, created_at, created_by, updated_at, finished_at`

func deliveryTargets(d *roster.Delivery) []any {
	return []any{&d.ID, &d.Kind, &d.State, &d.Code, &d.RetryKey, scanRef(&d.GroupID), scanRef(&d.PublicationID), scanRef(&d.AskedID), scanRef(&d.TeacherID), scanRef(&d.ShiftID),
		scanRef(&d.ShiftVersion), &d.LINEID, scanInstant(&d.FirstTryAt), scanInstant(&d.KeyFirstTryAt), scanInstant(&d.DueAt), scanInstant(&d.DeadlineAt),
		scanInstant(&d.NextAttemptAt), &d.Ladder, &d.LadderTries, &d.Interruptions, scanInstant(&d.CreatedAt), scanRef(&d.CreatedBy),
		scanInstant(&d.UpdatedAt), scanInstant(&d.FinishedAt)}
}

func scanDelivery(row scanner) (roster.Delivery, error) {
	var d roster.Delivery
	err := row.Scan(deliveryTargets(&d)...)
	return d, err
}

const attemptColumns = `id, delivery_id, number, ladder, retry_key, started_at, finished_at, coalesce(outcome, ''), code, status, request_id, accepted_request_id, message`

func scanAttempt(row scanner) (roster.Attempt, error) {
	var a roster.Attempt
	err := row.Scan(&a.ID, &a.DeliveryID, &a.Number, &a.Ladder, &a.RetryKey, scanInstant(&a.StartedAt), scanInstant(&a.FinishedAt), &a.Outcome, &a.Code,
		&a.Status, &a.RequestID, &a.AcceptedRequestID, &a.Message)
	return a, err
}
