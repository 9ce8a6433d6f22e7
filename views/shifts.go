package views

import (
	"context"
	"strings"

	"shiftpost/db/roster"
	"shiftpost/views/text"
	"shiftpost/views/ui"
)

// ShiftForm is the form of a shift with what was typed. ID is 0 for a new one.
type ShiftForm struct {
	FormState
	Group      roster.Group
	Month      roster.Month   // whose grid the form was opened from
	Shift      roster.Shift   // as it is stored; zero for a new one
	Teacher    roster.Teacher // whose shift it is; zero while it is to be chosen
	Choose     bool           // a new one whose teacher and date are to be chosen, not given by a cell
	Teachers   []roster.Teacher
	Classrooms []roster.Classroom // of the group, that can be chosen
	Patterns   []roster.Pattern   // in use
	Others     []ShiftLine        // the teacher's other shifts of that day
	InDialog   bool               // above the grid, not on a page of its own

	TeacherID   int64
	ClassroomID int64
	Date        string
	PatternID   int64  // 0 for typed times
	Times       string // 17:00–21:30, 22:00–25:00
	ShownTimes  string // what Times was when the form was filled
	Note        string
	State       roster.ShiftState // of a new one that takes back a deletion
}

// ShiftLine is a shift in a list, with its classroom.
type ShiftLine struct {
	Shift     roster.Shift
	Classroom roster.Classroom
	Foreign   bool // in a classroom of another group, and so not to be edited here
}

// NewShiftForm fills the form from a shift. A new one has at least a date.
func NewShiftForm(s roster.Shift, patterns []roster.Pattern) ShiftForm {
	f := ShiftForm{
		FormState:   FormState{ID: s.ID, EditNumber: s.EditNumber},
		Month:       s.Date.MonthOf(),
		Shift:       s,
		Patterns:    patterns,
		TeacherID:   s.TeacherID,
		ClassroomID: s.ClassroomID,
		Date:        s.Date.String(),
		Note:        s.Note,
		State:       s.State,
	}
	if s.Times != (roster.TimeRange{}) {
		f.Times = s.Times.String()
		f.ShownTimes = f.Times
		for _, p := range patterns {
			if p.Times == s.Times {
				f.PatternID = p.ID
			}
		}
	}
	return f
}

// title names whose day the form is about.
func (f ShiftForm) title(ctx context.Context) string {
	d, err := roster.ParseDate(f.Date)
	switch {
	case f.Choose || f.Teacher.ID == 0:
		return text.T(ctx, "shifts.new")
	case !f.New():
		d = f.Shift.Date
	case err != nil:
		return f.Teacher.Name
	}
	return text.T(ctx, "shifts.title", "Teacher", f.Teacher.Name, "Date", text.ShortDate(ctx, d))
}

// ShiftTitle is the title of a form's page.
func ShiftTitle(ctx context.Context, f ShiftForm) string { return f.title(ctx) }

// action is where the form is sent.
func (f ShiftForm) action() string {
	if f.New() {
		return MonthPath(f.Group.ID, f.Month) + "/shifts"
	}
	return "/shifts/" + itoa(f.ID)
}

// back is the address of the month's page, on the day of the form.
func (f ShiftForm) back() string {
	if d, err := roster.ParseDate(f.Date); err == nil && f.Month.Contains(d) {
		return DayPath(f.Group.ID, d)
	}
	return MonthPath(f.Group.ID, f.Month)
}

// htmx are the attributes that send the form from the dialog above the grid and show the answer there. The server
// sends an answer that changes the grid to the grid.
func (f ShiftForm) htmx() map[string]any {
	if !f.InDialog {
		return nil
	}
	return map[string]any{"hx-post": f.action(), "hx-target": "#shift-panel", "hx-swap": "innerHTML"}
}

func (f ShiftForm) patternOptions(ctx context.Context) []ui.Option {
	var options []ui.Option
	for _, p := range f.Patterns {
		options = append(options, ui.Option{Value: itoa(p.ID), Label: p.Letter, Hint: text.Range(ctx, p.Times)})
	}
	return options
}

