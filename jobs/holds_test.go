package jobs_test

import (
	"context"
	"testing"
	"time"

	"shiftpost/db"
	"shiftpost/db/dbtest"
	"shiftpost/db/roster"
	"shiftpost/jobs"
	"shiftpost/jobs/line/linesim"
)

// holds lists the causes for which pushes wait.
func (s *story) holds(t *testing.T) []roster.HoldCause {
	t.Helper()
	var causes []roster.HoldCause
	for _, h := range dbtest.Must(s.Store.Holds(t.Context()))(t) {
		causes = append(causes, h.Cause)
	}
	return causes
}

func (s *story) wantHold(t *testing.T, want ...roster.HoldCause) {
	t.Helper()
	got := s.holds(t)
	if len(got) != len(want) || (len(want) == 1 && got[0] != want[0]) {
		t.Fatalf("pushes wait for %v, want %v", got, want)
	}
}

// otherSchool adds a second group with a LINE group of its own and publishes its month.
func (s *story) publishOther(t *testing.T) int64 {
	t.Helper()
	g := dbtest.Must(s.Store.CreateGroup(t.Context(), db.GroupEdit{Name: "西口グループ", LeadMinutes: 120}))(t)
	room := dbtest.Must(s.Store.CreateClassroom(t.Context(), db.ClassroomEdit{GroupID: g.ID, Name: "西口教室", ShortName: "西口"}))(t)
	s.sim.AddGroup(linesim.Group{ID: dbtest.LINEGroupID(2), Name: "西口", Members: []string{dbtest.LINEUserID(1)}, BotIn: true})
	if err := s.Store.LinkGroup(t.Context(), g.ID, dbtest.LINEGroupID(2), "西口", 1); err != nil {
		t.Fatal(err)
	}
	e := s.Edit(t, 2, 20, "17:00-21:30")
	e.ClassroomID = room.ID
	dbtest.Must(s.Store.AddShift(t.Context(), e, roster.ShiftConfirmed))(t)
	other := *s.School
	other.Group = g
	return other.Publish(t).DeliveryID
}

func (s *story) wantState(t *testing.T, id int64, state roster.DeliveryState, code roster.Code) {
	t.Helper()
	if d := s.delivery(t, id); d.State != state || d.Code != code {
		t.Errorf("delivery %d is %s %q, want %s %q", id, d.State, d.Code, state, code)
	}
}

func TestAFaultOfTheChannelFailsOneDeliveryAndHoldsTheOthers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind  linesim.FaultKind
		cause roster.HoldCause
		code  roster.Code
	}{
		{linesim.FaultToken, roster.HoldUnauthorized, "HTTP_401"},
		{linesim.FaultAccess, roster.HoldForbidden, "HTTP_403"},
		{linesim.FaultRate, roster.HoldRateLimit, "HTTP_429"},
		{linesim.FaultMonthly, roster.HoldMonthlyLimit, "HTTP_429"},
	} {
		t.Run(string(c.cause), func(t *testing.T) {
			t.Parallel()
			s := newStory(t)
			s.fault(t, linesim.Fault{Kind: c.kind, Count: 1})
			first := s.publishOne(t)
			s.step(t)
			s.wantState(t, first, roster.Failed, c.code)
			if d := s.delivery(t, first); d.Dead {
				t.Error("a refused message became a dead letter")
			}
			s.wantHold(t, c.cause)
			second := s.publishOther(t)
			if n := s.step(t); n != 0 {
				t.Errorf("%d jobs were worked during the hold", n)
			}
			s.wantState(t, second, roster.Queued, "")
			if err := s.Store.EndHold(t.Context(), c.cause); err != nil {
				t.Fatal(err)
			}
			s.step(t)
			s.wantState(t, second, roster.Sent, "")
			// A publication that failed by the hold is only offered.
			s.wantState(t, first, roster.Failed, c.code)
			s.sim.Assert(t)
		})
	}
}

func TestAnAdminsRetryPassesAHoldAndItsSuccessEndsIt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind linesim.FaultKind
		ends bool
	}{{linesim.FaultToken, true}, {linesim.FaultAccess, true}, {linesim.FaultRate, true}, {linesim.FaultMonthly, false}} {
		t.Run(string(c.kind), func(t *testing.T) {
			t.Parallel()
			s := newStory(t)
			s.fault(t, linesim.Fault{Kind: c.kind, Count: 1})
			id := s.publishOne(t)
			s.step(t)
			if err := s.Store.RetryDelivery(t.Context(), id, s.Admin.ID, false); err != nil {
				t.Fatal(err)
			}
			s.step(t)
			s.wantState(t, id, roster.Sent, "")
			if ended := len(s.holds(t)) == 0; ended != c.ends {
				t.Errorf("the hold ended: %v, want %v", ended, c.ends)
			}
		})
	}
}

