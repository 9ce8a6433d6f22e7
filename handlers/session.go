package handlers

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"shiftpost/handlers/auth"
	"shiftpost/views"
	"shiftpost/views/text"
	"shiftpost/views/ui"
)

// newSession shows the sign-in form. Who is signed in already is led on.
func (s *Site) newSession(c echo.Context) error {
	back := localPath(c.QueryParam("return"))
	if _, ok := auth.Admin(c.Request().Context()); ok {
		return c.Redirect(http.StatusSeeOther, back)
	}
	return s.showSignIn(c, http.StatusOK, views.SignInForm{Return: back, Ended: c.QueryParam("ended") != ""})
}

// createSession signs an admin in and leads on to where they wanted to go.
func (s *Site) createSession(c echo.Context) error {
	f, err := readForm(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	form := views.SignInForm{Email: f.text("email"), Return: localPath(f.values.Get("return"))}
	// A password is taken as it was typed, spaces included.
	err = s.auth.SignIn(ctx, form.Email, f.values.Get("password"), c.RealIP())
	wrong, throttled := (*auth.WrongError)(nil), (*auth.ThrottledError)(nil)
	switch {
	case err == nil:
		return redirect(c, form.Return)
	case errors.As(err, &wrong) && wrong.Left > 0:
		form.Help = text.N(ctx, "session.wrong", wrong.Left)
		return s.showSignIn(c, http.StatusUnprocessableEntity, form)
	case errors.As(err, &wrong):
		throttled = &auth.ThrottledError{Until: wrong.Until}
	case !errors.As(err, &throttled):
		return fmt.Errorf("sign in: %w", err)
	}
	form.Help = text.T(ctx, "session.throttled", "Time", text.Clock(throttled.Until, s.loc))
	seconds := int(throttled.Until.Sub(s.clock.Now()).Seconds()) + 1
	c.Response().Header().Set("Retry-After", strconv.Itoa(seconds))
	return s.showSignIn(c, http.StatusTooManyRequests, form)
}

// deleteSession signs the admin out.
func (s *Site) deleteSession(c echo.Context) error {
	if err := s.auth.SignOut(c.Request().Context()); err != nil {
		return err
	}
	return redirect(c, "/session/new")
}

func (s *Site) showSignIn(c echo.Context, status int, form views.SignInForm) error {
	ctx := c.Request().Context()
	return s.render(c, screen{
		status: status,
		page:   views.Page{Title: text.T(ctx, "session.title"), Invalid: form.Help != ""},
		body:   views.SignInPage(form),
		layout: views.SignInLayout,
	})
}

// showSignInLink shows the button that uses a sign-in link. Looking at it does not use it up.
func (s *Site) showSignInLink(c echo.Context) error {
	token := c.Param("token")
	ctx := c.Request().Context()
	v := screen{
		page:   views.Page{Title: text.T(ctx, "session.title")},
		body:   views.SignInLinkPage(token),
		layout: views.SignInLayout,
	}
	if !s.auth.SignInLinkValid(token) {
		v.status = http.StatusGone
		v.body = views.SignInLinkSpentPage()
	}
	return s.render(c, v)
}

// useSignInLink signs in by a link that was not used yet.
func (s *Site) useSignInLink(c echo.Context) error {
	err := s.auth.UseSignInLink(c.Request().Context(), c.Param("token"))
	if errors.Is(err, auth.ErrLinkSpent) {
		return redirect(c, "/sign-in-links/"+c.Param("token"))
	}
	if err != nil {
		return err
	}
	s.flash(c, ui.Done, text.T(c.Request().Context(), "session.signed_in"))
	return redirect(c, "/")
}
