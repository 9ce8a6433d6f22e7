package linesim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Endpoints are the names of LINE's calls in faults and in the request log.
var Endpoints = []string{
	"push", "reply", "validate", "quota", "consumption", "bot info", "group summary", "group member count",
	"group member", "group member ids", "group leave", "profile", "link token", "webhook endpoint", "webhook test",
	"token", "verify", "certs", "login token", "login profile", "friendship", "liff apps",
}

// LINE's words.
const (
	msgTo        = "The property, 'to', in the request body is invalid (line: -, column: -)"
	msgFailed    = "Failed to send messages"
	msgRetryKey  = "The value for the 'X-Line-Retry-Key' parameter is invalid"
	msgToken     = "Authentication failed. Confirm that the access token in the authorization header is valid."
	msgAccess    = "Access to this API is not available for your account"
	msgAccepted  = "The retry key is already accepted"
	msgRate      = "The API rate limit has been exceeded. Try again later."
	msgMonthly   = "You have reached your monthly limit."
	msgReply     = "Invalid reply token"
	msgNotFound  = "Not found"
	msgTooLarge  = "Request body is too large" // [sim]
	maxBody      = 2 << 20                     // bytes of a request
	retryKeyLife = 24 * time.Hour              // from the first request with the key
	replyLife    = time.Minute
	linkLife     = 10 * time.Minute
)

// reply is an answer that has not been written yet, so that a fault can still spoil it.
type reply struct {
	status int // 0: no answer
	header http.Header
	body   []byte

	accepted   bool // a message was accepted
	recipients int

	later func() reply // makes the answer without s.mu, because it takes time
}

func jsonReply(status int, v any) reply {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // only our own types come here
	}
	return reply{status: status, header: http.Header{"Content-Type": {"application/json"}}, body: b}
}

// detail is one line of an error's details.
type detail struct {
	Message  string `json:"message"`
	Property string `json:"property"`
}

// refuse is an error in LINE's form.
func refuse(status int, message string, details ...detail) reply {
	return jsonReply(status, struct {
		Message string   `json:"message"`
		Details []detail `json:"details,omitempty"`
	}{message, details})
}

// htmlReply is what LINE's edge sends when the service behind it does not answer.
func htmlReply(status int) reply {
	text := fmt.Sprintf("%d %s", status, http.StatusText(status))
	return reply{status: status, header: http.Header{"Content-Type": {"text/html"}},
		body: []byte("<html>\n<head><title>" + text + "</title></head>\n<body>\n<center><h1>" + text + "</h1></center>\n</body>\n</html>\n")}
}

// call is a request on its way through the checks.
type call struct {
	r         *http.Request
	now       time.Time
	body      []byte
	tooLarge  bool
	requestID string
	retryKey  string // empty if none was sent; an empty header counts as none, as the official SDKs send one
}

// access says which credential a call needs.
type access int

const (
	byChannel access = iota // channel access token
	byUser                  // a user's access token of LINE Login
	public
)

// handle makes a handler of one of LINE's calls: it logs the request, lets faults happen and writes the answer.
// Recipient finds out whom the call is about, for faults and the log; nil if nobody. Both functions run with s.mu held.
func (s *Simulator) handle(endpoint string, need access, recipient func(*call) string, work func(*call) reply) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
		if err != nil {
			return // the client went away while sending: nothing was asked
		}
		c := &call{r: r, body: body, tooLarge: len(body) > maxBody, requestID: newUUID(), retryKey: r.Header.Get("X-Line-Retry-Key")}
		if c.tooLarge {
			c.body = body[:0]
		}

		s.mu.Lock()
		c.now = s.clock.Now()
		to := ""
		if recipient != nil {
			to = recipient(c)
		}
		entry := s.record(endpoint, to, c)
		fault := s.take(false, endpoint, to)
		var rep reply
		instead := false
		if fault != nil {
			entry.Fault, entry.FaultAccept = fault.Kind, fault.Accept
			rep, instead = fault.instead()
		}
		if !instead {
			rep = s.authorize(need, c)
			if rep.status == 0 {
				rep = work(c)
			}
			entry.Accepted, entry.Recipients = rep.accepted, rep.recipients
		}
		if fault != nil || c.r.Method != http.MethodGet && rep.status/100 == 2 {
			s.changed()
		} else {
			s.noted() // nothing happened but the request itself
		}
		s.mu.Unlock()

		if rep.later != nil {
			rep = rep.later()
		}
		s.respond(w, r, c, entry, fault, rep)
	}
}

