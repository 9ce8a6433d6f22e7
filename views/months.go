package views

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"shiftpost/db/roster"
	"shiftpost/views/text"
)

// Month is one group's month as its page shows it: a grid of teachers and days, and for phones one day at a time.
type Month struct {
	Group      roster.Group
	Month      roster.Month
	Today      roster.Date
	Day        roster.Date        // the one that a phone shows; in Month
	Classrooms []roster.Classroom // of the group
	Elsewhere  []roster.Classroom // of other groups, as far as Shifts name them
	Teachers   []roster.Teacher   // in the order of their rows
	Shifts     []roster.Shift     // by date and start, deleted ones left out
	Patterns   []roster.Pattern   // in use
	// Newest is the newest publication of the month, nil if there is none; Changes counts from it.
	Newest  *roster.Publication
	Changes []roster.Change
	Said    *Said // what was just done, nil if nothing
}

// Said is a sentence about what was just done to a month, with the way to take it back.
type Said struct {
	Text string
	Undo *ShiftForm // enters anew what was deleted; nil if there is nothing to take back
}

// Path is the address of the month.
func (m Month) Path() string { return MonthPath(m.Group.ID, m.Month) }

// DayPath is the address of the month with that day in the view for phones.
func (m Month) DayPath(d roster.Date) string { return DayPath(m.Group.ID, d) }

// DayPath is the address of a day in its group's month.
func DayPath(groupID int64, d roster.Date) string {
	return MonthPath(groupID, d.MonthOf()) + "?day=" + d.String()
}

// NewShiftPath is the address of the form that adds a shift. Teacher may be 0, to be chosen there.
func (m Month) NewShiftPath(teacherID int64, d roster.Date) string {
	path := m.Path() + "/shifts/new?"
	if teacherID != 0 {
		path += "teacher=" + itoa(teacherID) + "&"
	}
	return path + "date=" + d.String()
}

// inYears reports whether a roster can be made for a month.
func inYears(m roster.Month) bool { return m.Year >= roster.FirstYear && m.Year <= roster.LastYear }

// own reports whether a classroom is one of the group's.
func (m Month) own(classroomID int64) bool { return classroomName(m.Classrooms, classroomID) != "" }

// count returns how many shifts of the group's classrooms are in a state.
func (m Month) count(state roster.ShiftState) int {
	n := 0
	for _, s := range m.Shifts {
		if s.State == state && m.own(s.ClassroomID) {
			n++
		}
	}
	return n
}

// empty reports whether the group has no shift in the month and never published one.
func (m Month) empty() bool {
	return m.Newest == nil && m.count(roster.ShiftDraft)+m.count(roster.ShiftConfirmed) == 0
}

// grid is the month arranged for drawing.
type grid struct {
	Days     []gridDay
	Sections []gridSection
}

// gridDay is the head and the foot of a column.
type gridDay struct {
	Date    roster.Date
	Kind    roster.DayKind
	Holiday roster.Holiday // zero on other days
	Working int            // teachers with a shift in the group's classrooms
}

// gridSection has the teachers at home in one classroom. The last one, without a classroom, has those who help out
// from another group.
type gridSection struct {
	Classroom roster.Classroom
	Rows      []gridRow
}

// gridRow is a teacher's month.
type gridRow struct {
	Teacher roster.Teacher
	Cells   []gridCell // one for each day
	Worked  roster.Minutes
	Days    int
}

// gridCell has what a teacher does on one day, by start; it is empty when the teacher is free.
type gridCell []gridEntry

// gridEntry is a shift, or the place of one that the newest publication shows and that is taken away since.
type gridEntry struct {
	Shift     roster.Shift   // zero if Gone
	Teacher   roster.Teacher // zero in a section of helpers that left
	Classroom roster.Classroom
	Away      bool           // not in the classroom the teacher is listed under
	Foreign   bool           // in a classroom of another group: shown, but edited there
	Letter    string         // of the pattern with these times, if there is one
	Change    *roster.Change // since the newest publication; nil for nothing
	Gone      bool
}

