package roster_test

import (
	"slices"
	"testing"
	"time"

	"shiftpost/db/roster"
)

var january = roster.Month{Year: 2027, Month: time.January}

// table makes a snapshot of rows {shift id, teacher, classroom, day, start hour, end hour}.
func table(rows ...[6]int) roster.Snapshot {
	s := roster.Snapshot{Group: roster.Named{ID: 1, Name: "グループ"}, Month: january,
		Classrooms: []roster.Named{{ID: 1, Name: "駅前教室"}, {ID: 2, Name: "本町教室"}},
		Teachers:   []roster.Named{{ID: 1, Name: "佐藤 花子"}, {ID: 2, Name: "鈴木 一郎"}}}
	for _, r := range rows {
		s.Shifts = append(s.Shifts, roster.SnapshotShift{ShiftID: int64(r[0]), TeacherID: int64(r[1]), Work: roster.Work{ClassroomID: int64(r[2]),
			Date: january.First().AddDays(r[3] - 1), Times: roster.TimeRange{Start: roster.Minutes(r[4] * 60), End: roster.Minutes(r[5] * 60)}}})
	}
	return s
}

func TestChangesAreWhatATeacherSees(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name          string
		before, after roster.Snapshot
		want          []string
	}{
		{"nothing", table([6]int{1, 1, 1, 8, 17, 21}), table([6]int{1, 1, 1, 8, 17, 21}), nil},
		{"deleted and entered anew", table([6]int{1, 1, 1, 8, 17, 21}), table([6]int{9, 1, 1, 8, 17, 21}), nil},
		{"added", table(), table([6]int{1, 1, 1, 8, 17, 21}), []string{"1/8 佐藤 花子 added"}},
		{"removed", table([6]int{1, 1, 1, 8, 17, 21}), table(), []string{"1/8 佐藤 花子 removed"}},
		{"another time", table([6]int{1, 1, 1, 8, 17, 21}), table([6]int{1, 1, 1, 8, 18, 21}), []string{"1/8 佐藤 花子 changed"}},
		{"another classroom", table([6]int{1, 1, 1, 8, 17, 21}), table([6]int{1, 1, 2, 8, 17, 21}), []string{"1/8 佐藤 花子 changed elsewhere"}},
		{"another day", table([6]int{1, 1, 1, 8, 17, 21}), table([6]int{1, 1, 1, 9, 17, 21}), []string{"1/8 佐藤 花子 removed", "1/9 佐藤 花子 added"}},
		{"another teacher", table([6]int{1, 1, 1, 8, 17, 21}), table([6]int{1, 2, 1, 8, 17, 21}), []string{"1/8 佐藤 花子 removed", "1/8 鈴木 一郎 added"}},
		{"one of two on a day", table([6]int{1, 1, 1, 8, 9, 12}, [6]int{2, 1, 1, 8, 17, 21}), table([6]int{1, 1, 1, 8, 9, 12}, [6]int{2, 1, 1, 8, 18, 21}), []string{"1/8 佐藤 花子 changed"}},
		{"one becomes two", table([6]int{1, 1, 1, 8, 17, 21}), table([6]int{1, 1, 1, 8, 9, 12}, [6]int{2, 1, 1, 8, 18, 21}), []string{"1/8 佐藤 花子 added", "1/8 佐藤 花子 changed"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, x := range roster.Compare(c.before, c.after) {
				s := x.Date.String()[6:7] + "/" + x.Date.String()[9:] + " " + x.Teacher.Name + " " + string(x.Kind)
				if x.Kind == roster.ChangeMoved && !x.SamePlace {
					s += " elsewhere"
				}
				if (x.Before == nil) != (x.Kind == roster.ChangeAdded) || (x.After == nil) != (x.Kind == roster.ChangeRemoved) {
					t.Errorf("%s has before %v and after %v", s, x.Before, x.After)
				}
				got = append(got, s)
			}
			if len(got) != len(c.want) {
				t.Fatalf("changes are %q, want %q", got, c.want)
			}
			for i := range got {
				if got[i] != c.want[i] {
					t.Errorf("change %d is %q, want %q", i+1, got[i], c.want[i])
				}
			}
		})
	}
}

