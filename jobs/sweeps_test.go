package jobs_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"shiftpost/db/dbtest"
	"shiftpost/jobs"
)

func TestEachSweepSaysWhenItRunsNext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := dbtest.NewSchool(t) // at 14:32
		sweeps := jobs.NewSweeps(jobs.SweepOptions{Store: s.Store, Files: openFiles(t), Clock: s.Clock, Logger: quiet()})
		says := func(want string) {
			t.Helper()
			synctest.Wait()
			var all []string
			for _, n := range sweeps.Next() {
				all = append(all, fmt.Sprintf("%s %s", n.At.In(dbtest.Tokyo).Format("15:04:05"), n.Name))
			}
			if got := strings.Join(all, ", "); got != want {
				t.Errorf("at %s the sweeps to come are %q, want %q", s.Clock.Now().In(dbtest.Tokyo).Format("15:04"), got, want)
			}
		}
		says("")
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- sweeps.Run(ctx) }()
		says("14:45:00 reminders, 14:47:00 recovery")
		s.Clock.Advance(13 * time.Minute)
		says("14:47:00 recovery, 15:00:00 reminders")
		s.Clock.Advance(15 * time.Minute)
		says("15:02:00 recovery, 15:15:00 reminders")
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		says("")
	})
}

func TestLINEIsAskedForTheQuotaAtTheStartAndAtEveryFullHour(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	for _, c := range []struct{ start, want time.Time }{
		{time.Date(2027, 1, 8, 14, 40, 0, 0, dbtest.Tokyo), time.Date(2027, 1, 8, 15, 0, 0, 0, dbtest.Tokyo)},
		{time.Date(2027, 1, 8, 15, 0, 0, 1, dbtest.Tokyo), time.Date(2027, 1, 8, 16, 0, 0, 0, dbtest.Tokyo)},
		{time.Date(2027, 1, 31, 23, 30, 0, 0, dbtest.Tokyo), time.Date(2027, 2, 1, 0, 0, 0, 0, dbtest.Tokyo)}, // the month's start
	} {
		s.Clock.Advance(c.start.Sub(s.Clock.Now()))
		sweeps := s.sweeps(t)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- sweeps.Run(ctx) }()
		waitFor(t, func() bool {
			return s.sweepRun(t, jobs.SweepQuota).RanAt.Equal(s.Store.Now()) && len(sweeps.Next()) == 4
		})
		for _, n := range sweeps.Next() {
			if n.Name == jobs.SweepQuota && !n.At.Equal(c.want) {
				t.Errorf("started at %s, LINE is asked for the quota at %s, want at %s", c.start, n.At, c.want)
			}
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// tardy lets time pass before each request.
type tardy struct {
	http.RoundTripper
	pass func()
}

func (l tardy) RoundTrip(r *http.Request) (*http.Response, error) {
	l.pass()
	return l.RoundTripper.RoundTrip(r)
}

func TestASweepIsRecordedAtTheInstantItBegan(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	sweeps := s.sweepsThrough(t, tardy{&http.Transport{}, func() { s.Clock.Advance(time.Minute) }})
	for name, run := range map[string]func(context.Context) (int, error){
		jobs.SweepReminders: sweeps.Remind, jobs.SweepRecovery: sweeps.Recover,
		jobs.SweepQuota: sweeps.ReadQuota, jobs.SweepReachability: sweeps.CheckReachability,
	} {
		began := s.Store.Now()
		if _, err := run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if recorded := s.sweepRun(t, name).RanAt; !recorded.Equal(began) {
			t.Errorf("%s began at %s and is recorded at %s", name, began, recorded)
		}
	}
	if !s.Store.Now().After(dbtest.Start.Add(time.Minute)) {
		t.Error("no time passed while sweeps ran")
	}
}