// arrange puts the month's shifts into rows and columns.
func (m Month) arrange() grid {
	var g grid
	working := map[roster.Date]map[int64]bool{}
	for _, d := range m.Month.Days() {
		holiday, _ := roster.HolidayOn(d)
		g.Days = append(g.Days, gridDay{Date: d, Kind: roster.KindOf(d), Holiday: holiday})
		working[d] = map[int64]bool{}
	}
	for _, t := range m.Teachers {
		home, _ := m.classroom(t.ClassroomID)
		if !m.own(home.ID) {
			home = roster.Classroom{}
		}
		i := slices.IndexFunc(g.Sections, func(s gridSection) bool { return s.Classroom.ID == home.ID })
		if i < 0 {
			i = len(g.Sections)
			g.Sections = append(g.Sections, gridSection{Classroom: home})
		}
		row := gridRow{Teacher: t}
		for _, d := range m.Month.Days() {
			cell := m.cell(t, d)
			row.Cells = append(row.Cells, cell)
			worked := false
			for _, e := range cell {
				if e.Gone {
					continue
				}
				worked = true
				row.Worked += e.Shift.Times.End - e.Shift.Times.Start
				if !e.Foreign {
					working[d][t.ID] = true
				}
			}
			if worked {
				row.Days++
			}
		}
		g.Sections[i].Rows = append(g.Sections[i].Rows, row)
	}
	for i, d := range g.Days {
		g.Days[i].Working = len(working[d.Date])
	}
	return g
}

// cell collects what a teacher does on a day.
func (m Month) cell(t roster.Teacher, d roster.Date) gridCell {
	var cell gridCell
	for _, s := range m.Shifts {
		if s.TeacherID == t.ID && s.Date == d {
			cell = append(cell, m.entry(t, s))
		}
	}
	for _, c := range m.Changes {
		if c.Kind == roster.ChangeRemoved && c.Teacher.ID == t.ID && c.Date == d {
			place, _ := m.classroom(c.Before.Classroom.ID)
			cell = append(cell, gridEntry{Teacher: t, Classroom: place, Change: &c, Gone: true})
		}
	}
	slices.SortStableFunc(cell, func(a, b gridEntry) int { return cmp.Compare(a.Times().Start, b.Times().Start) })
	return cell
}

// entry describes a shift of a teacher.
func (m Month) entry(t roster.Teacher, s roster.Shift) gridEntry {
	e := gridEntry{Shift: s, Teacher: t, Away: s.ClassroomID != t.ClassroomID, Foreign: !m.own(s.ClassroomID)}
	e.Classroom, _ = m.classroom(s.ClassroomID)
	if i := slices.IndexFunc(m.Patterns, func(p roster.Pattern) bool { return p.Times == s.Times }); i >= 0 {
		e.Letter = m.Patterns[i].Letter
	}
	if s.State == roster.ShiftConfirmed {
		i := slices.IndexFunc(m.Changes, func(c roster.Change) bool {
			return c.Teacher.ID == s.TeacherID && c.Date == s.Date && c.After != nil && c.After.Classroom.ID == s.ClassroomID && c.After.Times == s.Times
		})
		if i >= 0 {
			e.Change = &m.Changes[i]
		}
	}
	return e
}

func (m Month) classroom(id int64) (roster.Classroom, bool) {
	for _, list := range [][]roster.Classroom{m.Classrooms, m.Elsewhere} {
		for _, c := range list {
			if c.ID == id {
				return c, true
			}
		}
	}
	return roster.Classroom{}, false
}

// Times are those of the shift; of one that was taken away those it had.
func (e gridEntry) Times() roster.TimeRange {
	if e.Gone {
		return e.Change.Before.Times
	}
	return e.Shift.Times
}

// class has the classes of an entry in the grid.
func (e gridEntry) class() string {
	class := "shift"
	switch {
	case e.Gone:
		class += " shift-removed"
	case e.Foreign:
		class += " shift-foreign"
	case e.Shift.State == roster.ShiftDraft:
		class += " shift-draft"
	case e.Change != nil:
		class += " shift-changed"
	}
	if !e.Gone && (e.Letter == "" || e.Away) {
		class += " shift-small"
	}
	return class
}

// lines are what an entry shows in the grid, one under the other: where if it is not at home, and the pattern's letter
// or the times.
func (e gridEntry) lines(ctx context.Context) []string {
	if e.Gone {
		return []string{text.T(ctx, "months.removed_short")}
	}
	var lines []string
	if e.Away {
		lines = append(lines, cmp.Or(e.Classroom.ShortName, e.Classroom.Name))
	}
	switch {
	case e.Letter != "":
		lines = append(lines, e.Letter)
	case e.Away:
		lines = append(lines, gridTime(ctx, e.Shift.Times.Start)+"–")
	default:
		lines = append(lines, gridTime(ctx, e.Shift.Times.Start), "–"+gridTime(ctx, e.Shift.Times.End))
	}
	return lines
}

// words says all of an entry in one line, for those who do not see the grid.
func (e gridEntry) words(ctx context.Context) string {
	parts := []string{e.Teacher.Name, text.LongDate(ctx, e.date())}
	if e.Letter != "" {
		parts = append(parts, e.Letter)
	}
	return strings.Join(append(parts, text.Range(ctx, e.Times()), e.Classroom.Name, e.state(ctx)), " ")
}

