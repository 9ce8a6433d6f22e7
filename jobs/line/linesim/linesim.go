// Package linesim is LINE, as far as the product meets it: the Messaging API, LINE Login's ID tokens, LIFF with an SDK
// of its own, webhooks, people and groups with their chats, the monthly quota, and every way in which LINE can fail.
//
// It is a part of the product, not a mock: the demo runs it, and the tests have no other stand-in for LINE. A
// Simulator is one http.Handler. Everything it knows lives in memory; with Options.StateFile it is written to disk
// before an accepted message is answered, so that even a killed process has not forgotten what it accepted.
//
// # Addresses
//
//	/v2/bot/…, /oauth2/…, /friendship/…, /v2/profile   what api.line.me and access.line.me answer
//	/liff/{liffId}/…                                   what liff.line.me answers: the redirect to the endpoint
//	/liff/sdk.js                                       the LIFF SDK for pages opened by this simulator
//	/sim                                               phones to look at, faults, quota, request log
//	/sim/api/…                                         the control API
//
// # Faithfulness
//
// What LINE documents or was seen to do is done the same way, down to the words of an error. Where LINE says nothing,
// the source says "[sim]": a choice of this package on which the product must not rely. The sources are
// https://developers.line.biz/en/reference/messaging-api/ , https://developers.line.biz/en/reference/line-login/ and
// https://developers.line.biz/en/docs/liff/ , read in October 2026.
//
// # Control API
//
// JSON over HTTP under /sim/api, for scripts and tests in other processes. It needs no token, because
// a simulator listens on loopback; a page of another site cannot use it. Errors are {"error":"…"} with 400 for what
// cannot be read, 404 for who is not there and 409 for what has no counterpart, such as a clock that cannot be moved.
// Times are RFC 3339 in UTC, bodies of requests and messages are given as the text they were.
//
//	GET    /sim/api/state                       everything at once: now, channel, users, groups, quota, faults, webhook
//	GET    /sim/api/users                       [User]
//	POST   /sim/api/users                       User (without id: one is made) → User
//	POST   /sim/api/users/{id}/follow           also block, delete
//	GET    /sim/api/groups                      [Group]
//	POST   /sim/api/groups                      Group → Group
//	POST   /sim/api/groups/{id}/invite          the bot comes; also remove: it goes
//	PUT    /sim/api/groups/{id}/members/{user}  join; DELETE: leave
//	GET    /sim/api/chats/{id}/messages         [{id, from, at, text, uris, object}]; from is empty for the bot
//	POST   /sim/api/chats/{id}/messages         {"from": user id, "text": "…"}
//	POST   /sim/api/chats/{id}/postbacks        {"from": user id, "data": "…"}
//	GET    /sim/api/requests?endpoint=&after=   the log: [Request], body as text; after is the n of the last one seen
//	GET    /sim/api/accepted                    [Acceptance], body as text
//	GET    /sim/api/webhooks                    [Webhook]
//	POST   /sim/api/webhooks                    {"events": [event objects as LINE would build them]}
//	PUT    /sim/api/webhook                     {"url": "…", "redelivery": false}
//	GET    /sim/api/faults                      [Fault]
//	POST   /sim/api/faults                      Fault → {"id": n}
//	DELETE /sim/api/faults                      all; with /{id}: one
//	PUT    /sim/api/quota                       {"limit": 200, "used": 0}; limit −1: none; either may be left out
//	PUT    /sim/api/tokens/{token}              {"expires": "…"} a channel access token; DELETE: revoke
//	GET    /sim/api/clock                       {"now": "…"}
//	POST   /sim/api/clock                       {"advance": "15m"} or {"set": "…"}
//	POST   /sim/api/idtokens                    {"user": user id} → {"idToken": "…"}
//	POST   /sim/api/open                        {"user": user id, "uri": LIFF URL} → {"url": what the LIFF browser loads}
//	POST   /sim/api/clear                       as Clear
//	POST   /sim/api/reset                       as Reset
package linesim

import (
	"context"
	"crypto/ecdsa"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"
)

// Options say which LINE to be. The zero value of every field is usable.
type Options struct {
	Clock    clockwork.Clock // the simulator's time: key lives, tokens, months, Date headers; the real clock if nil
	Logger   *slog.Logger    // discards if nil
	BaseURL  string          // where browsers and the product reach the simulator, no trailing slash; see SetBaseURL
	AdminURL string          // the product's admin site, for a link on /sim; no link if empty

	Channel Channel
	Login   Login
	Quota   int // messages a month: 0 means 200, LINE's free plan in Japan; negative means no limit

	StateFile  string                              // keeps the state across restarts if not empty; its folder must exist
	TimeTravel TimeTravel                          // moves the clock from /sim; the buttons are left out if nil
	Agenda     func(context.Context) []Appointment // what the product will do next, soonest first, in the language of ctx; left out if nil

	HangLimit time.Duration // how long a hanging request is held if the client never goes away, in real time; 1 minute if zero
	Rate      int           // pushes a second before 429; 2,000 (LINE's figure) if zero
	Seed      uint64        // of the dice that faults with a probability roll
}

// Channel is the Messaging API channel of the product.
type Channel struct {
	AccessToken string // long-lived; "linesim-token" if empty
	ID          string // for stateless tokens; "2000000001" if empty
	Secret      string // signs webhooks; "linesim-secret" if empty
	BotUserID   string // U and 32 hex digits; a fixed one if empty
	BasicID     string // with the leading @; "@linesim" if empty
	DisplayName string // in chats; "Shiftpost" if empty
	WebhookURL  string // where webhooks go until the API sets another address; none are sent if empty
}

