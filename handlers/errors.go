package handlers

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"shiftpost/db"
	"shiftpost/db/files"
	"shiftpost/db/roster"
	"shiftpost/handlers/auth"
	"shiftpost/views"
	"shiftpost/views/text"
)

// errBadRequest tells that a request cannot have come from a page of ours.
var errBadRequest = errors.New("bad request")

// problem is an error as it is answered.
type problem struct {
	status int
	key    string // of its sentences in the catalog, below "problems."
}

// problemOf says how an error is answered. It is the only place that knows.
func problemOf(err error) problem {
	var large *http.MaxBytesError
	var framework *echo.HTTPError
	switch {
	case errors.Is(err, db.ErrNotFound):
		return problem{http.StatusNotFound, "not_found"}
	case errors.Is(err, roster.ErrMonth):
		return problem{http.StatusNotFound, "month"}
	case errors.Is(err, files.ErrNotFound), errors.Is(err, files.ErrDamaged):
		return problem{http.StatusInternalServerError, "picture"}
	case errors.Is(err, errOtherSite):
		return problem{http.StatusForbidden, "other_site"}
	case errors.Is(err, errBadRequest):
		return problem{http.StatusBadRequest, "bad_request"}
	case errors.As(err, &large):
		return problem{http.StatusRequestEntityTooLarge, "too_large"}
	case errors.As(err, &framework):
		switch framework.Code {
		case http.StatusNotFound:
			return problem{framework.Code, "not_found"}
		case http.StatusMethodNotAllowed:
			return problem{framework.Code, "method"}
		}
		if framework.Code >= 400 && framework.Code < 500 {
			return problem{framework.Code, "bad_request"}
		}
	}
	return problem{http.StatusInternalServerError, "internal"}
}

// handleError answers an error: a page, or above the page that htmx left standing. The log gets the whole chain, the
// visitor a sentence and the request's number.
func (s *Site) handleError(err error, c echo.Context) {
	if c.Response().Committed {
		c.Set(loggedError, err)
		return
	}
	if errors.Is(err, auth.ErrSignedOut) {
		if err = s.sendToSignIn(c); err == nil {
			return
		}
	}
	p := problemOf(err)
	if p.status != http.StatusNotFound {
		c.Set(loggedError, err)
	}
	if errors.Is(err, context.Canceled) && c.Request().Context().Err() != nil {
		// Nobody is there to read an answer. 499 is what nginx logs for it.
		c.Response().Status = 499
		c.Response().Committed = true
		return
	}
	if err := s.showProblem(c, p); err != nil {
		if first, ok := c.Get(loggedError).(error); ok {
			err = errors.Join(first, err)
		}
		c.Set(loggedError, err)
		// The page itself cannot be drawn, for example because the database is gone.
		if !c.Response().Committed {
			s.showBareProblem(c, problem{http.StatusInternalServerError, "internal"})
		}
	}
}

// sendToSignIn leads somebody who is not signed in, or whose session ended, to the sign-in page, and after it back to
// where they were.
func (s *Site) sendToSignIn(c echo.Context) error {
	r := c.Request()
	back := here(r)
	if byHTMX(r) {
		back = pageOf(r)
	}
	query := url.Values{}
	if back != "/" {
		query.Set("return", back)
	}
	if _, err := c.Cookie(s.auth.Sessions.Cookie.Name); err == nil {
		query.Set("ended", "true")
	}
	path := "/session/new"
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	if byHTMX(r) {
		c.Response().Header().Set("HX-Redirect", path)
		return c.NoContent(http.StatusUnauthorized)
	}
	return c.Redirect(http.StatusSeeOther, path)
}

func (s *Site) showProblem(c echo.Context, p problem) error {
	t := problemText(c, p)
	v := screen{status: p.status, page: views.Page{Title: t.Title}, body: views.Problem(t), fragment: views.ProblemNotice(t)}
	if _, ok := auth.Admin(c.Request().Context()); !ok {
		v.layout = views.Bare
	}
	return s.render(c, v)
}

// showBareProblem draws the page with nothing from the database.
func (s *Site) showBareProblem(c echo.Context, p problem) {
	t := problemText(c, p)
	var b bytes.Buffer
	ctx := templ.WithChildren(c.Request().Context(), views.Problem(t))
	if views.Bare(views.Page{Title: t.Title, Frame: views.Frame{Path: "/"}}).Render(ctx, &b) == nil {
		_ = c.HTMLBlob(p.status, b.Bytes()) // the visitor may be gone
	}
}

func problemText(c echo.Context, p problem) views.ProblemText {
	ctx := c.Request().Context()
	t := views.ProblemText{
		Title: text.T(ctx, "problems."+p.key+".title"),
		Help:  text.T(ctx, "problems."+p.key+".help"),
	}
	if p.status >= 500 {
		t.RequestID = requestID(c)
	}
	return t
}