func TestTheEndOfAHoldLeavesAloneWhatFailedByAnotherOne(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.at(t, "14:45")
	s.fault(t, linesim.Fault{Kind: linesim.FaultToken, Count: 1})
	x := s.Confirm(t, 0, 8, "17:00-21:30")
	s.step(t)
	s.sql(t, `INSERT INTO channel_holds (cause, since, notices) VALUES ('forbidden', 0, 1)`)
	if err := s.Store.EndHold(t.Context(), roster.HoldForbidden); err != nil {
		t.Fatal(err)
	}
	s.wantNotices(t, x.ID, "reminder failed HTTP_401")
	s.wantHold(t, roster.HoldUnauthorized)
}

func TestWhileAHoldLastsTheSweepEndsWhatIsPastItsKey(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.fault(t, linesim.Fault{Kind: linesim.FaultStatus, Status: 500, Count: 1})
	s.fault(t, linesim.Fault{Kind: linesim.FaultAccess, Count: 1})
	id := s.publishOne(t)
	s.step(t)
	s.publishOther(t)
	s.step(t)
	s.wantHold(t, roster.HoldForbidden)
	s.Clock.Advance(24*time.Hour - 10*time.Minute)
	s.recover(t)
	s.wantState(t, id, roster.Failed, roster.CodeRetryKeyExpired)
}

// watch runs the runner until the test ends.
func (s *story) watch(t *testing.T) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.runner.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		for {
			select {
			case err := <-ended:
				if err != nil {
					t.Error(err)
				}
				return
			default:
				s.Clock.Advance(time.Second)
			}
		}
	})
}

// pass moves the clock in steps until cond holds, at most by d, and returns how far it moved.
func (s *story) pass(t *testing.T, d time.Duration, cond func() bool) time.Duration {
	t.Helper()
	moved := time.Duration(0)
	for !cond() {
		if moved > d {
			t.Fatalf("nothing happened within %s", d)
		}
		s.Clock.Advance(5 * time.Second)
		moved += 5 * time.Second
		// The runner is at rest when its ticker and the two timers it sleeps on are set again.
		if err := s.Clock.BlockUntilContext(t.Context(), 3); err != nil {
			t.Fatal(err)
		}
	}
	return moved
}

func TestHoldsEndByThemselvesWhenTheirCauseIsGone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		kind    linesim.FaultKind
		longest time.Duration
	}{
		{"rate limit after a minute", linesim.FaultRate, 90 * time.Second},
		{"token when LINE answers again", linesim.FaultToken, 6 * time.Minute},
		{"monthly limit when enough is left", linesim.FaultMonthly, 61 * time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newStory(t)
			s.fault(t, linesim.Fault{Kind: c.kind, Count: 1})
			first := s.publishOne(t)
			s.step(t)
			if d := s.delivery(t, first); d.State != roster.Failed {
				t.Fatalf("the first delivery is %s", d.State)
			}
			second := s.publishOther(t)
			s.watch(t)
			s.pass(t, c.longest, func() bool { return len(s.holds(t)) == 0 })
			waitFor(t, func() bool { return s.delivery(t, second).State == roster.Sent })
		})
	}
}

func TestARefusedTokenIsAskedAboutAtTheStartAndEveryFiveMinutes(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.fault(t, linesim.Fault{Kind: linesim.FaultToken, Count: 1})
	s.publishOne(t)
	s.step(t)
	s.wantHold(t, roster.HoldUnauthorized)
	second := s.publishOther(t)
	refusing := dbtest.Must(s.sim.AddFault(linesim.Fault{Kind: linesim.FaultToken, Endpoint: "bot info"}))(t)
	asked := func() (at []time.Duration) {
		for _, r := range s.sim.Requests() {
			if r.Endpoint == "bot info" && r.Done {
				at = append(at, r.At.Sub(dbtest.Start))
			}
		}
		return at
	}
	s.watch(t)
	waitFor(t, func() bool { return len(asked()) == 1 })
	s.pass(t, 15*time.Minute, func() bool { return len(asked()) == 3 })
	if at := asked(); at[0] != 0 || at[1] < 5*time.Minute || at[1] > 6*time.Minute || at[2] < at[1]+5*time.Minute || at[2] > at[1]+6*time.Minute {
		t.Errorf("LINE was asked after %v, want at the start and every five minutes", at)
	}
	s.wantHold(t, roster.HoldUnauthorized)
	s.wantState(t, second, roster.Queued, "")
	s.sim.RemoveFault(refusing)
	s.pass(t, 6*time.Minute, func() bool { return len(s.holds(t)) == 0 })
	waitFor(t, func() bool { return s.delivery(t, second).State == roster.Sent })
}

