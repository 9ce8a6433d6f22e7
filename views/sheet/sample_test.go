package sheet_test

import (
	"fmt"
	"slices"
	"testing"
	"time"
	_ "time/tzdata"

	"shiftpost/db/roster"
)

var tokyo = func() *time.Location {
	loc, err := time.LoadLocation("Asia/Tokyo")
	if err != nil {
		panic(err)
	}
	return loc
}()

var (
	january = roster.Month{Year: 2027, Month: time.January}
	// changedAt is 14:40 on 8 January 2027 in Tokyo.
	changedAt = time.Date(2027, 1, 8, 5, 40, 0, 0, time.UTC)
	second    = &roster.Base{Number: 2, PublishedAt: time.Date(2026, 12, 19, 23, 0, 0, 0, time.UTC), Certain: true}
)

const (
	ekimae   = 1 // 駅前教室
	honmachi = 2 // 本町教室
)

// snapshot has the two classrooms and teachers with the IDs 1, 2, …
func snapshot(m roster.Month, teachers []string, shifts ...roster.SnapshotShift) roster.Snapshot {
	s := roster.Snapshot{
		Group: roster.Named{ID: 1, Name: "みほん塾"}, Month: m, ChangedAt: changedAt, Shifts: slices.Clone(shifts),
		Classrooms: []roster.Named{{ID: ekimae, Name: "駅前教室"}, {ID: honmachi, Name: "本町教室"}},
	}
	for i, name := range teachers {
		s.Teachers = append(s.Teachers, roster.Named{ID: int64(i + 1), Name: name})
	}
	for i := range s.Shifts {
		s.Shifts[i].ShiftID, s.Shifts[i].Date.Year, s.Shifts[i].Date.Month = int64(i+1), m.Year, m.Month
	}
	s.Sort()
	return s
}

// shift is one of the snapshot's month.
func shift(teacher, classroom int64, day int, times string) roster.SnapshotShift {
	r, err := roster.ParseTimeRange(times)
	if err != nil {
		panic(fmt.Sprintf("%s: %v", times, err))
	}
	return roster.SnapshotShift{TeacherID: teacher, Work: roster.Work{ClassroomID: classroom, Date: roster.Date{Day: day}, Times: r}}
}

// people makes up n names.
func people(n int) []string {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("講師 %02d", i+1))
	}
	return names
}

// update is the sheet of the third publication after what was before.
func update(before, after roster.Snapshot) roster.Sheet {
	return roster.Sheet{Snapshot: after, Number: 3, Base: second, Changes: roster.Compare(before, after)}
}

// samples are the sheets whose documents lie in testdata and whose pictures are measured.
func samples(t *testing.T) map[string]roster.Sheet {
	t.Helper()
	// A month of 31 days that begins on a Sunday, names of every length, nights, two shifts on one day, a holiday.
	long := []string{"マリア・フェルナンデス", "勅使河原 桜子", "髙橋 﨑", "𠮷 𠮷子", "Christopher Montgomery", "長曽我部右衛門左衛門", "林"}
	var shifts []roster.SnapshotShift
	times := []string{"17:00-21:30", "9:00-17:00", "22:00-25:00", "10:00-15:00", "25:00-30:00"}
	for day := 1; day <= 31; day++ {
		for teacher := 1; teacher <= len(long); teacher++ {
			if (day+teacher)%3 == 0 && day%7 != 1 {
				shifts = append(shifts, shift(int64(teacher), ekimae, day, times[(day+teacher*2)%len(times)]))
			}
		}
	}
	shifts = append(shifts, shift(2, ekimae, 11, "7:00-8:30"), shift(2, ekimae, 11, "18:10-21:20"))
	first := roster.Sheet{Snapshot: snapshot(roster.Month{Year: 2027, Month: time.August}, long, shifts...), Number: 1}

	names := []string{"佐藤 花子", "鈴木 一郎", "髙橋 健太", "田中 美咲", "勅使河原 桜子", "山田 太郎", "渡邊 翔"}
	var before []roster.SnapshotShift
	for day := 5; day <= 30; day++ {
		for teacher := 1; teacher <= len(names); teacher++ {
			if (day+teacher*2)%5 == 0 && day%7 != 3 {
				before = append(before, shift(int64(teacher), ekimae, day, times[(day+teacher)%3]))
			}
		}
	}
	before = append(before, shift(3, honmachi, 6, "17:00-21:30"), shift(4, honmachi, 13, "17:00-21:30"))
	kept := slices.Clone(before)
	after := snapshot(january, names, kept...)
	move := func(teacher int64, day int, how func(*roster.SnapshotShift)) {
		for i, x := range after.Shifts {
			if x.TeacherID == teacher && x.Date.Day == day {
				how(&after.Shifts[i])
				return
			}
		}
		t.Fatalf("the sample has no shift of teacher %d on %d January", teacher, day)
	}
	drop := func(teacher int64, day int) {
		after.Shifts = slices.DeleteFunc(after.Shifts, func(x roster.SnapshotShift) bool { return x.TeacherID == teacher && x.Date.Day == day })
	}
	add := func(x roster.SnapshotShift) {
		x.Date.Year, x.Date.Month = january.Year, january.Month
		after.Shifts = append(after.Shifts, x)
	}
	move(1, 8, func(x *roster.SnapshotShift) { x.Times = roster.TimeRange{Start: 18 * 60, End: 21*60 + 30} })
	move(2, 11, func(x *roster.SnapshotShift) { x.Times = roster.TimeRange{Start: 25 * 60, End: 30 * 60} })
	move(3, 14, func(x *roster.SnapshotShift) { x.ClassroomID = honmachi })
	drop(4, 7)
	add(shift(5, ekimae, 12, "22:00-25:00"))
	add(shift(6, ekimae, 13, "7:00-8:30"))
	drop(7, 16)
	add(shift(7, ekimae, 16, "7:00-8:30"))
	add(shift(7, ekimae, 16, "22:00-25:30"))
	after.Sort()

	return map[string]roster.Sheet{
		"first":  first,
		"update": update(snapshot(january, names, before...), after),
		"empty":  {Snapshot: roster.Snapshot{Group: roster.Named{ID: 1, Name: "みほん塾"}, Month: january}, Number: 1},
		"gone":   update(snapshot(january, names, shift(3, honmachi, 6, "17:00-21:30")), snapshot(january, names)),
	}
}
