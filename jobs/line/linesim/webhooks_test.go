package linesim_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/line/line-bot-sdk-go/v8/linebot/webhook"

	"shiftpost/jobs/line"
	"shiftpost/jobs/line/linesim"
)

// hook is a webhook endpoint that checks signatures and keeps what came.
type hook struct {
	*httptest.Server
	secret string

	mu     sync.Mutex
	status int // to answer; 200 if zero
	calls  []*webhook.CallbackRequest
	forged int
}

func hookOf(t *testing.T, s *school) *hook {
	t.Helper()
	h := &hook{secret: s.Channel().Secret}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		defer h.mu.Unlock()
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		cb, err := line.ParseWebhook(h.secret, r.Header.Get("x-line-signature"), body)
		if err != nil {
			h.forged++
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		h.calls = append(h.calls, cb)
		if h.status != 0 {
			w.WriteHeader(h.status)
		}
	}))
	t.Cleanup(h.Close)
	s.SetWebhookURL(h.URL)
	return h
}

// types are the kinds of events received, call by call.
func (h *hook) types() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var calls []string
	for _, c := range h.calls {
		var types []string
		for _, e := range c.Events {
			if u, ok := e.(webhook.UnknownEvent); ok {
				types = append(types, "unknown:"+u.Type)
			} else {
				types = append(types, e.GetType())
			}
		}
		calls = append(calls, strings.Join(types, "+"))
	}
	return strings.Join(calls, " ")
}

func TestWhatPeopleDoReachesTheProductAsSignedEvents(t *testing.T) {
	t.Parallel()
	s := newSchool(t, linesim.Options{})
	h := hookOf(t, s)
	u := s.users[0].ID
	stranger := s.AddUser(linesim.User{Name: "新しい 人"})
	for _, do := range []func() error{
		func() error { return s.RemoveBot(s.group.ID) },
		func() error { return s.InviteBot(s.group.ID) },
		func() error { return s.Join(s.group.ID, stranger.ID) },
		func() error { return s.Leave(s.group.ID, stranger.ID) },
		func() error { return s.Follow(stranger.ID) },
		func() error { return s.Block(u) },
		func() error { return s.Follow(u) },
		func() error { return s.Say(s.group.ID, u, "こんにちは") },
		func() error { return s.Say(u, u, "1:1で") },
		func() error { return s.Postback(u, u, "confirm=1") },
		// None of these is news to anybody.
		func() error { return s.Follow(u) },
		func() error { return s.InviteBot(s.group.ID) },
		func() error { return s.Join(s.group.ID, u) },
	} {
		if err := do(); err != nil {
			t.Fatal(err)
		}
	}
	s.flush(t)
	if got, want := h.types(), "leave join memberJoined memberLeft follow unfollow follow message message postback"; got != want {
		t.Fatalf("%s\nwant %s", got, want)
	}
	for _, c := range h.calls {
		if c.Destination != s.Channel().BotUserID {
			t.Errorf("destination %s", c.Destination)
		}
	}
	join := h.calls[1].Events[0].(webhook.JoinEvent)
	if g, ok := join.Source.(webhook.GroupSource); !ok || g.GroupId != s.group.ID || join.ReplyToken == "" || join.Timestamp != noon.UnixMilli() || len(join.WebhookEventId) != 26 || join.Mode != "active" {
		t.Errorf("%+v", join)
	}
	if f := h.calls[4].Events[0].(webhook.FollowEvent); f.Follow.IsUnblocked {
		t.Error("a new friend counts as unblocked")
	}
	if f := h.calls[6].Events[0].(webhook.FollowEvent); !f.Follow.IsUnblocked {
		t.Error("an unblocked friend counts as new")
	}
	if m := h.calls[2].Events[0].(webhook.MemberJoinedEvent); len(m.Joined.Members) != 1 || m.Joined.Members[0].UserId != stranger.ID {
		t.Errorf("%+v", m)
	}
	inGroup := h.calls[7].Events[0].(webhook.MessageEvent)
	if g, ok := inGroup.Source.(webhook.GroupSource); !ok || g.UserId != u {
		t.Errorf("%+v", inGroup.Source)
	}
	if m, ok := inGroup.Message.(webhook.TextMessageContent); !ok || m.Text != "こんにちは" {
		t.Errorf("%+v", inGroup.Message)
	}
	if n := len(s.Webhooks()); n != 10 {
		t.Errorf("%d webhooks in the log", n)
	}
}