// record writes the request into the log before it is answered, so that a hanging one can be seen. With s.mu held.
func (s *Simulator) record(endpoint, to string, c *call) *Request {
	s.st.Seq++
	e := &Request{
		N: s.st.Seq, At: c.now.UTC(), Endpoint: endpoint, Method: c.r.Method, Path: c.r.URL.Path, To: to,
		RetryKey: c.retryKey, Body: c.body, RequestID: c.requestID,
	}
	if endpoint == "verify" || endpoint == "login token" || endpoint == "token" {
		e.Body = nil // tokens and codes are nobody's reading
	}
	if endpoint == "push" && uuidForm.MatchString(c.retryKey) {
		k := s.st.Keys[c.retryKey]
		if k == nil || c.now.Sub(k.FirstAt) >= retryKeyLife {
			k = &keyUse{FirstAt: c.now.UTC()}
			s.st.Keys[c.retryKey] = k
		}
		k.Tries++
		e.Try = k.Tries
	}
	s.st.Requests = append(s.st.Requests, e)
	return e
}

// authorize checks the token in the Authorization header; a reply with a status refuses the call. With s.mu held.
func (s *Simulator) authorize(need access, c *call) reply {
	token, ok := strings.CutPrefix(c.r.Header.Get("Authorization"), "Bearer ")
	switch need {
	case byChannel:
		if cr, known := s.st.ChannelTokens[token]; !ok || !known || !cr.live(c.now) {
			return refuse(http.StatusUnauthorized, msgToken)
		}
		if c.tooLarge {
			return refuse(http.StatusRequestEntityTooLarge, msgTooLarge)
		}
	case byUser:
		if cr, known := s.st.UserTokens[token]; !ok || !known || !cr.live(c.now) {
			return refuse(http.StatusUnauthorized, "The access token expired") // [sim]
		}
	}
	return reply{}
}

// respond writes the answer, or spoils it as the fault says, and completes the log entry.
func (s *Simulator) respond(w http.ResponseWriter, r *http.Request, c *call, e *Request, f *Fault, rep reply) {
	if f != nil {
		switch f.Kind {
		case FaultStatus:
			if f.Accept && rep.status/100 == 2 {
				rep = f.answer()
			}
		case FaultHang:
			s.hang(r, e)
			cut(w)
			return
		case FaultCut, FaultDown:
			s.finish(e, reply{})
			cut(w)
			return
		case FaultSlow:
			t := time.NewTimer(f.delay())
			defer t.Stop()
			select {
			case <-t.C:
			case <-s.closed:
			case <-r.Context().Done():
				s.mu.Lock()
				e.GaveUp = true
				s.mu.Unlock()
				s.finish(e, reply{})
				return
			}
		case FaultBroken:
			if rep.status/100 == 2 {
				rep.body = rep.body[:len(rep.body)/2]
			}
		case FaultHTML:
			if rep.status/100 == 2 {
				rep.header, rep.body = http.Header{"Content-Type": {"text/html"}}, htmlReply(http.StatusOK).body
			}
		}
	}
	s.finish(e, rep)
	h := w.Header()
	for k, v := range rep.header {
		h[k] = v
	}
	h.Set("X-Line-Request-Id", c.requestID)
	s.stamp(h)
	h.Set("Content-Length", strconv.Itoa(len(rep.body)))
	w.WriteHeader(rep.status)
	if f != nil && f.Kind == FaultTruncate && rep.status/100 == 2 {
		w.Write(rep.body[:len(rep.body)/2])
		http.NewResponseController(w).Flush()
		cut(w)
		return
	}
	w.Write(rep.body)
}

// hang keeps the request until its client goes away.
func (s *Simulator) hang(r *http.Request, e *Request) {
	t := time.NewTimer(s.opts.HangLimit)
	defer t.Stop()
	select {
	case <-r.Context().Done():
		s.mu.Lock()
		e.GaveUp = true
		s.mu.Unlock()
	case <-t.C:
		s.mu.Lock()
		e.Endless = true
		s.mu.Unlock()
	case <-s.closed:
	}
	s.finish(e, reply{})
}

func (s *Simulator) finish(e *Request, rep reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e.Done, e.Status = true, rep.status
	if e.Body != nil || rep.status/100 != 2 { // answers to calls whose body is not kept hold tokens as well
		e.Answer = string(rep.body)
	}
	s.noted()
}

// cut resets the connection, so that the client sees it lost and not an orderly end.
func cut(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // HTTP/2 has no connection to take: net/http resets the stream
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		tcp.SetLinger(0)
	}
	conn.Close()
}

