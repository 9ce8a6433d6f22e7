package roster

import (
	"slices"
	"time"
)

// DeliveryKind says what a delivery tells and to whom.
type DeliveryKind string

// The kinds of deliveries. All but the first go to one teacher and are called notices.
const (
	ShiftPublication  DeliveryKind = "shift_publication"  // a month to its group
	ShiftReminder     DeliveryKind = "shift_reminder"     // a shift that begins soon
	ShiftCorrection   DeliveryKind = "shift_correction"   // what was told about a shift is no longer true
	ShiftCancellation DeliveryKind = "shift_cancellation" // a told shift is no longer this teacher's
	PublicationChange DeliveryKind = "publication_change" // one teacher's changes in a new version of a month
	ReceiptRequest    DeliveryKind = "receipt_request"    // asks one teacher to confirm a publication
)

// DeliveryKinds lists all kinds, in the order in which they are offered.
var DeliveryKinds = []DeliveryKind{ShiftPublication, ShiftReminder, ShiftCorrection, ShiftCancellation, PublicationChange, ReceiptRequest}

// Notice reports whether deliveries of this kind go to one teacher.
func (k DeliveryKind) Notice() bool { return k != ShiftPublication }

// AboutShift reports whether deliveries of this kind tell a teacher about a shift of theirs, so that what they were told
// is kept and compared with what is so.
func (k DeliveryKind) AboutShift() bool { return k.Notice() && k != ReceiptRequest }

// DeliveryState is the state of a delivery.
type DeliveryState string

// The states of a delivery and who moves it out of them; Moves is the whole table.
const (
	Pending    DeliveryState = "pending"    // saved without a job: the recovery sweep queues it when it is due
	Queued     DeliveryState = "queued"     // a job exists: the runner claims it when it is due
	Processing DeliveryState = "processing" // a worker holds the lease: only that worker, or the recovery of its lease, moves it
	Sent       DeliveryState = "sent"       // LINE accepted it: the end
	Failed     DeliveryState = "failed"     // refused, or ladder or key ran out: an admin's retry, or the end of a hold
	Canceled   DeliveryState = "canceled"   // no longer true, wanted or of use: the end
)

// DeliveryStates lists all states in the order of a delivery's life.
var DeliveryStates = []DeliveryState{Pending, Queued, Processing, Sent, Failed, Canceled}

// Moves lists the states a delivery may go to from each state. The schema's trigger refuses every other move.
var Moves = map[DeliveryState][]DeliveryState{
	Pending:    {Queued, Canceled, Failed},
	Queued:     {Processing, Canceled, Failed},
	Processing: {Sent, Failed, Canceled, Queued},
	Failed:     {Queued, Pending},
	Sent:       {},
	Canceled:   {},
}

// MayMove reports whether a delivery may go from one state to another.
func MayMove(from, to DeliveryState) bool { return slices.Contains(Moves[from], to) }

// Live reports whether the delivery may still be sent by itself.
func (s DeliveryState) Live() bool { return s == Pending || s == Queued || s == Processing }

// Code says why a delivery is in its state. Beside these there is HTTP_<status>.
type Code string

// Codes of failed deliveries and of tries whose outcome is unknown.
const (
	CodeTimeout         Code = "TIMEOUT"
	CodeNetwork         Code = "NETWORK"
	CodeInternal        Code = "INTERNAL"
	CodeInterrupted     Code = "INTERRUPTED"
	CodeRetryKeyExpired Code = "RETRY_KEY_EXPIRED"
	CodeEnqueueFailed   Code = "QUEUE_ENQUEUE_FAILED"
)

// Codes of canceled deliveries.
const (
	CodeShiftDeleted      Code = "SHIFT_DELETED"
	CodeShiftNotConfirmed Code = "SHIFT_NOT_CONFIRMED"
	CodeShiftChanged      Code = "SHIFT_VERSION_CHANGED"
	CodeShiftStarted      Code = "SHIFT_STARTED"
	CodeTeacherInactive   Code = "TEACHER_INACTIVE"
	CodeTeacherUnlinked   Code = "TEACHER_UNLINKED"
	CodeTeacherRelinked   Code = "TEACHER_RELINKED"
	CodeLINEDisabled      Code = "LINE_DISABLED"
	CodeGroupLeft         Code = "GROUP_LEFT"
	CodeSuperseded        Code = "SUPERSEDED"
	CodeNoLongerNeeded    Code = "NO_LONGER_NEEDED"
	CodeCanceledByAdmin   Code = "CANCELED_BY_ADMIN"
)

