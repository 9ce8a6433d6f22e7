package db

import (
	"context"

	"shiftpost/db/roster"
)

// ClassroomEdit is what an admin enters for a classroom.
type ClassroomEdit struct {
	GroupID   int64 // a group in use
	Name      string
	ShortName string
	Position  int // 0: after all others of its group
}

const classroomColumns = `id, group_id, name, short_name, position, edit_number, updated_at, archived_at`

func scanClassroom(r scanner) (c roster.Classroom, err error) {
	err = r.Scan(&c.ID, &c.GroupID, &c.Name, &c.ShortName, &c.Position, &c.EditNumber, scanInstant(&c.UpdatedAt), scanInstant(&c.ArchivedAt))
	return c, err
}

// Classrooms lists the classrooms in use by group and position, and after them the archived ones.
func (s *Store) Classrooms(ctx context.Context) ([]roster.Classroom, error) {
	l, err := list(ctx, s.read, scanClassroom, `SELECT `+classroomColumns+` FROM classrooms ORDER BY archived_at IS NOT NULL, group_id, position, id`)
	return l, wrap(err, "list classrooms")
}

// Classroom returns a classroom, archived or not. The error is ErrNotFound if there is none.
func (s *Store) Classroom(ctx context.Context, classroomID int64) (roster.Classroom, error) {
	c, err := classroom(ctx, s.read, classroomID)
	return c, wrap(err, "classroom %d", classroomID)
}

func classroom(ctx context.Context, q querier, classroomID int64) (roster.Classroom, error) {
	return one(ctx, q, scanClassroom, `SELECT `+classroomColumns+` FROM classrooms WHERE id = ?`, classroomID)
}

// CreateClassroom adds a classroom. The error is ErrParent if the group is not in use, or ErrNameTaken.
func (s *Store) CreateClassroom(ctx context.Context, e ClassroomEdit) (c roster.Classroom, err error) {
	err = s.inTx(ctx, func(t *tx) error {
		if err := inUse(t, "groups", e.GroupID); err != nil {
			return err
		}
		if err := lastPosition(t, &e.Position, `SELECT coalesce(max(position), 0) + 1 FROM classrooms WHERE group_id = ?`, e.GroupID); err != nil {
			return err
		}
		classroomID, err := t.insert(`INSERT INTO classrooms (group_id, name, short_name, position, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?)`,
			e.GroupID, e.Name, e.ShortName, e.Position, at(t.now), at(t.now))
		if err != nil {
			return nameTaken(err)
		}
		c, err = classroom(t.ctx, t, classroomID)
		return err
	})
	return c, wrap(err, "create classroom")
}

// EditClassroom changes a classroom that still has that edit number. In another group it takes its shifts along. The
// error is ErrNotFound, ErrEdited, ErrParent if the group is not in use, or ErrNameTaken.
func (s *Store) EditClassroom(ctx context.Context, classroomID, editNumber int64, e ClassroomEdit) error {
	err := s.inTx(ctx, func(t *tx) error {
		if _, err := classroom(t.ctx, t, classroomID); err != nil {
			return err
		}
		if err := inUse(t, "groups", e.GroupID); err != nil {
			return err
		}
		if err := lastPosition(t, &e.Position, `SELECT coalesce(max(position), 0) + 1 FROM classrooms WHERE group_id = ? AND id <> ?`, e.GroupID, classroomID); err != nil {
			return err
		}
		return nameTaken(t.execOne(ErrEdited, `UPDATE classrooms SET group_id = ?, name = ?, short_name = ?, position = ?, edit_number = edit_number + 1, updated_at = ?
			WHERE id = ? AND edit_number = ? AND archived_at IS NULL`, e.GroupID, e.Name, e.ShortName, e.Position, at(t.now), classroomID, editNumber))
	})
	return wrap(err, "edit classroom %d", classroomID)
}

// ArchiveClassroom puts a classroom away. The error is ErrNotFound, or an *InUseError while active teachers have it
// as their home or shifts in it have not ended.
func (s *Store) ArchiveClassroom(ctx context.Context, classroomID int64) error {
	err := s.inTx(ctx, func(t *tx) error {
		c, err := classroom(t.ctx, t, classroomID)
		if err != nil || !c.ArchivedAt.IsZero() {
			return err
		}
		var use InUseError
		if err := t.row(`SELECT count(*) FROM teachers WHERE classroom_id = ? AND archived_at IS NULL`, classroomID).Scan(&use.Teachers); err != nil {
			return err
		}
		if err := s.countAhead(t, &use, "classroom_id", classroomID); err != nil {
			return err
		}
		if use.Any() {
			return &use
		}
		return archive(t, "classrooms", classroomID)
	})
	return wrap(err, "archive classroom %d", classroomID)
}

// RestoreClassroom brings an archived classroom back. The error is ErrNotFound, ErrParent if its group is archived,
// or ErrNameTaken.
func (s *Store) RestoreClassroom(ctx context.Context, classroomID int64) error {
	err := s.inTx(ctx, func(t *tx) error {
		c, err := classroom(t.ctx, t, classroomID)
		if err != nil {
			return err
		}
		if err := inUse(t, "groups", c.GroupID); err != nil {
			return err
		}
		return restore(t, "classrooms", classroomID)
	})
	return wrap(err, "restore classroom %d", classroomID)
}

// inUse checks that a thing may have others below it. The error is ErrParent if it is archived or does not exist.
func inUse(t *tx, table string, id int64) error {
	var n int
	if err := t.row(`SELECT count(*) FROM `+table+` WHERE id = ? AND archived_at IS NULL`, id).Scan(&n); err != nil {
		return err
	}
	if n == 0 {
		return ErrParent
	}
	return nil
}

// lastPosition fills a position that was left open with the one after all others.
func lastPosition(t *tx, position *int, query string, args ...any) error {
	if *position > 0 {
		return nil
	}
	return t.row(query, args...).Scan(position)
}