// Login is the LINE Login channel and its LIFF app.
type Login struct {
	ChannelID   string // audience of ID tokens; "2000000002" if empty
	LIFFID      string // "2000000002-Shiftpst" if empty
	EndpointURL string // of the LIFF app: the product's page; see SetEndpointURL
}

// TimeTravel moves the clock that product and simulator share.
type TimeTravel interface {
	// Advance moves it by d, which may be negative.
	Advance(d time.Duration) error
	// Set moves it to t.
	Set(t time.Time) error
}

// Appointment is something the product is going to do by itself.
type Appointment struct {
	At    time.Time
	Title string // in the language of the person who looks
}

// Simulator is one LINE. It may be used by several goroutines at once.
type Simulator struct {
	opts  Options
	clock clockwork.Clock
	log   *slog.Logger
	mux   *http.ServeMux

	mu       sync.Mutex
	st       *state
	dice     *rand.Rand
	key      *ecdsa.PrivateKey
	baseURL  string
	endpoint string
	pushes   window
	later    *time.Timer // until it, what noted has put off is not on disk; nil if nothing is
	watchers map[chan struct{}]struct{}
	closed   chan struct{}
	closing  sync.Once
	mail     *postman
}

// New returns a simulator, with the state of Options.StateFile if that file exists.
func New(o Options) (*Simulator, error) {
	o = o.withDefaults()
	s := &Simulator{
		opts: o, clock: o.Clock, log: o.Logger,
		baseURL: strings.TrimRight(o.BaseURL, "/"), endpoint: o.Login.EndpointURL,
		dice:     rand.New(rand.NewPCG(o.Seed, 0x6c696e65)),
		watchers: map[chan struct{}]struct{}{},
		closed:   make(chan struct{}),
	}
	if !userIDForm.MatchString(o.Channel.BotUserID) {
		return nil, fmt.Errorf("bot user id %q is not U and 32 hex digits", o.Channel.BotUserID)
	}
	if err := s.load(); err != nil {
		return nil, err
	}
	s.mail = newPostman(s)
	s.mux = s.routes()
	return s, nil
}

func (o Options) withDefaults() Options {
	set := func(p *string, v string) {
		if *p == "" {
			*p = v
		}
	}
	set(&o.Channel.AccessToken, "linesim-token")
	set(&o.Channel.ID, "2000000001")
	set(&o.Channel.Secret, "linesim-secret")
	set(&o.Channel.BotUserID, "U5417057a00000000000000000000b07a")
	set(&o.Channel.BasicID, "@linesim")
	set(&o.Channel.DisplayName, "Shiftpost")
	set(&o.Login.ChannelID, "2000000002")
	set(&o.Login.LIFFID, "2000000002-Shiftpst")
	if o.Clock == nil {
		o.Clock = clockwork.NewRealClock()
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Quota == 0 {
		o.Quota = 200
	}
	if o.HangLimit == 0 {
		o.HangLimit = time.Minute
	}
	if o.Rate == 0 {
		o.Rate = 2000
	}
	return o
}

// ServeHTTP answers as LINE.
func (s *Simulator) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Close lets go of hanging requests and open pages and stops sending webhooks. Call it before the server's Shutdown,
// which waits for them.
func (s *Simulator) Close() {
	s.closing.Do(func() { close(s.closed) })
	s.mail.wait()
	s.flush()
}

// SetBaseURL tells the simulator where it is reached, once a port is known.
func (s *Simulator) SetBaseURL(u string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.baseURL = strings.TrimRight(u, "/")
}

// SetEndpointURL sets the endpoint URL of the LIFF app, once the product's port is known.
func (s *Simulator) SetEndpointURL(u string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endpoint = u
}

// SetWebhookURL sets where webhooks go, as the API's PUT would, but without asking for https.
func (s *Simulator) SetWebhookURL(u string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.st.WebhookURL = u
	s.changed()
}

// BaseURL is where the simulator is reached: LINE_API_BASE_URL for the product.
func (s *Simulator) BaseURL() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.baseURL
}

// LIFFBaseURL is what stands for https://liff.line.me: LINE_LIFF_BASE_URL for the product.
func (s *Simulator) LIFFBaseURL() string { return s.BaseURL() + "/liff" }

// SDKURL is the address of the simulator's LIFF SDK: LINE_LIFF_SDK_URL for the product.
func (s *Simulator) SDKURL() string { return s.BaseURL() + "/liff/sdk.js" }

// Channel returns the Messaging API channel with its defaults filled in.
func (s *Simulator) Channel() Channel { return s.opts.Channel }

// Login returns the login channel with its defaults filled in and the present endpoint URL.
func (s *Simulator) Login() Login {
	l := s.opts.Login
	s.mu.Lock()
	defer s.mu.Unlock()
	l.EndpointURL = s.endpoint
	return l
}

// Forms of LINE's ids.
var (
	userIDForm  = regexp.MustCompile(`^U[0-9a-f]{32}$`)
	groupIDForm = regexp.MustCompile(`^C[0-9a-f]{32}$`)
	anyIDForm   = regexp.MustCompile(`^[UCR][0-9a-f]{32}$`)
	uuidForm    = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
)

// japan is the zone of LINE's months and of the clocks on /sim. Japan has had no summer time since 1951.
var japan = time.FixedZone("JST", 9*60*60)

// window counts events within one second.
type window struct {
	second int64
	n      int
}

func (w *window) add(now time.Time) int {
	if s := now.Unix(); s != w.second {
		w.second, w.n = s, 0
	}
	w.n++
	return w.n
}

// originOf returns scheme and host of u, or "" if u is not absolute.
func originOf(u string) string {
	p, err := url.Parse(u)
	if err != nil || p.Scheme == "" || p.Host == "" {
		return ""
	}
	return p.Scheme + "://" + p.Host
}
