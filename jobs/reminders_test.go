package jobs_test

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jonboulle/clockwork"

	"shiftpost/db"
	"shiftpost/db/dbtest"
	"shiftpost/db/roster"
	"shiftpost/jobs"
	"shiftpost/jobs/line/linesim"
)

func TestAReminderIsDueFromAQuarterBeforeItsLeadUntilTheStart(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		clock string
		lead  int
		due   bool
	}{
		{"14:44:59.999", 120, false},
		{"14:45:00", 120, true},
		{"16:59:59.999", 120, true},
		{"17:00:00", 120, false},
		{"16:14:59.999", 30, false},
		{"16:15:00", 30, true},
		{"14:32:00", 24 * 60, true},
	} {
		t.Run(c.clock, func(t *testing.T) {
			t.Parallel()
			s := newStory(t)
			if err := s.Store.EditGroup(t.Context(), s.Group.ID, s.Group.EditNumber, db.GroupEdit{Name: s.Group.Name, LeadMinutes: c.lead}); err != nil {
				t.Fatal(err)
			}
			x := s.Draft(t, 0, 8, "17:00-21:30")
			s.sql(t, `UPDATE shifts SET state = 'confirmed' WHERE id = ?`, x.ID) // as if long ago
			s.at(t, c.clock)
			s.remind(t)
			s.step(t)
			if !c.due {
				s.wantChat(t, 1)
				return
			}
			s.wantChat(t, 1, reminds(8, "17:00–21:30"))
			if d := s.notices(t, x.ID)[0]; !d.DeadlineAt.Equal(x.Start(dbtest.Tokyo)) {
				t.Errorf("its deadline is %s, want the start", d.DeadlineAt)
			}
			s.sim.Assert(t)
		})
	}
}

func TestAReminderIsDueByTheClockOnTheSchoolsWall(t *testing.T) {
	t.Parallel()
	newYork, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		loc   *time.Location
		date  string
		times string
		due   string // the first instant, UTC
		start string
	}{
		{"a plain day in Tokyo", dbtest.Tokyo, "2027-01-08", "17:00-21:30", "2027-01-08T05:45:00Z", "2027-01-08T08:00:00Z"},
		{"a night in Tokyo", dbtest.Tokyo, "2027-01-08", "23:00-25:30", "2027-01-08T11:45:00Z", "2027-01-08T14:00:00Z"},
		{"after midnight in Tokyo", dbtest.Tokyo, "2027-01-08", "25:00-29:00", "2027-01-08T13:45:00Z", "2027-01-08T16:00:00Z"},
		{"a time that spring skips moves forward", newYork, "2027-03-14", "2:30-6:00", "2027-03-14T05:15:00Z", "2027-03-14T07:30:00Z"},
		{"after the hour that spring skips", newYork, "2027-03-14", "3:30-6:00", "2027-03-14T05:15:00Z", "2027-03-14T07:30:00Z"},
		{"a time that autumn has twice is the first", newYork, "2027-11-07", "1:30-6:00", "2027-11-07T03:15:00Z", "2027-11-07T05:30:00Z"},
		{"after the hour that autumn has twice", newYork, "2027-11-07", "2:30-6:00", "2027-11-07T05:15:00Z", "2027-11-07T07:30:00Z"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := dbtest.NewSchool(t, func(o *db.Options) { o.Location = c.loc })
			date := dbtest.Must(roster.ParseDate(c.date))(t)
			times := dbtest.Must(roster.ParseTimeRange(c.times))(t)
			due, start := dbtest.Must(time.Parse(time.RFC3339, c.due))(t), dbtest.Must(time.Parse(time.RFC3339, c.start))(t)
			x := dbtest.Must(s.Store.AddShift(t.Context(), db.ShiftEdit{TeacherID: s.Teachers[0].ID, ClassroomID: s.Classrooms[0].ID, Date: date, Times: times}, roster.ShiftDraft))(t)
			if _, err := s.Store.SessionDB().ExecContext(t.Context(), `UPDATE shifts SET state = 'confirmed' WHERE id = ?`, x.ID); err != nil {
				t.Fatal(err)
			}
			made := func(at time.Time) int {
				s.Clock.Advance(at.Sub(s.Clock.Now()))
				dbtest.Must(s.Store.MakeReminders(t.Context()))(t)
				all := dbtest.Must(s.Store.Deliveries(t.Context(), db.DeliveryFilter{Kind: roster.ShiftReminder}))(t)
				for _, d := range all {
					if !d.DeadlineAt.Equal(start) {
						t.Errorf("the deadline is %s, want %s", d.DeadlineAt, start)
					}
				}
				return len(all)
			}
			if n := made(due.Add(-time.Millisecond)); n != 0 {
				t.Error("the reminder came early")
			}
			if n := made(due); n != 1 {
				t.Errorf("%d reminders are made at %s, want 1", n, due)
			}
		})
	}
}

