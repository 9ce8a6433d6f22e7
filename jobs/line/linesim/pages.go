package linesim

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"shiftpost/static"
	"shiftpost/views/text"
)

//go:embed assets
var assets embed.FS

const (
	languageCookie = "linesim_language"
	// insideCookie tells that this browser has, or had, a tab that stands for LINE on somebody's phone.
	insideCookie = "linesim_inside"

	shownMessages = 60
	shownRequests = 30
	shownTabs     = 3 // people beside the groups; the others are in a menu

	agendaPace = time.Second // of real time, while somebody looks
)

// ---- what the page shows ----

// screen is the page /sim at one instant.
type screen struct {
	Now      time.Time
	Choice   choice
	AdminURL string
	Problem  string // a sentence about the last form, if it could not be done

	Tabs, More []tab
	Chat       chatView
	Faults     []faultRow
	Recipients []User // people a fault may be aimed at
	Groups     []Group
	Travels    bool
	Agenda     []Appointment
	Log        []logRow
	Webhooks   []webhookRow
	Limit      int // messages a month; negative: none
	Used       int
}

// choice is what the person looking has chosen, kept in the address.
type choice struct {
	Chat string // group or user id
	As   string // user id: who taps the buttons and writes
	All  bool   // the whole log, not only messages
}

func (c choice) url() string {
	q := url.Values{}
	if c.Chat != "" {
		q.Set("chat", c.Chat)
	}
	if c.As != "" {
		q.Set("as", c.As)
	}
	if c.All {
		q.Set("log", "all")
	}
	if len(q) == 0 {
		return "/sim"
	}
	return "/sim?" + q.Encode()
}

func readChoice(q url.Values) choice {
	c := choice{All: q.Get("log") == "all"}
	if anyIDForm.MatchString(q.Get("chat")) {
		c.Chat = q.Get("chat")
	}
	if userIDForm.MatchString(q.Get("as")) {
		c.As = q.Get("as")
	}
	return c
}

type tab struct {
	Chat    string
	Name    string
	Members int // 0 for a person
	Current bool
}

// chatView is one chat on the phone of As.
type chatView struct {
	Group    *Group // nil in a 1:1 chat
	User     *User  // nil in a group
	Title    string
	As       User
	Members  []User // of the group
	Others   []User // people who could join it
	Bot      string
	Messages []bubble
}

type bubble struct {
	ID     string
	At     time.Time
	NewDay bool
	Name   string // of the sender
	Bot    bool
	Mine   bool // sent by As
	Text   string
	Flex   string // the container's JSON, for the script that draws it
	URIs   []string
}

type faultRow struct {
	Fault
	Preset string
	ToName string
	Left   int
}

type logRow struct {
	Request
	ToName string
	Tries  int // with this key, so far
}

// preset is the panel's name for the fault that took the request.
func (r logRow) preset() string {
	return presetOf(&Fault{Kind: r.Fault, Accept: r.FaultAccept, Status: r.Status})
}

type webhookRow struct {
	Webhook
	Types []string
}

// look collects the page. With s.mu held.
func (s *Simulator) look(c choice) screen {
	now := s.clock.Now()
	v := screen{
		Now: now, Choice: c, AdminURL: s.opts.AdminURL, Travels: s.opts.TimeTravel != nil,
		Limit: s.st.Quota, Used: s.st.Used[s.month()],
	}
	if v.Choice.Chat == "" {
		if len(s.st.Groups) > 0 {
			v.Choice.Chat = s.st.Groups[0].ID
		} else if len(s.st.Users) > 0 {
			v.Choice.Chat = s.st.Users[0].ID
		}
	}
	for _, g := range s.st.Groups {
		v.Groups = append(v.Groups, g.copy())
		v.Tabs = append(v.Tabs, tab{Chat: g.ID, Name: g.Name, Members: len(g.Members), Current: g.ID == v.Choice.Chat})
	}
	people := 0
	for _, u := range s.st.Users {
		v.Recipients = append(v.Recipients, *u)
		t := tab{Chat: u.ID, Name: u.Name, Current: u.ID == v.Choice.Chat}
		if people < shownTabs || t.Current {
			v.Tabs = append(v.Tabs, t)
			people++
		} else {
			v.More = append(v.More, t)
		}
	}
	v.Chat = s.lookAtChat(v.Choice)
	v.Choice.As = v.Chat.As.ID
	for _, f := range s.st.Faults {
		r := faultRow{Fault: *f, Preset: presetOf(f), ToName: s.name(f.To)}
		if f.Count > 0 {
			r.Left = f.Count - f.Taken
		}
		v.Faults = append(v.Faults, r)
	}
	tries := map[string]int{}
	for _, r := range s.st.Requests {
		if r.Endpoint == "push" && r.RetryKey != "" {
			tries[r.RetryKey]++
		}
	}
	for _, r := range slices.Backward(s.st.Requests) {
		if !c.All && r.Endpoint != "push" && r.Endpoint != "reply" {
			continue
		}
		v.Log = append(v.Log, logRow{Request: *r, ToName: s.name(r.To), Tries: tries[r.RetryKey]})
		if len(v.Log) == shownRequests {
			break
		}
	}
	if c.All {
		for _, w := range slices.Backward(s.st.Webhooks) {
			v.Webhooks = append(v.Webhooks, webhookRow{Webhook: *w, Types: w.Events()})
			if len(v.Webhooks) == shownRequests {
				break
			}
		}
	}
	return v
}

