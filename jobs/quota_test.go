package jobs_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"shiftpost/db/dbtest"
	"shiftpost/db/files"
	"shiftpost/db/roster"
	"shiftpost/jobs"
	"shiftpost/jobs/line"
	"shiftpost/jobs/line/linesim"
)

func (s *story) sweeps(t *testing.T) *jobs.Sweeps {
	t.Helper()
	return s.sweepsThrough(t, &http.Transport{})
}

func (s *story) sweepsThrough(t *testing.T, transport http.RoundTripper) *jobs.Sweeps {
	t.Helper()
	store := dbtest.Must(files.Open(t.TempDir()))(t)
	t.Cleanup(func() { store.Close() })
	client := line.NewClient(line.Options{BaseURL: s.sim.BaseURL(), Token: s.sim.Channel().AccessToken, Timeout: timeout, Clock: s.Clock,
		HTTPClient: &http.Client{Transport: transport}})
	return jobs.NewSweeps(jobs.SweepOptions{Store: s.Store, Files: store, LINE: client, Clock: s.Clock, Logger: quiet()})
}

// sweepRun returns the last run of a sweep.
func (s *story) sweepRun(t *testing.T, name string) roster.SweepRun {
	t.Helper()
	for _, r := range dbtest.Must(s.Store.SweepRuns(t.Context()))(t) {
		if r.Name == name {
			return r
		}
	}
	return roster.SweepRun{}
}

func TestTheQuotaSweepKeepsWhatLINEAnswersAndWhatItAnsweredBefore(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	sweeps := s.sweeps(t)
	s.sim.SetQuota(200)
	s.publishOne(t)
	s.step(t)
	if n, err := sweeps.ReadQuota(t.Context()); n != 1 || err != nil {
		t.Fatalf("%d, %v", n, err)
	}
	q := dbtest.Must(s.Store.Quota(t.Context()))(t)
	if !q.Limited || q.Limit != 200 || q.LINEUsed != 14 || q.Own != 14 || q.Used() != 14 || !q.ReadAt.Equal(s.Store.Now()) {
		t.Errorf("LINE answered: %+v", q)
	}
	for _, endpoint := range []string{"quota", "consumption"} {
		s.Clock.Advance(time.Hour)
		dbtest.Must(s.sim.AddFault(linesim.Fault{Kind: linesim.FaultStatus, Status: 500, Endpoint: endpoint, Count: 1}))(t)
		if n, err := sweeps.ReadQuota(t.Context()); n != 0 || err == nil {
			t.Errorf("%s fails: %d, %v", endpoint, n, err)
		}
		now := dbtest.Must(s.Store.Quota(t.Context()))(t)
		if now.ReadAt != q.ReadAt || now.LINEUsed != 14 || !now.FailedAt.Equal(s.Store.Now()) {
			t.Errorf("%s fails: %+v", endpoint, now)
		}
		if run := s.sweepRun(t, jobs.SweepQuota); run.Error == "" || !run.RanAt.Equal(s.Store.Now()) {
			t.Errorf("%s fails: the run is recorded as %+v", endpoint, run)
		}
	}
	s.sim.SetQuota(-1)
	if _, err := sweeps.ReadQuota(t.Context()); err != nil {
		t.Fatal(err)
	}
	if q := dbtest.Must(s.Store.Quota(t.Context()))(t); q.Limited || !q.FailedAt.IsZero() {
		t.Errorf("a plan without a limit: %+v", q)
	}
}

func TestTheQuotaIsReadAtTheStart(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	sweeps := s.sweeps(t)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- sweeps.Run(ctx) }()
	waitFor(t, func() bool { return s.sweepRun(t, jobs.SweepQuota).RanAt.Equal(dbtest.Start) })
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