func TestAHoldThatIsMetAgainIsTheSameHold(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.fault(t, linesim.Fault{Kind: linesim.FaultToken, Count: 2})
	id := s.publishOne(t)
	s.step(t)
	first := dbtest.Must(s.Store.Holds(t.Context()))(t)
	s.Clock.Advance(2 * time.Minute)
	if err := s.Store.RetryDelivery(t.Context(), id, s.Admin.ID, false); err != nil {
		t.Fatal(err)
	}
	s.step(t)
	s.wantState(t, id, roster.Failed, "HTTP_401")
	again := dbtest.Must(s.Store.Holds(t.Context()))(t)
	if len(first) != 1 || len(again) != 1 || again[0] != first[0] || !again[0].Since.Equal(dbtest.Start) || !again[0].ProbeAt.Equal(dbtest.Start.Add(5*time.Minute)) {
		t.Errorf("the holds were %+v and are %+v, want one since the first", first, again)
	}
}

func TestARateLimitMetAgainSoonAfterItsEndHoldsTwiceAsLong(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.fault(t, linesim.Fault{Kind: linesim.FaultRate, Count: 8})
	id := s.publishOne(t)
	for i, want := range []time.Duration{1, 2, 4, 8, 16, 30, 30} {
		s.step(t)
		s.wantState(t, id, roster.Failed, "HTTP_429")
		h := dbtest.Must(s.Store.Holds(t.Context()))(t)
		if len(h) != 1 || h[0].ProbeAt.Sub(s.Store.Now()) != want*time.Minute {
			t.Fatalf("met for the %d. time it holds %+v at %s, want for %d minutes", i+1, h, s.Store.Now(), want)
		}
		s.Clock.Advance(want * time.Minute)
		if err := s.Store.EndHold(t.Context(), roster.HoldRateLimit); err != nil {
			t.Fatal(err)
		}
		s.Clock.Advance(10*time.Minute - time.Millisecond)
		if err := s.Store.RetryDelivery(t.Context(), id, s.Admin.ID, false); err != nil {
			t.Fatal(err)
		}
	}
	s.Clock.Advance(time.Millisecond)
	s.step(t)
	if h := dbtest.Must(s.Store.Holds(t.Context()))(t); len(h) != 1 || h[0].ProbeAt.Sub(s.Store.Now()) != time.Minute {
		t.Errorf("ten minutes after its end it holds %+v, want for a minute", h)
	}
}

