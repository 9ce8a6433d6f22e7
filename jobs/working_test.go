package jobs_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"

	"shiftpost/db"
	"shiftpost/db/dbtest"
	"shiftpost/db/queue"
	"shiftpost/db/roster"
	"shiftpost/jobs"
	"shiftpost/jobs/line"
	"shiftpost/jobs/line/linesim"
)

// slowLINE is a client whose pushes wait until they are let go or cut off.
type slowLINE struct {
	*line.Client
	asked atomic.Int32 // pushes that were begun
	let   chan struct{}
}

// Push waits and asks LINE.
func (p *slowLINE) Push(ctx context.Context, body []byte, retryKey string) (line.Answer, error) {
	p.asked.Add(1)
	select {
	case <-p.let:
		return p.Client.Push(ctx, body, retryKey)
	case <-ctx.Done():
		return line.Answer{}, &line.Error{Call: "push", Class: line.Unknown, Code: line.CodeNetwork}
	}
}

// slow returns such a client. What it leaves of several connections at once is closed before the simulator waits for them.
func (s *story) slow(t *testing.T) *slowLINE {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	client := line.NewClient(line.Options{BaseURL: s.sim.BaseURL(), Token: s.sim.Channel().AccessToken, Timeout: timeout, Clock: s.Clock,
		HTTPClient: &http.Client{Transport: transport}})
	return &slowLINE{Client: client, let: make(chan struct{})}
}

// run runs a runner until the returned function stops it.
func (s *story) run(t *testing.T, o jobs.RunnerOptions) (stop func(), ended <-chan error) {
	t.Helper()
	o.Store, o.Logger = s.Store, quiet()
	if o.Clock == nil {
		o.Clock = s.Clock
	}
	if o.LINE == nil {
		o.LINE = newClient(s.School, s.sim)
	}
	ctx, cancel := context.WithCancel(context.Background())
	end := make(chan error, 1)
	go func() { end <- jobs.NewRunner(o).Run(ctx) }()
	t.Cleanup(cancel)
	return cancel, end
}

// teach adds so many teachers who are linked to LINE and confirms a shift of each inside its window.
func (s *story) teach(t *testing.T, n int) {
	t.Helper()
	s.at(t, "14:45")
	for i := range n {
		v := dbtest.Must(s.Store.CreateTeacher(t.Context(), db.TeacherEdit{ClassroomID: s.Classrooms[0].ID, Name: "講師", NoticesOn: true}))(t)
		if err := s.Store.LinkTeacher(t.Context(), v.ID, dbtest.LINEUserID(i+5)); err != nil {
			t.Fatal(err)
		}
		e := s.Edit(t, 0, 8, "17:00-21:30")
		e.TeacherID = v.ID
		dbtest.Must(s.Store.AddShift(t.Context(), e, roster.ShiftConfirmed))(t)
	}
}