func (s *Simulator) lookAtChat(c choice) chatView {
	v := chatView{Bot: s.opts.Channel.DisplayName}
	if g := s.group(c.Chat); g != nil {
		cp := g.copy()
		v.Group, v.Title = &cp, g.Name
		for _, u := range s.st.Users {
			if slices.Contains(g.Members, u.ID) {
				v.Members = append(v.Members, *u)
				if v.As.ID == "" || u.ID == c.As {
					v.As = *u
				}
			} else if !u.Deleted {
				v.Others = append(v.Others, *u)
			}
		}
	} else if u := s.user(c.Chat); u != nil {
		cp := *u
		v.User, v.As, v.Title = &cp, cp, v.Bot
	}
	day := ""
	for _, m := range s.st.Messages {
		if m.Chat != c.Chat {
			continue
		}
		b := bubble{ID: m.ID, At: m.At, Bot: m.From == "", Name: v.Bot, Text: m.Text(), URIs: m.URIs()}
		if m.From != "" {
			b.Name, b.Mine = s.name(m.From), m.From == v.As.ID
		}
		if d := m.At.In(japan).Format(time.DateOnly); d != day {
			b.NewDay, day = true, d
		}
		var o struct {
			Type     string          `json:"type"`
			Contents json.RawMessage `json:"contents"`
		}
		if json.Unmarshal(m.Object, &o) == nil && o.Type == "flex" {
			b.Flex = string(o.Contents)
		}
		v.Messages = append(v.Messages, b)
	}
	if n := len(v.Messages) - shownMessages; n > 0 {
		v.Messages = v.Messages[n:]
		v.Messages[0].NewDay = true
	}
	return v
}

// name is what people call a user or a group; empty if it is unknown.
func (s *Simulator) name(id string) string {
	if u := s.user(id); u != nil {
		return u.Name
	}
	if g := s.group(id); g != nil {
		return g.Name
	}
	return ""
}

// Events returns the types of the events of a call, in their order.
func (w Webhook) Events() []string {
	var b struct {
		Events []struct {
			Type string `json:"type"`
		} `json:"events"`
	}
	json.Unmarshal(w.Body, &b)
	types := make([]string, len(b.Events))
	for i, e := range b.Events {
		types[i] = e.Type
	}
	return types
}

// ---- routes ----

