package line

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// Why an ID token gives no identity; compare with errors.Is.
var (
	// ErrTokenExpired: it was good once. The page must log out and in again to get a new one.
	ErrTokenExpired = errors.New("ID token expired")
	// ErrTokenInvalid: it is not a token of LINE's, or not about a LINE user.
	ErrTokenInvalid = errors.New("ID token invalid")
	// ErrTokenAudience: it is LINE's token for somebody else's login channel, or ours is configured wrongly.
	ErrTokenAudience = errors.New("ID token is for another channel")
	// ErrNotAsked: LINE could not be asked (429, 5xx, no answer, not LINE's answer). Nothing is known about the token.
	ErrNotAsked = errors.New("LINE could not be asked about the ID token")
)

// issuer is the iss of every ID token of LINE Login.
const issuer = "https://access.line.me"

// expirySkew is how far LINE's clock and ours may differ before a token that LINE calls good counts as expired.
const expirySkew = time.Minute

var userID = regexp.MustCompile(`^U[0-9a-f]{32}$`)

// Identity is whom an ID token is about.
type Identity struct {
	UserID    string    // of LINE, the same as in webhooks and pushes when both channels belong to one provider
	Name      string    // the user's display name at LINE; empty without the scope profile
	ExpiresAt time.Time // UTC
}

// VerifyIDToken lets LINE check an ID token made for the login channel clientID, and checks LINE's answer itself:
// issuer, audience, expiry, form of the user id. The error is one of the four above, by errors.Is; beside ErrNotAsked
// there may be an *Error in the chain.
// Source: https://developers.line.biz/en/reference/line-login/#verify-id-token , read in October 2026.
func (c *Client) VerifyIDToken(ctx context.Context, idToken, clientID string) (Identity, error) {
	form := url.Values{"id_token": {idToken}, "client_id": {clientID}}
	// The call is public: the channel access token has no business there.
	h := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
	a, err := c.do(ctx, "verify ID token", http.MethodPost, "/oauth2/v2.1/verify", h, []byte(form.Encode()))
	if err != nil {
		return Identity{}, fmt.Errorf("%w: %w", ErrNotAsked, err)
	}
	if a.status == http.StatusBadRequest {
		return Identity{}, tokenRefusal(a)
	}
	var claims struct {
		Issuer   string `json:"iss"`
		Subject  string `json:"sub"`
		Audience string `json:"aud"`
		Expires  int64  `json:"exp"` // unix seconds
		Name     string `json:"name"`
	}
	if err := decode("verify ID token", a, &claims); err != nil {
		return Identity{}, fmt.Errorf("%w: %w", ErrNotAsked, err)
	}
	id := Identity{UserID: claims.Subject, Name: claims.Name, ExpiresAt: time.Unix(claims.Expires, 0).UTC()}
	switch {
	case claims.Issuer != issuer:
		return Identity{}, fmt.Errorf("%w: issuer", ErrTokenInvalid)
	case claims.Audience != clientID:
		return Identity{}, ErrTokenAudience
	case !userID.MatchString(claims.Subject):
		return Identity{}, fmt.Errorf("%w: subject", ErrTokenInvalid)
	case !id.ExpiresAt.After(c.clock.Now().Add(-expirySkew)):
		return Identity{}, ErrTokenExpired
	}
	return id, nil
}

// tokenRefusal sorts LINE's 400 by its error_description; there is no code to go by.
func tokenRefusal(a *answer) error {
	var b struct {
		Description string `json:"error_description"`
	}
	if json.Unmarshal(a.body, &b) != nil || b.Description == "" {
		return fmt.Errorf("%w: %w", ErrNotAsked, refusal("verify ID token", a))
	}
	switch strings.TrimSuffix(b.Description, ".") {
	case "IdToken expired":
		return ErrTokenExpired
	case "Invalid IdToken Audience":
		return ErrTokenAudience
	default:
		return fmt.Errorf("%w: %s", ErrTokenInvalid, clean(b.Description))
	}
}
