package jobs_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"shiftpost/db"
	"shiftpost/db/dbtest"
	"shiftpost/db/roster"
	"shiftpost/jobs"
	"shiftpost/jobs/line"
	"shiftpost/jobs/line/linesim"
)

// poison lets no row of a table that the condition names be changed in one way.
func (s *story) poison(t *testing.T, when, condition string) (mend func()) {
	t.Helper()
	s.sql(t, `CREATE TRIGGER poison BEFORE `+when+` WHEN `+condition+` BEGIN SELECT RAISE(ABORT, 'poison'); END`)
	return func() { s.sql(t, `DROP TRIGGER poison`) }
}

func TestOneBadNoticeKeepsNoHoldFromEndingNorTheAnswerThatEndsItFromBeingWritten(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.Confirm(t, 0, 8, "16:00-16:45")
	s.fault(t, linesim.Fault{Kind: linesim.FaultToken, Count: 1})
	s.step(t)
	s.wantHold(t, roster.HoldUnauthorized)
	failed := dbtest.Must(s.Store.Deliveries(t.Context(), db.DeliveryFilter{State: roster.Failed}))(t)[0]
	s.poison(t, "UPDATE ON deliveries", "old.id = "+itoa(failed.ID))
	publication := s.publishOne(t)
	s.must(t, s.Store.HurryDelivery(t.Context(), publication, s.Admin.ID))
	s.step(t)
	s.wantState(t, publication, roster.Sent, "")
	s.wantHold(t)
	s.wantState(t, failed.ID, roster.Failed, "HTTP_401")
}

func TestOneOrphanThatCannotBeTakenBackStopsNothingElseAndIsTriedAgain(t *testing.T) {
	t.Parallel()
	for name, again := range map[string]func(*testing.T, *story){
		"its lease ran out": func(t *testing.T, s *story) { s.Clock.Advance(2 * time.Minute) },
		"another boot left it": func(t *testing.T, s *story) {
			s.sql(t, `UPDATE jobs SET owner = 'another boot' WHERE state = 'leased'`)
			dbtest.Must(s.Store.RecoverOrphans(t.Context()))(t)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStory(t)
			bad := s.publishOne(t)
			s.begin(t)
			other := s.publishOther(t)
			mend := s.poison(t, "UPDATE ON attempts", "new.outcome = 'interrupted'")
			again(t, s)
			s.step(t)
			s.wantState(t, other, roster.Sent, "")
			s.wantState(t, bad, roster.Processing, "")
			mend()
			s.Clock.Advance(2 * time.Minute)
			s.step(t)
			s.wantState(t, bad, roster.Sent, "")
		})
	}
}

// askedLINE counts how often it is asked who we are.
type askedLINE struct {
	*line.Client
	asked atomic.Int32
}

// BotInfo counts and asks.
func (l *askedLINE) BotInfo(ctx context.Context) (line.BotInfo, error) {
	l.asked.Add(1)
	return l.Client.BotInfo(ctx)
}

func TestALookAtAHoldThatCannotBeNotedIsNotRepeatedAtOnce(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.fault(t, linesim.Fault{Kind: linesim.FaultToken})
	s.publishOne(t)
	s.step(t)
	s.wantHold(t, roster.HoldUnauthorized)
	s.poison(t, "UPDATE ON channel_holds", "true")
	asked := &askedLINE{Client: newClient(s.School, s.sim)}
	s.Clock.Advance(roster.UnauthorizedProbeEvery)
	s.run(t, jobs.RunnerOptions{LINE: asked})
	for seconds := 1; seconds <= 60; seconds++ {
		// At rest: its ticker and the timers of the queue and of the holds are set.
		if err := s.Clock.BlockUntilContext(t.Context(), 3); err != nil {
			t.Fatal(err)
		}
		s.Clock.Advance(time.Second)
	}
	if n := asked.asked.Load(); n < 2 || n > 7 {
		t.Errorf("LINE was asked %d times in a minute", n)
	}
}

func TestAReminderThatCouldNotBeMadeInTimeIsListedOnceItCanBe(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	sweeps := s.sweeps(t)
	x := s.Confirm(t, 0, 8, "17:00-21:30")
	dbtest.Must(sweeps.Remind(t.Context()))(t)
	mend := s.poison(t, "INSERT ON deliveries", "new.shift_id = "+itoa(x.ID))
	for s.at(t, "14:45"); s.Store.Now().Before(x.Start(dbtest.Tokyo)); s.Clock.Advance(15 * time.Minute) {
		if _, err := sweeps.Remind(t.Context()); err == nil {
			t.Fatal("the sweep did not say that it had trouble")
		}
	}
	mend()
	dbtest.Must(sweeps.Remind(t.Context()))(t)
	s.wantNotices(t, x.ID, "reminder canceled SHIFT_STARTED")
}

func TestOneLINEUserGetsOneTryAtATimeAlsoWhenTheyAreLinkedToAnother(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.Confirm(t, 0, 8, "17:00-21:30")
	s.Confirm(t, 1, 8, "16:50-21:00")
	s.unlink(t, 1)
	s.at(t, "14:45")
	s.remind(t)
	first := s.begin(t)
	s.unlink(t, 0)
	s.link(t, 1, 1)
	if n := s.step(t); n != 0 {
		t.Errorf("%d other messages were sent to the same LINE user meanwhile", n)
	}
	s.end(t, first, roster.Accepted)
	if n := s.step(t); n != 2 {
		t.Errorf("%d messages were sent after it, want that the first shift is not theirs and the reminder of the second", n)
	}
}