func TestTheSchemaLetsOneNoticeStandAndOneBeLive(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	x := s.told(t)
	insert := `INSERT INTO deliveries (kind, state, code, retry_key, teacher_id, shift_id, shift_version, line_id, due_at, deadline_at, next_attempt_at, created_at, updated_at, finished_at)
		VALUES (?, ?, ?, 'k', 1, ?, ?, ?, 0, 0, ?, 0, 0, ?)`
	try := func(kind string, version int64, state, code string, next, finished any) error {
		_, err := s.Store.SessionDB().ExecContext(t.Context(), insert, kind, state, code, x.ID, version, dbtest.LINEUserID(1), next, finished)
		return err
	}
	if try("shift_reminder", x.Version, "failed", "HTTP_400", nil, 0) == nil {
		t.Error("a second reminder of the same version stands")
	}
	if err := try("shift_reminder", x.Version, "canceled", "SHIFT_STARTED", nil, 0); err != nil {
		t.Errorf("a canceled one is in the way: %v", err)
	}
	if try("shift_reminder", x.Version, "canceled", "CANCELED_BY_ADMIN", nil, 0) == nil {
		t.Error("one that an admin canceled does not stand")
	}
	if err := try("shift_correction", 7, "queued", "", 0, nil); err != nil {
		t.Fatal(err)
	}
	if try("shift_cancellation", 8, "pending", "X", 0, nil) == nil {
		t.Error("two notices of one shift are live for one person")
	}
}

// sweepDir names the data folder in which a process that a test started runs the reminder sweep.
const sweepDir = "SHIFTPOST_TEST_SWEEP_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(sweepDir); dir != "" {
		os.Exit(sweepOnce(dir))
	}
	os.Exit(m.Run())
}

// sweepOnce is the other process of TestThreeSweepsAtOnceInTwoProcessesMakeEachReminderOnce.
func sweepOnce(dir string) int {
	at, err := time.Parse(time.RFC3339, os.Getenv(sweepDir+"_AT"))
	if err != nil {
		return 3
	}
	ctx := context.Background()
	store, err := db.Open(ctx, db.Options{Dir: dir, Clock: clockwork.NewFakeClockAt(at), Location: dbtest.Tokyo, Logger: quiet()})
	if err != nil {
		return 4
	}
	defer store.Close()
	if _, err := store.MakeReminders(ctx); err != nil {
		return 5
	}
	return 0
}

