package linesim_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jonboulle/clockwork"

	"shiftpost/jobs/line/linesim"
)

// hands moves a fake clock for /sim.
type hands struct{ clock *clockwork.FakeClock }

func (h hands) Advance(d time.Duration) error {
	h.clock.Advance(d)
	return nil
}

func (h hands) Set(t time.Time) error { return h.Advance(t.Sub(h.clock.Now())) }

func TestAScriptRunsTheSimulatorOverHTTP(t *testing.T) {
	t.Parallel()
	clock := clockwork.NewFakeClockAt(noon)
	s := &school{Simulator: linesim.Start(t, linesim.Options{Clock: clock, TimeTravel: hands{clock}, Login: linesim.Login{EndpointURL: "https://school.example/liff"}}), clock: clock}
	h := hookOf(t, s)
	api := func(method, path, body string, status int) answer {
		t.Helper()
		a := s.call(t, method, "/sim/api"+path, body)
		if a.status != status {
			t.Fatalf("%s %s: %d %s, want %d", method, path, a.status, a.body, status)
		}
		return a
	}
	var u linesim.User
	api("POST", "/users", `{"name":"佐藤 花子","friend":true}`, 200).into(t, &u)
	var g linesim.Group
	api("POST", "/groups", `{"name":"講師","members":["`+u.ID+`"]}`, 200).into(t, &g)
	api("POST", "/groups/"+g.ID+"/invite", "", 200)
	api("PUT", "/groups/"+g.ID+"/members/"+u.ID, "", 200)
	api("POST", "/faults", `{"kind":"status","endpoint":"push","count":1,"status":503,"accept":true}`, 200)
	api("PUT", "/quota", `{"limit":10}`, 200)
	key := uuid.NewString()
	s.push(t, textTo(g.ID, "x"), key)
	s.push(t, textTo(g.ID, "x"), key)
	api("POST", "/chats/"+g.ID+"/messages", `{"from":"`+u.ID+`","text":"やあ"}`, 200)
	api("POST", "/chats/"+u.ID+"/postbacks", `{"from":"`+u.ID+`","data":"a=1"}`, 200)
	api("POST", "/webhooks", `{"events":[]}`, 200)

	var messages []struct{ From, Text string }
	api("GET", "/chats/"+g.ID+"/messages", "", 200).into(t, &messages)
	if len(messages) != 2 || messages[0].From != "" || messages[0].Text != "x" || messages[1].Text != "やあ" {
		t.Errorf("%+v", messages)
	}
	var requests []struct {
		N           int64
		Body        string
		Status, Try int
	}
	api("GET", "/requests?endpoint=push", "", 200).into(t, &requests)
	if len(requests) != 2 || requests[0].Status != 503 || requests[1].Status != 409 || requests[1].Try != 2 || requests[0].Body != textTo(g.ID, "x") {
		t.Errorf("%+v", requests)
	}
	var accepted []struct{ To, RetryKey, Body string }
	api("GET", "/accepted", "", 200).into(t, &accepted)
	if len(accepted) != 1 || accepted[0].RetryKey != key || accepted[0].Body != textTo(g.ID, "x") {
		t.Errorf("%+v", accepted)
	}
	var state struct {
		Now    time.Time
		Quota  struct{ Limit, Used int }
		Faults []linesim.Fault
		Users  []linesim.User
	}
	api("GET", "/state", "", 200).into(t, &state)
	if !state.Now.Equal(noon) || state.Quota.Limit != 10 || state.Quota.Used != 1 || len(state.Faults) != 1 || state.Faults[0].Taken != 1 || len(state.Users) != 1 {
		t.Errorf("%+v", state)
	}
	var at struct{ Now time.Time }
	api("POST", "/clock", `{"advance":"15m"}`, 200).into(t, &at)
	if !at.Now.Equal(noon.Add(15 * time.Minute)) {
		t.Errorf("now %v", at.Now)
	}
	api("POST", "/clock", `{"set":"2027-02-01T00:00:00+09:00"}`, 200).into(t, &at)
	if !at.Now.Equal(time.Date(2027, 1, 31, 15, 0, 0, 0, time.UTC)) {
		t.Errorf("now %v", at.Now)
	}
	var token struct{ IDToken string }
	api("POST", "/idtokens", `{"user":"`+u.ID+`"}`, 200).into(t, &token)
	if strings.Count(token.IDToken, ".") != 2 {
		t.Errorf("token %q", token.IDToken)
	}
	var opened struct{ URL string }
	api("POST", "/open", `{"user":"`+u.ID+`","uri":"`+s.LIFFBaseURL()+"/"+s.Login().LIFFID+`/a"}`, 200).into(t, &opened)
	if !strings.HasPrefix(opened.URL, "https://school.example/liff?liff.state=%2Fa#") {
		t.Errorf("opened %s", opened.URL)
	}
	api("POST", "/users/"+u.ID+"/block", "", 200)
	api("POST", "/users/"+u.ID+"/follow", "", 200)
	api("DELETE", "/groups/"+g.ID+"/members/"+u.ID, "", 200)
	api("POST", "/groups/"+g.ID+"/remove", "", 200)
	api("DELETE", "/faults", "", 200)
	api("PUT", "/tokens/second", `{"expires":"2027-03-01T00:00:00Z"}`, 200)
	api("DELETE", "/tokens/second", "", 200)
	api("PUT", "/webhook", `{"redelivery":true}`, 200)
	s.flush(t)
	if got, want := h.types(), "join message postback  unfollow follow memberLeft leave"; got != want {
		t.Errorf("webhooks %q, want %q", got, want)
	}

	api("POST", "/users", `{"nmae":"x"}`, 400)
	api("POST", "/users", `{"id":"x"}`, 400)
	api("POST", "/faults", `{"kind":"rain"}`, 400)
	api("POST", "/users/"+nobody+"/block", "", 404)
	api("POST", "/groups/"+g.ID+"/dance", "", 400)
	api("POST", "/clock", `{"advance":"soon"}`, 400)

	api("POST", "/clear", "", 200)
	api("GET", "/chats/"+g.ID+"/messages", "", 200).want(t, 200, "[]\n")
	if n := len(s.Users()); n != 1 {
		t.Error("clearing took the people away")
	}
	api("POST", "/reset", "", 200)
	api("GET", "/users", "", 200).want(t, 200, "[]\n")
}

