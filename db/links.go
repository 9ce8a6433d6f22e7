package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"shiftpost/db/roster"
)

// ErrLinkTaken tells that a LINE user or LINE group is linked to somebody else already.
var ErrLinkTaken = errors.New("the LINE account is linked elsewhere")

// ErrLINEGroupLeft tells that the account is no longer in a LINE group.
var ErrLINEGroupLeft = errors.New("the account is not in the LINE group")

// LinkGroup links a group to a LINE group that the account is a member of, as LINE names it. Beside failures the error is
// ErrLinkTaken or ErrNotFound.
func (s *Store) LinkGroup(ctx context.Context, groupID int64, lineGroupID, name string, members int) error {
	err := s.inTx(ctx, func(t *tx) error {
		_, err := t.exec(`INSERT INTO line_groups (line_group_id, name, member_count, joined_at, known_at) VALUES (?1, ?2, ?3, ?4, ?4)
			ON CONFLICT (line_group_id) DO UPDATE SET name = ?2, member_count = ?3, left_at = NULL, known_at = max(known_at, ?4)`,
			lineGroupID, name, members, at(t.now))
		if err != nil {
			return err
		}
		return t.tie(groupID, lineGroupID)
	})
	return wrap(err, "link group %d", groupID)
}

// TieLINEGroup makes a LINE group that is known the one that a group announces to, in place of another one. Beside
// failures the error is ErrNotFound, ErrLINEGroupLeft, or ErrLinkTaken if another group is tied to it.
func (s *Store) TieLINEGroup(ctx context.Context, groupID, lineGroupID int64) error {
	err := s.inTx(ctx, func(t *tx) error {
		l, err := lineGroup(t.ctx, t, lineGroupID)
		switch {
		case err != nil:
			return err
		case !l.Present():
			return ErrLINEGroupLeft
		case l.GroupID == groupID:
			return nil
		}
		return t.tie(groupID, l.LINEGroupID)
	})
	return wrap(err, "tie group %d to LINE group %d", groupID, lineGroupID)
}

// UntieGroup ends a group's link to its LINE group; what waits to be sent to it is called off when its turn comes. The
// error is ErrNotFound. A group that is linked to none stays as it is.
func (s *Store) UntieGroup(ctx context.Context, groupID int64) error {
	err := s.inTx(ctx, func(t *tx) error {
		return t.execOne(ErrNotFound, `UPDATE groups SET line_group_id = '', line_group_name = '', line_member_count = 0, line_left_at = NULL,
			edit_number = edit_number + 1, updated_at = ? WHERE id = ?`, at(t.now), groupID)
	})
	return wrap(err, "untie group %d", groupID)
}

// tie makes a stored LINE group a group's own.
func (t *tx) tie(groupID int64, lineGroupID string) error {
	err := t.execOne(ErrNotFound, `UPDATE groups SET line_group_id = ?, edit_number = edit_number + 1, updated_at = ? WHERE id = ? AND archived_at IS NULL`,
		lineGroupID, at(t.now), groupID)
	if isUnique(err) {
		return ErrLinkTaken
	}
	if err != nil {
		return err
	}
	if _, err := t.exec(`UPDATE line_groups SET dismissed_at = NULL WHERE line_group_id = ?`, lineGroupID); err != nil {
		return err
	}
	return t.copyToGroup(lineGroupID)
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
	err = t.execOne(ErrNotFound, `UPDATE teachers SET line_user_id = ?, blocked = 0, blocked_as_of = NULL, edit_number = edit_number + 1, updated_at = ? WHERE id = ?`, lineUserID, at(t.now), teacherID)
	if err != nil {
		return err
	}
	if lineUserID != "" {
		if err := t.revokeInvitation(teacherID); err != nil {
			return err
		}
	}
	if err := t.noteLink(teacherID, lineUserID); err != nil {
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

// noteLink keeps the history of a teacher's links: the present one ends, and another begins unless lineUserID is empty.
func (t *tx) noteLink(teacherID int64, lineUserID string) error {
	if _, err := t.exec(`UPDATE teacher_links SET unlinked_at = ? WHERE teacher_id = ? AND unlinked_at IS NULL`, at(t.now), teacherID); err != nil {
		return err
	}
	if lineUserID == "" {
		return nil
	}
	_, err := t.exec(`INSERT INTO teacher_links (teacher_id, line_user_id, linked_at) VALUES (?, ?, ?)`, teacherID, lineUserID, at(t.now))
	return err
}

// NoteFriend stores whether the account can reach a LINE user, as LINE said at an instant, unless something newer is
// known. It reports whether that changed anything; of a user who is linked to nobody nothing is kept.
func (s *Store) NoteFriend(ctx context.Context, lineUserID string, friend bool, askedAt time.Time) (changed bool, err error) {
	err = s.inTx(ctx, func(t *tx) (err error) {
		_, changed, err = s.setBlocked(t, lineUserID, !friend, askedAt)
		return err
	})
	return changed, wrap(err, "note friend")
}

// setBlocked stores whether messages to a LINE user vanish, as it was at an instant, unless something newer is known. It
// returns the teacher who is linked to that user, 0 if nobody is.
func (s *Store) setBlocked(t *tx, lineUserID string, blocked bool, asOf time.Time) (teacherID int64, changed bool, err error) {
	var before bool
	var known time.Time
	err = t.row(`SELECT id, blocked, blocked_as_of FROM teachers WHERE line_user_id = ? AND line_user_id <> ''`, lineUserID).Scan(&teacherID, &before, scanInstant(&known))
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return 0, false, nil
	case err != nil:
		return 0, false, fmt.Errorf("teacher of a LINE user: %w", err)
	case known.After(asOf):
		return teacherID, false, nil
	}
	// It is no edit: no form shows it, so none is overtaken by it.
	if err := t.execOne(ErrNotFound, `UPDATE teachers SET blocked = ?, blocked_as_of = ? WHERE id = ?`, blocked, at(asOf), teacherID); err != nil {
		return 0, false, fmt.Errorf("teacher %d: %w", teacherID, err)
	}
	if before == blocked {
		return teacherID, false, nil
	}
	return teacherID, true, s.settleTeacher(t, teacherID)
}

// TeacherByLINE reads the active teacher who is linked to a LINE user. The error is ErrNotFound if there is none.
func (s *Store) TeacherByLINE(ctx context.Context, lineUserID string) (roster.Teacher, error) {
	v, err := one(ctx, s.read, scanTeacher, `SELECT `+teacherColumns+` FROM teachers WHERE line_user_id = ? AND line_user_id <> '' AND archived_at IS NULL`, lineUserID)
	if err != nil {
		return v, fmt.Errorf("teacher of a LINE user: %w", err)
	}
	return v, nil
}
