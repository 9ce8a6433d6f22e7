package roster

import (
	"slices"
	"time"
)

// Certainty says how far a person was told something.
type Certainty string

// The certainties of a told state.
const (
	Sure  Certainty = "sure"  // LINE accepted the notice
	Maybe Certainty = "maybe" // a try of it is open, or ended without a known answer
	Void  Certainty = "void"  // refused, or replaced by a later notice: it counts no more
)

// Told is what one LINE user was told about one shift by one notice.
type Told struct {
	DeliveryID int64
	Canceled   bool // 取消: the shift is not theirs
	Work       Work // of one that is not canceled
	Certainty  Certainty
}

// Standing is all that decides what one person must be told about one shift.
type Standing struct {
	Shift       Shift
	LeadMinutes int    // of the shift's group
	Theirs      bool   // the shift is confirmed and this person's
	Told        []Told // that counts: sure and maybe
	// Works are all confirmed shifts of this person that a told one could be the same as.
	Works []Work
	// Reminded reports whether a reminder or correction that tells the present state was made since the window opened
	// and stands, with no cancellation after it that was or may have been sent.
	Reminded bool
	// Answered reports whether the correction of the shift's present version, or the cancellation where it is not
	// theirs, was sent, failed or was called off by an admin: it is not made a second time.
	Answered bool
}

// ReminderSlack is how long before its lead a reminder may go: one pace of the sweep, so that it is never late.
const ReminderSlack = 15 * time.Minute

// UndoSkipped is how near a deadline must be for the undo window to be skipped.
const UndoSkipped = 10 * time.Minute

// ReminderFrom returns the instant from which the shift's reminder is due.
func (s Standing) ReminderFrom(loc *time.Location) time.Time {
	return s.Shift.Start(loc).Add(-time.Duration(s.LeadMinutes)*time.Minute - ReminderSlack)
}

// True reports whether something told is so. A told shift is so while they have any confirmed shift of the same
// classroom, date and times: it may have been deleted and entered anew. That a shift is not theirs is so while it is
// not.
func (s Standing) True(t Told) bool {
	if t.Canceled {
		return !s.Theirs
	}
	return slices.Contains(s.Works, t.Work)
}

// Untrue reports whether something this person was told, or may have been, is not so.
func (s Standing) Untrue() bool {
	return slices.ContainsFunc(s.Told, func(t Told) bool { return !s.True(t) })
}

// Correcting returns the kind of the notice that says what is so instead of something untrue.
func (s Standing) Correcting() DeliveryKind {
	if s.Theirs {
		return ShiftCorrection
	}
	return ShiftCancellation
}

// Deadline returns the earliest start still ahead of now among what was told, may have been told, and is so; zero if
// there is none.
func (s Standing) Deadline(now time.Time, loc *time.Location) time.Time {
	var earliest time.Time
	consider := func(w Work) {
		start := Instant(w.Date, w.Times.Start, loc)
		if start.After(now) && (earliest.IsZero() || start.Before(earliest)) {
			earliest = start
		}
	}
	for _, t := range s.Told {
		if !t.Canceled {
			consider(t.Work)
		}
	}
	if s.Theirs {
		consider(s.Shift.Work())
	}
	return earliest
}

// Need returns the notice that is due now and its deadline, or an empty kind: a correction or cancellation when
// something told is untrue and a start is still ahead, else a reminder inside its window. A correction that failed or
// was called off is not made again for the same version, but does not stand in the reminder's way.
func (s Standing) Need(now time.Time, loc *time.Location) (DeliveryKind, time.Time) {
	deadline := s.Deadline(now, loc)
	switch {
	case deadline.IsZero():
		return "", deadline
	case s.Untrue() && !s.Answered:
		return s.Correcting(), deadline
	case s.Theirs && !s.Reminded && s.Shift.Start(loc).After(now) && !s.ReminderFrom(loc).After(now):
		return ShiftReminder, deadline
	}
	return "", time.Time{}
}

// CannotTell returns why a notice of that kind cannot go to a teacher, or an empty code. One who left is still told
// that a shift is no longer theirs.
func CannotTell(t Teacher, kind DeliveryKind) Code {
	switch {
	case !t.Active() && kind != ShiftCancellation:
		return CodeTeacherInactive
	case !t.Linked():
		return CodeTeacherUnlinked
	case !t.NoticesOn:
		return CodeLINEDisabled
	}
	return ""
}
