// Package handlers is the site: the table of routes, and for each thing a file that reads a request, calls one method
// of the store and draws a page or leads on.
//
// A handler returns an error instead of an error page; errors.go makes a plain sentence and a status of it. Bad input
// is not an error: the same form comes back with 422 and what was typed.
package handlers

import (
	"crypto/rand"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/labstack/echo/v4"
	"golang.org/x/sync/singleflight"

	"shiftpost/db"
	"shiftpost/db/files"
	"shiftpost/db/roster"
	"shiftpost/handlers/auth"
)

// Options are what a site is made of.
type Options struct {
	Store    *db.Store
	Auth     *auth.Auth
	LINE     LINE            // asked while somebody waits; nil: LINE is not connected
	Files    *files.Store    // the rendered pictures
	Viewer   ViewerOptions   // how teachers get in from LINE
	Renderer Renderer        // draws the pictures
	Wake     func()          // told when a delivery was queued; nil: nobody
	Clock    clockwork.Clock // nil: the real one
	Location *time.Location  // the school's time zone; nil: UTC
	BaseURL  string          // where browsers find the site: https://shift.example.jp
	Logger   *slog.Logger    // nil: slog.Default()
	// WebhookSecret is the channel secret that LINE signs its webhooks with; empty: none is taken for LINE's.
	WebhookSecret string
}

// Site answers the requests of admins and teachers.
type Site struct {
	store    *db.Store
	auth     *auth.Auth
	files    *files.Store
	viewer   ViewerOptions
	renderer Renderer
	drawing  singleflight.Group // of sheets, by their hash
	wake     func()
	clock    clockwork.Clock
	loc      *time.Location
	baseURL  string
	log      *slog.Logger
	echo     *echo.Echo

	line          LINE
	webhookSecret string
	memberCheck   memberCheck
	accountMemory accountMemory

	calendarKey []byte // signs the addresses of calendar files
}

// New makes a site. It starts nothing: it is an http.Handler.
func New(o Options) *Site {
	s := &Site{store: o.Store, auth: o.Auth, files: o.Files, viewer: o.Viewer, renderer: o.Renderer, wake: o.Wake, clock: o.Clock, loc: o.Location, baseURL: strings.TrimSuffix(o.BaseURL, "/"), log: o.Logger, line: o.LINE, webhookSecret: o.WebhookSecret, calendarKey: []byte(rand.Text())}
	if s.clock == nil {
		s.clock = clockwork.NewRealClock()
	}
	if s.loc == nil {
		s.loc = time.UTC
	}
	if s.log == nil {
		s.log = slog.Default()
	}
	if s.wake == nil {
		s.wake = func() {}
	}
	s.echo = echo.New()
	s.echo.HideBanner = true
	s.echo.HidePort = true
	s.echo.HTTPErrorHandler = s.handleError
	// A proxy on this machine or on a private network may say for whom it asks; nobody else may.
	s.echo.IPExtractor = echo.ExtractIPFromXFFHeader()
	// From the outside in. What comes before the router may still change the method.
	s.echo.Pre(s.logRequest, recoverPanic, s.secure, skipFor(fromLINE, s.refuseOtherSites()), skipFor(fromLINE, limitBody), skipFor(fromLINE, overrideMethod))
	s.echo.Use(skipFor(sessionless, s.auth.Load), skipFor(sessionless, s.auth.Identify))
	s.register()
	return s
}

// ServeHTTP answers a request.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.echo.ServeHTTP(w, inLanguage(r)) }

// today returns the present date at the school.
func (s *Site) today() roster.Date { return roster.DateOf(s.clock.Now(), s.loc) }
