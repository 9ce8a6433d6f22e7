package linesim_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"shiftpost/jobs/line"
	"shiftpost/jobs/line/linesim"
)

func TestEachFaultLooksToAClientLikeLINEFailing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		fault    linesim.Fault
		class    line.Class // empty: accepted
		code     string
		accepted bool
	}{
		{"500 before accepting", linesim.Fault{Kind: linesim.FaultStatus}, line.Unknown, "HTTP_500", false},
		{"500 after accepting", linesim.Fault{Kind: linesim.FaultStatus, Accept: true}, line.Unknown, "HTTP_500", true},
		{"503 after accepting", linesim.Fault{Kind: linesim.FaultStatus, Status: 503, Accept: true}, line.Unknown, "HTTP_503", true},
		{"hang before accepting", linesim.Fault{Kind: linesim.FaultHang}, line.Unknown, line.CodeTimeout, false},
		{"hang after accepting", linesim.Fault{Kind: linesim.FaultHang, Accept: true}, line.Unknown, line.CodeTimeout, true},
		{"cut before accepting", linesim.Fault{Kind: linesim.FaultCut}, line.Unknown, line.CodeNetwork, false},
		{"cut after accepting", linesim.Fault{Kind: linesim.FaultCut, Accept: true}, line.Unknown, line.CodeNetwork, true},
		{"down", linesim.Fault{Kind: linesim.FaultDown}, line.Unknown, line.CodeNetwork, false},
		{"200 with a broken body", linesim.Fault{Kind: linesim.FaultBroken}, "", "", true},
		{"200 with HTML", linesim.Fault{Kind: linesim.FaultHTML}, "", "", true},
		{"200 cut within the body", linesim.Fault{Kind: linesim.FaultTruncate}, "", "", true},
		{"502 with HTML", linesim.Fault{Kind: linesim.FaultHTML, Status: 502}, line.Unknown, "HTTP_502", false},
		{"slow", linesim.Fault{Kind: linesim.FaultSlow, DelayMS: 20}, "", "", true},
		{"too slow", linesim.Fault{Kind: linesim.FaultSlow, DelayMS: 60_000}, line.Unknown, line.CodeTimeout, true},
		{"400", linesim.Fault{Kind: linesim.FaultStatus, Status: 400}, line.Refused, "HTTP_400", false},
		{"302", linesim.Fault{Kind: linesim.FaultStatus, Status: 302}, line.Refused, "HTTP_302", false},
		{"409 without an accepted id", linesim.Fault{Kind: linesim.FaultStatus, Status: 409}, line.Refused, "HTTP_409", false},
		{"401", linesim.Fault{Kind: linesim.FaultToken}, line.ChannelFault, "HTTP_401", false},
		{"403", linesim.Fault{Kind: linesim.FaultAccess}, line.ChannelFault, "HTTP_403", false},
		{"429 too fast", linesim.Fault{Kind: linesim.FaultRate}, line.ChannelFault, "HTTP_429", false},
		{"429 monthly though the quota lasts", linesim.Fault{Kind: linesim.FaultMonthly}, line.ChannelFault, "HTTP_429", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newSchool(t, linesim.Options{})
			c.fault.Count = 1
			s.fault(t, c.fault)
			client := s.client
			if c.code == line.CodeTimeout {
				client = s.newClient(200 * time.Millisecond)
			}
			key, body := uuid.NewString(), pushBody(s.group.ID, "x")
			ans, err := client.Push(context.Background(), body, key)
			if c.class == "" {
				if err != nil || ans.Status != 200 {
					t.Errorf("%+v, %v", ans, err)
				}
			} else {
				var le *line.Error
				if !errors.As(err, &le) || le.Class != c.class || le.Code != c.code {
					t.Errorf("%v", err)
				}
				if le != nil && le.MonthlyLimit != (c.fault.Kind == linesim.FaultMonthly) {
					t.Errorf("monthly limit %v", le.MonthlyLimit)
				}
			}
			if got := len(s.Accepted()) == 1; got != c.accepted {
				t.Errorf("accepted %v, want %v", got, c.accepted)
			}
			// The retry: the fault is over, the message is there once.
			ans, err = s.client.Push(context.Background(), body, key)
			want := http.StatusOK
			if c.accepted {
				want = http.StatusConflict
			}
			if err != nil || ans.Status != want {
				t.Errorf("retry: %d, %v", ans.Status, err)
			}
			if n := len(s.Messages(s.group.ID)); n != 1 {
				t.Errorf("%d messages", n)
			}
			s.Assert(t)
		})
	}
}

