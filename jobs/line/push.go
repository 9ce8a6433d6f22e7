package line

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"
)

// Answer is what LINE said to a push, as far as it is known.
type Answer struct {
	Status            int       // 0 if no answer came
	RequestID         string    // of this try
	AcceptedRequestID string    // of the earlier try that LINE accepted, if this one was answered 409
	SentMessageIDs    []string  // LINE's ids of the messages; empty if the answer had no readable body
	Date              time.Time // LINE's clock by the answer's Date header, to the second; zero if there was none
}

// errNoRetryKey guards the one mistake that cannot be mended afterwards: a try without a key cannot be repeated safely.
var errNoRetryKey = errors.New("line push: no retry key")

// Push sends body, the JSON of a push request, byte for byte with that X-Line-Retry-Key (a UUID).
//
// A nil error means LINE has accepted the message, by this try (2xx, even if the rest of the answer is broken) or by
// an earlier one with the same key (409 with an accepted request id). Otherwise the error is an *Error, and its Class
// says whether LINE may have accepted it. Answer is filled as far as known in both cases.
// Source: https://developers.line.biz/en/docs/messaging-api/retrying-api-request/ , read in October 2026.
func (c *Client) Push(ctx context.Context, body []byte, retryKey string) (Answer, error) {
	if retryKey == "" {
		return Answer{}, errNoRetryKey
	}
	h := c.authorized()
	h.Set("Content-Type", "application/json")
	h.Set("X-Line-Retry-Key", retryKey)
	a, err := c.do(ctx, "push", http.MethodPost, "/v2/bot/message/push", h, body)
	if err != nil {
		return Answer{}, err
	}
	ans := Answer{
		Status: a.status, RequestID: a.requestID, AcceptedRequestID: a.header.Get("X-Line-Accepted-Request-Id"),
		Date: dateOf(a.header),
	}
	if a.status/100 != 2 && (a.status != http.StatusConflict || ans.AcceptedRequestID == "") {
		return ans, refusal("push", a)
	}
	var sent struct {
		SentMessages []struct {
			ID string `json:"id"`
		} `json:"sentMessages"`
	}
	if json.Unmarshal(a.body, &sent) == nil {
		for _, m := range sent.SentMessages {
			ans.SentMessageIDs = append(ans.SentMessageIDs, m.ID)
		}
	}
	return ans, nil
}

func dateOf(h http.Header) time.Time {
	t, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		return time.Time{}
	}
	return t
}
