package linesim

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// push checks in this order [sim]: token, size (both before it is called), content type, form of the retry key, JSON,
// to, messages, key accepted before, target known, rate, quota.
func (s *Simulator) push(c *call) reply {
	if rep, ok := wantJSON(c); !ok {
		return rep
	}
	if c.retryKey != "" && !uuidForm.MatchString(c.retryKey) {
		return refuse(http.StatusBadRequest, msgRetryKey)
	}
	var b struct {
		To       json.RawMessage   `json:"to"`
		Messages []json.RawMessage `json:"messages"`
	}
	if rep, ok := parse(c.body, &b); !ok {
		return rep
	}
	var to string
	if json.Unmarshal(b.To, &to) != nil || !anyIDForm.MatchString(to) {
		return refuse(http.StatusBadRequest, msgTo)
	}
	if rep, ok := checkMessages(b.Messages); !ok {
		return rep
	}
	key := s.st.Keys[c.retryKey] // there is one for every proper key, see record
	if key != nil && key.AcceptedRequestID != "" {
		rep := jsonReply(http.StatusConflict, struct {
			Message      string        `json:"message"`
			SentMessages []sentMessage `json:"sentMessages"`
		}{msgAccepted, key.Sent})
		rep.header.Set("X-Line-Accepted-Request-Id", key.AcceptedRequestID)
		return rep
	}

	recipients, members := 0, 1
	if u := s.user(to); u != nil {
		if u.reachable() {
			recipients = 1
		}
	} else if g := s.group(to); g != nil && g.BotIn {
		recipients, members = len(g.Members), len(g.Members)
	} else {
		return refuse(http.StatusBadRequest, msgFailed)
	}
	if s.pushes.add(c.now) > s.opts.Rate {
		return refuse(http.StatusTooManyRequests, msgRate)
	}
	month := s.month()
	if s.st.Quota >= 0 && s.st.Used[month]+recipients > s.st.Quota {
		return refuse(http.StatusTooManyRequests, msgMonthly)
	}

	s.st.Used[month] += recipients
	sent := s.deliver(to, "", b.Messages, c, recipients > 0)
	if key != nil {
		key.AcceptedRequestID, key.Sent = c.requestID, sent
	}
	ids := make([]string, len(sent))
	for i, m := range sent {
		ids[i] = m.ID
	}
	s.st.Accepted = append(s.st.Accepted, &Acceptance{
		At: c.now.UTC(), RequestID: c.requestID, RetryKey: c.retryKey, To: to,
		Recipients: recipients, Members: members, MessageIDs: ids, Body: slices.Clone(c.body),
	})
	rep := sentReply(sent)
	rep.accepted, rep.recipients = true, recipients
	return rep
}

func sentReply(sent []sentMessage) reply {
	return jsonReply(http.StatusOK, struct {
		SentMessages []sentMessage `json:"sentMessages"`
	}{sent})
}

// deliver gives messages their ids and puts them into the chat if anybody gets to see them.
func (s *Simulator) deliver(chat, from string, objects []json.RawMessage, c *call, visible bool) []sentMessage {
	sent := make([]sentMessage, len(objects))
	for i, o := range objects {
		sent[i] = sentMessage{ID: s.nextID(), QuoteToken: randomHex(16)}
		if visible {
			s.st.Messages = append(s.st.Messages, &Message{
				ID: sent[i].ID, Chat: chat, From: from, At: c.now.UTC(), Object: slices.Clone(o), RequestID: c.requestID,
			})
		}
	}
	return sent
}

// replyChat is the chat a reply goes to.
func (s *Simulator) replyChat(c *call) string {
	var b struct {
		ReplyToken string `json:"replyToken"`
	}
	if json.Unmarshal(c.body, &b) != nil {
		return ""
	}
	return s.st.ReplyTokens[b.ReplyToken].Chat
}

func (s *Simulator) reply(c *call) reply {
	if rep, ok := wantJSON(c); !ok {
		return rep
	}
	var b struct {
		ReplyToken string            `json:"replyToken"`
		Messages   []json.RawMessage `json:"messages"`
	}
	if rep, ok := parse(c.body, &b); !ok {
		return rep
	}
	if rep, ok := checkMessages(b.Messages); !ok {
		return rep
	}
	t, known := s.st.ReplyTokens[b.ReplyToken]
	delete(s.st.ReplyTokens, b.ReplyToken)
	if !known || !t.live(c.now) {
		return refuse(http.StatusBadRequest, msgReply)
	}
	rep := sentReply(s.deliver(t.Chat, "", b.Messages, c, true)) // free: no quota
	rep.accepted, rep.recipients = true, 1
	if g := s.group(t.Chat); g != nil {
		rep.recipients = len(g.Members)
	}
	return rep
}

func (s *Simulator) validate(c *call) reply {
	if rep, ok := wantJSON(c); !ok {
		return rep
	}
	var b struct {
		Messages []json.RawMessage `json:"messages"`
	}
	if rep, ok := parse(c.body, &b); !ok {
		return rep
	}
	if rep, ok := checkMessages(b.Messages); !ok {
		return rep
	}
	return jsonReply(http.StatusOK, struct{}{})
}

