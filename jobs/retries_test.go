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

func (s *story) messages() int { return len(s.sim.Messages(dbtest.LINEGroupID(1))) }

// exhaust lets a delivery use up its ladder on 500s, of which the first may have accepted the message.
func (s *story) exhaust(t *testing.T, accepted bool) int64 {
	t.Helper()
	if accepted {
		s.fault(t, linesim.Fault{Kind: linesim.FaultStatus, Status: 500, Accept: true, Count: 1})
	}
	id, err := s.sim.AddFault(linesim.Fault{Kind: linesim.FaultStatus, Status: 500, Endpoint: "push"})
	if err != nil {
		t.Fatal(err)
	}
	delivery := s.publishOne(t)
	for range roster.MaxLadderTries {
		s.step(t)
		s.Clock.Advance(32 * time.Minute)
	}
	s.sim.RemoveFault(id)
	s.wantState(t, delivery, roster.Failed, "HTTP_500")
	return delivery
}

func TestARetryWithinADayUsesTheSameKeySoThatNothingArrivesTwice(t *testing.T) {
	t.Parallel()
	for _, accepted := range []bool{false, true} {
		s := newStory(t)
		id := s.exhaust(t, accepted)
		key := s.delivery(t, id).RetryKey
		if err := s.Store.RetryDelivery(t.Context(), id, s.Admin.ID, false); err != nil {
			t.Fatal(err)
		}
		s.step(t)
		d := s.delivery(t, id)
		if d.State != roster.Sent || d.RetryKey != key || d.Ladder != 2 || d.Dead || len(d.Attempts) != 7 {
			t.Errorf("the delivery is %s on ladder %d after %d tries, same key: %v", d.State, d.Ladder, len(d.Attempts), d.RetryKey == key)
		}
		if s.messages() != 1 {
			t.Errorf("the group got %d messages, want 1", s.messages())
		}
		s.sim.Assert(t)
	}
}

func TestAnAdminsRetryBeginsANewLadder(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	id := s.exhaust(t, false)
	s.fault(t, linesim.Fault{Kind: linesim.FaultStatus, Status: 500})
	if err := s.Store.RetryDelivery(t.Context(), id, s.Admin.ID, false); err != nil {
		t.Fatal(err)
	}
	for i, wait := range []time.Duration{2, 4, 8, 16, 32} {
		s.step(t)
		d := s.delivery(t, id)
		if want := s.Store.Now().Add(wait * time.Minute); d.State != roster.Queued || d.Ladder != 2 || d.LadderTries != i+1 || !d.NextAttemptAt.Equal(want) {
			t.Fatalf("after try %d of ladder %d the delivery is %s until %s, want queued until %s", d.LadderTries, d.Ladder, d.State, d.NextAttemptAt, want)
		}
		s.Clock.Advance(wait * time.Minute)
	}
	s.step(t)
	if d := s.delivery(t, id); d.State != roster.Failed || !d.Dead || len(d.Attempts) != 12 {
		t.Errorf("after two ladders the delivery is %s, a dead letter: %v, after %d tries", d.State, d.Dead, len(d.Attempts))
	}
}

func TestARetryAfterTheKeysEndAsksFirstIfAnEarlierTryMayHaveArrived(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	id := s.exhaust(t, false)
	key := s.delivery(t, id).RetryKey
	s.Clock.Advance(24 * time.Hour)
	if err := s.Store.RetryDelivery(t.Context(), id, s.Admin.ID, false); !errors.Is(err, db.ErrMayHaveArrived) {
		t.Fatalf("the retry answered %v, want ErrMayHaveArrived", err)
	}
	s.wantState(t, id, roster.Failed, "HTTP_500")
	if err := s.Store.RetryDelivery(t.Context(), id, s.Admin.ID, true); err != nil {
		t.Fatal(err)
	}
	s.step(t)
	if d := s.delivery(t, id); d.State != roster.Sent || d.RetryKey == key {
		t.Errorf("the delivery is %s with the old key: %v, want sent with a new one", d.State, d.RetryKey == key)
	}
}

