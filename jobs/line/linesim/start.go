package linesim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"time"
)

// TB is the part of *testing.T that Start and the assertions use.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Cleanup(func())
}

// Start runs a simulator on a free loopback port until the test ends. Its BaseURL is the one to give to line.NewClient.
func Start(t TB, o Options) *Simulator {
	t.Helper()
	s, err := New(o)
	if err != nil {
		t.Fatalf("make simulator: %v", err)
	}
	stop, err := s.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatalf("listen: %v", err)
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Errorf("stop simulator: %v", err)
		}
	})
	return s
}

// Listen serves the simulator on a TCP address of this machine and, unless a base URL was set, makes that address its
// base URL. The returned function ends hanging requests and open pages, and then stops the server.
func (s *Simulator) Listen(address string) (stop func() error, err error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	if s.BaseURL() == "" {
		s.SetBaseURL("http://" + l.Addr().String())
	}
	server := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	return func() error {
		s.Close()
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		err := server.Shutdown(ctx)
		if e := <-ended; !errors.Is(e, http.ErrServerClosed) {
			err = errors.Join(err, e)
		}
		return err
	}, nil
}

// Assert checks all that a careful client never does wrong: AssertAcceptedOnce, AssertRetriesIdentical,
// AssertKeyOnFirstTry, AssertQuota and AssertTimeouts.
func (s *Simulator) Assert(t TB) {
	t.Helper()
	s.AssertAcceptedOnce(t)
	s.AssertRetriesIdentical(t)
	s.AssertKeyOnFirstTry(t)
	s.AssertQuota(t)
	s.AssertTimeouts(t)
}

// AssertAcceptedOnce fails the test if LINE accepted the same bytes for the same recipient more than once. Do not
// call it where a message was sent again on purpose.
func (s *Simulator) AssertAcceptedOnce(t TB) {
	t.Helper()
	first := map[string]string{}
	for _, a := range s.Accepted() {
		k := a.To + "\n" + string(a.Body)
		if id, again := first[k]; again {
			t.Errorf("LINE accepted the same message for %s twice, by requests %s and %s (keys %q)", a.To, id, a.RequestID, a.RetryKey)
			continue
		}
		first[k] = a.RequestID
	}
}

// AssertRetriesIdentical fails the test if two tries with one key differ by a byte.
func (s *Simulator) AssertRetriesIdentical(t TB) {
	t.Helper()
	first := map[string]Request{}
	for _, r := range s.Pushes() {
		if r.RetryKey == "" {
			continue
		}
		f, again := first[r.RetryKey]
		if !again || r.Try == 1 {
			first[r.RetryKey] = r
			continue
		}
		if !bytes.Equal(f.Body, r.Body) {
			t.Errorf("try %d with key %s has another body than try 1:\n%s\n%s", r.Try, r.RetryKey, f.Body, r.Body)
		}
	}
}

// AssertKeyOnFirstTry fails the test if a push came without a retry key.
func (s *Simulator) AssertKeyOnFirstTry(t TB) {
	t.Helper()
	for _, r := range s.Pushes() {
		if r.RetryKey == "" {
			t.Errorf("push %d came without a retry key", r.N)
		}
	}
}

// AssertQuota fails the test if the messages used this month are not the people reached by what was accepted: the
// members of a group, one for a friend, none for a blocker. Do not call it after SetUsed.
func (s *Simulator) AssertQuota(t TB) {
	t.Helper()
	_, used := s.Quota()
	want, month := 0, s.clock.Now().In(japan).Format("2006-01")
	for _, a := range s.Accepted() {
		if a.At.In(japan).Format("2006-01") != month {
			continue
		}
		if groupIDForm.MatchString(a.To) {
			want += a.Members
		} else {
			want += a.Recipients
		}
	}
	if used != want {
		t.Errorf("%d messages used, want %d: one for each person reached", used, want)
	}
}

// AssertTimeouts fails the test if a client would have waited for an answer without end.
func (s *Simulator) AssertTimeouts(t TB) {
	t.Helper()
	for _, r := range s.Requests() {
		if r.Endless {
			t.Errorf("%s request %d was still waiting after %v", r.Endpoint, r.N, s.opts.HangLimit)
		}
	}
}

// Text returns the words of a message: a text's, or a Flex message's alternative text.
func (m Message) Text() string {
	var o struct {
		Text    string `json:"text"`
		AltText string `json:"altText"`
	}
	if json.Unmarshal(m.Object, &o) != nil {
		return ""
	}
	if o.Text != "" {
		return o.Text
	}
	return o.AltText
}

// URIs returns the addresses behind the buttons of a message, in their order.
func (m Message) URIs() []string {
	var found []string
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			if a, ok := v["action"].(map[string]any); ok && a["type"] == "uri" {
				if u, ok := a["uri"].(string); ok {
					found = append(found, u)
				}
			}
			for _, k := range []string{"header", "hero", "body", "footer", "contents"} {
				walk(v[k])
			}
		}
	}
	var v any
	if json.Unmarshal(m.Object, &v) == nil {
		walk(v)
	}
	return found
}
