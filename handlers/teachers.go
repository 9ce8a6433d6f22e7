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

func shelveTeachers(list []roster.Teacher) views.Shelf[roster.Teacher] {
	return views.Shelve(list, func(t roster.Teacher) time.Time { return t.ArchivedAt })
}

// homes lists the groups and classrooms in use: what a teacher can be at home in.
func (s *Site) homes(ctx context.Context) ([]roster.Classroom, []roster.Group, error) {
	groups, err := s.groupsInUse(ctx)
	if err != nil {
		return nil, nil, err
	}
	classrooms, err := s.store.Classrooms(ctx)
	return shelveClassrooms(classrooms).InUse, groups, err
}

// listTeachers shows each classroom's teachers and, below, the ones who left.
func (s *Site) listTeachers(c echo.Context) error {
	ctx := c.Request().Context()
	classrooms, groups, err := s.homes(ctx)
	if err != nil {
		return err
	}
	teachers, err := s.store.Teachers(ctx)
	if err != nil {
		return err
	}
	return s.render(c, screen{
		page: views.Page{Title: text.T(ctx, "teachers.title"), Place: views.PlaceTeachers},
		body: views.TeacherListPage(views.TeacherList{Classrooms: classrooms, Groups: groups, Teachers: shelveTeachers(teachers)}),
	})
}

func (s *Site) newTeacher(c echo.Context) error {
	classrooms, groups, err := s.homes(c.Request().Context())
	if err != nil {
		return err
	}
	if len(classrooms) == 0 {
		return c.Redirect(http.StatusSeeOther, "/teachers")
	}
	classroomID, _ := parseID(c.QueryParam("classroom"))
	return s.showTeacherForm(c, http.StatusOK, views.NewTeacherForm(roster.Teacher{ClassroomID: classroomID, NoticesOn: true}, classrooms, groups))
}

// teacher reads the teacher that an address names. The error is db.ErrNotFound.
func (s *Site) teacher(c echo.Context) (roster.Teacher, error) {
	teacherID, err := idParam(c, "teacher")
	if err != nil {
		return roster.Teacher{}, err
	}
	return s.store.Teacher(c.Request().Context(), teacherID)
}

func (s *Site) editTeacher(c echo.Context) error {
	t, err := s.teacher(c)
	if err != nil {
		return err
	}
	return s.showStoredTeacher(c, http.StatusOK, t)
}

// showStoredTeacher shows the form of a teacher with what is stored.
func (s *Site) showStoredTeacher(c echo.Context, status int, t roster.Teacher) error {
	classrooms, groups, err := s.homes(c.Request().Context())
	if err != nil {
		return err
	}
	return s.showTeacherForm(c, status, views.NewTeacherForm(t, classrooms, groups))
}

func (s *Site) showTeacherForm(c echo.Context, status int, f views.TeacherForm) error {
	if !f.New() {
		var err error
		if f.LINE, err = s.teacherLINE(c.Request().Context(), f.Teacher); err != nil {
			return err
		}
	}
	title := f.Teacher.Name
	if f.New() {
		title = text.T(c.Request().Context(), "teachers.new")
	}
	return s.render(c, screen{
		status: status,
		page:   views.Page{Title: title, Place: views.PlaceTeachers, Invalid: len(f.Errors) > 0},
		body:   views.TeacherFormPage(f),
	})
}

// readTeacher reads a posted teacher into the form that would show it again.
func readTeacher(f *form, v *views.TeacherForm) db.TeacherEdit {
	e := db.TeacherEdit{
		Name:        f.required("name", text.T(f.ctx, "teachers.name"), roster.MaxNameLength),
		ClassroomID: f.id("classroom"),
		NoticesOn:   f.checked("notices"),
	}
	if e.ClassroomID == 0 {
		refuseHome(f)
	}
	e.Position = f.optionalNumber("position", text.T(f.ctx, "forms.position"), 1, maxPosition)
	v.Name, v.ClassroomID, v.Position, v.NoticesOn = e.Name, f.text("classroom"), f.text("position"), e.NoticesOn
	return e
}

