package line_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/jonboulle/clockwork"

	"shiftpost/jobs/line"
	"shiftpost/jobs/line/linesim"
)

var noon = time.Date(2027, 1, 8, 3, 0, 0, 0, time.UTC)

const message = "内緒の本文"

func body(to string) []byte {
	return []byte(`{"to":"` + to + `", "messages":[ {"type":"text","text":"` + message + `"} ]}`)
}

// start runs LINE with one group of one friend, and a client for it.
func start(t *testing.T) (*linesim.Simulator, *line.Client, linesim.Group) {
	t.Helper()
	clock := clockwork.NewFakeClockAt(noon)
	s := linesim.Start(t, linesim.Options{Clock: clock})
	u := s.AddUser(linesim.User{Name: "佐藤 花子", Friend: true})
	g := s.AddGroup(linesim.Group{Name: "講師", Members: []string{u.ID}, BotIn: true})
	return s, line.NewClient(line.Options{BaseURL: s.BaseURL() + "/", Token: s.Channel().AccessToken, Clock: clock}), g
}

// answering is a server that is not LINE, for what LINE never does.
func answering(t *testing.T, h http.HandlerFunc) *line.Client {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return line.NewClient(line.Options{BaseURL: server.URL, Token: "secret-token", Clock: clockwork.NewFakeClockAt(noon)})
}

func TestAPushSendsTheStoredBytesAndTheKeyAsTheyAre(t *testing.T) {
	t.Parallel()
	s, c, g := start(t)
	key, b := uuid.NewString(), body(g.ID)
	ans, err := c.Push(context.Background(), b, key)
	if err != nil {
		t.Fatal(err)
	}
	got := s.Pushes()[0]
	if string(got.Body) != string(b) || got.RetryKey != key {
		t.Errorf("sent %s with key %s", got.Body, got.RetryKey)
	}
	if ans.Status != 200 || ans.RequestID != got.RequestID || len(ans.SentMessageIDs) != 1 || ans.AcceptedRequestID != "" || !ans.Date.Equal(noon) {
		t.Errorf("%+v", ans)
	}
}

func TestAPushWithoutAKeyIsNotSent(t *testing.T) {
	t.Parallel()
	s, c, g := start(t)
	if _, err := c.Push(context.Background(), body(g.ID), ""); err == nil {
		t.Error("no error")
	}
	if n := len(s.Requests()); n != 0 {
		t.Errorf("%d requests", n)
	}
}

func TestAnAnswerIsSortedByItsStatus(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status   int
		accepted string // x-line-accepted-request-id
		body     string
		class    line.Class // empty: accepted
		monthly  bool
		message  string
	}{
		{status: 200, body: `{"sentMessages":[{"id":"1"}]}`},
		{status: 202, body: `<html>`},
		{status: 204},
		{status: 409, accepted: "a", body: `{"message":"The retry key is already accepted","sentMessages":[{"id":"1"}]}`},
		{status: 409, body: `{"message":"The retry key is already accepted"}`, class: line.Refused, message: "The retry key is already accepted"},
		{status: 400, body: `{"message":"The request body has 1 error(s)","details":[{"message":"May not be empty","property":"messages[0].text"}]}`, class: line.Refused, message: "The request body has 1 error(s): messages[0].text: May not be empty"},
		{status: 400, accepted: "a", body: `{}`, class: line.Refused},
		{status: 301, class: line.Refused}, {status: 304, class: line.Refused}, {status: 404, class: line.Refused}, {status: 410, class: line.Refused}, {status: 413, class: line.Refused},
		{status: 401, body: `{"message":"Authentication failed."}`, class: line.ChannelFault, message: "Authentication failed."},
		{status: 403, class: line.ChannelFault},
		{status: 429, body: `{"message":"You have reached your monthly limit."}`, class: line.ChannelFault, monthly: true, message: "You have reached your monthly limit."},
		{status: 429, body: `{"message":"The API rate limit has been exceeded. Try again later."}`, class: line.ChannelFault, message: "The API rate limit has been exceeded. Try again later."},
		{status: 429, body: `{"message":"Something new."}`, class: line.ChannelFault, message: "Something new."},
		{status: 500, body: `<html>`, class: line.Unknown}, {status: 502, class: line.Unknown}, {status: 503, class: line.Unknown}, {status: 599, class: line.Unknown},
		{status: 600, class: line.Unknown},
	} {
		client := answering(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/v2/bot/message/push" {
				t.Errorf("a redirect was followed to %s", r.URL.Path)
			}
			w.Header().Set("X-Line-Request-Id", "r")
			if c.accepted != "" {
				w.Header().Set("X-Line-Accepted-Request-Id", c.accepted)
			}
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(c.status)
			io.WriteString(w, c.body)
		})
		ans, err := client.Push(context.Background(), body(""), "k")
		if ans.Status != c.status || ans.RequestID != "r" || ans.AcceptedRequestID != c.accepted {
			t.Errorf("%d: answer %+v", c.status, ans)
		}
		if c.class == "" {
			if err != nil {
				t.Errorf("%d: %v", c.status, err)
			}
			continue
		}
		var le *line.Error
		if !errors.As(err, &le) {
			t.Errorf("%d: %v", c.status, err)
			continue
		}
		if le.Class != c.class || le.MonthlyLimit != c.monthly || le.Message != c.message || le.Status != c.status || le.RequestID != "r" || !strings.HasPrefix(le.Code, "HTTP_") {
			t.Errorf("%d: %+v", c.status, le)
		}
	}
}

