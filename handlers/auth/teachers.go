package auth

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/alexedwards/scs/sqlite3store"
	"github.com/alexedwards/scs/v2"
	"github.com/jonboulle/clockwork"
	"github.com/labstack/echo/v4"

	"shiftpost/db"
	"shiftpost/db/roster"
	"shiftpost/jobs/line"
)

// TeacherSessionLifetime is how long a teacher may look without LINE being asked again: as long as LINE itself resumes
// a page without loading it anew.
const TeacherSessionLifetime = 12 * time.Hour

// What a teacher's session holds.
const (
	keyTeacherID = "teacher_id"
	keyLINEUser  = "line_user" // digest of the LINE user id that was verified
	keyIDToken   = "id_token"  // digest of the ID token that was verified
)

// Errors of the viewer's sessions.
var (
	// ErrStranger tells that LINE vouches for somebody who is not an active linked teacher, or no longer.
	ErrStranger = errors.New("not a linked teacher")
	// ErrNoTeacher tells that the request needs a teacher's session and has none, or one that ended.
	ErrNoTeacher = errors.New("no teacher is signed in")
	// ErrTooManyTries tells that a LINE user named too many invitations that do not exist, and must wait.
	ErrTooManyTries = errors.New("too many wrong invitations")
)

// Verifier asks LINE about an ID token. *line.Client is one.
type Verifier interface {
	VerifyIDToken(ctx context.Context, idToken, clientID string) (line.Identity, error)
}

// teacherStore is what Teachers asks the database.
type teacherStore interface {
	Teacher(ctx context.Context, teacherID int64) (roster.Teacher, error)
	TeacherByLINE(ctx context.Context, lineUserID string) (roster.Teacher, error)
	SessionDB() *sql.DB
}

// TeachersOptions are what Teachers is made of.
type TeachersOptions struct {
	Store          teacherStore
	Verifier       Verifier
	LoginChannelID string          // of LINE Login; the audience of the ID tokens
	Clock          clockwork.Clock // nil: the real one
	BaseURL        string          // where browsers find the site; with https the cookie is Secure
	Logger         *slog.Logger    // nil: slog.Default()
}

// Teachers answers which teacher is asking in the viewer. Its sessions and its cookie are not those of the admins; they
// share only the table, which Auth clears of old rows. Its methods may be called from any goroutine.
type Teachers struct {
	sessions *scs.SessionManager
	store    teacherStore
	verifier Verifier
	channel  string
	clock    clockwork.Clock
	log      *slog.Logger
	asking   chan struct{} // bounds how many questions to LINE are open at once
	tries    *throttle     // of invitations, by LINE user
}

// NewTeachers makes the Teachers of a site.
func NewTeachers(o TeachersOptions) *Teachers {
	if o.Clock == nil {
		o.Clock = clockwork.NewRealClock()
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	t := &Teachers{
		sessions: scs.New(),
		store:    o.Store,
		verifier: o.Verifier,
		channel:  o.LoginChannelID,
		clock:    o.Clock,
		log:      o.Logger,
		asking:   make(chan struct{}, 16),
		tries:    newThrottle(),
	}
	t.sessions.Store = sqlite3store.NewWithCleanupInterval(o.Store.SessionDB(), 0)
	t.sessions.HashTokenInStore = true
	// As in Auth: the injected clock decides in Identify, this only bounds how long a dead row stays.
	t.sessions.Lifetime = TeacherSessionLifetime + 24*time.Hour
	t.sessions.Cookie = scs.SessionCookie{
		Name:     "shiftpost_viewer",
		Path:     "/",
		HttpOnly: true,
		SameSite: http.SameSiteLaxMode,
		// LINE may close its browser whenever the phone runs short of memory; the session need not end with it.
		Persist: true,
	}
	if strings.HasPrefix(o.BaseURL, "https://") {
		t.sessions.Cookie.Secure = true
		t.sessions.Cookie.Name = "__Host-shiftpost_viewer"
	}
	return t
}

// Load puts the session on the request and saves it before the answer's first byte.
func (t *Teachers) Load(next echo.HandlerFunc) echo.HandlerFunc {
	return loadSession(t.sessions, t.log, next)
}

type teacherKey struct{}

// identified is what Identify found out.
type identified struct {
	teacher roster.Teacher
	err     error // nil, ErrNoTeacher or ErrStranger
}

// Identify puts the teacher on the request, as far as there is one. It asks the database each time, so that who left or
// was unlinked is a stranger at once. It must run inside Load.
func (t *Teachers) Identify(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		ctx := c.Request().Context()
		teacher, err := t.signedIn(ctx)
		if err != nil && !errors.Is(err, ErrNoTeacher) && !errors.Is(err, ErrStranger) {
			return err
		}
		c.SetRequest(c.Request().WithContext(context.WithValue(ctx, teacherKey{}, identified{teacher, err})))
		return next(c)
	}
}

