package roster

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"
)

// Publication is one group's month, frozen when an admin published it.
type Publication struct {
	ID          int64
	GroupID     int64
	Month       Month
	Number      int    // 第N版, from 1 within group and month
	DocumentID  string // unguessable; names the publication in the viewer's URL
	Sheet       Sheet
	PublishedAt time.Time
	PublishedBy int64 // admin
	Pages       []Image
}

// Image is one rendered page in the private file store.
type Image struct {
	Page      int    // from 1
	Title     string // classroom, and which part of it if it needs several pages
	SHA256    string // of the PNG, hex; the key in the file store
	Width     int    // device pixels
	Height    int    // device pixels
	SizeBytes int64
}

// Named is a person or place as a snapshot shows it.
type Named struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
}

// SnapshotShift is a confirmed shift inside a snapshot.
type SnapshotShift struct {
	ShiftID   int64 `json:"shiftId"`
	TeacherID int64 `json:"teacherId"`
	Work
}

// Snapshot is everything of one group's month that a publication freezes: its confirmed shifts and the names they
// are shown under. A draft, a note or a teacher without a confirmed shift is no part of it.
type Snapshot struct {
	Group      Named           `json:"group"`
	Month      Month           `json:"month"`
	Classrooms []Named         `json:"classrooms"` // in the order of their pages
	Teachers   []Named         `json:"teachers"`   // in the order of their columns
	Shifts     []SnapshotShift `json:"shifts"`     // by date, start, teacher
	ChangedAt  time.Time       `json:"changedAt"`  // the newest change that made it what it is
}

// Sort puts the shifts into the order that Hash relies on.
func (s *Snapshot) Sort() {
	slices.SortFunc(s.Shifts, func(a, b SnapshotShift) int {
		return cmp.Or(a.Date.Compare(b.Date), cmp.Compare(a.Times.Start, b.Times.Start), cmp.Compare(a.Times.End, b.Times.End),
			cmp.Compare(a.TeacherID, b.TeacherID), cmp.Compare(a.ClassroomID, b.ClassroomID))
	})
}

// Hash returns the SHA-256 (hex) of what the snapshot shows. Two months with the same hash look the same, whichever
// rows or edits they came from: shift ids and ChangedAt are left out.
func (s Snapshot) Hash() string {
	s.ChangedAt = time.Time{}
	s.Shifts = slices.Clone(s.Shifts)
	s.Sort()
	for i := range s.Shifts {
		s.Shifts[i].ShiftID = 0
	}
	return hashJSON(s)
}

// TeacherName returns the name the snapshot has for a teacher, empty if it has none.
func (s Snapshot) TeacherName(id int64) string { return nameOf(s.Teachers, id) }

// ClassroomName returns the name the snapshot has for a classroom, empty if it has none.
func (s Snapshot) ClassroomName(id int64) string { return nameOf(s.Classrooms, id) }

func nameOf(list []Named, id int64) string {
	for _, n := range list {
		if n.ID == id {
			return n.Name
		}
	}
	return ""
}

// ShiftsOf returns the snapshot's shifts of one teacher, in order.
func (s Snapshot) ShiftsOf(teacherID int64) []SnapshotShift {
	var own []SnapshotShift
	for _, x := range s.Shifts {
		if x.TeacherID == teacherID {
			own = append(own, x)
		}
	}
	return own
}

// Base is the earlier publication that a sheet's changes are counted from.
type Base struct {
	Number      int       `json:"number"`
	PublishedAt time.Time `json:"publishedAt"`
	Certain     bool      `json:"certain"` // its announcement was accepted; else it may have been
}

// Sheet is all that the table of one publication shows, and nothing else: whoever has the same sheet draws the same
// picture.
type Sheet struct {
	Snapshot Snapshot `json:"snapshot"`
	Number   int      `json:"number"`
	Base     *Base    `json:"base,omitempty"` // nil: the first announcement of the month
	Changes  []Change `json:"changes,omitempty"`
}

// Hash returns the SHA-256 (hex) of the sheet. A rendered picture is kept under it, and a publish form sends it back
// to say what was shown.
func (s Sheet) Hash() string { return hashJSON(s) }

func hashJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // only plain values are passed
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// ChangeKind says what happened to one teacher's work on one date.
type ChangeKind string