func TestAMonthlyLimitIsLookedAtEveryHourAndWhenLINEsMonthBegins(t *testing.T) {
	t.Parallel()
	// LINE's month is Japan's wherever the school is.
	for _, loc := range []*time.Location{dbtest.Tokyo, time.UTC} {
		s := newStory(t, func(o *db.Options) { o.Location = loc })
		s.Clock.Advance(time.Date(2027, 1, 31, 22, 30, 0, 0, dbtest.Tokyo).Sub(s.Clock.Now()))
		s.fault(t, linesim.Fault{Kind: linesim.FaultMonthly, Count: 1})
		s.publishOne(t)
		s.step(t)
		for _, want := range []time.Time{time.Date(2027, 1, 31, 23, 30, 0, 0, dbtest.Tokyo), time.Date(2027, 2, 1, 0, 0, 0, 0, dbtest.Tokyo)} {
			h := dbtest.Must(s.Store.Holds(t.Context()))(t)
			if len(h) != 1 || h[0].Cause != roster.HoldMonthlyLimit || !h[0].ProbeAt.Equal(want) {
				t.Fatalf("a school in %s holds %+v, want until it is looked at at %s", loc, h, want)
			}
			if want.Day() == 1 {
				break
			}
			s.sim.SetQuota(0)
			stop, ended := s.run(t, jobs.RunnerOptions{})
			s.Clock.Advance(want.Sub(s.Clock.Now()))
			waitFor(t, func() bool { return dbtest.Must(s.Store.Holds(t.Context()))(t)[0].ProbeAt.After(want) })
			stop()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	}
	// One that is met in the month's last hour.
	s := newStory(t)
	s.Clock.Advance(time.Date(2027, 1, 31, 23, 30, 0, 0, dbtest.Tokyo).Sub(s.Clock.Now()))
	s.fault(t, linesim.Fault{Kind: linesim.FaultMonthly, Count: 1})
	s.publishOne(t)
	s.step(t)
	if h := dbtest.Must(s.Store.Holds(t.Context()))(t); !h[0].ProbeAt.Equal(time.Date(2027, 2, 1, 0, 0, 0, 0, dbtest.Tokyo)) {
		t.Errorf("a limit that is met half an hour before the month's end is looked at next at %s", h[0].ProbeAt)
	}
}

func TestAMonthlyLimitThatANoticeMeetsHoldsNoticesToo(t *testing.T) {
	t.Parallel()
	for _, publicationFirst := range []bool{false, true} {
		s := newStory(t)
		s.at(t, "14:45")
		if publicationFirst {
			s.fault(t, linesim.Fault{Kind: linesim.FaultMonthly, Count: 1})
			s.publishOther(t)
			s.step(t)
			s.wantHold(t, roster.HoldMonthlyLimit)
		}
		s.fault(t, linesim.Fault{Kind: linesim.FaultMonthly, Count: 1})
		x := s.Confirm(t, 0, 8, "17:00-21:30")
		s.step(t)
		s.wantNotices(t, x.ID, "reminder failed HTTP_429")
		y := s.Confirm(t, 1, 8, "17:00-21:30")
		if n := s.step(t); n != 0 {
			t.Errorf("a publication met the limit first: %v; %d notices were worked after one met it", publicationFirst, n)
		}
		s.wantNotices(t, y.ID, "reminder queued")
		s.wantHold(t, roster.HoldMonthlyLimit)
	}
}

func TestAMonthlyLimitGoesOnWhileTheMonthsRestDoesNotCoverWhatMetIt(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.sim.SetQuota(10)
	first := s.publishOne(t) // costs 14
	s.step(t)
	s.wantState(t, first, roster.Failed, "HTTP_429")
	second := s.publishOther(t)
	s.watch(t)
	passed := s.pass(t, 2*time.Hour, func() bool { return s.Store.Now().Sub(dbtest.Start) > 90*time.Minute })
	if d := s.delivery(t, second); d.State != roster.Queued {
		t.Errorf("after %s the held publication is %s", passed, d.State)
	}
	s.sim.SetQuota(200)
	s.pass(t, 61*time.Minute, func() bool { return len(s.holds(t)) == 0 })
	waitFor(t, func() bool { return s.delivery(t, second).State == roster.Sent })
}

func TestAMonthlyLimitMetByAGroupOfUnknownSizeLastsUntilSomethingIsLeft(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.sim.SetQuota(0)
	if err := s.Store.LinkGroup(t.Context(), s.Group.ID, dbtest.LINEGroupID(1), "みほん塾 講師連絡", 0); err != nil {
		t.Fatal(err)
	}
	s.publishOne(t)
	s.step(t)
	s.wantHold(t, roster.HoldMonthlyLimit)
	second := s.publishOther(t)
	s.watch(t)
	s.pass(t, 3*time.Hour, func() bool { return s.Store.Now().Sub(dbtest.Start) > 2*time.Hour })
	s.wantHold(t, roster.HoldMonthlyLimit)
	s.wantState(t, second, roster.Queued, "")
	s.sim.SetQuota(200)
	s.pass(t, 61*time.Minute, func() bool { return len(s.holds(t)) == 0 })
	waitFor(t, func() bool { return s.delivery(t, second).State == roster.Sent })
}

func TestAForbiddenChannelIsResumedByAPersonAlone(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.fault(t, linesim.Fault{Kind: linesim.FaultAccess, Count: 1})
	s.publishOne(t)
	s.step(t)
	second := s.publishOther(t)
	s.watch(t)
	s.pass(t, 3*time.Hour, func() bool { return s.Store.Now().Sub(dbtest.Start) > 2*time.Hour })
	s.wantState(t, second, roster.Queued, "")
	s.wantHold(t, roster.HoldForbidden)
}

func TestAClockThatJumpedBackHoldsUntilItCatchesUpOrAPersonResumes(t *testing.T) {
	t.Parallel()
	for _, resume := range []bool{false, true} {
		s := newStory(t)
		s.publishOne(t)
		s.step(t)
		s.Clock.Advance(-9 * time.Minute)
		if err := s.Store.CheckClock(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.wantHold(t)
		s.Clock.Advance(-2 * time.Minute)
		if err := s.Store.CheckClock(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.wantHold(t, roster.HoldClock)
		second := s.publishOther(t)
		if n := s.step(t); n != 0 {
			t.Errorf("%d jobs were worked under a wrong clock", n)
		}
		if resume {
			if err := s.Store.ResumeClock(t.Context()); err != nil {
				t.Fatal(err)
			}
		} else {
			s.Clock.Advance(11 * time.Minute)
		}
		if err := s.Store.CheckClock(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.wantHold(t)
		s.step(t)
		s.wantState(t, second, roster.Sent, "")
	}
}

func TestAResumeMakesEveryWaitingJobDue(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.fault(t, linesim.Fault{Kind: linesim.FaultStatus, Status: 500, Count: 1})
	id := s.publishOne(t)
	s.step(t)
	s.Clock.Advance(-3 * time.Hour)
	if err := s.Store.CheckClock(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Store.ResumeClock(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.step(t)
	s.wantState(t, id, roster.Sent, "")
	s.sim.Assert(t)
}
