package db

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"shiftpost/db/roster"
)

// Why an invitation cannot be used, beside ErrNotFound and ErrLinkTaken.
var (
	ErrInvitationUsed    = errors.New("the invitation was used")
	ErrInvitationRevoked = errors.New("the invitation was withdrawn")
	ErrInvitationExpired = errors.New("the invitation is too old")
)

// IssuedInvitation is an invitation with its secret, which is told once: only its hash is kept.
type IssuedInvitation struct {
	roster.Invitation
	Teacher roster.Teacher
	Token   string
}

// CreateInvitations invites teachers, in the given order. An earlier invitation of theirs that is still open ends. Who
// left or is linked is passed over. The error is ErrNotFound if there is no such teacher.
func (s *Store) CreateInvitations(ctx context.Context, teacherIDs []int64, adminID int64) ([]IssuedInvitation, error) {
	var issued []IssuedInvitation
	err := s.inTx(ctx, func(t *tx) error {
		for _, id := range teacherIDs {
			v, err := teacher(t.ctx, t, id)
			if err != nil {
				return wrap(err, "teacher %d", id)
			}
			if !v.Active() || v.Linked() {
				continue
			}
			if err := t.revokeInvitation(id); err != nil {
				return err
			}
			x := IssuedInvitation{Teacher: v, Token: rand.Text()}
			x.TeacherID, x.CreatedAt, x.ExpiresAt = id, t.now, t.now.Add(roster.InvitationLife)
			x.ID, err = t.insert(`INSERT INTO invitations (teacher_id, token_hash, created_at, created_by, expires_at) VALUES (?, ?, ?, ?, ?)`,
				id, hashToken(x.Token), at(t.now), ref(adminID), at(x.ExpiresAt))
			if err != nil {
				return err
			}
			issued = append(issued, x)
		}
		return nil
	})
	if err != nil {
		return nil, wrap(err, "create invitations")
	}
	return issued, nil
}

// RevokeInvitation withdraws the open invitation of a teacher, if there is one.
func (s *Store) RevokeInvitation(ctx context.Context, teacherID int64) error {
	err := s.inTx(ctx, func(t *tx) error { return t.revokeInvitation(teacherID) })
	return wrap(err, "revoke invitation of teacher %d", teacherID)
}

func (t *tx) revokeInvitation(teacherID int64) error {
	_, err := t.exec(`UPDATE invitations SET revoked_at = ? WHERE teacher_id = ? AND used_at IS NULL AND revoked_at IS NULL`, at(t.now), teacherID)
	return err
}

// OpenInvitations returns the invitations that can still be used, by teacher.
func (s *Store) OpenInvitations(ctx context.Context) (map[int64]roster.Invitation, error) {
	open := map[int64]roster.Invitation{}
	_, err := list(ctx, s.read, func(r scanner) (x roster.Invitation, err error) {
		err = r.Scan(&x.ID, &x.TeacherID, scanInstant(&x.CreatedAt), scanInstant(&x.ExpiresAt))
		open[x.TeacherID] = x
		return x, err
	}, `SELECT i.id, i.teacher_id, i.created_at, i.expires_at FROM invitations i JOIN teachers t ON t.id = i.teacher_id
		WHERE i.used_at IS NULL AND i.revoked_at IS NULL AND i.expires_at > ? AND t.archived_at IS NULL`, at(s.Now()))
	return open, wrap(err, "list open invitations")
}

// Invitation returns whom an invitation would link a LINE user as. Beside failures the error is ErrNotFound,
// ErrInvitationUsed, ErrInvitationRevoked, ErrInvitationExpired, or ErrLinkTaken if that LINE user is another teacher
// already.
func (s *Store) Invitation(ctx context.Context, token, lineUserID string) (v roster.Teacher, err error) {
	err = s.inRead(ctx, func(q querier) error {
		_, v, err = openInvitation(ctx, q, s.Now(), token, lineUserID)
		return err
	})
	return v, wrap(err, "invitation")
}

