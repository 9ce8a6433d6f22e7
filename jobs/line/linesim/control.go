package linesim

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// controlRoutes is the control API that the package comment describes.
func (s *Simulator) controlRoutes(m *http.ServeMux, guard *http.CrossOriginProtection) {
	route := func(pattern string, act func(*http.Request) (any, error)) {
		m.Handle(pattern, guard.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.Body = http.MaxBytesReader(w, r.Body, 4<<20)
			v, err := act(r)
			status := http.StatusOK
			if err != nil {
				status = http.StatusBadRequest
				switch {
				case errors.Is(err, errNobody):
					status = http.StatusNotFound
				case errors.Is(err, errCannot):
					status = http.StatusConflict
				}
				v = map[string]string{"error": err.Error()}
			} else if v == nil {
				v = struct{}{}
			}
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Cache-Control", "no-store")
			s.stamp(w.Header())
			w.WriteHeader(status)
			json.NewEncoder(w).Encode(v)
		})))
	}
	none := func(act func(*http.Request) error) func(*http.Request) (any, error) {
		return func(r *http.Request) (any, error) { return nil, act(r) }
	}

	route("GET /sim/api/state", func(*http.Request) (any, error) { return s.overview(), nil })
	route("GET /sim/api/users", func(*http.Request) (any, error) { return s.Users(), nil })
	route("POST /sim/api/users", func(r *http.Request) (any, error) {
		var u User
		if err := readJSON(r, &u); err != nil {
			return nil, err
		}
		if u.ID != "" && !userIDForm.MatchString(u.ID) {
			return nil, errors.New("id is not U and 32 hex digits")
		}
		return s.AddUser(u), nil
	})
	route("POST /sim/api/users/{id}/{act}", none(func(r *http.Request) error {
		id := r.PathValue("id")
		switch r.PathValue("act") {
		case "follow":
			return s.Follow(id)
		case "block":
			return s.Block(id)
		case "delete":
			return s.DeleteUser(id)
		}
		return fmt.Errorf("a user cannot %.40q", r.PathValue("act"))
	}))
	route("GET /sim/api/groups", func(*http.Request) (any, error) { return s.Groups(), nil })
	route("POST /sim/api/groups", func(r *http.Request) (any, error) {
		var g Group
		if err := readJSON(r, &g); err != nil {
			return nil, err
		}
		if g.ID != "" && !groupIDForm.MatchString(g.ID) {
			return nil, errors.New("id is not C and 32 hex digits")
		}
		return s.AddGroup(g), nil
	})
	route("POST /sim/api/groups/{id}/{act}", none(func(r *http.Request) error {
		switch r.PathValue("act") {
		case "invite":
			return s.InviteBot(r.PathValue("id"))
		case "remove":
			return s.RemoveBot(r.PathValue("id"))
		}
		return fmt.Errorf("a group cannot %.40q", r.PathValue("act"))
	}))
	route("PUT /sim/api/groups/{id}/members/{user}", none(func(r *http.Request) error {
		return s.Join(r.PathValue("id"), r.PathValue("user"))
	}))
	route("DELETE /sim/api/groups/{id}/members/{user}", none(func(r *http.Request) error {
		return s.Leave(r.PathValue("id"), r.PathValue("user"))
	}))
	route("GET /sim/api/chats/{id}/messages", func(r *http.Request) (any, error) {
		type shown struct {
			Message
			Text string   `json:"text"`
			URIs []string `json:"uris"`
		}
		out := []shown{}
		for _, m := range s.Messages(r.PathValue("id")) {
			out = append(out, shown{m, m.Text(), m.URIs()})
		}
		return out, nil
	})
	route("POST /sim/api/chats/{id}/messages", none(func(r *http.Request) error {
		var b struct{ From, Text string }
		if err := readJSON(r, &b); err != nil {
			return err
		}
		return s.Say(r.PathValue("id"), b.From, b.Text)
	}))
	route("POST /sim/api/chats/{id}/postbacks", none(func(r *http.Request) error {
		var b struct{ From, Data string }
		if err := readJSON(r, &b); err != nil {
			return err
		}
		return s.Postback(r.PathValue("id"), b.From, b.Data)
	}))
	route("GET /sim/api/requests", func(r *http.Request) (any, error) {
		type shown struct {
			Request
			Body string `json:"body"`
		}
		after := int64(0)
		if a := r.URL.Query().Get("after"); a != "" {
			n, err := strconv.ParseInt(a, 10, 64)
			if err != nil {
				return nil, errors.New("after is not a number")
			}
			after = n
		}
		endpoint := r.URL.Query().Get("endpoint")
		out := []shown{}
		for _, q := range s.Requests() {
			if q.N > after && (endpoint == "" || q.Endpoint == endpoint) {
				out = append(out, shown{q, string(q.Body)})
			}
		}
		return out, nil
	})
	route("GET /sim/api/accepted", func(*http.Request) (any, error) {
		type shown struct {
			Acceptance
			Body string `json:"body"`
		}
		out := []shown{}
		for _, a := range s.Accepted() {
			out = append(out, shown{a, string(a.Body)})
		}
		return out, nil
	})
	route("GET /sim/api/webhooks", func(*http.Request) (any, error) { return s.Webhooks(), nil })
	route("POST /sim/api/webhooks", none(func(r *http.Request) error {
		var b struct{ Events []json.RawMessage }
		if err := readJSON(r, &b); err != nil {
			return err
		}
		return s.SendWebhook(b.Events...)
	}))
	route("PUT /sim/api/webhook", none(func(r *http.Request) error {
		var b struct {
			URL        *string
			Redelivery *bool
		}
		if err := readJSON(r, &b); err != nil {
			return err
		}
		if b.URL != nil {
			s.SetWebhookURL(*b.URL)
		}
		if b.Redelivery != nil {
			s.SetRedelivery(*b.Redelivery)
		}
		return nil
	}))
	route("GET /sim/api/faults", func(*http.Request) (any, error) { return s.Faults(), nil })
	route("POST /sim/api/faults", func(r *http.Request) (any, error) {
		var f Fault
		if err := readJSON(r, &f); err != nil {
			return nil, err
		}
		id, err := s.AddFault(f)
		return map[string]int64{"id": id}, err
	})
	route("DELETE /sim/api/faults", none(func(*http.Request) error {
		s.ClearFaults()
		return nil
	}))
	route("DELETE /sim/api/faults/{id}", none(func(r *http.Request) error {
		id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
		if err != nil {
			return errors.New("the id is not a number")
		}
		s.RemoveFault(id)
		return nil
	}))
	route("PUT /sim/api/quota", none(func(r *http.Request) error {
		var b struct{ Limit, Used *int }
		if err := readJSON(r, &b); err != nil {
			return err
		}
		if b.Limit != nil {
			s.SetQuota(*b.Limit)
		}
		if b.Used != nil {
			s.SetUsed(*b.Used)
		}
		return nil
	}))
	route("PUT /sim/api/tokens/{token}", none(func(r *http.Request) error {
		var b struct{ Expires time.Time }
		if err := readJSON(r, &b); err != nil {
			return err
		}
		s.IssueToken(r.PathValue("token"), b.Expires)
		return nil
	}))
	route("DELETE /sim/api/tokens/{token}", none(func(r *http.Request) error {
		s.RevokeToken(r.PathValue("token"))
		return nil
	}))
	now := func() any { return map[string]time.Time{"now": s.clock.Now().UTC()} }
	route("GET /sim/api/clock", func(*http.Request) (any, error) { return now(), nil })
	route("POST /sim/api/clock", func(r *http.Request) (any, error) {
		var b struct {
			Advance string
			Set     *time.Time
		}
		if err := readJSON(r, &b); err != nil {
			return nil, err
		}
		if err := s.moveClock(b.Advance, b.Set); err != nil {
			return nil, err
		}
		return now(), nil
	})
	route("POST /sim/api/idtokens", func(r *http.Request) (any, error) {
		var b struct{ User string }
		if err := readJSON(r, &b); err != nil {
			return nil, err
		}
		return map[string]string{"idToken": s.IDToken(b.User, nil)}, nil
	})
	route("POST /sim/api/open", func(r *http.Request) (any, error) {
		var b struct{ User, URI string }
		if err := readJSON(r, &b); err != nil {
			return nil, err
		}
		u, ok := s.OpenLIFF(b.URI, b.User)
		if !ok {
			return nil, errNobody
		}
		return map[string]string{"url": u}, nil
	})
	route("POST /sim/api/clear", none(func(*http.Request) error {
		s.Clear()
		return nil
	}))
	route("POST /sim/api/reset", none(func(*http.Request) error { return s.Reset() }))
}