func TestAReplyTokenServesOnceAndForAMinute(t *testing.T) {
	t.Parallel()
	s := newSchool(t, linesim.Options{})
	h := hookOf(t, s)
	token := func() string {
		if err := s.Say(s.users[0].ID, s.users[0].ID, "やあ"); err != nil {
			t.Fatal(err)
		}
		s.flush(t)
		return h.calls[len(h.calls)-1].Events[0].(webhook.MessageEvent).ReplyToken
	}
	reply := func(token string) answer {
		return s.call(t, "POST", "/v2/bot/message/reply", `{"replyToken":"`+token+`","messages":[{"type":"text","text":"はい"}]}`)
	}
	const invalid = `{"message":"Invalid reply token"}`
	one := token()
	if a := reply(one); a.status != 200 {
		t.Errorf("%d %s", a.status, a.body)
	}
	reply(one).want(t, 400, invalid)
	late := token()
	s.clock.Advance(time.Minute)
	reply(late).want(t, 400, invalid)
	reply("x").want(t, 400, invalid)
	if _, used := s.Quota(); used != 0 {
		t.Errorf("replies cost %d", used)
	}
	ms := s.Messages(s.users[0].ID)
	if len(ms) != 3 || ms[1].Text() != "はい" || ms[1].From != "" {
		t.Errorf("%+v", ms)
	}
}

func TestWebhookFaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind   linesim.FaultKind
		want   string
		forged int
	}{
		{linesim.FaultDuplicate, "message message follow", 0},
		{linesim.FaultReorder, "follow message", 0},
		{linesim.FaultRedeliver, "message message follow", 0},
		{linesim.FaultBadSignature, "follow", 1},
		{linesim.FaultNoEvents, " message follow", 0},
		{linesim.FaultUnknownEvent, "unknown:somethingNew message follow", 0},
	} {
		t.Run(string(c.kind), func(t *testing.T) {
			t.Parallel()
			s := newSchool(t, linesim.Options{})
			h := hookOf(t, s)
			stranger := s.AddUser(linesim.User{Name: "新しい 人"})
			s.fault(t, linesim.Fault{Kind: c.kind, Count: 1})
			if err := s.Say(s.users[0].ID, s.users[0].ID, "やあ"); err != nil {
				t.Fatal(err)
			}
			if err := s.Follow(stranger.ID); err != nil {
				t.Fatal(err)
			}
			s.flush(t)
			if got := h.types(); got != c.want || h.forged != c.forged {
				t.Errorf("%q and %d forged, want %q and %d", got, h.forged, c.want, c.forged)
			}
			if c.kind == linesim.FaultDuplicate || c.kind == linesim.FaultRedeliver {
				a, b := h.calls[0].Events[0].(webhook.MessageEvent), h.calls[1].Events[0].(webhook.MessageEvent)
				if a.WebhookEventId != b.WebhookEventId || a.ReplyToken != b.ReplyToken {
					t.Error("the second call is about another event")
				}
				if b.DeliveryContext.IsRedelivery != (c.kind == linesim.FaultRedeliver) {
					t.Errorf("marked as redelivery: %v", b.DeliveryContext.IsRedelivery)
				}
			}
		})
	}
}

func TestAHeldBackWebhookArrivesEvenIfNoOtherFollows(t *testing.T) {
	t.Parallel()
	s := newSchool(t, linesim.Options{})
	h := hookOf(t, s)
	s.fault(t, linesim.Fault{Kind: linesim.FaultReorder, Count: 1})
	if err := s.Say(s.users[0].ID, s.users[0].ID, "やあ"); err != nil {
		t.Fatal(err)
	}
	s.flush(t)
	if got := h.types(); got != "message" {
		t.Errorf("%q", got)
	}
}

