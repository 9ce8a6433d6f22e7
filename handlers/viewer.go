package handlers

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"shiftpost/db"
	"shiftpost/handlers/auth"
	"shiftpost/jobs/line"
	"shiftpost/views"
	"shiftpost/views/text"
)

// ViewerOptions say how teachers get in from LINE.
type ViewerOptions struct {
	Sessions *auth.Teachers // nil: nobody gets in
	// LIFFID names the LIFF app at LINE; empty while LINE is not connected.
	LIFFID      string
	LIFFBaseURL string // https://liff.line.me; with the id and a path it opens a page inside LINE
	SDKURL      string // the LIFF SDK's classic script
	APIBaseURL  string // https://api.line.me, which the SDK asks from the page
}

// viewerPath is where the LIFF app's endpoint URL points. One and the same shell answers it and everything below: the
// SDK must run on the first page (with liff.state) and on the second, before anything changes the address.
// Source: https://developers.line.biz/en/docs/liff/opening-liff-app/ , read in October 2026.
const viewerPath = "/liff"

// reasonHeader tells the viewer's script why an answer is not what it asked for.
const reasonHeader = "Viewer-Reason"

// forTeachers lists the routes of the viewer. The shell is for everybody and knows nobody.
func (s *Site) forTeachers() []route {
	routes := []route{
		{http.MethodGet, viewerPath, s.showShell},
		{http.MethodGet, viewerPath + "/*", s.showShell},
	}
	if s.viewer.Sessions == nil {
		return routes
	}
	return append(routes, []route{
		{http.MethodPost, "/viewer/session", s.ofTeacher(s.createViewerSession)},
		{http.MethodPost, "/viewer/invitations", s.ofTeacher(s.showInvitation)},
		{http.MethodPost, "/viewer/link", s.ofTeacher(s.createLink)},
		{http.MethodGet, "/viewer/link", s.ofTeacher(requireTeacher(s.showLink))},
		{http.MethodDelete, "/viewer/link", s.ofTeacher(requireTeacher(s.deleteLink))},
		{http.MethodPost, "/viewer/friendship", s.ofTeacher(requireTeacher(s.showFriendship))},
		{http.MethodGet, "/viewer", s.ofTeacher(requireViewer(s.showPresentDocument))},
		{http.MethodGet, "/viewer/*", s.ofTeacher(requireViewer(s.showNothing))},
		{http.MethodGet, "/viewer/documents/:documentId", s.ofTeacher(requireViewer(s.showDocument))},
		{http.MethodPost, "/viewer/documents/:documentId/confirmation", s.ofTeacher(requireTeacher(s.confirmDocument))},
		{http.MethodPost, "/viewer/notices", s.ofTeacher(requireTeacher(s.switchNotices))},
		{http.MethodPost, "/viewer/calendar", s.ofTeacher(requireTeacher(s.createCalendar))},
		{http.MethodDelete, "/viewer/calendar", s.ofTeacher(requireTeacher(s.deleteCalendar))},
		{http.MethodGet, "/calendars/:file", s.inViewer(s.showCalendar)},
		{http.MethodGet, "/calendars/shifts/:file", s.inViewer(s.showShiftCalendar)},
		{http.MethodGet, "/viewer/documents/:documentId/pages/:page", s.ofTeacher(requireViewer(s.showDocumentPage))},
	}...)
}

// ofTeacher puts the teacher's session on a request, and answers its errors as the viewer does.
func (s *Site) ofTeacher(next echo.HandlerFunc) echo.HandlerFunc {
	return s.inViewer(s.viewer.Sessions.Load(s.viewer.Sessions.Identify(next)))
}

// inViewer answers a request's errors as the viewer does.
func (s *Site) inViewer(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if err := next(c); err != nil {
			return s.showViewerProblem(c, err)
		}
		return nil
	}
}

// requireTeacher refuses who is no teacher, admins too, with auth.ErrNoTeacher or auth.ErrStranger.
func requireTeacher(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if _, err := auth.Teacher(c.Request().Context()); err != nil {
			return err
		}
		return next(c)
	}
}

// requireViewer refuses who is neither a teacher nor an admin with auth.ErrNoTeacher or auth.ErrStranger.
func requireViewer(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		ctx := c.Request().Context()
		if _, err := auth.Teacher(ctx); err != nil {
			if _, ok := auth.Admin(ctx); !ok {
				return err
			}
		}
		return next(c)
	}
}

// showShell is the empty page that LINE opens. It holds nothing about the school: who looks is not known yet.
func (s *Site) showShell(c echo.Context) error {
	h := c.Response().Header()
	h.Set("Content-Security-Policy", shellPolicy(s.viewer))
	h.Set("Cache-Control", "no-cache")
	shell := views.Shell{
		LIFFID: s.viewer.LIFFID, SDKURL: s.viewer.SDKURL, Path: here(c.Request()),
		LIFFURL: s.liffURL(),
	}
	return drawHTML(c, http.StatusOK, views.ViewerShell(shell))
}

// shellPolicy is the content security policy of the shell alone: LINE's script may run there and ask LINE.
// Source of the hosts: the SDK 2.31.0, which loads parts of itself from other hosts of line-scdn.net and calls
// api.line.me and access.line.me; looked at in October 2026.
func shellPolicy(v ViewerOptions) string {
	script := origins(v.SDKURL, "https://static.line-scdn.net", "https://*.line-scdn.net")
	connect := origins(v.SDKURL, v.APIBaseURL, v.LIFFBaseURL,
		"https://static.line-scdn.net", "https://*.line-scdn.net", "https://api.line.me", "https://access.line.me", "https://liff.line.me")
	return strings.NewReplacer(
		"script-src 'self'", "script-src 'self' "+script,
		"connect-src 'self'", "connect-src 'self' "+connect,
	).Replace(contentSecurityPolicy)
}

