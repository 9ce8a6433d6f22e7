package linesim_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jonboulle/clockwork"

	"shiftpost/jobs/line"
	"shiftpost/jobs/line/linesim"
)

// school is a simulator with a group of three teachers and a client that speaks to it.
type school struct {
	*linesim.Simulator
	clock  *clockwork.FakeClock
	client *line.Client
	group  linesim.Group
	users  []linesim.User
}

var noon = time.Date(2027, 1, 8, 3, 0, 0, 0, time.UTC)

func newSchool(t *testing.T, o linesim.Options) *school {
	t.Helper()
	s := &school{clock: clockwork.NewFakeClockAt(noon)}
	o.Clock = s.clock
	s.Simulator = linesim.Start(t, o)
	g := linesim.Group{Name: "みほん塾 講師連絡", BotIn: true}
	for _, name := range []string{"佐藤 花子", "髙橋 健太", "田中 美咲"} {
		u := s.AddUser(linesim.User{Name: name, Friend: true})
		s.users = append(s.users, u)
		g.Members = append(g.Members, u.ID)
	}
	s.group = s.AddGroup(g)
	s.client = s.newClient(300 * time.Millisecond)
	return s
}

// newClient has a connection of its own, as another process would.
func (s *school) newClient(timeout time.Duration) *line.Client {
	return line.NewClient(line.Options{
		BaseURL: s.BaseURL(), Token: s.Channel().AccessToken, Timeout: timeout, Clock: s.clock,
		HTTPClient: &http.Client{Transport: &http.Transport{}},
	})
}

func pushBody(to, text string) []byte {
	return []byte(`{ "to":"` + to + `","messages":[{"type":"text","text":"` + text + `"}] }`)
}

func TestARetryAfterALostAnswerIsToldThatItWasAccepted(t *testing.T) {
	t.Parallel()
	for _, kind := range []linesim.FaultKind{linesim.FaultHang, linesim.FaultCut, linesim.FaultStatus} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			s := newSchool(t, linesim.Options{})
			if _, err := s.AddFault(linesim.Fault{Kind: kind, Accept: true, Endpoint: "push", Count: 1}); err != nil {
				t.Fatal(err)
			}
			key, body := uuid.NewString(), pushBody(s.group.ID, "1月のシフト表")
			_, err := s.client.Push(context.Background(), body, key)
			var le *line.Error
			if !errors.As(err, &le) || le.Class != line.Unknown {
				t.Fatalf("first try: %v", err)
			}
			s.clock.Advance(2 * time.Minute)
			ans, err := s.client.Push(context.Background(), body, key)
			if err != nil {
				t.Fatal(err)
			}
			first := s.Accepted()[0]
			if ans.Status != http.StatusConflict || ans.AcceptedRequestID != first.RequestID || len(ans.SentMessageIDs) != 1 || ans.SentMessageIDs[0] != first.MessageIDs[0] {
				t.Errorf("answer %+v, accepted %+v", ans, first)
			}
			if n := len(s.Messages(s.group.ID)); n != 1 {
				t.Errorf("%d messages in the chat, want 1", n)
			}
			if _, used := s.Quota(); used != 3 {
				t.Errorf("%d messages used, want 3", used)
			}
			s.Assert(t)
		})
	}
}
