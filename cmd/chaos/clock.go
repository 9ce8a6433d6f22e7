package main

import (
	"time"

	"github.com/jonboulle/clockwork"

	"shiftpost/jobs/line/linesim"
)

// clockFace says what time it is in a run: From at the real instant Zero, and Speed times faster than real time from
// then on, moved by Offset. Two processes of one machine that have the same face show the same time.
type clockFace struct {
	Zero   time.Time
	From   time.Time
	Speed  float64
	Offset time.Duration
}

// start returns a running clock that shows the face and can be moved further.
func (f clockFace) start() (*linesim.TimeMachine, error) {
	m, err := linesim.OpenTimeMachine(fastClock{clockwork.NewRealClock(), f}, "")
	if err != nil {
		return nil, err
	}
	return m, m.Advance(f.Offset)
}

// fastClock is the part of a fast clock that a TimeMachine stands on: its time and AfterFunc. The rest of the embedded
// clock runs at real speed and is not used.
type fastClock struct {
	clockwork.Clock
	face clockFace
}

// Now is computed from the wall clock, because a monotonic reading means nothing to another process.
func (c fastClock) Now() time.Time {
	real := c.Clock.Now().Round(0).Sub(c.face.Zero.Round(0))
	return c.face.From.Add(time.Duration(float64(real) * c.face.Speed))
}

// AfterFunc runs f when d has passed on this clock.
func (c fastClock) AfterFunc(d time.Duration, f func()) clockwork.Timer {
	return c.Clock.AfterFunc(time.Duration(float64(d)/c.face.Speed), f)
}