// origins lists the origins of addresses, each once, as a policy takes them.
func origins(addresses ...string) string {
	var list []string
	for _, a := range addresses {
		u, err := url.Parse(a)
		if err != nil || u.Scheme == "" || u.Host == "" {
			continue
		}
		if o := u.Scheme + "://" + u.Host; !slices.Contains(list, o) {
			list = append(list, o)
		}
	}
	return strings.Join(list, " ")
}

// createViewerSession signs a teacher in by the ID token that LINE gave the page.
func (s *Site) createViewerSession(c echo.Context) error {
	f, err := readForm(c)
	if err != nil {
		return err
	}
	if _, err := s.viewer.Sessions.SignIn(c.Request().Context(), f.values.Get("id_token")); err != nil {
		return err
	}
	c.Response().Header().Set("Cache-Control", "no-store")
	return c.NoContent(http.StatusNoContent)
}

// showNothing answers what the viewer has no page for.
func (s *Site) showNothing(echo.Context) error { return db.ErrNotFound }

// switchNotices switches a teacher's LINE notices on or off.
func (s *Site) switchNotices(c echo.Context) error {
	f, err := readForm(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	t := reader(c)
	t.NoticesOn = f.text("notices") == "on"
	if err := s.store.SetNotices(ctx, t.ID, t.NoticesOn); err != nil {
		return err
	}
	s.wake()
	c.Response().Header().Set("Cache-Control", "no-store")
	return s.renderViewer(c, http.StatusOK, text.T(ctx, "viewer.notices.title"), views.ViewerNotices(t))
}

// viewerProblemOf says how the viewer answers an error: the status, the reason for the script, and the key of the
// sentences below "viewer.problems.". Everything else is answered as on the admin site, in the viewer's clothes.
func viewerProblemOf(err error) (status int, reason string) {
	switch {
	case errors.Is(err, auth.ErrNoTeacher):
		return http.StatusUnauthorized, "session"
	case errors.Is(err, line.ErrTokenExpired):
		return http.StatusUnauthorized, "expired"
	case errors.Is(err, line.ErrTokenInvalid), errors.Is(err, line.ErrTokenAudience):
		return http.StatusUnauthorized, "invalid"
	case errors.Is(err, auth.ErrStranger):
		return http.StatusForbidden, "stranger"
	case errors.Is(err, line.ErrNotAsked):
		return http.StatusServiceUnavailable, "line"
	case errors.Is(err, errNoInvitation):
		return http.StatusNotFound, "invitation_unknown"
	case errors.Is(err, db.ErrInvitationExpired):
		return http.StatusGone, "invitation_expired"
	case errors.Is(err, db.ErrInvitationUsed):
		return http.StatusGone, "invitation_used"
	case errors.Is(err, db.ErrInvitationRevoked):
		return http.StatusGone, "invitation_revoked"
	case errors.Is(err, db.ErrLinkTaken):
		return http.StatusConflict, "invitation_taken"
	case errors.Is(err, auth.ErrTooManyTries):
		return http.StatusTooManyRequests, "invitation_tries"
	case errors.Is(err, errNoCalendar):
		return http.StatusNotFound, "calendar"
	case errors.Is(err, errNothingPublished):
		return http.StatusNotFound, "unpublished"
	case errors.Is(err, db.ErrNotFound):
		return http.StatusNotFound, "document"
	}
	return problemOf(err).status, "internal"
}

// showViewerProblem answers an error with a sentence for the teacher, and with its reason for the script.
func (s *Site) showViewerProblem(c echo.Context, err error) error {
	if c.Response().Committed || errors.Is(err, context.Canceled) {
		return err
	}
	status, reason := viewerProblemOf(err)
	switch {
	case reason == "internal", reason == "line":
		c.Set(loggedError, err)
	case errors.Is(err, line.ErrTokenAudience):
		// Every teacher meets it when LINE_LOGIN_CHANNEL_ID is not the channel of the LIFF app.
		c.Set(loggedError, err)
	}
	h := c.Response().Header()
	h.Set(reasonHeader, reason)
	h.Set("Cache-Control", "no-store")
	m := views.ViewerMessage{Reason: reason}
	if status >= 500 {
		m.RequestID = requestID(c)
	}
	return s.renderViewer(c, status, text.T(c.Request().Context(), "viewer.problems."+reason+".title"), views.ViewerProblem(m))
}

// renderViewer answers with a part of the viewer's page: what its script asks for. A browser that opens the address by
// itself gets the page around it.
func (s *Site) renderViewer(c echo.Context, status int, title string, body templ.Component) error {
	r := c.Request()
	c.Response().Header().Add("Vary", "Sec-Fetch-Dest")
	if !navigates(r) {
		return drawHTML(c, status, body)
	}
	ctx := templ.WithChildren(r.Context(), body)
	c.SetRequest(r.WithContext(ctx))
	return drawHTML(c, status, views.ViewerLayout(title))
}

// navigates reports whether a browser asks for a page to show by itself, and not a script for a part of one.
func navigates(r *http.Request) bool { return r.Header.Get("Sec-Fetch-Dest") == "document" }

// drawHTML draws into memory first, so that an error while drawing does not become half a page.
func drawHTML(c echo.Context, status int, body templ.Component) error {
	var b bytes.Buffer
	if err := body.Render(c.Request().Context(), &b); err != nil {
		return err
	}
	return c.HTMLBlob(status, b.Bytes())
}
