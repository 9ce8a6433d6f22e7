package sheet_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"shiftpost/db/roster"
	"shiftpost/views/sheet"
)

func grids(t *testing.T, s roster.Sheet, maxTeachers int) []sheet.Grid {
	t.Helper()
	all, err := sheet.Grids(s, maxTeachers)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func namesOf(g sheet.Grid) string {
	var names []string
	for _, n := range g.Teachers {
		names = append(names, n.Name)
	}
	return strings.Join(names, ",")
}

// describe writes a cell as a test expects it: times, change and whether the shift is gone.
func describe(c sheet.Cell) string {
	var parts []string
	for _, e := range c {
		part := e.Times.String()
		if e.Change != nil {
			part += " " + string(e.Change.Kind)
		}
		if e.Gone {
			part += " gone"
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}

func TestAClassroomWithMoreThanSevenTeachersIsSplitEvenly(t *testing.T) {
	t.Parallel()
	for teachers, want := range map[int][]int{1: {1}, 7: {7}, 8: {4, 4}, 9: {5, 4}, 14: {7, 7}, 15: {5, 5, 5}, 16: {6, 5, 5}} {
		var shifts []roster.SnapshotShift
		for i := range teachers {
			shifts = append(shifts, shift(int64(i+1), ekimae, i+1, "9-17"))
		}
		all := grids(t, roster.Sheet{Snapshot: snapshot(january, people(teachers), shifts...)}, sheet.MaxTeachers)
		var got []int
		var names []string
		for i, g := range all {
			got = append(got, len(g.Teachers))
			names = append(names, namesOf(g))
			if g.Part != i+1 || g.Page != i+1 || g.Parts != len(all) || g.Pages != len(all) {
				t.Errorf("%d teachers: page %d is part %d/%d and page %d/%d", teachers, i+1, g.Part, g.Parts, g.Page, g.Pages)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d teachers are split into %v, want %v", teachers, got, want)
		}
		if got, want := strings.Join(names, ","), strings.Join(people(teachers), ","); got != want {
			t.Errorf("columns in the order %s, want %s", got, want)
		}
		if whole := grids(t, roster.Sheet{Snapshot: snapshot(january, people(teachers), shifts...)}, 0); len(whole) != 1 || len(whole[0].Teachers) != teachers {
			t.Errorf("%d teachers are split although there is no limit", teachers)
		}
	}
}

func TestAPageHasOnlyTeachersWithAShiftOrAChangeInItsClassroom(t *testing.T) {
	t.Parallel()
	names := people(5)
	before := snapshot(january, names, shift(1, ekimae, 4, "9-17"), shift(4, ekimae, 5, "9-17"), shift(5, honmachi, 5, "9-17"))
	after := snapshot(january, names, shift(1, ekimae, 4, "9-17"), shift(2, honmachi, 5, "9-17"), shift(5, ekimae, 5, "9-17"))
	all := grids(t, update(before, after), sheet.MaxTeachers)
	if len(all) != 2 {
		t.Fatalf("%d pages, want 2", len(all))
	}
	if got, want := namesOf(all[0]), "講師 01,講師 04,講師 05"; got != want {
		t.Errorf("駅前教室 has %s, want %s", got, want)
	}
	if got, want := namesOf(all[1]), "講師 02,講師 05"; got != want {
		t.Errorf("本町教室 has %s, want %s", got, want)
	}
}

func TestTeachersAndClassroomsThatOnlyAChangeNamesComeLast(t *testing.T) {
	t.Parallel()
	before := snapshot(january, []string{"去った 人", "残る 人"}, shift(1, ekimae, 5, "9-17"), shift(2, honmachi, 6, "9-17"))
	after := snapshot(january, nil, shift(2, honmachi, 6, "9-17"))
	after.Teachers = []roster.Named{{ID: 2, Name: "残る 人"}}
	after.Classrooms = []roster.Named{{ID: honmachi, Name: "本町教室"}}
	all := grids(t, update(before, after), sheet.MaxTeachers)
	if len(all) != 2 || all[0].Classroom.Name != "本町教室" || all[1].Classroom.Name != "駅前教室" || namesOf(all[1]) != "去った 人" {
		t.Errorf("got %+v", all)
	}
}

func TestAMonthWithoutShiftsHasAPageForEachClassroomWithAChange(t *testing.T) {
	t.Parallel()
	before := snapshot(january, people(2), shift(1, ekimae, 4, "9-17"), shift(2, honmachi, 5, "9-17"))
	for _, c := range []struct {
		sheet roster.Sheet
		want  string
	}{
		{update(before, roster.Snapshot{Group: roster.Named{ID: 1, Name: "みほん塾"}, Month: january}), "駅前教室 本町教室"},
		{roster.Sheet{Snapshot: roster.Snapshot{Group: roster.Named{ID: 1, Name: "みほん塾"}, Month: january}}, "みほん塾"},
	} {
		var titles []string
		for _, g := range grids(t, c.sheet, sheet.MaxTeachers) {
			titles = append(titles, g.Title(t.Context()))
			if len(g.Days) != 31 {
				t.Errorf("%s has %d days, want 31", g.Classroom.Name, len(g.Days))
			}
		}
		if got := strings.Join(titles, " "); got != c.want {
			t.Errorf("pages %q, want %q", got, c.want)
		}
	}
}

func TestEveryKindOfChangeIsMarkedWhereItHappened(t *testing.T) {
	t.Parallel()
	names := people(1)
	for name, c := range map[string]struct {
		before, after    []roster.SnapshotShift
		ekimae, honmachi string
	}{
		"nothing":                   {[]roster.SnapshotShift{shift(1, ekimae, 5, "9-17")}, []roster.SnapshotShift{shift(1, ekimae, 5, "9-17")}, "9:00–17:00", ""},
		"added":                     {nil, []roster.SnapshotShift{shift(1, ekimae, 5, "22-25")}, "22:00–25:00 added", ""},
		"removed":                   {[]roster.SnapshotShift{shift(1, ekimae, 5, "9-17")}, nil, "9:00–17:00 removed gone", ""},
		"time changed":              {[]roster.SnapshotShift{shift(1, ekimae, 5, "9-17")}, []roster.SnapshotShift{shift(1, ekimae, 5, "10-17")}, "10:00–17:00 changed", ""},
		"classroom changed":         {[]roster.SnapshotShift{shift(1, ekimae, 5, "9-17")}, []roster.SnapshotShift{shift(1, honmachi, 5, "9-17")}, "9:00–17:00 changed gone", "9:00–17:00 changed"},
		"second added":              {[]roster.SnapshotShift{shift(1, ekimae, 5, "9-12")}, []roster.SnapshotShift{shift(1, ekimae, 5, "9-12"), shift(1, ekimae, 5, "7-8")}, "7:00–8:00 added, 9:00–12:00", ""},
		"one of two removed":        {[]roster.SnapshotShift{shift(1, ekimae, 5, "9-12"), shift(1, ekimae, 5, "13-17")}, []roster.SnapshotShift{shift(1, ekimae, 5, "9-12")}, "9:00–12:00, 13:00–17:00 removed gone", ""},
		"removed beside a new time": {[]roster.SnapshotShift{shift(1, ekimae, 5, "9-12"), shift(1, ekimae, 5, "13-17")}, []roster.SnapshotShift{shift(1, ekimae, 5, "8-12")}, "8:00–12:00 changed, 13:00–17:00 removed gone", ""},
	} {
		found := map[string]string{}
		for _, g := range grids(t, update(snapshot(january, names, c.before...), snapshot(january, names, c.after...)), sheet.MaxTeachers) {
			found[g.Classroom.Name] = describe(g.Days[4].Cells[0])
		}
		if found["駅前教室"] != c.ekimae || found["本町教室"] != c.honmachi {
			t.Errorf("%s: 駅前教室 %q, 本町教室 %q; want %q, %q", name, found["駅前教室"], found["本町教室"], c.ekimae, c.honmachi)
		}
	}
}

func TestAPageListsTheChangesOfItsOwnTeachersAndClassroom(t *testing.T) {
	t.Parallel()
	names := people(8)
	var before, after []roster.SnapshotShift
	for i := range int64(8) {
		before = append(before, shift(i+1, ekimae, 5, "9-17"))
		after = append(after, shift(i+1, ekimae, 5, "10-17"))
	}
	after = append(after, shift(8, honmachi, 6, "9-17"))
	var got []int
	for _, g := range grids(t, update(snapshot(january, names, before...), snapshot(january, names, after...)), sheet.MaxTeachers) {
		got = append(got, len(g.Changes))
	}
	if want := []int{4, 4, 1}; !slices.Equal(got, want) {
		t.Errorf("changes on the pages: %v, want %v", got, want)
	}
}

func TestDaysCarryTheirKindAndTheHolidaysName(t *testing.T) {
	t.Parallel()
	may := roster.Month{Year: 2027, Month: time.May}
	for _, c := range []struct {
		month roster.Month
		day   int
		kind  roster.DayKind
		name  string
	}{
		{january, 1, roster.HolidayDay, "元日"},
		{january, 2, roster.Saturday, ""},
		{january, 3, roster.Sunday, ""},
		{january, 4, roster.Weekday, ""},
		{january, 11, roster.HolidayDay, "成人の日"},
		{may, 3, roster.HolidayDay, "憲法記念日"},
		{may, 4, roster.HolidayDay, "みどりの日"},
		{may, 5, roster.HolidayDay, "こどもの日"},
	} {
		d := grids(t, roster.Sheet{Snapshot: snapshot(c.month, nil)}, sheet.MaxTeachers)[0].Days[c.day-1]
		if d.Date.Day != c.day || d.Kind != c.kind || d.Holiday.Japanese != c.name {
			t.Errorf("%s: got %+v, want kind %d and %q", d.Date, d, c.kind, c.name)
		}
	}
}

func TestASheetThatContradictsItselfIsRefused(t *testing.T) {
	t.Parallel()
	sound := func() roster.Sheet {
		return update(snapshot(january, people(1), shift(1, ekimae, 5, "9-17")), snapshot(january, people(1), shift(1, ekimae, 5, "10-17")))
	}
	if _, err := sheet.Grids(sound(), sheet.MaxTeachers); err != nil {
		t.Fatal(err)
	}
	for want, spoil := range map[string]func(*roster.Sheet){
		"shift 1 is on 2027-02-05":             func(s *roster.Sheet) { s.Snapshot.Shifts[0].Date.Month = time.February },
		"teacher 1 of shift 1 has no name":     func(s *roster.Sheet) { s.Snapshot.Teachers = nil },
		"classroom 1 of shift 1 has no name":   func(s *roster.Sheet) { s.Snapshot.Classrooms = nil },
		"a change is on 2027-02-05":            func(s *roster.Sheet) { s.Changes[0].Date.Month = time.February },
		"teacher 1 of a change has no name":    func(s *roster.Sheet) { s.Changes[0].Teacher.Name = "" },
		"classroom 1 of a change has no name":  func(s *roster.Sheet) { s.Changes[0].Before.Classroom.Name = "" },
		"has neither before nor after":         func(s *roster.Sheet) { s.Changes[0].Before, s.Changes[0].After = nil, nil },
		"on 2027-01-05 could have led to":      func(s *roster.Sheet) { s.Changes = append(s.Changes, s.Changes[0]) },
		"change on 2027-01-06 could have led ": func(s *roster.Sheet) { s.Changes[0].Date.Day = 6 },
	} {
		s := sound()
		spoil(&s)
		_, err := sheet.Grids(s, sheet.MaxTeachers)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want one with %q", err, want)
		}
	}
}
