package line

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/line/line-bot-sdk-go/v8/linebot/webhook"

	"shiftpost/db/roster"
)

// Why a webhook call is not processed; compare with errors.Is.
var (
	// ErrSignature: the body was not signed with the channel's secret. Answer 4xx and do nothing.
	ErrSignature = errors.New("webhook signature does not match")
	// ErrWebhookBody: signed by LINE, but not readable.
	ErrWebhookBody = errors.New("webhook body is not readable")
)

// ParseWebhook checks the signature (header x-line-signature) of a webhook's raw body in constant time and only then
// reads it. Events of types this version does not know come as webhook.UnknownEvent.
// Source: https://developers.line.biz/en/docs/messaging-api/verify-webhook-signature/ , read in October 2026.
func ParseWebhook(secret, signature string, body []byte) (*webhook.CallbackRequest, error) {
	// An empty secret would let anyone sign: it means the setting is missing.
	if secret == "" || !webhook.ValidateSignature(secret, signature, body) {
		return nil, ErrSignature
	}
	var cb webhook.CallbackRequest
	if err := json.Unmarshal(body, &cb); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrWebhookBody, err)
	}
	return &cb, nil
}

var groupID = regexp.MustCompile(`^C[0-9a-f]{32}$`)

// UnreadableEvent is the kind of an event whose common part could not be read, its time included: it has happened in
// 1970. Nothing is done about it.
const UnreadableEvent roster.LINEEventKind = "unreadable"

// ReadEvents is ParseWebhook for what the product needs of each event, in the order of the call. It reads only what all
// events have in common, so that neither an event of a type that this version does not know nor one that is broken
// keeps those beside it from being read. A broken one is returned as an UnreadableEvent, and unread says why, without
// repeating what it holds. The errors are those of ParseWebhook.
// Source: https://developers.line.biz/en/reference/messaging-api/#webhook-event-objects , read in October 2026.
func ReadEvents(secret, signature string, body []byte) (events []roster.LINEEvent, unread []error, err error) {
	if secret == "" || !webhook.ValidateSignature(secret, signature, body) {
		return nil, nil, ErrSignature
	}
	var call struct {
		Events []json.RawMessage `json:"events"`
	}
	if err := json.Unmarshal(body, &call); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrWebhookBody, err)
	}
	events = make([]roster.LINEEvent, 0, len(call.Events))
	for i, raw := range call.Events {
		e, err := readEvent(raw)
		if err != nil {
			unread = append(unread, fmt.Errorf("event %d of %d: %w", i+1, len(call.Events), err))
			e = roster.LINEEvent{ID: bytesID(raw), Kind: UnreadableEvent, HappenedAt: time.UnixMilli(0).UTC(), Standby: true, Body: raw}
		}
		events = append(events, e)
	}
	return events, unread, nil
}

// eventSource is where an event comes from.
type eventSource struct {
	Type    string `json:"type"`
	GroupID string `json:"groupId"`
	UserID  string `json:"userId"`
}

func readEvent(raw json.RawMessage) (roster.LINEEvent, error) {
	var o struct {
		ID         string      `json:"webhookEventId"`
		Type       string      `json:"type"`
		Mode       string      `json:"mode"`
		Timestamp  int64       `json:"timestamp"` // milliseconds since 1970
		ReplyToken string      `json:"replyToken"`
		Source     eventSource `json:"source"`
	}
	if err := json.Unmarshal(raw, &o); err != nil {
		return roster.LINEEvent{}, err
	}
	e := roster.LINEEvent{
		ID: o.ID, Kind: roster.LINEEventKind(o.Type), HappenedAt: time.UnixMilli(o.Timestamp).UTC(),
		ReplyToken: o.ReplyToken, Standby: o.Mode != "active", Body: raw,
	}
	if o.Source.Type == "group" && groupID.MatchString(o.Source.GroupID) {
		e.GroupID = o.Source.GroupID
	}
	if userID.MatchString(o.Source.UserID) {
		e.UserID = o.Source.UserID
	}
	if e.ID == "" {
		e.ID = bytesID(raw)
	}
	return e, nil
}

// bytesID names an event without a name of its own, so that it is known again by its bytes.
func bytesID(raw []byte) string {
	sum := sha256.Sum256(raw)
	return "sha256:" + hex.EncodeToString(sum[:])
}
