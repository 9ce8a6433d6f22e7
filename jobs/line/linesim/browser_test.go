package linesim_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jonboulle/clockwork"

	"shiftpost/jobs/line"
	"shiftpost/jobs/line/linesim"
	"shiftpost/jobs/render/browsertest"
)

// liffPage is what the test's product serves at and below its endpoint URL: it calls liff.init and leaves what it finds
// out on window.found. Its policy allows what a page on the real LINE has to allow: the SDK's script and LINE's API.
const liffPage = `<!DOCTYPE html><meta charset="utf-8"><title>viewer</title><body>
<button id="login">login</button><button id="logout">logout</button><script src="%s"></script>
<script src="/app.js"></script>`

const liffScript = `
liff.init({liffId: "%s"}).then(() => {
	let refused = "";
	if (liff.isInClient()) try { liff.login(); } catch (err) { refused = err.code; }
	window.found = {path: location.pathname, search: location.search, hash: location.hash, inClient: liff.isInClient(),
		loggedIn: liff.isLoggedIn(), token: liff.getIDToken() || "", user: (liff.getDecodedIDToken() || {}).sub || "",
		context: (liff.getContext() || {}).type, refused};
});
document.getElementById("login").onclick = () => liff.login({redirectUri: location.href});
document.getElementById("logout").onclick = () => { liff.logout(); window.found.loggedIn = liff.isLoggedIn(); };`

// found is window.found.
type found struct {
	Path, Search, Hash, Token, User, Context, Refused string
	InClient, LoggedIn                                bool
}

// productOf serves the LIFF endpoint for a simulator and tells it the address.
func productOf(t *testing.T, s *school) *httptest.Server {
	t.Helper()
	m := http.NewServeMux()
	m.HandleFunc("GET /liff/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", "default-src 'none'; script-src 'self' "+s.BaseURL()+"; connect-src 'self' "+s.BaseURL())
		fmt.Fprintf(w, liffPage, s.SDKURL())
	})
	m.HandleFunc("GET /app.js", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		fmt.Fprintf(w, liffScript, s.Login().LIFFID)
	})
	p := httptest.NewServer(m)
	t.Cleanup(p.Close)
	s.SetEndpointURL(p.URL + "/liff")
	return p
}

// announcement is a push body whose Flex message has a button to that address.
func announcement(to, uri string) []byte {
	b, err := json.Marshal(map[string]any{"to": to, "messages": []any{map[string]any{
		"type": "flex", "altText": "2027年1月 シフト表 第3版",
		"contents": map[string]any{
			"type": "bubble",
			"header": map[string]any{"type": "box", "layout": "vertical", "backgroundColor": "#0b2f57", "contents": []any{
				map[string]any{"type": "text", "text": "2027年1月 シフト表", "color": "#ffffff", "size": "xl", "weight": "bold", "wrap": true},
			}},
			"body": map[string]any{"type": "box", "layout": "vertical", "contents": []any{
				map[string]any{"type": "box", "layout": "baseline", "contents": []any{
					map[string]any{"type": "text", "text": "版", "flex": 1, "color": "#5b636f"},
					map[string]any{"type": "text", "text": "第3版", "flex": 3},
				}},
				map[string]any{"type": "separator", "margin": "lg"},
			}},
			"footer": map[string]any{"type": "box", "layout": "vertical", "contents": []any{
				map[string]any{"type": "button", "style": "primary", "color": "#0055ad", "action": map[string]any{"type": "uri", "label": "シフト表を開く", "uri": uri}},
			}},
		},
	}}})
	if err != nil {
		panic(err)
	}
	return b
}

