// Package roster is the domain: groups, classrooms, teachers, patterns, shifts, publications and deliveries as plain
// values, with the rules they keep and the moves they may make. It imports the standard library alone, does no I/O
// and reads no clock, so every other package can speak it.
//
// A zero time.Time, ID or text means "none" unless a field says otherwise. Instants are UTC; dates and times of day
// are local to the school.
package roster

import (
	"strings"
	"time"
)

// Limits of what can be entered. Each has a sentence in the catalogs.
const (
	MaxNameLength      = 40  // characters of any name
	MaxShortNameLength = 4   // characters of a classroom's short name
	MaxLetterLength    = 2   // characters of a pattern's letter
	MaxNoteLength      = 200 // characters of a shift's note
)

// Group is a named set of classrooms whose months are published together to one LINE group.
type Group struct {
	ID              int64
	Name            string
	LeadMinutes     int    // how long before a shift its reminder goes
	LINEGroupID     string // empty while not linked
	LINEGroupName   string
	LINEMemberCount int       // members the last time LINE was asked, the account itself excluded
	LINELeftAt      time.Time // when the account was removed from the LINE group
	EditNumber      int64
	UpdatedAt       time.Time // when EditNumber last grew
	ArchivedAt      time.Time
}

// Linked reports whether messages to the group have somewhere to go: a LINE group is linked and the account is in it.
func (g Group) Linked() bool { return g.LINEGroupID != "" && g.LINELeftAt.IsZero() }

// DefaultLeadMinutes is the reminder lead of a new group; MinLeadMinutes and MaxLeadMinutes bound it.
const (
	DefaultLeadMinutes = 120
	MinLeadMinutes     = 15
	MaxLeadMinutes     = 24 * 60
)

// Classroom is a place where teachers work. It belongs to exactly one group.
type Classroom struct {
	ID         int64
	GroupID    int64
	Name       string
	ShortName  string
	Position   int // order within its group
	EditNumber int64
	UpdatedAt  time.Time // when EditNumber last grew
	ArchivedAt time.Time
}

// Teacher is a person who works shifts.
type Teacher struct {
	ID          int64
	ClassroomID int64 // the home classroom, under which the teacher is listed
	Name        string
	Position    int    // order within the home classroom
	LINEUserID  string // empty while not linked
	NoticesOn   bool   // wants reminders and corrections
	Blocked     bool   // has blocked the account or is not its friend, as far as known
	EditNumber  int64
	UpdatedAt   time.Time // when EditNumber last grew
	ArchivedAt  time.Time // when the teacher left
}

// Active reports whether the teacher still works here.
func (t Teacher) Active() bool { return t.ArchivedAt.IsZero() }

// Linked reports whether the teacher is linked to a LINE user.
func (t Teacher) Linked() bool { return t.LINEUserID != "" }

// NameLines splits a name where it may wrap: after the surname, or at a middle dot, which stays on the first line.
// A name without such a place is one line.
func NameLines(name string) []string {
	name = strings.Join(strings.Fields(name), " ")
	if first, rest, ok := strings.Cut(name, " "); ok {
		return []string{first, rest}
	}
	if i := strings.Index(name, "・"); i > 0 {
		i += len("・")
		if i < len(name) {
			return []string{name[:i], name[i:]}
		}
	}
	return []string{name}
}

// Pattern is a named time range that fills a shift in one click.
type Pattern struct {
	ID         int64
	Name       string // 早番
	Letter     string // 早: what the month's grid shows
	Times      TimeRange
	Position   int
	EditNumber int64
	UpdatedAt  time.Time // when EditNumber last grew
	ArchivedAt time.Time
}

// Admin is a person who may sign in.
type Admin struct {
	ID           int64
	Email        string // lower case
	Name         string
	PasswordHash string // argon2id in PHC form
	ArchivedAt   time.Time
}