func TestAFaultIsAimedByEndpointRecipientStartCountAndChance(t *testing.T) {
	t.Parallel()
	toGroup, toUser := func(s *school) string { return s.group.ID }, func(s *school) string { return s.users[0].ID }
	other := func(s *school) string { return s.users[1].ID }
	for _, c := range []struct {
		name  string
		fault linesim.Fault
		who   []func(*school) string // each gets a push, in order
		want  string                 // x where it failed
	}{
		{"once", linesim.Fault{Count: 1}, []func(*school) string{toGroup, toGroup}, "x."},
		{"until removed", linesim.Fault{}, []func(*school) string{toGroup, toUser, toGroup}, "xxx"},
		{"groups", linesim.Fault{To: linesim.ToGroups}, []func(*school) string{toUser, toGroup, toUser}, ".x."},
		{"users", linesim.Fault{To: linesim.ToUsers}, []func(*school) string{toUser, toGroup, other}, "x.x"},
		{"from the third", linesim.Fault{Skip: 2, Count: 1}, []func(*school) string{toUser, toUser, toUser, toUser}, "..x."},
		{"skips only what fits", linesim.Fault{Skip: 1, To: linesim.ToGroups}, []func(*school) string{toUser, toGroup, toUser, toGroup}, "...x"},
		{"another endpoint", linesim.Fault{Endpoint: "quota"}, []func(*school) string{toUser}, "."},
		{"push", linesim.Fault{Endpoint: "push", Count: 1}, []func(*school) string{toUser}, "x"},
		{"always", linesim.Fault{Probability: 1}, []func(*school) string{toUser, toUser}, "xx"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newSchool(t, linesim.Options{})
			c.fault.Kind = linesim.FaultStatus
			s.fault(t, c.fault)
			got := ""
			for _, who := range c.who {
				if s.push(t, textTo(who(s), "x"), "").status == 200 {
					got += "."
				} else {
					got += "x"
				}
			}
			if got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
	s := newSchool(t, linesim.Options{})
	s.fault(t, linesim.Fault{Kind: linesim.FaultStatus, To: s.users[0].ID})
	if a, b := s.push(t, textTo(s.users[0].ID, "x"), ""), s.push(t, textTo(s.users[1].ID, "x"), ""); a.status != 500 || b.status != 200 {
		t.Errorf("one person: %d and another %d", a.status, b.status)
	}
}

func TestTheChanceOfAFaultFollowsItsSeed(t *testing.T) {
	t.Parallel()
	run := func(seed uint64) string {
		s := newSchool(t, linesim.Options{Seed: seed, Quota: -1})
		s.fault(t, linesim.Fault{Kind: linesim.FaultStatus, Probability: 0.5})
		out := ""
		for range 40 {
			if s.push(t, textTo(s.users[0].ID, "x"), "").status == 200 {
				out += "."
			} else {
				out += "x"
			}
		}
		return out
	}
	one := run(1)
	if one != run(1) {
		t.Error("the same seed gives another sequence")
	}
	if one == run(2) {
		t.Error("another seed gives the same sequence")
	}
	if n := strings.Count(one, "x"); n < 8 || n > 32 {
		t.Errorf("%d of 40 failed at one half", n)
	}
}

func TestFaultsOfTwoKindsFollowEachOther(t *testing.T) {
	t.Parallel()
	s := newSchool(t, linesim.Options{})
	s.fault(t, linesim.Fault{Kind: linesim.FaultStatus, Status: 503, Count: 1})
	s.fault(t, linesim.Fault{Kind: linesim.FaultStatus, Status: 500, Accept: true, Count: 1})
	key := uuid.NewString()
	var got []int
	for range 3 {
		got = append(got, s.push(t, textTo(s.group.ID, "x"), key).status)
	}
	if got[0] != 503 || got[1] != 500 || got[2] != 409 {
		t.Errorf("%v", got)
	}
	for i, p := range s.Pushes() {
		if p.Try != i+1 || p.Status != got[i] || p.Accepted != (i == 1) {
			t.Errorf("log %d: %+v", i, p)
		}
	}
	s.Assert(t)
}

func TestAFaultCanBeTakenBackAndAWrongOneIsRefused(t *testing.T) {
	t.Parallel()
	s := newSchool(t, linesim.Options{})
	id, err := s.AddFault(linesim.Fault{Kind: linesim.FaultStatus})
	if err != nil {
		t.Fatal(err)
	}
	s.RemoveFault(id)
	s.fault(t, linesim.Fault{Kind: linesim.FaultDown})
	s.ClearFaults()
	if a := s.push(t, textTo(s.group.ID, "x"), ""); a.status != 200 {
		t.Errorf("%d", a.status)
	}
	for _, f := range []linesim.Fault{
		{Kind: "rain"}, {Kind: linesim.FaultStatus, Endpoint: "fax"}, {Kind: linesim.FaultStatus, Status: 99},
		{Kind: linesim.FaultStatus, Probability: 2}, {Kind: linesim.FaultStatus, Count: -1},
	} {
		if _, err := s.AddFault(f); err == nil {
			t.Errorf("%+v was taken", f)
		}
	}
}

func TestAHangingRequestIsInTheLogUntilItsClientGoesAway(t *testing.T) {
	t.Parallel()
	s := newSchool(t, linesim.Options{})
	s.fault(t, linesim.Fault{Kind: linesim.FaultHang, Count: 1})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		_, err := s.client.Push(ctx, pushBody(s.group.ID, "x"), uuid.NewString())
		ended <- err
	}()
	s.until(t, func() bool { return len(s.Pushes()) > 0 })
	if p := s.Pushes()[0]; p.Done || p.Fault != linesim.FaultHang {
		t.Errorf("while it hangs: %+v", p)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("client: %v", err)
	}
	s.until(t, func() bool { return s.Pushes()[0].Done })
	if p := s.Pushes()[0]; !p.GaveUp || p.Status != 0 {
		t.Errorf("afterwards: %+v", p)
	}
	s.AssertTimeouts(t)
}
