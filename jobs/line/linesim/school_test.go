package linesim_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"

	"shiftpost/jobs/line"
	"shiftpost/jobs/line/linesim"
)

// noon is where the tests' clocks begin: 2027-01-08 12:00 in Japan.
var noon = time.Date(2027, 1, 8, 3, 0, 0, 0, time.UTC)

// school is a simulator with a group of three teachers, and a client that speaks to it.
type school struct {
	*linesim.Simulator
	clock  *clockwork.FakeClock
	client *line.Client
	group  linesim.Group
	users  []linesim.User
}

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
	s.client = s.newClient(line.DefaultTimeout)
	return s
}

// newClient has connections of its own, as another process would.
func (s *school) newClient(timeout time.Duration) *line.Client {
	return line.NewClient(line.Options{
		BaseURL: s.BaseURL(), Token: s.Channel().AccessToken, Timeout: timeout, Clock: s.clock,
		HTTPClient: &http.Client{Transport: &http.Transport{}},
	})
}

// fault sets a fault or fails the test.
func (s *school) fault(t *testing.T, f linesim.Fault) {
	t.Helper()
	if _, err := s.AddFault(f); err != nil {
		t.Fatal(err)
	}
}

// until waits for a change of the simulator, not longer than half a minute.
func (s *school) until(t *testing.T, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := s.Until(ctx, holds); err != nil {
		t.Fatal(err)
	}
}

// flush waits until the webhooks so far have been answered.
func (s *school) flush(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := s.FlushWebhooks(ctx); err != nil {
		t.Fatal(err)
	}
}

// answer is an HTTP answer that has been read.
type answer struct {
	status int
	header http.Header
	body   string
}

// call sends a request as it stands; headers are pairs of name and value, an empty value leaves the name out.
func (s *school) call(t *testing.T, method, path, body string, headers ...string) answer {
	t.Helper()
	req, err := http.NewRequest(method, s.BaseURL()+path, bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.Channel().AccessToken)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i+1] == "" {
			req.Header.Del(headers[i])
		} else {
			req.Header.Set(headers[i], headers[i+1])
		}
	}
	c := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{res.StatusCode, res.Header, string(b)}
}

func (s *school) push(t *testing.T, body, key string) answer {
	t.Helper()
	return s.call(t, "POST", "/v2/bot/message/push", body, "X-Line-Retry-Key", key)
}

// want compares status and body.
func (a answer) want(t *testing.T, status int, body string) {
	t.Helper()
	if a.status != status || a.body != body {
		t.Errorf("%d %s\nwant %d %s", a.status, a.body, status, body)
	}
}

// into decodes the body.
func (a answer) into(t *testing.T, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(a.body), v); err != nil {
		t.Fatalf("%v in %s", err, a.body)
	}
}

func textTo(to, text string) string {
	return fmt.Sprintf(`{ "to":%q,"messages":[{"type":"text","text":%q}] }`, to, text)
}

func pushBody(to, text string) []byte { return []byte(textTo(to, text)) }
