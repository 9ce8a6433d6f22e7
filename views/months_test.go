package views

import (
	"context"
	"slices"
	"testing"

	"shiftpost/db/roster"
	"shiftpost/views/text"
)

func TestGridWritesTimesShort(t *testing.T) {
	t.Parallel()
	ja := context.Background()
	en := text.WithLanguage(ja, text.English)
	for _, c := range []struct {
		minutes roster.Minutes
		ja, en  string
	}{
		{16 * 60, "16", "16"},
		{16*60 + 30, "16半", "16½"},
		{16*60 + 15, "16:15", "16:15"},
		{24 * 60, "翌0", "0+"},
		{25*60 + 30, "翌1半", "1½+"},
		{25*60 + 5, "翌1:05", "1:05+"},
	} {
		if got := gridTime(ja, c.minutes); got != c.ja {
			t.Errorf("%v is %q, want %q", c.minutes, got, c.ja)
		}
		if got := gridTime(en, c.minutes); got != c.en {
			t.Errorf("%v is %q in English, want %q", c.minutes, got, c.en)
		}
	}
}

func TestHoursHaveOneDecimalAtMost(t *testing.T) {
	t.Parallel()
	for minutes, want := range map[roster.Minutes]string{0: "0", 60: "1", 90: "1.5", 100: "1.7", 3750: "62.5"} {
		if got := hours(minutes); got != want {
			t.Errorf("%d minutes are %s hours, want %s", minutes, got, want)
		}
	}
}

// january is a month of two classrooms with a teacher each, and a third who helps out from another group.
func january() Month {
	return Month{
		Group:      roster.Group{ID: 1},
		Month:      roster.Month{Year: 2027, Month: 1},
		Day:        roster.Date{Year: 2027, Month: 1, Day: 14},
		Classrooms: []roster.Classroom{{ID: 1, Name: "駅前教室", ShortName: "駅前"}, {ID: 2, Name: "本町教室", ShortName: "本町"}},
		Elsewhere:  []roster.Classroom{{ID: 9, Name: "港教室", ShortName: "港"}},
		Teachers:   []roster.Teacher{{ID: 1, ClassroomID: 1, Name: "佐藤 花子"}, {ID: 2, ClassroomID: 2, Name: "髙橋 健太"}, {ID: 3, ClassroomID: 9, Name: "森 渚"}},
		Patterns:   []roster.Pattern{{ID: 1, Letter: "夕", Times: roster.TimeRange{Start: 1020, End: 1290}}},
	}
}

func work(teacher, classroom int64, day int, start, end roster.Minutes, state roster.ShiftState) roster.Shift {
	return roster.Shift{TeacherID: teacher, ClassroomID: classroom, Date: roster.Date{Year: 2027, Month: 1, Day: day}, Times: roster.TimeRange{Start: start, End: end}, State: state}
}

func TestCellShowsWhereAndWhenInFewLetters(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, c := range map[string]struct {
		shift roster.Shift
		class string
		lines []string
	}{
		"a pattern":                           {work(1, 1, 14, 1020, 1290, roster.ShiftConfirmed), "shift", []string{"夕"}},
		"other times":                         {work(1, 1, 14, 990, 1200, roster.ShiftConfirmed), "shift shift-small", []string{"16半", "–20"}},
		"a draft":                             {work(1, 1, 14, 1020, 1290, roster.ShiftDraft), "shift shift-draft", []string{"夕"}},
		"another classroom":                   {work(1, 2, 14, 1140, 1290, roster.ShiftConfirmed), "shift shift-small", []string{"本町", "19–"}},
		"a pattern in another classroom":      {work(1, 2, 14, 1020, 1290, roster.ShiftConfirmed), "shift shift-small", []string{"本町", "夕"}},
		"a classroom of another group":        {work(1, 9, 14, 1020, 1290, roster.ShiftConfirmed), "shift shift-foreign shift-small", []string{"港", "夕"}},
		"a helper at one of ours":             {work(3, 1, 14, 1020, 1290, roster.ShiftConfirmed), "shift shift-small", []string{"駅前", "夕"}},
		"a draft at a classroom not the home": {work(1, 2, 14, 1140, 1290, roster.ShiftDraft), "shift shift-draft shift-small", []string{"本町", "19–"}},
	} {
		m := january()
		m.Shifts = []roster.Shift{c.shift}
		teacher := m.Teachers[c.shift.TeacherID-1]
		e := m.cell(teacher, c.shift.Date)[0]
		if e.class() != c.class || !slices.Equal(e.lines(ctx), c.lines) {
			t.Errorf("%s: %q %q, want %q %q", name, e.class(), e.lines(ctx), c.class, c.lines)
		}
	}
}

