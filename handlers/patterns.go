package handlers

import (
	"errors"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"shiftpost/db"
	"shiftpost/db/roster"
	"shiftpost/views"
	"shiftpost/views/text"
	"shiftpost/views/ui"
)

func shelvePatterns(list []roster.Pattern) views.Shelf[roster.Pattern] {
	return views.Shelve(list, func(p roster.Pattern) time.Time { return p.ArchivedAt })
}

// listPatterns shows the patterns and, below, the ones that were put away.
func (s *Site) listPatterns(c echo.Context) error {
	ctx := c.Request().Context()
	patterns, err := s.store.Patterns(ctx)
	if err != nil {
		return err
	}
	return s.render(c, screen{
		page: views.Page{Title: text.T(ctx, "patterns.title"), Place: views.PlaceSettings},
		body: views.PatternListPage(shelvePatterns(patterns)),
	})
}

func (s *Site) newPattern(c echo.Context) error {
	return s.showPatternForm(c, http.StatusOK, views.NewPatternForm(roster.Pattern{}))
}

// pattern reads the pattern that an address names. The error is db.ErrNotFound.
func (s *Site) pattern(c echo.Context) (roster.Pattern, error) {
	patternID, err := idParam(c, "pattern")
	if err != nil {
		return roster.Pattern{}, err
	}
	return s.store.Pattern(c.Request().Context(), patternID)
}

func (s *Site) editPattern(c echo.Context) error {
	p, err := s.pattern(c)
	if err != nil {
		return err
	}
	return s.showPatternForm(c, http.StatusOK, views.NewPatternForm(p))
}

func (s *Site) showPatternForm(c echo.Context, status int, f views.PatternForm) error {
	title := f.Pattern.Name
	if f.New() {
		title = text.T(c.Request().Context(), "patterns.new")
	}
	return s.render(c, screen{
		status: status,
		page:   views.Page{Title: title, Place: views.PlaceSettings, Invalid: len(f.Errors) > 0},
		body:   views.PatternFormPage(f),
	})
}

// readPattern reads a posted pattern into the form that would show it again.
func readPattern(f *form, v *views.PatternForm) db.PatternEdit {
	e := db.PatternEdit{
		Name:   f.required("name", text.T(f.ctx, "patterns.name"), roster.MaxNameLength),
		Letter: f.required("letter", text.T(f.ctx, "patterns.letter"), roster.MaxLetterLength),
	}
	e.Times = f.times("times", text.T(f.ctx, "patterns.times"))
	e.Position = f.optionalNumber("position", text.T(f.ctx, "forms.position"), 1, maxPosition)
	v.Name, v.Letter, v.Times, v.Position = e.Name, e.Letter, f.text("times"), f.text("position")
	return e
}

func (s *Site) createPattern(c echo.Context) error {
	f, err := readForm(c)
	if err != nil {
		return err
	}
	v := views.NewPatternForm(roster.Pattern{})
	e := readPattern(f, &v)
	if f.ok() {
		_, err := s.store.CreatePattern(f.ctx, e)
		switch {
		case err == nil:
			s.flash(c, ui.Done, text.T(f.ctx, "patterns.created", "Name", e.Name))
			return redirect(c, "/patterns")
		case errors.Is(err, db.ErrNameTaken):
			f.refuse("name", text.T(f.ctx, "forms.name_taken", "Name", e.Name))
		default:
			return err
		}
	}
	v.Errors = f.errors
	return s.showPatternForm(c, http.StatusUnprocessableEntity, v)
}

func (s *Site) updatePattern(c echo.Context) error {
	f, err := readForm(c)
	if err != nil {
		return err
	}
	editNumber, err := f.editNumber()
	if err != nil {
		return err
	}
	p, err := s.pattern(c)
	if err != nil {
		return err
	}
	v := views.NewPatternForm(p)
	v.EditNumber = editNumber
	e := readPattern(f, &v)
	status := http.StatusUnprocessableEntity
	if f.ok() {
		err := s.store.EditPattern(f.ctx, p.ID, editNumber, e)
		switch {
		case err == nil:
			s.flash(c, ui.Done, text.T(f.ctx, "patterns.saved", "Name", e.Name))
			return redirect(c, "/patterns")
		case errors.Is(err, db.ErrNameTaken):
			f.refuse("name", text.T(f.ctx, "forms.name_taken", "Name", e.Name))
		case errors.Is(err, db.ErrEdited):
			status = http.StatusConflict
			if p, err = s.store.Pattern(f.ctx, p.ID); err != nil {
				return err
			}
			v.Pattern, v.EditNumber, v.ArchivedAt = p, p.EditNumber, p.ArchivedAt
			v.Stale = s.stale(p.UpdatedAt, views.PatternFacts(f.ctx, p))
		default:
			return err
		}
	}
	v.Errors = f.errors
	return s.showPatternForm(c, status, v)
}

func (s *Site) archivePattern(c echo.Context) error {
	ctx := c.Request().Context()
	p, err := s.pattern(c)
	if err != nil {
		return err
	}
	if err := s.store.ArchivePattern(ctx, p.ID); err != nil {
		return err
	}
	s.flash(c, ui.Done, text.T(ctx, "patterns.was_archived", "Name", p.Name))
	return redirect(c, "/patterns")
}

func (s *Site) restorePattern(c echo.Context) error {
	ctx := c.Request().Context()
	p, err := s.pattern(c)
	if err != nil {
		return err
	}
	switch err := s.store.RestorePattern(ctx, p.ID); {
	case errors.Is(err, db.ErrNameTaken):
		v := views.NewPatternForm(p)
		v.Refusal = text.T(ctx, "patterns.restore_name_taken", "Name", p.Name)
		return s.showPatternForm(c, http.StatusConflict, v)
	case err != nil:
		return err
	}
	s.flash(c, ui.Done, text.T(ctx, "patterns.was_restored", "Name", p.Name))
	return redirect(c, "/patterns")
}