func TestAFailedWebhookIsSentAgainOnlyIfRedeliveryIsOn(t *testing.T) {
	t.Parallel()
	s := newSchool(t, linesim.Options{})
	h := hookOf(t, s)
	h.status = 500
	say := func() {
		if err := s.Say(s.users[0].ID, s.users[0].ID, "やあ"); err != nil {
			t.Fatal(err)
		}
		s.flush(t)
	}
	say()
	s.SetRedelivery(true)
	say()
	h.mu.Lock()
	h.status = 0
	h.mu.Unlock()
	if err := s.clock.BlockUntilContext(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	s.clock.Advance(time.Minute)
	s.until(t, func() bool { return len(s.Webhooks()) == 3 })
	if got := h.types(); got != "message message message" {
		t.Errorf("%q", got)
	}
	if e := h.calls[2].Events[0].(webhook.MessageEvent); !e.DeliveryContext.IsRedelivery {
		t.Error("not marked as redelivery")
	}
}

func TestTheWebhookAddressIsSetReadAndTriedThroughTheAPI(t *testing.T) {
	t.Parallel()
	s := newSchool(t, linesim.Options{})
	ctx := context.Background()
	if _, err := s.client.Webhook(ctx); err == nil {
		t.Error("an address before one was set")
	}
	h := hookOf(t, s)
	if err := s.client.SetWebhook(ctx, "http://example.com/hook"); err == nil {
		t.Error("an address without https was taken")
	}
	if err := s.client.SetWebhook(ctx, h.URL+"/new"); err != nil {
		t.Error(err)
	}
	if w, err := s.client.Webhook(ctx); err != nil || w.Endpoint != h.URL+"/new" || !w.Active {
		t.Errorf("%+v, %v", w, err)
	}
	if r, err := s.client.TestWebhook(ctx); err != nil || !r.Success || r.StatusCode != 200 || r.Reason != "OK" {
		t.Errorf("%+v, %v", r, err)
	}
	h.mu.Lock()
	h.status = 503
	h.mu.Unlock()
	if r, err := s.client.TestWebhook(ctx); err != nil || r.Success || r.StatusCode != 503 || r.Reason != "ERROR_STATUS_CODE" {
		t.Errorf("%+v, %v", r, err)
	}
	h.Close()
	if r, err := s.client.TestWebhook(ctx); err != nil || r.Success || r.Reason != "COULD_NOT_CONNECT" {
		t.Errorf("%+v, %v", r, err)
	}
	if got := h.types(); got != " " {
		t.Errorf("the trial calls held %q", got)
	}
}

func TestAScriptCanSendAnyEventAndTheSignatureIsLINEs(t *testing.T) {
	t.Parallel()
	// The pair is LINE's documentation's.
	body := `{"destination":"U8e742f61d673b39c7fff3cecb7536ef0","events":[]}`
	if got := linesim.Sign("8c570fa6dd201bb328f1c1eac23a96d8", []byte(body)); got != "GhRKmvmHys4Pi8DxkF4+EayaH0OqtJtaZxgTD9fMDLs=" {
		t.Errorf("signature %s", got)
	}
	s := newSchool(t, linesim.Options{})
	h := hookOf(t, s)
	events := []json.RawMessage{
		json.RawMessage(`{"type":"unsend","mode":"active","timestamp":1,"webhookEventId":"a","deliveryContext":{"isRedelivery":false},"source":{"type":"user","userId":"` + nobody + `"},"unsend":{"messageId":"1"}}`),
		json.RawMessage(`{"type":"messageEdited","mode":"active","timestamp":2,"webhookEventId":"b","deliveryContext":{"isRedelivery":false}}`),
	}
	if err := s.SendWebhook(events...); err != nil {
		t.Fatal(err)
	}
	if err := s.SendWebhook(json.RawMessage("{")); err == nil {
		t.Error("broken JSON was sent")
	}
	s.flush(t)
	if got := h.types(); got != "unsend+unknown:messageEdited" {
		t.Errorf("%q", got)
	}
	if ids := s.Webhooks(); len(ids) != 1 || !slices.Contains(ids[0].Events(), "messageEdited") {
		t.Errorf("%+v", ids)
	}
}
