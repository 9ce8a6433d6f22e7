package linesim

import (
	"encoding/json"
	"errors"
	"slices"
	"time"
)

// Why something people were to do cannot be done.
var (
	errNobody = errors.New("no such user or group, or the user is not in it")
	errText   = errors.New("a text has 1 to 5,000 characters")
)

// AddUser opens a LINE account for somebody. An empty ID is filled in. If a user with that ID exists it is left as it
// is and returned. No webhook is sent: what exists before the story begins is not news.
func (s *Simulator) AddUser(u User) User {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u.ID == "" {
		u.ID = "U" + randomHex(16)
	}
	if old := s.user(u.ID); old != nil {
		return *old
	}
	s.st.Users = append(s.st.Users, &u)
	s.changed()
	return u
}

// AddGroup opens a LINE group. An empty ID is filled in. If a group with that ID exists it is left as it is and
// returned. No webhook is sent.
func (s *Simulator) AddGroup(g Group) Group {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g.ID == "" {
		g.ID = "C" + randomHex(16)
	}
	if old := s.group(g.ID); old != nil {
		return old.copy()
	}
	g = g.copy()
	s.st.Groups = append(s.st.Groups, &g)
	s.changed()
	return g.copy()
}

func (g *Group) copy() Group {
	c := *g
	c.Members = slices.Clone(g.Members)
	return c
}

// Users returns everybody, in the order they came.
func (s *Simulator) Users() []User {
	s.mu.Lock()
	defer s.mu.Unlock()
	us := make([]User, len(s.st.Users))
	for i, u := range s.st.Users {
		us[i] = *u
	}
	return us
}

// Groups returns all groups, in the order they came.
func (s *Simulator) Groups() []Group {
	s.mu.Lock()
	defer s.mu.Unlock()
	gs := make([]Group, len(s.st.Groups))
	for i, g := range s.st.Groups {
		gs[i] = g.copy()
	}
	return gs
}

// withUser runs change on a user and sends the events it returns.
func (s *Simulator) withUser(id string, change func(*User) []event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.user(id)
	if u == nil {
		return errNobody
	}
	s.emit(change(u)...)
	s.changed()
	return nil
}

// withGroup runs change on a group and sends the events it returns.
func (s *Simulator) withGroup(id string, change func(*Group) ([]event, error)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.group(id)
	if g == nil {
		return errNobody
	}
	es, err := change(g)
	if err != nil {
		return err
	}
	s.emit(es...)
	s.changed()
	return nil
}

// Follow lets a user add the bot as a friend, or unblock it: a follow event either way.
func (s *Simulator) Follow(userID string) error {
	return s.withUser(userID, func(u *User) []event {
		if u.Friend && !u.Blocked {
			return nil
		}
		e := event{kind: "follow", user: u.ID, replyable: true, extra: map[string]any{"follow": map[string]any{"isUnblocked": u.Blocked}}}
		u.Friend, u.Blocked = true, false
		return []event{e}
	})
}

// Block lets a user block the bot: an unfollow event; messages to them are accepted and never arrive.
func (s *Simulator) Block(userID string) error {
	return s.withUser(userID, func(u *User) []event {
		if u.Blocked || !u.Friend {
			return nil
		}
		u.Blocked = true
		return []event{{kind: "unfollow", user: u.ID}}
	})
}

// DeleteUser lets a user close their LINE account. LINE tells the bot nothing.
func (s *Simulator) DeleteUser(userID string) error {
	return s.withUser(userID, func(u *User) []event {
		u.Deleted = true
		for _, g := range s.st.Groups {
			g.Members = slices.DeleteFunc(g.Members, func(m string) bool { return m == u.ID })
		}
		return nil
	})
}

// Join lets a user enter a group: memberJoined, if the bot is there to see it.
func (s *Simulator) Join(groupID, userID string) error {
	return s.withGroup(groupID, func(g *Group) ([]event, error) {
		if s.user(userID) == nil {
			return nil, errNobody
		}
		if slices.Contains(g.Members, userID) {
			return nil, nil
		}
		g.Members = append(g.Members, userID)
		return g.seen(event{kind: "memberJoined", group: g.ID, replyable: true, extra: members("joined", userID)}), nil
	})
}

// Leave lets a user go from a group: memberLeft, if the bot is there to see it.
func (s *Simulator) Leave(groupID, userID string) error {
	return s.withGroup(groupID, func(g *Group) ([]event, error) {
		i := slices.Index(g.Members, userID)
		if i < 0 {
			return nil, nil
		}
		g.Members = slices.Delete(g.Members, i, i+1)
		return g.seen(event{kind: "memberLeft", group: g.ID, extra: members("left", userID)}), nil
	})
}