func (s *Simulator) pageRoutes(m *http.ServeMux) {
	m.Handle("GET "+static.Prefix, static.Handler())
	m.HandleFunc("GET /sim/assets/{name}", serveAsset)
	m.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/sim", http.StatusFound) })
	m.HandleFunc("GET /sim", s.showScreen)
	m.HandleFunc("GET /sim/events", s.streamChanges)
	m.HandleFunc("GET /sim/open", s.openInside)

	guard := http.NewCrossOriginProtection()
	form := func(pattern string, act func(*http.Request) error) {
		m.Handle(pattern, guard.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.Body = http.MaxBytesReader(w, r.Body, 1<<20)
			c := readChoice(r.URL.Query())
			if err := act(r); err != nil {
				s.mu.Lock()
				v := s.look(c)
				s.mu.Unlock()
				v.Problem = problem(s.context(r), err)
				s.render(w, r, http.StatusUnprocessableEntity, simPage(v))
				return
			}
			http.Redirect(w, r, c.url(), http.StatusSeeOther)
		})))
	}
	form("POST /sim/messages", func(r *http.Request) error {
		return s.Say(r.PostFormValue("chat"), r.PostFormValue("from"), strings.TrimSpace(r.PostFormValue("text")))
	})
	form("POST /sim/postbacks", func(r *http.Request) error {
		return s.Postback(r.PostFormValue("chat"), r.PostFormValue("from"), r.PostFormValue("data"))
	})
	form("POST /sim/people", func(r *http.Request) error {
		user, group := r.PostFormValue("user"), r.PostFormValue("group")
		switch r.PostFormValue("act") {
		case "block":
			return s.Block(user)
		case "follow":
			return s.Follow(user)
		case "join":
			return s.Join(group, user)
		case "leave":
			return s.Leave(group, user)
		case "invite":
			return s.InviteBot(group)
		case "remove":
			return s.RemoveBot(group)
		default:
			return errBadForm
		}
	})
	form("POST /sim/newcomers", func(r *http.Request) error {
		name := strings.TrimSpace(r.PostFormValue("name"))
		if name == "" || utf16Len(name) > 50 {
			return errName
		}
		switch r.PostFormValue("kind") {
		case "user":
			s.AddUser(User{Name: name})
		case "group":
			s.AddGroup(Group{Name: name})
		default:
			return errBadForm
		}
		return nil
	})
	form("POST /sim/faults", func(r *http.Request) error {
		f, err := readFault(r)
		if err != nil {
			return err
		}
		_, err = s.AddFault(f)
		return err
	})
	form("POST /sim/faults/end", func(r *http.Request) error {
		if r.PostFormValue("id") == "" {
			s.ClearFaults()
			return nil
		}
		id, err := strconv.ParseInt(r.PostFormValue("id"), 10, 64)
		if err != nil {
			return errBadForm
		}
		s.RemoveFault(id)
		return nil
	})
	form("POST /sim/quota", func(r *http.Request) error {
		n, err := strconv.Atoi(r.PostFormValue("limit"))
		used, err2 := strconv.Atoi(r.PostFormValue("used"))
		if err != nil || err2 != nil || n < 0 || used < 0 {
			return errNumber
		}
		if r.PostFormValue("unlimited") != "" {
			n = -1
		}
		s.SetQuota(n)
		s.SetUsed(used)
		return nil
	})
	form("POST /sim/clock", s.travel)
	form("POST /sim/clear", func(*http.Request) error {
		s.Clear()
		return nil
	})
	m.Handle("POST /sim/language", guard.Handler(http.HandlerFunc(s.setLanguage)))
	s.controlRoutes(m, guard)
}

// Clear forgets what happened and keeps who there is: chats, log, faults and the messages used are gone; people,
// groups, tokens and retry keys stay, because LINE would not forget those either.
func (s *Simulator) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.st.Messages, s.st.Accepted, s.st.Requests, s.st.Webhooks, s.st.Faults = nil, nil, nil, nil, nil
	s.st.Used, s.st.Quota = map[string]int{}, s.opts.Quota
	s.changed()
}

// travel moves the shared clock by what a button says.
func (s *Simulator) travel(r *http.Request) error {
	if until := r.PostFormValue("until"); until != "" {
		t, err := time.Parse(time.RFC3339, until)
		if err != nil {
			return errBadForm
		}
		if !t.After(s.clock.Now()) {
			return nil // it came by itself before the button was pressed
		}
		return s.moveClock("", &t)
	}
	if r.PostFormValue("advance") == "month" {
		now := s.clock.Now().In(japan)
		t := time.Date(now.Year(), now.Month()+1, 1, 0, 0, 0, 0, japan)
		return s.moveClock("", &t)
	}
	return s.moveClock(r.PostFormValue("advance"), nil)
}

func (s *Simulator) setLanguage(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 1<<10)
	if l, ok := text.ParseLanguage(r.PostFormValue("language")); ok {
		http.SetCookie(w, &http.Cookie{Name: languageCookie, Value: string(l), Path: "/", MaxAge: 365 * 24 * 60 * 60, HttpOnly: true, SameSite: http.SameSiteLaxMode})
	}
	back := r.PostFormValue("return")
	if !strings.HasPrefix(back, "/sim") && !strings.HasPrefix(back, "/oauth2/v2.1/authorize?") {
		back = "/sim"
	}
	http.Redirect(w, r, back, http.StatusSeeOther)
}

