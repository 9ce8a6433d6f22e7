package linesim

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"
)

// How much history is kept; a demo may run for weeks.
const (
	maxRequests = 1000
	maxMessages = 3000
)

// User is a person with a LINE account.
type User struct {
	ID      string `json:"id"` // U and 32 hex digits
	Name    string `json:"name"`
	Friend  bool   `json:"friend"`  // has added the bot; stays true while blocked
	Blocked bool   `json:"blocked"` // has blocked the bot
	Deleted bool   `json:"deleted"` // has closed the LINE account
}

// reachable: a message to this person arrives.
func (u *User) reachable() bool { return u.Friend && !u.Blocked && !u.Deleted }

// Group is a LINE group.
type Group struct {
	ID      string   `json:"id"` // C and 32 hex digits
	Name    string   `json:"name"`
	Members []string `json:"members"` // user ids; the bot is not among them
	BotIn   bool     `json:"botIn"`
}

// Message is one message in a chat.
type Message struct {
	ID     string          `json:"id"`
	Chat   string          `json:"chat"`   // group id, or the user id of a 1:1 chat with the bot
	From   string          `json:"from"`   // user id; empty if the bot sent it
	At     time.Time       `json:"at"`     // UTC
	Object json.RawMessage `json:"object"` // the message object as LINE got it

	RequestID string `json:"requestId,omitempty"` // of the push or reply that brought it
}

// Acceptance is a push that LINE accepted.
type Acceptance struct {
	At         time.Time `json:"at"` // UTC
	RequestID  string    `json:"requestId"`
	RetryKey   string    `json:"retryKey"` // empty if sent without one
	To         string    `json:"to"`
	Recipients int       `json:"recipients"` // people it reached, which is what it cost; 0 for a blocker
	Members    int       `json:"members"`    // of the group at that instant; 1 for a user
	MessageIDs []string  `json:"messageIds"`
	Body       []byte    `json:"body"` // as received
}

// Request is one call to the simulated LINE.
type Request struct {
	N         int64     `json:"n"`        // grows by one
	At        time.Time `json:"at"`       // UTC, when it arrived
	Endpoint  string    `json:"endpoint"` // see Endpoints
	Method    string    `json:"method"`
	Path      string    `json:"path"`
	To        string    `json:"to,omitempty"` // LINE id, where the call has one
	RetryKey  string    `json:"retryKey,omitempty"`
	Try       int       `json:"try,omitempty"`  // the how manieth with this key within its life, from 1
	Body      []byte    `json:"body,omitempty"` // as received
	RequestID string    `json:"requestId"`

	Done        bool      `json:"done"`                  // false while it is being answered
	Status      int       `json:"status"`                // of the answer; 0 if none was given
	Answer      string    `json:"answer,omitempty"`      // its body
	Accepted    bool      `json:"accepted"`              // a message was accepted by this very try
	Recipients  int       `json:"recipients"`            // people the message reached
	Fault       FaultKind `json:"fault,omitempty"`       // what went wrong on purpose
	FaultAccept bool      `json:"faultAccept,omitempty"` // the fault let the work be done first
	GaveUp      bool      `json:"gaveUp,omitempty"`      // the client went away while it was kept waiting
	Endless     bool      `json:"endless,omitempty"`     // the client would have waited longer than Options.HangLimit
}

// keyUse is the life of one retry key.
type keyUse struct {
	FirstAt time.Time `json:"firstAt"`
	Tries   int       `json:"tries"`

	AcceptedRequestID string        `json:"acceptedRequestId,omitempty"`
	Sent              []sentMessage `json:"sent,omitempty"`
}

// sentMessage is LINE's receipt for one message object.
type sentMessage struct {
	ID         string `json:"id"`
	QuoteToken string `json:"quoteToken,omitempty"`
}

// credential is something secret that stands for somebody until an instant.
type credential struct {
	User    string    `json:"user,omitempty"`
	Expires time.Time `json:"expires"` // zero: never

	// Of login codes only.
	RedirectURI string `json:"redirectUri,omitempty"`
	Challenge   string `json:"challenge,omitempty"`
	Nonce       string `json:"nonce,omitempty"`
	// Of reply tokens only.
	Chat string `json:"chat,omitempty"`
}

func (c credential) live(now time.Time) bool { return c.Expires.IsZero() || now.Before(c.Expires) }

// state is everything a simulator remembers, in the form it is kept on disk.
type state struct {
	Seq      int64  `json:"seq"` // the last number given to anything
	Key      []byte `json:"key"` // signs ID tokens; PKCS #8, DER
	KeyID    string `json:"keyId"`
	Users    []*User
	Groups   []*Group
	Messages []*Message
	Keys     map[string]*keyUse
	Accepted []*Acceptance
	Requests []*Request
	Webhooks []*Webhook
	Faults   []*Fault
	Quota    int            // negative: no limit
	Used     map[string]int // messages by month of Japan, "2026-12"

	ChannelTokens map[string]credential
	UserTokens    map[string]credential
	Codes         map[string]credential
	ReplyTokens   map[string]credential
	LinkTokens    map[string]credential

	WebhookURL    string
	WebhookActive bool
	Redelivery    bool
}

