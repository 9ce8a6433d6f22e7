package handlers

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"shiftpost/views/text"
)

// setLanguage keeps the chosen language for a year and comes back to the page it was chosen on.
func (s *Site) setLanguage(c echo.Context) error {
	f, err := readForm(c)
	if err != nil {
		return err
	}
	language, ok := text.ParseLanguage(f.text("language"))
	if !ok {
		return fmt.Errorf("%w: language %.20q", errBadRequest, f.text("language"))
	}
	c.SetCookie(&http.Cookie{
		Name:     languageCookie,
		Value:    string(language),
		Path:     "/",
		MaxAge:   int((365 * 24 * time.Hour).Seconds()),
		HttpOnly: true,
		Secure:   strings.HasPrefix(s.baseURL, "https://"),
		SameSite: http.SameSiteLaxMode,
	})
	return c.Redirect(http.StatusSeeOther, localPath(f.values.Get("return")))
}
