package db

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"shiftpost/db/roster"
)

// Reasons why a shift cannot be saved.
var (
	ErrTeacherArchived   = errors.New("the teacher has left")
	ErrClassroomArchived = errors.New("the classroom is archived")
)

// OverlapError tells that a teacher already works at the time of a shift.
type OverlapError struct {
	Other     roster.Shift     // the shift that is in the way
	Classroom roster.Classroom // where it is
}

// Error names the other shift.
func (e *OverlapError) Error() string {
	return fmt.Sprintf("overlaps shift %d on %s %s", e.Other.ID, e.Other.Date, e.Other.Times)
}

// ShiftEdit is what an admin enters for a shift.
type ShiftEdit struct {
	TeacherID   int64
	ClassroomID int64
	Date        roster.Date
	Times       roster.TimeRange
	Note        string
}

// MonthView is one group's month as the grid shows it.
type MonthView struct {
	Group      roster.Group
	Month      roster.Month
	Classrooms []roster.Classroom // of the group, in order, archived ones only if they have a shift
	Teachers   []roster.Teacher   // at home in the group or with a shift in it, by home classroom and position
	Shifts     []roster.Shift     // not deleted: all in the group's classrooms, and these teachers' elsewhere
	Elsewhere  []roster.Classroom // classrooms of other groups that Shifts name
	Patterns   []roster.Pattern
	// Newest is the newest publication of the month, nil if there is none; Changes counts from it.
	Newest  *roster.Publication
	Changes []roster.Change
}

// Drafts returns how many shifts of the group's own classrooms are drafts.
func (v MonthView) Drafts() int { return v.count(roster.ShiftDraft) }

// Confirmed returns how many shifts of the group's own classrooms are confirmed.
func (v MonthView) Confirmed() int { return v.count(roster.ShiftConfirmed) }

func (v MonthView) count(state roster.ShiftState) int {
	n := 0
	for _, s := range v.Shifts {
		own := slices.ContainsFunc(v.Classrooms, func(c roster.Classroom) bool { return c.ID == s.ClassroomID })
		if own && s.State == state {
			n++
		}
	}
	return n
}

// Month reads one group's month. The error is ErrNotFound if there is no such group.
func (s *Store) Month(ctx context.Context, groupID int64, month roster.Month) (MonthView, error) {
	v := MonthView{Month: month}
	var err error
	if v.Group, err = s.Group(ctx, groupID); err != nil {
		return v, fmt.Errorf("month %s of group %d: %w", month, groupID, err)
	}
	wrap := func(err error) (MonthView, error) {
		return MonthView{}, fmt.Errorf("month %s of group %d: %w", month, groupID, err)
	}
	first, last := month.First(), month.Last()
	v.Classrooms, err = list(ctx, s.read, scanClassroom, `SELECT `+classroomColumns+` FROM classrooms c WHERE group_id = ?
		AND (archived_at IS NULL OR EXISTS (SELECT 1 FROM shifts s WHERE s.classroom_id = c.id AND s.state <> 'deleted' AND s.date BETWEEN ? AND ?))
		ORDER BY position, id`, groupID, first, last)
	if err != nil {
		return wrap(err)
	}
	v.Teachers, err = list(ctx, s.read, scanTeacher, `SELECT `+qualify("t", teacherColumns)+` FROM teachers t
		JOIN classrooms h ON h.id = t.classroom_id
		WHERE (h.group_id = ?1 AND t.archived_at IS NULL)
		OR t.id IN (SELECT s.teacher_id FROM shifts s JOIN classrooms c ON c.id = s.classroom_id
			WHERE c.group_id = ?1 AND s.state <> 'deleted' AND s.date BETWEEN ?2 AND ?3)
		ORDER BY h.group_id <> ?1, h.position, h.id, t.position, t.id`, groupID, first, last)
	if err != nil {
		return wrap(err)
	}
	shifts, err := list(ctx, s.read, scanShift, `SELECT `+shiftColumns+` FROM shifts WHERE state <> 'deleted' AND date BETWEEN ? AND ?
		ORDER BY date, start_minutes, id`, first, last)
	if err != nil {
		return wrap(err)
	}
	elsewhere := map[int64]bool{}
	for _, x := range shifts {
		own := slices.ContainsFunc(v.Classrooms, func(c roster.Classroom) bool { return c.ID == x.ClassroomID })
		known := slices.ContainsFunc(v.Teachers, func(t roster.Teacher) bool { return t.ID == x.TeacherID })
		if !own && !known {
			continue
		}
		v.Shifts = append(v.Shifts, x)
		if !own {
			elsewhere[x.ClassroomID] = true
		}
	}
	if len(elsewhere) > 0 {
		all, err := s.Classrooms(ctx)
		if err != nil {
			return wrap(err)
		}
		for _, c := range all {
			if elsewhere[c.ID] {
				v.Elsewhere = append(v.Elsewhere, c)
			}
		}
	}
	if v.Patterns, err = s.Patterns(ctx); err != nil {
		return wrap(err)
	}
	v.Patterns = slices.DeleteFunc(v.Patterns, func(p roster.Pattern) bool { return !p.ArchivedAt.IsZero() })

	newest, err := newestPublication(ctx, s.read, groupID, month)
	if errors.Is(err, ErrNotFound) {
		return v, nil
	}
	if err != nil {
		return wrap(err)
	}
	now, err := snapshot(ctx, s.read, v.Group, month)
	if err != nil {
		return wrap(err)
	}
	v.Newest, v.Changes = &newest, roster.Compare(newest.Sheet.Snapshot, now)
	return v, nil
}

