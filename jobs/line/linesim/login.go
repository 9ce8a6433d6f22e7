package linesim

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"math/big"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// Lives of what LINE Login gives out. The ID token's hour was observed, the access token's twelve are documented.
const (
	idTokenLife     = time.Hour
	accessTokenLife = 12 * time.Hour
	codeLife        = 10 * time.Minute
)

const issuer = "https://access.line.me"

var b64 = base64.RawURLEncoding

// Claims are the contents of an ID token. Times are unix seconds.
type Claims struct {
	Issuer   string   `json:"iss"`
	Subject  string   `json:"sub"`
	Audience string   `json:"aud"`
	Expires  int64    `json:"exp"`
	IssuedAt int64    `json:"iat"`
	Nonce    string   `json:"nonce,omitempty"`
	AMR      []string `json:"amr,omitempty"`
	Name     string   `json:"name,omitempty"`
}

// claims are those of a user's token made now. With s.mu held.
func (s *Simulator) claims(userID, nonce string) Claims {
	now := s.clock.Now()
	c := Claims{
		Issuer: issuer, Subject: userID, Audience: s.opts.Login.ChannelID,
		Expires: now.Add(idTokenLife).Unix(), IssuedAt: now.Unix(), Nonce: nonce, AMR: []string{"linesso"},
	}
	if u := s.user(userID); u != nil {
		c.Name = u.Name
	}
	return c
}

// sign makes a JWT with ES256. With s.mu held.
func (s *Simulator) sign(c Claims) string {
	header, _ := json.Marshal(map[string]string{"alg": "ES256", "typ": "JWT", "kid": s.st.KeyID})
	payload, _ := json.Marshal(c)
	signed := b64.EncodeToString(header) + "." + b64.EncodeToString(payload)
	digest := sha256.Sum256([]byte(signed))
	r, v, err := ecdsa.Sign(rand.Reader, s.key, digest[:])
	if err != nil {
		panic(err) // P-256 with a proper key and crypto/rand does not fail
	}
	sig := make([]byte, 64)
	r.FillBytes(sig[:32])
	v.FillBytes(sig[32:])
	return signed + "." + b64.EncodeToString(sig)
}

// IDToken makes an ID token for a user, as a LIFF app would get it now. Change, if not nil, may spoil its claims
// before they are signed.
func (s *Simulator) IDToken(userID string, change func(*Claims)) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.claims(userID, "")
	if change != nil {
		change(&c)
	}
	return s.sign(c)
}

// read checks an ID token's signature and returns its claims. With s.mu held.
func (s *Simulator) read(token string) (Claims, error) {
	var c Claims
	bad := errors.New("not a token of this simulator")
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return c, bad
	}
	var header struct {
		Alg string `json:"alg"`
		Kid string `json:"kid"`
	}
	h, err := b64.DecodeString(parts[0])
	if err != nil || json.Unmarshal(h, &header) != nil || header.Alg != "ES256" || header.Kid != s.st.KeyID {
		return c, bad
	}
	sig, err := b64.DecodeString(parts[2])
	if err != nil || len(sig) != 64 {
		return c, bad
	}
	digest := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	r, v := new(big.Int).SetBytes(sig[:32]), new(big.Int).SetBytes(sig[32:])
	if !ecdsa.Verify(&s.key.PublicKey, digest[:], r, v) {
		return c, bad
	}
	payload, err := b64.DecodeString(parts[1])
	if err != nil || json.Unmarshal(payload, &c) != nil {
		return c, bad
	}
	return c, nil
}

// accessToken gives a user an access token of LINE Login. With s.mu held.
func (s *Simulator) accessToken(userID string, now time.Time) string {
	for t, cr := range s.st.UserTokens {
		if !cr.live(now) {
			delete(s.st.UserTokens, t)
		}
	}
	t := "eyJ" + randomHex(30)
	s.st.UserTokens[t] = credential{User: userID, Expires: now.Add(accessTokenLife).UTC()}
	return t
}