func (s *Simulator) quota(*call) reply {
	if s.st.Quota < 0 {
		return jsonReply(http.StatusOK, map[string]any{"type": "none"})
	}
	return jsonReply(http.StatusOK, map[string]any{"type": "limited", "value": s.st.Quota})
}

func (s *Simulator) consumption(*call) reply {
	return jsonReply(http.StatusOK, map[string]any{"totalUsage": s.st.Used[s.month()]})
}

func (s *Simulator) botInfo(*call) reply {
	ch := s.opts.Channel
	return jsonReply(http.StatusOK, map[string]any{
		"userId": ch.BotUserID, "basicId": ch.BasicID, "displayName": ch.DisplayName, "chatMode": "bot", "markAsReadMode": "auto",
	})
}

// pathGroup is the group a path names, or the answer that LINE gives when there is none.
func (s *Simulator) pathGroup(c *call) (*Group, reply) {
	id := c.r.PathValue("groupId")
	if !groupIDForm.MatchString(id) {
		return nil, refuse(http.StatusBadRequest, "The value for the 'groupId' parameter is invalid")
	}
	g := s.group(id)
	if g == nil || !g.BotIn {
		return nil, refuse(http.StatusNotFound, msgNotFound)
	}
	return g, reply{}
}

func (s *Simulator) groupSummary(c *call) reply {
	g, rep := s.pathGroup(c)
	if g == nil {
		return rep
	}
	return jsonReply(http.StatusOK, map[string]any{"groupId": g.ID, "groupName": g.Name})
}

func (s *Simulator) groupMemberCount(c *call) reply {
	g, rep := s.pathGroup(c)
	if g == nil {
		return rep
	}
	return jsonReply(http.StatusOK, map[string]any{"count": len(g.Members)})
}

func (s *Simulator) groupMember(c *call) reply {
	g, rep := s.pathGroup(c)
	if g == nil {
		return rep
	}
	id := c.r.PathValue("userId")
	if !userIDForm.MatchString(id) {
		return refuse(http.StatusBadRequest, "The value for the 'userId' parameter is invalid")
	}
	u := s.user(id)
	if u == nil || !slices.Contains(g.Members, id) {
		return refuse(http.StatusNotFound, msgNotFound)
	}
	return jsonReply(http.StatusOK, map[string]any{"displayName": u.Name, "userId": u.ID})
}

func (s *Simulator) groupLeave(c *call) reply {
	g, rep := s.pathGroup(c)
	if g == nil {
		return rep
	}
	g.BotIn = false
	return jsonReply(http.StatusOK, struct{}{})
}

func (s *Simulator) profile(c *call) reply {
	id := c.r.PathValue("userId")
	if !userIDForm.MatchString(id) {
		return refuse(http.StatusBadRequest, "The value for the 'userId' parameter is invalid")
	}
	u := s.user(id)
	if u == nil || !u.reachable() {
		return refuse(http.StatusNotFound, msgNotFound)
	}
	return jsonReply(http.StatusOK, map[string]any{"displayName": u.Name, "userId": u.ID, "language": "ja"})
}

func (s *Simulator) linkToken(c *call) reply {
	id := c.r.PathValue("userId")
	if !userIDForm.MatchString(id) {
		return refuse(http.StatusBadRequest, "The value for the 'userId' parameter is invalid")
	}
	if u := s.user(id); u == nil || !u.reachable() {
		return refuse(http.StatusNotFound, msgNotFound)
	}
	t := randomHex(20)
	s.st.LinkTokens[t] = credential{User: id, Expires: c.now.Add(linkLife).UTC()}
	return jsonReply(http.StatusOK, map[string]any{"linkToken": t})
}

// statelessToken issues a token that lives 15 minutes. Sections "Issue stateless channel access token" of the reference.
func (s *Simulator) statelessToken(c *call) reply {
	form, err := url.ParseQuery(string(c.body))
	ch := s.opts.Channel
	if err != nil || form.Get("grant_type") != "client_credentials" {
		return loginRefusal("Unsupported grant_type.") // [sim]
	}
	if form.Get("client_id") != ch.ID || form.Get("client_secret") != ch.Secret {
		return loginRefusal("Invalid 'client_credentials'.")
	}
	const life = 15 * time.Minute
	t := "ey" + randomHex(32)
	for old, cr := range s.st.ChannelTokens {
		if !cr.live(c.now) {
			delete(s.st.ChannelTokens, old)
		}
	}
	s.st.ChannelTokens[t] = credential{Expires: c.now.Add(life).UTC()}
	return jsonReply(http.StatusOK, map[string]any{"token_type": "Bearer", "access_token": t, "expires_in": int(life.Seconds())})
}

// loginRefusal is an error in the form of LINE Login.
func loginRefusal(description string) reply {
	return jsonReply(http.StatusBadRequest, map[string]any{"error": "invalid_request", "error_description": description})
}

// propertyName spells a place in a list of messages as LINE does: messages[0].text.
func propertyName(i int, field string) string {
	if field == "" {
		return fmt.Sprintf("messages[%d]", i)
	}
	return fmt.Sprintf("messages[%d].%s", i, field)
}