func TestAShutdownWaitsTenSecondsForARequestInFlightAndBeginsNoOther(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	slow := s.slow(t)
	id, other := s.publishOne(t), s.publishOther(t)
	stop, ended := s.run(t, jobs.RunnerOptions{LINE: slow, Workers: 1})
	waitFor(t, func() bool { return slow.asked.Load() == 1 })
	stop()
	// The renewal of leases, the cut at the end of the grace time and the last resort after it.
	if err := s.Clock.BlockUntilContext(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	s.Clock.Advance(10*time.Second - time.Millisecond)
	close(slow.let)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	s.wantState(t, id, roster.Sent, "")
	if d := s.delivery(t, id); len(d.Attempts) != 1 || d.Attempts[0].Outcome != roster.Accepted {
		t.Errorf("its attempts are %+v, want one that was accepted", d.Attempts)
	}
	s.wantState(t, other, roster.Queued, "")
	if n := s.count(t, `SELECT count(*) FROM jobs WHERE state = 'leased'`); n != 0 {
		t.Errorf("%d jobs are leased after the end", n)
	}
	s.sim.Assert(t)
}

func TestNoMoreJobsAreClaimedThanThereAreWorkers(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.teach(t, 5)
	slow := s.slow(t)
	stop, ended := s.run(t, jobs.RunnerOptions{LINE: slow, Workers: 2})
	leased := func() int { return s.count(t, `SELECT count(*) FROM jobs WHERE state = 'leased'`) }
	waitFor(t, func() bool { return slow.asked.Load() == 2 })
	for range 3 {
		s.Clock.Advance(30 * time.Second) // its poll
		if err := s.Clock.BlockUntilContext(t.Context(), 2); err != nil {
			t.Fatal(err)
		}
		if n := leased(); n != 2 {
			t.Fatalf("%d jobs are leased by two workers", n)
		}
	}
	close(slow.let)
	waitFor(t, func() bool { return s.count(t, `SELECT count(*) FROM deliveries WHERE state = 'sent'`) == 5 })
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	s.sim.Assert(t)
}

func TestTheRunnerNeverSleepsWhileAJobThatMayRunIsDue(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.teach(t, 9)
	s.sql(t, `UPDATE teachers SET line_user_id = ''`) // what is due to them needs no request
	first, other := s.publishOne(t), s.publishOther(t)
	stop, ended := s.run(t, jobs.RunnerOptions{Workers: 1})
	waitFor(t, func() bool {
		return s.count(t, `SELECT count(*) FROM deliveries WHERE state IN ('queued', 'processing')`) == 0
	})
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	s.wantState(t, first, roster.Sent, "")
	s.wantState(t, other, roster.Sent, "")
	if n := s.count(t, `SELECT count(*) FROM deliveries WHERE code = 'TEACHER_UNLINKED'`); n < 9 {
		t.Errorf("%d notices were called off, want at least 9", n)
	}
	s.sim.Assert(t)
}

func TestTheRunnerWakesForTheNextTryBeforeItsPoll(t *testing.T) {
	t.Parallel()
	s := newStory(t, func(o *db.Options) { o.Delivery.RetryBase = 11 * time.Second })
	s.fault(t, linesim.Fault{Kind: linesim.FaultStatus, Status: 500, Count: 1})
	id := s.publishOne(t)
	stop, ended := s.run(t, jobs.RunnerOptions{Lease: time.Hour}) // no renewal wakes it
	waitFor(t, func() bool { return s.delivery(t, id).Code == "HTTP_500" })
	for range 29 {
		if err := s.Clock.BlockUntilContext(t.Context(), 3); err != nil {
			t.Fatal(err)
		}
		s.Clock.Advance(time.Second)
	}
	waitFor(t, func() bool { return s.delivery(t, id).State == roster.Sent })
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	s.sim.Assert(t)
}

func TestACommitWakesTheRunner(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	stop, ended := s.run(t, jobs.RunnerOptions{})
	if err := s.Clock.BlockUntilContext(t.Context(), 3); err != nil { // it sleeps
		t.Fatal(err)
	}
	id := s.publishOne(t)
	waitFor(t, func() bool { return s.delivery(t, id).State == roster.Sent })
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	s.sim.Assert(t)
}

func TestAWebhookIsWorkedAtOnceWhenTheRunnerIsWoken(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.listen(t)
	g := s.sim.AddGroup(linesim.Group{ID: dbtest.LINEGroupID(2), Name: "西口 講師", Members: []string{dbtest.LINEUserID(1)}})
	s.watch(t)
	if err := s.Clock.BlockUntilContext(t.Context(), 3); err != nil { // it sleeps
		t.Fatal(err)
	}
	s.must(t, s.sim.InviteBot(g.ID))
	s.must(t, s.sim.FlushWebhooks(t.Context()))
	s.runner.Wake()
	waitFor(t, func() bool { l := s.untied(t); return len(l) == 1 && l[0].Name == "西口 講師" })
}

func TestAJobThatAnotherProcessWroteIsFoundWithinHalfAMinute(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	stop, ended := s.run(t, jobs.RunnerOptions{Lease: time.Hour}) // no renewal wakes it
	rest := func() {
		t.Helper()
		if err := s.Clock.BlockUntilContext(t.Context(), 3); err != nil {
			t.Fatal(err)
		}
	}
	rest()
	other := dbtest.Must(db.Open(t.Context(), db.Options{Dir: s.Store.Dir(), Clock: s.Clock, Location: dbtest.Tokyo, Logger: quiet()}))(t)
	defer other.Close()
	here := s.Store
	s.Store = other
	id := s.publishOne(t)
	s.Store = here
	for range 6 {
		s.Clock.Advance(5 * time.Second)
		rest()
	}
	waitFor(t, func() bool { return s.delivery(t, id).State == roster.Sent })
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	s.sim.Assert(t)
}

// countingClock counts the timers that were set on it.
type countingClock struct {
	*clockwork.FakeClock
	timers *atomic.Int32
}

// NewTimer counts and sets one.
func (c countingClock) NewTimer(d time.Duration) clockwork.Timer {
	c.timers.Add(1)
	return c.FakeClock.NewTimer(d)
}

func TestAnIdleRunnerSleeps(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.publishOne(t)
	s.step(t)
	s.fault(t, linesim.Fault{Kind: linesim.FaultAccess, Count: 1})
	held := s.publishOther(t)
	s.step(t) // what is due and waits for a person keeps nobody awake
	s.publishNext(t)
	s.wantState(t, held, roster.Failed, "HTTP_403")
	clock := countingClock{s.Clock, &atomic.Int32{}}
	stop, ended := s.run(t, jobs.RunnerOptions{Clock: clock})
	for range 600 {
		if err := s.Clock.BlockUntilContext(t.Context(), 3); err != nil {
			t.Fatal(err)
		}
		s.Clock.Advance(time.Second)
	}
	if n := clock.timers.Load(); n < 20 || n > 100 {
		t.Errorf("in ten minutes without work the runner woke %d times", n)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// lookedAt counts how often somebody asks what time it is, as every look for a job does.
type lookedAt struct {
	clockwork.Clock
	times atomic.Int64
}

// Now counts and answers.
func (c *lookedAt) Now() time.Time {
	c.times.Add(1)
	return c.Clock.Now()
}

func TestARunnerWhoseWorkersAreAllBusySleeps(t *testing.T) {
	t.Parallel()
	clock := &lookedAt{}
	s := newStory(t, func(o *db.Options) { clock.Clock, o.Clock = o.Clock, clock })
	s.teach(t, 3)
	slow := s.slow(t)
	stop, ended := s.run(t, jobs.RunnerOptions{LINE: slow, Workers: 2})
	waitFor(t, func() bool { return slow.asked.Load() == 2 })
	if err := s.Clock.BlockUntilContext(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	before := clock.times.Load()
	for range 100_000 {
		runtime.Gosched()
	}
	if n := clock.times.Load() - before; n > 5 {
		t.Errorf("it looked at the clock %d times although nothing happened", n)
	}
	close(slow.let)
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// noisy is a logger whose words can be read while it is in use.
type noisy struct {
	mu  sync.Mutex
	all bytes.Buffer
}

// Write keeps the words.
func (n *noisy) Write(b []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.all.Write(b)
}

// String returns them.
func (n *noisy) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.all.String()
}

var _ io.Writer = (*noisy)(nil)

func TestAnAnswerThatComesAfterItsLeaseWasTakenOverIsDroppedAndLogged(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	id := s.publishOne(t)
	said := &noisy{}
	late := jobs.NewRunner(jobs.RunnerOptions{Store: s.Store, Clock: s.Clock, Logger: slog.New(slog.NewTextHandler(said, nil)), LINE: afterPush{newClient(s.School, s.sim), func() {
		s.Clock.Advance(time.Minute)
		s.step(t) // another worker takes it over, asks with the same key and is answered 409
	}}})
	ended := make(chan error, 1)
	go func() { ended <- late.RunOnce(t.Context()) }()
	waitFor(t, func() bool { return len(ended) == 1 })
	if err := <-ended; err != nil {
		t.Error(err)
	}
	d := s.delivery(t, id)
	if d.State != roster.Sent || len(d.Attempts) != 2 || d.Attempts[0].Status != 409 || d.Attempts[1].Outcome != roster.Interrupted {
		t.Errorf("the delivery is %s with the attempts %+v", d.State, d.Attempts)
	}
	if got := said.String(); !contains(got, "a result came too late") || !contains(got, queue.ErrLeaseLost.Error()) {
		t.Errorf("the log says %q", got)
	}
	if s.messages() != 1 {
		t.Errorf("the group got %d messages, want 1", s.messages())
	}
	s.sim.Assert(t)
}