// stamp sets the Date header by the simulator's clock.
func (s *Simulator) stamp(h http.Header) { h.Set("Date", s.clock.Now().UTC().Format(http.TimeFormat)) }

// routes is the whole map of the simulator.
func (s *Simulator) routes() *http.ServeMux {
	m := http.NewServeMux()
	pathID := func(name string) func(*call) string {
		return func(c *call) string { return c.r.PathValue(name) }
	}
	bot := func(pattern, endpoint string, to func(*call) string, work func(*call) reply) {
		m.HandleFunc(pattern, s.handle(endpoint, byChannel, to, func(c *call) reply {
			// LINE takes a retry key for pushes and their kin only.
			if endpoint != "push" && c.retryKey != "" {
				return refuse(http.StatusBadRequest, msgRetryKey)
			}
			return work(c)
		}))
	}
	bot("POST /v2/bot/message/push", "push", bodyTo, s.push)
	bot("POST /v2/bot/message/reply", "reply", s.replyChat, s.reply)
	bot("POST /v2/bot/message/validate/push", "validate", nil, s.validate)
	bot("GET /v2/bot/message/quota", "quota", nil, s.quota)
	bot("GET /v2/bot/message/quota/consumption", "consumption", nil, s.consumption)
	bot("GET /v2/bot/info", "bot info", nil, s.botInfo)
	bot("GET /v2/bot/group/{groupId}/summary", "group summary", pathID("groupId"), s.groupSummary)
	bot("GET /v2/bot/group/{groupId}/members/count", "group member count", pathID("groupId"), s.groupMemberCount)
	bot("GET /v2/bot/group/{groupId}/members/ids", "group member ids", pathID("groupId"), func(*call) reply {
		return refuse(http.StatusForbidden, msgAccess) // the account is neither verified nor premium
	})
	bot("GET /v2/bot/group/{groupId}/member/{userId}", "group member", pathID("groupId"), s.groupMember)
	bot("POST /v2/bot/group/{groupId}/leave", "group leave", pathID("groupId"), s.groupLeave)
	bot("GET /v2/bot/profile/{userId}", "profile", pathID("userId"), s.profile)
	bot("POST /v2/bot/user/{userId}/linkToken", "link token", pathID("userId"), s.linkToken)
	bot("GET /v2/bot/channel/webhook/endpoint", "webhook endpoint", nil, s.getWebhook)
	bot("PUT /v2/bot/channel/webhook/endpoint", "webhook endpoint", nil, s.putWebhook)
	bot("POST /v2/bot/channel/webhook/test", "webhook test", nil, s.testWebhook)
	m.HandleFunc("POST /oauth2/v3/token", s.handle("token", public, nil, s.statelessToken))
	s.loginRoutes(m)
	s.pageRoutes(m)
	m.HandleFunc("/v2/", s.handle("", public, nil, func(*call) reply { return refuse(http.StatusNotFound, msgNotFound) }))
	return m
}

// bodyTo is the recipient of a push, as far as the body can be read.
func bodyTo(c *call) string {
	var b struct {
		To string `json:"to"`
	}
	if json.Unmarshal(c.body, &b) != nil || !anyIDForm.MatchString(b.To) {
		return ""
	}
	return b.To
}

// wantJSON checks the content type.
func wantJSON(c *call) (reply, bool) {
	sent := c.r.Header.Get("Content-Type")
	if t, _, err := mime.ParseMediaType(sent); err != nil || t != "application/json" {
		return refuse(http.StatusUnsupportedMediaType, fmt.Sprintf("The content type, %s, is not supported", sent)), false
	}
	return reply{}, true
}

// parse decodes a JSON body; the answer to what is not JSON says where.
func parse(body []byte, into any) (reply, bool) {
	err := json.Unmarshal(body, into)
	if err == nil {
		return reply{}, true
	}
	if t, ok := err.(*json.UnmarshalTypeError); ok {
		return refuse(http.StatusBadRequest, fmt.Sprintf("The property, '%s', in the request body is invalid (line: -, column: -)", t.Field)), false
	}
	line, column := 1, 1
	if e, ok := err.(*json.SyntaxError); ok && e.Offset > 0 {
		before := body[:min(int(e.Offset)-1, len(body))]
		line += bytes.Count(before, []byte("\n"))
		column = len(before) - bytes.LastIndexByte(before, '\n')
	}
	return refuse(http.StatusBadRequest, fmt.Sprintf("The request body could not be parsed as JSON (line: %d, column: %d)", line, column)), false
}