// The kinds of changes between two snapshots.
const (
	ChangeAdded   ChangeKind = "added"
	ChangeMoved   ChangeKind = "changed"
	ChangeRemoved ChangeKind = "removed"
)

// Change is one difference between two snapshots, as the teacher it concerns sees it.
type Change struct {
	Kind    ChangeKind `json:"kind"`
	Teacher Named      `json:"teacher"`
	Date    Date       `json:"date"`
	Before  *Place     `json:"before,omitempty"` // nil when added
	After   *Place     `json:"after,omitempty"`  // nil when removed
	// SamePlace is false when the classroom changed too.
	SamePlace bool `json:"samePlace"`
}

// Place is a time in a named classroom.
type Place struct {
	Classroom Named     `json:"classroom"`
	Times     TimeRange `json:"times"`
}

// Compare lists what changed from before to after, by date, then teacher in the order of their columns. It compares
// what people see, not rows: a shift deleted and entered anew is no change; one moved to another date or teacher is
// taken away there and added here. Of several shifts of one teacher on one date those become before and after of one
// change that people would take for the same shift.
func Compare(before, after Snapshot) []Change {
	type key struct {
		teacher int64
		date    Date
	}
	old, now := map[key][]SnapshotShift{}, map[key][]SnapshotShift{}
	for _, s := range before.Shifts {
		old[key{s.TeacherID, s.Date}] = append(old[key{s.TeacherID, s.Date}], s)
	}
	for _, s := range after.Shifts {
		k := key{s.TeacherID, s.Date}
		if i := slices.IndexFunc(old[k], func(o SnapshotShift) bool { return o.Work == s.Work }); i >= 0 {
			old[k] = slices.Delete(old[k], i, i+1)
			continue
		}
		now[k] = append(now[k], s)
	}
	place := func(in Snapshot, s SnapshotShift) *Place {
		return &Place{Named{s.ClassroomID, in.ClassroomName(s.ClassroomID)}, s.Times}
	}
	name := func(id int64) Named { return Named{id, cmp.Or(after.TeacherName(id), before.TeacherName(id))} }
	var changes []Change
	for k, olds := range old {
		for _, alike := range likenesses {
			var unlike []SnapshotShift
			for _, o := range olds {
				i := slices.IndexFunc(now[k], func(n SnapshotShift) bool { return alike(o, n) })
				if i < 0 {
					unlike = append(unlike, o)
					continue
				}
				n := now[k][i]
				now[k] = slices.Delete(now[k], i, i+1)
				changes = append(changes, Change{Kind: ChangeMoved, Teacher: name(k.teacher), Date: k.date, Before: place(before, o), After: place(after, n),
					SamePlace: n.ClassroomID == o.ClassroomID})
			}
			olds = unlike
		}
		for _, o := range olds {
			changes = append(changes, Change{Kind: ChangeRemoved, Teacher: name(k.teacher), Date: k.date, Before: place(before, o)})
		}
	}
	for k, news := range now {
		for _, n := range news {
			changes = append(changes, Change{Kind: ChangeAdded, Teacher: name(k.teacher), Date: k.date, After: place(after, n)})
		}
	}
	column := func(id int64) int {
		i := slices.IndexFunc(after.Teachers, func(n Named) bool { return n.ID == id })
		if i < 0 {
			return len(after.Teachers)
		}
		return i
	}
	start := func(c Change) Minutes {
		if c.After != nil {
			return c.After.Times.Start
		}
		return c.Before.Times.Start
	}
	slices.SortFunc(changes, func(a, b Change) int {
		return cmp.Or(a.Date.Compare(b.Date), cmp.Compare(column(a.Teacher.ID), column(b.Teacher.ID)),
			cmp.Compare(a.Teacher.ID, b.Teacher.ID), cmp.Compare(start(a), start(b)), cmp.Compare(a.Kind, b.Kind))
	})
	return changes
}

// likenesses say when a shift of one snapshot is taken for one of the next that differs from it, the surest way first.
var likenesses = []func(o, n SnapshotShift) bool{
	func(o, n SnapshotShift) bool {
		return o.ClassroomID == n.ClassroomID && o.Times.Overlaps(o.Date, n.Times, n.Date)
	},
	func(o, n SnapshotShift) bool { return o.ClassroomID == n.ClassroomID },
	func(o, n SnapshotShift) bool { return o.Times.Overlaps(o.Date, n.Times, n.Date) },
	func(o, n SnapshotShift) bool { return true },
}
