package db_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"shiftpost/db"
	"shiftpost/db/dbtest"
	"shiftpost/db/roster"
)

// dueAtOnce is how many shifts begin at the same moment in the benchmarks: far more than a school has.
const dueAtOnce = 10_000

// crowd fills a school with that many linked teachers who all begin at 17:00, and sets the clock inside the window.
func crowd(b *testing.B) *dbtest.School {
	b.Helper()
	s := dbtest.NewSchool(b)
	for _, query := range []string{
		`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
			INSERT INTO teachers (classroom_id, name, position, line_user_id, created_at, updated_at) SELECT 1, '講師 ' || i, i, printf('U%032x', 1000 + i), 0, 0 FROM n`,
		`INSERT INTO shifts (teacher_id, classroom_id, date, start_minutes, end_minutes, state, changed_at, created_at, updated_at)
			SELECT id, 1, '2027-01-08', 17 * 60, 21 * 60, 'confirmed', 0, 0, 0 FROM teachers WHERE position <= ?1 AND line_user_id > 'U000000000000000000000000000003e8'`,
	} {
		if _, err := s.Store.SessionDB().ExecContext(b.Context(), query, dueAtOnce); err != nil {
			b.Fatal(err)
		}
	}
	s.Clock.Advance(30 * time.Minute)
	return s
}

// forget takes back what a sweep made.
func forget(b *testing.B, s *dbtest.School) {
	b.Helper()
	for _, table := range []string{"delivery_events", "jobs", "deliveries"} {
		if _, err := s.Store.SessionDB().ExecContext(b.Context(), `DELETE FROM `+table); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReminderSweepOf10000ShiftsDueAtOnce(b *testing.B) {
	s := crowd(b)
	for b.Loop() {
		b.StopTimer()
		forget(b, s)
		b.StartTimer()
		n, err := s.Store.MakeReminders(b.Context())
		if err != nil || n != dueAtOnce {
			b.Fatalf("the sweep made %d: %v", n, err)
		}
	}
}

func BenchmarkReminderSweepWithNothingToDo(b *testing.B) {
	s := crowd(b)
	dbtest.Must(s.Store.MakeReminders(b.Context()))(b)
	for b.Loop() {
		dbtest.Must(s.Store.MakeReminders(b.Context()))(b)
	}
}

// BenchmarkPublishDuringReminderSweep publishes again and again while the sweep makes 10,000 reminders, and reports
// how long a publish takes with and without the sweep.
func BenchmarkPublishDuringReminderSweep(b *testing.B) {
	s := crowd(b)
	other := *s
	other.Group = dbtest.Must(s.Store.CreateGroup(b.Context(), db.GroupEdit{Name: "西口グループ", LeadMinutes: 120}))(b)
	room := dbtest.Must(s.Store.CreateClassroom(b.Context(), db.ClassroomEdit{GroupID: other.Group.ID, Name: "西口教室", ShortName: "西口"}))(b)
	if err := s.Store.LinkGroup(b.Context(), other.Group.ID, dbtest.LINEGroupID(2), "西口", 1); err != nil {
		b.Fatal(err)
	}
	e := s.Edit(b, 2, 20, "17:00-21:30")
	e.ClassroomID = room.ID
	x := dbtest.Must(s.Store.AddShift(b.Context(), e, roster.ShiftConfirmed))(b)
	publish := func() time.Duration {
		e.Times.End++
		if e.Times.End > roster.LastMinute {
			e.Times.End = e.Times.Start + 1
		}
		x = dbtest.Must(s.Store.ChangeShift(b.Context(), x.ID, x.EditNumber, e))(b)
		in := db.PublishInput{GroupID: other.Group.ID, Month: other.Month, SheetHash: other.Render(b), AdminID: s.Admin.ID}
		began := time.Now()
		dbtest.Must(s.Store.Publish(b.Context(), in))(b)
		return time.Since(began)
	}
	percentile := func(p int, all []time.Duration) float64 {
		slices.Sort(all)
		return float64(all[(len(all)*p-1)/100].Microseconds()) / 1000
	}
	var quiet, busy []time.Duration
	for b.Loop() {
		b.StopTimer()
		forget(b, s)
		for range 20 {
			quiet = append(quiet, publish())
		}
		b.StartTimer()
		ended := make(chan error, 1)
		go func() {
			_, err := s.Store.MakeReminders(b.Context())
			ended <- err
		}()
		for sweeping := true; sweeping; {
			busy = append(busy, publish())
			select {
			case err := <-ended:
				if err != nil {
					b.Fatal(err)
				}
				sweeping = false
			default:
			}
		}
	}
	for _, p := range []int{50, 99} {
		b.ReportMetric(percentile(p, quiet), fmt.Sprintf("quiet-p%d-ms", p))
		b.ReportMetric(percentile(p, busy), fmt.Sprintf("busy-p%d-ms", p))
	}
	b.ReportMetric(float64(len(busy))/float64(b.N), "publishes/sweep")
}