// Shift reads one shift, deleted ones too.
func (s *Store) Shift(ctx context.Context, shiftID int64) (roster.Shift, error) {
	x, err := one(ctx, s.read, scanShift, `SELECT `+shiftColumns+` FROM shifts WHERE id = ?`, shiftID)
	if err != nil {
		return x, fmt.Errorf("shift %d: %w", shiftID, err)
	}
	return x, nil
}

// AddShift makes a shift, as a draft or confirmed at once. Beside failures the error is an *OverlapError,
// ErrTeacherArchived, ErrClassroomArchived or ErrNotFound.
func (s *Store) AddShift(ctx context.Context, in ShiftEdit, state roster.ShiftState) (roster.Shift, error) {
	var x roster.Shift
	err := s.inTx(ctx, func(t *tx) error {
		x = roster.Shift{State: state, Version: 1, EditNumber: 1}
		if err := t.fillShift(&x, in); err != nil {
			return err
		}
		var shown time.Time
		if state == roster.ShiftConfirmed {
			shown = t.now
		}
		var err error
		x.ID, err = t.insert(`INSERT INTO shifts (teacher_id, classroom_id, date, start_minutes, end_minutes, note, state, shown_at, changed_at, created_at, updated_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			x.TeacherID, x.ClassroomID, x.Date, x.Times.Start, x.Times.End, x.Note, x.State, at(shown), at(t.now), at(t.now), at(t.now))
		if err != nil {
			return err
		}
		return s.settleEdit(t, roster.Shift{}, x)
	})
	if err != nil {
		return roster.Shift{}, fmt.Errorf("add shift: %w", err)
	}
	return s.Shift(ctx, x.ID)
}

// ChangeShift writes what a form says into a shift that was read with that edit number. Beside failures the error is
// ErrEdited, ErrNotFound or one of AddShift's.
func (s *Store) ChangeShift(ctx context.Context, shiftID, editNumber int64, in ShiftEdit) (roster.Shift, error) {
	return s.editShift(ctx, "change", shiftID, editNumber, func(t *tx, x *roster.Shift) error { return t.fillShift(x, in) })
}

// MoveShift puts a shift that was read with that edit number into another state: confirms it, makes it a draft again
// or deletes it. Beside failures the error is ErrEdited or ErrNotFound; a deleted shift is not found.
func (s *Store) MoveShift(ctx context.Context, shiftID, editNumber int64, to roster.ShiftState) (roster.Shift, error) {
	return s.editShift(ctx, "move", shiftID, editNumber, func(_ *tx, x *roster.Shift) error {
		x.State = to
		return nil
	})
}

func (s *Store) editShift(ctx context.Context, what string, shiftID, editNumber int64, edit func(*tx, *roster.Shift) error) (roster.Shift, error) {
	err := s.inTx(ctx, func(t *tx) error {
		x, err := one(t.ctx, t, scanShift, `SELECT `+shiftColumns+` FROM shifts WHERE id = ?`, shiftID)
		if err != nil {
			return err
		}
		if x.State == roster.ShiftDeleted {
			return ErrNotFound
		}
		if x.EditNumber != editNumber {
			return ErrEdited
		}
		before := x
		if err := edit(t, &x); err != nil {
			return err
		}
		return s.writeShift(t, before, x)
	})
	if err != nil {
		return roster.Shift{}, fmt.Errorf("%s shift %d: %w", what, shiftID, err)
	}
	return s.Shift(ctx, shiftID)
}

// writeShift stores an edited shift, counts its version and edit number on, and compares what people were told about it
// with what is so now.
func (s *Store) writeShift(t *tx, before, x roster.Shift) error {
	changed := before.Work() != x.Work() || before.TeacherID != x.TeacherID || before.State != x.State
	if !changed && before.Note == x.Note {
		return nil
	}
	shown := changed && (before.State == roster.ShiftConfirmed || x.State == roster.ShiftConfirmed)
	err := t.execOne(ErrEdited, `UPDATE shifts SET teacher_id = ?, classroom_id = ?, date = ?, start_minutes = ?, end_minutes = ?, note = ?, state = ?,
		version = version + ?, edit_number = edit_number + 1, updated_at = ?,
		changed_at = CASE WHEN ? THEN ? ELSE changed_at END, shown_at = CASE WHEN ? THEN ? ELSE shown_at END
		WHERE id = ? AND edit_number = ?`,
		x.TeacherID, x.ClassroomID, x.Date, x.Times.Start, x.Times.End, x.Note, x.State, changed, at(t.now),
		changed, at(t.now), shown, at(t.now), x.ID, before.EditNumber)
	if err != nil || !changed {
		return err
	}
	return s.settleEdit(t, before, x)
}

// ConfirmMonth confirms every draft of a group's month and returns how many there were.
func (s *Store) ConfirmMonth(ctx context.Context, groupID int64, month roster.Month) (int, error) {
	n := 0
	err := s.inTx(ctx, func(t *tx) error {
		drafts, err := list(t.ctx, t, scanShift, `SELECT `+qualify("s", shiftColumns)+` FROM shifts s JOIN classrooms c ON c.id = s.classroom_id
			WHERE c.group_id = ? AND s.state = 'draft' AND s.date BETWEEN ? AND ?`, groupID, month.First(), month.Last())
		if err != nil {
			return err
		}
		for _, x := range drafts {
			before := x
			x.State = roster.ShiftConfirmed
			if err := s.writeShift(t, before, x); err != nil {
				return err
			}
		}
		n = len(drafts)
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("confirm %s of group %d: %w", month, groupID, err)
	}
	return n, nil
}

// fillShift puts a form's entries into x, unless the teacher or classroom is gone or the teacher works then already.
func (t *tx) fillShift(x *roster.Shift, in ShiftEdit) error {
	teacher, err := one(t.ctx, t, scanTeacher, `SELECT `+teacherColumns+` FROM teachers WHERE id = ?`, in.TeacherID)
	if err != nil {
		return fmt.Errorf("teacher %d: %w", in.TeacherID, err)
	}
	classroom, err := one(t.ctx, t, scanClassroom, `SELECT `+classroomColumns+` FROM classrooms WHERE id = ?`, in.ClassroomID)
	if err != nil {
		return fmt.Errorf("classroom %d: %w", in.ClassroomID, err)
	}
	if !teacher.Active() && in.TeacherID != x.TeacherID {
		return ErrTeacherArchived
	}
	if !classroom.ArchivedAt.IsZero() && in.ClassroomID != x.ClassroomID {
		return ErrClassroomArchived
	}
	x.TeacherID, x.ClassroomID, x.Date, x.Times, x.Note = in.TeacherID, in.ClassroomID, in.Date, in.Times, in.Note

	near, err := list(t.ctx, t, scanShift, `SELECT `+shiftColumns+` FROM shifts WHERE teacher_id = ? AND state <> 'deleted' AND id <> ? AND date BETWEEN ? AND ?
		ORDER BY date, start_minutes`, x.TeacherID, x.ID, x.Date.AddDays(-1), x.Date.AddDays(1))
	if err != nil {
		return err
	}
	for _, o := range near {
		if x.Overlaps(o) {
			c, err := one(t.ctx, t, scanClassroom, `SELECT `+classroomColumns+` FROM classrooms WHERE id = ?`, o.ClassroomID)
			if err != nil {
				return err
			}
			return &OverlapError{Other: o, Classroom: c}
		}
	}
	return nil
}

const shiftColumns = `id, teacher_id, classroom_id, date, start_minutes, end_minutes, note, state, version, edit_number, changed_at, updated_at`

func scanShift(row scanner) (roster.Shift, error) {
	var x roster.Shift
	err := row.Scan(&x.ID, &x.TeacherID, &x.ClassroomID, &x.Date, &x.Times.Start, &x.Times.End, &x.Note, &x.State, &x.Version, &x.EditNumber,
		scanInstant(&x.ChangedAt), scanInstant(&x.UpdatedAt))
	return x, err
}

// snapshot reads the confirmed shifts of a group's month and the names they are shown under.
func snapshot(ctx context.Context, q querier, group roster.Group, month roster.Month) (roster.Snapshot, error) {
	snap := roster.Snapshot{Group: roster.Named{ID: group.ID, Name: group.Name}, Month: month}
	type row struct {
		shift              roster.SnapshotShift
		teacher, classroom roster.Named
		order              [4]int64
	}
	rows, err := list(ctx, q, func(r scanner) (row, error) {
		var x row
		err := r.Scan(&x.shift.ShiftID, &x.teacher.ID, &x.teacher.Name, &x.classroom.ID, &x.classroom.Name, &x.shift.Date, &x.shift.Times.Start, &x.shift.Times.End,
			&x.order[0], &x.order[1], &x.order[2], &x.order[3])
		return x, err
	}, `SELECT s.id, t.id, t.name, c.id, c.name, s.date, s.start_minutes, s.end_minutes, c.position, h.group_id <> c.group_id, h.position, t.position
		FROM shifts s JOIN classrooms c ON c.id = s.classroom_id JOIN teachers t ON t.id = s.teacher_id JOIN classrooms h ON h.id = t.classroom_id
		WHERE c.group_id = ? AND s.state = 'confirmed' AND s.date BETWEEN ? AND ?`, group.ID, month.First(), month.Last())
	if err != nil {
		return snap, fmt.Errorf("read confirmed shifts: %w", err)
	}
	for _, x := range rows {
		x.shift.TeacherID, x.shift.ClassroomID = x.teacher.ID, x.classroom.ID
		snap.Shifts = append(snap.Shifts, x.shift)
	}
	snap.Sort()

	slices.SortFunc(rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(a.order[0], b.order[0]), cmp.Compare(a.classroom.ID, b.classroom.ID))
	})
	for _, x := range rows {
		if !slices.Contains(snap.Classrooms, x.classroom) {
			snap.Classrooms = append(snap.Classrooms, x.classroom)
		}
	}
	slices.SortFunc(rows, func(a, b row) int {
		return cmp.Or(slices.Compare(a.order[1:], b.order[1:]), cmp.Compare(a.teacher.ID, b.teacher.ID))
	})
	for _, x := range rows {
		if !slices.Contains(snap.Teachers, x.teacher) {
			snap.Teachers = append(snap.Teachers, x.teacher)
		}
	}
	err = q.QueryRowContext(ctx, `SELECT max(s.shown_at) FROM shifts s JOIN classrooms c ON c.id = s.classroom_id
		WHERE c.group_id = ? AND s.date BETWEEN ? AND ?`, group.ID, month.First(), month.Last()).Scan(scanInstant(&snap.ChangedAt))
	if err != nil {
		return snap, fmt.Errorf("read newest change: %w", err)
	}
	return snap, nil
}