func TestARetryAfterTheKeysEndNeedsNoQuestionIfEveryTryWasRefused(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.fault(t, linesim.Fault{Kind: linesim.FaultStatus, Status: 400, Count: 1})
	id := s.publishOne(t)
	s.step(t)
	s.Clock.Advance(24 * time.Hour)
	if err := s.Store.RetryDelivery(t.Context(), id, s.Admin.ID, false); err != nil {
		t.Fatal(err)
	}
	s.step(t)
	s.wantState(t, id, roster.Sent, "")
}

func TestAWaitingRetryEndsTenMinutesBeforeItsKeyDoes(t *testing.T) {
	t.Parallel()
	for _, bySweep := range []bool{false, true} {
		s := newStory(t)
		s.fault(t, linesim.Fault{Kind: linesim.FaultStatus, Status: 500})
		id := s.publishOne(t)
		s.step(t)
		s.Clock.Advance(24*time.Hour - 10*time.Minute)
		if bySweep {
			if _, err := s.Store.RecoverDeliveries(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		s.step(t)
		s.wantState(t, id, roster.Failed, roster.CodeRetryKeyExpired)
		if d := s.delivery(t, id); d.Dead || len(d.Attempts) != 1 {
			t.Errorf("after the key's end: dead letter %v, %d attempts, want none and the first", d.Dead, len(d.Attempts))
		}
	}
}

func TestARetryOfWhatIsSupersededIsRefusedWithItsReason(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.fault(t, linesim.Fault{Kind: linesim.FaultStatus, Status: 400, Count: 1})
	id := s.publishOne(t)
	s.step(t)
	s.Confirm(t, 1, 9, "17:00-21:30")
	newer := s.Publish(t).DeliveryID
	var unwanted *db.NotWantedError
	if err := s.Store.RetryDelivery(t.Context(), id, s.Admin.ID, true); !errors.As(err, &unwanted) || unwanted.Code != roster.CodeSuperseded {
		t.Errorf("the retry answered %v, want SUPERSEDED", err)
	}
	// A newer one that was called off before any try bars nothing.
	if err := s.Store.CancelDelivery(t.Context(), newer, s.Admin.ID); err != nil {
		t.Fatal(err)
	}
	if err := s.Store.RetryDelivery(t.Context(), id, s.Admin.ID, false); err != nil {
		t.Errorf("after the newer one was called off the retry answered %v", err)
	}
}

func TestOnlyWhatFailedIsRetriedAndOnlyWhatWaitsIsCalledOff(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	id := s.publishOne(t)
	if err := s.Store.RetryDelivery(t.Context(), id, s.Admin.ID, false); !errors.Is(err, db.ErrNotFailed) {
		t.Errorf("retrying what waits answered %v", err)
	}
	try := dbtest.Must(dbtest.ClaimTry(t.Context(), s.Store))(t)
	if err := s.Store.CancelDelivery(t.Context(), id, s.Admin.ID); !errors.Is(err, db.ErrNotWaiting) {
		t.Errorf("calling off what is being sent answered %v", err)
	}
	if err := s.Store.FinishTry(t.Context(), try, db.Result{Outcome: roster.Accepted, Status: 200}); err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{"retry": s.Store.RetryDelivery(t.Context(), id, s.Admin.ID, true), "cancel": s.Store.CancelDelivery(t.Context(), id, s.Admin.ID)} {
		if !errors.Is(err, db.ErrNotFailed) && !errors.Is(err, db.ErrNotWaiting) {
			t.Errorf("%s of what was sent answered %v", name, err)
		}
	}
	s.wantState(t, id, roster.Sent, "")
}

func TestCallingOffANewVersionBringsTheSupersededOneBackIfNeitherWasTried(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	old := s.publishOne(t)
	s.Confirm(t, 1, 9, "17:00-21:30")
	newer := s.Publish(t).DeliveryID
	if err := s.Store.CancelDelivery(t.Context(), newer, s.Admin.ID); err != nil {
		t.Fatal(err)
	}
	s.step(t)
	s.wantState(t, newer, roster.Canceled, roster.CodeCanceledByAdmin)
	s.wantState(t, old, roster.Canceled, roster.CodeSuperseded)
	messages := s.sim.Messages(dbtest.LINEGroupID(1))
	if len(messages) != 1 || !contains(string(messages[0].Object), "第1版") {
		t.Errorf("the group got %d messages, want version 1", len(messages))
	}
}

func TestCallingOffANewVersionAfterTheOldOneWasTriedBringsNothingBack(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.fault(t, linesim.Fault{Kind: linesim.FaultStatus, Status: 500, Count: 1})
	s.publishOne(t)
	s.step(t)
	s.Confirm(t, 1, 9, "17:00-21:30")
	newer := s.Publish(t).DeliveryID
	if err := s.Store.CancelDelivery(t.Context(), newer, s.Admin.ID); err != nil {
		t.Fatal(err)
	}
	s.Clock.Advance(time.Hour)
	s.step(t)
	if s.messages() != 0 {
		t.Errorf("the group got %d messages, want none", s.messages())
	}
}

func TestAHurriedDeliveryIsTriedNow(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.fault(t, linesim.Fault{Kind: linesim.FaultStatus, Status: 500, Count: 1})
	id := s.publishOne(t)
	s.step(t)
	if err := s.Store.HurryDelivery(t.Context(), id, s.Admin.ID); err != nil {
		t.Fatal(err)
	}
	s.step(t)
	s.wantState(t, id, roster.Sent, "")
	s.sim.Assert(t)
}

func TestSendingAgainIsRefusedWhileOneIsOnItsWayAndAskedWhenOneArrived(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	id := s.publishOne(t)
	publication := s.delivery(t, id).PublicationID
	again := func(last int64, confirmed bool) error {
		_, err := s.Store.Resend(t.Context(), db.ResendInput{PublicationID: publication, AdminID: s.Admin.ID, LastDeliveryID: last, Confirmed: confirmed})
		return err
	}
	if err := again(id, true); !errors.Is(err, db.ErrLive) {
		t.Errorf("sending again what waits answered %v, want ErrLive", err)
	}
	s.step(t)
	if err := again(id, false); !errors.Is(err, db.ErrMayHaveArrived) {
		t.Errorf("sending again what arrived answered %v, want ErrMayHaveArrived", err)
	}
	if err := again(0, true); !errors.Is(err, db.ErrEdited) {
		t.Errorf("sending again from an old page answered %v, want ErrEdited", err)
	}
	if err := again(id, true); err != nil {
		t.Fatal(err)
	}
	s.step(t)
	if s.messages() != 2 {
		t.Errorf("the group got %d messages, want 2: it was asked for", s.messages())
	}
	s.sim.AssertRetriesIdentical(t)
}

func TestOnlyTheNewestPublicationIsSentAgain(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	first := s.publishOne(t)
	s.step(t)
	s.Confirm(t, 1, 9, "17:00-21:30")
	second := s.Publish(t).DeliveryID
	s.step(t)
	_, err := s.Store.Resend(t.Context(), db.ResendInput{PublicationID: s.delivery(t, first).PublicationID, LastDeliveryID: second, Confirmed: true})
	var unwanted *db.NotWantedError
	if !errors.As(err, &unwanted) || unwanted.Code != roster.CodeSuperseded {
		t.Errorf("sending an old version again answered %v, want SUPERSEDED", err)
	}
}

func TestRetryingAllOfOneReasonIsCountedFirst(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.fault(t, linesim.Fault{Kind: linesim.FaultStatus, Status: 400, Count: 2})
	first, second := s.publishOne(t), s.publishOther(t)
	s.step(t)
	plan := dbtest.Must(s.Store.PlanRetries(t.Context(), "HTTP_400"))(t)
	if plan.Deliveries != 2 || plan.Messages != 15 {
		t.Errorf("the plan is %+v, want 2 deliveries and 14 + 1 messages", plan)
	}
	s.wantState(t, first, roster.Failed, "HTTP_400")
	old := db.RetryPlan{Deliveries: 1, Messages: 14}
	if err := s.Store.RetryAll(t.Context(), db.RetryAllInput{Code: "HTTP_400", AdminID: s.Admin.ID, Shown: old}); !errors.Is(err, db.ErrEdited) {
		t.Errorf("retrying other than was shown answered %v, want ErrEdited", err)
	}
	s.wantState(t, first, roster.Failed, "HTTP_400")
	if err := s.Store.RetryAll(t.Context(), db.RetryAllInput{Code: "HTTP_400", AdminID: s.Admin.ID, Shown: plan}); err != nil {
		t.Fatal(err)
	}
	s.step(t)
	s.wantState(t, first, roster.Sent, "")
	s.wantState(t, second, roster.Sent, "")
}
