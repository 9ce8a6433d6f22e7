package linesim_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"math/big"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/line/line-bot-sdk-go/v8/linebot/webhook"

	"shiftpost/jobs/line"
	"shiftpost/jobs/line/linesim"
)

const formType = "application/x-www-form-urlencoded"

func TestIDTokensAreCheckedInLINEsOrderAndWords(t *testing.T) {
	t.Parallel()
	s := newSchool(t, linesim.Options{})
	u, channel := s.users[0], s.Login().ChannelID
	token := func(change func(*linesim.Claims)) string { return s.IDToken(u.ID, change) }
	good := token(nil)
	parts := strings.Split(good, ".")
	other := newSchool(t, linesim.Options{}) // another LINE with another key
	other.AddUser(u)
	all := func(c *linesim.Claims) {
		c.Issuer, c.Expires, c.Audience, c.Nonce = "https://example.com", 1, "x", "y"
	}
	for _, c := range []struct {
		name, token string
		more        url.Values
		want        string
	}{
		{"nothing", "", nil, "Invalid IdToken."},
		{"no token at all", "abc", nil, "Invalid IdToken."},
		{"claims changed after signing", parts[0] + "." + base64.RawURLEncoding.EncodeToString([]byte(`{"iss":"https://access.line.me"}`)) + "." + parts[2], nil, "Invalid IdToken."},
		{"another key", other.IDToken(u.ID, nil), nil, "Invalid IdToken."},
		{"issuer first", token(all), nil, "Invalid IdToken Issuer."},
		{"then expiry", token(func(c *linesim.Claims) { all(c); c.Issuer = "https://access.line.me" }), nil, "IdToken expired."},
		{"then audience", token(func(c *linesim.Claims) { c.Audience = "x" }), url.Values{"nonce": {"z"}, "user_id": {nobody}}, "Invalid IdToken Audience."},
		{"then nonce", good, url.Values{"nonce": {"z"}, "user_id": {nobody}}, "Invalid IdToken Nonce."},
		{"then subject", good, url.Values{"user_id": {nobody}}, "Invalid IdToken Subject Identifier."},
	} {
		t.Run(c.name, func(t *testing.T) {
			form := url.Values{"id_token": {c.token}, "client_id": {channel}}
			for k, v := range c.more {
				form[k] = v
			}
			s.call(t, "POST", "/oauth2/v2.1/verify", form.Encode(), "Content-Type", formType, "Authorization", "").
				want(t, 400, `{"error":"invalid_request","error_description":"`+c.want+`"}`)
		})
	}
	var claims linesim.Claims
	s.call(t, "POST", "/oauth2/v2.1/verify", url.Values{"id_token": {good}, "client_id": {channel}, "user_id": {u.ID}}.Encode(), "Content-Type", formType).into(t, &claims)
	if claims.Subject != u.ID || claims.Audience != channel || claims.Issuer != "https://access.line.me" || claims.Name != u.Name ||
		claims.IssuedAt != noon.Unix() || claims.Expires != noon.Add(time.Hour).Unix() {
		t.Errorf("%+v", claims)
	}
}

func TestAnIDTokenLivesAnHour(t *testing.T) {
	t.Parallel()
	s := newSchool(t, linesim.Options{})
	token := s.IDToken(s.users[0].ID, nil)
	for _, c := range []struct {
		at   time.Duration
		want error
	}{{time.Hour - time.Second, nil}, {time.Hour, line.ErrTokenExpired}} {
		s.clock.Advance(noon.Add(c.at).Sub(s.clock.Now()))
		if _, err := s.client.VerifyIDToken(context.Background(), token, s.Login().ChannelID); !errors.Is(err, c.want) {
			t.Errorf("after %v: %v", c.at, err)
		}
	}
}

func TestTheCertificatesVerifyTheTokens(t *testing.T) {
	t.Parallel()
	s := newSchool(t, linesim.Options{})
	var certs struct {
		Keys []struct{ Kty, Alg, Kid, Crv, X, Y string }
	}
	s.call(t, "GET", "/oauth2/v2.1/certs", "", "Authorization", "").into(t, &certs)
	if len(certs.Keys) != 1 || certs.Keys[0].Kty != "EC" || certs.Keys[0].Alg != "ES256" || certs.Keys[0].Crv != "P-256" {
		t.Fatalf("%+v", certs)
	}
	part := func(s string) []byte {
		b, err := base64.RawURLEncoding.DecodeString(s)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	key, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), append(append([]byte{4}, part(certs.Keys[0].X)...), part(certs.Keys[0].Y)...))
	if err != nil {
		t.Fatal(err)
	}
	p := strings.Split(s.IDToken(s.users[0].ID, nil), ".")
	var header struct{ Alg, Kid string }
	if err := json.Unmarshal(part(p[0]), &header); err != nil || header.Alg != "ES256" || header.Kid != certs.Keys[0].Kid {
		t.Errorf("%+v, %v", header, err)
	}
	digest, sig := sha256.Sum256([]byte(p[0]+"."+p[1])), part(p[2])
	if !ecdsa.Verify(key, digest[:], new(big.Int).SetBytes(sig[:32]), new(big.Int).SetBytes(sig[32:])) {
		t.Error("the signature does not verify")
	}
}