func TestChangeMarksTheShiftItMadeAndTheOneItTook(t *testing.T) {
	t.Parallel()
	m := january()
	sato := roster.Named{ID: 1, Name: "佐藤 花子"}
	day := roster.Date{Year: 2027, Month: 1, Day: 14}
	place := func(start, end roster.Minutes) *roster.Place {
		return &roster.Place{Classroom: roster.Named{ID: 1, Name: "駅前教室"}, Times: roster.TimeRange{Start: start, End: end}}
	}
	m.Shifts = []roster.Shift{work(1, 1, 14, 600, 900, roster.ShiftConfirmed), work(1, 1, 14, 1080, 1290, roster.ShiftConfirmed), work(1, 1, 15, 600, 900, roster.ShiftConfirmed)}
	m.Changes = []roster.Change{
		{Kind: roster.ChangeMoved, Teacher: sato, Date: day, Before: place(1020, 1290), After: place(1080, 1290), SamePlace: true},
		{Kind: roster.ChangeRemoved, Teacher: sato, Date: day, Before: place(900, 960)},
	}
	var classes []string
	for _, e := range m.cell(m.Teachers[0], day) {
		classes = append(classes, e.class())
	}
	if want := []string{"shift shift-small", "shift shift-removed", "shift shift-changed shift-small"}; !slices.Equal(classes, want) {
		t.Errorf("the cell has %q, want %q", classes, want)
	}
	if got := m.cell(m.Teachers[0], day.AddDays(1))[0].class(); got != "shift shift-small" {
		t.Errorf("the next day is marked: %s", got)
	}
	if !m.changedOn(day) || m.changedOn(day.AddDays(1)) {
		t.Error("the wrong day has a star")
	}
	if got := m.dayFacts(context.Background()); got != "1名・★2件" {
		t.Errorf("the day is counted as %s", got)
	}
}

func TestGridPutsHelpersLastAndCountsPeopleOnce(t *testing.T) {
	t.Parallel()
	m := january()
	m.Shifts = []roster.Shift{
		work(1, 1, 14, 600, 720, roster.ShiftConfirmed), work(1, 2, 14, 780, 900, roster.ShiftDraft), work(3, 1, 14, 600, 720, roster.ShiftConfirmed), work(2, 9, 14, 600, 720, roster.ShiftConfirmed),
	}
	g := m.arrange()
	var sections []string
	for _, s := range g.Sections {
		sections = append(sections, s.Classroom.Name)
	}
	if want := []string{"駅前教室", "本町教室", ""}; !slices.Equal(sections, want) {
		t.Errorf("sections %q, want %q", sections, want)
	}
	if got := g.Days[13].Working; got != 2 {
		t.Errorf("%d people work in the group on the 14th, want 2", got)
	}
	if row := g.Sections[0].Rows[0]; row.Worked != 240 || row.Days != 1 {
		t.Errorf("%v minutes on %d days, want 240 on 1", row.Worked, row.Days)
	}
}

func TestWeekBeginsOnMonday(t *testing.T) {
	t.Parallel()
	for day, want := range map[int]string{11: "2027-01-11", 14: "2027-01-11", 17: "2027-01-11", 18: "2027-01-18", 1: "2026-12-28", 31: "2027-01-25"} {
		m := january()
		m.Day.Day = day
		if got := m.week(); got[0].String() != want || len(got) != 7 {
			t.Errorf("the week of the %dth begins on %s, want %s", day, got[0], want)
		}
	}
}
