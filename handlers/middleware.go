package handlers

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"runtime/debug"
	"strings"

	"github.com/labstack/echo/v4"

	"shiftpost/views/text"
)

const (
	// maxBody is the largest request body, in bytes.
	maxBody = 1 << 20
	// maxDrain is how much of a larger one is read and thrown away, so that a browser that is still sending gets to
	// read the answer.
	maxDrain = 8 << 20
	// requestIDHeader carries the number that the error page shows and the log has.
	requestIDHeader = "X-Request-Id"
	// loggedError is where the error handler leaves an error for the log.
	loggedError = "error"
)

// contentSecurityPolicy lets a page load and send nothing but to this site, and run no script but our own files.
const contentSecurityPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self'; " +
	"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// skipFor leaves a middleware out for some paths.
func skipFor(skip func(path string) bool, m echo.MiddlewareFunc) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		with := m(next)
		return func(c echo.Context) error {
			if skip(c.Request().URL.Path) {
				return next(c)
			}
			return with(c)
		}
	}
}

// logRequest gives each request a number and writes one line when it is answered. The line has the route, not the
// address: some addresses are secrets.
func (s *Site) logRequest(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		start := s.clock.Now()
		id := rand.Text()[:12]
		c.Response().Header().Set(requestIDHeader, id)
		if err := next(c); err != nil {
			c.Error(err)
		}
		level := slog.LevelInfo
		if c.Response().Status >= 500 {
			level = slog.LevelError
		}
		attrs := []slog.Attr{
			slog.String("request", id),
			slog.String("method", c.Request().Method),
			slog.String("route", c.Path()),
			slog.Int("status", c.Response().Status),
			slog.Duration("took", s.clock.Now().Sub(start)),
		}
		if err, ok := c.Get(loggedError).(error); ok {
			attrs = append(attrs, slog.Any("error", err))
		}
		s.log.LogAttrs(c.Request().Context(), level, "request", attrs...)
		return nil
	}
}

// requestID returns the number of a request.
func requestID(c echo.Context) string { return c.Response().Header().Get(requestIDHeader) }

// panicError is a panic of a handler with where it happened.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v\n%s", e.value, e.stack) }

// recoverPanic turns a panic into an error.
func recoverPanic(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) (err error) {
		defer func() {
			if v := recover(); v != nil {
				if v == http.ErrAbortHandler {
					panic(v)
				}
				err = &panicError{v, debug.Stack()}
			}
		}()
		return next(c)
	}
}

// secure sets the headers that keep browsers from doing more than a page needs. A handler may set its own policy.
func (s *Site) secure(next echo.HandlerFunc) echo.HandlerFunc {
	https := strings.HasPrefix(s.baseURL, "https://")
	return func(c echo.Context) error {
		h := c.Response().Header()
		h.Set("Content-Security-Policy", contentSecurityPolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		// Not no-referrer: with it browsers send Origin: null along with our own forms.
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=(), payment=()")
		if https {
			h.Set("Strict-Transport-Security", "max-age=31536000")
		}
		return next(c)
	}
}

// errOtherSite tells that another site made a visitor's browser send something here.
var errOtherSite = errors.New("request from another site")

// refuseOtherSites answers errOtherSite to requests that change something and come from another site's page.
func (s *Site) refuseOtherSites() echo.MiddlewareFunc {
	protection := http.NewCrossOriginProtection()
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			if err := protection.Check(c.Request()); err != nil {
				return fmt.Errorf("%w: %w", errOtherSite, err)
			}
			return next(c)
		}
	}
}

// limitBody refuses bodies over maxBody. The error is an *http.MaxBytesError, here or where the body is read.
func limitBody(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		body := r.Body
		r.Body = http.MaxBytesReader(c.Response().Writer, body, maxBody)
		err := error(nil)
		if r.ContentLength > maxBody {
			err = &http.MaxBytesError{Limit: maxBody}
		} else {
			err = next(c)
		}
		if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
			// Whether the rest can be read makes no difference to the answer.
			_, _ = io.CopyN(io.Discard, body, maxDrain)
		}
		return err
	}
}

// overrideMethod lets a form mean PUT, PATCH or DELETE, which browsers cannot post, by a field named _method. It changes
// the request in place, since the router looks at that one.
func overrideMethod(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); r.Method != http.MethodPost || kind != "application/x-www-form-urlencoded" {
			return next(c)
		}
		if err := parseForm(r); err != nil {
			return err
		}
		switch m := r.PostForm.Get("_method"); m {
		case "", http.MethodPost:
		case http.MethodPut, http.MethodPatch, http.MethodDelete:
			r.Method = m
		default:
			return fmt.Errorf("%w: method %.20q", errBadRequest, m)
		}
		return next(c)
	}
}

// parseForm reads a posted form; an error that is not its size is errBadRequest.
func parseForm(r *http.Request) error {
	err := r.ParseForm()
	if large := (*http.MaxBytesError)(nil); err == nil || errors.As(err, &large) {
		return err
	}
	return fmt.Errorf("%w: %w", errBadRequest, err)
}

// languageCookie keeps the language a visitor chose. It is no secret and says nothing about who they are.
const languageCookie = "shiftpost_language"

// inLanguage puts the language on a request: the one the visitor chose, else the one the browser asks for.
func inLanguage(r *http.Request) *http.Request {
	language := text.Accepted(r)
	if cookie, err := r.Cookie(languageCookie); err == nil {
		if chosen, ok := text.ParseLanguage(cookie.Value); ok {
			language = chosen
		}
	}
	return r.WithContext(text.WithLanguage(r.Context(), language))
}
