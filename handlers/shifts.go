package handlers

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"shiftpost/db"
	"shiftpost/db/roster"
	"shiftpost/views"
	"shiftpost/views/text"
)

// newShift shows the form that adds a shift on a date, of a teacher or of one to be chosen.
func (s *Site) newShift(c echo.Context) error {
	g, m, err := s.month(c)
	if err != nil {
		return err
	}
	x := roster.Shift{Date: s.today()}
	if q := c.QueryParam("date"); q != "" {
		if x.Date, err = roster.ParseDate(q); err != nil {
			return errors.Join(db.ErrNotFound, err)
		}
	}
	if !m.Contains(x.Date) {
		x.Date = m.First()
	}
	if q := c.QueryParam("teacher"); q != "" {
		var ok bool
		if x.TeacherID, ok = parseID(q); !ok {
			return db.ErrNotFound
		}
	}
	v, err := s.shiftForm(c, g, m, x)
	if err != nil {
		return err
	}
	v.Choose = x.TeacherID == 0
	return s.showShiftForm(c, http.StatusOK, v)
}

// shiftForm fills the form of a shift of a group's month, or of a new one with a date and perhaps a teacher. The error
// is db.ErrNotFound if there is no such teacher.
func (s *Site) shiftForm(c echo.Context, g roster.Group, m roster.Month, x roster.Shift) (views.ShiftForm, error) {
	ctx := c.Request().Context()
	month, err := s.store.Month(ctx, g.ID, x.Date.MonthOf())
	if err != nil {
		return views.ShiftForm{}, err
	}
	v := views.NewShiftForm(x, month.Patterns)
	v.Group, v.Month = g, m
	v.InDialog = wantsFragment(c.Request())
	for _, classroom := range month.Classrooms {
		if classroom.ArchivedAt.IsZero() || classroom.ID == x.ClassroomID {
			v.Classrooms = append(v.Classrooms, classroom)
		}
	}
	if x.TeacherID != 0 {
		if v.Teacher, err = s.store.Teacher(ctx, x.TeacherID); err != nil {
			return v, err
		}
	}
	if v.ClassroomID == 0 {
		v.ClassroomID = defaultClassroom(v.Classrooms, v.Teacher)
	}
	if v.Teachers, err = s.teachersToChoose(ctx, g.ID, x.TeacherID); err != nil {
		return v, err
	}
	for _, other := range month.Shifts {
		if other.TeacherID == x.TeacherID && other.Date == x.Date && other.ID != x.ID {
			v.Others = append(v.Others, shiftLine(month, other))
		}
	}
	return v, nil
}

// defaultClassroom is the teacher's own, or the first.
func defaultClassroom(classrooms []roster.Classroom, t roster.Teacher) int64 {
	id := int64(0)
	for _, c := range classrooms {
		if id == 0 || c.ID == t.ClassroomID {
			id = c.ID
		}
	}
	return id
}

// teachersToChoose lists those at home in the group and, after them, the others; of those who left only the given one.
func (s *Site) teachersToChoose(ctx context.Context, groupID, keep int64) ([]roster.Teacher, error) {
	teachers, err := s.store.Teachers(ctx)
	if err != nil {
		return nil, err
	}
	classrooms, err := s.store.Classrooms(ctx)
	if err != nil {
		return nil, err
	}
	own := map[int64]bool{}
	for _, c := range classrooms {
		own[c.ID] = c.GroupID == groupID
	}
	var first, then []roster.Teacher
	for _, t := range teachers {
		switch {
		case !t.Active() && t.ID != keep:
		case own[t.ClassroomID]:
			first = append(first, t)
		default:
			then = append(then, t)
		}
	}
	return append(first, then...), nil
}

func shiftLine(month db.MonthView, x roster.Shift) views.ShiftLine {
	for _, c := range month.Classrooms {
		if c.ID == x.ClassroomID {
			return views.ShiftLine{Shift: x, Classroom: c}
		}
	}
	line := views.ShiftLine{Shift: x, Foreign: true}
	for _, c := range month.Elsewhere {
		if c.ID == x.ClassroomID {
			line.Classroom = c
		}
	}
	return line
}

