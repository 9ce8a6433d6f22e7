package db

import (
	"context"
	"errors"
	"fmt"

	"shiftpost/db/roster"
)

// ErrLinkTaken tells that a LINE user or LINE group is linked to somebody else already.
var ErrLinkTaken = errors.New("the LINE account is linked elsewhere")

// LinkGroup links a group to a LINE group that the account is a member of. Beside failures the error is ErrLinkTaken
// or ErrNotFound.
func (s *Store) LinkGroup(ctx context.Context, groupID int64, lineGroupID, name string, members int) error {
	err := s.inTx(ctx, func(t *tx) error {
		return t.execOne(ErrNotFound, `UPDATE groups SET line_group_id = ?, line_group_name = ?, line_member_count = ?, line_left_at = NULL,
			edit_number = edit_number + 1, updated_at = ? WHERE id = ?`, lineGroupID, name, members, at(t.now), groupID)
	})
	if isUnique(err) {
		err = ErrLinkTaken
	}
	return wrap(err, "link group %d", groupID)
}

// LinkTeacher links a teacher to a LINE user, for whom nothing has been told yet, and calls off what waits for another
// one. Beside failures the error is ErrLinkTaken or ErrNotFound.
func (s *Store) LinkTeacher(ctx context.Context, teacherID int64, lineUserID string) error {
	err := s.inTx(ctx, func(t *tx) error { return s.link(t, teacherID, lineUserID) })
	if isUnique(err) {
		err = ErrLinkTaken
	}
	return wrap(err, "link teacher %d", teacherID)
}

// UnlinkTeacher ends a teacher's link to LINE and calls off what waits for that LINE user. Beside failures the error is
// ErrNotFound.
func (s *Store) UnlinkTeacher(ctx context.Context, teacherID int64) error {
	err := s.inTx(ctx, func(t *tx) error { return s.link(t, teacherID, "") })
	return wrap(err, "unlink teacher %d", teacherID)
}

func (s *Store) link(t *tx, teacherID int64, lineUserID string) error {
	before, err := teacher(t.ctx, t, teacherID)
	if err != nil {
		return err
	}
	if before.LINEUserID == lineUserID {
		return nil
	}
	err = t.execOne(ErrNotFound, `UPDATE teachers SET line_user_id = ?, edit_number = edit_number + 1, updated_at = ? WHERE id = ?`, lineUserID, at(t.now), teacherID)
	if err != nil {
		return err
	}
	if before.Linked() {
		code := roster.CodeTeacherUnlinked
		if lineUserID != "" {
			code = roster.CodeTeacherRelinked
		}
		if err := s.cancelNoticesTo(t, before.LINEUserID, code); err != nil {
			return err
		}
	}
	return s.settleTeacher(t, teacherID)
}

// TeacherByLINE reads the active teacher who is linked to a LINE user. The error is ErrNotFound if there is none.
func (s *Store) TeacherByLINE(ctx context.Context, lineUserID string) (roster.Teacher, error) {
	v, err := one(ctx, s.read, scanTeacher, `SELECT `+teacherColumns+` FROM teachers WHERE line_user_id = ? AND line_user_id <> '' AND archived_at IS NULL`, lineUserID)
	if err != nil {
		return v, fmt.Errorf("teacher of a LINE user: %w", err)
	}
	return v, nil
}