// errCannot is about something this simulator was not given.
var errCannot = errors.New("this simulator's clock cannot be moved")

func readJSON(r *http.Request, into any) error {
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields() // a misspelt field would be a fault that never happens
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("the body cannot be read: %w", err)
	}
	return nil
}

// moveClock moves the shared clock by a duration or to an instant.
func (s *Simulator) moveClock(advance string, set *time.Time) error {
	if s.opts.TimeTravel == nil {
		return errCannot
	}
	if set != nil {
		return s.opts.TimeTravel.Set(*set)
	}
	d, err := time.ParseDuration(advance)
	if err != nil {
		return errors.New("advance is not a duration like 15m or -2h")
	}
	return s.opts.TimeTravel.Advance(d)
}

// overview is the answer of GET /sim/api/state.
func (s *Simulator) overview() any {
	limit, used := s.Quota()
	l, ch := s.Login(), s.Channel()
	s.mu.Lock()
	hook, redelivery := s.st.WebhookURL, s.st.Redelivery
	s.mu.Unlock()
	return map[string]any{
		"now":     s.clock.Now().UTC(),
		"channel": map[string]string{"id": ch.ID, "botUserId": ch.BotUserID, "basicId": ch.BasicID, "displayName": ch.DisplayName},
		"login":   map[string]string{"channelId": l.ChannelID, "liffId": l.LIFFID, "endpointUrl": l.EndpointURL},
		"webhook": map[string]any{"url": hook, "redelivery": redelivery},
		"quota":   map[string]int{"limit": limit, "used": used},
		"users":   s.Users(), "groups": s.Groups(), "faults": s.Faults(),
	}
}