func TestAButtonInAChatOpensTheLIFFPageAsThatUser(t *testing.T) {
	t.Parallel()
	s := newSchool(t, linesim.Options{})
	productOf(t, s)
	tab := browsertest.Start(t).Tab(t, 1280, 900)
	user := s.users[1]
	liffURL := s.LIFFBaseURL() + "/" + s.Login().LIFFID + "/documents/abc?from=chat"

	tab.Open(s.BaseURL() + "/sim?chat=" + user.ID)
	tab.Has(".phone-empty")
	if _, err := s.client.Push(context.Background(), announcement(user.ID, liffURL), uuid.NewString()); err != nil {
		t.Fatal(err)
	}
	// It appears without a page load, drawn through the CSS object model.
	href := browsertest.Await[string](tab, `document.querySelector("a.fx-button-primary")?.href`)
	if c := browsertest.Await[string](tab, `getComputedStyle(document.querySelector("a.fx-button-primary")).backgroundColor`); c != "rgb(0, 85, 173)" {
		t.Errorf("the button is %s", c)
	}
	if c := browsertest.Await[string](tab, `getComputedStyle(document.querySelector(".fx-text")).fontSize`); c != "22px" {
		t.Errorf("the title is %s high, want 22px for xl", c)
	}

	tab.Open(href)
	f := browsertest.Await[found](tab, `window.found`)
	if f.Path != "/liff/documents/abc" || f.Search != "?from=chat" || f.Hash != "" {
		t.Errorf("landed at %s%s%s", f.Path, f.Search, f.Hash)
	}
	if !f.InClient || !f.LoggedIn || f.User != user.ID || f.Context != "utou" {
		t.Errorf("found %+v", f)
	}
	if f.Refused != "FORBIDDEN" {
		t.Errorf("liff.login() inside the LIFF browser: %q", f.Refused)
	}
	id, err := s.client.VerifyIDToken(context.Background(), f.Token, s.Login().ChannelID)
	if err != nil || id.UserID != user.ID || id.Name != user.Name {
		t.Errorf("token is about %+v, %v", id, err)
	}

	// Two hours later a reload still gives the old token; only logging out and coming back by the LIFF URL renews it.
	s.clock.Advance(2 * time.Hour)
	tab.Reload()
	old := browsertest.Await[found](tab, `window.found`)
	if old.Token != f.Token || !old.LoggedIn {
		t.Error("a reload renewed the token")
	}
	if _, err := s.client.VerifyIDToken(context.Background(), old.Token, s.Login().ChannelID); !errors.Is(err, line.ErrTokenExpired) {
		t.Errorf("old token: %v", err)
	}
	tab.ClickOn("#logout")
	if browsertest.Await[found](tab, `window.found`).LoggedIn {
		t.Error("still logged in after liff.logout()")
	}
	tab.Open(liffURL)
	again := browsertest.Await[found](tab, `window.found`)
	if !again.InClient || again.User != user.ID || again.Token == old.Token {
		t.Errorf("came back as %+v", again)
	}
	if _, err := s.client.VerifyIDToken(context.Background(), again.Token, s.Login().ChannelID); err != nil {
		t.Errorf("new token: %v", err)
	}
}

func TestAnExternalBrowserAsksWhoLogsIn(t *testing.T) {
	t.Parallel()
	s := newSchool(t, linesim.Options{})
	productOf(t, s)
	tab := browsertest.Start(t).Tab(t, 1280, 900)
	tab.Open(s.LIFFBaseURL() + "/" + s.Login().LIFFID + "/documents/abc")
	f := browsertest.Await[found](tab, `window.found`)
	if f.InClient || f.LoggedIn || f.Token != "" || f.Path != "/liff/documents/abc" || f.Context != "external" {
		t.Fatalf("found %+v", f)
	}
	tab.ClickOn("#login")
	tab.ClickOn(`button[value="` + s.users[2].ID + `"]`)
	f = browsertest.Await[found](tab, `window.found`)
	if !f.LoggedIn || f.InClient || f.User != s.users[2].ID || f.Search != "" {
		t.Errorf("found %+v", f)
	}
	if id, err := s.client.VerifyIDToken(context.Background(), f.Token, s.Login().ChannelID); err != nil || id.UserID != s.users[2].ID {
		t.Errorf("token is about %+v, %v", id, err)
	}
}

func TestALoginGoesOnlyToTheEndpointThatTheChannelKnows(t *testing.T) {
	t.Parallel()
	s := newSchool(t, linesim.Options{})
	p := productOf(t, s)
	ask := func(client, redirect string) string {
		return s.BaseURL() + "/oauth2/v2.1/authorize?response_type=code&client_id=" + client + "&redirect_uri=" + redirect
	}
	for _, c := range []struct {
		name, url string
		status    int
	}{
		{"below the endpoint", ask(s.Login().ChannelID, p.URL+"/liff/x"), 200},
		{"elsewhere", ask(s.Login().ChannelID, "https://example.com/liff"), 400},
		{"another channel", ask("1", p.URL+"/liff/x"), 400},
	} {
		res, err := http.Get(c.url)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != c.status {
			t.Errorf("%s: %d, want %d", c.name, res.StatusCode, c.status)
		}
	}
}