func members(field, userID string) map[string]any {
	return map[string]any{field: map[string]any{"members": []map[string]any{{"type": "user", "userId": userID}}}}
}

func (g *Group) seen(e event) []event {
	if !g.BotIn {
		return nil
	}
	return []event{e}
}

// InviteBot brings the bot into a group: a join event, from which the product learns the group's id.
func (s *Simulator) InviteBot(groupID string) error {
	return s.withGroup(groupID, func(g *Group) ([]event, error) {
		if g.BotIn {
			return nil, nil
		}
		g.BotIn = true
		return []event{{kind: "join", group: g.ID, replyable: true}}, nil
	})
}

// RemoveBot takes the bot out of a group: a leave event; pushes to the group are refused from now on.
func (s *Simulator) RemoveBot(groupID string) error {
	return s.withGroup(groupID, func(g *Group) ([]event, error) {
		if !g.BotIn {
			return nil, nil
		}
		g.BotIn = false
		return []event{{kind: "leave", group: g.ID}}, nil
	})
}

// Say lets a user write a text, into a group or, if chat is their own id, to the bot.
func (s *Simulator) Say(chat, userID, text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.user(userID)
	if u == nil {
		return errNobody
	}
	e := event{kind: "message", user: userID, replyable: true}
	if chat != userID {
		g := s.group(chat)
		if g == nil || !slices.Contains(g.Members, userID) {
			return errNobody
		}
		e.group = g.ID
	}
	if text == "" || utf16Len(text) > maxText {
		return errText
	}
	id, quote := s.nextID(), randomHex(16)
	object, err := json.Marshal(map[string]any{"type": "text", "text": text})
	if err != nil {
		return err
	}
	s.st.Messages = append(s.st.Messages, &Message{ID: id, Chat: chat, From: userID, At: s.clock.Now().UTC(), Object: object})
	e.extra = map[string]any{"message": map[string]any{"id": id, "type": "text", "text": text, "quoteToken": quote}}
	heard := u.reachable()
	if e.group != "" {
		heard = s.group(e.group).BotIn
	}
	if heard {
		s.emit(e)
	}
	s.changed()
	return nil
}

// Postback lets a user tap a button with a postback action.
func (s *Simulator) Postback(chat, userID, data string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.user(userID) == nil {
		return errNobody
	}
	e := event{kind: "postback", user: userID, replyable: true, extra: map[string]any{"postback": map[string]any{"data": data}}}
	if chat != userID {
		e.group = chat
	}
	s.emit(e)
	s.changed()
	return nil
}

// Messages returns what is to be seen in a chat, oldest first. A chat is a group's id, or a user's for their 1:1 chat
// with the bot.
func (s *Simulator) Messages(chat string) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ms []Message
	for _, m := range s.st.Messages {
		if m.Chat == chat {
			ms = append(ms, *m)
		}
	}
	return ms
}

// Accepted returns the pushes LINE accepted, oldest first.
func (s *Simulator) Accepted() []Acceptance {
	s.mu.Lock()
	defer s.mu.Unlock()
	as := make([]Acceptance, len(s.st.Accepted))
	for i, a := range s.st.Accepted {
		as[i] = *a
	}
	return as
}

// Requests returns the log of calls, oldest first; the newest 1,000 are kept.
func (s *Simulator) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	rs := make([]Request, len(s.st.Requests))
	for i, r := range s.st.Requests {
		rs[i] = *r
	}
	return rs
}

// Pushes returns the pushes of the log, oldest first.
func (s *Simulator) Pushes() []Request {
	return slices.DeleteFunc(s.Requests(), func(r Request) bool { return r.Endpoint != "push" })
}

// Quota returns the messages allowed in a month (negative: no limit) and those used in the present month of Japan.
func (s *Simulator) Quota() (limit, used int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.st.Quota, s.st.Used[s.month()]
}

// SetQuota sets the messages allowed in a month; negative means no limit.
func (s *Simulator) SetQuota(limit int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.st.Quota = limit
	s.changed()
}

// SetUsed sets the messages used in the present month, as if somebody had sent them in LINE Official Account Manager.
func (s *Simulator) SetUsed(used int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.st.Used[s.month()] = used
	s.changed()
}

// IssueToken adds a channel access token that is good until expires; the zero time means for ever.
func (s *Simulator) IssueToken(token string, expires time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.st.ChannelTokens[token] = credential{Expires: expires.UTC()}
	s.changed()
}

// RevokeToken makes a channel access token invalid from now on.
func (s *Simulator) RevokeToken(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.st.ChannelTokens, token)
	s.changed()
}
