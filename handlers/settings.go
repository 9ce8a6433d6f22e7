package handlers

import (
	"github.com/labstack/echo/v4"

	"shiftpost/views"
	"shiftpost/views/text"
)

// showSettings lists what can be set up, with how much of each there is.
func (s *Site) showSettings(c echo.Context) error {
	ctx := c.Request().Context()
	groups, err := s.store.Groups(ctx)
	if err != nil {
		return err
	}
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
		Groups:     len(shelveGroups(groups).InUse),
		Classrooms: len(shelveClassrooms(classrooms).InUse),
		Patterns:   len(shelvePatterns(patterns).InUse),
		Teachers:   len(shelveTeachers(teachers).InUse),
	}
	return s.render(c, screen{
		page: views.Page{Title: text.T(ctx, "settings.title"), Place: views.PlaceSettings},
		body: views.SettingsPage(v),
	})
}