func TestNoAnswerIsUnknownAndSaysWhetherItWasTimeOrTheNetwork(t *testing.T) {
	t.Parallel()
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	s, c, g := start(t)
	quick := line.NewClient(line.Options{BaseURL: s.BaseURL(), Token: s.Channel().AccessToken, Timeout: 100 * time.Millisecond})
	nobody := line.NewClient(line.Options{BaseURL: "http://127.0.0.1:1", Token: "x"})
	for _, v := range []struct {
		name   string
		fault  linesim.FaultKind
		client *line.Client
		ctx    context.Context // nil: one that ends soon
		code   string
		is     error
	}{
		{"own timeout", linesim.FaultHang, quick, context.Background(), line.CodeTimeout, nil},
		{"the caller's deadline", linesim.FaultHang, c, nil, line.CodeTimeout, context.DeadlineExceeded},
		{"given up", "", c, canceled, line.CodeNetwork, context.Canceled},
		{"connection reset", linesim.FaultCut, c, context.Background(), line.CodeNetwork, nil},
		{"nobody there", "", nobody, context.Background(), line.CodeNetwork, nil},
	} {
		if v.fault != "" {
			if _, err := s.AddFault(linesim.Fault{Kind: v.fault, Count: 1}); err != nil {
				t.Fatal(err)
			}
		}
		if v.ctx == nil {
			ctx, stop := context.WithTimeout(context.Background(), 100*time.Millisecond)
			defer stop()
			v.ctx = ctx
		}
		ans, err := v.client.Push(v.ctx, body(g.ID), uuid.NewString())
		var le *line.Error
		if !errors.As(err, &le) || le.Class != line.Unknown || le.Code != v.code || le.Status != 0 || ans.Status != 0 {
			t.Errorf("%s: %v", v.name, err)
		}
		if v.is != nil && !errors.Is(err, v.is) {
			t.Errorf("%s: %v is not %v", v.name, err, v.is)
		}
	}
}

// silent answers nothing until the caller gives up.
type silent struct{}

func (silent) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, context.Cause(r.Context())
}

func TestARequestIsGivenUpAfterTenSeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := line.NewClient(line.Options{Token: "t", HTTPClient: &http.Client{Transport: silent{}}})
		began := time.Now()
		_, err := c.Push(t.Context(), []byte("{}"), "k")
		var e *line.Error
		if !errors.As(err, &e) || e.Class != line.Unknown || e.Code != line.CodeTimeout {
			t.Errorf("the push answered %v, want TIMEOUT", err)
		}
		if waited := time.Since(began); waited != 10*time.Second {
			t.Errorf("it was given up after %s, want 10s", waited)
		}
	})
}