func (s *Simulator) loginRoutes(m *http.ServeMux) {
	// The LIFF SDK calls these from the product's pages, so other origins may read the answers.
	open := func(pattern, endpoint string, need access, to func(*call) string, work func(*call) reply) {
		h := s.handle(endpoint, need, to, work)
		method, path, _ := strings.Cut(pattern, " ")
		m.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Access-Control-Allow-Origin", "*")
			h(w, r)
		})
		m.HandleFunc("OPTIONS "+path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Access-Control-Allow-Origin", "*")
			w.Header().Set("Access-Control-Allow-Methods", method+", GET, POST")
			w.Header().Set("Access-Control-Allow-Headers", "Authorization, Content-Type")
			w.WriteHeader(http.StatusNoContent)
		})
	}
	m.HandleFunc("POST /oauth2/v2.1/verify", s.handle("verify", public, s.tokenSubject, s.verifyIDToken))
	m.HandleFunc("GET /oauth2/v2.1/verify", s.handle("verify", public, nil, s.verifyAccessToken))
	open("GET /oauth2/v2.1/certs", "certs", public, nil, s.certs)
	open("POST /oauth2/v2.1/token", "login token", public, nil, s.redeemCode)
	open("GET /v2/profile", "login profile", byUser, nil, s.loginProfile)
	open("GET /friendship/v1/status", "friendship", byUser, nil, s.friendship)
	open("POST /friendship/v1/request", "friendship", byUser, nil, s.befriend)
	m.HandleFunc("GET /oauth2/v2.1/authorize", s.showLogin)
	m.HandleFunc("POST /oauth2/v2.1/authorize", s.doLogin)
	m.HandleFunc("GET /dialog/bot/accountLink", s.linkAccount)
	m.HandleFunc("GET /liff/sdk.js", s.sdk)
	m.HandleFunc("GET /liff/v1/apps", s.handle("liff apps", byChannel, nil, s.liffApps))
	m.HandleFunc("GET /liff/{liffId}", s.openLIFF)
	m.HandleFunc("GET /liff/{liffId}/{path...}", s.openLIFF)
}

// tokenSubject is whom an ID token is about, without any check, for faults that hit one person.
func (s *Simulator) tokenSubject(c *call) string {
	form, err := url.ParseQuery(string(c.body))
	if err != nil {
		return ""
	}
	cl, err := s.read(form.Get("id_token"))
	if err != nil || !userIDForm.MatchString(cl.Subject) {
		return ""
	}
	return cl.Subject
}

// verifyIDToken checks in this order [sim]: form and signature, issuer, expiry, audience, nonce, subject.
func (s *Simulator) verifyIDToken(c *call) reply {
	form, err := url.ParseQuery(string(c.body))
	if err != nil || form.Get("id_token") == "" || form.Get("client_id") == "" {
		return loginRefusal("Invalid IdToken.")
	}
	cl, err := s.read(form.Get("id_token"))
	switch {
	case err != nil:
		return loginRefusal("Invalid IdToken.")
	case cl.Issuer != issuer:
		return loginRefusal("Invalid IdToken Issuer.")
	case c.now.Unix() >= cl.Expires:
		return loginRefusal("IdToken expired.")
	case cl.Audience != form.Get("client_id"):
		return loginRefusal("Invalid IdToken Audience.")
	case form.Has("nonce") && form.Get("nonce") != cl.Nonce:
		return loginRefusal("Invalid IdToken Nonce.")
	case form.Has("user_id") && form.Get("user_id") != cl.Subject:
		return loginRefusal("Invalid IdToken Subject Identifier.")
	}
	return jsonReply(http.StatusOK, cl)
}

func (s *Simulator) verifyAccessToken(c *call) reply {
	cr, ok := s.st.UserTokens[c.r.URL.Query().Get("access_token")]
	if !ok || !cr.live(c.now) {
		return loginRefusal("access token expired")
	}
	return jsonReply(http.StatusOK, map[string]any{
		"scope": "openid profile", "client_id": s.opts.Login.ChannelID, "expires_in": int(cr.Expires.Sub(c.now).Seconds()),
	})
}

func (s *Simulator) certs(*call) reply {
	// 0x04, x, y: the uncompressed point.
	point, err := s.key.PublicKey.Bytes()
	if err != nil {
		panic(err) // the key was made or parsed by us
	}
	return jsonReply(http.StatusOK, map[string]any{"keys": []map[string]any{{
		"kty": "EC", "alg": "ES256", "use": "sig", "kid": s.st.KeyID, "crv": "P-256",
		"x": b64.EncodeToString(point[1:33]), "y": b64.EncodeToString(point[33:65]),
	}}})
}