func TestThePageHasNoStyleAttributeAndAPolicyOfItsOwn(t *testing.T) {
	t.Parallel()
	s := newSchool(t, linesim.Options{})
	if _, err := s.client.Push(context.Background(), announcement(s.group.ID, s.LIFFBaseURL()+"/x"), uuid.NewString()); err != nil {
		t.Fatal(err)
	}
	res, err := http.Get(s.BaseURL() + "/sim")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if html := string(body); strings.Contains(html, "style=") || strings.Contains(html, "<style") {
		t.Error("the page sets styles inline")
	} else if !strings.Contains(html, "2027年1月 シフト表 第3版") {
		t.Error("without its script the page does not show the message's alternative text")
	}
	csp := res.Header.Get("Content-Security-Policy")
	if !strings.Contains(csp, "default-src 'none'") || strings.Contains(csp, "unsafe") {
		t.Errorf("policy %q", csp)
	}
}

func TestInTheBrowserAPersonMakesLINEFailAndSeesTheRetrySucceed(t *testing.T) {
	t.Parallel()
	s := newSchool(t, linesim.Options{})
	tab := browsertest.Start(t).Tab(t, 1280, 900)
	tab.Open(s.BaseURL() + "/sim")
	tab.ClickOn(`input[value="status_accepted"]`)
	tab.ClickOn(`.sim-faults .button-primary`)
	tab.Until(`document.querySelectorAll("#fault-list li").length === 1`)
	key, body := uuid.NewString(), pushBody(s.group.ID, "1月のシフト表")
	var le *line.Error
	if _, err := s.client.Push(context.Background(), body, key); !errors.As(err, &le) || le.Status != 503 {
		t.Fatalf("first try: %v", err)
	}
	tab.Until(`document.querySelectorAll(".sim-rows > li").length === 1 && document.querySelectorAll(".phone .bubble").length === 1`)
	if _, err := s.client.Push(context.Background(), body, key); err != nil {
		t.Fatal(err)
	}
	row := browsertest.Await[string](tab, `document.querySelectorAll(".sim-rows > li").length === 2 && document.querySelector(".sim-rows > li").innerText`)
	for _, want := range []string{"2回目", "409 受付済み", "前の送信で届いた"} {
		if !strings.Contains(row, want) {
			t.Errorf("the log says %q, want %q", row, want)
		}
	}
	if n := browsertest.Await[int](tab, `document.querySelectorAll(".phone .bubble").length`); n != 1 {
		t.Errorf("%d messages in the chat", n)
	}
	s.Assert(t)
}

func TestThePageFollowsWhatTheProductPlansAndGoesThere(t *testing.T) {
	t.Parallel()
	clock := clockwork.NewFakeClockAt(noon)
	var planned atomic.Pointer[[]linesim.Appointment]
	planned.Store(&[]linesim.Appointment{})
	s := newSchool(t, linesim.Options{TimeTravel: hands{clock}, Agenda: func(context.Context) []linesim.Appointment { return *planned.Load() }})
	tab := browsertest.Start(t).Tab(t, 1280, 900)
	tab.Open(s.BaseURL() + "/sim")
	tab.Loses("この先の予定")

	// The product tells nobody that it plans something: the page finds it by itself.
	at := noon.Add(2*time.Minute + 480*time.Millisecond)
	planned.Store(&[]linesim.Appointment{{At: at, Title: "2回目の送信"}, {At: noon.Add(24 * time.Hour), Title: "あすの巡回"}})
	tab.Sees("2回目の送信")
	tab.Sees("12:02:00")
	tab.Sees("1/9(土) 12:00")
	tab.Click("次の予定 12:02 へ")
	tab.Until(`!document.querySelector("[name=until]").disabled`)
	if !clock.Now().Equal(at) {
		t.Errorf("the button leads to %v, want the very instant %v", clock.Now(), at)
	}

	// An appointment that came by itself before the button was pressed takes nobody back.
	planned.Store(&[]linesim.Appointment{{At: noon.Add(-time.Minute), Title: "過ぎた予定"}})
	tab.Sees("過ぎた予定")
	tab.Click("次の予定 11:59 へ")
	tab.Until(`!document.querySelector("[name=until]").disabled`)
	if !clock.Now().Equal(at) {
		t.Errorf("the clock went back to %v", clock.Now())
	}
}