func TestALIFFURLLeadsToTheEndpointWithTheRestInLIFFState(t *testing.T) {
	t.Parallel()
	s := newSchool(t, linesim.Options{Login: linesim.Login{EndpointURL: "https://school.example/liff?a=1"}})
	id := s.Login().LIFFID
	for _, c := range []struct{ path, want string }{
		{"/liff/" + id, "https://school.example/liff?a=1"},
		{"/liff/" + id + "/", "https://school.example/liff?a=1"},
		{"/liff/" + id + "/s/9?b=2", "https://school.example/liff?a=1&liff.state=%2Fs%2F9%3Fb%3D2"},
		{"/liff/" + id + "?b=%E8%AC%9B", "https://school.example/liff?a=1&liff.state=%3Fb%3D%25E8%25AC%259B"},
	} {
		a := s.call(t, "GET", c.path, "")
		if got := a.header.Get("Location"); a.status != http.StatusFound || got != c.want {
			t.Errorf("%s: %d %s\nwant %s", c.path, a.status, got, c.want)
		}
	}
	if a := s.call(t, "GET", "/liff/2000000009-Abcdefgh/x", ""); a.status != 404 {
		t.Errorf("another LIFF app: %d", a.status)
	}
}

func TestInsideLINETheRedirectCarriesTheUsersTokensInTheFragment(t *testing.T) {
	t.Parallel()
	s := newSchool(t, linesim.Options{Login: linesim.Login{EndpointURL: "https://school.example/liff"}})
	u := s.users[1]
	for _, uri := range []string{
		s.LIFFBaseURL() + "/" + s.Login().LIFFID + "/documents/abc#top",
		"https://liff.line.me/" + s.Login().LIFFID + "/documents/abc#top",
		"https://miniapp.line.me/" + s.Login().LIFFID + "/documents/abc#top",
	} {
		target, ok := s.OpenLIFF(uri, u.ID)
		base, fragment, _ := strings.Cut(target, "#")
		if !ok || base != "https://school.example/liff?liff.state=%2Fdocuments%2Fabc%23top" {
			t.Errorf("%s leads to %s", uri, base)
		}
		secrets, err := url.ParseQuery(fragment)
		if err != nil {
			t.Fatal(err)
		}
		id, err := s.client.VerifyIDToken(context.Background(), secrets.Get("id_token"), s.Login().ChannelID)
		if err != nil || id.UserID != u.ID {
			t.Errorf("%+v, %v", id, err)
		}
		// A client that is no browser is redirected at once.
		if a := s.call(t, "GET", "/sim/open?"+url.Values{"as": {u.ID}, "uri": {uri}}.Encode(), ""); a.status != http.StatusFound || !strings.Contains(a.header.Get("Location"), "#access_token=") {
			t.Errorf("open: %d %s", a.status, a.header.Get("Location"))
		}
	}
	for _, c := range [][2]string{{"https://example.com/", u.ID}, {s.LIFFBaseURL() + "/other/x", u.ID}, {s.LIFFBaseURL() + "/" + s.Login().LIFFID, nobody}, {s.LIFFBaseURL() + "/" + s.Login().LIFFID, ""}} {
		if target, ok := s.OpenLIFF(c[0], c[1]); ok {
			t.Errorf("%s opened as %q: %s", c[0], c[1], target)
		}
		if a := s.call(t, "GET", "/sim/open?"+url.Values{"as": {c[1]}, "uri": {c[0]}}.Encode(), ""); a.status != 404 {
			t.Errorf("open %s: %d", c[0], a.status)
		}
	}
}

func TestAnAccessTokenTellsProfileAndFriendshipForTwelveHours(t *testing.T) {
	t.Parallel()
	s := newSchool(t, linesim.Options{Login: linesim.Login{EndpointURL: "https://school.example/liff"}})
	u := s.AddUser(linesim.User{Name: "新しい 人"})
	target, _ := s.OpenLIFF(s.LIFFBaseURL()+"/"+s.Login().LIFFID, u.ID)
	_, fragment, _ := strings.Cut(target, "#")
	secrets, _ := url.ParseQuery(fragment)
	bearer := []string{"Authorization", "Bearer " + secrets.Get("access_token")}
	s.call(t, "GET", "/v2/profile", "", bearer...).want(t, 200, `{"displayName":"新しい 人","userId":"`+u.ID+`"}`)
	s.call(t, "GET", "/friendship/v1/status", "", bearer...).want(t, 200, `{"friendFlag":false}`)
	s.call(t, "POST", "/friendship/v1/request", "", bearer...).want(t, 200, `{"friendFlag":true}`)
	s.call(t, "GET", "/friendship/v1/status", "", bearer...).want(t, 200, `{"friendFlag":true}`)
	verify := "/oauth2/v2.1/verify?access_token=" + secrets.Get("access_token")
	s.call(t, "GET", verify, "").want(t, 200, `{"client_id":"`+s.Login().ChannelID+`","expires_in":43200,"scope":"openid profile"}`)
	s.clock.Advance(12 * time.Hour)
	s.call(t, "GET", verify, "").want(t, 400, `{"error":"invalid_request","error_description":"access token expired"}`)
	if a := s.call(t, "GET", "/v2/profile", "", bearer...); a.status != 401 {
		t.Errorf("expired: %d", a.status)
	}
}