func (s *Site) showShiftForm(c echo.Context, status int, v views.ShiftForm) error {
	ctx := c.Request().Context()
	return s.render(c, screen{
		status: status,
		page: views.Page{
			Title: views.ShiftTitle(ctx, v), Place: views.PlaceMonth, Month: v.Month, Invalid: len(v.Errors) > 0, Styles: []string{"month.css"},
		},
		body:     views.ShiftPage(v),
		fragment: views.ShiftDialog(v),
	})
}

// createShift adds a shift as a draft or confirmed.
func (s *Site) createShift(c echo.Context) error {
	g, m, err := s.month(c)
	if err != nil {
		return err
	}
	f, err := readForm(c)
	if err != nil {
		return err
	}
	state := roster.ShiftState(f.values.Get("state"))
	if state != roster.ShiftDraft && state != roster.ShiftConfirmed {
		return fmt.Errorf("%w: state %.20q", errBadRequest, state)
	}
	day, err := roster.ParseDate(f.text("date"))
	if err != nil {
		day = m.First()
	}
	v, err := s.shiftForm(c, g, m, roster.Shift{TeacherID: f.id("teacher"), Date: day})
	if err != nil {
		return err
	}
	in, err := s.readShift(f, &v)
	if err != nil {
		return err
	}
	if f.ok() {
		x, err := s.store.AddShift(f.ctx, in, state)
		if err == nil {
			return s.showSaved(c, g, m, x, views.Said{Text: shiftSaid(f.ctx, "added_"+string(state), v, x)})
		}
		if err := refuseShift(f, v, in, err); err != nil {
			return err
		}
	}
	v.Errors = f.errors
	v.Choose = f.values.Has("choose") || f.errors.On("teacher") != "" || f.errors.On("date") != ""
	return s.showShiftForm(c, http.StatusUnprocessableEntity, v)
}

// shift reads the shift that an address names, with its group. The error is db.ErrNotFound.
func (s *Site) shift(c echo.Context) (roster.Shift, roster.Group, error) {
	shiftID, err := idParam(c, "shift")
	if err != nil {
		return roster.Shift{}, roster.Group{}, err
	}
	ctx := c.Request().Context()
	x, err := s.store.Shift(ctx, shiftID)
	if err != nil {
		return x, roster.Group{}, err
	}
	classroom, err := s.store.Classroom(ctx, x.ClassroomID)
	if err != nil {
		return x, roster.Group{}, err
	}
	g, err := s.store.Group(ctx, classroom.GroupID)
	if err == nil {
		c.Set(requestGroup, g)
	}
	return x, g, err
}

// editShift shows the form of a shift.
func (s *Site) editShift(c echo.Context) error {
	x, g, err := s.shift(c)
	if err != nil {
		return err
	}
	if x.State == roster.ShiftDeleted {
		return fmt.Errorf("shift %d is deleted: %w", x.ID, db.ErrNotFound)
	}
	v, err := s.shiftForm(c, g, x.Date.MonthOf(), x)
	if err != nil {
		return err
	}
	return s.showShiftForm(c, http.StatusOK, v)
}

// updateShift saves what was typed for a shift.
func (s *Site) updateShift(c echo.Context) error { return s.saveShift(c, "") }

// createConfirmation confirms a shift, as it stands in the form.
func (s *Site) createConfirmation(c echo.Context) error {
	return s.saveShift(c, roster.ShiftConfirmed)
}

// deleteConfirmation makes a shift a draft again, as it stands in the form.
func (s *Site) deleteConfirmation(c echo.Context) error { return s.saveShift(c, roster.ShiftDraft) }

// deleteShift deletes a shift; what else the form says does not matter.
func (s *Site) deleteShift(c echo.Context) error { return s.saveShift(c, roster.ShiftDeleted) }

// saveShift writes the form of a shift and then moves it to a state, if one is given. A request without the form's
// fields, or one that deletes, only moves it.
func (s *Site) saveShift(c echo.Context, to roster.ShiftState) error {
	f, err := readForm(c)
	if err != nil {
		return err
	}
	before, g, err := s.shift(c)
	if err != nil {
		return err
	}
	editNumber, err := f.editNumber()
	if err != nil {
		return err
	}
	m := monthOfPage(c.Request(), before.Date.MonthOf())
	if before.State == roster.ShiftDeleted {
		return s.showGoneShift(c, g, before)
	}
	v, err := s.shiftForm(c, g, m, before)
	if err != nil {
		return err
	}
	v.EditNumber = editNumber
	var in *db.ShiftEdit
	if f.values.Has("times") && to != roster.ShiftDeleted {
		read, err := s.readShift(f, &v)
		if err != nil {
			return err
		}
		in = &read
	}
	after := before
	if f.ok() {
		after, err = s.applyShift(f, v, before, in, to)
	}
	switch {
	case errors.Is(err, db.ErrEdited), errors.Is(err, db.ErrNotFound):
		return s.showStaleShift(c, f, v)
	case err != nil:
		return err
	case !f.ok():
		v.Errors = f.errors
		return s.showShiftForm(c, http.StatusUnprocessableEntity, v)
	}
	return s.showSaved(c, g, m, after, saidOfShift(f.ctx, v, before, after))
}

