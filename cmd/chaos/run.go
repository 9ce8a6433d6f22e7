package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"shiftpost/db"
	"shiftpost/db/roster"
	"shiftpost/jobs/line/linesim"
)

// settings say what a run does.
type settings struct {
	seed       uint64
	deliveries int                         // to make before the run drains
	kills      int                         // at random instants
	speed      float64                     // of the clock
	broken     string                      // what is broken on purpose, if anything
	dir        string                      // an empty folder for the victim
	progress   func(made int64, kills int) // told after each kill; nil: nobody
}

const (
	admins      = 8                      // who work at the same time
	thinkTime   = 200 * time.Millisecond // the longest pause of an admin: the victim shall send most of what they cause
	drainKills  = 10                     // one of so many kills falls into the time when all that is left is tried again
	lineTimeout = 600 * time.Millisecond // of a request to LINE, in real time
	drainStep   = 5 * time.Minute        // of the run's clock: so much that falls due together is tried together
	never       = 12 * time.Hour         // of the run's clock: what is due later than that is not waited for
	maxWait     = 30 * time.Second       // real time in which something must move while something is under way
)

// run is one run of chaos: a simulated LINE and admins in this process, which nobody kills, and the victim in another.
type run struct {
	settings
	people []*person
	boards []*board
	clock  *linesim.TimeMachine
	face   clockFace
	allDue time.Time
	sim    *linesim.Simulator
	victim *process
	pushes pushLog

	dice   dice
	pool   pool
	made   atomic.Int64 // deliveries, as far as is known
	offset time.Duration
	moving sync.Mutex // held while the clock is moved or the victim is dead

	asking   atomic.Int64 // requests that LINE works on
	requests atomic.Int64
	heard    atomic.Int64 // Unix nanoseconds of the first push of the present life; 0: none yet

	killed     []time.Time // on the clock of the run
	recoveries []time.Duration
	refused    atomic.Int64
	refusal    atomic.Value
}

// report is what a run found.
type report struct {
	verdict
	made       int64
	requests   int64
	kills      int
	recovery   time.Duration // the longest
	took       time.Duration
	simulated  time.Duration
	refused    int64 // requests of admins that were answered with an error
	refusal    string
	unfinished map[roster.DeliveryState]int
}

// dice are random numbers for several goroutines.
type dice struct {
	mu sync.Mutex
	r  *rand.Rand
}

func (d *dice) n(n int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.r.IntN(n)
}

func (d *dice) upTo(limit time.Duration) time.Duration { return time.Duration(d.n(int(limit) + 1)) }

// carryOut makes a run and judges it.
func carryOut(ctx context.Context, s settings) (report, error) {
	r := &run{settings: s, dice: dice{r: rand.New(rand.NewPCG(s.seed, 1))}}
	began := time.Now()
	loc, err := time.LoadLocation(schoolZone)
	if err != nil {
		return report{}, err
	}
	today := roster.DateOf(began, loc)
	r.face = clockFace{Zero: began, From: roster.Instant(today, runStart, loc), Speed: s.speed}
	r.allDue = roster.Instant(today, allDue, loc)
	if r.clock, err = r.face.start(); err != nil {
		return report{}, err
	}
	r.sim, err = linesim.New(linesim.Options{Clock: r.clock, Quota: -1, Seed: s.seed})
	if err != nil {
		return report{}, err
	}
	stop, err := r.listen()
	if err != nil {
		return report{}, err
	}
	out, err := r.live(ctx, loc)
	return out, errors.Join(err, stop())
}

