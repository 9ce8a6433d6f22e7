package db

import (
	"context"

	"shiftpost/db/roster"
)

// TeacherEdit is what an admin enters for a teacher.
type TeacherEdit struct {
	ClassroomID int64 // the home classroom, in use
	Name        string
	Position    int // 0: after all others of the classroom
	NoticesOn   bool
}

const teacherColumns = `id, classroom_id, name, position, line_user_id, notices_on, blocked, edit_number, updated_at, archived_at`

func scanTeacher(r scanner) (t roster.Teacher, err error) {
	err = r.Scan(&t.ID, &t.ClassroomID, &t.Name, &t.Position, &t.LINEUserID, &t.NoticesOn, &t.Blocked, &t.EditNumber, scanInstant(&t.UpdatedAt), scanInstant(&t.ArchivedAt))
	return t, err
}

// Teachers lists the active teachers in the order of their home classrooms and their position there, and after them
// those who left.
func (s *Store) Teachers(ctx context.Context) ([]roster.Teacher, error) {
	l, err := list(ctx, s.read, scanTeacher, `SELECT `+qualify("t", teacherColumns)+` FROM teachers t JOIN classrooms c ON c.id = t.classroom_id
		ORDER BY t.archived_at IS NOT NULL, c.group_id, c.position, c.id, t.position, t.id`)
	return l, wrap(err, "list teachers")
}

// Teacher returns a teacher, active or not. The error is ErrNotFound if there is none.
func (s *Store) Teacher(ctx context.Context, teacherID int64) (roster.Teacher, error) {
	v, err := teacher(ctx, s.read, teacherID)
	return v, wrap(err, "teacher %d", teacherID)
}

func teacher(ctx context.Context, q querier, teacherID int64) (roster.Teacher, error) {
	return one(ctx, q, scanTeacher, `SELECT `+teacherColumns+` FROM teachers WHERE id = ?`, teacherID)
}

// CreateTeacher adds a teacher. The error is ErrParent if the classroom is not in use. Two teachers may share a name.
func (s *Store) CreateTeacher(ctx context.Context, e TeacherEdit) (v roster.Teacher, err error) {
	err = s.inTx(ctx, func(t *tx) error {
		if err := inUse(t, "classrooms", e.ClassroomID); err != nil {
			return err
		}
		if err := lastPosition(t, &e.Position, `SELECT coalesce(max(position), 0) + 1 FROM teachers WHERE classroom_id = ?`, e.ClassroomID); err != nil {
			return err
		}
		teacherID, err := t.insert(`INSERT INTO teachers (classroom_id, name, position, notices_on, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?)`,
			e.ClassroomID, e.Name, e.Position, e.NoticesOn, at(t.now), at(t.now))
		if err != nil {
			return err
		}
		v, err = teacher(t.ctx, t, teacherID)
		return err
	})
	return v, wrap(err, "create teacher")
}

// EditTeacher changes a teacher who still has that edit number. The error is ErrNotFound, ErrEdited, or ErrParent if
// the classroom is not in use.
func (s *Store) EditTeacher(ctx context.Context, teacherID, editNumber int64, e TeacherEdit) error {
	err := s.inTx(ctx, func(t *tx) error {
		if _, err := teacher(t.ctx, t, teacherID); err != nil {
			return err
		}
		if err := inUse(t, "classrooms", e.ClassroomID); err != nil {
			return err
		}
		if err := lastPosition(t, &e.Position, `SELECT coalesce(max(position), 0) + 1 FROM teachers WHERE classroom_id = ? AND id <> ?`, e.ClassroomID, teacherID); err != nil {
			return err
		}
		err := t.execOne(ErrEdited, `UPDATE teachers SET classroom_id = ?, name = ?, position = ?, notices_on = ?, edit_number = edit_number + 1, updated_at = ?
			WHERE id = ? AND edit_number = ? AND archived_at IS NULL`, e.ClassroomID, e.Name, e.Position, e.NoticesOn, at(t.now), teacherID, editNumber)
		if err != nil {
			return err
		}
		return s.settleTeacher(t, teacherID)
	})
	return wrap(err, "edit teacher %d", teacherID)
}

// ArchiveTeacher notes that a teacher left. The error is ErrNotFound, or an *InUseError while shifts of theirs have
// not ended: somebody else must take them, or they must go.
func (s *Store) ArchiveTeacher(ctx context.Context, teacherID int64) error {
	err := s.inTx(ctx, func(t *tx) error {
		v, err := teacher(t.ctx, t, teacherID)
		if err != nil || !v.Active() {
			return err
		}
		var use InUseError
		if err := s.countAhead(t, &use, "teacher_id", teacherID); err != nil {
			return err
		}
		if use.Any() {
			return &use
		}
		return archive(t, "teachers", teacherID)
	})
	return wrap(err, "archive teacher %d", teacherID)
}

// RestoreTeacher makes a teacher who left active again. The error is ErrNotFound, or ErrParent if the home classroom
// is archived.
func (s *Store) RestoreTeacher(ctx context.Context, teacherID int64) error {
	err := s.inTx(ctx, func(t *tx) error {
		v, err := teacher(t.ctx, t, teacherID)
		if err != nil {
			return err
		}
		if err := inUse(t, "classrooms", v.ClassroomID); err != nil {
			return err
		}
		if err := restore(t, "teachers", teacherID); err != nil {
			return err
		}
		return s.settleTeacher(t, teacherID)
	})
	return wrap(err, "restore teacher %d", teacherID)
}

// SetNotices switches the notices of an active teacher on or off, as they wish. The error is ErrNotFound.
func (s *Store) SetNotices(ctx context.Context, teacherID int64, on bool) error {
	err := s.inTx(ctx, func(t *tx) error {
		v, err := teacher(t.ctx, t, teacherID)
		switch {
		case err != nil:
			return err
		case !v.Active():
			return ErrNotFound
		case v.NoticesOn == on:
			return nil
		}
		err = t.execOne(ErrNotFound, `UPDATE teachers SET notices_on = ?, edit_number = edit_number + 1, updated_at = ? WHERE id = ?`, on, at(t.now), teacherID)
		if err != nil {
			return err
		}
		return s.settleTeacher(t, teacherID)
	})
	return wrap(err, "set notices of teacher %d", teacherID)
}
