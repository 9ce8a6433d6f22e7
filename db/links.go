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

// LinkTeacher links a teacher to a LINE user. Beside failures the error is ErrLinkTaken or ErrNotFound.
func (s *Store) LinkTeacher(ctx context.Context, teacherID int64, lineUserID string) error {
	err := s.inTx(ctx, func(t *tx) error {
		return t.execOne(ErrNotFound, `UPDATE teachers SET line_user_id = ?, edit_number = edit_number + 1, updated_at = ? WHERE id = ?`, lineUserID, at(t.now), teacherID)
	})
	if isUnique(err) {
		err = ErrLinkTaken
	}
	return wrap(err, "link teacher %d", teacherID)
}

// TeacherByLINE reads the active teacher who is linked to a LINE user. The error is ErrNotFound if there is none.
func (s *Store) TeacherByLINE(ctx context.Context, lineUserID string) (roster.Teacher, error) {
	v, err := one(ctx, s.read, scanTeacher, `SELECT `+teacherColumns+` FROM teachers WHERE line_user_id = ? AND line_user_id <> '' AND archived_at IS NULL`, lineUserID)
	if err != nil {
		return v, fmt.Errorf("teacher of a LINE user: %w", err)
	}
	return v, nil
}