func (e gridEntry) date() roster.Date {
	if e.Gone {
		return e.Change.Date
	}
	return e.Shift.Date
}

// state names what an entry is: 確定, 下書き, and what changed since the newest publication.
func (e gridEntry) state(ctx context.Context) string {
	switch {
	case e.Change != nil:
		return text.T(ctx, "months.change."+string(e.Change.Kind))
	case e.Foreign:
		return text.T(ctx, "months.foreign")
	}
	return text.T(ctx, "months.state."+string(e.Shift.State))
}

// gridTime writes a time for a narrow cell: 16, 16半, 16:15 and for the following night 翌1.
func gridTime(ctx context.Context, m roster.Minutes) string {
	hour, minute := m.OfDay()
	t := strconv.Itoa(hour)
	switch minute {
	case 0:
	case 30:
		t = text.T(ctx, "months.half", "Hour", hour)
	default:
		t = m.String()
		if m.NextDay() {
			t = (m - 24*60).String()
		}
	}
	if m.NextDay() {
		return text.T(ctx, "months.next_day", "Time", t)
	}
	return t
}

// hours writes a span of time in hours: 62.5.
func hours(m roster.Minutes) string {
	return strconv.FormatFloat(float64(int(float64(m)/6+.5))/10, 'f', -1, 64)
}

// dayClass has the classes of a column's cells.
func (d gridDay) dayClass(today roster.Date) string {
	class := map[roster.DayKind]string{roster.Saturday: "day-saturday", roster.Sunday: "day-sunday", roster.HolidayDay: "day-holiday"}[d.Kind]
	if d.Date.Weekday() == time.Monday && d.Date.Day > 1 {
		class += " day-monday"
	}
	if d.Date == today {
		class += " day-today"
	}
	return strings.TrimSpace(class)
}

// weekday is the mark of the day: 月, and on holidays 月祝.
func (d gridDay) weekday(ctx context.Context) string {
	if d.Kind == roster.HolidayDay {
		return text.T(ctx, "months.weekday_holiday", "Weekday", text.Weekday(ctx, d.Date))
	}
	return text.Weekday(ctx, d.Date)
}

// HolidayName is a holiday's name in the language of ctx.
func HolidayName(ctx context.Context, h roster.Holiday) string {
	if text.LanguageOf(ctx) == text.Japanese {
		return h.Japanese
	}
	return h.English
}

// holidays lists the month's holidays: 1/11(月) 成人の日.
func (g grid) holidays(ctx context.Context) []string {
	var list []string
	for _, d := range g.Days {
		if d.Kind == roster.HolidayDay {
			list = append(list, text.ShortDate(ctx, d.Date)+" "+HolidayName(ctx, d.Holiday))
		}
	}
	return list
}

// cellID names a teacher's day, so that a script finds the cell again after the grid was drawn anew.
func cellID(teacherID int64, d roster.Date) string { return itoa(teacherID) + "-" + d.String() }

// week lists the days of the week, from Monday, that the phone's day lies in; those of other months lead there.
func (m Month) week() []roster.Date {
	monday := m.Day.AddDays(-(int(m.Day.Weekday()) + 6) % 7)
	days := make([]roster.Date, 7)
	for i := range days {
		days[i] = monday.AddDays(i)
	}
	return days
}

// dayEntries lists what happens on the phone's day in the group's classrooms, by start and then in the order of rows.
func (m Month) dayEntries() []gridEntry {
	var list []gridEntry
	for _, t := range m.Teachers {
		for _, e := range m.cell(t, m.Day) {
			if !e.Foreign {
				list = append(list, e)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b gridEntry) int { return cmp.Compare(a.Times().Start, b.Times().Start) })
	return list
}

// changedOn reports whether something changed on a day since the newest publication.
func (m Month) changedOn(d roster.Date) bool {
	return slices.ContainsFunc(m.Changes, func(c roster.Change) bool { return c.Date == d })
}

// dayFacts counts a day: 6名・★2件.
func (m Month) dayFacts(ctx context.Context) string {
	people, changes := map[int64]bool{}, 0
	for _, e := range m.dayEntries() {
		if !e.Gone {
			people[e.Teacher.ID] = true
		}
		if e.Change != nil {
			changes++
		}
	}
	words := text.N(ctx, "months.people", len(people))
	if changes > 0 {
		words = text.N(ctx, "months.people_changes", changes, "People", words)
	}
	return words
}