func TestOfSeveralShiftsOnADayTheLikestBecomeOneChange(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before, after roster.Snapshot
		want          []string
	}{
		"one longer, an earlier one removed": {table([6]int{1, 1, 1, 8, 9, 12}, [6]int{2, 1, 1, 8, 13, 17}), table([6]int{2, 1, 1, 8, 13, 18}),
			[]string{"駅前教室 9:00–12:00 → ", "駅前教室 13:00–17:00 → 駅前教室 13:00–18:00"}},
		"one longer, an earlier one added": {table([6]int{1, 1, 1, 8, 22, 25}), table([6]int{2, 1, 1, 8, 7, 8}, [6]int{1, 1, 1, 8, 22, 26}),
			[]string{" → 駅前教室 7:00–8:00", "駅前教室 22:00–25:00 → 駅前教室 22:00–26:00"}},
		"the same classroom before the rest": {table([6]int{1, 1, 1, 8, 10, 12}, [6]int{2, 1, 2, 8, 13, 15}), table([6]int{2, 1, 2, 8, 16, 18}),
			[]string{"駅前教室 10:00–12:00 → ", "本町教室 13:00–15:00 → 本町教室 16:00–18:00"}},
		"the same time when the classroom changes": {table([6]int{1, 1, 1, 8, 9, 12}, [6]int{2, 1, 1, 8, 13, 17}), table([6]int{2, 1, 2, 8, 13, 17}),
			[]string{"駅前教室 9:00–12:00 → ", "駅前教室 13:00–17:00 → 本町教室 13:00–17:00"}},
		"two changed": {table([6]int{1, 1, 1, 8, 9, 12}, [6]int{2, 1, 2, 8, 13, 17}), table([6]int{1, 1, 1, 8, 10, 12}, [6]int{2, 1, 2, 8, 14, 17}),
			[]string{"駅前教室 9:00–12:00 → 駅前教室 10:00–12:00", "本町教室 13:00–17:00 → 本町教室 14:00–17:00"}},
	} {
		var got []string
		for _, x := range roster.Compare(c.before, c.after) {
			got = append(got, describe(x.Before)+" → "+describe(x.After))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: changes are %q, want %q", name, got, c.want)
		}
	}
}

func describe(p *roster.Place) string {
	if p == nil {
		return ""
	}
	return p.Classroom.Name + " " + p.Times.String()
}

func TestASnapshotsHashIsOfWhatItShows(t *testing.T) {
	t.Parallel()
	a := table([6]int{1, 1, 1, 8, 17, 21}, [6]int{2, 2, 1, 9, 17, 21})
	same := table([6]int{7, 2, 1, 9, 17, 21}, [6]int{8, 1, 1, 8, 17, 21})
	same.ChangedAt = time.Date(2027, 1, 8, 0, 0, 0, 0, time.UTC)
	if a.Hash() != same.Hash() {
		t.Error("other rows, order or instants with the same content have another hash")
	}
	for name, other := range map[string]roster.Snapshot{
		"a time":  table([6]int{1, 1, 1, 8, 17, 22}, [6]int{2, 2, 1, 9, 17, 21}),
		"a day":   table([6]int{1, 1, 1, 7, 17, 21}, [6]int{2, 2, 1, 9, 17, 21}),
		"a room":  table([6]int{1, 1, 2, 8, 17, 21}, [6]int{2, 2, 1, 9, 17, 21}),
		"a shift": table([6]int{1, 1, 1, 8, 17, 21}),
	} {
		if a.Hash() == other.Hash() {
			t.Errorf("%s changed and the hash did not", name)
		}
	}
	renamed := table([6]int{1, 1, 1, 8, 17, 21}, [6]int{2, 2, 1, 9, 17, 21})
	renamed.Teachers[0].Name = "佐藤 華子"
	if a.Hash() == renamed.Hash() {
		t.Error("a name changed and the hash did not")
	}
}
