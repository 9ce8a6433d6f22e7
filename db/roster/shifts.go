package roster

import "time"

// ShiftState is the state of a shift.
type ShiftState string

// The states of a shift. An admin moves it between draft and confirmed, and from either to deleted, which is the end:
// rows are never removed, so ids and versions stay true for ever.
const (
	ShiftDraft     ShiftState = "draft"
	ShiftConfirmed ShiftState = "confirmed"
	ShiftDeleted   ShiftState = "deleted"
)

// Shift is one teacher in one classroom on one local date, from–to local time.
type Shift struct {
	ID          int64
	TeacherID   int64
	ClassroomID int64
	Date        Date
	Times       TimeRange
	Note        string
	State       ShiftState
	Version     int64     // grows by one at every write that changes teacher, classroom, date, times or state
	EditNumber  int64     // grows by one at every write
	ChangedAt   time.Time // when Version last grew
	UpdatedAt   time.Time // when EditNumber last grew
}

// Start returns the instant the shift begins.
func (s Shift) Start(loc *time.Location) time.Time { return Instant(s.Date, s.Times.Start, loc) }

// End returns the instant the shift ends.
func (s Shift) End(loc *time.Location) time.Time { return Instant(s.Date, s.Times.End, loc) }

// Overlaps reports whether two shifts share a minute.
func (s Shift) Overlaps(o Shift) bool { return s.Times.Overlaps(s.Date, o.Times, o.Date) }

// Work returns what the shift's teacher would be told about it.
func (s Shift) Work() Work {
	return Work{ClassroomID: s.ClassroomID, Date: s.Date, Times: s.Times}
}

// Work is what a teacher must know of a shift: where and when.
type Work struct {
	ClassroomID int64     `json:"classroomId"`
	Date        Date      `json:"date"`
	Times       TimeRange `json:"times"`
}