// redeemCode turns the code of a login into tokens, once.
func (s *Simulator) redeemCode(c *call) reply {
	form, err := url.ParseQuery(string(c.body))
	if err != nil || form.Get("grant_type") != "authorization_code" {
		return loginRefusal("unsupported grant type")
	}
	code, ok := s.st.Codes[form.Get("code")]
	delete(s.st.Codes, form.Get("code"))
	challenge := sha256.Sum256([]byte(form.Get("code_verifier")))
	switch {
	case !ok || !code.live(c.now):
		return loginRefusal("invalid authorization code")
	case form.Get("client_id") != s.opts.Login.ChannelID:
		return loginRefusal("invalid client_id")
	case form.Get("redirect_uri") != code.RedirectURI:
		return loginRefusal("redirect_uri does not match")
	case code.Challenge != "" && b64.EncodeToString(challenge[:]) != code.Challenge:
		return loginRefusal("invalid code_verifier")
	}
	return jsonReply(http.StatusOK, map[string]any{
		"access_token": s.accessToken(code.User, c.now), "expires_in": int(accessTokenLife.Seconds()),
		"id_token": s.sign(s.claims(code.User, code.Nonce)), "refresh_token": randomHex(16),
		"scope": "openid profile", "token_type": "Bearer",
	})
}

// bearer is the user whose access token a call carries.
func (s *Simulator) bearer(c *call) *User {
	token, _ := strings.CutPrefix(c.r.Header.Get("Authorization"), "Bearer ")
	return s.user(s.st.UserTokens[token].User)
}

func (s *Simulator) loginProfile(c *call) reply {
	u := s.bearer(c)
	if u == nil {
		return refuse(http.StatusUnauthorized, "The access token expired")
	}
	return jsonReply(http.StatusOK, map[string]any{"userId": u.ID, "displayName": u.Name})
}

func (s *Simulator) friendship(c *call) reply {
	u := s.bearer(c)
	return jsonReply(http.StatusOK, map[string]any{"friendFlag": u != nil && u.Friend && !u.Blocked})
}

// befriend is the simulator's own way to answer the dialog of liff.requestFriendship with yes.
func (s *Simulator) befriend(c *call) reply {
	u := s.bearer(c)
	if u == nil {
		return refuse(http.StatusUnauthorized, "The access token expired")
	}
	if !u.Friend || u.Blocked {
		s.emit(event{kind: "follow", user: u.ID, replyable: true, extra: map[string]any{"follow": map[string]any{"isUnblocked": u.Blocked}}})
		u.Friend, u.Blocked = true, false
	}
	return jsonReply(http.StatusOK, map[string]any{"friendFlag": true})
}

// linkAccount is where a product sends the user of a link token: LINE then reports the link, with the product's nonce,
// by an accountLink event. A link token serves once.
// Source: https://developers.line.biz/en/docs/messaging-api/linking-accounts/ , read in October 2026.
func (s *Simulator) linkAccount(w http.ResponseWriter, r *http.Request) {
	token, nonce := r.URL.Query().Get("linkToken"), r.URL.Query().Get("nonce")
	s.mu.Lock()
	t, ok := s.st.LinkTokens[token]
	ok = ok && t.live(s.clock.Now()) && len(nonce) >= 10 && len(nonce) <= 255
	if ok {
		delete(s.st.LinkTokens, token)
		s.emit(event{kind: "accountLink", user: t.User, replyable: true, extra: map[string]any{"link": map[string]any{"result": "ok", "nonce": nonce}}})
		s.changed()
	}
	s.mu.Unlock()
	if !ok {
		s.render(w, r, http.StatusBadRequest, linkedPage(false))
		return
	}
	s.render(w, r, http.StatusOK, linkedPage(true))
}