func TestThreeSweepsAtOnceInTwoProcessesMakeEachReminderOnce(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	const shifts = 200
	var ids []int64
	for i := range shifts {
		teacher := dbtest.Must(s.Store.CreateTeacher(t.Context(), db.TeacherEdit{ClassroomID: s.Classrooms[0].ID, Name: "講師 " + itoa(int64(i)), NoticesOn: true}))(t)
		if err := s.Store.LinkTeacher(t.Context(), teacher.ID, dbtest.LINEUserID(100+i)); err != nil {
			t.Fatal(err)
		}
		e := s.Edit(t, 0, 8, "17:00-21:30")
		e.TeacherID = teacher.ID
		ids = append(ids, dbtest.Must(s.Store.AddShift(t.Context(), e, roster.ShiftConfirmed))(t).ID)
	}
	s.at(t, "15:00")
	var sweeps sync.WaitGroup
	for range 2 {
		sweeps.Go(func() {
			if _, err := s.Store.MakeReminders(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	sweeps.Go(func() {
		other := exec.CommandContext(t.Context(), os.Args[0])
		other.Env = append(os.Environ(), sweepDir+"="+s.Store.Dir(), sweepDir+"_AT="+s.Store.Now().Format(time.RFC3339))
		if out, err := other.CombinedOutput(); err != nil {
			t.Errorf("the other process: %v\n%s", err, out)
		}
	})
	sweeps.Wait()
	made := map[int64]int{}
	for _, d := range dbtest.Must(s.Store.Deliveries(t.Context(), db.DeliveryFilter{Limit: 10 * shifts}))(t) {
		if d.Kind == roster.ShiftReminder && d.State == roster.Queued {
			made[d.ShiftID]++
		}
	}
	for _, id := range ids {
		if made[id] != 1 {
			t.Errorf("shift %d has %d reminders, want 1", id, made[id])
		}
	}
}

func TestOneBadShiftDoesNotStopTheReminderSweep(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	bad, good := s.Confirm(t, 0, 8, "17:00-21:30"), s.Confirm(t, 1, 8, "17:00-21:30")
	s.sql(t, `CREATE TRIGGER poison BEFORE INSERT ON deliveries WHEN NEW.shift_id = `+itoa(bad.ID)+` BEGIN SELECT RAISE(ABORT, 'poison'); END`)
	s.at(t, "15:00")
	n, err := s.Store.MakeReminders(t.Context())
	if n != 1 || err == nil || !contains(err.Error(), "poison") {
		t.Errorf("the sweep made %d and answered %v, want 1 and the bad shift's error", n, err)
	}
	s.wantNotices(t, good.ID, "reminder queued")
}

func TestAReminderWhoseJobCannotBeWrittenIsQueuedLater(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	x := s.Confirm(t, 0, 8, "17:00-21:30")
	mend := s.breakJobs(t)
	s.at(t, "14:45")
	s.remind(t)
	s.wantNotices(t, x.ID, "reminder pending QUEUE_ENQUEUE_FAILED")
	mend()
	s.at(t, "15:00")
	s.recover(t)
	s.step(t)
	s.wantChat(t, 1, reminds(8, "17:00–21:30"))
}

func TestWhatBecomesDueInsideTheWindowDoesNotWaitForTheSweep(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		do   func(*testing.T, *story)
	}{
		{"confirmed when it is added", func(t *testing.T, s *story) { s.Confirm(t, 0, 8, "17:00-21:30") }},
		{"a draft is confirmed", func(t *testing.T, s *story) { s.move(t, s.Draft(t, 0, 8, "17:00-21:30").ID, roster.ShiftConfirmed) }},
		{"the month is confirmed", func(t *testing.T, s *story) {
			s.Draft(t, 0, 8, "17:00-21:30")
			dbtest.Must(s.Store.ConfirmMonth(t.Context(), s.Group.ID, s.Month))(t)
		}},
		{"moved into the window", func(t *testing.T, s *story) { s.change(t, s.Confirm(t, 0, 9, "10:00-12:00").ID, 0, 8, "17:00-21:30") }},
		{"given to them", func(t *testing.T, s *story) { s.change(t, s.Confirm(t, 2, 8, "17:00-21:30").ID, 0, 8, "17:00-21:30") }},
		{"linked", func(t *testing.T, s *story) {
			s.unlink(t, 0)
			s.Confirm(t, 0, 8, "17:00-21:30")
			s.link(t, 0, 1)
		}},
		{"notices switched on", func(t *testing.T, s *story) {
			s.switchNotices(t, 0, false)
			s.Confirm(t, 0, 8, "17:00-21:30")
			s.switchNotices(t, 0, true)
		}},
		{"notices switched on by the admin", func(t *testing.T, s *story) {
			s.switchNotices(t, 0, false)
			s.Confirm(t, 0, 8, "17:00-21:30")
			v := dbtest.Must(s.Store.Teacher(t.Context(), s.Teachers[0].ID))(t)
			if err := s.Store.EditTeacher(t.Context(), v.ID, v.EditNumber, db.TeacherEdit{ClassroomID: v.ClassroomID, Name: v.Name, Position: v.Position, NoticesOn: true}); err != nil {
				t.Fatal(err)
			}
		}},
		{"made active", func(t *testing.T, s *story) {
			s.sql(t, `UPDATE teachers SET archived_at = 0 WHERE id = ?`, s.Teachers[0].ID)
			x := s.Draft(t, 1, 8, "17:00-21:30")
			s.sql(t, `UPDATE shifts SET state = 'confirmed', teacher_id = ? WHERE id = ?`, s.Teachers[0].ID, x.ID)
			if err := s.Store.RestoreTeacher(t.Context(), s.Teachers[0].ID); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newStory(t)
			s.at(t, "15:00")
			c.do(t, s)
			s.step(t)
			s.wantChat(t, 1, reminds(8, "17:00–21:30"))
			s.sim.Assert(t)
		})
	}
}

func TestAnEditWakesTheRunnerByItself(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.watch(t)
	s.at(t, "15:00")
	s.Confirm(t, 0, 8, "17:00-21:30")
	waitFor(t, func() bool { return len(s.chat(1)) == 1 })
}

func TestTheReminderSweepRunsAtEveryQuarterOfTheSchoolsClockAndAtTheStart(t *testing.T) {
	t.Parallel()
	kathmandu, err := time.LoadLocation("Asia/Kathmandu") // 5:45 ahead of UTC
	if err != nil {
		t.Fatal(err)
	}
	for _, loc := range []*time.Location{dbtest.Tokyo, kathmandu} {
		t.Run(loc.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { runsAtEveryQuarter(t, loc) })
		})
	}
}

func runsAtEveryQuarter(t *testing.T, loc *time.Location) {
	t.Helper()
	s := dbtest.NewSchool(t, func(o *db.Options) { o.Location = loc })
	woken := 0
	sweeps := jobs.NewSweeps(jobs.SweepOptions{Store: s.Store, Files: openFiles(t), Clock: s.Clock, Logger: quiet(), Wake: func() { woken++ }})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- sweeps.Run(ctx) }()
	ranAt := func(want time.Time) {
		t.Helper()
		synctest.Wait()
		var got time.Time
		for _, r := range dbtest.Must(s.Store.SweepRuns(t.Context()))(t) {
			if r.Name == jobs.SweepReminders {
				got = r.RanAt
			}
		}
		if !got.Equal(want) {
			t.Errorf("at %s the sweep ran last at %s, want %s", s.Clock.Now(), got, want)
		}
	}
	last := s.Store.Now()
	ranAt(last)
	s.Confirm(t, 0, 8, "17:00-21:30")
	for _, quarter := range []string{"14:45", "15:00", "15:15"} {
		next := dbtest.Must(time.ParseInLocation("2006-01-02 15:04", "2027-01-08 "+quarter, dbtest.Tokyo))(t)
		s.Clock.Advance(next.Sub(s.Clock.Now()) - time.Millisecond)
		ranAt(last)
		s.Clock.Advance(time.Millisecond)
		ranAt(next)
		last = next
	}
	if loc == dbtest.Tokyo && woken != 1 {
		t.Errorf("the runner was woken %d times, want once, for the reminder of 14:45", woken)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestAPanicInASweepEndsNeitherTheProgramNorTheOtherSweeps(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		store := dbtest.Must(db.Open(t.Context(), db.Options{Dir: dir, Location: dbtest.Tokyo, Logger: quiet()}))(t)
		defer store.Close()
		var log strings.Builder
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			// Without a file store the recovery sweep panics.
			ended <- jobs.NewSweeps(jobs.SweepOptions{Store: store, Logger: slog.New(slog.NewTextHandler(&log, nil))}).Run(ctx)
		}()
		for range 3 {
			<-time.After(15 * time.Minute)
			synctest.Wait()
			for _, r := range dbtest.Must(store.SweepRuns(t.Context()))(t) {
				if r.Name == jobs.SweepReminders && !r.RanAt.Equal(store.Now()) {
					t.Errorf("the reminder sweep last ran at %s, it is %s", r.RanAt, store.Now())
				}
			}
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if n := strings.Count(log.String(), "panic in a sweep"); n < 3 {
			t.Errorf("%d panics are in the log, want one for each run:\n%s", n, log.String())
		}
	})
}