// applyShift writes what was entered, if anything was, and then moves the shift, if a state is given. What the store
// refuses stands in the form.
func (s *Site) applyShift(f *form, v views.ShiftForm, before roster.Shift, in *db.ShiftEdit, to roster.ShiftState) (roster.Shift, error) {
	after := before
	after.EditNumber = v.EditNumber
	if in != nil {
		var err error
		if after, err = s.store.ChangeShift(f.ctx, before.ID, v.EditNumber, *in); err != nil {
			return after, refuseShift(f, v, *in, err)
		}
	}
	if to == "" {
		return after, nil
	}
	return s.store.MoveShift(f.ctx, before.ID, after.EditNumber, to)
}

// saidOfShift says what came of saving a shift, with the way back from deleting it.
func saidOfShift(ctx context.Context, v views.ShiftForm, before, after roster.Shift) views.Said {
	key := "saved"
	switch {
	case after.State == roster.ShiftDeleted:
		undo := views.NewShiftForm(before, nil)
		undo.FormState = views.FormState{}
		undo.Group, undo.Month = v.Group, v.Month
		return views.Said{Text: shiftSaid(ctx, "was_deleted", v, before), Undo: &undo}
	case after.State != before.State && after.State == roster.ShiftConfirmed:
		key = "was_confirmed"
	case after.State != before.State:
		key = "was_drafted"
	case after.EditNumber == before.EditNumber:
		key = "unchanged"
	}
	return views.Said{Text: shiftSaid(ctx, key, v, after)}
}

// shiftSaid is the sentence of that key about a shift of the form's choice of teachers.
func shiftSaid(ctx context.Context, key string, v views.ShiftForm, x roster.Shift) string {
	return text.T(ctx, "shifts."+key, "Teacher", teacherName(v.Teachers, x.TeacherID), "Date", text.ShortDate(ctx, x.Date), "Range", text.Range(ctx, x.Times))
}

func classroomName(classrooms []roster.Classroom, id int64) string {
	for _, c := range classrooms {
		if c.ID == id {
			return c.Name
		}
	}
	return ""
}

func teacherName(teachers []roster.Teacher, id int64) string {
	for _, t := range teachers {
		if t.ID == id {
			return t.Name
		}
	}
	return ""
}

// readShift reads a posted shift into the form that would show it again. The error is db.ErrNotFound for a teacher or
// classroom that the form did not offer.
func (s *Site) readShift(f *form, v *views.ShiftForm) (db.ShiftEdit, error) {
	in := db.ShiftEdit{TeacherID: f.id("teacher"), ClassroomID: f.id("classroom"), Note: f.text("note")}
	v.TeacherID, v.ClassroomID, v.PatternID = in.TeacherID, in.ClassroomID, f.id("pattern")
	v.Date, v.Times, v.ShownTimes, v.Note = f.text("date"), f.text("times"), f.text("shown_times"), in.Note

	switch {
	case in.TeacherID == 0:
		f.refuse("teacher", text.T(f.ctx, "forms.choose_one", "Label", text.T(f.ctx, "shifts.teacher")))
	case teacherName(v.Teachers, in.TeacherID) == "":
		// Left, or unknown.
		t, err := s.store.Teacher(f.ctx, in.TeacherID)
		if err != nil {
			return in, err
		}
		f.refuse("teacher", text.T(f.ctx, "shifts.teacher_left", "Name", t.Name))
	}
	var err error
	if in.Date, err = roster.ParseDate(v.Date); err == nil {
		_, err = roster.ParseMonth(in.Date.MonthOf().String())
	}
	if err != nil {
		f.refuse("date", text.T(f.ctx, "shifts.date_wrong"))
	}
	in.Times = readShiftTimes(f, *v)
	if err := s.checkClassroom(f, *v, in.ClassroomID); err != nil {
		return in, err
	}
	if utf8.RuneCountInString(in.Note) > roster.MaxNoteLength {
		f.refuse("note", text.N(f.ctx, "forms.too_long", roster.MaxNoteLength, "Label", text.T(f.ctx, "shifts.note")))
	}
	return in, nil
}

