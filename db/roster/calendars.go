package roster

import "time"

// CalendarShift is a published shift as a calendar shows it.
type CalendarShift struct {
	Shift
	Classroom string
	// Revision grows, and RevisedAt is when it last did, whenever something that the entry shows changes: the shift or the
	// classroom's name.
	Revision  int64
	RevisedAt time.Time
}

// Calendar is what a teacher's secret address answers.
type Calendar struct {
	Teacher  Teacher
	Language string // BCP 47, that of the page it was made on
	Shifts   []CalendarShift
}

// CalendarPast is how far back a calendar goes: what is older helps nobody plan.
const CalendarPast = 60 * 24 * time.Hour
