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

func shelveGroups(list []roster.Group) views.Shelf[roster.Group] {
	return views.Shelve(list, func(g roster.Group) time.Time { return g.ArchivedAt })
}

// listGroups shows the groups and, below, the ones that were put away.
func (s *Site) listGroups(c echo.Context) error {
	ctx := c.Request().Context()
	groups, err := s.store.Groups(ctx)
	if err != nil {
		return err
	}
	classrooms, err := s.store.Classrooms(ctx)
	if err != nil {
		return err
	}
	l := views.GroupList{Groups: shelveGroups(groups), Classrooms: map[int64]int{}}
	for _, room := range shelveClassrooms(classrooms).InUse {
		l.Classrooms[room.GroupID]++
	}
	if l.New, err = s.newLINEGroups(ctx); err != nil {
		return err
	}
	return s.render(c, screen{
		page: views.Page{Title: text.T(ctx, "groups.title"), Place: views.PlaceSettings},
		body: views.GroupListPage(l),
	})
}

// showGroup leads to the group's present month.
func (s *Site) showGroup(c echo.Context) error {
	g, err := s.group(c)
	if err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, views.MonthPath(g.ID, s.today().MonthOf()))
}

func (s *Site) newGroup(c echo.Context) error {
	groups, err := s.groupsInUse(c.Request().Context())
	if err != nil {
		return err
	}
	f := views.NewGroupForm(roster.Group{LeadMinutes: roster.DefaultLeadMinutes})
	f.First = len(groups) == 0
	return s.showGroupForm(c, http.StatusOK, f)
}

func (s *Site) editGroup(c echo.Context) error {
	g, err := s.group(c)
	if err != nil {
		return err
	}
	return s.showGroupForm(c, http.StatusOK, views.NewGroupForm(g))
}

func (s *Site) showGroupForm(c echo.Context, status int, f views.GroupForm) error {
	title := f.Group.Name
	if f.New() {
		title = text.T(c.Request().Context(), "groups.new")
	}
	return s.render(c, screen{
		status: status,
		page:   views.Page{Title: title, Place: views.PlaceSettings, Invalid: len(f.Errors) > 0},
		body:   views.GroupFormPage(f),
	})
}

// readGroup reads a posted group into the form that would show it again.
func readGroup(f *form, v *views.GroupForm) db.GroupEdit {
	e := db.GroupEdit{
		Name:        f.required("name", text.T(f.ctx, "groups.name"), roster.MaxNameLength),
		LeadMinutes: f.number("lead_minutes", text.T(f.ctx, "groups.lead_minutes"), roster.MinLeadMinutes, roster.MaxLeadMinutes),
	}
	v.Name, v.LeadMinutes = e.Name, f.text("lead_minutes")
	return e
}

func (s *Site) createGroup(c echo.Context) error {
	f, err := readForm(c)
	if err != nil {
		return err
	}
	v := views.NewGroupForm(roster.Group{})
	e := readGroup(f, &v)
	if f.ok() {
		_, err := s.store.CreateGroup(f.ctx, e)
		switch {
		case err == nil:
			s.flash(c, ui.Done, text.T(f.ctx, "groups.created", "Name", e.Name))
			return redirect(c, "/groups")
		case errors.Is(err, db.ErrNameTaken):
			f.refuse("name", text.T(f.ctx, "forms.name_taken", "Name", e.Name))
		default:
			return err
		}
	}
	v.Errors = f.errors
	return s.showGroupForm(c, http.StatusUnprocessableEntity, v)
}

func (s *Site) updateGroup(c echo.Context) error {
	f, err := readForm(c)
	if err != nil {
		return err
	}
	editNumber, err := f.editNumber()
	if err != nil {
		return err
	}
	g, err := s.group(c)
	if err != nil {
		return err
	}
	v := views.NewGroupForm(g)
	// What was typed was typed about the thing as it was then, unless the form is shown again as overtaken.
	v.EditNumber = editNumber
	e := readGroup(f, &v)
	status := http.StatusUnprocessableEntity
	if f.ok() {
		err := s.store.EditGroup(f.ctx, g.ID, editNumber, e)
		switch {
		case err == nil:
			s.flash(c, ui.Done, text.T(f.ctx, "groups.saved", "Name", e.Name))
			return redirect(c, "/groups")
		case errors.Is(err, db.ErrNameTaken):
			f.refuse("name", text.T(f.ctx, "forms.name_taken", "Name", e.Name))
		case errors.Is(err, db.ErrEdited):
			status = http.StatusConflict
			if g, err = s.store.Group(f.ctx, g.ID); err != nil {
				return err
			}
			v.Group, v.EditNumber, v.ArchivedAt = g, g.EditNumber, g.ArchivedAt
			v.Stale = s.stale(g.UpdatedAt, views.GroupFacts(f.ctx, g))
		default:
			return err
		}
	}
	v.Errors = f.errors
	return s.showGroupForm(c, status, v)
}

// stale tells a form what somebody else made of its thing, and when.
func (s *Site) stale(at time.Time, latest []views.Fact) *views.Stale {
	return &views.Stale{At: text.Clock(at, s.loc), Latest: latest}
}

func (s *Site) archiveGroup(c echo.Context) error {
	ctx := c.Request().Context()
	g, err := s.group(c)
	if err != nil {
		return err
	}
	use := (*db.InUseError)(nil)
	switch err := s.store.ArchiveGroup(ctx, g.ID); {
	case errors.As(err, &use):
		v := views.NewGroupForm(g)
		v.Refusal = text.N(ctx, "groups.in_use", use.Classrooms)
		return s.showGroupForm(c, http.StatusConflict, v)
	case err != nil:
		return err
	}
	s.flash(c, ui.Done, text.T(ctx, "groups.was_archived", "Name", g.Name))
	return redirect(c, "/groups")
}

func (s *Site) restoreGroup(c echo.Context) error {
	ctx := c.Request().Context()
	g, err := s.group(c)
	if err != nil {
		return err
	}
	switch err := s.store.RestoreGroup(ctx, g.ID); {
	case errors.Is(err, db.ErrNameTaken):
		v := views.NewGroupForm(g)
		v.Refusal = text.T(ctx, "groups.restore_name_taken", "Name", g.Name)
		return s.showGroupForm(c, http.StatusConflict, v)
	case err != nil:
		return err
	}
	s.flash(c, ui.Done, text.T(ctx, "groups.was_restored", "Name", g.Name))
	return redirect(c, "/groups")
}
