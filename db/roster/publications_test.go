package roster_test

import (
	"fmt"
	"strings"
	"testing"

	"shiftpost/db/roster"
)

func TestCompareTellsWhatHappenedToEachShift(t *testing.T) {
	t.Parallel()
	// Each shift is "teacher classroom day from-to".
	for name, c := range map[string]struct{ before, after, want string }{
		"nothing":                        {"1 A 5 9-12", "1 A 5 9-12", ""},
		"added":                          {"", "1 A 5 9-12", "1 on 5 added A 9:00–12:00"},
		"removed":                        {"1 A 5 9-12", "", "1 on 5 removed A 9:00–12:00"},
		"another time":                   {"1 A 5 9-12", "1 A 5 10-12", "1 on 5 changed A 9:00–12:00 → A 10:00–12:00"},
		"another classroom":              {"1 A 5 9-12", "1 B 5 9-12", "1 on 5 changed A 9:00–12:00 → B 9:00–12:00, other place"},
		"another teacher":                {"1 A 5 9-12", "2 A 5 9-12", "1 on 5 removed A 9:00–12:00; 2 on 5 added A 9:00–12:00"},
		"another date":                   {"1 A 5 9-12", "1 A 6 9-12", "1 on 5 removed A 9:00–12:00; 1 on 6 added A 9:00–12:00"},
		"the other of two stays":         {"1 A 5 9-12, 1 A 5 13-17", "1 A 5 9-12", "1 on 5 removed A 13:00–17:00"},
		"one longer, one removed":        {"1 A 5 9-12, 1 A 5 13-17", "1 A 5 13-18", "1 on 5 removed A 9:00–12:00; 1 on 5 changed A 13:00–17:00 → A 13:00–18:00"},
		"one longer, an earlier added":   {"1 A 5 22-25", "1 A 5 7-8, 1 A 5 22-26", "1 on 5 added A 7:00–8:00; 1 on 5 changed A 22:00–25:00 → A 22:00–26:00"},
		"the same classroom comes first": {"1 A 5 10-12, 1 B 5 13-15", "1 B 5 13-16", "1 on 5 removed A 10:00–12:00; 1 on 5 changed B 13:00–15:00 → B 13:00–16:00"},
		"the same time comes next":       {"1 A 5 9-12, 1 A 5 13-17", "1 B 5 13-17", "1 on 5 removed A 9:00–12:00; 1 on 5 changed A 13:00–17:00 → B 13:00–17:00, other place"},
		"both changed":                   {"1 A 5 9-12, 1 B 5 13-17", "1 A 5 10-12, 1 B 5 14-17", "1 on 5 changed A 9:00–12:00 → A 10:00–12:00; 1 on 5 changed B 13:00–17:00 → B 14:00–17:00"},
	} {
		var got []string
		for _, x := range roster.Compare(parseSnapshot(t, c.before), parseSnapshot(t, c.after)) {
			line := fmt.Sprintf("%d on %d %s ", x.Teacher.ID, x.Date.Day, x.Kind)
			var sides []string
			for _, p := range []*roster.Place{x.Before, x.After} {
				if p != nil {
					sides = append(sides, p.Classroom.Name+" "+p.Times.String())
				}
			}
			line += strings.Join(sides, " → ")
			if x.Kind == roster.ChangeMoved && !x.SamePlace {
				line += ", other place"
			}
			got = append(got, line)
		}
		if got := strings.Join(got, "; "); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
	}
}

func parseSnapshot(t *testing.T, shifts string) roster.Snapshot {
	t.Helper()
	s := roster.Snapshot{
		Month:      roster.Month{Year: 2027, Month: 1},
		Classrooms: []roster.Named{{ID: 1, Name: "A"}, {ID: 2, Name: "B"}},
		Teachers:   []roster.Named{{ID: 1, Name: "佐藤"}, {ID: 2, Name: "鈴木"}},
	}
	for one := range strings.SplitSeq(shifts, ", ") {
		if one == "" {
			continue
		}
		var (
			x               roster.SnapshotShift
			classroom, span string
		)
		x.Date = s.Month.First()
		if _, err := fmt.Sscan(one, &x.TeacherID, &classroom, &x.Date.Day, &span); err != nil {
			t.Fatalf("%q: %v", one, err)
		}
		var err error
		if x.Times, err = roster.ParseTimeRange(span); err != nil {
			t.Fatalf("%q: %v", one, err)
		}
		x.ClassroomID = int64(strings.Index(" AB", classroom))
		s.Shifts = append(s.Shifts, x)
	}
	s.Sort()
	return s
}
