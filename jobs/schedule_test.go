package jobs_test

import (
	"context"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"shiftpost/db/dbtest"
	"shiftpost/db/files"
	"shiftpost/jobs"
	"shiftpost/jobs/line"
)

func TestEverySweepRunsWithinADay(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	store := dbtest.Must(files.Open(filepath.Join(t.TempDir(), "images")))(t)
	defer store.Close()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	client := line.NewClient(line.Options{BaseURL: s.sim.BaseURL(), Token: s.sim.Channel().AccessToken, Timeout: timeout, Clock: s.Clock, HTTPClient: &http.Client{Transport: transport}})
	sweeps := jobs.NewSweeps(jobs.SweepOptions{Store: s.Store, Files: store, LINE: client, Clock: s.Clock, Logger: quiet()})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- sweeps.Run(ctx) }()
	ran := func() map[string]bool {
		names := map[string]bool{}
		for _, r := range dbtest.Must(s.Store.SweepRuns(t.Context()))(t) {
			names[r.Name] = true
		}
		return names
	}
	// At the start those that anything may wait for.
	waitFor(t, func() bool { return len(ran()) == 3 })
	for _, name := range []string{jobs.SweepReminders, jobs.SweepRecovery, jobs.SweepQuota} {
		if !ran()[name] {
			t.Errorf("%s did not run at the start", name)
		}
	}
	// Ten past three in the night.
	for range 24 * 4 {
		if ran()[jobs.SweepReachability] {
			break
		}
		if err := s.Clock.BlockUntilContext(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		s.Clock.Advance(15 * time.Minute)
	}
	waitFor(t, func() bool { return ran()[jobs.SweepReachability] })
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