func TestAShiftWhoseWholeWindowPassedWhileTheProgramWasDownIsListed(t *testing.T) {
	t.Parallel()
	sweeps := func(s *story) *jobs.Sweeps {
		return jobs.NewSweeps(jobs.SweepOptions{Store: s.Store, Files: openFiles(t), Clock: s.Clock, Logger: quiet()})
	}
	for _, c := range []struct {
		name    string
		lastRun string // empty: never
		up      string
		want    []string
	}{
		{"down from before the window until after the start", "14:44:59", "17:10", []string{"reminder canceled SHIFT_STARTED"}},
		{"up again before the start", "14:44:59", "16:59", []string{"reminder queued"}},
		{"a first start looks back to nothing", "", "17:10", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newStory(t)
			x := s.Confirm(t, 0, 8, "17:00-21:30")
			if c.lastRun != "" {
				s.at(t, c.lastRun)
				dbtest.Must(sweeps(s).Remind(t.Context()))(t)
			}
			s.at(t, c.up)
			dbtest.Must(sweeps(s).Remind(t.Context()))(t)
			s.wantNotices(t, x.ID, c.want...)
			s.Clock.Advance(15 * time.Minute)
			dbtest.Must(sweeps(s).Remind(t.Context()))(t)
			if all := s.notices(t, x.ID); len(all) != len(c.want) {
				t.Errorf("a later sweep wrote it down again: %d notices", len(all))
			}
		})
	}
	t.Run("told before the program went down", func(t *testing.T) {
		t.Parallel()
		s := newStory(t)
		x := s.told(t)
		dbtest.Must(sweeps(s).Remind(t.Context()))(t)
		s.at(t, "17:10")
		dbtest.Must(sweeps(s).Remind(t.Context()))(t)
		s.wantNotices(t, x.ID, "reminder sent")
	})
	t.Run("confirmed after its start", func(t *testing.T) {
		t.Parallel()
		s := newStory(t)
		dbtest.Must(sweeps(s).Remind(t.Context()))(t)
		s.at(t, "17:05")
		x := s.Confirm(t, 0, 8, "17:00-21:30")
		s.at(t, "17:10")
		dbtest.Must(sweeps(s).Remind(t.Context()))(t)
		s.wantNotices(t, x.ID)
	})
	t.Run("made before the crash but not sent", func(t *testing.T) {
		t.Parallel()
		s := newStory(t)
		x := s.Confirm(t, 0, 8, "17:00-21:30")
		s.at(t, "14:45")
		dbtest.Must(sweeps(s).Remind(t.Context()))(t)
		s.at(t, "17:10")
		dbtest.Must(sweeps(s).Remind(t.Context()))(t)
		s.step(t)
		s.wantNotices(t, x.ID, "reminder canceled SHIFT_STARTED")
		s.wantChat(t, 1)
	})
}

