package handlers

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"shiftpost/db"
	"shiftpost/handlers/auth"
	"shiftpost/views"
	"shiftpost/views/text"
)

// errNoCalendar tells that an address of a calendar is unknown or has ended.
var errNoCalendar = errors.New("no such calendar")

// createCalendar makes the secret address under which a teacher subscribes to their shifts, and shows it this once.
func (s *Site) createCalendar(c echo.Context) error {
	ctx := c.Request().Context()
	token, err := s.store.CreateCalendar(ctx, reader(c).ID, string(text.LanguageOf(ctx)))
	if err != nil {
		return err
	}
	address := s.origin(c.Request()) + "/calendars/" + token + ".ics"
	_, rest, _ := strings.Cut(address, "://")
	return s.drawCalendar(c, views.CalendarPanel{Exists: true, Address: address, WebCal: "webcal://" + rest})
}

// deleteCalendar ends the address.
func (s *Site) deleteCalendar(c echo.Context) error {
	if err := s.store.DeleteCalendar(c.Request().Context(), reader(c).ID); err != nil {
		return err
	}
	return s.drawCalendar(c, views.CalendarPanel{})
}

func (s *Site) drawCalendar(c echo.Context, p views.CalendarPanel) error {
	c.Response().Header().Set("Cache-Control", "no-store")
	return s.renderViewer(c, http.StatusOK, text.T(c.Request().Context(), "viewer.calendar.title"), views.ViewerCalendar(p))
}

// origin is where browsers find the site.
func (s *Site) origin(r *http.Request) string {
	if s.baseURL != "" {
		return s.baseURL
	}
	return "http://" + r.Host
}

// showCalendar answers a secret address: all shifts of its teacher, as a calendar program asks for them again and again.
func (s *Site) showCalendar(c echo.Context) error {
	token, ok := strings.CutSuffix(c.Param("file"), ".ics")
	if !ok {
		return errNoCalendar
	}
	ctx := c.Request().Context()
	k, err := s.store.Calendar(ctx, token)
	if errors.Is(err, db.ErrNotFound) {
		return errNoCalendar
	}
	if err != nil {
		return err
	}
	if l, ok := text.ParseLanguage(k.Language); ok {
		ctx = text.WithLanguage(ctx, l)
	}
	c.Response().Header().Set("Cache-Control", "private, no-cache")
	return c.Blob(http.StatusOK, calendarType, views.Calendar(ctx, k, s.host(c.Request()), s.loc))
}

const calendarType = "text/calendar; charset=utf-8"

// host names the site in the identifiers of calendar entries.
func (s *Site) host(r *http.Request) string {
	u, err := url.Parse(s.origin(r))
	if err != nil {
		return "shiftpost"
	}
	return u.Hostname()
}

// shiftCalendars gives the addresses of calendar files with one shift of a teacher. Each is good without a session for
// as long as a session lasts, since LINE's browser keeps no files and hands the address to another browser. It is signed
// with a key of this process: a new start ends them all.
func (s *Site) shiftCalendars(teacherID int64) func(shiftID int64) string {
	until := s.clock.Now().Add(auth.TeacherSessionLifetime).Unix()
	return func(shiftID int64) string {
		q := url.Values{
			"teacher": {strconv.FormatInt(teacherID, 10)},
			"until":   {strconv.FormatInt(until, 10)},
			"key":     {s.sign(teacherID, shiftID, until)},
		}
		return "/calendars/shifts/" + strconv.FormatInt(shiftID, 10) + ".ics?" + q.Encode()
	}
}

// sign is the proof that this process made an address. Until counts unix seconds.
func (s *Site) sign(teacherID, shiftID, until int64) string {
	m := hmac.New(sha256.New, s.calendarKey)
	fmt.Fprintf(m, "%d/%d/%d", teacherID, shiftID, until)
	return base64.RawURLEncoding.EncodeToString(m.Sum(nil))
}

// showShiftCalendar answers a signed address with a calendar file of one shift.
func (s *Site) showShiftCalendar(c echo.Context) error {
	file, ok := strings.CutSuffix(c.Param("file"), ".ics")
	shiftID, isID := parseID(file)
	teacherID, isTeacher := parseID(c.QueryParam("teacher"))
	until, isTime := parseID(c.QueryParam("until"))
	if !ok || !isID || !isTeacher || !isTime || !hmac.Equal([]byte(c.QueryParam("key")), []byte(s.sign(teacherID, shiftID, until))) {
		return fmt.Errorf("%w: not made by this process", errNoCalendar)
	}
	if !s.clock.Now().Before(time.Unix(until, 0)) {
		return fmt.Errorf("%w: it ran out", errNoCalendar)
	}
	ctx := c.Request().Context()
	x, err := s.store.PublishedShift(ctx, teacherID, shiftID)
	if errors.Is(err, db.ErrNotFound) {
		return errNoCalendar
	}
	if err != nil {
		return err
	}
	h := c.Response().Header()
	h.Set("Cache-Control", "private, no-store")
	h.Set("Content-Disposition", attachment(views.ShiftCalendarName(ctx, x)))
	return c.Blob(http.StatusOK, calendarType, views.ShiftCalendar(ctx, x, s.host(c.Request()), s.loc))
}