// liffApps lists the channel's LIFF apps. LINE asks for the login channel's token here; the simulator has one token for
// both channels [sim].
func (s *Simulator) liffApps(*call) reply {
	return jsonReply(http.StatusOK, map[string]any{"apps": []map[string]any{{
		"liffId": s.opts.Login.LIFFID, "view": map[string]any{"type": "full", "url": s.endpoint},
		"description": s.opts.Channel.DisplayName, "permanentLinkPattern": "concat",
		"scope": []string{"openid", "profile"}, "botPrompt": "normal",
	}}})
}

// openLIFF is liff.line.me: it sends the browser to the endpoint URL, which hands the rest to the SDK in liff.state.
// Source: https://developers.line.biz/en/docs/liff/opening-liff-app/ , read in October 2026.
func (s *Simulator) openLIFF(w http.ResponseWriter, r *http.Request) {
	s.stamp(w.Header())
	w.Header().Set("Cache-Control", "no-store")
	rest := strings.TrimPrefix(r.URL.EscapedPath(), "/liff/"+r.PathValue("liffId"))
	if r.URL.RawQuery != "" {
		rest += "?" + r.URL.RawQuery
	}
	// A page inside LINE that navigates to its LIFF URL stays inside LINE. Only the tab knows that it is, so a browser
	// that has one open gets a page whose script asks the tab.
	if _, err := r.Cookie(insideCookie); err == nil && r.Header.Get("Sec-Fetch-Dest") == "document" && r.PathValue("liffId") == s.opts.Login.LIFFID {
		s.showDoor(w, r, "", rest)
		return
	}
	target, ok := s.liffTarget(r.PathValue("liffId"), rest, "")
	if !ok {
		s.showNoLIFF(w, r)
		return
	}
	http.Redirect(w, r, target, http.StatusFound)
}

// liffTarget is the address a LIFF URL leads to; rest is what follows the LIFF id, escaped. With a user it is the
// LIFF browser of LINE that opens it: the fragment carries the credentials by which the SDK is logged in at init.
func (s *Simulator) liffTarget(liffID, rest, userID string) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	target, err := url.Parse(s.endpoint)
	if err != nil || target.Host == "" || liffID != s.opts.Login.LIFFID {
		return "", false
	}
	if rest != "" && rest != "/" {
		q := "liff.state=" + url.QueryEscape(rest)
		if target.RawQuery != "" {
			q = target.RawQuery + "&" + q
		}
		target.RawQuery = q
	}
	out := target.String()
	if userID != "" {
		if s.user(userID) == nil {
			return "", false
		}
		now := s.clock.Now()
		context, _ := json.Marshal(map[string]any{
			"type": "utou", "userId": userID, "liffId": liffID, "viewType": "full", "endpointUrl": s.endpoint,
		})
		out += "#" + url.Values{
			"access_token":  {s.accessToken(userID, now)},
			"context_token": {b64.EncodeToString(context)},
			"id_token":      {s.sign(s.claims(userID, ""))},
		}.Encode()
		s.changed()
	}
	return out, true
}

// liffURL is a LIFF URL: the simulator's, also of an earlier run on another port, or LINE's own. It is followed by the
// LIFF id.
var liffURL = regexp.MustCompile(`^(https://(liff|miniapp)\.line\.me|https?://(127\.0\.0\.1|\[::1\]|localhost)(:\d+)?/liff)/`)

// liffPath splits a LIFF URL into its id and what follows it, fragment included.
func (s *Simulator) liffPath(uri string) (liffID, rest string, ok bool) {
	after, own := strings.CutPrefix(uri, s.LIFFBaseURL()+"/")
	if !own {
		prefix := liffURL.FindString(uri)
		if prefix == "" {
			return "", "", false
		}
		after = uri[len(prefix):]
	}
	i := strings.IndexAny(after, "/?#")
	if i < 0 {
		return after, "", true
	}
	if rest = after[i:]; rest[0] != '/' {
		rest = "/" + rest
	}
	return after[:i], rest, true
}

// OpenLIFF is a tap on a LIFF URL by a user inside LINE: it returns the address the LIFF browser loads, with
// liff.state and, in the fragment, the user's credentials. False means that the URL is not one of the LIFF app's or
// that nobody has this id.
func (s *Simulator) OpenLIFF(uri, userID string) (string, bool) {
	id, rest, ok := s.liffPath(uri)
	if !ok || userID == "" {
		return "", false
	}
	return s.liffTarget(id, rest, userID)
}
