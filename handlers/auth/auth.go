// Package auth knows who is asking: passwords, sessions, the limit of wrong tries, one-time sign-in links, and the
// middleware that puts the admin on the request. It draws no page.
//
// A session is a random token in a cookie; the database holds its SHA-256, the admin's id, when they signed in and a
// fingerprint of the password of that time. It ends 12 hours after the sign-in, at sign-out, when the browser is closed,
// and when the admin is archived or the password changes. The token changes at every sign-in.
package auth

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/alexedwards/scs/sqlite3store"
	"github.com/alexedwards/scs/v2"
	"github.com/jonboulle/clockwork"
	"github.com/labstack/echo/v4"

	"shiftpost/db"
	"shiftpost/db/roster"
)

// SessionLifetime is how long an admin stays signed in: a working day, so that a browser left open in the staff room is
// not open the next morning.
const SessionLifetime = 12 * time.Hour

// What the session holds.
const (
	keyAdminID     = "admin_id"
	keySignedInAt  = "signed_in_at" // unix milliseconds of the injected clock
	keyFingerprint = "fingerprint"
)

// Errors of signing in.
var (
	// ErrLinkSpent tells that a sign-in link was used, ran out or never was.
	ErrLinkSpent = errors.New("the sign-in link is spent")
	// ErrSignedOut tells that the request needs an admin and has none.
	ErrSignedOut = errors.New("nobody is signed in")
)

// WrongError tells that address and password do not belong together. It does not say which is wrong.
type WrongError struct {
	Left  int       // tries left before the wait
	Until time.Time // when Left is 0: from when on tries are taken again
}

func (e *WrongError) Error() string {
	return fmt.Sprintf("wrong e-mail or password, %d tries left", e.Left)
}

// ThrottledError tells that nothing was tried because too many tries were wrong.
type ThrottledError struct {
	Until time.Time // from when on tries are taken again
}

func (e *ThrottledError) Error() string { return "too many wrong passwords" }

// store is what auth asks the database.
type store interface {
	Admin(ctx context.Context, adminID int64) (roster.Admin, error)
	AdminByEmail(ctx context.Context, email string) (roster.Admin, error)
	SessionDB() *sql.DB
}

// Options are what Auth is made of.
type Options struct {
	Store   store
	Clock   clockwork.Clock // nil: the real one
	BaseURL string          // where browsers find the site; with https the cookie is Secure
	Logger  *slog.Logger    // nil: slog.Default()
}

// Auth answers who is asking. Its methods may be called from any goroutine.
type Auth struct {
	Sessions *scs.SessionManager // for what handlers keep beside the admin, such as a sentence for the next page
	store    store
	sessions *sqlite3store.SQLite3Store
	clock    clockwork.Clock
	log      *slog.Logger
	throttle *throttle
	links    *links
	hashing  chan struct{} // bounds how many passwords are hashed at once, 19 MiB each
}

// New makes the Auth of a site. Close it to end the goroutine that removes sessions that ran out.
func New(o Options) *Auth {
	if o.Clock == nil {
		o.Clock = clockwork.NewRealClock()
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	a := &Auth{
		Sessions: scs.New(),
		store:    o.Store,
		sessions: sqlite3store.NewWithCleanupInterval(o.Store.SessionDB(), 10*time.Minute),
		clock:    o.Clock,
		log:      o.Logger,
		throttle: newThrottle(),
		links:    newLinks(),
		hashing:  make(chan struct{}, 2),
	}
	secure := strings.HasPrefix(o.BaseURL, "https://")
	a.Sessions.Store = a.sessions
	a.Sessions.HashTokenInStore = true
	// The session store reads the machine's clock; the injected one decides in signedIn. This only bounds how long a
	// dead row stays, with a day to spare for a demo whose clock was moved.
	a.Sessions.Lifetime = SessionLifetime + 24*time.Hour
	a.Sessions.Cookie = scs.SessionCookie{
		Name:     "shiftpost_session",
		Path:     "/",
		HttpOnly: true,
		SameSite: http.SameSiteLaxMode,
		Secure:   secure,
		Persist:  false,
	}
	if secure {
		a.Sessions.Cookie.Name = "__Host-shiftpost_session"
	}
	return a
}

// Close ends the removal of old sessions.
func (a *Auth) Close() { a.sessions.StopCleanup() }

// Load puts the session on the request and saves it before the answer's first byte.
func (a *Auth) Load(next echo.HandlerFunc) echo.HandlerFunc {
	return loadSession(a.Sessions, a.log, next)
}

type adminKey struct{}

// WithAdmin returns a context of a request by that admin.
func WithAdmin(ctx context.Context, admin roster.Admin) context.Context {
	return context.WithValue(ctx, adminKey{}, admin)
}

// Admin returns who is signed in on a request that passed Identify.
func Admin(ctx context.Context) (roster.Admin, bool) {
	admin, ok := ctx.Value(adminKey{}).(roster.Admin)
	return admin, ok
}

// Identify puts the admin on the request if somebody is signed in. It must run inside Load.
func (a *Auth) Identify(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		ctx := c.Request().Context()
		admin, err := a.signedIn(ctx)
		switch {
		case err == nil:
			c.SetRequest(c.Request().WithContext(WithAdmin(ctx, admin)))
		case !errors.Is(err, ErrSignedOut):
			return err
		}
		return next(c)
	}
}

