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

// ReadEvents is ParseWebhook for what the product needs of each event, in the order of the call. An event of a type that
// this version does not know is read as far as all events are alike. The errors are those of ParseWebhook.
// Source: https://developers.line.biz/en/reference/messaging-api/#webhook-event-objects , read in October 2026.
func ReadEvents(secret, signature string, body []byte) ([]roster.LINEEvent, error) {
	if _, err := ParseWebhook(secret, signature, body); err != nil {
		return nil, err
	}
	// What all events have in common is read once more: the SDK's types have no common way to it, and forget the bytes.
	var call struct {
		Events []json.RawMessage `json:"events"`
	}
	if err := json.Unmarshal(body, &call); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrWebhookBody, err)
	}
	events := make([]roster.LINEEvent, 0, len(call.Events))
	for _, raw := range call.Events {
		e, err := readEvent(raw)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrWebhookBody, err)
		}
		events = append(events, e)
	}
	return events, nil
}

func readEvent(raw json.RawMessage) (roster.LINEEvent, error) {
	var o struct {
		ID         string `json:"webhookEventId"`
		Type       string `json:"type"`
		Mode       string `json:"mode"`
		Timestamp  int64  `json:"timestamp"` // milliseconds since 1970
		ReplyToken string `json:"replyToken"`
		Source     struct {
			Type    string `json:"type"`
			GroupID string `json:"groupId"`
			UserID  string `json:"userId"`
		} `json:"source"`
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
		// Without a name of its own an event can still be known again by its bytes.
		sum := sha256.Sum256(raw)
		e.ID = "sha256:" + hex.EncodeToString(sum[:])
	}
	return e, nil
}