func (f ShiftForm) teacherOptions() []ui.Option {
	var options []ui.Option
	for _, t := range f.Teachers {
		options = append(options, ui.Option{Value: itoa(t.ID), Label: t.Name})
	}
	return options
}

func (f ShiftForm) classroomOptions() []ui.Option {
	var options []ui.Option
	for _, c := range f.Classrooms {
		options = append(options, ui.Option{Value: itoa(c.ID), Label: c.Name})
	}
	return options
}

// chosen writes the id of a choice, nothing for none.
func chosen(id int64) string {
	if id == 0 {
		return ""
	}
	return itoa(id)
}

// patternTimes lists the times of the patterns by id, so that a script can write them into the field of times.
func (f ShiftForm) patternTimes() string {
	var list []string
	for _, p := range f.Patterns {
		list = append(list, itoa(p.ID)+"="+p.Times.String())
	}
	return strings.Join(list, " ")
}

// ShiftFacts are what a stale form shows of the stored shift.
func ShiftFacts(ctx context.Context, s roster.Shift, teacher, classroom string) []Fact {
	return []Fact{
		{text.T(ctx, "shifts.teacher"), teacher},
		{text.T(ctx, "shifts.date"), text.ShortDate(ctx, s.Date)},
		{text.T(ctx, "shifts.times"), text.Range(ctx, s.Times)},
		{text.T(ctx, "shifts.classroom"), classroom},
		{text.T(ctx, "shifts.state"), text.T(ctx, "months.state."+string(s.State))},
		{text.T(ctx, "shifts.note"), s.Note},
	}
}

// OverlapSentence says which shift is in the way of one on day d with those times, and how to get around it.
func OverlapSentence(ctx context.Context, d roster.Date, times roster.TimeRange, other roster.Shift, classroom string) string {
	place := classroom
	// The other's times on the clock of d.
	shift := roster.Minutes(0)
	switch {
	case other.Date.Before(d):
		shift = -24 * 60
	case d.Before(other.Date):
		shift = 24 * 60
	}
	if shift != 0 {
		place = text.ShortDate(ctx, other.Date) + " " + classroom
	}
	start, end := other.Times.Start+shift, other.Times.End+shift
	words := text.T(ctx, "shifts.overlap", "Classroom", place, "Range", text.Range(ctx, other.Times))
	switch {
	case times.Start < start:
		return words + text.T(ctx, "shifts.overlap_end", "Time", text.Time(ctx, start), "Classroom", place)
	case times.End > end:
		return words + text.T(ctx, "shifts.overlap_start", "Time", text.Time(ctx, end), "Classroom", place)
	}
	return words + text.T(ctx, "shifts.overlap_within", "Classroom", place)
}

// GoneShift is a shift that somebody deleted while it was being edited.
type GoneShift struct {
	Group roster.Group
	Shift roster.Shift
	Time  string // when it was deleted
}

// monthCrumbs are the way to a page below a month.
func monthCrumbs(ctx context.Context, groupID int64, m roster.Month, here string) []ui.Crumb {
	return []ui.Crumb{{Label: text.Month(ctx, m), Href: MonthPath(groupID, m)}, {Label: here}}
}

// Ended reports whether a month lies wholly before a day.
func Ended(m roster.Month, today roster.Date) bool { return m.Last().Before(today) }

// cellOf names the cell that the form was opened from.
func cellOf(f ShiftForm) string {
	if !f.New() {
		return cellID(f.Shift.TeacherID, f.Shift.Date)
	}
	return itoa(f.TeacherID) + "-" + f.Date
}

// moves reports whether the form gives the shift to somebody else or to another day.
func (f ShiftForm) moves() bool {
	return f.TeacherID != f.Shift.TeacherID || f.Date != f.Shift.Date.String()
}

func emptyChoice(ctx context.Context, id int64) string {
	if id == 0 {
		return text.T(ctx, "forms.choose")
	}
	return ""
}
