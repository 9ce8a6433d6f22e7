package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/go-co-op/gocron/v2"
	"github.com/google/uuid"
	"github.com/jonboulle/clockwork"

	"shiftpost/db"
	"shiftpost/db/files"
	"shiftpost/jobs/line"
)

// Names of the sweeps, as the store records them and the command line takes them.
const (
	SweepReminders    = db.SweepReminders
	SweepRecovery     = "recovery"
	SweepQuota        = "quota"
	SweepReachability = "reachability"
)

// quarterHours is when the reminder sweep runs, on the school's clock. Reminders are due roster.ReminderSlack, which is
// as long as its pace, before their lead, so that none is late.
const quarterHours = "0,15,30,45 * * * *"

// hourly is when the quota is asked for: at the month's start too, when it begins anew.
const hourly = "0 * * * *"

// nightly is when LINE is asked whom the account can reach: webhooks tell it at once, but one that was lost is never
// told again.
const nightly = "10 3 * * *"

// meter is what the quota sweep needs of LINE.
type meter interface {
	Quota(ctx context.Context) (line.Quota, error)
	Consumption(ctx context.Context) (int, error)
}

// SweepLINE is what the sweeps ask LINE: a *line.Client.
type SweepLINE interface {
	meter
	contacts
}

// SweepOptions say what the sweeps work on.
type SweepOptions struct {
	Store  *db.Store
	Files  *files.Store
	LINE   SweepLINE       // nil: the sweeps that ask LINE do not run
	Clock  clockwork.Clock // nil: the real one
	Every  time.Duration   // pace of the recovery sweep; 0: 15 minutes
	Wake   func()          // tells the runner that jobs were written; nil: nobody
	Logger *slog.Logger    // nil: slog.Default()
}

// Sweeps are the recurring passes over the database. Each may run at any time, any number of times, and in two
// processes at once: it looks at rows, not at the clock's tick, so a missed time is made up by the next one.
type Sweeps struct {
	o SweepOptions

	mu        sync.Mutex
	scheduler gocron.Scheduler // while Run runs
}

// NewSweeps returns the sweeps; Run schedules them.
func NewSweeps(o SweepOptions) *Sweeps {
	if o.Clock == nil {
		o.Clock = clockwork.NewRealClock()
	}
	if o.Every == 0 {
		o.Every = 15 * time.Minute
	}
	if o.Wake == nil {
		o.Wake = func() {}
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return &Sweeps{o: o}
}

// Run runs the sweeps at their times, and at the start those that anything may wait for, until ctx ends. All schedules are
// here.
func (s *Sweeps) Run(ctx context.Context) error {
	scheduler, err := gocron.NewScheduler(
		gocron.WithClock(s.o.Clock),
		gocron.WithLocation(s.o.Store.Location()),
		gocron.WithStopTimeout(10*time.Second),
		gocron.WithGlobalJobOptions(
			gocron.WithSingletonMode(gocron.LimitModeReschedule),
			gocron.WithEventListeners(gocron.AfterJobRunsWithPanic(func(_ uuid.UUID, name string, recovered any) {
				s.o.Logger.Error("panic in a sweep", "sweep", name, "panic", recovered)
			})),
		),
	)
	if err != nil {
		return fmt.Errorf("schedule sweeps: %w", err)
	}
	type scheduled struct {
		name string
		when gocron.JobDefinition
		run  func(context.Context) (int, error)
		now  bool // at the start too
	}
	sweeps := []scheduled{
		{SweepReminders, gocron.CronJob(quarterHours, false), s.Remind, true},
		{SweepRecovery, gocron.DurationJob(s.o.Every), s.Recover, true},
	}
	if s.o.LINE != nil {
		sweeps = append(sweeps, scheduled{SweepQuota, gocron.CronJob(hourly, false), s.ReadQuota, true},
			scheduled{SweepReachability, gocron.CronJob(nightly, false), s.CheckReachability, false})
	}
	for _, sweep := range sweeps {
		options := []gocron.JobOption{gocron.WithName(sweep.name)}
		if sweep.now {
			options = append(options, gocron.WithStartAt(gocron.WithStartImmediately()))
		}
		_, err := scheduler.NewJob(sweep.when, gocron.NewTask(func() { s.log(sweep.name)(sweep.run(ctx)) }), options...)
		if err != nil {
			return errors.Join(fmt.Errorf("schedule sweep of %s: %w", sweep.name, err), scheduler.Shutdown())
		}
	}
	scheduler.Start()
	s.set(scheduler)
	<-ctx.Done()
	s.set(nil)
	if err := scheduler.Shutdown(); err != nil {
		return fmt.Errorf("stop sweeps: %w", err)
	}
	return nil
}

func (s *Sweeps) set(scheduler gocron.Scheduler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scheduler = scheduler
}

// NextSweep says when a sweep runs next.
type NextSweep struct {
	Name string
	At   time.Time
}

// Next lists when each sweep runs next, the soonest first. There are none unless Run runs.
func (s *Sweeps) Next() []NextSweep {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.scheduler == nil {
		return nil
	}
	now := s.o.Clock.Now()
	var next []NextSweep
	for _, job := range s.scheduler.Jobs() {
		runs, err := job.NextRuns(2) // the first is over while the sweep runs
		if err != nil {
			continue // the scheduler ends
		}
		if i := slices.IndexFunc(runs, now.Before); i >= 0 {
			next = append(next, NextSweep{job.Name(), runs[i]})
		}
	}
	slices.SortFunc(next, func(a, b NextSweep) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Name, b.Name)) })
	return next
}