// readShiftTimes takes the times that were typed or, if the field is as it was filled, those of the pattern that was
// chosen. The script fills the field from the pattern; without it the field stays as it was.
func readShiftTimes(f *form, v views.ShiftForm) roster.TimeRange {
	if v.Times == v.ShownTimes {
		for _, p := range v.Patterns {
			if p.ID == v.PatternID {
				return p.Times
			}
		}
	}
	return f.times("times", text.T(f.ctx, "shifts.times"))
}

// checkClassroom refuses one that is no longer used. The error is db.ErrNotFound for one of another group.
func (s *Site) checkClassroom(f *form, v views.ShiftForm, classroomID int64) error {
	for _, c := range v.Classrooms {
		if c.ID == classroomID {
			return nil
		}
	}
	if classroomID == 0 {
		f.refuse("classroom", text.T(f.ctx, "forms.choose_one", "Label", text.T(f.ctx, "shifts.classroom")))
		return nil
	}
	c, err := s.store.Classroom(f.ctx, classroomID)
	if err != nil {
		return err
	}
	if c.GroupID != v.Group.ID {
		return fmt.Errorf("classroom %d of another group: %w", classroomID, db.ErrNotFound)
	}
	f.refuse("classroom", text.T(f.ctx, "shifts.classroom_archived", "Name", c.Name))
	return nil
}

// refuseShift puts an error of the store at the field it is about; it returns any other.
func refuseShift(f *form, v views.ShiftForm, in db.ShiftEdit, err error) error {
	overlap := (*db.OverlapError)(nil)
	switch {
	case errors.As(err, &overlap):
		f.refuse("times", views.OverlapSentence(f.ctx, in.Date, in.Times, overlap.Other, overlap.Classroom.Name))
	case errors.Is(err, db.ErrTeacherArchived):
		f.refuse("teacher", text.T(f.ctx, "shifts.teacher_left", "Name", teacherName(v.Teachers, in.TeacherID)))
	case errors.Is(err, db.ErrClassroomArchived):
		f.refuse("classroom", text.T(f.ctx, "shifts.classroom_archived", "Name", classroomName(v.Classrooms, in.ClassroomID)))
	default:
		return err
	}
	return nil
}

// showStaleShift shows the form of a shift that somebody else changed meanwhile: what is stored now, and in the fields
// what was typed.
func (s *Site) showStaleShift(c echo.Context, f *form, v views.ShiftForm) error {
	now, err := s.store.Shift(f.ctx, v.ID)
	if err != nil {
		return err
	}
	if now.State == roster.ShiftDeleted {
		return s.showGoneShift(c, v.Group, now)
	}
	fresh, err := s.shiftForm(c, v.Group, v.Month, now)
	if err != nil {
		return err
	}
	place := classroomName(fresh.Classrooms, now.ClassroomID)
	fresh.Stale = s.stale(now.UpdatedAt, views.ShiftFacts(f.ctx, now, fresh.Teacher.Name, place))
	if f.values.Has("times") {
		fresh.TeacherID, fresh.ClassroomID, fresh.Date, fresh.PatternID, fresh.Times, fresh.Note = v.TeacherID, v.ClassroomID, v.Date, v.PatternID, v.Times, v.Note
	}
	return s.showShiftForm(c, http.StatusConflict, fresh)
}

// showGoneShift tells that a shift was deleted meanwhile.
func (s *Site) showGoneShift(c echo.Context, g roster.Group, x roster.Shift) error {
	v := views.GoneShift{Group: g, Shift: x, Time: text.Clock(x.UpdatedAt, s.loc)}
	return s.render(c, screen{
		status: http.StatusConflict,
		page: views.Page{
			Title: text.T(c.Request().Context(), "shifts.gone"), Place: views.PlaceMonth, Month: x.Date.MonthOf(), Styles: []string{"month.css"},
		},
		body:     views.GoneShiftPage(v),
		fragment: views.GoneShiftDialog(v),
	})
}
