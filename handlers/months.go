package handlers

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path"

	"github.com/labstack/echo/v4"

	"shiftpost/db/roster"
	"shiftpost/views"
	"shiftpost/views/text"
	"shiftpost/views/ui"
)

// month reads the group and the month that an address names. The error is db.ErrNotFound or roster.ErrMonth.
func (s *Site) month(c echo.Context) (roster.Group, roster.Month, error) {
	g, err := s.group(c)
	if err != nil {
		return g, roster.Month{}, err
	}
	m, err := roster.ParseMonth(c.Param("month"))
	return g, m, err
}

// monthView reads a month as its page shows it, with that day on a phone. A day outside of the month stands for the
// present one, or the first of another month.
func (s *Site) monthView(ctx context.Context, groupID int64, m roster.Month, day roster.Date) (views.Month, error) {
	v, err := s.store.Month(ctx, groupID, m)
	if err != nil {
		return views.Month{}, err
	}
	today := s.today()
	if !m.Contains(day) {
		day = today
	}
	if !m.Contains(day) {
		day = m.First()
	}
	return views.Month{
		Group: v.Group, Month: m, Today: today, Day: day,
		Classrooms: v.Classrooms, Elsewhere: v.Elsewhere, Teachers: v.Teachers, Shifts: v.Shifts, Patterns: v.Patterns,
		Newest: v.Newest, Changes: v.Changes,
	}, nil
}

// showMonth shows a group's month.
func (s *Site) showMonth(c echo.Context) error {
	g, m, err := s.month(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	day, _ := roster.ParseDate(c.QueryParam("day"))
	v, err := s.monthView(ctx, g.ID, m, day)
	if err != nil {
		return err
	}
	return s.render(c, screen{
		page: views.Page{Title: text.Month(ctx, m), Place: views.PlaceMonth, Wide: true, Month: m, Styles: []string{"month.css"}, Scripts: []string{"js/month.js"}},
		body: views.MonthPage(v),
	})
}

// createConfirmations confirms all drafts of a month.
func (s *Site) createConfirmations(c echo.Context) error {
	g, m, err := s.month(c)
	if err != nil {
		return err
	}
	f, err := readForm(c)
	if err != nil {
		return err
	}
	n, err := s.store.ConfirmMonth(f.ctx, g.ID, m)
	if err != nil {
		return err
	}
	if n > 0 {
		s.flash(c, ui.Done, text.N(f.ctx, "months.were_confirmed", n))
	} else {
		s.flash(c, ui.Attention, text.T(f.ctx, "months.nothing_confirmed"))
	}
	if f.values.Has("return") {
		return redirect(c, localPath(f.values.Get("return")))
	}
	return redirect(c, views.MonthPath(g.ID, m))
}

// showSaved answers a form that was saved: above the grid the grid anew, with what was done, and the focus goes back to
// the cell; else the month's page.
func (s *Site) showSaved(c echo.Context, g roster.Group, m roster.Month, cell roster.Shift, said views.Said) error {
	if !wantsFragment(c.Request()) {
		s.flash(c, ui.Done, said.Text)
		return redirect(c, views.DayPath(g.ID, cell.Date))
	}
	v, err := s.monthView(c.Request().Context(), g.ID, m, cell.Date)
	if err != nil {
		return err
	}
	v.Said = &said
	h := c.Response().Header()
	h.Set("HX-Retarget", "#month")
	h.Set("HX-Reswap", "outerHTML")
	h.Set("HX-Trigger-After-Swap", fmt.Sprintf(`{"shift-saved":{"cell":"%d-%s"}}`, cell.TeacherID, cell.Date))
	return s.render(c, screen{body: views.MonthFragment(v)})
}

// monthOfPage is the month of the page that a form above a grid was sent from, the given one if it is not known.
func monthOfPage(r *http.Request, otherwise roster.Month) roster.Month {
	u, err := url.Parse(pageOf(r))
	if err != nil {
		return otherwise
	}
	m, err := roster.ParseMonth(path.Base(u.Path))
	if err != nil {
		return otherwise
	}
	return m
}
