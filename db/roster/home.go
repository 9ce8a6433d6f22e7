package roster

import "time"

// Home is what an admin looks at first: what must be acted on in the whole school, and how one group stands.
type Home struct {
	At       time.Time // the instant all of it was read
	Group    Group
	Groups   int // in use
	Concerns Concerns
	Days     []HomeDay    // today and tomorrow
	Months   []MonthStand // the present and the next one
	Quota    Quota
	Linking  Linking
	Live     bool // a delivery is on its way
}

// Moving reports whether what it shows changes by itself today: a delivery is on its way, or something is due.
func (h Home) Moving(loc *time.Location) bool {
	if h.Live {
		return true
	}
	today := DateOf(h.At, loc)
	for _, d := range h.Days {
		for _, x := range d.Shifts {
			if x.Reminder.State == ReminderPlanned && DateOf(x.Reminder.At, loc) == today {
				return true
			}
			// A shift that begins, and one that ends, moves what must be acted on.
			if x.Shift.Date == today && x.Shift.End(loc).After(h.At) {
				return true
			}
		}
	}
	return false
}

// Concerns is what somebody must act on, or know of before it is too late. Each list has the most urgent first.
type Concerns struct {
	Holds       []Hold          // why pushes wait
	Missed      []NoticeConcern // notices that did not go before a start
	Running     []RunningChange // changes of shifts that run, of which nobody was told
	Untold      []NoticeConcern // changes of shifts ahead that cannot be told
	Failed      []DeliveryConcern
	Pending     []DeliveryConcern // saved without a job
	Left        []Group           // from whose LINE group the account was removed
	Months      []MonthStand      // present and coming months that were published, of all groups
	Unreachable []Unreachable     // teachers who cannot be told of their next shifts
	Drafts      []DraftsSoon
}

// NoticeConcern is a notice that did not tell its person what it should have told.
type NoticeConcern struct {
	Delivery
	MayHaveArrived bool // a try's outcome is unknown
	Teacher        string
	// Shift is the shift in words: as it is now, or of a cancellation as it was told.
	Shift ToldShift
}

// DeliveryConcern is a delivery with what it is about in words.
type DeliveryConcern struct {
	Delivery
	MayHaveArrived bool      // a try's outcome is unknown
	Teacher        string    // notices
	Shift          ToldShift // notices: as it is now
	Group          string    // publications
	Month          Month     // publications
	Number         int       // publications
}

// RunningChange is a shift that runs and is not what its person was last told, when it is too late for a notice.
type RunningChange struct {
	ShiftID   int64
	GroupID   int64 // of the shift's classroom
	TeacherID int64
	Teacher   string
	Date      Date       // of the shift as it is now
	Before    *ToldShift // what they were told, or may have been; nil if nothing
	Now       *ToldShift // nil when the shift is not theirs
}

// Unreachable is a teacher who cannot be told of shifts ahead, or perhaps not.
type Unreachable struct {
	Teacher Teacher
	// Code says why not; it is empty of one who is sent to and may not get it: blocked, or no friend.
	Code  Code
	First ToldShift // the first of the shifts
	Start time.Time // when it begins
}

// DraftsSoon are the drafts of a group's next days. Nobody is reminded of a draft.
type DraftsSoon struct {
	Group   Named
	Count   int
	First   ToldShift // the first of them
	Teacher string    // whose it is
}

// AnnouncementState says how far the newest publication of a month is known to its LINE group.
type AnnouncementState string

// The states of an announcement.
const (
	AnnouncementNone      AnnouncementState = ""           // the month was not published, or the group has no LINE group
	AnnouncementWaiting   AnnouncementState = "waiting"    // a delivery is on its way
	AnnouncementSent      AnnouncementState = "sent"       // or it may have been
	AnnouncementFailed    AnnouncementState = "failed"     // and can be retried
	AnnouncementCalledOff AnnouncementState = "called_off" // by an admin
	AnnouncementMissing   AnnouncementState = "missing"    // the LINE group that is linked now was not told
)

// MonthStand is how far a group's month is.
type MonthStand struct {
	Group         Group
	Month         Month
	Drafts        int
	Confirmed     int
	PublicationID int64     // the newest; 0 while the month was never published
	Number        int       // its number
	PublishedAt   time.Time // when
	Announcement  AnnouncementState
	Changes       []Change // since the newest publication
}

// Published reports whether the month was ever published.
func (m MonthStand) Published() bool { return m.PublicationID != 0 }

// ChangeAhead returns the first change of today or later, nil if there is none.
func (m MonthStand) ChangeAhead(today Date) *Change {
	for i, c := range m.Changes {
		if !c.Date.Before(today) {
			return &m.Changes[i]
		}
	}
	return nil
}