func refuseHome(f *form) {
	f.refuse("classroom", text.T(f.ctx, "forms.choose_one", "Label", text.T(f.ctx, "teachers.classroom")))
}

func (s *Site) createTeacher(c echo.Context) error {
	f, err := readForm(c)
	if err != nil {
		return err
	}
	classrooms, groups, err := s.homes(f.ctx)
	if err != nil {
		return err
	}
	v := views.NewTeacherForm(roster.Teacher{}, classrooms, groups)
	e := readTeacher(f, &v)
	if f.ok() {
		_, err := s.store.CreateTeacher(f.ctx, e)
		switch {
		case err == nil:
			s.flash(c, ui.Done, text.T(f.ctx, "teachers.created", "Name", e.Name))
			return redirect(c, "/teachers")
		case errors.Is(err, db.ErrParent):
			refuseHome(f)
		default:
			return err
		}
	}
	v.Errors = f.errors
	return s.showTeacherForm(c, http.StatusUnprocessableEntity, v)
}

func (s *Site) updateTeacher(c echo.Context) error {
	f, err := readForm(c)
	if err != nil {
		return err
	}
	editNumber, err := f.editNumber()
	if err != nil {
		return err
	}
	t, err := s.teacher(c)
	if err != nil {
		return err
	}
	classrooms, groups, err := s.homes(f.ctx)
	if err != nil {
		return err
	}
	v := views.NewTeacherForm(t, classrooms, groups)
	v.EditNumber = editNumber
	e := readTeacher(f, &v)
	status := http.StatusUnprocessableEntity
	if f.ok() {
		err := s.store.EditTeacher(f.ctx, t.ID, editNumber, e)
		switch {
		case err == nil:
			s.flash(c, ui.Done, text.T(f.ctx, "teachers.saved", "Name", e.Name))
			return redirect(c, "/teachers")
		case errors.Is(err, db.ErrParent):
			refuseHome(f)
		case errors.Is(err, db.ErrEdited):
			status = http.StatusConflict
			if t, err = s.store.Teacher(f.ctx, t.ID); err != nil {
				return err
			}
			v.Teacher, v.EditNumber, v.ArchivedAt = t, t.EditNumber, t.ArchivedAt
			v.Stale = s.stale(t.UpdatedAt, views.TeacherFacts(f.ctx, t, classrooms))
		default:
			return err
		}
	}
	v.Errors = f.errors
	return s.showTeacherForm(c, status, v)
}

// refuseArchivingTeacher shows the form again with why the teacher stays as they are.
func (s *Site) refuseArchivingTeacher(c echo.Context, t roster.Teacher, why string) error {
	classrooms, groups, err := s.homes(c.Request().Context())
	if err != nil {
		return err
	}
	v := views.NewTeacherForm(t, classrooms, groups)
	v.Refusal = why
	return s.showTeacherForm(c, http.StatusConflict, v)
}

func (s *Site) archiveTeacher(c echo.Context) error {
	ctx := c.Request().Context()
	t, err := s.teacher(c)
	if err != nil {
		return err
	}
	use := (*db.InUseError)(nil)
	switch err := s.store.ArchiveTeacher(ctx, t.ID); {
	case errors.As(err, &use):
		return s.refuseArchivingTeacher(c, t, text.N(ctx, "teachers.in_use", use.Shifts, "First", text.ShortDate(ctx, use.FirstOn)))
	case err != nil:
		return err
	}
	s.flash(c, ui.Done, text.T(ctx, "teachers.was_archived", "Name", t.Name))
	return redirect(c, "/teachers")
}

func (s *Site) restoreTeacher(c echo.Context) error {
	ctx := c.Request().Context()
	t, err := s.teacher(c)
	if err != nil {
		return err
	}
	switch err := s.store.RestoreTeacher(ctx, t.ID); {
	case errors.Is(err, db.ErrParent):
		return s.refuseArchivingTeacher(c, t, text.T(ctx, "teachers.restore_classroom_archived", "Name", t.Name))
	case err != nil:
		return err
	}
	s.flash(c, ui.Done, text.T(ctx, "teachers.was_restored", "Name", t.Name))
	return redirect(c, "/teachers")
}
