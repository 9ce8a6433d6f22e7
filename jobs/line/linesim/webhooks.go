package linesim

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// webhookTimeout is how long LINE waits for the product's answer, in real time.
// Source: https://developers.line.biz/en/docs/messaging-api/receiving-messages/ , read in October 2026.
const webhookTimeout = 2 * time.Second

// redeliveries and redeliveryDelay are how a failed webhook is sent again if redelivery is on [sim].
const (
	redeliveries    = 3
	redeliveryDelay = time.Minute
)

// Webhook is one webhook call LINE made.
type Webhook struct {
	N         int64           `json:"n"`
	At        time.Time       `json:"at"` // UTC
	URL       string          `json:"url"`
	Body      json.RawMessage `json:"body"`
	Signature string          `json:"signature"`
	Status    int             `json:"status"` // of the product's answer; 0 if there was none
	Fault     FaultKind       `json:"fault,omitempty"`
}

// event is something that happened to the bot.
type event struct {
	kind        string
	group, user string // group: source of type group, with the user if there is one
	replyable   bool
	extra       map[string]any
	noSource    bool
}

// json builds the event object. With s.mu held.
func (s *Simulator) eventObject(e event) map[string]any {
	now := s.clock.Now()
	o := map[string]any{
		"type": e.kind, "mode": "active", "timestamp": now.UnixMilli(),
		"webhookEventId": ulid(now), "deliveryContext": map[string]any{"isRedelivery": false},
	}
	chat := e.user
	if !e.noSource {
		source := map[string]any{"type": "user", "userId": e.user}
		if e.group != "" {
			chat = e.group
			source = map[string]any{"type": "group", "groupId": e.group}
			if e.user != "" {
				source["userId"] = e.user
			}
		}
		o["source"] = source
	}
	if e.replyable {
		t := randomHex(16)
		for old, cr := range s.st.ReplyTokens {
			if !cr.live(now) {
				delete(s.st.ReplyTokens, old)
			}
		}
		s.st.ReplyTokens[t] = credential{Chat: chat, Expires: now.Add(replyLife).UTC()}
		o["replyToken"] = t
	}
	for k, v := range e.extra {
		o[k] = v
	}
	return o
}

// emit sends events to the product, each in a call of its own, unless no webhook address is set. With s.mu held.
func (s *Simulator) emit(events ...event) {
	for _, e := range events {
		o := s.eventObject(e)
		if s.st.WebhookURL == "" || !s.st.WebhookActive {
			continue
		}
		chat := e.group
		if chat == "" {
			chat = e.user
		}
		call := s.outgoing(o)
		f := s.take(true, "", chat)
		if f == nil {
			s.mail.send(call)
			continue
		}
		call.fault = f.Kind
		switch f.Kind {
		case FaultDuplicate:
			s.mail.send(call, call)
		case FaultReorder:
			s.mail.hold(call)
		case FaultRedeliver:
			again := s.outgoing(redelivered(o))
			again.fault = f.Kind
			s.mail.send(call, again)
		case FaultBadSignature:
			call.secret += "-forged"
			s.mail.send(call)
		case FaultNoEvents:
			empty := s.outgoing()
			empty.fault = f.Kind
			s.mail.send(empty, call)
		case FaultUnknownEvent:
			odd := s.outgoing(s.eventObject(event{kind: "somethingNew", group: e.group, user: e.user}))
			odd.fault = f.Kind
			s.mail.send(odd, call)
		}
	}
}

// redelivered is the same event, marked as sent again.
func redelivered(o map[string]any) map[string]any {
	c := make(map[string]any, len(o))
	for k, v := range o {
		c[k] = v
	}
	c["deliveryContext"] = map[string]any{"isRedelivery": true}
	return c
}

// outgoing is a webhook call to be made.
type outgoing struct {
	url    string
	secret string
	events []map[string]any
	bot    string
	fault  FaultKind
	again  int // how many times it may be sent again on failure
}

// With s.mu held.
func (s *Simulator) outgoing(events ...map[string]any) outgoing {
	o := outgoing{url: s.st.WebhookURL, secret: s.opts.Channel.Secret, events: events, bot: s.opts.Channel.BotUserID}
	if s.st.Redelivery {
		o.again = redeliveries
	}
	return o
}