// Linking is how well a group's people can be reached, and when what works without anybody watching last ran.
type Linking struct {
	Teachers int // active ones at home in the group
	Linked   int // of them
	Sweeps   []SweepRun
}

// SweepRun says when a sweep last ran and what it did.
type SweepRun struct {
	Name    string
	RanAt   time.Time
	Handled int    // rows it moved
	Error   string // empty if it went well
}

// HomeDay is a day of the home page with its confirmed shifts, the earliest first.
type HomeDay struct {
	Date   Date
	Shifts []HomeShift
}

// HomeShift is a confirmed shift with how far its reminder is.
type HomeShift struct {
	Shift     Shift
	Teacher   Teacher
	Classroom Classroom
	Reminder  Reminder
}

// ReminderState says how far the reminder of a shift is.
type ReminderState string

// The states of a reminder. Those of deliveries have their words.
const (
	ReminderPlanned    ReminderState = "planned"    // it will be made when its time comes
	ReminderPending    ReminderState = "pending"    // as of deliveries
	ReminderQueued     ReminderState = "queued"     // as of deliveries
	ReminderProcessing ReminderState = "processing" // as of deliveries
	ReminderSent       ReminderState = "sent"       // as of deliveries
	ReminderDoubtful   ReminderState = "doubtful"   // sent to one who has blocked the account or is not its friend
	ReminderFailed     ReminderState = "failed"     // as of deliveries
	ReminderCalledOff  ReminderState = "called_off" // by an admin
	ReminderMissed     ReminderState = "missed"     // the shift began before it could go
	ReminderCannot     ReminderState = "cannot"     // for the reason in its code
	ReminderNone       ReminderState = "none"       // the shift began, and none was made
)

// Reminder is how far the reminder of a shift is. A correction that tells the shift as it is stands for one.
type Reminder struct {
	State          ReminderState
	At             time.Time // planned: when; sent: when
	DeliveryID     int64     // 0 where there is none
	Code           Code      // cannot: why
	MayHaveArrived bool      // failed, missed: a try's outcome is unknown
}

// ReminderNotice is a notice that tells a shift's teacher the shift as it is now: a reminder or a correction.
type ReminderNotice struct {
	Delivery
	MayHaveArrived bool
}

// SweepPace is the pace of the reminder sweep, which runs at the quarter hours.
const SweepPace = 15 * time.Minute

// ReminderOf says how far the reminder of a confirmed shift is. Notices are those about it to its teacher as they are
// linked now, and those that could not be sent, the newest first.
func ReminderOf(st Standing, teacher Teacher, notices []ReminderNotice, now time.Time, loc *time.Location) Reminder {
	from := st.ReminderFrom(loc)
	for _, n := range notices {
		if n.State.Live() {
			return Reminder{State: ReminderState(n.State), At: n.NextAttemptAt, DeliveryID: n.ID}
		}
	}
	ended := Reminder{State: ReminderNone}
	for _, n := range notices {
		r := Reminder{DeliveryID: n.ID, MayHaveArrived: n.MayHaveArrived}
		switch {
		case n.State != Canceled && n.CreatedAt.Before(from):
			continue // too early to stand for the reminder
		case n.State == Sent && teacher.Blocked:
			r.State, r.At = ReminderDoubtful, n.FinishedAt
			return r
		case n.State == Sent:
			r.State, r.At = ReminderSent, n.FinishedAt
			return r
		case n.State == Failed:
			r.State = ReminderFailed
			return r
		case ended.State != ReminderNone:
			continue
		case n.Code == CodeCanceledByAdmin:
			r.State = ReminderCalledOff
		case n.Code == CodeShiftStarted:
			r.State = ReminderMissed
		case n.Code == CodeTeacherUnlinked || n.Code == CodeLINEDisabled || n.Code == CodeTeacherInactive:
			r.State, r.Code = ReminderCannot, n.Code
		default:
			continue
		}
		ended = r
	}
	if !st.Shift.Start(loc).After(now) || ended.State == ReminderCalledOff {
		return ended
	}
	if cannot := CannotTell(teacher, ShiftReminder); cannot != "" {
		return Reminder{State: ReminderCannot, Code: cannot}
	}
	return Reminder{State: ReminderPlanned, At: quarterFrom(latest(from, now))}
}

// quarterFrom returns t, or the next quarter hour after it: when the sweep makes what is due from t on. The quarter hours
// of all zones are the same.
func quarterFrom(t time.Time) time.Time {
	q := t.Truncate(SweepPace)
	if q.Before(t) {
		q = q.Add(SweepPace)
	}
	return q
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