func TestErrorsHoldNoTokenNoIDAndNothingThatWasSent(t *testing.T) {
	t.Parallel()
	const user = "U0123456789abcdef0123456789abcdef"
	group := "C" + user[1:]
	leak := answering(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(400)
		json.NewEncoder(w).Encode(map[string]string{"message": user + " and " + group + " are\nunknown" + strings.Repeat("あ", 500)})
	})
	gone := line.NewClient(line.Options{BaseURL: "http://127.0.0.1:1", Token: "secret-token"})
	ctx := context.Background()
	for name, call := range map[string]func(*line.Client) error{
		"push":    func(c *line.Client) error { _, err := c.Push(ctx, body(user), "k"); return err },
		"profile": func(c *line.Client) error { _, err := c.Profile(ctx, user); return err },
		"member":  func(c *line.Client) error { _, err := c.GroupMember(ctx, group, user); return err },
		"summary": func(c *line.Client) error { _, err := c.GroupSummary(ctx, group); return err },
		"count":   func(c *line.Client) error { _, err := c.GroupMemberCount(ctx, group); return err },
		"reply":   func(c *line.Client) error { return c.Reply(ctx, user, json.RawMessage(`["`+message+`"]`)) },
		"verify":  func(c *line.Client) error { _, err := c.VerifyIDToken(ctx, "the-token", "1"); return err },
	} {
		for kind, c := range map[string]*line.Client{"refused": leak, "unreachable": gone} {
			err := call(c)
			if err == nil {
				t.Errorf("%s %s: no error", name, kind)
				continue
			}
			text := err.Error()
			for _, secret := range []string{user, group, "secret-token", "the-token", message, "\n"} {
				if strings.Contains(text, secret) {
					t.Errorf("%s %s: %q holds %q", name, kind, text, secret)
				}
			}
			var le *line.Error
			if errors.As(err, &le) && len([]rune(le.Message)) > 200 {
				t.Errorf("%s %s: %d runes of foreign words", name, kind, len([]rune(le.Message)))
			}
		}
	}
}

