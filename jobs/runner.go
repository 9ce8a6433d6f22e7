package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"

	"shiftpost/db"
	"shiftpost/db/queue"
	"shiftpost/db/roster"
)

// LINE is what the runner needs of LINE: a *line.Client.
type LINE interface {
	pusher
	channel
	informer
}

// RunnerOptions say how a Runner works.
type RunnerOptions struct {
	Store   *db.Store
	LINE    LINE
	Clock   clockwork.Clock // nil: the real one
	Workers int             // jobs worked at a time; 0: 8
	Lease   time.Duration   // the store's; a third of it is the pace of renewing. 0: 60 s
	Grace   time.Duration   // how long a shutdown waits for requests in flight; 0: 10 s
	Logger  *slog.Logger    // nil: slog.Default()
}

// Runner works the queue's jobs until it is stopped. There is one in a process, and one process on a data folder.
type Runner struct {
	o    RunnerOptions
	wake chan struct{}
	done chan struct{} // a worker became free
}

// pollEvery bounds how long the runner sleeps: another process may have written a job without waking it.
const pollEvery = 30 * time.Second

// claimTogether bounds how many jobs are claimed in one transaction, and so how long others wait for it.
const claimTogether = 3

// unwritten bounds, in numbers of workers, the jobs that are claimed and whose end is not written down. A worker whose
// request was answered takes the next job at once, so that the next claim and its result can share a commit.
const unwritten = 2

// claimPause is the rest after the database could not do what the runner needs.
const claimPause = time.Second