// context carries the language of the person looking: their choice, or Japanese.
func (s *Simulator) context(r *http.Request) context.Context {
	l := text.Japanese
	if c, err := r.Cookie(languageCookie); err == nil {
		l, _ = text.ParseLanguage(c.Value)
	}
	return text.WithLanguage(r.Context(), l)
}

// render writes a page under the simulator's own content security policy. Forms may also lead to the LIFF endpoint,
// because browsers apply form-action to the redirect that follows a login.
func (s *Simulator) render(w http.ResponseWriter, r *http.Request, status int, page templ.Component) {
	var b bytes.Buffer
	if err := page.Render(s.context(r), &b); err != nil {
		s.log.Error("page not drawn", "path", r.URL.Path, "error", err)
		http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
		return
	}
	forms := "'self'"
	if o := originOf(s.Login().EndpointURL); o != "" {
		forms += " " + o
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self'; connect-src 'self'; form-action "+forms+"; base-uri 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	s.stamp(h)
	w.WriteHeader(status)
	w.Write(b.Bytes())
}

func (s *Simulator) showScreen(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	v := s.look(readChoice(r.URL.Query()))
	s.mu.Unlock()
	if s.opts.Agenda != nil {
		v.Agenda = s.opts.Agenda(s.context(r))
	}
	s.render(w, r, http.StatusOK, simPage(v))
}

// streamChanges tells an open page by server-sent events that there is something new to fetch.
func (s *Simulator) streamChanges(w http.ResponseWriter, r *http.Request) {
	changes, end := s.watch()
	defer end()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
	rc := http.NewResponseController(w)
	var planned []Appointment
	for {
		if s.opts.Agenda != nil {
			planned = s.opts.Agenda(s.context(r))
		}
		// The first event brings a page that was away for a moment up to date.
		if _, err := fmt.Fprint(w, "data: changed\n\n"); err != nil || rc.Flush() != nil {
			return
		}
		if !s.awaitChange(r, changes, planned) {
			return
		}
	}
}

// awaitChange waits until something has happened here, or until the product plans something else than it did: that it
// does by itself, so it is asked now and then. It reports false when nobody looks any more.
func (s *Simulator) awaitChange(r *http.Request, changes <-chan struct{}, planned []Appointment) bool {
	var look <-chan time.Time
	if s.opts.Agenda != nil {
		ticker := time.NewTicker(agendaPace)
		defer ticker.Stop()
		look = ticker.C
	}
	same := func(a, b Appointment) bool { return a.Title == b.Title && a.At.Equal(b.At) }
	for {
		select {
		case <-changes:
			return true
		case <-look:
			if !slices.EqualFunc(planned, s.opts.Agenda(s.context(r)), same) {
				return true
			}
		case <-s.closed:
			return false
		case <-r.Context().Done():
			return false
		}
	}
}

// ---- LIFF and login ----

// openInside is a tap on a button in somebody's chat: the LIFF browser opens. A browser first gets a page whose script
// makes the tab remember whose phone it is; other clients are redirected at once.
func (s *Simulator) openInside(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	uri, as := q.Get("uri"), q.Get("as")
	id, rest, ok := s.liffPath(uri)
	target := ""
	if ok {
		target, ok = s.liffTarget(id, rest, as)
	}
	if !ok || as == "" {
		s.showNoLIFF(w, r)
		return
	}
	if r.Header.Get("Sec-Fetch-Dest") == "document" && !q.Has("go") {
		http.SetCookie(w, &http.Cookie{Name: insideCookie, Value: "1", Path: "/liff", HttpOnly: true, SameSite: http.SameSiteLaxMode})
		s.showDoor(w, r, as, rest)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, target, http.StatusFound)
}

// showDoor lets the tab itself choose between LINE on somebody's phone and an ordinary browser.
func (s *Simulator) showDoor(w http.ResponseWriter, r *http.Request, user, rest string) {
	l := s.Login()
	outside, ok := s.liffTarget(l.LIFFID, rest, "")
	if !ok {
		s.showNoLIFF(w, r)
		return
	}
	inside := "/sim/open?" + url.Values{"go": {"1"}, "uri": {s.LIFFBaseURL() + "/" + l.LIFFID + rest}}.Encode() + "&as="
	s.render(w, r, http.StatusOK, doorPage(user, inside, outside))
}

func (s *Simulator) showNoLIFF(w http.ResponseWriter, r *http.Request) {
	s.render(w, r, http.StatusNotFound, noLIFFPage())
}

// loginRequest is a login that a page asked for.
type loginRequest struct {
	RedirectURI, State, Challenge, Nonce string
	Query                                string
}

// readLogin checks a login as LINE does before it shows anything; the answer to a wrong one is a 400.
func (s *Simulator) readLogin(q url.Values) (loginRequest, bool) {
	l := s.Login()
	lr := loginRequest{
		RedirectURI: q.Get("redirect_uri"), State: q.Get("state"), Challenge: q.Get("code_challenge"), Nonce: q.Get("nonce"),
		Query: q.Encode(),
	}
	ok := q.Get("response_type") == "code" && q.Get("client_id") == l.ChannelID && l.EndpointURL != "" &&
		strings.HasPrefix(lr.RedirectURI, l.EndpointURL) && (lr.Challenge == "" || q.Get("code_challenge_method") == "S256")
	return lr, ok
}

func (s *Simulator) showLogin(w http.ResponseWriter, r *http.Request) {
	lr, ok := s.readLogin(r.URL.Query())
	if !ok {
		s.render(w, r, http.StatusBadRequest, badLoginPage())
		return
	}
	s.render(w, r, http.StatusOK, loginPage(lr, s.Users()))
}

// doLogin sends the browser back to the page with a code for the chosen user.
func (s *Simulator) doLogin(w http.ResponseWriter, r *http.Request) {
	lr, ok := s.readLogin(r.URL.Query())
	r.Body = http.MaxBytesReader(w, r.Body, 1<<10)
	user := r.PostFormValue("user")
	s.mu.Lock()
	if u := s.user(user); u == nil || u.Deleted {
		ok = false
	}
	s.mu.Unlock()
	if !ok {
		s.render(w, r, http.StatusBadRequest, badLoginPage())
		return
	}
	target, err := url.Parse(lr.RedirectURI)
	if err != nil {
		s.render(w, r, http.StatusBadRequest, badLoginPage())
		return
	}
	code := randomHex(16)
	s.mu.Lock()
	now := s.clock.Now()
	for old, cr := range s.st.Codes {
		if !cr.live(now) {
			delete(s.st.Codes, old)
		}
	}
	s.st.Codes[code] = credential{User: user, RedirectURI: lr.RedirectURI, Challenge: lr.Challenge, Nonce: lr.Nonce, Expires: now.Add(codeLife).UTC()}
	s.changed()
	s.mu.Unlock()
	q := target.Query()
	q.Set("code", code)
	q.Set("state", lr.State)
	q.Set("liffClientId", s.opts.Login.ChannelID)
	q.Set("liffRedirectUri", lr.RedirectURI)
	target.RawQuery = q.Encode()
	http.Redirect(w, r, target.String(), http.StatusSeeOther)
}

// sdk serves the LIFF SDK with the app's facts, which the real one fetches from LINE.
func (s *Simulator) sdk(w http.ResponseWriter, r *http.Request) {
	b, err := assets.ReadFile("assets/liff.js")
	if err != nil {
		panic(err) // it is embedded
	}
	l := s.Login()
	app, err := json.Marshal(map[string]string{"liffId": l.LIFFID, "channelId": l.ChannelID, "endpoint": l.EndpointURL})
	if err != nil {
		panic(err) // three strings
	}
	h := w.Header()
	h.Set("Content-Type", "text/javascript; charset=utf-8")
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Content-Type-Options", "nosniff")
	// A page of another origin loads it; Cross-Origin-Embedder-Policy would ask for this.
	h.Set("Cross-Origin-Resource-Policy", "cross-origin")
	w.Write(bytes.Replace(b, []byte("__APP__"), app, 1))
}

// ---- files of the page ----

// assetURL is the address of an embedded file, with a hash of its content.
func assetURL(name string) string {
	b, err := assets.ReadFile("assets/" + name)
	if err != nil {
		panic(err) // a programmer's mistake
	}
	sum := sha256.Sum256(b)
	ext := path.Ext(name)
	return "/sim/assets/" + strings.TrimSuffix(name, ext) + "." + hex.EncodeToString(sum[:6]) + ext
}

func serveAsset(w http.ResponseWriter, r *http.Request) {
	ext := path.Ext(r.PathValue("name"))
	name := strings.TrimSuffix(r.PathValue("name"), ext)
	name = strings.TrimSuffix(name, path.Ext(name)) + ext
	b, err := assets.ReadFile("assets/" + name)
	if err != nil || assetURL(name) != r.URL.Path {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", map[string]string{".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}[ext])
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("X-Content-Type-Options", "nosniff")
	w.Write(b)
}