// AcceptInvitation links a LINE user to the teacher whom an invitation is for, and uses it up. The errors are those of
// Invitation.
func (s *Store) AcceptInvitation(ctx context.Context, token, lineUserID string) (v roster.Teacher, err error) {
	err = s.inTx(ctx, func(t *tx) error {
		id, invited, err := openInvitation(t.ctx, t, t.now, token, lineUserID)
		if err != nil {
			return err
		}
		err = t.execOne(ErrInvitationUsed, `UPDATE invitations SET used_at = ?, used_by = ? WHERE id = ? AND used_at IS NULL AND revoked_at IS NULL`, at(t.now), lineUserID, id)
		if err != nil {
			return err
		}
		// Somebody who left and came back as a new teacher brings their LINE user along.
		former, err := one(t.ctx, t, scanTeacher, `SELECT `+teacherColumns+` FROM teachers WHERE line_user_id = ? AND archived_at IS NOT NULL`, lineUserID)
		switch {
		case err == nil:
			err = s.link(t, former.ID, "")
		case errors.Is(err, ErrNotFound):
			err = nil
		}
		if err != nil {
			return err
		}
		if err := s.link(t, invited.ID, lineUserID); err != nil {
			return err
		}
		v, err = teacher(t.ctx, t, invited.ID)
		return err
	})
	return v, wrap(err, "accept invitation")
}

// openInvitation reads an invitation that a LINE user can use now, and whom it is for.
func openInvitation(ctx context.Context, q querier, now time.Time, token, lineUserID string) (id int64, v roster.Teacher, err error) {
	var expires, used, revoked time.Time
	_, err = one(ctx, q, func(r scanner) (struct{}, error) {
		return struct{}{}, r.Scan(&id, &v.ID, scanInstant(&expires), scanInstant(&used), scanInstant(&revoked))
	}, `SELECT id, teacher_id, expires_at, used_at, revoked_at FROM invitations WHERE token_hash = ?`, hashToken(token))
	if err != nil {
		return 0, v, err
	}
	if v, err = teacher(ctx, q, v.ID); err != nil {
		return 0, v, fmt.Errorf("invited teacher: %w", err)
	}
	var taken bool
	err = q.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM teachers WHERE line_user_id = ? AND id <> ? AND archived_at IS NULL)`, lineUserID, v.ID).Scan(&taken)
	switch {
	case err != nil:
	case !used.IsZero():
		err = ErrInvitationUsed
	case !revoked.IsZero(), !v.Active(), v.Linked():
		err = ErrInvitationRevoked
	case !now.Before(expires):
		err = ErrInvitationExpired
	case taken:
		err = ErrLinkTaken
	}
	return id, v, err
}

// Links lists every LINE user who was ever linked to a teacher, with the newest link of each, in the order of the
// teachers.
func (s *Store) Links(ctx context.Context) ([]roster.Link, error) {
	l, err := list(ctx, s.read, func(r scanner) (x roster.Link, err error) {
		t := &x.Teacher
		err = r.Scan(&x.LINEUserID, scanInstant(&x.LinkedAt), scanInstant(&x.UnlinkedAt),
			&t.ID, &t.ClassroomID, &t.Name, &t.Position, &t.LINEUserID, &t.NoticesOn, &t.Blocked, &t.EditNumber, scanInstant(&t.UpdatedAt), scanInstant(&t.ArchivedAt))
		return x, err
	}, `SELECT k.line_user_id, k.linked_at, k.unlinked_at, `+qualify("t", teacherColumns)+`
		FROM teacher_links k JOIN teachers t ON t.id = k.teacher_id JOIN classrooms c ON c.id = t.classroom_id
		WHERE k.id = (SELECT max(n.id) FROM teacher_links n WHERE n.line_user_id = k.line_user_id)
		ORDER BY t.archived_at IS NOT NULL, c.group_id, c.position, c.id, t.position, t.id, k.id`)
	return l, wrap(err, "list links")
}

// LinkedAt returns when a teacher's present link was made. The error is ErrNotFound if they are not linked.
func (s *Store) LinkedAt(ctx context.Context, teacherID int64) (time.Time, error) {
	at, err := one(ctx, s.read, func(r scanner) (at time.Time, err error) {
		err = r.Scan(scanInstant(&at))
		return at, err
	}, `SELECT linked_at FROM teacher_links WHERE teacher_id = ? AND unlinked_at IS NULL`, teacherID)
	return at, wrap(err, "link of teacher %d", teacherID)
}
