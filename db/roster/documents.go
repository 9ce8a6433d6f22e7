package roster

import (
	"slices"
	"time"
)

// Document is a publication as one teacher sees it in the viewer: the frozen table, and beside it their own shifts as
// they are now.
type Document struct {
	Publication Publication // with its pages
	GroupName   string      // as it is called now
	// The newest publication of the same month; the publication's own number and id if that is the newest.
	NewestNumber     int
	NewestDocumentID string
	// Live is the teacher's part of the document's month and group as it is now; empty for an admin.
	Live Snapshot
	// Receipt is the teacher's for this publication, LastConfirmed the last one for any of the month; nil for none.
	Receipt       Receipt
	LastConfirmed *Confirmation
	// HasCalendar says that the teacher subscribes to their shifts by a secret address.
	HasCalendar bool
	// Own are the teacher's published months that may still matter, by month, then group. It is empty for an admin.
	Own []OwnMonth
}

// Outdated reports whether a newer publication of the month exists.
func (d Document) Outdated() bool { return d.NewestNumber > d.Publication.Number }

// OwnMonth is what one teacher works in a month of a group that has a publication.
type OwnMonth struct {
	GroupID int64
	Month   Month
	Number  int      // of the newest publication
	Live    Snapshot // the teacher's confirmed shifts as they are now
	Changes []Change // from the newest publication to Live
}

// Start returns the instant the shift begins.
func (s SnapshotShift) Start(loc *time.Location) time.Time {
	return Instant(s.Date, s.Times.Start, loc)
}

// End returns the instant the shift ends.
func (s SnapshotShift) End(loc *time.Location) time.Time { return Instant(s.Date, s.Times.End, loc) }

// Of returns the part of the snapshot that concerns one teacher: their shifts, and the names those are shown under.
func (s Snapshot) Of(teacherID int64) Snapshot {
	s.Shifts = s.ShiftsOf(teacherID)
	s.Teachers = slices.DeleteFunc(slices.Clone(s.Teachers), func(n Named) bool { return n.ID != teacherID })
	s.Classrooms = slices.DeleteFunc(slices.Clone(s.Classrooms), func(n Named) bool {
		return !slices.ContainsFunc(s.Shifts, func(x SnapshotShift) bool { return x.ClassroomID == n.ID })
	})
	return s
}