func TestAPageOfAnotherSiteCannotUseTheControlAPIOrTheForms(t *testing.T) {
	t.Parallel()
	s := newSchool(t, linesim.Options{})
	for _, path := range []string{"/sim/api/reset", "/sim/clear", "/sim/faults", "/sim/language"} {
		if a := s.call(t, "POST", path, "{}", "Sec-Fetch-Site", "cross-site", "Origin", "https://example.com"); a.status != http.StatusForbidden {
			t.Errorf("%s: %d", path, a.status)
		}
	}
}

func TestAClockThatWasNotGivenCannotBeMoved(t *testing.T) {
	t.Parallel()
	s := newSchool(t, linesim.Options{})
	if a := s.call(t, "POST", "/sim/api/clock", `{"advance":"1m"}`); a.status != 409 {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := s.call(t, "GET", "/sim", ""); strings.Contains(a.body, "/sim/clock") {
		t.Error("the page offers to move it")
	}
}

func TestAFormThatCannotBeDoneSaysSoAndChangesNothing(t *testing.T) {
	t.Parallel()
	s := newSchool(t, linesim.Options{})
	for _, c := range []struct{ path, body, say string }{
		{"/sim/faults", "fault=hang_refused&target=push%7C&skip=0&count=x&percent=100", "数字は"},
		{"/sim/faults", "fault=rain", "読み取れませんでした"},
		{"/sim/quota", "limit=-5&used=0", "数字は"},
		{"/sim/messages", "chat=" + s.group.ID + "&from=" + nobody + "&text=x", "いまここにいません"},
		{"/sim/messages", "chat=" + s.group.ID + "&from=" + s.users[0].ID + "&text=", "5,000文字"},
		{"/sim/newcomers", "kind=user&name=+", "50文字"},
		{"/sim/people", "act=dance", "読み取れませんでした"},
		{"/sim/clock", "advance=15m", "読み取れませんでした"},
	} {
		a := s.call(t, "POST", c.path, c.body, "Content-Type", formType)
		if a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, c.say) {
			t.Errorf("%s %s: %d", c.path, c.body, a.status)
		}
	}
	if limit, _ := s.Quota(); limit != 200 || len(s.Faults()) != 0 || len(s.Messages(s.group.ID)) != 0 {
		t.Error("something changed")
	}
}

