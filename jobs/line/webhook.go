package line

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/line/line-bot-sdk-go/v8/linebot/webhook"
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