// listen lets LINE answer on loopback.
func (r *run) listen() (stop func() error, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r.sim.SetBaseURL("http://" + l.Addr().String())
	server := &http.Server{Handler: http.HandlerFunc(r.line), ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	return func() error {
		r.sim.Close()
		err := server.Close()
		if e := <-ended; !errors.Is(e, http.ErrServerClosed) {
			err = errors.Join(err, e)
		}
		return err
	}, nil
}

// line hands requests on to the simulator and counts the pushes.
func (r *run) line(w http.ResponseWriter, req *http.Request) {
	if req.Method == http.MethodPost {
		r.asking.Add(1)
		defer r.asking.Add(-1)
		r.requests.Add(1)
		r.heard.CompareAndSwap(0, time.Now().UnixNano())
	}
	r.sim.ServeHTTP(w, req)
}

func (r *run) live(ctx context.Context, loc *time.Location) (report, error) {
	var err error
	r.people, r.boards, err = fillSchool(ctx, db.Options{Dir: r.dir, Clock: r.clock, Location: loc}, r.sim, max(6, r.deliveries/250), max(100, r.deliveries/8))
	if err != nil {
		return report{}, fmt.Errorf("fill the school: %w", err)
	}
	if err := spoil(r.sim, r.people); err != nil {
		return report{}, err
	}
	r.pool.fill(r.people, r.boards)
	said, err := os.Create(filepath.Join(r.dir, "victim.log"))
	if err != nil {
		return report{}, err
	}
	defer said.Close()
	r.victim = newProcess(victimConfig{
		Dir: r.dir, LINEURL: r.sim.BaseURL(), LIFFURL: r.sim.LIFFBaseURL(), LIFFID: r.sim.Login().LIFFID, Token: r.sim.Channel().AccessToken,
		TimeoutS: lineTimeout.Seconds(), Break: r.broken,
	}, func() clockFace {
		f := r.face
		f.Offset = r.offset
		return f
	}, said)
	if err := r.victim.start(); err != nil {
		return report{}, err
	}
	defer r.victim.kill() // if something fails below; else none runs by then

	watching, together := errgroup.WithContext(ctx)
	over := make(chan struct{})
	watching.Go(func() error { return r.watch(together, over) })
	watching.Go(func() error { return r.tend(together, over) })
	watching.Go(func() error {
		defer close(over)
		if err := r.work(together); err != nil {
			return err
		}
		return r.drain(together)
	})
	if err := watching.Wait(); err != nil {
		return report{}, err
	}
	out := report{made: r.made.Load(), requests: r.requests.Load(), kills: len(r.recoveries), simulated: r.clock.Since(r.face.From).Round(time.Minute)}
	var shown []shownDelivery
	if err := r.victim.ask(ctx, http.MethodGet, "/deliveries", nil, &shown); err != nil {
		return out, err
	}
	if err := r.victim.stop(); err != nil {
		return out, err
	}
	if err := r.pushes.collect(r.sim); err != nil {
		return out, err
	}
	out.verdict = judge(r.people, r.boards, r.pushes.all, r.killed, shown)
	out.unfinished = map[roster.DeliveryState]int{}
	for _, d := range shown {
		if d.State.Live() {
			out.unfinished[d.State]++
		}
	}
	out.recovery = slices.Max(append(r.recoveries, 0))
	out.refused = r.refused.Load()
	out.refusal, _ = r.refusal.Load().(string)
	out.took = time.Since(r.face.Zero)
	return out, nil
}

// watch collects what LINE gets before the simulator forgets it.
func (r *run) watch(ctx context.Context, over <-chan struct{}) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if err := r.pushes.collect(r.sim); err != nil {
				return r.victim.fail(err)
			}
		case <-over:
			return nil
		case <-ctx.Done():
			return r.victim.fail(context.Cause(ctx))
		}
	}
}

