package jobs_test

import (
	"testing"

	"shiftpost/db"
	"shiftpost/db/dbtest"
	"shiftpost/db/roster"
	"shiftpost/jobs/line/linesim"
)

const (
	asksToConfirm = "確認のお願い：2027年1月のシフト表 第1版"
	confirmHint   = "シフト表を開き、自分のシフトを確かめて「確認しました」を押してください。"
	staleHint     = "確認したあとに、自分のシフトが変わりました。シフト表を開き、もう一度「確認しました」を押してください。"
)

// askAll asks everybody who has still to confirm the publication, and returns the requests.
func (s *story) askAll(t testing.TB, publicationID int64) []roster.Delivery {
	t.Helper()
	plan := dbtest.Must(s.Store.PlanReceiptRequests(t.Context(), publicationID))(t)
	dbtest.Must(s.Store.RequestReceipts(t.Context(), db.ReceiptRequestInput{PublicationID: publicationID, AdminID: s.Admin.ID, Shown: plan.Digest()}))(t)
	return dbtest.Must(s.Store.ReceiptRequests(t.Context(), publicationID))(t)
}

// confirms lets a teacher confirm a publication as they see it.
func (s *story) confirms(t testing.TB, publicationID int64, teacher int) {
	t.Helper()
	id := dbtest.Must(s.Store.Publication(t.Context(), publicationID))(t).DocumentID
	d := dbtest.Must(s.Store.Document(t.Context(), id, s.Teachers[teacher].ID))(t)
	if err := s.Store.Confirm(t.Context(), id, s.Teachers[teacher].ID, d.Live.Hash()); err != nil {
		t.Fatal(err)
	}
}

func TestARequestToConfirmArrivesInTheTeachersOwnChatAndTellsNothingAboutAShift(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.Confirm(t, 0, 20, "17:00-21:30")
	s.Confirm(t, 1, 20, "17:00-21:30")
	p := s.Publish(t)
	s.step(t)
	s.confirms(t, p.PublicationID, 1)
	requests := s.askAll(t, p.PublicationID)
	s.step(t)
	s.wantChat(t, 1, asksToConfirm)
	s.wantChat(t, 2)
	if last := s.last(t, 1); !contains(last, confirmHint) || !contains(last, "2027年1月 第1版") {
		t.Errorf("the request says %q", last)
	}
	if d := s.delivery(t, requests[0].ID); len(requests) != 1 || d.State != roster.Sent || d.Publication.ID != p.PublicationID || d.Teacher.ID != s.Teachers[0].ID {
		t.Errorf("the request is %+v", d)
	}
	// Nobody was told of a shift by it, so that nothing is to be corrected when the shift changes.
	x := dbtest.Must(s.Store.Month(t.Context(), s.Group.ID, s.Month))(t).Shifts[0]
	s.change(t, x.ID, 0, 20, "18:00-21:30")
	s.pastUndo(t)
	s.step(t)
	s.wantChat(t, 1, asksToConfirm)
	s.sim.Assert(t)
}

func TestARequestToConfirmAnewSaysThatTheShiftsChanged(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	x := s.Confirm(t, 0, 20, "17:00-21:30")
	p := s.Publish(t)
	s.step(t)
	s.confirms(t, p.PublicationID, 0)
	s.change(t, x.ID, 0, 20, "18:00-21:30")
	s.askAll(t, p.PublicationID)
	s.step(t)
	if last := s.last(t, 1); !contains(last, staleHint) {
		t.Errorf("the request says %q", last)
	}
}

func TestARequestToConfirmIsRetriedWithItsKeyAndFailsAsOthersDo(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.Confirm(t, 0, 20, "17:00-21:30")
	p := s.Publish(t)
	s.step(t)
	s.fault(t, linesim.Fault{Kind: linesim.FaultStatus, Status: 500, Accept: true, Count: 1})
	request := s.askAll(t, p.PublicationID)[0]
	s.step(t)
	if d := s.delivery(t, request.ID); d.State != roster.Queued || d.Code != "HTTP_500" {
		t.Errorf("after a 500 the request is %s %s", d.State, d.Code)
	}
	s.Clock.Advance(s.Store.DeliveryOptions().RetryBase)
	s.step(t)
	if d := s.delivery(t, request.ID); d.State != roster.Sent || d.Attempts[0].Status != 409 {
		t.Errorf("after the retry the request is %s, its attempts %+v", d.State, d.Attempts)
	}
	s.wantChat(t, 1, asksToConfirm)
	s.sim.Assert(t)

	s.fault(t, linesim.Fault{Kind: linesim.FaultStatus, Status: 400, Count: 1})
	again := s.askAll(t, p.PublicationID)[0]
	s.step(t)
	if d := s.delivery(t, again.ID); d.State != roster.Failed || d.Code != "HTTP_400" || d.Unwanted != "" {
		t.Errorf("after a 400 the request is %s %s, unwanted %q", d.State, d.Code, d.Unwanted)
	}
	if concerns := dbtest.Must(s.Store.Home(t.Context(), s.Group.ID))(t).Concerns; len(concerns.Failed) != 1 || concerns.Failed[0].Number != 1 || concerns.Failed[0].Teacher != s.Teachers[0].Name {
		t.Errorf("what must be looked at is %+v", concerns.Failed)
	}
	if err := s.Store.RetryDelivery(t.Context(), again.ID, s.Admin.ID, false); err != nil {
		t.Fatal(err)
	}
	s.step(t)
	s.wantChat(t, 1, asksToConfirm, asksToConfirm)
	// Once confirmed, a failed request is history.
	s.fault(t, linesim.Fault{Kind: linesim.FaultStatus, Status: 400, Count: 1})
	last := s.askAll(t, p.PublicationID)[0]
	s.step(t)
	s.confirms(t, p.PublicationID, 0)
	if d := s.delivery(t, last.ID); d.Unwanted != roster.CodeNoLongerNeeded {
		t.Errorf("after it was confirmed the request is %s, unwanted %q", d.State, d.Unwanted)
	}
}

func TestAHoldOfNoticesHoldsRequestsToConfirmAndItsEndSendsThem(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.Confirm(t, 0, 20, "17:00-21:30")
	s.Confirm(t, 1, 20, "17:00-21:30")
	p := s.Publish(t)
	s.step(t)
	s.fault(t, linesim.Fault{Kind: linesim.FaultAccess, Count: 1})
	s.askAll(t, p.PublicationID)
	s.step(t)
	s.wantChat(t, 1)
	s.wantChat(t, 2)
	held := dbtest.Must(s.Store.Holds(t.Context()))(t)
	if len(held) != 1 {
		t.Fatalf("the holds are %+v", held)
	}
	if w := dbtest.Must(s.Store.HeldWork(t.Context(), held[0]))(t); w.Notices != 1 || w.Again != 1 || w.Messages != 2 {
		t.Errorf("the hold keeps back %+v", w)
	}
	if err := s.Store.EndHold(t.Context(), held[0].Cause); err != nil {
		t.Fatal(err)
	}
	s.step(t)
	s.wantChat(t, 1, asksToConfirm)
	s.wantChat(t, 2, asksToConfirm)
}
