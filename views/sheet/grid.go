package sheet

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"shiftpost/db/roster"
	"shiftpost/views/text"
)

// Grid is the table of one page: the days of a month down, teachers of one classroom across.
type Grid struct {
	Month roster.Month
	// Classroom whose table this is. Of a month in which no classroom has a shift or a change it has the group's name
	// and no ID.
	Classroom   roster.Named
	Part, Parts int // which part of the classroom's table this page is, from 1, and of how many
	Page, Pages int // which page of the sheet this is, from 1, and of how many
	Teachers    []roster.Named
	Days        []Day // the days of the month, all of them unless a picture of them would be too high
	// Changes that this page shows: those of its teachers and days that begin or end in its classroom.
	Changes []roster.Change
}

// Day is one row of a grid.
type Day struct {
	Date    roster.Date
	Kind    roster.DayKind
	Holiday roster.Holiday // zero on other days
	Cells   []Cell         // one for each teacher of the grid, in their order
}

// Empty reports whether nobody works on that day and nothing changed on it.
func (d Day) Empty() bool {
	return !slices.ContainsFunc(d.Cells, func(c Cell) bool { return len(c) > 0 })
}

// Cell has what one teacher does on one day, by start; it is empty when the teacher is free.
type Cell []Entry

// Entry is a shift, or the place of a shift that was there in the earlier publication and no longer is.
type Entry struct {
	Times  roster.TimeRange // of a shift that is gone those it had
	Change *roster.Change   // what happened to it since the earlier publication; nil for nothing
	Gone   bool             // it is no shift of this classroom any more
}

// Mark is the word for what changed, such as ★変更, or empty if nothing did.
func (e Entry) Mark(ctx context.Context) string {
	if e.Change == nil {
		return ""
	}
	return text.T(ctx, "sheet.mark", "Change", Word(ctx, *e.Change))
}

// Instead says what a shift that is gone has become: nothing, or work in another classroom.
func (e Entry) Instead(ctx context.Context) string {
	if e.Change.Kind == roster.ChangeMoved {
		return text.T(ctx, "sheet.elsewhere")
	}
	return text.T(ctx, "sheet.none")
}

// Word is the word for a kind of change: 変更, 追加, 取消.
func Word(ctx context.Context, c roster.Change) string {
	return text.T(ctx, "sheet.change."+string(c.Kind))
}

// Title names the page among those of its sheet: the classroom, and which part of it if its teachers need several
// pages.
func (g Grid) Title(ctx context.Context) string {
	if g.Parts == 1 {
		return g.Classroom.Name
	}
	return text.T(ctx, "sheet.part", "Classroom", g.Classroom.Name, "Part", g.Part, "Parts", g.Parts)
}

// Grids arranges a sheet into pages: the classrooms in the order of the snapshot, each with the teachers who have a
// shift or a change there, in the order of the snapshot. A classroom with more than maxTeachers of them is split
// evenly; 0 means no limit. Classrooms and teachers that only a change names, because nothing is left of them in the
// snapshot, come last, by ID. Classrooms without shifts and changes are left out, but there is at least one grid.
//
// The error tells of a sheet that contradicts itself: a shift or change outside its month, of a teacher or in a
// classroom without a name, or a change to a shift that is not there.
func Grids(s roster.Sheet, maxTeachers int) ([]Grid, error) {
	if err := check(s); err != nil {
		return nil, err
	}
	var grids []Grid
	for _, classroom := range classroomsOf(s) {
		for _, teachers := range split(teachersIn(s, classroom.ID), maxTeachers) {
			grids = append(grids, Grid{Month: s.Snapshot.Month, Classroom: classroom, Teachers: teachers})
		}
	}
	if len(grids) == 0 {
		grids = []Grid{{Month: s.Snapshot.Month, Classroom: roster.Named{Name: s.Snapshot.Group.Name}}}
	}
	for i := range grids {
		grids[i].fill(s)
	}
	number(grids)
	return grids, nil
}

// number sets which page and which part each grid is.
func number(grids []Grid) {
	parts := map[int64]int{}
	for i := range grids {
		g := &grids[i]
		g.Page, g.Pages = i+1, len(grids)
		parts[g.Classroom.ID]++
		g.Part = parts[g.Classroom.ID]
	}
	for i := range grids {
		grids[i].Parts = parts[grids[i].Classroom.ID]
	}
}

// fill sets the days with their cells, and the changes, of a grid whose classroom and teachers are known.
func (g *Grid) fill(s roster.Sheet) {
	column := map[int64]int{}
	for i, t := range g.Teachers {
		column[t.ID] = i
	}
	for _, date := range g.Month.Days() {
		holiday, _ := roster.HolidayOn(date)
		g.Days = append(g.Days, Day{date, roster.KindOf(date), holiday, make([]Cell, len(g.Teachers))})
	}
	cell := func(date roster.Date, teacher int64) *Cell { return &g.Days[date.Day-1].Cells[column[teacher]] }
	for _, x := range s.Snapshot.Shifts {
		if _, ok := column[x.TeacherID]; ok && x.ClassroomID == g.Classroom.ID {
			c := cell(x.Date, x.TeacherID)
			*c = append(*c, Entry{Times: x.Times})
		}
	}
	for _, change := range s.Changes {
		if _, ok := column[change.Teacher.ID]; !ok || !touches(change, g.Classroom.ID) {
			continue
		}
		g.Changes = append(g.Changes, change)
		c := cell(change.Date, change.Teacher.ID)
		if at(change.After, g.Classroom.ID) {
			i := slices.IndexFunc(*c, func(e Entry) bool { return e.Change == nil && e.Times == change.After.Times })
			(*c)[i].Change = &change // check has made sure that there is one
		} else {
			*c = append(*c, Entry{Times: change.Before.Times, Change: &change, Gone: true})
		}
	}
	for _, d := range g.Days {
		for _, c := range d.Cells {
			slices.SortStableFunc(c, func(a, b Entry) int {
				return cmp.Or(cmp.Compare(a.Times.Start, b.Times.Start), cmp.Compare(a.Times.End, b.Times.End))
			})
		}
	}
}