func (o outgoing) body() []byte {
	events := o.events
	if events == nil {
		events = []map[string]any{}
	}
	b, err := json.Marshal(map[string]any{"destination": o.bot, "events": events})
	if err != nil {
		panic(err) // only our own values come here
	}
	return b
}

// Sign is the x-line-signature of a webhook body under a channel secret.
func Sign(secret string, body []byte) string {
	m := hmac.New(sha256.New, []byte(secret))
	m.Write(body)
	return base64.StdEncoding.EncodeToString(m.Sum(nil))
}

// postman makes the webhook calls one after the other, in their order.
type postman struct {
	s      *Simulator
	client *http.Client
	ctx    context.Context
	cancel context.CancelFunc

	mu      sync.Mutex
	queue   []outgoing
	held    []outgoing
	running bool
	idle    chan struct{} // closed when the queue is empty; replaced when it fills
	wg      sync.WaitGroup
}

func newPostman(s *Simulator) *postman {
	ctx, cancel := context.WithCancel(context.Background())
	idle := make(chan struct{})
	close(idle)
	return &postman{
		s: s, ctx: ctx, cancel: cancel, idle: idle,
		client: &http.Client{
			Timeout:       webhookTimeout,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// send queues calls, and behind them what a reordering fault held back.
func (p *postman) send(calls ...outgoing) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queue = append(append(p.queue, calls...), p.held...)
	p.held = nil
	if p.running || len(p.queue) == 0 || p.ctx.Err() != nil {
		return
	}
	p.running, p.idle = true, make(chan struct{})
	p.wg.Go(p.run)
}

// hold keeps a call back until the next one has been sent.
func (p *postman) hold(call outgoing) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held = append(p.held, call)
}

func (p *postman) run() {
	for {
		p.mu.Lock()
		if len(p.queue) == 0 || p.ctx.Err() != nil {
			p.running = false
			close(p.idle)
			p.mu.Unlock()
			return
		}
		o := p.queue[0]
		p.queue = p.queue[1:]
		p.mu.Unlock()
		p.deliver(o)
	}
}

func (p *postman) deliver(o outgoing) {
	status, err := p.post(o)
	if err != nil {
		p.s.log.Warn("webhook not delivered", "reason", reason(err))
	}
	if status/100 != 2 && o.again > 0 {
		next := o
		next.again--
		next.events = nil
		for _, e := range o.events {
			next.events = append(next.events, redelivered(e))
		}
		p.s.clock.AfterFunc(redeliveryDelay, func() { p.send(next) })
	}
}

// post makes one call and logs it.
func (p *postman) post(o outgoing) (status int, err error) {
	body := o.body()
	w := &Webhook{URL: o.url, Body: body, Signature: Sign(o.secret, body), Fault: o.fault}
	defer func() {
		w.Status = status
		p.s.mu.Lock()
		defer p.s.mu.Unlock()
		p.s.st.Seq++
		w.N, w.At = p.s.st.Seq, p.s.clock.Now().UTC()
		p.s.st.Webhooks = append(p.s.st.Webhooks, w)
		p.s.noted()
	}()
	req, err := http.NewRequestWithContext(p.ctx, http.MethodPost, o.url, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	req.Header.Set("X-Line-Signature", w.Signature)
	req.Header.Set("User-Agent", "LineBotWebhook/2.0")
	res, err := p.client.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	io.Copy(io.Discard, io.LimitReader(res.Body, 1<<20))
	return res.StatusCode, nil
}

// wait ends the postman's work.
func (p *postman) wait() {
	p.cancel()
	p.wg.Wait()
}

// FlushWebhooks waits until every webhook, held back ones included, has been answered or given up.
func (s *Simulator) FlushWebhooks(ctx context.Context) error {
	s.mail.send()
	s.mail.mu.Lock()
	idle := s.mail.idle
	s.mail.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// SendWebhook sends events given as JSON, each an event object as LINE would build it, in one call; for what the
// simulator does not do by itself.
func (s *Simulator) SendWebhook(events ...json.RawMessage) error {
	os := []map[string]any{}
	for _, e := range events {
		var o map[string]any
		if err := json.Unmarshal(e, &o); err != nil {
			return err
		}
		os = append(os, o)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.st.WebhookURL == "" {
		return errors.New("no webhook address is set")
	}
	s.mail.send(s.outgoing(os...))
	return nil
}

// Webhooks returns the webhook calls made so far, oldest first.
func (s *Simulator) Webhooks() []Webhook {
	s.mu.Lock()
	defer s.mu.Unlock()
	ws := make([]Webhook, len(s.st.Webhooks))
	for i, w := range s.st.Webhooks {
		ws[i] = *w
	}
	return ws
}

// SetRedelivery turns the redelivery of failed webhooks on or off; off is LINE's default.
func (s *Simulator) SetRedelivery(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.st.Redelivery = on
	s.changed()
}

func (s *Simulator) getWebhook(*call) reply {
	if s.st.WebhookURL == "" {
		return refuse(http.StatusNotFound, msgNotFound)
	}
	return jsonReply(http.StatusOK, map[string]any{"endpoint": s.st.WebhookURL, "active": s.st.WebhookActive})
}

func (s *Simulator) putWebhook(c *call) reply {
	if rep, ok := wantJSON(c); !ok {
		return rep
	}
	var b struct {
		Endpoint string `json:"endpoint"`
	}
	if rep, ok := parse(c.body, &b); !ok {
		return rep
	}
	if !webhookAddress(b.Endpoint) {
		return refuse(http.StatusBadRequest, "Invalid webhook endpoint URL")
	}
	s.st.WebhookURL = b.Endpoint
	return jsonReply(http.StatusOK, struct{}{})
}

// webhookAddress: https, at most 500 characters; and plain http to this machine, which LINE could not reach [sim].
func webhookAddress(s string) bool {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || len(s) > 500 {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Scheme == "https" || u.Scheme == "http" && (u.Hostname() == "localhost" || ip != nil && ip.IsLoopback())
}

func (s *Simulator) testWebhook(c *call) reply {
	var b struct {
		Endpoint string `json:"endpoint"`
	}
	if len(c.body) > 0 {
		if rep, ok := parse(c.body, &b); !ok {
			return rep
		}
	}
	o := s.outgoing()
	if b.Endpoint != "" {
		o.url = b.Endpoint
	}
	if !webhookAddress(o.url) {
		return refuse(http.StatusBadRequest, "Invalid webhook endpoint URL")
	}
	return reply{later: func() reply {
		status, err := s.mail.post(o)
		why, detail := "OK", "200"
		switch {
		case err != nil:
			why, detail = reason(err), "no answer"
		case status/100 != 2:
			why, detail = "ERROR_STATUS_CODE", http.StatusText(status)
		}
		return jsonReply(http.StatusOK, map[string]any{
			"success": why == "OK", "timestamp": c.now.UTC().Format("2006-01-02T15:04:05.000Z"),
			"statusCode": status, "reason": why, "detail": detail,
		})
	}}
}

// reason is LINE's word for a webhook that got no answer.
// Source: https://developers.line.biz/en/docs/messaging-api/check-webhook-error-statistics/ , read in October 2026.
func reason(err error) string {
	var n net.Error
	switch {
	case errors.As(err, &n) && n.Timeout():
		return "REQUEST_TIMEOUT"
	case strings.Contains(err.Error(), "unsupported protocol scheme"):
		return "UNCLASSIFIED"
	default:
		return "COULD_NOT_CONNECT"
	}
}

// ulid makes a webhook event id: 48 bits of milliseconds and 80 random ones, in Crockford's base 32.
func ulid(now time.Time) string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], uint64(now.UnixMilli())<<16)
	rand.Read(b[6:])
	const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	hi, lo := binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:])
	var out [26]byte
	for i := len(out) - 1; i >= 0; i-- {
		out[i] = alphabet[lo&31]
		lo = lo>>5 | hi<<59
		hi >>= 5
	}
	return string(out[:])
}