// fresh is the state of a LINE nobody has used yet, with a channel set up.
func (s *Simulator) fresh() (*state, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make signing key: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode signing key: %w", err)
	}
	return &state{
		Key: der, KeyID: randomHex(16), Quota: s.opts.Quota,
		Keys: map[string]*keyUse{}, Used: map[string]int{},
		ChannelTokens: map[string]credential{s.opts.Channel.AccessToken: {}},
		UserTokens:    map[string]credential{}, Codes: map[string]credential{},
		ReplyTokens: map[string]credential{}, LinkTokens: map[string]credential{},
		WebhookURL: s.opts.Channel.WebhookURL, WebhookActive: true,
	}, nil
}

// load reads the state file, or starts afresh if there is none.
func (s *Simulator) load() error {
	st, err := s.fresh()
	if err != nil {
		return err
	}
	if s.opts.StateFile != "" {
		b, err := os.ReadFile(s.opts.StateFile)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return fmt.Errorf("read simulator state: %w", err)
		default:
			if err := json.Unmarshal(b, st); err != nil {
				return fmt.Errorf("read simulator state %s: %w", s.opts.StateFile, err)
			}
			// The demo may run on other ports now.
			if s.opts.Channel.WebhookURL != "" {
				st.WebhookURL = s.opts.Channel.WebhookURL
			}
			// Whoever was waiting when the process ended has no answer.
			for _, r := range st.Requests {
				r.Done = true
			}
		}
	}
	return s.use(st)
}

func (s *Simulator) use(st *state) error {
	k, err := x509.ParsePKCS8PrivateKey(st.Key)
	if err != nil {
		return fmt.Errorf("read signing key: %w", err)
	}
	key, ok := k.(*ecdsa.PrivateKey)
	if !ok {
		return errors.New("read signing key: not ECDSA")
	}
	s.st, s.key = st, key
	return nil
}

// Reset forgets everybody and everything: a LINE as New makes it without a state file. ID tokens made before it are
// no longer valid.
func (s *Simulator) Reset() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	st, err := s.fresh()
	if err != nil {
		return err
	}
	st.WebhookURL = s.st.WebhookURL
	if err := s.use(st); err != nil {
		return err
	}
	s.changed()
	return nil
}

// saveDelay is how long, in real time, a change that need not survive a killed process may wait to be written.
const saveDelay = 200 * time.Millisecond

// changed is called with s.mu held after a change that must not be lost: it writes the state file and tells the pages.
func (s *Simulator) changed() {
	s.tell()
	if s.opts.StateFile == "" {
		return
	}
	if s.later != nil {
		s.later.Stop()
		s.later = nil
	}
	if err := s.save(); err != nil {
		s.log.Error("simulator state not saved", "error", err)
	}
}

// noted is changed for the log's sake: the state file is written soon, together with what else happens until then.
func (s *Simulator) noted() {
	s.tell()
	if s.opts.StateFile == "" || s.later != nil {
		return
	}
	s.later = time.AfterFunc(saveDelay, s.flush)
}

// flush writes what noted has put off.
func (s *Simulator) flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.later != nil {
		s.changed()
	}
}

func (s *Simulator) tell() {
	s.trim()
	for c := range s.watchers {
		select {
		case c <- struct{}{}:
		default: // it has not looked at the last change yet, and will see this one too
		}
	}
}

func (s *Simulator) trim() {
	if n := len(s.st.Requests) - maxRequests; n > 0 {
		s.st.Requests = slices.Delete(s.st.Requests, 0, n)
	}
	if n := len(s.st.Webhooks) - maxRequests; n > 0 {
		s.st.Webhooks = slices.Delete(s.st.Webhooks, 0, n)
	}
	if n := len(s.st.Messages) - maxMessages; n > 0 {
		s.st.Messages = slices.Delete(s.st.Messages, 0, n)
	}
	if n := len(s.st.Accepted) - maxMessages; n > 0 {
		s.st.Accepted = slices.Delete(s.st.Accepted, 0, n)
	}
}

func (s *Simulator) save() error {
	b, err := json.Marshal(s.st)
	if err != nil {
		return err
	}
	return replaceFile(s.opts.StateFile, b)
}

// watch returns a channel that gets a value after changes, and a function that ends this.
func (s *Simulator) watch() (<-chan struct{}, func()) {
	c := make(chan struct{}, 1)
	s.mu.Lock()
	s.watchers[c] = struct{}{}
	s.mu.Unlock()
	return c, func() {
		s.mu.Lock()
		delete(s.watchers, c)
		s.mu.Unlock()
	}
}

// Until waits until a condition is true, which is asked now and after each change of the simulator.
func (s *Simulator) Until(ctx context.Context, holds func() bool) error {
	changes, end := s.watch()
	defer end()
	for !holds() {
		select {
		case <-changes:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

func (s *Simulator) user(id string) *User {
	for _, u := range s.st.Users {
		if u.ID == id {
			return u
		}
	}
	return nil
}

func (s *Simulator) group(id string) *Group {
	for _, g := range s.st.Groups {
		if g.ID == id {
			return g
		}
	}
	return nil
}

// nextID gives a message or webhook its number: digits, as LINE's ids are, and growing.
func (s *Simulator) nextID() string {
	s.st.Seq++
	return strconv.FormatInt(461230966842064896+s.st.Seq, 10)
}

func (s *Simulator) month() string { return s.clock.Now().In(japan).Format("2006-01") }

func newUUID() string { return uuid.NewString() }

func randomHex(bytes int) string {
	b := make([]byte, bytes)
	rand.Read(b) // never fails, says crypto/rand
	return hex.EncodeToString(b)
}