func TestEveryFailureOfThePanelCanBeStarted(t *testing.T) {
	t.Parallel()
	s := newSchool(t, linesim.Options{})
	page := s.call(t, "GET", "/sim", "").body
	names := regexp.MustCompile(`name="fault" value="([a-z_]+)"`).FindAllStringSubmatch(page, -1)
	targets := regexp.MustCompile(`<option value="([^"]*\|[^"]*)"`).FindAllStringSubmatch(page, -1)
	if len(names) != 24 || len(targets) < 10 {
		t.Fatalf("%d failures, %d targets", len(names), len(targets))
	}
	for i, name := range names {
		target := html.UnescapeString(targets[i%len(targets)][1])
		form := url.Values{"fault": {name[1]}, "target": {target}, "skip": {"0"}, "count": {"1"}, "percent": {"100"}}
		if a := s.call(t, "POST", "/sim/faults", form.Encode(), "Content-Type", formType); a.status != http.StatusSeeOther {
			t.Errorf("%s at %s: %d", name[1], target, a.status)
		}
	}
	kinds := map[linesim.FaultKind]bool{}
	for _, f := range s.Faults() {
		kinds[f.Kind] = true
	}
	if len(kinds) != 19 {
		t.Errorf("the panel offers %d of 19 kinds", len(kinds))
	}
	// Each is listed in words and can be ended.
	for _, l := range []string{"ja", "en"} {
		page := s.call(t, "GET", "/sim", "", "Cookie", "linesim_language="+l).body
		if strings.Contains(page, "linesim.") && strings.Contains(page, ">linesim.") {
			t.Errorf("a sentence is missing in %s", l)
		}
	}
}

func TestTheFormsDoWhatTheySay(t *testing.T) {
	t.Parallel()
	clock := clockwork.NewFakeClockAt(noon)
	s := newSchool(t, linesim.Options{TimeTravel: hands{clock}})
	post := func(path, body string) {
		t.Helper()
		chat := "?chat=" + s.group.ID + "&log=all"
		a := s.call(t, "POST", path+chat, body, "Content-Type", formType)
		if a.status != http.StatusSeeOther || !strings.HasPrefix(a.header.Get("Location"), "/sim?chat="+s.group.ID) {
			t.Fatalf("%s: %d to %s", path, a.status, a.header.Get("Location"))
		}
	}
	u := s.users[0].ID
	post("/sim/messages", "chat="+s.group.ID+"&from="+u+"&text=hi")
	post("/sim/postbacks", "chat="+u+"&from="+u+"&data=a")
	post("/sim/people", "act=block&user="+u)
	post("/sim/people", "act=follow&user="+u)
	post("/sim/people", "act=leave&user="+u+"&group="+s.group.ID)
	post("/sim/people", "act=join&user="+u+"&group="+s.group.ID)
	post("/sim/people", "act=remove&group="+s.group.ID)
	post("/sim/people", "act=invite&group="+s.group.ID)
	post("/sim/quota", "limit=5&used=4")
	if limit, used := s.Quota(); limit != 5 || used != 4 {
		t.Errorf("quota %d of %d", used, limit)
	}
	post("/sim/quota", "limit=5&used=4&unlimited=true")
	if limit, _ := s.Quota(); limit != -1 {
		t.Errorf("limit %d", limit)
	}
	post("/sim/faults", "fault=status_accepted&target=push%7Cgroups&skip=1&count=2&percent=50")
	f := s.Faults()[0]
	if f.Kind != linesim.FaultStatus || f.Status != 503 || !f.Accept || f.Endpoint != "push" || f.To != linesim.ToGroups || f.Skip != 1 || f.Count != 2 || f.Probability != 0.5 {
		t.Errorf("%+v", f)
	}
	post("/sim/faults/end", "")
	if n := len(s.Faults()); n != 0 {
		t.Errorf("%d faults left", n)
	}
	post("/sim/clock", "advance=2h")
	post("/sim/clock", "advance=month")
	if got := clock.Now(); !got.Equal(time.Date(2027, 1, 31, 15, 0, 0, 0, time.UTC)) {
		t.Errorf("clock %v", got)
	}
	post("/sim/clock", "until=2027-02-01T12:00:00Z")
	if got := clock.Now(); !got.Equal(time.Date(2027, 2, 1, 12, 0, 0, 0, time.UTC)) {
		t.Errorf("clock %v", got)
	}
	post("/sim/newcomers", "kind=user&name=%E6%96%B0")
	post("/sim/newcomers", "kind=group&name=%E7%B5%84")
	if us, gs := s.Users(), s.Groups(); us[len(us)-1].Name != "新" || us[len(us)-1].Friend || gs[len(gs)-1].Name != "組" || gs[len(gs)-1].BotIn {
		t.Errorf("%+v %+v", us, gs)
	}
	post("/sim/clear", "")
	if n := len(s.Messages(s.group.ID)); n != 0 {
		t.Errorf("%d messages left", n)
	}
}