// RequireAdmin refuses requests without an admin with ErrSignedOut. It must run inside Identify.
func RequireAdmin(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if _, ok := Admin(c.Request().Context()); !ok {
			return ErrSignedOut
		}
		return next(c)
	}
}

// signedIn returns the admin of the request's session. The error is ErrSignedOut if there is none, or if it ended.
func (a *Auth) signedIn(ctx context.Context) (roster.Admin, error) {
	adminID := a.Sessions.GetInt64(ctx, keyAdminID)
	if adminID == 0 {
		return roster.Admin{}, ErrSignedOut
	}
	since := time.UnixMilli(a.Sessions.GetInt64(ctx, keySignedInAt))
	admin, err := a.store.Admin(ctx, adminID)
	if errors.Is(err, db.ErrNotFound) {
		err = ErrSignedOut
	}
	if err != nil {
		return admin, err
	}
	if !a.clock.Now().Before(since.Add(SessionLifetime)) || a.Sessions.GetString(ctx, keyFingerprint) != fingerprint(admin) {
		return roster.Admin{}, ErrSignedOut
	}
	return admin, nil
}

// fingerprint changes with the password, so that a new one ends all sessions of the old.
func fingerprint(admin roster.Admin) string {
	sum := sha256.Sum256([]byte(admin.PasswordHash))
	return hex.EncodeToString(sum[:8])
}

// SignIn checks an address and a password that came from a network address, and starts the admin's session in the
// request's. The error is a *WrongError or a *ThrottledError when it is the visitor's.
func (a *Auth) SignIn(ctx context.Context, email, password, network string) error {
	email = db.NormalizeEmail(email)
	key := email + "\x00" + network
	left, until := a.throttle.take(key, a.clock.Now())
	if !until.IsZero() {
		return &ThrottledError{until}
	}
	admin, err := a.store.AdminByEmail(ctx, email)
	known := err == nil
	if err != nil && !errors.Is(err, db.ErrNotFound) {
		return err
	}
	hash := strangerHash
	if known {
		hash = admin.PasswordHash
	}
	right, err := a.verify(ctx, hash, password)
	if err != nil {
		return fmt.Errorf("check password of admin %d: %w", admin.ID, err)
	}
	if !known || !right {
		wrong := &WrongError{Left: left}
		if left == 0 {
			wrong.Until = a.clock.Now().Add(wait)
		}
		return wrong
	}
	a.throttle.forgive(key)
	return a.start(ctx, admin)
}

// verify hashes with a bound on how many do so at once.
func (a *Auth) verify(ctx context.Context, hash, password string) (bool, error) {
	select {
	case a.hashing <- struct{}{}:
		defer func() { <-a.hashing }()
	case <-ctx.Done():
		return false, ctx.Err()
	}
	// More than any password that can be set; not worth hashing.
	if len(password) > 4*MaxPasswordLength {
		password = ""
	}
	return verifyPassword(hash, password)
}

// start makes the request's session the admin's, under a new token.
func (a *Auth) start(ctx context.Context, admin roster.Admin) error {
	if err := a.Sessions.Clear(ctx); err != nil {
		return fmt.Errorf("clear session: %w", err)
	}
	if err := a.Sessions.RenewToken(ctx); err != nil {
		return fmt.Errorf("renew session: %w", err)
	}
	a.Sessions.Put(ctx, keyAdminID, admin.ID)
	a.Sessions.Put(ctx, keySignedInAt, a.clock.Now().UnixMilli())
	a.Sessions.Put(ctx, keyFingerprint, fingerprint(admin))
	if err := keep(ctx, a.Sessions); err != nil {
		return err
	}
	a.log.InfoContext(ctx, "admin signed in", "admin", admin.ID)
	return nil
}

// SignOut ends the request's session.
func (a *Auth) SignOut(ctx context.Context) error {
	if err := a.Sessions.Destroy(ctx); err != nil {
		return fmt.Errorf("destroy session: %w", err)
	}
	return nil
}

// IssueSignInLink returns the path of a page that signs an admin in once within 30 minutes, for whoever starts the
// program. Opening the page does not use it up, pressing its button does: a program that fetches links for a preview
// must not.
func (a *Auth) IssueSignInLink(adminID int64) (path string) {
	return "/sign-in-links/" + a.links.issue(adminID, a.clock.Now())
}

// SignInLinkValid reports whether a sign-in link's token can still be used.
func (a *Auth) SignInLinkValid(token string) bool { return a.links.valid(token, a.clock.Now()) }

// UseSignInLink spends a token and starts its admin's session in the request's. The error is ErrLinkSpent if it cannot
// be used.
func (a *Auth) UseSignInLink(ctx context.Context, token string) error {
	adminID, ok := a.links.use(token, a.clock.Now())
	if !ok {
		return ErrLinkSpent
	}
	admin, err := a.store.Admin(ctx, adminID)
	if errors.Is(err, db.ErrNotFound) {
		return ErrLinkSpent
	}
	if err != nil {
		return err
	}
	return a.start(ctx, admin)
}
