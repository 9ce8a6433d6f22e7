package line

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"unicode"
)

// Class says what is known about a request that did not succeed.
type Class string

const (
	// Refused: LINE answered 3xx or 4xx; the request did nothing and the same request would be refused again.
	Refused Class = "refused"
	// ChannelFault: LINE answered 401, 403 or 429. Refused as well, but for a reason that meets every request of
	// this channel, not this one only.
	ChannelFault Class = "channel fault"
	// Unknown: 5xx, a timeout or a lost connection. LINE may or may not have done it.
	Unknown Class = "unknown"
)

// Codes of requests without an answer; with one the code is HTTP_<status>.
const (
	CodeTimeout = "TIMEOUT"
	CodeNetwork = "NETWORK"
)

// The words by which LINE tells its two kinds of 429 apart; nothing else in the answer does.
// Source: https://developers.line.biz/en/docs/messaging-api/handling-http-429-errors/ , read in October 2026.
const (
	monthlyLimitMessage = "You have reached your monthly limit."
	maxMessageLength    = 200 // runes of LINE's words that are kept
)

// Error is a request that did not succeed. Its text holds no token, no LINE id and nothing that was sent.
type Error struct {
	Call              string // what was attempted, "push" for instance
	Status            int    // 0 if no answer came
	RequestID         string // x-line-request-id of this try, if an answer came
	AcceptedRequestID string // x-line-accepted-request-id, where LINE sent one
	Message           string // LINE's words, at most 200 runes, LINE ids blotted out
	Class             Class
	Code              string // HTTP_<status>, CodeTimeout or CodeNetwork
	MonthlyLimit      bool   // 429 because the month's messages are used up; false for every other 429

	cause error
}

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "line %s: %s", e.Call, e.Code)
	if e.Message != "" {
		fmt.Fprintf(&b, ": %s", e.Message)
	}
	if e.RequestID != "" {
		fmt.Fprintf(&b, " (request %s)", e.RequestID)
	}
	return b.String()
}

// Unwrap returns the cause of a lost connection, for errors.Is(err, context.Canceled) and the like. Its text may hold
// a URL with LINE ids: compare it, do not print it.
func (e *Error) Unwrap() error { return e.cause }

// NotFound reports whether LINE answered 404: an unknown group or user, or one that has nothing to do with the bot.
func (e *Error) NotFound() bool { return e.Status == http.StatusNotFound }

// refusal is the *Error for an answer that is not a success.
func refusal(call string, a *answer) *Error {
	e := &Error{
		Call: call, Status: a.status, RequestID: a.requestID,
		AcceptedRequestID: a.header.Get("X-Line-Accepted-Request-Id"),
		Message:           words(a.body), Class: Refused, Code: httpCode(a.status),
	}
	switch {
	case a.status == http.StatusUnauthorized, a.status == http.StatusForbidden:
		e.Class = ChannelFault
	case a.status == http.StatusTooManyRequests:
		e.Class = ChannelFault
		e.MonthlyLimit = e.Message == monthlyLimitMessage
	case a.status < 300 || a.status > 499:
		e.Class = Unknown
	}
	return e
}

// lost is the *Error for a request on which no status arrived.
func lost(call string, cause error) *Error {
	e := &Error{Call: call, Class: Unknown, Code: CodeNetwork, cause: cause}
	var nerr net.Error
	switch {
	case errors.Is(cause, context.DeadlineExceeded), errors.Is(cause, os.ErrDeadlineExceeded), errors.As(cause, &nerr) && nerr.Timeout():
		e.Code, e.Message = CodeTimeout, "no answer in time"
	case errors.Is(cause, context.Canceled):
		e.Message = "given up by the caller"
	default:
		// *url.Error prefixes the URL, and a URL may hold a LINE id.
		var uerr *url.Error
		if errors.As(cause, &uerr) {
			cause = uerr.Err
		}
		e.Message = clean(cause.Error())
	}
	return e
}

func httpCode(status int) string { return fmt.Sprintf("HTTP_%d", status) }

// words takes LINE's sentence out of an error body. Answers of LINE's edge can be HTML: then there is none.
func words(body []byte) string {
	var b struct {
		Message          string `json:"message"`
		ErrorDescription string `json:"error_description"` // LINE Login's name for it
		Details          []struct {
			Message  string `json:"message"`
			Property string `json:"property"`
		} `json:"details"`
	}
	if json.Unmarshal(body, &b) != nil {
		return ""
	}
	s := b.Message
	if s == "" {
		s = b.ErrorDescription
	}
	for i, d := range b.Details {
		if i == 0 {
			s += ": "
		} else {
			s += "; "
		}
		s += d.Property + ": " + d.Message
	}
	return clean(s)
}

var lineID = regexp.MustCompile(`[UCR][0-9a-f]{32}`)

// clean makes foreign text fit to be stored and logged: no LINE ids, no control characters, capped.
func clean(s string) string {
	s = lineID.ReplaceAllString(s, "…")
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "�"))
	if r := []rune(s); len(r) > maxMessageLength {
		s = string(r[:maxMessageLength])
	}
	return s
}