// at reports whether a place is in that classroom; no place is in none.
func at(p *roster.Place, classroomID int64) bool { return p != nil && p.Classroom.ID == classroomID }

// touches reports whether a change takes work away from a classroom, brings some there or alters it.
func touches(c roster.Change, classroomID int64) bool {
	return at(c.Before, classroomID) || at(c.After, classroomID)
}

// classroomsOf lists the classrooms with a shift or a change.
func classroomsOf(s roster.Sheet) []roster.Named {
	used := map[int64]bool{}
	for _, x := range s.Snapshot.Shifts {
		used[x.ClassroomID] = true
	}
	var changed []roster.Named
	for _, c := range s.Changes {
		for _, p := range []*roster.Place{c.Before, c.After} {
			if p != nil {
				used[p.Classroom.ID] = true
				changed = append(changed, p.Classroom)
			}
		}
	}
	return order(s.Snapshot.Classrooms, changed, used)
}

// teachersIn lists the teachers with a shift or a change in a classroom.
func teachersIn(s roster.Sheet, classroomID int64) []roster.Named {
	used := map[int64]bool{}
	for _, x := range s.Snapshot.Shifts {
		if x.ClassroomID == classroomID {
			used[x.TeacherID] = true
		}
	}
	var changed []roster.Named
	for _, c := range s.Changes {
		if touches(c, classroomID) {
			used[c.Teacher.ID] = true
			changed = append(changed, c.Teacher)
		}
	}
	return order(s.Snapshot.Teachers, changed, used)
}

// order returns the used ones of known, as they stand, and after them the others by ID.
func order(known, others []roster.Named, used map[int64]bool) []roster.Named {
	var list []roster.Named
	add := func(from []roster.Named) {
		for _, n := range from {
			if used[n.ID] {
				used[n.ID] = false
				list = append(list, n)
			}
		}
	}
	add(known)
	slices.SortStableFunc(others, func(a, b roster.Named) int { return cmp.Compare(a.ID, b.ID) })
	add(others)
	return list
}

// split cuts a list into as few parts as possible of at most size each, 0 for no limit. Their lengths differ by one at
// most; the longer ones come first.
func split[T any](list []T, size int) [][]T {
	if size == 0 {
		return [][]T{list}
	}
	return divide(list, (len(list)+size-1)/size)
}

// divide cuts a list into that many parts whose lengths differ by one at most; the longer ones come first.
func divide[T any](list []T, parts int) [][]T {
	var all [][]T
	for ; parts > 0; parts-- {
		n := (len(list) + parts - 1) / parts
		all = append(all, list[:n:n])
		list = list[n:]
	}
	return all
}

// check makes sure of what the drawing relies on; the error names what contradicts what.
func check(s roster.Sheet) error {
	for _, x := range s.Snapshot.Shifts {
		switch {
		case !s.Snapshot.Month.Contains(x.Date):
			return fmt.Errorf("sheet of %s: shift %d is on %s", s.Snapshot.Month, x.ShiftID, x.Date)
		case s.Snapshot.TeacherName(x.TeacherID) == "":
			return fmt.Errorf("sheet of %s: teacher %d of shift %d has no name", s.Snapshot.Month, x.TeacherID, x.ShiftID)
		case s.Snapshot.ClassroomName(x.ClassroomID) == "":
			return fmt.Errorf("sheet of %s: classroom %d of shift %d has no name", s.Snapshot.Month, x.ClassroomID, x.ShiftID)
		}
	}
	unclaimed := slices.Clone(s.Snapshot.Shifts)
	for _, c := range s.Changes {
		switch {
		case !s.Snapshot.Month.Contains(c.Date):
			return fmt.Errorf("sheet of %s: a change is on %s", s.Snapshot.Month, c.Date)
		case c.Teacher.Name == "":
			return fmt.Errorf("sheet of %s: teacher %d of a change has no name", s.Snapshot.Month, c.Teacher.ID)
		case c.Before == nil && c.After == nil:
			return fmt.Errorf("sheet of %s: a change on %s has neither before nor after", s.Snapshot.Month, c.Date)
		}
		for _, p := range []*roster.Place{c.Before, c.After} {
			if p != nil && p.Classroom.Name == "" {
				return fmt.Errorf("sheet of %s: classroom %d of a change has no name", s.Snapshot.Month, p.Classroom.ID)
			}
		}
		if c.After == nil {
			continue
		}
		i := slices.IndexFunc(unclaimed, func(x roster.SnapshotShift) bool {
			return x.TeacherID == c.Teacher.ID && x.Work == roster.Work{ClassroomID: c.After.Classroom.ID, Date: c.Date, Times: c.After.Times}
		})
		if i < 0 {
			return fmt.Errorf("sheet of %s: there is no shift that a change on %s could have led to", s.Snapshot.Month, c.Date)
		}
		unclaimed = slices.Delete(unclaimed, i, i+1)
	}
	return nil
}
