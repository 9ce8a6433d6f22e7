package jobs_test

import (
	"errors"
	"testing"
	"time"

	"shiftpost/db"
	"shiftpost/db/roster"
)

// takenOver lets a correction arrive whose answer is lost, and begins the one that takes over its key, since the shift was
// edited away and back meanwhile.
func (s *story) takenOver(t *testing.T) (roster.Shift, *db.Try) {
	t.Helper()
	x := s.told(t)
	s.change(t, x.ID, 0, 15, "17:00-21:30")
	s.pastUndo(t)
	s.change(t, x.ID, 0, 15, "18:00-21:30")
	s.Clock.Advance(30 * time.Second)
	first := s.begin(t)
	if _, err := newClient(s.School, s.sim).Push(t.Context(), first.Body, first.RetryKey); err != nil {
		t.Fatal(err)
	}
	s.end(t, first, roster.Unknown)
	s.change(t, x.ID, 0, 15, "19:00-21:30")
	s.change(t, x.ID, 0, 15, "18:00-21:30")
	s.Clock.Advance(30 * time.Second)
	second := s.begin(t)
	if second.RetryKey != first.RetryKey || second.DeliveryID == first.DeliveryID {
		t.Fatal("it was not taken over")
	}
	return x, second
}

func (s *story) refuseToken(t *testing.T, try *db.Try) {
	t.Helper()
	s.must(t, s.Store.FinishTry(t.Context(), try, db.Result{Outcome: roster.Refused, Code: "HTTP_401", Status: 401, Hold: roster.HoldUnauthorized}))
}

// wantRead checks that the last correction was read once.
func (s *story) wantRead(t *testing.T) {
	t.Helper()
	s.wantChat(t, 1, reminds(8, "17:00–21:30"), corrects(15, "17:00–21:30"), corrects(15, "18:00–21:30"))
}

func TestWhatTookOverAKeyIsNotSentAnewByTheEndOfAHoldOnceTheKeyIsGone(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	_, second := s.takenOver(t)
	s.refuseToken(t, second)
	s.Clock.Advance(48 * time.Hour)
	s.must(t, s.Store.EndHold(t.Context(), roster.HoldUnauthorized))
	s.step(t)
	s.wantState(t, second.DeliveryID, roster.Failed, "HTTP_401")
	s.wantRead(t)
}

func TestARetryOfWhatTookOverAKeyAsksFirstOnceTheKeyIsGone(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	_, second := s.takenOver(t)
	s.end(t, second, roster.Refused)
	s.Clock.Advance(25 * time.Hour)
	if err := s.Store.RetryDelivery(t.Context(), second.DeliveryID, s.Admin.ID, false); !errors.Is(err, db.ErrMayHaveArrived) {
		t.Errorf("the retry answered %v, though the notice whose key it had may have arrived", err)
	}
	s.wantRead(t)
}

func TestAKeyIsTakenOverASecondTime(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	x, second := s.takenOver(t)
	s.refuseToken(t, second)
	s.change(t, x.ID, 0, 15, "19:00-21:30")
	s.change(t, x.ID, 0, 15, "18:00-21:30")
	s.must(t, s.Store.EndHold(t.Context(), roster.HoldUnauthorized))
	s.pastUndo(t)
	s.wantRead(t)
}
