package handlers

import (
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/labstack/echo/v4"

	"shiftpost/jobs/line"
)

// webhookPath is where LINE tells what happened: whom the account was invited by, who blocked it.
const webhookPath = "/webhook/line"

// maxWebhookBody is the largest webhook call that is read, in bytes. LINE names no limit; a call carries at most some
// dozens of events of well under a kilobyte.
const maxWebhookBody = 1 << 20

// fromLINE reports whether a request comes from LINE and not from a browser: it is known by its signature alone, which
// is over the bytes as they came.
func fromLINE(path string) bool { return path == webhookPath }

// receiveWebhook stores what LINE tells and answers at once; LINE waits two seconds. The signature decides, whatever
// the other headers say.
// Source: https://developers.line.biz/en/docs/messaging-api/receiving-messages/ , read in October 2026.
func (s *Site) receiveWebhook(c echo.Context) error {
	r := c.Request()
	body, err := io.ReadAll(http.MaxBytesReader(c.Response().Writer, r.Body, maxWebhookBody))
	if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
		return refuseWebhook(c, http.StatusRequestEntityTooLarge, err)
	}
	if err != nil {
		return refuseWebhook(c, http.StatusBadRequest, fmt.Errorf("read webhook: %w", err))
	}
	events, unread, err := line.ReadEvents(s.webhookSecret, r.Header.Get("X-Line-Signature"), body)
	if err != nil {
		return refuseWebhook(c, http.StatusBadRequest, err)
	}
	for _, why := range unread {
		// Not refused: LINE would only send the same again.
		s.log.WarnContext(r.Context(), "a webhook event cannot be read", "error", why)
	}
	queued, err := s.store.ReceiveEvents(r.Context(), events)
	if err != nil {
		// Not 200: if the channel has redelivery on, LINE tells it again.
		return refuseWebhook(c, http.StatusInternalServerError, err)
	}
	if queued > 0 {
		s.wake()
	}
	return c.NoContent(http.StatusOK)
}

// refuseWebhook answers a call that was not stored. Nobody reads a page.
func refuseWebhook(c echo.Context, status int, why error) error {
	c.Set(loggedError, why)
	return c.NoContent(status)
}