// Teacher returns who is asking on a request that passed Identify. The error is ErrNoTeacher, or ErrStranger for
// somebody whose session outlived their being a teacher here.
func Teacher(ctx context.Context) (roster.Teacher, error) {
	v, ok := ctx.Value(teacherKey{}).(identified)
	if !ok {
		return roster.Teacher{}, ErrNoTeacher
	}
	return v.teacher, v.err
}

// signedIn returns the teacher of the request's session. The error is ErrNoTeacher or ErrStranger when it is not a
// failure.
func (t *Teachers) signedIn(ctx context.Context) (roster.Teacher, error) {
	teacherID := t.sessions.GetInt64(ctx, keyTeacherID)
	since := time.UnixMilli(t.sessions.GetInt64(ctx, keySignedInAt))
	if teacherID == 0 || !t.clock.Now().Before(since.Add(TeacherSessionLifetime)) {
		return roster.Teacher{}, ErrNoTeacher
	}
	teacher, err := t.store.Teacher(ctx, teacherID)
	if errors.Is(err, db.ErrNotFound) {
		err = ErrStranger
	}
	if err != nil {
		return roster.Teacher{}, err
	}
	if !teacher.Active() || !teacher.Linked() || !same(digest(teacher.LINEUserID), t.sessions.GetString(ctx, keyLINEUser)) {
		return roster.Teacher{}, ErrStranger
	}
	return teacher, nil
}

// tokenForm is the form of a signed JWT. What does not have it is no question to LINE.
var tokenForm = regexp.MustCompile(`^[\w-]+\.[\w-]+\.[\w-]+$`)

// maxTokenLength is far above what LINE issues, in bytes.
const maxTokenLength = 8 << 10

// SignIn lets LINE say whom an ID token is about, finds the teacher who is linked to that LINE user, and starts their
// session in the request's. Errors that are the visitor's: ErrStranger, line.ErrTokenExpired, line.ErrTokenInvalid,
// line.ErrTokenAudience. With line.ErrNotAsked nothing is known about them.
//
// A session that was opened with this very token goes on as long as it lives, without a question to LINE: the cookie
// alone would do, and the token shows that it still belongs to whom LINE says is looking.
func (t *Teachers) SignIn(ctx context.Context, idToken string) (roster.Teacher, error) {
	if same(digest(idToken), t.sessions.GetString(ctx, keyIDToken)) {
		teacher, err := t.signedIn(ctx)
		if err == nil || (!errors.Is(err, ErrNoTeacher) && !errors.Is(err, ErrStranger)) {
			return teacher, err
		}
	}
	identity, err := t.Visitor(ctx, idToken)
	if err != nil {
		return roster.Teacher{}, err
	}
	teacher, err := t.store.TeacherByLINE(ctx, identity.UserID)
	if errors.Is(err, db.ErrNotFound) {
		// Whose session it was, somebody else looks now.
		if err := t.sessions.Destroy(ctx); err != nil {
			return teacher, fmt.Errorf("destroy session: %w", err)
		}
		return teacher, ErrStranger
	}
	if err != nil {
		return teacher, err
	}
	return teacher, t.Begin(ctx, teacher, idToken)
}

