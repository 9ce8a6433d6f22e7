package handlers

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"shiftpost/db"
	"shiftpost/db/roster"
	"shiftpost/handlers/auth"
	"shiftpost/views"
	"shiftpost/views/text"
	"shiftpost/views/ui"
)

// showSettings lists what can be set up, with how much of each there is, and sets what is the whole school's.
func (s *Site) showSettings(c echo.Context) error {
	f, err := s.tellingForm(c.Request().Context())
	if err != nil {
		return err
	}
	return s.renderSettings(c, http.StatusOK, f)
}

// tellingForm reads how people are told.
func (s *Site) tellingForm(ctx context.Context) (views.TellingForm, error) {
	set, err := s.store.Settings(ctx)
	if err != nil {
		return views.TellingForm{}, err
	}
	groups, err := s.groupsInUse(ctx)
	return views.NewTellingForm(set, groups), err
}

func (s *Site) renderSettings(c echo.Context, status int, f views.TellingForm) error {
	ctx := c.Request().Context()
	classrooms, err := s.store.Classrooms(ctx)
	if err != nil {
		return err
	}
	patterns, err := s.store.Patterns(ctx)
	if err != nil {
		return err
	}
	teachers, err := s.store.Teachers(ctx)
	if err != nil {
		return err
	}
	untied, err := s.store.UntiedLINEGroups(ctx)
	if err != nil {
		return err
	}
	v := views.Settings{
		NewLINE:    len(untied),
		Groups:     len(f.Groups),
		Classrooms: len(shelveClassrooms(classrooms).InUse),
		Patterns:   len(shelvePatterns(patterns).InUse),
		Teachers:   len(shelveTeachers(teachers).InUse),
		Telling:    f,
	}
	return s.render(c, screen{
		status: status,
		page:   views.Page{Title: text.T(ctx, "settings.title"), Place: views.PlaceSettings, Invalid: len(f.Errors) > 0},
		body:   views.SettingsPage(v),
	})
}

// updateSettings sets how long a change waits before anybody is told of it.
func (s *Site) updateSettings(c echo.Context) error {
	f, err := readForm(c)
	if err != nil {
		return err
	}
	editNumber, err := f.editNumber()
	if err != nil {
		return err
	}
	v, err := s.tellingForm(f.ctx)
	if err != nil {
		return err
	}
	typed := f.text("undo_window")
	seconds, err := strconv.Atoi(typed)
	if err != nil || seconds < 0 || seconds > int(roster.MaxUndoWindow/time.Second) {
		f.refuse("undo_window", text.T(f.ctx, "settings.undo_bounds", "Minutes", int(roster.MaxUndoWindow/time.Minute)))
		v.Errors = f.errors
		return s.renderSettings(c, http.StatusUnprocessableEntity, v)
	}
	admin, _ := auth.Admin(f.ctx)
	err = s.store.EditSettings(f.ctx, editNumber, db.SettingsEdit{UndoWindow: time.Duration(seconds) * time.Second, AdminID: admin.ID})
	switch {
	case errors.Is(err, db.ErrEdited):
		set, err := s.store.Settings(f.ctx)
		if err != nil {
			return err
		}
		v.UndoWindow = typed
		v.Stale = s.stale(set.UpdatedAt, views.TellingFacts(f.ctx, set))
		return s.renderSettings(c, http.StatusConflict, v)
	case err != nil:
		return err
	}
	s.flash(c, ui.Done, text.T(f.ctx, "settings.saved"))
	return redirect(c, "/settings")
}