// tend is the person who looks at the site now and then: it resumes after a 403, and does not wait for holds that take
// long but moves the clock to their end.
func (r *run) tend(ctx context.Context, over <-chan struct{}) error {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	answered := time.Now()
	for {
		select {
		case <-tick.C:
		case <-over:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		var now stateAnswer
		if err := r.victim.call(ctx, http.MethodGet, "/state", nil, &now); errors.Is(err, errUnanswered) {
			if time.Since(answered) > maxWait {
				return r.victim.giveUp(fmt.Errorf("the victim has not answered for %s", maxWait))
			}
			continue
		} else if err != nil {
			return err
		}
		answered = time.Now()
		r.made.Store(max(r.made.Load(), now.Newest))
		for _, h := range now.Holds {
			if h.Cause == roster.HoldForbidden {
				if err := r.victim.call(ctx, http.MethodDelete, "/holds/"+string(h.Cause), nil, nil); err != nil && !errors.Is(err, errUnanswered) {
					return err
				}
				continue
			}
			if until := h.ProbeAt.Sub(r.clock.Now()); !h.ProbeAt.IsZero() && until > 90*time.Second {
				if err := r.advance(ctx, until); err != nil {
					return err
				}
			}
		}
	}
}

// advance moves the clock of LINE and of the victim.
func (r *run) advance(ctx context.Context, d time.Duration) error {
	r.moving.Lock()
	defer r.moving.Unlock()
	r.offset += d
	if err := r.clock.Advance(d); err != nil {
		return err
	}
	return r.victim.ask(ctx, http.MethodPut, "/clock", clockRequest{r.offset}, nil)
}

// murder kills the victim, starts it again and notes how long it took until LINE heard from it, or until it answered if
// there was nothing to send.
func (r *run) murder(ctx context.Context) error {
	r.moving.Lock()
	defer r.moving.Unlock()
	if r.progress != nil {
		defer func() { r.progress(r.made.Load(), len(r.recoveries)) }()
	}
	killed := time.Now()
	if err := r.victim.kill(); err != nil {
		return err
	}
	r.killed = append(r.killed, r.clock.Now())
	r.heard.Store(0)
	if err := r.victim.start(); err != nil {
		return r.victim.fail(err)
	}
	answered := time.Since(killed)
	var now stateAnswer
	if err := r.victim.ask(ctx, http.MethodGet, "/state", nil, &now); err != nil {
		return err
	}
	for heard := r.heard.Load(); ; heard = r.heard.Load() {
		switch {
		case heard != 0:
			r.recoveries = append(r.recoveries, max(answered, time.Unix(0, heard).Sub(killed)))
			return nil
		case len(now.Holds) > 0 || now.NextDue.IsZero() || now.NextDue.After(r.clock.Now()):
			r.recoveries = append(r.recoveries, answered)
			return nil
		case time.Since(killed) > maxWait:
			return fmt.Errorf("nothing was sent within %s of a kill although something is due", maxWait)
		}
		if err := r.victim.ask(ctx, http.MethodGet, "/state", nil, &now); err != nil {
			return err
		}
	}
}

// work lets admins edit and publish, and kills the victim under them, until enough deliveries were made.
func (r *run) work(ctx context.Context) error {
	var at []int // how many deliveries were made when a kill is due
	for range r.kills - r.kills/drainKills {
		at = append(at, r.dice.n(r.deliveries*95/100))
	}
	slices.Sort(at)
	group, ctx := errgroup.WithContext(ctx)
	for range admins {
		group.Go(func() error {
			for int(r.made.Load()) < r.deliveries {
				select {
				case <-time.After(r.dice.upTo(thinkTime)):
				case <-ctx.Done():
					return nil
				}
				if err := r.act(ctx); err != nil {
					return err
				}
			}
			return nil
		})
	}
	group.Go(func() error {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for len(at) > 0 {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return nil
			}
			if int(r.made.Load()) < at[0] {
				continue
			}
			at = at[1:]
			if err := r.pauseAndKill(ctx, 100*time.Millisecond); err != nil {
				return err
			}
		}
		return nil
	})
	return group.Wait()
}

// pauseAndKill kills at a random instant within a time.
func (r *run) pauseAndKill(ctx context.Context, within time.Duration) error {
	select {
	case <-time.After(r.dice.upTo(within)):
	case <-ctx.Done():
		return nil
	}
	return r.murder(ctx)
}

// drain moves the clock from one due instant to the next until every reminder is due and nothing waits, or nothing will
// ever move.
func (r *run) drain(ctx context.Context) error {
	kills := r.kills / drainKills
	stuck := 0 // deliveries that nobody works on although they are being sent
	moved := time.Now()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		var now stateAnswer
		asking := r.asking.Load()
		if err := r.victim.ask(ctx, http.MethodGet, "/state", nil, &now); err != nil {
			return err
		}
		waiting := now.Waiting[roster.Pending] + now.Waiting[roster.Queued] + now.Waiting[roster.Processing]
		due := !now.NextDue.IsZero() && !now.NextDue.After(r.clock.Now())
		switch {
		case waiting == 0 && !now.SweptAt.Before(r.allDue):
			return nil
		case waiting == 0 && r.clock.Now().Before(r.allDue):
		case waiting == 0 || asking > 0 || due || now.Waiting[roster.Processing] > stuck:
			if r.broken == breakNoRecover && asking == 0 && !due && time.Since(moved) > time.Second {
				stuck = now.Waiting[roster.Processing]
			}
			if time.Since(moved) > maxWait {
				return fmt.Errorf("nothing moves although %d deliveries wait", waiting)
			}
			continue
		}
		next := never
		if !now.NextDue.IsZero() {
			next = now.NextDue.Sub(r.clock.Now()) + drainStep
		}
		if now.Waiting[roster.Pending] > 0 || len(now.Holds) > 0 {
			next = min(next, 16*time.Minute)
		}
		if next >= never || waiting == 0 {
			switch next = r.allDue.Sub(r.clock.Now()) + time.Minute; {
			case next > 0:
			case now.SweptAt.Before(r.allDue):
				continue
			default:
				return nil // the rest will never move
			}
		}
		if err := r.advance(ctx, next); err != nil {
			return err
		}
		if kills > 0 {
			kills--
			if err := r.pauseAndKill(ctx, 50*time.Millisecond); err != nil {
				return err
			}
		}
		moved = time.Now()
	}
}