func TestAPersonWhoCannotBeToldHasOneRowForEachShiftKindAndReason(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		stop func(*testing.T, *story)
		code roster.Code
	}{
		{"not linked", func(t *testing.T, s *story) { s.unlink(t, 0) }, roster.CodeTeacherUnlinked},
		{"notices off", func(t *testing.T, s *story) { s.switchNotices(t, 0, false) }, roster.CodeLINEDisabled},
		{"left", func(t *testing.T, s *story) {
			s.sql(t, `UPDATE teachers SET archived_at = 0 WHERE id = ?`, s.Teachers[0].ID)
		}, roster.CodeTeacherInactive},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newStory(t)
			x := s.Confirm(t, 0, 8, "17:00-21:30")
			c.stop(t, s)
			for _, clock := range []string{"14:45", "15:00", "15:15"} {
				s.at(t, clock)
				s.remind(t)
			}
			s.wantNotices(t, x.ID, "reminder canceled "+string(c.code))
			// A correction that cannot be told is another kind.
			if c.code != roster.CodeLINEDisabled {
				return
			}
			y := s.Confirm(t, 1, 8, "17:00-21:30")
			s.step(t)
			s.switchNotices(t, 1, false)
			s.change(t, y.ID, 1, 8, "18:00-21:30")
			s.change(t, y.ID, 1, 8, "19:00-21:30")
			s.remind(t)
			s.wantNotices(t, y.ID, "reminder sent", "correction canceled LINE_DISABLED")
		})
	}
}

func TestABlockerIsStillSentTo(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	if err := s.sim.Block(dbtest.LINEUserID(1)); err != nil {
		t.Fatal(err)
	}
	x := s.Confirm(t, 0, 8, "17:00-21:30")
	s.at(t, "14:45")
	s.remind(t)
	s.step(t)
	s.wantNotices(t, x.ID, "reminder sent")
	// It counts as told.
	s.change(t, x.ID, 0, 8, "18:00-21:30")
	s.wantNotices(t, x.ID, "reminder sent", "correction queued")
}

func TestAReminderThatWasMadeIsNotMadeAgainWhenTheLeadChanges(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	x := s.told(t)
	g := dbtest.Must(s.Store.Group(t.Context(), s.Group.ID))(t)
	if err := s.Store.EditGroup(t.Context(), g.ID, g.EditNumber, db.GroupEdit{Name: g.Name, LeadMinutes: 30}); err != nil {
		t.Fatal(err)
	}
	s.at(t, "16:20")
	s.remind(t)
	s.step(t)
	s.wantNotices(t, x.ID, "reminder sent")
}

