package handlers

import (
	"context"
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

func shelveClassrooms(list []roster.Classroom) views.Shelf[roster.Classroom] {
	return views.Shelve(list, func(c roster.Classroom) time.Time { return c.ArchivedAt })
}

// listClassrooms shows each group's classrooms and, below, the ones that were put away.
func (s *Site) listClassrooms(c echo.Context) error {
	ctx := c.Request().Context()
	groups, err := s.groupsInUse(ctx)
	if err != nil {
		return err
	}
	classrooms, err := s.store.Classrooms(ctx)
	if err != nil {
		return err
	}
	teachers, err := s.store.Teachers(ctx)
	if err != nil {
		return err
	}
	l := views.ClassroomList{Groups: groups, Classrooms: shelveClassrooms(classrooms), Teachers: map[int64]int{}}
	for _, t := range shelveTeachers(teachers).InUse {
		l.Teachers[t.ClassroomID]++
	}
	return s.render(c, screen{
		page: views.Page{Title: text.T(ctx, "classrooms.title"), Place: views.PlaceSettings},
		body: views.ClassroomListPage(l),
	})
}

func (s *Site) newClassroom(c echo.Context) error {
	groups, err := s.groupsInUse(c.Request().Context())
	if err != nil {
		return err
	}
	if len(groups) == 0 {
		return c.Redirect(http.StatusSeeOther, "/classrooms")
	}
	groupID, ok := parseID(c.QueryParam("group"))
	if !ok {
		groupID = s.presentGroup(c, groups).ID
	}
	return s.showClassroomForm(c, http.StatusOK, views.NewClassroomForm(roster.Classroom{GroupID: groupID}, groups))
}

// classroom reads the classroom that an address names. The error is db.ErrNotFound.
func (s *Site) classroom(c echo.Context) (roster.Classroom, error) {
	classroomID, err := idParam(c, "classroom")
	if err != nil {
		return roster.Classroom{}, err
	}
	return s.store.Classroom(c.Request().Context(), classroomID)
}

func (s *Site) editClassroom(c echo.Context) error {
	room, err := s.classroom(c)
	if err != nil {
		return err
	}
	groups, err := s.groupsInUse(c.Request().Context())
	if err != nil {
		return err
	}
	return s.showClassroomForm(c, http.StatusOK, views.NewClassroomForm(room, groups))
}

func (s *Site) showClassroomForm(c echo.Context, status int, f views.ClassroomForm) error {
	title := f.Classroom.Name
	if f.New() {
		title = text.T(c.Request().Context(), "classrooms.new")
	}
	return s.render(c, screen{
		status: status,
		page:   views.Page{Title: title, Place: views.PlaceSettings, Invalid: len(f.Errors) > 0},
		body:   views.ClassroomFormPage(f),
	})
}

// maxPosition bounds the place of a thing among others of its kind.
const maxPosition = 999

// readClassroom reads a posted classroom into the form that would show it again.
func readClassroom(f *form, v *views.ClassroomForm) db.ClassroomEdit {
	e := db.ClassroomEdit{
		Name:      f.required("name", text.T(f.ctx, "classrooms.name"), roster.MaxNameLength),
		ShortName: f.required("short_name", text.T(f.ctx, "classrooms.short_name"), roster.MaxShortNameLength),
		GroupID:   f.id("group"),
	}
	if e.GroupID == 0 {
		refuseGroup(f)
	}
	e.Position = f.optionalNumber("position", text.T(f.ctx, "forms.position"), 1, maxPosition)
	v.Name, v.ShortName, v.GroupID, v.Position = e.Name, e.ShortName, f.text("group"), f.text("position")
	return e
}

func refuseGroup(f *form) {
	f.refuse("group", text.T(f.ctx, "forms.choose_one", "Label", text.T(f.ctx, "classrooms.group")))
}

// refuseClassroom turns what the store has against a classroom into a message. It returns the errors that are none.
func refuseClassroom(f *form, e db.ClassroomEdit, err error) error {
	switch {
	case errors.Is(err, db.ErrNameTaken):
		f.refuse("name", text.T(f.ctx, "forms.name_taken", "Name", e.Name))
	case errors.Is(err, db.ErrParent):
		refuseGroup(f)
	default:
		return err
	}
	return nil
}

func (s *Site) createClassroom(c echo.Context) error {
	f, err := readForm(c)
	if err != nil {
		return err
	}
	groups, err := s.groupsInUse(f.ctx)
	if err != nil {
		return err
	}
	v := views.NewClassroomForm(roster.Classroom{}, groups)
	e := readClassroom(f, &v)
	if f.ok() {
		_, err := s.store.CreateClassroom(f.ctx, e)
		if err == nil {
			s.flash(c, ui.Done, text.T(f.ctx, "classrooms.created", "Name", e.Name))
			return redirect(c, "/classrooms")
		}
		if err := refuseClassroom(f, e, err); err != nil {
			return err
		}
	}
	v.Errors = f.errors
	return s.showClassroomForm(c, http.StatusUnprocessableEntity, v)
}

func (s *Site) updateClassroom(c echo.Context) error {
	f, err := readForm(c)
	if err != nil {
		return err
	}
	editNumber, err := f.editNumber()
	if err != nil {
		return err
	}
	room, err := s.classroom(c)
	if err != nil {
		return err
	}
	groups, err := s.groupsInUse(f.ctx)
	if err != nil {
		return err
	}
	v := views.NewClassroomForm(room, groups)
	v.EditNumber = editNumber
	e := readClassroom(f, &v)
	status := http.StatusUnprocessableEntity
	if f.ok() {
		err := s.store.EditClassroom(f.ctx, room.ID, editNumber, e)
		switch {
		case err == nil:
			s.flash(c, ui.Done, text.T(f.ctx, "classrooms.saved", "Name", e.Name))
			return redirect(c, "/classrooms")
		case errors.Is(err, db.ErrEdited):
			status = http.StatusConflict
			if room, err = s.store.Classroom(f.ctx, room.ID); err != nil {
				return err
			}
			v.Classroom, v.EditNumber, v.ArchivedAt = room, room.EditNumber, room.ArchivedAt
			v.Stale = s.stale(room.UpdatedAt, views.ClassroomFacts(f.ctx, room, groups))
		default:
			if err := refuseClassroom(f, e, err); err != nil {
				return err
			}
		}
	}
	v.Errors = f.errors
	return s.showClassroomForm(c, status, v)
}

// refuseArchivingClassroom shows the form again with why the classroom stays as it is.
func (s *Site) refuseArchivingClassroom(c echo.Context, room roster.Classroom, why string) error {
	groups, err := s.groupsInUse(c.Request().Context())
	if err != nil {
		return err
	}
	v := views.NewClassroomForm(room, groups)
	v.Refusal = why
	return s.showClassroomForm(c, http.StatusConflict, v)
}

func classroomInUse(ctx context.Context, use *db.InUseError) string {
	if use.Teachers > 0 {
		return text.N(ctx, "classrooms.in_use_teachers", use.Teachers)
	}
	return text.N(ctx, "classrooms.in_use_shifts", use.Shifts, "First", text.ShortDate(ctx, use.FirstOn))
}

func (s *Site) archiveClassroom(c echo.Context) error {
	ctx := c.Request().Context()
	room, err := s.classroom(c)
	if err != nil {
		return err
	}
	use := (*db.InUseError)(nil)
	switch err := s.store.ArchiveClassroom(ctx, room.ID); {
	case errors.As(err, &use):
		return s.refuseArchivingClassroom(c, room, classroomInUse(ctx, use))
	case err != nil:
		return err
	}
	s.flash(c, ui.Done, text.T(ctx, "classrooms.was_archived", "Name", room.Name))
	return redirect(c, "/classrooms")
}

func (s *Site) restoreClassroom(c echo.Context) error {
	ctx := c.Request().Context()
	room, err := s.classroom(c)
	if err != nil {
		return err
	}
	switch err := s.store.RestoreClassroom(ctx, room.ID); {
	case errors.Is(err, db.ErrNameTaken):
		return s.refuseArchivingClassroom(c, room, text.T(ctx, "classrooms.restore_name_taken", "Name", room.Name))
	case errors.Is(err, db.ErrParent):
		return s.refuseArchivingClassroom(c, room, text.T(ctx, "classrooms.restore_group_archived", "Name", room.Name))
	case err != nil:
		return err
	}
	s.flash(c, ui.Done, text.T(ctx, "classrooms.was_restored", "Name", room.Name))
	return redirect(c, "/classrooms")
}
