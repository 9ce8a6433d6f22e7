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
	v, err := s.settings(c.Request().Context())
	if err != nil {
		return err
	}
	return s.renderSettings(c, http.StatusOK, v)
}

// settings reads the forms of what is the whole school's.
func (s *Site) settings(ctx context.Context) (v views.Settings, err error) {
	set, err := s.store.Settings(ctx)
	if err != nil {
		return v, err
	}
	kept, err := s.store.Retention(ctx)
	if err != nil {
		return v, err
	}
	groups, err := s.groupsInUse(ctx)
	return views.Settings{Telling: views.NewTellingForm(set, groups), Records: views.NewRecordsForm(kept)}, err
}

// renderSettings shows the page with those forms.
func (s *Site) renderSettings(c echo.Context, status int, v views.Settings) error {
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
	v.NewLINE = len(untied)
	v.Groups = len(v.Telling.Groups)
	v.Classrooms = len(shelveClassrooms(classrooms).InUse)
	v.Patterns = len(shelvePatterns(patterns).InUse)
	v.Teachers = len(shelveTeachers(teachers).InUse)
	return s.render(c, screen{
		status: status,
		page:   views.Page{Title: text.T(ctx, "settings.title"), Place: views.PlaceSettings, Invalid: v.Invalid()},
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
	v, err := s.settings(f.ctx)
	if err != nil {
		return err
	}
	typed := f.text("undo_window")
	seconds, err := strconv.Atoi(typed)
	if err != nil || seconds < 0 || seconds > int(roster.MaxUndoWindow/time.Second) {
		f.refuse("undo_window", text.T(f.ctx, "settings.undo_bounds", "Minutes", int(roster.MaxUndoWindow/time.Minute)))
		v.Telling.Errors = f.errors
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
		v.Telling.UndoWindow = typed
		v.Telling.Stale = s.stale(set.UpdatedAt, views.TellingFacts(f.ctx, set))
		return s.renderSettings(c, http.StatusConflict, v)
	case err != nil:
		return err
	}
	s.flash(c, ui.Done, text.T(f.ctx, "settings.saved"))
	return redirect(c, "/settings")
}

// updateRetention sets how long records of what was sent are kept. It asks first when that erases some.
func (s *Site) updateRetention(c echo.Context) error {
	f, err := readForm(c)
	if err != nil {
		return err
	}
	editNumber, err := f.editNumber()
	if err != nil {
		return err
	}
	v, err := s.settings(f.ctx)
	if err != nil {
		return err
	}
	months, err := strconv.Atoi(f.text("months"))
	if err != nil {
		err = db.ErrRetention
	} else {
		v.Records.Months = strconv.Itoa(months)
		admin, _ := auth.Admin(f.ctx)
		err = s.store.EditRetention(f.ctx, editNumber, db.RetentionEdit{Months: months, Confirmed: f.checked("confirmed"), AdminID: admin.ID})
	}
	var erases *db.ErasesError
	switch {
	case errors.As(err, &erases):
		return s.askErasure(c, views.Erasure{Months: months, EditNumber: editNumber, Deliveries: erases.Deliveries})
	case errors.Is(err, db.ErrRetention):
		f.refuse("months", text.T(f.ctx, "settings.records.bounds", "Least", views.Months(f.ctx, roster.MinRetention), "Most", views.Months(f.ctx, roster.MaxRetention)))
		v.Records.Errors = f.errors
		return s.renderSettings(c, http.StatusUnprocessableEntity, v)
	case errors.Is(err, db.ErrEdited):
		set, err := s.store.Retention(f.ctx)
		if err != nil {
			return err
		}
		v.Records.Stale = s.stale(set.UpdatedAt, views.RecordsFacts(f.ctx, set))
		return s.renderSettings(c, http.StatusConflict, v)
	case err != nil:
		return err
	}
	s.flash(c, ui.Done, text.T(f.ctx, "settings.records.saved"))
	return redirect(c, "/settings")
}

// askErasure asks before records go for ever.
func (s *Site) askErasure(c echo.Context, e views.Erasure) error {
	ctx := c.Request().Context()
	e.From = roster.Retention{Months: e.Months}.KeptFrom(s.today())
	e.Within = s.store.DeliveryOptions().SweepEvery
	q := views.EraseQuestion(ctx, e)
	return s.render(c, screen{
		status: http.StatusConflict,
		page:   views.Page{Title: q.Title, Place: views.PlaceSettings, Styles: []string{"delivery.css"}},
		body:   views.QuestionPage(q, views.EraseCrumbs(ctx)),
	})
}
