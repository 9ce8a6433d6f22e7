package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"shiftpost/db/roster"
	"shiftpost/jobs/line"
)

// channel is what ending a hold needs of LINE.
type channel interface {
	BotInfo(ctx context.Context) (line.BotInfo, error)
	Quota(ctx context.Context) (line.Quota, error)
	Consumption(ctx context.Context) (int, error)
}

// watchHolds looks at each hold when it is due and ends those whose cause is gone, until ctx ends. At the start it asks
// LINE about a refused token at once: a new one may have been set.
func (r *Runner) watchHolds(ctx context.Context) {
	rest := time.Millisecond
	for starting := true; ctx.Err() == nil; starting = false {
		if err := r.probeHolds(ctx, starting); err == nil {
			rest = time.Millisecond
		} else {
			// What LINE answered may not have been noted: it must not be asked again at once, nor so for ever.
			rest = min(max(2*rest, claimPause), pollEvery)
			if ctx.Err() == nil {
				r.o.Logger.Error("the holds could not be looked at", "error", err)
			}
		}
		wait := pollEvery
		if holds, err := r.o.Store.Holds(ctx); err == nil {
			for _, h := range holds {
				if !h.ProbeAt.IsZero() {
					wait = min(wait, h.ProbeAt.Sub(r.o.Store.Now()))
				}
			}
		}
		if !r.pause(ctx, max(wait, rest)) {
			return
		}
	}
}

// probeHolds looks at the holds that are due, or at all that LINE can be asked about.
func (r *Runner) probeHolds(ctx context.Context, starting bool) error {
	errs := []error{r.o.Store.CheckClock(ctx)}
	holds, err := r.o.Store.Holds(ctx)
	errs = append(errs, err)
	for _, h := range holds {
		due := !h.ProbeAt.IsZero() && !h.ProbeAt.After(r.o.Store.Now())
		if due || starting && h.Cause == roster.HoldUnauthorized {
			if err := r.probe(ctx, h); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", h.Cause, err))
			}
		}
	}
	return errors.Join(errs...)
}

func (r *Runner) probe(ctx context.Context, h roster.Hold) error {
	now := r.o.Store.Now()
	next := now
	switch h.Cause {
	case roster.HoldUnauthorized:
		if _, err := r.o.LINE.BotInfo(ctx); err != nil {
			next = now.Add(roster.UnauthorizedProbeEvery)
		}
	case roster.HoldMonthlyLimit:
		left, err := r.messagesLeft(ctx)
		if err != nil {
			r.o.Logger.Warn("LINE did not say how many messages are left", "error", err)
		}
		if err != nil || left < h.Needed {
			next = roster.NextMonthlyProbe(now)
		}
	case roster.HoldRateLimit:
	default:
		return nil
	}
	if next.After(now) {
		return r.o.Store.PostponeProbe(ctx, h.Cause, next)
	}
	if err := r.o.Store.EndHold(ctx, h.Cause); err != nil {
		return err
	}
	r.o.Logger.Info("pushes go on", "cause", h.Cause)
	return nil
}

// noLimit stands for a plan without a monthly limit.
const noLimit = 1 << 30

// messagesLeft asks LINE how many messages the month has left.
func (r *Runner) messagesLeft(ctx context.Context) (int, error) {
	quota, err := r.o.LINE.Quota(ctx)
	if err != nil {
		return 0, err
	}
	if !quota.Limited {
		return noLimit, nil
	}
	used, err := r.o.LINE.Consumption(ctx)
	return quota.Value - used, err
}