// Begin starts in the request's session that of a linked teacher, about whose LINE user LINE just said that the ID token
// is.
func (t *Teachers) Begin(ctx context.Context, teacher roster.Teacher, idToken string) error {
	if err := t.sessions.Clear(ctx); err != nil {
		return fmt.Errorf("clear session: %w", err)
	}
	if err := t.sessions.RenewToken(ctx); err != nil {
		return fmt.Errorf("renew session: %w", err)
	}
	t.sessions.Put(ctx, keyTeacherID, teacher.ID)
	t.sessions.Put(ctx, keySignedInAt, t.clock.Now().UnixMilli())
	t.sessions.Put(ctx, keyLINEUser, digest(teacher.LINEUserID))
	t.sessions.Put(ctx, keyIDToken, digest(idToken))
	return keep(ctx, t.sessions)
}

// End ends the session of a teacher who is no longer linked.
func (t *Teachers) End(ctx context.Context) error {
	if err := t.sessions.Destroy(ctx); err != nil {
		return fmt.Errorf("destroy session: %w", err)
	}
	return nil
}

// TakeTry spends one of the tries that a LINE user has to name an invitation that exists. The error is ErrTooManyTries
// when none is left. ForgiveTries gives it back after one that does.
func (t *Teachers) TakeTry(lineUserID string) error {
	if _, until := t.tries.take(digest(lineUserID), t.clock.Now()); !until.IsZero() {
		return ErrTooManyTries
	}
	return nil
}

// ForgiveTries forgets the wrong tries of a LINE user.
func (t *Teachers) ForgiveTries(lineUserID string) { t.tries.forgive(digest(lineUserID)) }

// Visitor lets LINE say whom an ID token is about, teacher or not. The errors are those of SignIn but ErrStranger.
func (t *Teachers) Visitor(ctx context.Context, idToken string) (line.Identity, error) {
	if len(idToken) > maxTokenLength || !tokenForm.MatchString(idToken) {
		return line.Identity{}, line.ErrTokenInvalid
	}
	select {
	case t.asking <- struct{}{}:
		defer func() { <-t.asking }()
	case <-ctx.Done():
		return line.Identity{}, ctx.Err()
	}
	return t.verifier.VerifyIDToken(ctx, idToken, t.channel)
}

// digest stands for a secret where it only has to be recognized.
func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// loadSession is the middleware of a session manager: scs has one for net/http alone.
func loadSession(m *scs.SessionManager, log *slog.Logger, next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		token := ""
		if cookie, err := c.Cookie(m.Cookie.Name); err == nil {
			token = cookie.Value
		}
		ctx, err := m.Load(c.Request().Context(), token)
		if err != nil {
			return fmt.Errorf("load session: %w", err)
		}
		c.SetRequest(c.Request().WithContext(ctx))
		c.Response().Header().Add("Vary", "Cookie")
		c.Response().Before(func() { saveSession(ctx, m, log, c.Response()) })
		return next(c)
	}
}

// keep writes a session that somebody was just told they have. Without it, saveSession would find out too late to say so.
func keep(ctx context.Context, m *scs.SessionManager) error {
	if _, _, err := m.Commit(ctx); err != nil {
		return fmt.Errorf("save session: %w", err)
	}
	return nil
}

// saveSession writes a changed session and its cookie. The answer is on its way, so an error can only be logged: the
// change is lost, as if the browser had lost its cookie. What must not be lost is written by keep before.
func saveSession(ctx context.Context, m *scs.SessionManager, log *slog.Logger, w http.ResponseWriter) {
	switch m.Status(ctx) {
	case scs.Modified:
		token, expiry, err := m.Commit(ctx)
		if err != nil {
			log.ErrorContext(ctx, "save session", "error", err)
			return
		}
		m.WriteSessionCookie(ctx, w, token, expiry)
	case scs.Destroyed:
		m.WriteSessionCookie(ctx, w, "", time.Time{})
	}
}
