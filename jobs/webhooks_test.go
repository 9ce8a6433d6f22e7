package jobs_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"shiftpost/db/dbtest"
	"shiftpost/db/roster"
	"shiftpost/jobs"
	"shiftpost/jobs/line"
	"shiftpost/jobs/line/linesim"
)

// listen lets the simulated LINE tell its webhooks to the store, as the site does.
func (s *story) listen(t *testing.T) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		events, _, err := line.ReadEvents(s.sim.Channel().Secret, r.Header.Get("X-Line-Signature"), body)
		if err == nil {
			_, err = s.Store.ReceiveEvents(r.Context(), events)
		}
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
		}
	}))
	t.Cleanup(server.Close)
	s.sim.SetWebhookURL(server.URL)
}

// hears waits until LINE's webhooks are stored and works them.
func (s *story) hears(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := s.sim.FlushWebhooks(ctx); err != nil {
		t.Fatal(err)
	}
	s.step(t)
}

func (s *story) must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (s *story) untied(t *testing.T) []roster.LINEGroup {
	t.Helper()
	return dbtest.Must(s.Store.UntiedLINEGroups(t.Context()))(t)
}

func TestAnInvitedAccountLearnsTheGroupsNameAndFollowsItsSize(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.listen(t)
	g := s.sim.AddGroup(linesim.Group{ID: dbtest.LINEGroupID(2), Name: "西口 講師", Members: []string{dbtest.LINEUserID(1), dbtest.LINEUserID(2)}})
	s.must(t, s.sim.InviteBot(g.ID))
	s.hears(t)
	if l := s.untied(t); len(l) != 1 || l[0].Name != "西口 講師" || l[0].MemberCount != 2 {
		t.Fatalf("after the invitation: %+v", l)
	}
	s.must(t, s.sim.Join(g.ID, dbtest.LINEUserID(3)))
	s.hears(t)
	if l := s.untied(t); l[0].MemberCount != 3 {
		t.Errorf("after somebody came: %+v", l)
	}
	s.must(t, s.sim.Leave(g.ID, dbtest.LINEUserID(3)))
	s.must(t, s.sim.Leave(g.ID, dbtest.LINEUserID(2)))
	s.hears(t)
	if l := s.untied(t); l[0].MemberCount != 1 {
		t.Errorf("after two left: %+v", l)
	}
	s.must(t, s.sim.RemoveBot(g.ID))
	s.hears(t)
	if l := s.untied(t); len(l) != 0 {
		t.Errorf("after it was removed: %+v", l)
	}
}

func TestAGroupThatRemovesTheAccountIsSentNothingAndGoesOnWhenItIsBack(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.listen(t)
	s.must(t, s.sim.RemoveBot(s.Group.LINEGroupID))
	s.hears(t)
	id := s.publishOne(t)
	s.step(t)
	if id != 0 {
		t.Errorf("a group that is not linked got delivery %d", id)
	}
	s.must(t, s.sim.InviteBot(s.Group.LINEGroupID))
	s.hears(t)
	if g := dbtest.Must(s.Store.Group(t.Context(), s.Group.ID))(t); !g.Linked() || g.LINEMemberCount != 14 {
		t.Errorf("after it was invited again: %+v", g)
	}
}

func TestWebhooksThatComeTwiceOrInTheWrongOrderEndAsTheyHappened(t *testing.T) {
	t.Parallel()
	user := dbtest.LINEUserID(1)
	for _, kind := range []linesim.FaultKind{linesim.FaultDuplicate, linesim.FaultReorder, linesim.FaultRedeliver, linesim.FaultNoEvents, linesim.FaultUnknownEvent} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			s := newStory(t)
			s.listen(t)
			if _, err := s.sim.AddFault(linesim.Fault{Kind: kind, Count: 1}); err != nil {
				t.Fatal(err)
			}
			s.must(t, s.sim.Block(user))
			s.Clock.Advance(time.Second)
			s.must(t, s.sim.Follow(user))
			s.hears(t)
			if v := dbtest.Must(s.Store.Teacher(t.Context(), s.Teachers[0].ID))(t); v.Blocked {
				t.Error("who unblocked the account counts as a blocker")
			}
			s.Clock.Advance(time.Second)
			s.must(t, s.sim.Block(user))
			s.hears(t)
			if v := dbtest.Must(s.Store.Teacher(t.Context(), s.Teachers[0].ID))(t); !v.Blocked {
				t.Error("who blocked the account counts as reachable")
			}
			// One welcome for one friend, however often LINE told of them.
			if n := len(s.sim.Messages(user)); n != 1 {
				t.Errorf("%d welcomes were sent", n)
			}
		})
	}
}

func TestAForgedWebhookChangesNothing(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.listen(t)
	if _, err := s.sim.AddFault(linesim.Fault{Kind: linesim.FaultBadSignature, Count: 1}); err != nil {
		t.Fatal(err)
	}
	s.must(t, s.sim.Block(dbtest.LINEUserID(1)))
	s.hears(t)
	if v := dbtest.Must(s.Store.Teacher(t.Context(), s.Teachers[0].ID))(t); v.Blocked {
		t.Error("the forged event was believed")
	}
}

