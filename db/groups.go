package db

import (
	"context"
	"database/sql"
	"fmt"

	"shiftpost/db/roster"
)

// GroupEdit is what an admin enters for a group.
type GroupEdit struct {
	Name        string
	LeadMinutes int // between roster.MinLeadMinutes and roster.MaxLeadMinutes
}

const groupColumns = `id, name, lead_minutes, line_group_id, line_group_name, line_member_count, line_left_at, edit_number, updated_at, archived_at`

func scanGroup(r scanner) (g roster.Group, err error) {
	err = r.Scan(&g.ID, &g.Name, &g.LeadMinutes, &g.LINEGroupID, &g.LINEGroupName, &g.LINEMemberCount,
		scanInstant(&g.LINELeftAt), &g.EditNumber, scanInstant(&g.UpdatedAt), scanInstant(&g.ArchivedAt))
	return g, err
}

// Groups lists the groups in use, the oldest first, and after them the archived ones.
func (s *Store) Groups(ctx context.Context) ([]roster.Group, error) {
	l, err := list(ctx, s.read, scanGroup, `SELECT `+groupColumns+` FROM groups ORDER BY archived_at IS NOT NULL, id`)
	return l, wrap(err, "list groups")
}

// Group returns a group, archived or not. The error is ErrNotFound if there is none.
func (s *Store) Group(ctx context.Context, groupID int64) (roster.Group, error) {
	g, err := group(ctx, s.read, groupID)
	return g, wrap(err, "group %d", groupID)
}

func group(ctx context.Context, q querier, groupID int64) (roster.Group, error) {
	return one(ctx, q, scanGroup, `SELECT `+groupColumns+` FROM groups WHERE id = ?`, groupID)
}

// CreateGroup adds a group. The error is ErrNameTaken if a group in use has the name.
func (s *Store) CreateGroup(ctx context.Context, e GroupEdit) (g roster.Group, err error) {
	err = s.inTx(ctx, func(t *tx) error {
		groupID, err := t.insert(`INSERT INTO groups (name, lead_minutes, created_at, updated_at) VALUES (?, ?, ?, ?)`,
			e.Name, e.LeadMinutes, at(t.now), at(t.now))
		if err != nil {
			return nameTaken(err)
		}
		g, err = group(t.ctx, t, groupID)
		return err
	})
	return g, wrap(err, "create group")
}

// EditGroup changes a group that still has that edit number. The error is ErrNotFound, ErrEdited if somebody changed
// or archived it since, or ErrNameTaken.
func (s *Store) EditGroup(ctx context.Context, groupID, editNumber int64, e GroupEdit) error {
	err := s.inTx(ctx, func(t *tx) error {
		if _, err := group(t.ctx, t, groupID); err != nil {
			return err
		}
		return nameTaken(t.execOne(ErrEdited, `UPDATE groups SET name = ?, lead_minutes = ?, edit_number = edit_number + 1, updated_at = ?
			WHERE id = ? AND edit_number = ? AND archived_at IS NULL`, e.Name, e.LeadMinutes, at(t.now), groupID, editNumber))
	})
	return wrap(err, "edit group %d", groupID)
}

// ArchiveGroup puts a group away. The error is ErrNotFound, or an *InUseError while it has classrooms. A group that is
// archived already stays so.
func (s *Store) ArchiveGroup(ctx context.Context, groupID int64) error {
	err := s.inTx(ctx, func(t *tx) error {
		g, err := group(t.ctx, t, groupID)
		if err != nil || !g.ArchivedAt.IsZero() {
			return err
		}
		var use InUseError
		if err := t.row(`SELECT count(*) FROM classrooms WHERE group_id = ? AND archived_at IS NULL`, groupID).Scan(&use.Classrooms); err != nil {
			return err
		}
		if use.Any() {
			return &use
		}
		return archive(t, "groups", groupID)
	})
	return wrap(err, "archive group %d", groupID)
}

// RestoreGroup brings an archived group back. The error is ErrNotFound, or ErrNameTaken if a group in use has its
// name by now.
func (s *Store) RestoreGroup(ctx context.Context, groupID int64) error {
	err := s.inTx(ctx, func(t *tx) error {
		if _, err := group(t.ctx, t, groupID); err != nil {
			return err
		}
		return restore(t, "groups", groupID)
	})
	return wrap(err, "restore group %d", groupID)
}

// InUseError tells what still needs a thing that somebody wants to archive.
type InUseError struct {
	Classrooms int         // in use
	Teachers   int         // active
	Shifts     int         // drafts and confirmed ones that have not ended
	FirstOn    roster.Date // of those shifts, the earliest
}

// Any reports whether anything needs it.
func (e *InUseError) Any() bool { return e.Classrooms+e.Teachers+e.Shifts > 0 }

func (e *InUseError) Error() string {
	return fmt.Sprintf("in use by %d classrooms, %d teachers, %d shifts", e.Classrooms, e.Teachers, e.Shifts)
}

// countAhead fills e with the shifts of a teacher or of a classroom (column says which) that have not ended at t.now.
func (s *Store) countAhead(t *tx, e *InUseError, column string, id int64) error {
	today := roster.DateOf(t.now, s.loc)
	local := t.now.In(s.loc)
	minute := local.Hour()*60 + local.Minute()
	var first sql.NullString
	err := t.row(`SELECT count(*), min(date) FROM shifts WHERE `+column+` = ? AND state IN ('draft', 'confirmed')
		AND (date > ? OR (date = ? AND end_minutes > ?) OR (date = ? AND end_minutes > ?))`,
		id, today, today, minute, today.AddDays(-1), minute+24*60).Scan(&e.Shifts, &first)
	if err != nil || !first.Valid {
		return err
	}
	e.FirstOn, err = roster.ParseDate(first.String)
	return err
}

// archive puts a row of one of the four tables away; one that is archived already stays as it is.
func archive(t *tx, table string, id int64) error {
	_, err := t.exec(`UPDATE `+table+` SET archived_at = ?, edit_number = edit_number + 1, updated_at = ? WHERE id = ? AND archived_at IS NULL`,
		at(t.now), at(t.now), id)
	return err
}

// restore brings a row back; one that is in use stays as it is.
func restore(t *tx, table string, id int64) error {
	_, err := t.exec(`UPDATE `+table+` SET archived_at = NULL, edit_number = edit_number + 1, updated_at = ? WHERE id = ? AND archived_at IS NOT NULL`,
		at(t.now), id)
	return nameTaken(err)
}

// nameTaken makes ErrNameTaken of a violated unique index. The tables it is used for have no other one that an edit
// can violate.
func nameTaken(err error) error {
	if isUnique(err) {
		return ErrNameTaken
	}
	return err
}

// wrap adds what was attempted to an error, and leaves nil alone.
func wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf(format+": %w", append(args, err)...)
}
