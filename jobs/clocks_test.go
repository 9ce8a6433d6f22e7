package jobs_test

import (
	"errors"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"

	"shiftpost/db"
	"shiftpost/db/dbtest"
	"shiftpost/db/roster"
	"shiftpost/jobs"
	"shiftpost/jobs/line/linesim"
)

// setClock moves the clock by hand, and lets it be looked at as the runner does.
func (s *story) setClock(t *testing.T, by time.Duration) {
	t.Helper()
	s.Clock.Advance(by)
	if err := s.Store.CheckClock(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestAClockThatIsSetBackALittleUnbarsNoSupersededMonth(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.fault(t, linesim.Fault{Kind: linesim.FaultStatus, Status: 400, Count: 1})
	first := s.publishOne(t)
	s.step(t)
	s.wantState(t, first, roster.Failed, "HTTP_400")
	second := s.publishNext(t).DeliveryID
	s.step(t)
	s.wantState(t, second, roster.Sent, "")
	s.setClock(t, -time.Minute)
	var unwanted *db.NotWantedError
	if err := s.Store.RetryDelivery(t.Context(), first, s.Admin.ID, false); !errors.As(err, &unwanted) || unwanted.Code != roster.CodeSuperseded {
		t.Errorf("the retry of a superseded month answered %v", err)
	}
}

func TestAClockThatIsSetBackALittleLetsNoOldMonthGoAfterTheNewOne(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	first := s.publishOne(t)
	try := s.begin(t)
	second := s.publishNext(t).DeliveryID
	s.setClock(t, -9*time.Minute)
	s.end(t, try, roster.Unknown)
	for range 12 {
		s.Clock.Advance(time.Minute)
		s.step(t)
	}
	s.wantState(t, first, roster.Canceled, roster.CodeSuperseded)
	s.wantState(t, second, roster.Sent, "")
	if s.messages() != 1 {
		t.Errorf("the group got %d messages", s.messages())
	}
}

func TestAResumedClockLetsNoOldMonthGoAfterTheNewOne(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.Clock.Advance(2 * time.Hour) // wrong
	first := s.publishOne(t)
	try := s.begin(t)
	second := s.publishNext(t).DeliveryID
	s.end(t, try, roster.Unknown)
	s.step(t)
	s.wantState(t, second, roster.Sent, "")
	s.setClock(t, -2*time.Hour)
	s.wantHold(t, roster.HoldClock)
	if err := s.Store.ResumeClock(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.step(t)
	s.wantState(t, first, roster.Canceled, roster.CodeSuperseded)
}

// At its start the runner knows nothing of the clock. With one that is behind, a key that LINE has forgotten looks alive.
func TestNothingIsSentAtTheStartBeforeTheClockWasLookedAt(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	right := clockwork.NewFakeClockAt(s.Clock.Now()) // LINE's
	s.sim = linesim.Start(t, linesim.Options{Clock: right, Logger: quiet()})
	s.sim.AddGroup(linesim.Group{ID: dbtest.LINEGroupID(1), Name: "みほん塾 講師連絡", Members: []string{dbtest.LINEUserID(1)}, BotIn: true})
	s.runner = newRunner(s.School, s.sim)
	s.fault(t, linesim.Fault{Kind: linesim.FaultCut, Accept: true, Count: 1})
	id := s.publishOne(t)
	s.step(t) // it arrived; the answer is lost
	right.Advance(25 * time.Hour)
	s.Clock.Advance(23 * time.Hour)
	s.Confirm(t, 2, 9, "15:00-16:00") // a newer row, which says that nobody can be told
	s.Clock.Advance(-20 * time.Hour)
	s.watch(t)
	waitFor(t, func() bool { return len(s.holds(t)) == 1 })
	// At rest: its ticker and the timers of the queue and of the holds are set.
	if err := s.Clock.BlockUntilContext(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	s.wantState(t, id, roster.Queued, roster.CodeNetwork)
	if s.messages() != 1 {
		t.Errorf("the group got the month %d times", s.messages())
	}
}

func TestAClockThatGoesBackWhileTheRunnerWorksIsNoticedBeforeTheNextClaim(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	sent := s.publishOne(t)
	s.watch(t)
	waitFor(t, func() bool { return s.delivery(t, sent).State == roster.Sent })
	if err := s.Clock.BlockUntilContext(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	s.Clock.Advance(-time.Hour)
	other := s.publishOther(t) // wakes it, long before the next look at the holds
	waitFor(t, func() bool { return len(s.holds(t)) == 1 })
	s.wantState(t, other, roster.Queued, "")
}

// keyOfTheFuture publishes under a clock that is two days ahead, so that LINE's answers are lost and the ladder ends, and
// sets the clock right.
func (s *story) keyOfTheFuture(t *testing.T) (deliveryID int64) {
	t.Helper()
	s.Clock.Advance(48 * time.Hour)
	deliveryID = s.publishOne(t)
	for s.delivery(t, deliveryID).State == roster.Queued {
		s.Clock.Advance(s.delivery(t, deliveryID).NextAttemptAt.Sub(s.Store.Now()))
		s.end(t, s.begin(t), roster.Unknown)
	}
	s.wantState(t, deliveryID, roster.Failed, roster.CodeTimeout)
	s.setClock(t, -48*time.Hour)
	s.wantHold(t, roster.HoldClock)
	return deliveryID
}

func TestARetryKeyOfAWrongClockIsNotBelievedLongerThanLINEKeepsIt(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*testing.T, *story){
		"while it is held":                  func(t *testing.T, s *story) {},
		"a day after a person resumed":      func(t *testing.T, s *story) { s.must(t, s.Store.ResumeClock(t.Context())); s.setClock(t, 25*time.Hour) },
		"two days after a person resumed":   func(t *testing.T, s *story) { s.must(t, s.Store.ResumeClock(t.Context())); s.setClock(t, 60*time.Hour) },
		"when the clock has passed the row": func(t *testing.T, s *story) { s.setClock(t, 50*time.Hour); s.wantHold(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStory(t)
			id := s.keyOfTheFuture(t)
			end(t, s)
			if err := s.Store.RetryDelivery(t.Context(), id, s.Admin.ID, false); !errors.Is(err, db.ErrMayHaveArrived) {
				t.Errorf("the retry answered %v; it must ask first", err)
			}
		})
	}
}

func TestABriefStepBackOfTheClockLeavesRetryKeysAlive(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.fault(t, linesim.Fault{Kind: linesim.FaultStatus, Status: 500, Count: 1})
	id := s.publishOne(t)
	s.step(t)
	key := s.delivery(t, id).RetryKey
	s.setClock(t, -15*time.Minute)
	s.wantHold(t, roster.HoldClock)
	s.setClock(t, 20*time.Minute)
	s.wantHold(t)
	s.step(t)
	s.wantState(t, id, roster.Sent, "")
	if d := s.delivery(t, id); d.RetryKey != key {
		t.Error("it went with a new key")
	}
}

func TestAResumedClockLooksAtOnceAtAHoldThatBeganInTheFuture(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.Clock.Advance(24 * time.Hour)
	s.fault(t, linesim.Fault{Kind: linesim.FaultRate, Count: 1})
	s.publishOne(t)
	s.step(t)
	s.wantHold(t, roster.HoldRateLimit)
	s.setClock(t, -24*time.Hour)
	s.must(t, s.Store.ResumeClock(t.Context()))
	for _, h := range dbtest.Must(s.Store.Holds(t.Context()))(t) {
		if h.ProbeAt.After(s.Store.Now()) {
			t.Errorf("the hold of %s is next looked at in %s", h.Cause, h.ProbeAt.Sub(s.Store.Now()))
		}
	}
}

func TestTheEndOfTheClocksHoldWakesTheRunner(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.publishOne(t)
	s.step(t)
	s.setClock(t, -20*time.Minute)
	s.wantHold(t, roster.HoldClock)
	s.publishOther(t)
	for len(s.Store.Queued()) > 0 {
		<-s.Store.Queued()
	}
	s.setClock(t, 20*time.Minute)
	s.wantHold(t)
	if len(s.Store.Queued()) != 1 {
		t.Error("nobody is told that a job may run now")
	}
}

func TestAClockThatIsSetForwardTakesOverNothingThatIsInFlight(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	slow := s.slow(t)
	id := s.publishOne(t)
	stop, ended := s.run(t, jobs.RunnerOptions{LINE: slow, Clock: clockwork.NewRealClock()}) // its timers do not step
	waitFor(t, func() bool { return slow.asked.Load() == 1 })
	s.Clock.Advance(2 * time.Minute) // longer than a lease
	other := s.publishOther(t)       // wakes it
	waitFor(t, func() bool { return slow.asked.Load() == 2 })
	close(slow.let)
	waitFor(t, func() bool {
		return s.delivery(t, id).State == roster.Sent && s.delivery(t, other).State == roster.Sent
	})
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if d := s.delivery(t, id); len(d.Attempts) != 1 || slow.asked.Load() != 2 {
		t.Errorf("%d requests were made, and the first delivery has the attempts %+v", slow.asked.Load(), d.Attempts)
	}
}
