// Package line speaks to the LINE Messaging API, asks LINE about ID tokens and reads its webhooks.
//
// It is plain net/http where bytes matter: a push is sent exactly as it was stored, because LINE recognises a retry by
// its key and wants the same content under the same key. Every answer that is not a success comes back as an *Error
// that says whether LINE surely refused the request or whether it may have taken it.
//
// Facts about LINE come from https://developers.line.biz/en/reference/messaging-api/ and
// https://developers.line.biz/en/reference/line-login/ , read in October 2026.
package line

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/jonboulle/clockwork"
)

// DefaultBaseURL is where LINE answers.
const DefaultBaseURL = "https://api.line.me"

// DefaultTimeout bounds one request from connecting to the last byte of the answer. LINE documents no timeout of its own.
const DefaultTimeout = 10 * time.Second

// maxAnswer bounds how much of an answer is read, in bytes. LINE's own answers have a few hundred.
const maxAnswer = 1 << 20

// Options are what a Client needs to know.
type Options struct {
	BaseURL    string          // without a trailing slash; DefaultBaseURL if empty
	Token      string          // channel access token
	HTTPClient *http.Client    // its transport is used, its timeout and redirect policy are not; one of its own if nil
	Timeout    time.Duration   // of one request; DefaultTimeout if zero
	Clock      clockwork.Clock // judges the life of ID tokens; the real clock if nil
}

// Client speaks to one channel of LINE. It may be used by several goroutines at once.
type Client struct {
	baseURL string
	token   string
	http    *http.Client
	clock   clockwork.Clock
}

// NewClient returns a client. It sends nothing.
func NewClient(o Options) *Client {
	c := &Client{baseURL: strings.TrimRight(o.BaseURL, "/"), token: o.Token, clock: o.Clock}
	if c.baseURL == "" {
		c.baseURL = DefaultBaseURL
	}
	if c.clock == nil {
		c.clock = clockwork.NewRealClock()
	}
	c.http = &http.Client{
		Timeout: o.Timeout,
		// A redirect would carry the message to a place nobody chose, and turn the POST into a GET.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	if c.http.Timeout <= 0 {
		c.http.Timeout = DefaultTimeout
	}
	if o.HTTPClient != nil {
		c.http.Transport = o.HTTPClient.Transport
	} else {
		c.http.Transport = newTransport()
	}
	return c
}

// keptConnections is how many idle connections to LINE are kept: as many requests may be under way at a time without
// one of them having to connect anew.
const keptConnections = 64

// newTransport is the default one, but keeps more than two idle connections to a host.
func newTransport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = keptConnections
	return t
}

// answer is what came back over HTTP, whatever it means.
type answer struct {
	status    int
	header    http.Header
	body      []byte
	cut       error // why the body ended early; the status stands all the same
	requestID string
}

// do sends one request and reads the answer. The error is an *Error of class Unknown: no status line arrived.
func (c *Client) do(ctx context.Context, call, method, path string, header http.Header, body []byte) (*answer, error) {
	// From a *bytes.Reader net/http takes the length and sends the bytes as they are.
	req, err := http.NewRequestWithContext(ctx, method, c.baseURL+path, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("%s: base URL is not usable", call)
	}
	if header != nil {
		req.Header = header
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, lost(call, err)
	}
	defer res.Body.Close()
	a := &answer{status: res.StatusCode, header: res.Header, requestID: res.Header.Get("X-Line-Request-Id")}
	a.body, a.cut = io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	return a, nil
}

// authorized returns the headers every Messaging API request carries.
func (c *Client) authorized() http.Header {
	return http.Header{"Authorization": {"Bearer " + c.token}}
}

// get asks for path and decodes a 2xx answer into into.
func (c *Client) get(ctx context.Context, call, path string, into any) (*answer, error) {
	a, err := c.do(ctx, call, http.MethodGet, path, c.authorized(), nil)
	if err != nil {
		return nil, err
	}
	return a, decode(call, a, into)
}

// post sends a JSON value and decodes a 2xx answer into into, unless into is nil.
func (c *Client) post(ctx context.Context, call, path string, body, into any) error {
	b, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("%s: encode request: %w", call, err)
	}
	h := c.authorized()
	h.Set("Content-Type", "application/json")
	a, err := c.do(ctx, call, http.MethodPost, path, h, b)
	if err != nil {
		return err
	}
	return decode(call, a, into)
}

func decode(call string, a *answer, into any) error {
	if a.status/100 != 2 {
		return refusal(call, a)
	}
	if into == nil {
		return nil
	}
	if a.cut != nil {
		return lost(call, a.cut)
	}
	if err := json.Unmarshal(a.body, into); err != nil {
		return &Error{Call: call, Status: a.status, RequestID: a.requestID, Message: "the answer is not the expected JSON", Class: Unknown, Code: httpCode(a.status), cause: err}
	}
	return nil
}

// segment escapes an id for use as one element of a path.
func segment(id string) string { return url.PathEscape(id) }
