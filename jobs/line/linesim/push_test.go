package linesim_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"shiftpost/jobs/line"
	"shiftpost/jobs/line/linesim"
)

const (
	nobody   = "Uffffffffffffffffffffffffffffffff"
	nowhere  = "Cffffffffffffffffffffffffffffffff"
	wrongKey = `{"message":"The value for the 'X-Line-Retry-Key' parameter is invalid"}`
	wrongTo  = `{"message":"The property, 'to', in the request body is invalid (line: -, column: -)"}`
	failed   = `{"message":"Failed to send messages"}`
	noToken  = `{"message":"Authentication failed. Confirm that the access token in the authorization header is valid."}`
	monthly  = `{"message":"You have reached your monthly limit."}`
	tooFast  = `{"message":"The API rate limit has been exceeded. Try again later."}`
)

func TestPushRefusesInLINEsWords(t *testing.T) {
	t.Parallel()
	s := newSchool(t, linesim.Options{})
	ok := textTo(s.group.ID, "x")
	out := s.AddGroup(linesim.Group{Name: "ほか"}) // the bot is not in it
	six := strings.TrimSuffix(strings.Repeat(`{"type":"text","text":"x"},`, 6), ",")
	for _, c := range []struct {
		name    string
		body    string
		headers []string
		status  int
		want    string
	}{
		{"to malformed", textTo("U123", "x"), nil, 400, wrongTo},
		{"to missing", `{"messages":[{"type":"text","text":"x"}]}`, nil, 400, wrongTo},
		{"to of another type", `{"to":7,"messages":[{"type":"text","text":"x"}]}`, nil, 400, wrongTo},
		{"no messages", fmt.Sprintf(`{"to":%q,"messages":[]}`, s.group.ID), nil, 400, `{"message":"The request body has 1 error(s)","details":[{"message":"Size must be between 1 and 5","property":"messages"}]}`},
		{"six messages", fmt.Sprintf(`{"to":%q,"messages":[%s]}`, s.group.ID, six), nil, 400, `{"message":"The request body has 1 error(s)","details":[{"message":"Size must be between 1 and 5","property":"messages"}]}`},
		{"empty text", textTo(s.group.ID, ""), nil, 400, `{"message":"The request body has 1 error(s)","details":[{"message":"May not be empty","property":"messages[0].text"}]}`},
		{"two empty texts", fmt.Sprintf(`{"to":%q,"messages":[{"type":"text","text":""},{"type":"text"}]}`, s.group.ID), nil, 400, `{"message":"The request body has 2 error(s)","details":[{"message":"May not be empty","property":"messages[0].text"},{"message":"May not be empty","property":"messages[1].text"}]}`},
		{"broken JSON", `{`, nil, 400, `{"message":"The request body could not be parsed as JSON (line: 1, column: 1)"}`},
		{"broken JSON below", "{\n  \"to\" 7", nil, 400, `{"message":"The request body could not be parsed as JSON (line: 2, column: 8)"}`},
		{"unknown user", textTo(nobody, "x"), nil, 400, failed},
		{"unknown group", textTo(nowhere, "x"), nil, 400, failed},
		{"group without the bot", textTo(out.ID, "x"), nil, 400, failed},
		{"a room", textTo("R"+nobody[1:], "x"), nil, 400, failed},
		{"key not a UUID", ok, []string{"X-Line-Retry-Key", "42"}, 400, wrongKey},
		{"no token", ok, []string{"Authorization", ""}, 401, noToken},
		{"wrong token", ok, []string{"Authorization", "Bearer x"}, 401, noToken},
		{"no bearer", ok, []string{"Authorization", s.Channel().AccessToken}, 401, noToken},
		{"not JSON", ok, []string{"Content-Type", "text/plain"}, 415, `{"message":"The content type, text/plain, is not supported"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s.call(t, "POST", "/v2/bot/message/push", c.body, c.headers...).want(t, c.status, c.want)
		})
	}
	if a := s.push(t, textTo(s.group.ID, strings.Repeat("x", 2<<20)), ""); a.status != 413 {
		t.Errorf("over 2 MB: %d", a.status)
	}
	s.fault(t, linesim.Fault{Kind: linesim.FaultAccess, Count: 1})
	s.push(t, ok, "").want(t, 403, `{"message":"Access to this API is not available for your account"}`)
	if n := len(s.Accepted()); n != 0 {
		t.Errorf("%d accepted", n)
	}
}

func TestPushChecksInAFixedOrder(t *testing.T) {
	t.Parallel()
	// Each case has every mistake that comes after its own in the order.
	s := newSchool(t, linesim.Options{Rate: 1, Quota: 1})
	used := uuid.NewString()
	s.SetQuota(-1)
	if a := s.push(t, textTo(s.group.ID, "first"), used); a.status != 200 {
		t.Fatal(a)
	}
	s.SetQuota(1)
	for _, c := range []struct {
		name, body string
		headers    []string
		want       int
		part       string
	}{
		{"token", "{", []string{"Authorization", "x", "Content-Type", "text/plain", "X-Line-Retry-Key", "x"}, 401, "Authentication"},
		{"content type", "{", []string{"Content-Type", "text/plain", "X-Line-Retry-Key", "x"}, 415, "content type"},
		{"retry key", "{", []string{"X-Line-Retry-Key", "x"}, 400, "Retry-Key"},
		{"JSON", "{", []string{"X-Line-Retry-Key", used}, 400, "parsed as JSON"},
		{"to", `{"to":"x","messages":[]}`, []string{"X-Line-Retry-Key", used}, 400, "'to'"},
		{"messages", `{"to":"` + nobody + `","messages":[]}`, []string{"X-Line-Retry-Key", used}, 400, "Size must be"},
		{"accepted key", textTo(nobody, "x"), []string{"X-Line-Retry-Key", used}, 409, "already accepted"},
		{"target", textTo(nobody, "x"), nil, 400, "Failed to send"},
		{"rate", textTo(s.group.ID, "x"), nil, 429, "rate limit"},
	} {
		a := s.call(t, "POST", "/v2/bot/message/push", c.body, c.headers...)
		if a.status != c.want || !strings.Contains(a.body, c.part) {
			t.Errorf("%s: %d %s", c.name, a.status, a.body)
		}
	}
	s.clock.Advance(time.Second)
	s.push(t, textTo(s.group.ID, "x"), "").want(t, 429, monthly)
}

func TestEveryAnswerHasItsOwnRequestIDAndLINEsDate(t *testing.T) {
	t.Parallel()
	s := newSchool(t, linesim.Options{})
	seen := map[string]bool{}
	key := uuid.NewString()
	for _, a := range []answer{
		s.push(t, textTo(s.group.ID, "x"), key), s.push(t, textTo(s.group.ID, "x"), key), s.push(t, "{", ""),
		s.call(t, "GET", "/v2/bot/info", ""), s.call(t, "GET", "/v2/bot/unknown", ""),
		s.call(t, "POST", "/oauth2/v2.1/verify", "id_token=x&client_id=y"),
	} {
		id := a.header.Get("X-Line-Request-Id")
		if uuid.Validate(id) != nil || seen[id] {
			t.Errorf("request id %q", id)
		}
		seen[id] = true
		if d := a.header.Get("Date"); d != "Fri, 08 Jan 2027 03:00:00 GMT" {
			t.Errorf("date %q", d)
		}
	}
	s.clock.Advance(time.Hour)
	info, err := s.client.BotInfo(context.Background())
	if err != nil || !info.AnsweredAt.Equal(noon.Add(time.Hour)) {
		t.Errorf("answered at %v, %v", info.AnsweredAt, err)
	}
}

func TestARetryAfterALostAnswerIsToldThatItWasAccepted(t *testing.T) {
	t.Parallel()
	for _, kind := range []linesim.FaultKind{linesim.FaultHang, linesim.FaultCut, linesim.FaultStatus} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			s := newSchool(t, linesim.Options{})
			s.fault(t, linesim.Fault{Kind: kind, Accept: true, Endpoint: "push", Count: 1})
			key, body := uuid.NewString(), pushBody(s.group.ID, "1月のシフト表")
			first := s.client
			if kind == linesim.FaultHang {
				first = s.newClient(200 * time.Millisecond)
			}
			_, err := first.Push(context.Background(), body, key)
			var le *line.Error
			if !errors.As(err, &le) || le.Class != line.Unknown {
				t.Fatalf("first try: %v", err)
			}
			s.clock.Advance(2 * time.Minute)
			ans, err := s.client.Push(context.Background(), body, key)
			if err != nil {
				t.Fatal(err)
			}
			one := s.Accepted()[0]
			if ans.Status != http.StatusConflict || ans.AcceptedRequestID != one.RequestID || len(ans.SentMessageIDs) != 1 || ans.SentMessageIDs[0] != one.MessageIDs[0] {
				t.Errorf("answer %+v, accepted %+v", ans, one)
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

func TestA409RepeatsTheReceiptOfTheAcceptedTry(t *testing.T) {
	t.Parallel()
	s := newSchool(t, linesim.Options{})
	key := uuid.NewString()
	first := s.push(t, textTo(s.group.ID, "x"), key)
	if first.status != 200 || first.header.Get("X-Line-Accepted-Request-Id") != "" {
		t.Fatalf("first: %+v", first)
	}
	again := s.push(t, textTo(s.group.ID, "x"), key)
	again.want(t, 409, `{"message":"The retry key is already accepted",`+strings.TrimPrefix(first.body, "{"))
	if got := again.header.Get("X-Line-Accepted-Request-Id"); got != first.header.Get("X-Line-Request-Id") {
		t.Errorf("accepted request id %q", got)
	}
	// Other content under the same key is answered the same and never delivered.
	s.push(t, textTo(s.users[0].ID, "y"), key).want(t, 409, again.body)
	if n := len(s.Messages(s.users[0].ID)); n != 0 {
		t.Error("delivered under a used key")
	}
}

func TestARetryKeyLives24HoursFromItsFirstRequest(t *testing.T) {
	t.Parallel()
	s := newSchool(t, linesim.Options{})
	s.fault(t, linesim.Fault{Kind: linesim.FaultStatus, Count: 1})
	key, body := uuid.NewString(), textTo(s.group.ID, "x")
	for _, c := range []struct {
		at     time.Duration
		status int
		name   string
	}{
		{0, 500, "first request, not accepted: its life begins"},
		{time.Hour, 200, "accepted an hour later"},
		{24*time.Hour - time.Second, 409, "still known"},
		{24 * time.Hour, 200, "forgotten: sent again"},
		{25 * time.Hour, 409, "a new life"},
	} {
		s.clock.Advance(noon.Add(c.at).Sub(s.clock.Now()))
		if a := s.push(t, body, key); a.status != c.status {
			t.Errorf("%s: %d, want %d", c.name, a.status, c.status)
		}
	}
	if n := len(s.Messages(s.group.ID)); n != 2 {
		t.Errorf("%d messages, want 2", n)
	}
}

func TestARefusedTryLeavesItsKeyFree(t *testing.T) {
	t.Parallel()
	s := newSchool(t, linesim.Options{Quota: 2})
	key := uuid.NewString()
	s.push(t, textTo(nobody, "x"), key).want(t, 400, failed)
	s.push(t, textTo(s.group.ID, "x"), key).want(t, 429, monthly)
	s.SetQuota(3)
	if a := s.push(t, textTo(s.group.ID, "x"), key); a.status != 200 {
		t.Errorf("%d %s", a.status, a.body)
	}
}

func TestOnlyPushTakesARetryKey(t *testing.T) {
	t.Parallel()
	s := newSchool(t, linesim.Options{})
	key := []string{"X-Line-Retry-Key", uuid.NewString()}
	s.call(t, "POST", "/v2/bot/message/validate/push", `{"messages":[{"type":"text","text":"x"}]}`, key...).want(t, 400, wrongKey)
	s.call(t, "POST", "/v2/bot/message/reply", `{"replyToken":"x","messages":[{"type":"text","text":"x"}]}`, key...).want(t, 400, wrongKey)
	s.call(t, "GET", "/v2/bot/message/quota", "", key...).want(t, 400, wrongKey)
}

func TestTheQuotaCountsPeopleAndAGroupThatDoesNotFitIsRefusedAsAWhole(t *testing.T) {
	t.Parallel()
	s := newSchool(t, linesim.Options{Quota: 8})
	two := fmt.Sprintf(`{"to":%q,"messages":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`, s.group.ID)
	for _, c := range []struct {
		body         string
		status, used int
	}{
		{two, 200, 3}, // two messages to three people cost three
		{textTo(s.users[0].ID, "x"), 200, 4},
		{textTo(s.group.ID, "x"), 200, 7},
		{textTo(s.group.ID, "y"), 429, 7}, // one is left
		{textTo(s.users[0].ID, "y"), 200, 8},
		{textTo(s.users[0].ID, "z"), 429, 8},
	} {
		if a := s.push(t, c.body, uuid.NewString()); a.status != c.status {
			t.Errorf("%s: %d, want %d", c.body, a.status, c.status)
		}
		if used, err := s.client.Consumption(context.Background()); err != nil || used != c.used {
			t.Errorf("%d used, want %d (%v)", used, c.used, err)
		}
	}
	if n := len(s.Messages(s.group.ID)); n != 3 {
		t.Errorf("%d messages in the group, want 3", n)
	}
	s.AssertQuota(t)
	s.SetQuota(-1)
	if q, err := s.client.Quota(context.Background()); err != nil || q.Limited {
		t.Errorf("%+v, %v", q, err)
	}
	if a := s.push(t, textTo(s.group.ID, "w"), uuid.NewString()); a.status != 200 {
		t.Errorf("without a limit: %d", a.status)
	}
}

func TestAMonthOfJapanResetsTheConsumption(t *testing.T) {
	t.Parallel()
	s := newSchool(t, linesim.Options{Quota: 3})
	s.push(t, textTo(s.group.ID, "x"), "")
	s.push(t, textTo(s.group.ID, "y"), "").want(t, 429, monthly)
	s.clock.Advance(time.Date(2027, 1, 31, 14, 59, 59, 0, time.UTC).Sub(s.clock.Now())) // 23:59:59 in Japan
	s.push(t, textTo(s.group.ID, "y"), "").want(t, 429, monthly)
	s.clock.Advance(time.Second)
	if used, err := s.client.Consumption(context.Background()); err != nil || used != 0 {
		t.Errorf("%d used in the new month, %v", used, err)
	}
	if a := s.push(t, textTo(s.group.ID, "y"), ""); a.status != 200 {
		t.Errorf("%d %s", a.status, a.body)
	}
}

func TestOver2000PushesASecondAreTooFast(t *testing.T) {
	t.Parallel()
	s := newSchool(t, linesim.Options{Rate: 2})
	for i, want := range []int{200, 200, 429} {
		a := s.push(t, textTo(s.users[0].ID, fmt.Sprint(i)), "")
		if a.status != want || want == 429 && a.body != tooFast {
			t.Errorf("push %d: %d %s", i, a.status, a.body)
		}
	}
	s.clock.Advance(time.Second)
	if a := s.push(t, textTo(s.users[0].ID, "later"), ""); a.status != 200 {
		t.Errorf("a second later: %d", a.status)
	}
}

func TestMessagesToBlockersStrangersAndTheDepartedAreAcceptedAndVanish(t *testing.T) {
	t.Parallel()
	s := newSchool(t, linesim.Options{})
	stranger := s.AddUser(linesim.User{Name: "知らない 人"})
	if err := errors.Join(s.Block(s.users[0].ID), s.DeleteUser(s.users[1].ID)); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{s.users[0].ID, s.users[1].ID, stranger.ID} {
		a := s.push(t, textTo(id, "x"), uuid.NewString())
		var b struct{ SentMessages []struct{ ID string } }
		a.into(t, &b)
		if a.status != 200 || len(b.SentMessages) != 1 {
			t.Errorf("%d %s", a.status, a.body)
		}
		if n := len(s.Messages(id)); n != 0 {
			t.Error("arrived all the same")
		}
	}
	if _, used := s.Quota(); used != 0 {
		t.Errorf("%d messages counted", used)
	}
	s.AssertQuota(t)
	if err := s.Follow(s.users[0].ID); err != nil {
		t.Fatal(err)
	}
	s.push(t, textTo(s.users[0].ID, "back"), uuid.NewString())
	if n := len(s.Messages(s.users[0].ID)); n != 1 {
		t.Error("unblocked, and nothing arrives")
	}
}

func TestChannelTokensExpireAndAreRevoked(t *testing.T) {
	t.Parallel()
	s := newSchool(t, linesim.Options{})
	form := func(secret string) answer {
		return s.call(t, "POST", "/oauth2/v3/token", "grant_type=client_credentials&client_id="+s.Channel().ID+"&client_secret="+secret,
			"Content-Type", "application/x-www-form-urlencoded", "Authorization", "")
	}
	form("x").want(t, 400, `{"error":"invalid_request","error_description":"Invalid 'client_credentials'."}`)
	var issued struct {
		TokenType   string `json:"token_type"`
		AccessToken string `json:"access_token"`
		ExpiresIn   int    `json:"expires_in"`
	}
	form(s.Channel().Secret).into(t, &issued)
	if issued.TokenType != "Bearer" || issued.ExpiresIn != 900 {
		t.Errorf("%+v", issued)
	}
	with := func(token string) int {
		return s.call(t, "GET", "/v2/bot/info", "", "Authorization", "Bearer "+token).status
	}
	if got := with(issued.AccessToken); got != 200 {
		t.Errorf("new token: %d", got)
	}
	s.clock.Advance(15 * time.Minute)
	if got := with(issued.AccessToken); got != 401 {
		t.Errorf("after 15 minutes: %d", got)
	}
	s.RevokeToken(s.Channel().AccessToken)
	if got := with(s.Channel().AccessToken); got != 401 {
		t.Errorf("revoked: %d", got)
	}
	s.IssueToken("second", s.clock.Now().Add(time.Hour))
	if got := with("second"); got != 200 {
		t.Errorf("reissued: %d", got)
	}
}
