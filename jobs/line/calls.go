package line

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"shiftpost/db/roster"
)

// BotInfo describes the channel's LINE Official Account.
type BotInfo struct {
	UserID         string `json:"userId"`
	BasicID        string `json:"basicId"` // with the leading @
	DisplayName    string `json:"displayName"`
	PictureURL     string `json:"pictureUrl"`
	ChatMode       string `json:"chatMode"`       // "bot" or "chat"
	MarkAsReadMode string `json:"markAsReadMode"` // "auto" or "manual"

	AnsweredAt time.Time `json:"-"` // LINE's clock by the answer's Date header, to the second; zero if there was none
}

// BotInfo asks who the channel is; the cheapest question that needs a valid token.
func (c *Client) BotInfo(ctx context.Context) (BotInfo, error) {
	var b BotInfo
	a, err := c.get(ctx, "bot info", "/v2/bot/info", &b)
	if err != nil {
		return BotInfo{}, err
	}
	b.AnsweredAt = dateOf(a.header)
	return b, nil
}

// Quota is how many messages the channel may send in a calendar month (LINE's, in Japan's time).
type Quota struct {
	Limited bool
	Value   int // messages a month; meaningless unless Limited
}

// Quota asks for the month's limit.
func (c *Client) Quota(ctx context.Context) (Quota, error) {
	var q struct {
		Type  string `json:"type"`
		Value int    `json:"value"`
	}
	if _, err := c.get(ctx, "quota", "/v2/bot/message/quota", &q); err != nil {
		return Quota{}, err
	}
	return Quota{Limited: q.Type == "limited", Value: q.Value}, nil
}

// Consumption asks how many messages were sent this month. LINE calls its figure approximate; it counts recipients and
// includes what was sent by hand in LINE Official Account Manager.
func (c *Client) Consumption(ctx context.Context) (int, error) {
	var q struct {
		TotalUsage int `json:"totalUsage"`
	}
	if _, err := c.get(ctx, "consumption", "/v2/bot/message/quota/consumption", &q); err != nil {
		return 0, err
	}
	return q.TotalUsage, nil
}

// Group is a LINE group the bot is a member of.
type Group struct {
	ID         string `json:"groupId"`
	Name       string `json:"groupName"`
	PictureURL string `json:"pictureUrl"`
}

// GroupSummary asks for a group's name. An *Error with NotFound means that the bot is not in it.
func (c *Client) GroupSummary(ctx context.Context, groupID string) (Group, error) {
	var g Group
	_, err := c.get(ctx, "group summary", "/v2/bot/group/"+segment(groupID)+"/summary", &g)
	return g, err
}

// GroupMemberCount asks how many people are in a group, the bot itself not counted: what a push to it costs.
func (c *Client) GroupMemberCount(ctx context.Context, groupID string) (int, error) {
	var n struct {
		Count int `json:"count"`
	}
	_, err := c.get(ctx, "group member count", "/v2/bot/group/"+segment(groupID)+"/members/count", &n)
	return n.Count, err
}

// GroupFacts asks for a group's name and its member count. An *Error with NotFound means that the bot is not in it.
func (c *Client) GroupFacts(ctx context.Context, groupID string) (roster.LINEGroup, error) {
	summary, err := c.GroupSummary(ctx, groupID)
	if err != nil {
		return roster.LINEGroup{}, err
	}
	count, err := c.GroupMemberCount(ctx, groupID)
	return roster.LINEGroup{LINEGroupID: groupID, Name: summary.Name, MemberCount: count}, err
}

// Profile is how a LINE user presents themselves.
type Profile struct {
	UserID      string `json:"userId"`
	DisplayName string `json:"displayName"`
	PictureURL  string `json:"pictureUrl"`
	Language    string `json:"language"` // BCP 47; only from Profile, and not always
}

// GroupMember asks for the profile of one member of a group, friend or not. An *Error with NotFound means that the
// user is not in it.
func (c *Client) GroupMember(ctx context.Context, groupID, userID string) (Profile, error) {
	var p Profile
	_, err := c.get(ctx, "group member", "/v2/bot/group/"+segment(groupID)+"/member/"+segment(userID), &p)
	return p, err
}

// Profile asks for a friend's profile. An *Error with NotFound means that messages to this user would vanish: not a
// friend of the account, has blocked it, or unknown.
func (c *Client) Profile(ctx context.Context, userID string) (Profile, error) {
	var p Profile
	_, err := c.get(ctx, "profile", "/v2/bot/profile/"+segment(userID), &p)
	return p, err
}

// Reply answers a webhook event, free of charge. The token serves once and for about a minute; messages is the JSON
// array of one to five message objects. LINE takes no retry key here, so a reply of class Unknown must not be repeated.
func (c *Client) Reply(ctx context.Context, replyToken string, messages json.RawMessage) error {
	return c.post(ctx, "reply", "/v2/bot/message/reply", struct {
		ReplyToken string          `json:"replyToken"`
		Messages   json.RawMessage `json:"messages"`
	}{replyToken, messages}, nil)
}

// ValidatePush asks LINE whether the JSON array of messages could be pushed. Nothing is sent and no quota is used.
func (c *Client) ValidatePush(ctx context.Context, messages json.RawMessage) error {
	return c.post(ctx, "validate push", "/v2/bot/message/validate/push", struct {
		Messages json.RawMessage `json:"messages"`
	}{messages}, nil)
}

// NotFound reports whether err is LINE's answer that a group or a user has nothing to do with the bot.
func NotFound(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.NotFound()
}

// SetWebhook tells LINE where to send this channel's webhooks; endpoint must be an https URL of at most 500 characters.
func (c *Client) SetWebhook(ctx context.Context, endpoint string) error {
	b, err := json.Marshal(struct {
		Endpoint string `json:"endpoint"`
	}{endpoint})
	if err != nil {
		return err
	}
	h := c.authorized()
	h.Set("Content-Type", "application/json")
	a, err := c.do(ctx, "set webhook", "PUT", "/v2/bot/channel/webhook/endpoint", h, b)
	if err != nil {
		return err
	}
	return decode("set webhook", a, nil)
}

// Webhook is where LINE sends this channel's webhooks, and whether it does.
type Webhook struct {
	Endpoint string `json:"endpoint"`
	Active   bool   `json:"active"`
}

// Webhook asks for the channel's webhook settings. An *Error with NotFound means that none was ever set.
func (c *Client) Webhook(ctx context.Context) (Webhook, error) {
	var w Webhook
	_, err := c.get(ctx, "webhook", "/v2/bot/channel/webhook/endpoint", &w)
	return w, err
}

// WebhookTest is how our endpoint answered LINE's trial call.
type WebhookTest struct {
	Success    bool   `json:"success"`
	StatusCode int    `json:"statusCode"` // 0 if there was no answer
	Reason     string `json:"reason"`     // "OK", "COULD_NOT_CONNECT", "REQUEST_TIMEOUT", "ERROR_STATUS_CODE", …
	Detail     string `json:"detail"`
}

// TestWebhook lets LINE call our webhook endpoint with no events and tells how that went.
func (c *Client) TestWebhook(ctx context.Context) (WebhookTest, error) {
	var t WebhookTest
	err := c.post(ctx, "test webhook", "/v2/bot/channel/webhook/test", struct{}{}, &t)
	return t, err
}
