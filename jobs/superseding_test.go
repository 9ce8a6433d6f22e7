package jobs_test

import (
	"errors"
	"testing"
	"time"

	"shiftpost/db"
	"shiftpost/db/dbtest"
	"shiftpost/db/roster"
	"shiftpost/jobs/line/linesim"
)

// publishNext publishes the month once more, with a shift that is new.
func (s *story) publishNext(t *testing.T) db.Published {
	t.Helper()
	s.Confirm(t, 1, 9, "17:00-21:30")
	return s.Publish(t)
}

func TestANewVersionSupersedesAnOlderOneThatWaitsWithoutAJob(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	mend := s.breakJobs(t)
	old := s.publishOne(t)
	s.wantState(t, old, roster.Pending, roster.CodeEnqueueFailed)
	mend()
	newer := s.publishNext(t).DeliveryID
	s.wantState(t, old, roster.Canceled, roster.CodeSuperseded)
	s.Clock.Advance(time.Hour)
	s.recover(t)
	s.step(t)
	s.wantState(t, newer, roster.Sent, "")
	if s.messages() != 1 {
		t.Errorf("the group got %d messages, want the new version alone", s.messages())
	}
}

func TestAnAnnouncementInFlightIsLeftAloneByANewVersionAndFallsAtItsNextCheck(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	old := s.publishOne(t)
	try := s.begin(t)
	newer := s.publishNext(t).DeliveryID
	s.wantState(t, old, roster.Processing, "")
	if n := s.step(t); n != 0 {
		t.Error("the group got the new version while the old one was being sent")
	}
	s.end(t, try, roster.Unknown)
	s.Clock.Advance(2 * time.Minute)
	s.step(t)
	s.wantState(t, old, roster.Canceled, roster.CodeSuperseded)
	s.wantState(t, newer, roster.Sent, "")
	if d := s.delivery(t, old); len(d.Attempts) != 1 || !d.MayHaveArrived {
		t.Errorf("the old version was tried %d times, may have arrived: %v; want once, and that it may", len(d.Attempts), d.MayHaveArrived)
	}
	if s.messages() != 1 {
		t.Errorf("the group got %d messages, want the new version alone", s.messages())
	}
}

func TestANewVersionSupersedesWhileItIsHeldItself(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.fault(t, linesim.Fault{Kind: linesim.FaultStatus, Status: 500, Count: 1})
	s.fault(t, linesim.Fault{Kind: linesim.FaultAccess, Count: 1})
	old := s.publishOne(t)
	s.step(t)
	s.publishOther(t)
	s.step(t)
	s.wantHold(t, roster.HoldForbidden)
	newer := s.publishNext(t).DeliveryID
	s.wantState(t, old, roster.Canceled, roster.CodeSuperseded)
	s.wantState(t, newer, roster.Queued, "")
}

func TestAnAnnouncementSupersedesThoseOfItsOwnGroupAndMonthAlone(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	next := *s.School
	next.Month = s.Month.Add(1)
	next.Confirm(t, 0, 10, "17:00-21:30")
	all := []int64{s.publishOne(t), next.Publish(t).DeliveryID, s.publishOther(t)}
	s.step(t)
	for _, id := range all {
		s.wantState(t, id, roster.Sent, "")
	}
	s.sim.Assert(t)
}

func TestAnAnnouncementWhoseTimeHasNotComeSupersedesNothingYet(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.fault(t, linesim.Fault{Kind: linesim.FaultStatus, Status: 400, Count: 2})
	old := s.publishOne(t)
	s.step(t)
	newer := s.publishNext(t).DeliveryID
	const hour = `3600000`
	s.sql(t, `UPDATE deliveries SET due_at = due_at + `+hour+`, next_attempt_at = next_attempt_at + `+hour+` WHERE id = ?`, newer)
	s.sql(t, `UPDATE jobs SET run_at = run_at + `+hour+` WHERE subject_id = ?`, newer)
	if err := s.Store.RetryDelivery(t.Context(), old, s.Admin.ID, false); err != nil {
		t.Fatal(err)
	}
	s.step(t)
	s.wantState(t, old, roster.Failed, "HTTP_400") // tried once more
	s.Clock.Advance(time.Hour)
	var unwanted *db.NotWantedError
	if err := s.Store.RetryDelivery(t.Context(), old, s.Admin.ID, false); !errors.As(err, &unwanted) || unwanted.Code != roster.CodeSuperseded {
		t.Errorf("once the newer one's time has come the retry answered %v, want SUPERSEDED", err)
	}
}

func TestAPublicationThatIsNotAnnouncedSupersedesNothing(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.fault(t, linesim.Fault{Kind: linesim.FaultStatus, Status: 500, Count: 1})
	id := s.publishOne(t)
	s.step(t)
	if err := s.Store.UntieGroup(t.Context(), s.Group.ID); err != nil {
		t.Fatal(err)
	}
	if p := s.publishNext(t); p.DeliveryID != 0 {
		t.Fatal("a group without LINE has an announcement")
	}
	if err := s.Store.LinkGroup(t.Context(), s.Group.ID, dbtest.LINEGroupID(1), "みほん塾 講師連絡", 14); err != nil {
		t.Fatal(err)
	}
	s.wantState(t, id, roster.Queued, "HTTP_500")
	s.Clock.Advance(2 * time.Minute)
	s.step(t)
	s.wantState(t, id, roster.Sent, "")
}

func TestCallingOffANewVersionThatWasTriedBringsNothingBack(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	old := s.publishOne(t)
	newer := s.publishNext(t).DeliveryID
	s.fault(t, linesim.Fault{Kind: linesim.FaultStatus, Status: 500, Count: 1})
	s.step(t)
	if err := s.Store.CancelDelivery(t.Context(), newer, s.Admin.ID); err != nil {
		t.Fatal(err)
	}
	s.Clock.Advance(time.Hour)
	s.step(t)
	s.wantState(t, old, roster.Canceled, roster.CodeSuperseded)
	if s.messages() != 0 {
		t.Errorf("the group got %d messages, want none", s.messages())
	}
}

func TestAMonthIsUnchangedSinceTheNewestPublicationThatWasNotCalledOffUntried(t *testing.T) {
	t.Parallel()
	for _, tried := range []bool{false, true} {
		s := newStory(t)
		s.publishOne(t)
		s.step(t)
		newer := s.publishNext(t).DeliveryID
		if tried {
			s.fault(t, linesim.Fault{Kind: linesim.FaultStatus, Status: 500, Count: 1})
			s.step(t)
		}
		if err := s.Store.CancelDelivery(t.Context(), newer, s.Admin.ID); err != nil {
			t.Fatal(err)
		}
		_, err := s.Store.Publish(t.Context(), db.PublishInput{GroupID: s.Group.ID, Month: s.Month, SheetHash: s.Render(t), AdminID: s.Admin.ID})
		if tried != errors.Is(err, db.ErrUnchanged) || (!tried && err != nil) {
			t.Errorf("called off, tried before: %v; publishing the same again answered %v", tried, err)
		}
	}
}