// NewRunner returns a runner; Run starts it.
func NewRunner(o RunnerOptions) *Runner {
	if o.Clock == nil {
		o.Clock = clockwork.NewRealClock()
	}
	if o.Workers == 0 {
		o.Workers = 8
	}
	if o.Lease == 0 {
		o.Lease = time.Minute
	}
	if o.Grace == 0 {
		o.Grace = 10 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return &Runner{o: o, wake: make(chan struct{}, 1), done: make(chan struct{}, 1)}
}

// Wake tells the runner that a job was written. It never blocks and may be called at any time.
func (r *Runner) Wake() { signal(r.wake) }

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Run takes back what an earlier process left leased and then works jobs until ctx ends. It then claims no more, waits
// the grace time for the requests in flight, cuts off those that are still open, and returns when every worker has
// written down its result. The caller holds the lock of the data folder.
func (r *Runner) Run(ctx context.Context) error {
	n, err := r.o.Store.RecoverOrphans(ctx)
	if err != nil && ctx.Err() != nil {
		return nil // stopped before it began
	}
	if err != nil {
		return fmt.Errorf("start runner: %w", err)
	}
	if n > 0 {
		r.o.Logger.Info("took back jobs of an earlier run", "jobs", n)
	}

	// Before the first claim: a clock that is behind makes a dead retry key look alive.
	if err := r.o.Store.CheckClock(ctx); err != nil && ctx.Err() == nil {
		return fmt.Errorf("start runner: %w", err)
	}

	requests, cut := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cut(nil)
	writing, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	defer giveUp()
	var workers sync.WaitGroup
	workers.Go(func() { r.watchHolds(ctx) })
	asking := make(chan struct{}, r.o.Workers)         // a place for each request in flight
	open := make(chan struct{}, unwritten*r.o.Workers) // and for each claimed job whose end is not written down
	renewing := r.o.Clock.NewTicker(max(r.o.Lease/3, time.Millisecond))
	defer renewing.Stop()
	renewed := r.o.Store.Now()
	for ctx.Err() == nil {
		now := r.o.Store.Now()
		if now.Sub(renewed) < -roster.ClockTolerance {
			if err := r.o.Store.CheckClock(ctx); err != nil {
				r.failed(ctx, "the clock could not be checked", err)
				continue
			}
		}
		// What is in flight first, else a claim could take it over: by the clock, which may have been set forward.
		if age := now.Sub(renewed); len(open) > 0 && (age < 0 || age >= r.o.Lease/3) {
			if err := r.o.Store.RenewLeases(ctx); err != nil {
				r.failed(ctx, "leases could not be renewed", err)
				continue
			}
			renewed = now
		} else if len(open) == 0 {
			renewed = now
		}
		idle := min(cap(asking)-len(asking), cap(open)-len(open))
		if idle > 0 {
			all, err := r.o.Store.Claim(ctx, min(idle, claimTogether))
			switch {
			case err == nil:
				for _, work := range all {
					asking <- struct{}{}
					open <- struct{}{}
					workers.Go(func() {
						write := r.work(requests, work)
						<-asking
						signal(r.done)
						runtime.Gosched() // the next claim first
						write(writing)
						<-open
						signal(r.done)
					})
				}
				continue
			case !errors.Is(err, queue.ErrNone):
				r.failed(ctx, "no job could be claimed", err)
				continue
			}
		}
		r.sleep(ctx, renewing.Chan(), idle > 0)
	}

	grace := r.o.Clock.AfterFunc(r.o.Grace, func() { cut(errShutdown) })
	defer grace.Stop()
	last := r.o.Clock.AfterFunc(2*r.o.Grace, giveUp)
	defer last.Stop()
	workers.Wait()
	return nil
}

// failed tells of what the database could not do, and rests before it is tried again.
func (r *Runner) failed(ctx context.Context, what string, err error) {
	if ctx.Err() == nil {
		r.o.Logger.Error(what, "error", err)
		r.pause(ctx, claimPause)
	}
}

// RunOnce claims one due job and works it to the end. The error is queue.ErrNone when none is due.
func (r *Runner) RunOnce(ctx context.Context) error {
	all, err := r.o.Store.Claim(ctx, 1)
	for _, work := range all {
		r.work(ctx, work)(ctx)
	}
	return err
}

// sleep waits until something can have changed: a job was written, one becomes due, a worker became free, it is time to
// renew leases, or the poll.
func (r *Runner) sleep(ctx context.Context, renewing <-chan time.Time, idle bool) {
	var due <-chan time.Time
	if idle {
		wait := pollEvery
		if next, err := r.o.Store.NextDue(ctx); err == nil {
			wait = min(wait, max(next.Sub(r.o.Store.Now()), time.Millisecond))
		}
		timer := r.o.Clock.NewTimer(wait)
		defer timer.Stop()
		due = timer.Chan()
	}
	select {
	case <-ctx.Done():
	case <-r.wake:
	case <-r.o.Store.Queued():
	case <-r.done:
	case <-due:
	case <-renewing:
	}
}

// work asks LINE what a claimed job wants of it, and returns what writes the result down. A panic is a result too.
func (r *Runner) work(ctx context.Context, work db.Work) (write func(context.Context)) {
	if event := work.Event; event != nil {
		result := ask(ctx, r.o.LINE, event, r.o.Logger)
		return func(ctx context.Context) {
			r.finish(ctx, func(ctx context.Context) error { return r.o.Store.FinishEvent(ctx, event, result) }, "event", event.ID)
		}
	}
	try := work.Try
	result := func() (res db.Result) {
		defer func() {
			if p := recover(); p != nil {
				r.o.Logger.Error("panic while sending", "delivery", try.DeliveryID, "panic", p, "stack", string(debug.Stack()))
				res = db.Result{Outcome: roster.Unknown, Code: roster.CodeInternal}
			}
		}()
		return push(ctx, r.o.LINE, try)
	}()
	return func(ctx context.Context) {
		r.finish(ctx, func(ctx context.Context) error { return r.o.Store.FinishTry(ctx, try, result) }, "delivery", try.DeliveryID)
	}
}

// finish writes a result down, again and again with a growing wait while the database cannot take it: the answer is
// known and must not be asked for twice. What it is about is named in the log.
func (r *Runner) finish(ctx context.Context, write func(context.Context) error, about string, id int64) {
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 10*time.Second) {
		err := write(context.WithoutCancel(ctx))
		switch {
		case err == nil:
			return
		case errors.Is(err, queue.ErrLeaseLost):
			r.o.Logger.Warn("a result came too late", about, id, "error", err)
			return
		}
		r.o.Logger.Error("a result could not be written down", about, id, "error", err)
		if !r.pause(ctx, wait) {
			return
		}
	}
}

// pause waits and reports whether it waited to the end.
func (r *Runner) pause(ctx context.Context, d time.Duration) bool {
	timer := r.o.Clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.Chan():
		return true
	case <-ctx.Done():
		return false
	}
}