// Codes lists every code but the HTTP ones, so that tests can ask a sentence for each.
var Codes = []Code{CodeTimeout, CodeNetwork, CodeInternal, CodeInterrupted, CodeRetryKeyExpired, CodeEnqueueFailed,
	CodeShiftDeleted, CodeShiftNotConfirmed, CodeShiftChanged, CodeShiftStarted, CodeTeacherInactive, CodeTeacherUnlinked,
	CodeTeacherRelinked, CodeLINEDisabled, CodeGroupLeft, CodeSuperseded, CodeNoLongerNeeded, CodeCanceledByAdmin}

// Outcome is how an attempt ended; an attempt without one is open.
type Outcome string

// The outcomes of an attempt.
const (
	Accepted    Outcome = "accepted"    // LINE has the message, from this try or an earlier one
	Refused     Outcome = "refused"     // LINE does not have it from this try
	Unknown     Outcome = "unknown"     // nobody can tell whether LINE has it
	Interrupted Outcome = "interrupted" // the program ended before the answer was written down
)

// Delivery is one message that must reach one LINE destination.
type Delivery struct {
	ID            int64
	Kind          DeliveryKind
	State         DeliveryState
	Code          Code
	RetryKey      string // UUID sent as X-Line-Retry-Key
	GroupID       int64  // publications
	PublicationID int64  // publications
	AskedID       int64  // receipt requests: the publication to confirm
	TeacherID     int64  // notices
	ShiftID       int64  // notices about a shift
	ShiftVersion  int64  // notices about a shift
	LINEID        string // recipient: notices when made, publications from the first try
	Body          []byte // the request's bytes, from the first try; only where one delivery is read
	FirstTryAt    time.Time
	KeyFirstTryAt time.Time // first try with the present key; LINE forgets the key 24 h later
	DueAt         time.Time // not to be sent before
	DeadlineAt    time.Time // worthless after; zero for publications and receipt requests
	NextAttemptAt time.Time // while pending or queued
	Ladder        int       // which ladder it is on, from 1
	LadderTries   int       // tries spent of it
	Interruptions int       // interrupted tries in a row
	CreatedAt     time.Time
	CreatedBy     int64 // admin; 0 when the program made it
	UpdatedAt     time.Time
	FinishedAt    time.Time
}

// Attempt is one request to LINE for a delivery.
type Attempt struct {
	ID                int64
	DeliveryID        int64
	Number            int // from 1 within the delivery
	Ladder            int
	RetryKey          string
	StartedAt         time.Time
	FinishedAt        time.Time // zero while open
	Outcome           Outcome   // empty while open
	Code              Code
	Status            int // HTTP; 0 when there was no answer
	RequestID         string
	AcceptedRequestID string
	Message           string // LINE's words
}

// MaxLadderTries is how many tries one ladder has: the first and five more.
const MaxLadderTries = 6

// RetryKeyMargin is how long before LINE forgets a retry key the product stops using it.
const RetryKeyMargin = 10 * time.Minute

// minRetryDelay keeps tries apart when a deadline is near.
const minRetryDelay = 10 * time.Second

// NextTry returns when the try after the n-th (n from 1) of a ladder is due: base, doubled with every try, but early
// enough that all tries left fit before the deadline, and at least 10 s later. A try that would fall after the
// deadline is due at the deadline, where the check before it ends the delivery. A zero deadline is none.
func NextTry(now time.Time, n int, base time.Duration, deadline time.Time) time.Time {
	delay := base << (n - 1)
	if !deadline.IsZero() {
		left := MaxLadderTries - n
		delay = min(delay, deadline.Sub(now)/time.Duration(left+1))
	}
	at := now.Add(max(delay, minRetryDelay))
	if !deadline.IsZero() && at.After(deadline) {
		return deadline
	}
	return at
}

// KeyExpired reports whether a delivery's retry key must no longer be used. How old one is that was first tried in the
// future, as a clock that was wrong told it, nobody knows.
func KeyExpired(now, keyFirstTryAt time.Time, ttl time.Duration) bool {
	return !keyFirstTryAt.IsZero() && (!now.Before(keyFirstTryAt.Add(ttl-RetryKeyMargin)) || keyFirstTryAt.Sub(now) > ClockTolerance)
}