func TestAReminderRefusedBeforeTheNextVersionIsHistory(t *testing.T) {
	t.Parallel()
	for _, accepted := range []bool{false, true} {
		s := newStory(t)
		x := s.Confirm(t, 0, 8, "17:00-21:30")
		s.at(t, "14:45")
		if accepted {
			s.fault(t, linesim.Fault{Kind: linesim.FaultStatus, Status: 500, Accept: true, Count: 1})
		}
		id := dbtest.Must(s.sim.AddFault(linesim.Fault{Kind: linesim.FaultStatus, Status: 500, Endpoint: "push"}))(t)
		s.remind(t)
		s.spend(t, x.ID)
		s.sim.RemoveFault(id)
		s.at(t, "16:00")
		s.wantNotices(t, x.ID, "reminder failed HTTP_500")
		// Changed and changed back: what may have been told is so, but nobody can retry the old notice.
		s.change(t, x.ID, 0, 8, "18:00-21:30")
		s.change(t, x.ID, 0, 8, "17:00-21:30")
		s.step(t)
		all := s.wantNotices(t, x.ID, "reminder failed HTTP_500", "correction canceled NO_LONGER_NEEDED", "reminder sent")
		if all[0].RetryKey != all[2].RetryKey {
			t.Error("the second reminder has another key: it could be read twice")
		}
		s.wantChat(t, 1, reminds(8, "17:00–21:30"))
		s.sim.Assert(t)
	}
}

func TestHomeGoesOnListingAChangeThatCannotBeToldWhenTheShiftIsMovedAgain(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	x := s.told(t)
	s.change(t, x.ID, 0, 15, "17:00-21:30")
	s.pastUndo(t)
	s.switchNotices(t, 0, false)
	s.change(t, x.ID, 0, 9, "10:00-12:00")
	s.change(t, x.ID, 0, 15, "19:00-21:30")
	s.Clock.Advance(24 * time.Hour) // the 9th, when the moment of the first change is over
	s.remind(t)
	untold := dbtest.Must(s.Store.Home(t.Context(), s.Group.ID))(t).Concerns.Untold
	if len(untold) != 1 || untold[0].Shift.Date.Day != 15 {
		t.Errorf("home lists %v, want the change of the 15th", untold)
	}
	s.wantNotices(t, x.ID, "reminder sent", "correction sent", "correction canceled LINE_DISABLED")
}

func TestAShiftThatWasPutOffAndIsMissedASecondTimeIsListedAgain(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	sweeps := s.sweeps(t)
	x := s.Confirm(t, 0, 8, "17:00-21:30")
	dbtest.Must(sweeps.Remind(t.Context()))(t)
	s.at(t, "17:30") // the program was down meanwhile
	dbtest.Must(sweeps.Remind(t.Context()))(t)
	s.wantNotices(t, x.ID, "reminder canceled SHIFT_STARTED")
	s.change(t, x.ID, 0, 12, "17:00-21:30")
	s.Clock.Advance(92 * time.Hour) // the 12th, 13:30
	dbtest.Must(sweeps.Remind(t.Context()))(t)
	s.Clock.Advance(4*time.Hour + 15*time.Minute) // it was down again
	dbtest.Must(sweeps.Remind(t.Context()))(t)
	s.wantNotices(t, x.ID, "reminder canceled SHIFT_STARTED", "reminder canceled SHIFT_STARTED")
	if missed := dbtest.Must(s.Store.Home(t.Context(), s.Group.ID))(t).Concerns.Missed; len(missed) != 1 || missed[0].Shift.Date.Day != 12 {
		t.Errorf("home lists %v, want the shift of the 12th", missed)
	}
}

func TestWhomANoticeWasForStaysKnownWhenNobodyIsLinkedAnyMore(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	x := s.Confirm(t, 0, 8, "17:00-21:30")
	s.at(t, "14:45")
	s.remind(t)
	s.unlink(t, 0)
	s.change(t, x.ID, 0, 8, "16:45-21:30")
	s.remind(t)
	rows := s.wantNotices(t, x.ID, "reminder canceled TEACHER_UNLINKED")
	if rows[0].LINEID != dbtest.LINEUserID(1) || rows[0].ShiftVersion != 2 {
		t.Errorf("the notice is for %q, about version %d", rows[0].LINEID, rows[0].ShiftVersion)
	}
}