func TestOnlyTheBeginningOfAnEndlessAnswerIsRead(t *testing.T) {
	t.Parallel()
	c := answering(t, func(w http.ResponseWriter, r *http.Request) {
		chunk := []byte(strings.Repeat(" ", 1<<16))
		for r.Context().Err() == nil {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	})
	if ans, err := c.Push(context.Background(), body(""), "k"); err != nil || ans.Status != 200 {
		t.Errorf("%+v, %v", ans, err)
	}
}

func TestTheOtherCallsUnderstandLINE(t *testing.T) {
	t.Parallel()
	s, c, g := start(t)
	ctx := context.Background()
	u := g.Members[0]
	if b, err := c.BotInfo(ctx); err != nil || b.UserID != s.Channel().BotUserID || b.BasicID != "@linesim" || b.DisplayName != "Shiftpost" || b.ChatMode != "bot" || !b.AnsweredAt.Equal(noon) {
		t.Errorf("%+v, %v", b, err)
	}
	if q, err := c.Quota(ctx); err != nil || !q.Limited || q.Value != 200 {
		t.Errorf("%+v, %v", q, err)
	}
	s.SetQuota(-1)
	if q, err := c.Quota(ctx); err != nil || q.Limited {
		t.Errorf("%+v, %v", q, err)
	}
	s.SetUsed(57)
	if n, err := c.Consumption(ctx); err != nil || n != 57 {
		t.Errorf("%d, %v", n, err)
	}
	if v, err := c.GroupSummary(ctx, g.ID); err != nil || v.ID != g.ID || v.Name != "講師" {
		t.Errorf("%+v, %v", v, err)
	}
	if n, err := c.GroupMemberCount(ctx, g.ID); err != nil || n != 1 {
		t.Errorf("%d, %v", n, err)
	}
	if p, err := c.GroupMember(ctx, g.ID, u); err != nil || p.UserID != u || p.DisplayName != "佐藤 花子" {
		t.Errorf("%+v, %v", p, err)
	}
	if p, err := c.Profile(ctx, u); err != nil || p.UserID != u || p.Language != "ja" {
		t.Errorf("%+v, %v", p, err)
	}
	if err := s.Block(u); err != nil {
		t.Fatal(err)
	}
	var le *line.Error
	if _, err := c.Profile(ctx, u); !errors.As(err, &le) || !le.NotFound() {
		t.Errorf("a blocker: %v", err)
	}
	if err := c.ValidatePush(ctx, json.RawMessage(`[{"type":"text","text":"x"}]`)); err != nil {
		t.Error(err)
	}
	if err := c.ValidatePush(ctx, json.RawMessage(`[]`)); !errors.As(err, &le) || le.Status != 400 {
		t.Errorf("%v", err)
	}
	if err := c.Reply(ctx, "x", json.RawMessage(`[{"type":"text","text":"x"}]`)); !errors.As(err, &le) || le.Message != "Invalid reply token" {
		t.Errorf("%v", err)
	}
	// Ids from outside cannot change the call.
	if _, err := c.GroupSummary(ctx, "../../info?x="); !errors.As(err, &le) || le.Status != 400 {
		t.Errorf("%v", err)
	}
	if _, err := c.GroupMemberCount(ctx, g.ID); err != nil {
		t.Error(err)
	}
	if _, err := s.AddFault(linesim.Fault{Kind: linesim.FaultHTML, Count: 1}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Quota(ctx); !errors.As(err, &le) || le.Class != line.Unknown {
		t.Errorf("HTML instead of JSON: %v", err)
	}
}

func TestAnIDTokenIsGoodOrOneOfFourThings(t *testing.T) {
	t.Parallel()
	s, c, g := start(t)
	ctx, u, channel := context.Background(), g.Members[0], s.Login().ChannelID
	token := s.IDToken(u, nil)
	if id, err := c.VerifyIDToken(ctx, token, channel); err != nil || id.UserID != u || id.Name != "佐藤 花子" || !id.ExpiresAt.Equal(noon.Add(time.Hour)) {
		t.Errorf("%+v, %v", id, err)
	}
	for _, v := range []struct {
		name, token, channel string
		want                 error
	}{
		{"expired", s.IDToken(u, func(c *linesim.Claims) { c.Expires = noon.Unix() }), channel, line.ErrTokenExpired},
		{"another channel's", token, "1", line.ErrTokenAudience},
		{"no token", "x", channel, line.ErrTokenInvalid},
		{"another issuer's", s.IDToken(u, func(c *linesim.Claims) { c.Issuer = "https://example.com" }), channel, line.ErrTokenInvalid},
		{"about no user", s.IDToken("admin", nil), channel, line.ErrTokenInvalid},
	} {
		if id, err := c.VerifyIDToken(ctx, v.token, v.channel); !errors.Is(err, v.want) || id != (line.Identity{}) {
			t.Errorf("%s: %+v, %v", v.name, id, err)
		}
	}
	for _, f := range []linesim.Fault{
		{Kind: linesim.FaultStatus, Status: 500}, {Kind: linesim.FaultRate}, {Kind: linesim.FaultCut}, {Kind: linesim.FaultHTML},
		{Kind: linesim.FaultBroken}, {Kind: linesim.FaultHTML, Status: 400}, {Kind: linesim.FaultStatus, Status: 403}, {Kind: linesim.FaultStatus, Status: 302},
	} {
		f.Endpoint, f.Count = "verify", 1
		if _, err := s.AddFault(f); err != nil {
			t.Fatal(err)
		}
		if _, err := c.VerifyIDToken(ctx, token, channel); !errors.Is(err, line.ErrNotAsked) {
			t.Errorf("%+v: %v", f, err)
		}
	}
}

func TestLINEsWordAboutAnIDTokenIsNotTakenBlindly(t *testing.T) {
	t.Parallel()
	const user = "U0123456789abcdef0123456789abcdef"
	for _, v := range []struct {
		name   string
		change map[string]any
		want   error
	}{
		{"good", nil, nil},
		{"issuer", map[string]any{"iss": "https://example.com"}, line.ErrTokenInvalid},
		{"audience", map[string]any{"aud": "2"}, line.ErrTokenAudience},
		{"subject", map[string]any{"sub": "U1"}, line.ErrTokenInvalid},
		{"no subject", map[string]any{"sub": nil}, line.ErrTokenInvalid},
		{"expired a minute ago", map[string]any{"exp": noon.Add(-time.Minute).Unix()}, line.ErrTokenExpired},
		{"clocks differ by less", map[string]any{"exp": noon.Add(-time.Minute + time.Second).Unix()}, nil},
	} {
		c := answering(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "" || r.PostFormValue("id_token") != "t" || r.PostFormValue("client_id") != "1" {
				t.Errorf("asked with %v and %v", r.Header, r.PostForm)
			}
			claims := map[string]any{"iss": "https://access.line.me", "aud": "1", "sub": user, "exp": noon.Add(time.Hour).Unix()}
			for k, v := range v.change {
				claims[k] = v
			}
			json.NewEncoder(w).Encode(claims)
		})
		if id, err := c.VerifyIDToken(context.Background(), "t", "1"); !errors.Is(err, v.want) || (err == nil) != (id.UserID == user) {
			t.Errorf("%s: %+v, %v", v.name, id, err)
		}
	}
}

func TestAWebhookIsReadOnlyIfItsSignatureFits(t *testing.T) {
	t.Parallel()
	// The vector is LINE's documentation's.
	const secret, raw = "8c570fa6dd201bb328f1c1eac23a96d8", `{"destination":"U8e742f61d673b39c7fff3cecb7536ef0","events":[]}`
	const signature = "GhRKmvmHys4Pi8DxkF4+EayaH0OqtJtaZxgTD9fMDLs="
	cb, err := line.ParseWebhook(secret, signature, []byte(raw))
	if err != nil || cb.Destination != "U8e742f61d673b39c7fff3cecb7536ef0" || len(cb.Events) != 0 {
		t.Errorf("%+v, %v", cb, err)
	}
	for name, v := range map[string]struct{ secret, signature, body string }{
		"another secret":     {"x", signature, raw},
		"no secret set":      {"", linesim.Sign("", []byte(raw)), raw},
		"no signature":       {secret, "", raw},
		"broken signature":   {secret, "%%%", raw},
		"a byte more":        {secret, signature, raw + " "},
		"forged, not parsed": {secret, signature, "{"},
	} {
		if _, err := line.ParseWebhook(v.secret, v.signature, []byte(v.body)); !errors.Is(err, line.ErrSignature) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := line.ParseWebhook(secret, linesim.Sign(secret, []byte("{")), []byte("{")); !errors.Is(err, line.ErrWebhookBody) {
		t.Errorf("signed rubbish: %v", err)
	}
}

func TestManyRequestsAtATimeKeepTheirConnectionsForTheNextOnes(t *testing.T) {
	t.Parallel()
	const together, rounds = 16, 4
	s := linesim.Start(t, linesim.Options{Clock: clockwork.NewFakeClockAt(noon)})
	arrived := make(chan struct{}, together)
	var leave atomic.Pointer[chan struct{}]
	var connected atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		<-*leave.Load()
		s.ServeHTTP(w, r)
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connected.Add(1)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	c := line.NewClient(line.Options{BaseURL: server.URL, Token: s.Channel().AccessToken})
	for range rounds {
		all := make(chan struct{})
		leave.Store(&all)
		var wait sync.WaitGroup
		for range together {
			wait.Go(func() {
				if _, err := c.BotInfo(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		for range together {
			<-arrived
		}
		close(all)
		wait.Wait()
	}
	if n := connected.Load(); n != together {
		t.Errorf("%d times %d requests took %d connections", rounds, together, n)
	}
}