func TestTheWelcomeIsFreeTriedOnceAndFitsWhoReadsIt(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.listen(t)
	newcomer := s.sim.AddUser(linesim.User{Name: "新人"})
	s.must(t, s.sim.Follow(newcomer.ID))
	s.must(t, s.sim.Block(dbtest.LINEUserID(1)))
	s.must(t, s.sim.Follow(dbtest.LINEUserID(1)))
	s.hears(t)
	if m := s.sim.Messages(newcomer.ID); len(m) != 1 || !strings.Contains(m[0].Text(), "QRコード") {
		t.Errorf("a newcomer reads %d messages", len(m))
	}
	if m := s.sim.Messages(dbtest.LINEUserID(1)); len(m) != 1 || strings.Contains(m[0].Text(), "QRコード") {
		t.Errorf("a linked teacher reads %d messages", len(m))
	}
	if _, used := s.sim.Quota(); used != 0 {
		t.Errorf("the welcomes cost %d messages", used)
	}
	other := s.sim.AddUser(linesim.User{Name: "新人2"})
	if _, err := s.sim.AddFault(linesim.Fault{Kind: linesim.FaultStatus, Endpoint: "reply", Status: 500}); err != nil {
		t.Fatal(err)
	}
	s.must(t, s.sim.Follow(other.ID))
	s.hears(t)
	s.Clock.Advance(time.Hour)
	s.step(t)
	if n := s.replies(); n != 3 {
		t.Errorf("LINE got %d replies", n)
	}
}

// replies counts the requests to reply that LINE got.
func (s *story) replies() (n int) {
	for _, r := range s.sim.Requests() {
		if r.Endpoint == "reply" {
			n++
		}
	}
	return n
}

func TestAnEventIsTriedAgainWhileLINEIsDownAndAHoldDoesNotStopIt(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.listen(t)
	// A refused token holds all pushes.
	s.fault(t, linesim.Fault{Kind: linesim.FaultToken, Count: 1})
	s.publishOne(t)
	s.step(t)
	if holds := dbtest.Must(s.Store.Holds(t.Context()))(t); len(holds) != 1 {
		t.Fatalf("the holds are %+v", holds)
	}
	down := dbtest.Must(s.sim.AddFault(linesim.Fault{Kind: linesim.FaultStatus, Status: 503, Endpoint: "group summary"}))(t)
	g := s.sim.AddGroup(linesim.Group{ID: dbtest.LINEGroupID(2), Name: "西口 講師", Members: []string{dbtest.LINEUserID(1)}})
	s.must(t, s.sim.InviteBot(g.ID))
	s.hears(t)
	if l := s.untied(t); len(l) != 1 || l[0].Name != "" {
		t.Fatalf("while LINE is down: %+v", l)
	}
	s.sim.RemoveFault(down)
	s.Clock.Advance(roster.EventRetryBase)
	s.step(t)
	if l := s.untied(t); len(l) != 1 || l[0].Name != "西口 講師" {
		t.Errorf("after LINE was back: %+v", l)
	}
}

func TestTheNightlyPassFindsWhatLostWebhooksWouldHaveTold(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	sweeps := s.sweeps(t)
	if n := dbtest.Must(sweeps.CheckReachability(t.Context()))(t); n != 0 {
		t.Errorf("with nothing lost it changed %d rows", n)
	}
	s.Clock.Advance(time.Hour)
	s.must(t, s.sim.Block(dbtest.LINEUserID(1)))
	s.must(t, s.sim.Leave(s.Group.LINEGroupID, dbtest.LINEUserID(9)))
	if n := dbtest.Must(sweeps.CheckReachability(t.Context()))(t); n != 2 {
		t.Errorf("it changed %d rows, want the teacher and the group", n)
	}
	if v := dbtest.Must(s.Store.Teacher(t.Context(), s.Teachers[0].ID))(t); !v.Blocked {
		t.Error("the blocker counts as reachable")
	}
	if g := dbtest.Must(s.Store.Group(t.Context(), s.Group.ID))(t); g.LINEMemberCount != 13 {
		t.Errorf("the group has %d members", g.LINEMemberCount)
	}
	s.must(t, s.sim.RemoveBot(s.Group.LINEGroupID))
	dbtest.Must(sweeps.CheckReachability(t.Context()))(t)
	if g := dbtest.Must(s.Store.Group(t.Context(), s.Group.ID))(t); g.Linked() {
		t.Error("a group that the account is no longer in counts as linked")
	}
	if r := s.sweepRun(t, jobs.SweepReachability); r.RanAt.IsZero() || r.Error != "" {
		t.Errorf("the recorded run is %+v", r)
	}
}

func TestTheNightlyPassLeavesAloneWhomLINESaysNothingAbout(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.must(t, s.sim.Block(dbtest.LINEUserID(1)))
	s.must(t, s.sim.Block(dbtest.LINEUserID(2)))
	if _, err := s.sim.AddFault(linesim.Fault{Kind: linesim.FaultStatus, Status: 500, Endpoint: "profile", Count: 1}); err != nil {
		t.Fatal(err)
	}
	n, err := s.sweeps(t).CheckReachability(t.Context())
	var refusal *line.Error
	if n != 1 || !errors.As(err, &refusal) || refusal.Status != 500 {
		t.Errorf("it changed %d rows, %v; want one row and the trouble told", n, err)
	}
	asked := len(s.sim.Requests())
	if _, err := s.sim.AddFault(linesim.Fault{Kind: linesim.FaultToken}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.sweeps(t).CheckReachability(t.Context()); !errors.As(err, &refusal) || refusal.Status != 401 {
		t.Errorf("with a refused token: %v", err)
	}
	if n := len(s.sim.Requests()) - asked; n != 1 {
		t.Errorf("with a refused token LINE was asked %d times", n)
	}
}
