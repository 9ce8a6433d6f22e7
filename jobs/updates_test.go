package jobs_test

import (
	"testing"

	"shiftpost/db"
	"shiftpost/db/dbtest"
	"shiftpost/db/roster"
	"shiftpost/jobs/line/linesim"
)

// announced returns all words of the n-th announcement, from 0, that a LINE group got.
func (s *story) announced(t *testing.T, group, n int) string {
	t.Helper()
	messages := s.sim.Messages(dbtest.LINEGroupID(group))
	if len(messages) <= n {
		t.Fatalf("LINE group %d got %d announcements", group, len(messages))
	}
	var all string
	for _, w := range words(t, messages[n].Object) {
		all += w + "\n"
	}
	return all
}

func TestAnUpdateCountsFromTheNewestVersionThatThisLINEGroupWasSent(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.publishOne(t)
	s.step(t)
	// The second version was refused: the third counts from the first.
	s.fault(t, linesim.Fault{Kind: linesim.FaultStatus, Status: 400, Count: 1})
	s.publishNext(t)
	s.step(t)
	s.Confirm(t, 1, 10, "17:00-21:30")
	s.Publish(t)
	s.step(t)
	if got := s.announced(t, 1, 1); !contains(got, "第3版（更新）") || !contains(got, "2件（追加2）") {
		t.Errorf("the third version says\n%s\nwant an update of 2 changes", got)
	}
	// The fourth counts from the third.
	s.Confirm(t, 0, 20, "17:00-21:30")
	s.Publish(t)
	s.step(t)
	if got := s.announced(t, 1, 2); !contains(got, "第4版（更新）") || !contains(got, "1件（追加1）") {
		t.Errorf("the fourth version says\n%s\nwant an update of 1 change", got)
	}
	// Another LINE group was sent none of this month.
	s.sim.AddGroup(linesim.Group{ID: dbtest.LINEGroupID(2), Name: "みほん塾 新", Members: []string{dbtest.LINEUserID(1)}, BotIn: true})
	if err := s.Store.LinkGroup(t.Context(), s.Group.ID, dbtest.LINEGroupID(2), "みほん塾 新", 1); err != nil {
		t.Fatal(err)
	}
	s.Confirm(t, 1, 11, "17:00-21:30")
	s.Publish(t)
	s.step(t)
	if got := s.announced(t, 2, 0); !contains(got, "第5版") || contains(got, "更新") || contains(got, "変更") {
		t.Errorf("what a new LINE group is sent first says\n%s\nwant no update", got)
	}
}

func TestAnUpdateOfWhatMayHaveArrivedSaysSoWithoutACount(t *testing.T) {
	t.Parallel()
	for _, accepted := range []bool{false, true} {
		s := newStory(t)
		s.fault(t, linesim.Fault{Kind: linesim.FaultStatus, Status: 500, Accept: accepted, Count: 1})
		s.publishOne(t)
		s.step(t)
		s.publishNext(t)
		s.step(t)
		n := 0
		if accepted {
			n = 1
		}
		if got := s.announced(t, 1, n); !contains(got, "第2版（更新）") || contains(got, "件") {
			t.Errorf("the first version arrived: %v; the second says\n%s\nwant an update without a count", accepted, got)
		}
	}
}

func TestAVersionAfterOneThatWasRefusedIsTheFirst(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.fault(t, linesim.Fault{Kind: linesim.FaultStatus, Status: 400, Count: 1})
	s.publishOne(t)
	s.step(t)
	s.publishNext(t)
	s.step(t)
	if got := s.announced(t, 1, 0); !contains(got, "第2版") || contains(got, "更新") || contains(got, "変更") {
		t.Errorf("the second version says\n%s\nwant no update: the first did not arrive", got)
	}
}

func TestAVersionSentAgainCountsFromTheOneBeforeIt(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.publishOne(t)
	s.step(t)
	p := s.publishNext(t)
	s.step(t)
	s.resend(t, p.PublicationID, p.DeliveryID)
	s.step(t)
	for n := 1; n <= 2; n++ {
		if got := s.announced(t, 1, n); !contains(got, "第2版（更新）") || !contains(got, "1件（追加1）") {
			t.Errorf("announcement %d of the second version says\n%s\nwant 1 change since the first", n, got)
		}
	}
}

// resend sends a publication again, as somebody who knows that it arrived.
func (s *story) resend(t *testing.T, publicationID, last int64) int64 {
	t.Helper()
	return dbtest.Must(s.Store.Resend(t.Context(), db.ResendInput{PublicationID: publicationID, AdminID: s.Admin.ID, LastDeliveryID: last, Confirmed: true}))(t)
}

func TestSendingAgainGoesToTheGroupsPresentLINEGroup(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	id := s.publishOne(t)
	s.step(t)
	s.sim.AddGroup(linesim.Group{ID: dbtest.LINEGroupID(2), Name: "みほん塾 新", Members: []string{dbtest.LINEUserID(1)}, BotIn: true})
	if err := s.Store.LinkGroup(t.Context(), s.Group.ID, dbtest.LINEGroupID(2), "みほん塾 新", 1); err != nil {
		t.Fatal(err)
	}
	again := s.resend(t, s.delivery(t, id).PublicationID, id)
	s.step(t)
	s.wantState(t, again, roster.Sent, "")
	if before, now := s.messages(), len(s.sim.Messages(dbtest.LINEGroupID(2))); before != 1 || now != 1 {
		t.Errorf("the LINE group of before got %d messages, the present one %d, want one each", before, now)
	}
}

func TestASlowRecipientHasOneRequestAtATimeAndDelaysNobodyElse(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.at(t, "14:45")
	slow := s.Confirm(t, 0, 8, "17:00-21:30")
	slowGroup := s.Publish(t).DeliveryID
	for range 2 {
		s.begin(t) // and no answer comes
	}
	s.wantNotices(t, slow.ID, "reminder processing")
	s.wantState(t, slowGroup, roster.Processing, "")
	other, second := s.Confirm(t, 1, 8, "17:00-21:30"), s.Confirm(t, 0, 8, "16:30-16:45")
	otherGroup, secondVersion := s.publishOther(t), s.Publish(t).DeliveryID
	s.step(t)
	s.wantNotices(t, other.ID, "reminder sent")
	s.wantState(t, otherGroup, roster.Sent, "")
	s.wantNotices(t, second.ID, "reminder queued")
	s.wantState(t, secondVersion, roster.Queued, "")
}