func TestALoginCodeIsRedeemedOnceByWhoAskedForIt(t *testing.T) {
	t.Parallel()
	s := newSchool(t, linesim.Options{Login: linesim.Login{EndpointURL: "https://school.example/liff"}})
	channel, u := s.Login().ChannelID, s.users[0].ID
	verifier := "0123456789012345678901234567890123456789012"
	sum := sha256.Sum256([]byte(verifier))
	authorize := "/oauth2/v2.1/authorize?" + url.Values{
		"response_type": {"code"}, "client_id": {channel}, "redirect_uri": {"https://school.example/liff/x"}, "state": {"st"},
		"nonce": {"n"}, "code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"},
	}.Encode()
	code := func() string {
		a := s.call(t, "POST", authorize, "user="+u, "Content-Type", formType)
		to, err := url.Parse(a.header.Get("Location"))
		if err != nil || a.status != http.StatusSeeOther || to.Query().Get("state") != "st" || !strings.HasPrefix(to.String(), "https://school.example/liff/x?") {
			t.Fatalf("%d %s", a.status, to)
		}
		return to.Query().Get("code")
	}
	redeem := func(code string, change func(url.Values)) answer {
		form := url.Values{"grant_type": {"authorization_code"}, "code": {code}, "client_id": {channel}, "redirect_uri": {"https://school.example/liff/x"}, "code_verifier": {verifier}}
		if change != nil {
			change(form)
		}
		return s.call(t, "POST", "/oauth2/v2.1/token", form.Encode(), "Content-Type", formType)
	}
	one := code()
	var tokens struct {
		IDToken string `json:"id_token"`
	}
	redeem(one, nil).into(t, &tokens)
	if id, err := s.client.VerifyIDToken(context.Background(), tokens.IDToken, channel); err != nil || id.UserID != u {
		t.Errorf("%+v, %v", id, err)
	}
	for name, a := range map[string]answer{
		"twice":          redeem(one, nil),
		"wrong verifier": redeem(code(), func(f url.Values) { f.Set("code_verifier", "x") }),
		"wrong address":  redeem(code(), func(f url.Values) { f.Set("redirect_uri", "https://school.example/liff/y") }),
		"wrong channel":  redeem(code(), func(f url.Values) { f.Set("client_id", "1") }),
	} {
		if a.status != 400 {
			t.Errorf("%s: %d", name, a.status)
		}
	}
	late := code()
	s.clock.Advance(10 * time.Minute)
	if a := redeem(late, nil); a.status != 400 {
		t.Errorf("late: %d", a.status)
	}
	if a := s.call(t, "POST", authorize, "user="+nobody, "Content-Type", formType); a.status != 400 {
		t.Errorf("as nobody: %d", a.status)
	}
}

func TestTheLogKeepsNoTokensOfPeople(t *testing.T) {
	t.Parallel()
	s := newSchool(t, linesim.Options{})
	token := s.IDToken(s.users[0].ID, nil)
	if _, err := s.client.VerifyIDToken(context.Background(), token, s.Login().ChannelID); err != nil {
		t.Fatal(err)
	}
	r := s.Requests()[0]
	if len(r.Body) != 0 || r.Answer != "" || r.To != s.users[0].ID {
		t.Errorf("%+v", r)
	}
}

func TestALinkTokenLinksOnceAndIsReportedWithTheProductsNonce(t *testing.T) {
	t.Parallel()
	s := newSchool(t, linesim.Options{})
	h := hookOf(t, s)
	issue := func() string {
		var b struct{ LinkToken string }
		s.call(t, "POST", "/v2/bot/user/"+s.users[0].ID+"/linkToken", "").into(t, &b)
		return b.LinkToken
	}
	link := func(token, nonce string) int {
		return s.call(t, "GET", "/dialog/bot/accountLink?"+url.Values{"linkToken": {token}, "nonce": {nonce}}.Encode(), "").status
	}
	one := issue()
	if got := link(one, "short"); got != 400 {
		t.Errorf("a short nonce: %d", got)
	}
	if got := link(one, "0123456789"); got != 200 {
		t.Errorf("link: %d", got)
	}
	if got := link(one, "0123456789"); got != 400 {
		t.Errorf("twice: %d", got)
	}
	late := issue()
	s.clock.Advance(10 * time.Minute)
	if got := link(late, "0123456789"); got != 400 {
		t.Errorf("late: %d", got)
	}
	s.flush(t)
	if got := h.types(); got != "accountLink" {
		t.Fatalf("webhooks %q", got)
	}
	e := h.calls[0].Events[0].(webhook.AccountLinkEvent)
	if src, ok := e.Source.(webhook.UserSource); !ok || src.UserId != s.users[0].ID || e.Link.Nonce != "0123456789" || e.Link.Result != webhook.LinkContentRESULT_OK {
		t.Errorf("%+v", e)
	}
}