func (s *Sweeps) log(name string) func(int, error) {
	return func(handled int, err error) {
		switch {
		case errors.Is(err, context.Canceled):
		case err != nil:
			s.o.Logger.Error("a sweep had trouble", "sweep", name, "handled", handled, "error", err)
		case handled > 0:
			s.o.Logger.Info("a sweep moved rows", "sweep", name, "handled", handled)
		}
	}
}

// recorded runs a sweep, wakes the runner if it moved anything, and records it.
func (s *Sweeps) recorded(ctx context.Context, name string, sweep func(context.Context) (int, error)) (int, error) {
	began := s.o.Store.Now()
	n, err := sweep(ctx)
	if n > 0 {
		s.o.Wake()
	}
	return n, errors.Join(err, s.o.Store.RecordSweep(ctx, name, began, n, err))
}

// Remind is the reminder sweep: it makes the reminders, corrections and cancellations that are due. It returns how many
// notices it made or changed.
func (s *Sweeps) Remind(ctx context.Context) (int, error) {
	return s.recorded(ctx, SweepReminders, s.o.Store.MakeReminders)
}

// Recover is the recovery sweep: deliveries that nothing would carry on are queued or ended, and rows and picture
// files that nothing needs any more are removed. It returns how many deliveries it moved.
func (s *Sweeps) Recover(ctx context.Context) (int, error) {
	return s.recorded(ctx, SweepRecovery, func(ctx context.Context) (int, error) {
		n, err := s.o.Store.RecoverDeliveries(ctx)
		if n > 0 {
			s.o.Wake() // what was moved need not wait for the tidying
		}
		return n, errors.Join(err, s.clean(ctx))
	})
}

// ReadQuota asks LINE how many messages the month may have and has had, and keeps the answer. When LINE does not answer
// it keeps the answer before and that it is old. It returns 1 when it learned something.
func (s *Sweeps) ReadQuota(ctx context.Context) (int, error) {
	return s.recorded(ctx, SweepQuota, func(ctx context.Context) (int, error) {
		reading, err := s.askQuota(ctx)
		if err == nil {
			return 1, s.o.Store.RecordQuota(ctx, reading)
		}
		if ctx.Err() == nil {
			err = errors.Join(err, s.o.Store.RecordQuotaFailure(ctx))
		}
		return 0, err
	})
}

func (s *Sweeps) askQuota(ctx context.Context) (db.QuotaReading, error) {
	quota, err := s.o.LINE.Quota(ctx)
	if err != nil {
		return db.QuotaReading{}, err
	}
	used, err := s.o.LINE.Consumption(ctx)
	return db.QuotaReading{Limited: quota.Limited, Limit: quota.Value, Used: used}, err
}

func (s *Sweeps) clean(ctx context.Context) error {
	if _, err := s.o.Store.Prune(ctx); err != nil {
		return err
	}
	keys, err := s.o.Store.ImageKeys(ctx)
	if err != nil {
		return err
	}
	removed, err := s.o.Files.Prune(s.o.Store.Now().Add(-db.PreviewsKept), func(key string) bool { return keys[key] })
	if removed > 0 {
		s.o.Logger.Info("removed pictures that nothing shows", "files", removed)
	}
	return err
}
