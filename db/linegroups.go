package db

import (
	"context"
	"time"

	"shiftpost/db/roster"
)

const lineGroupColumns = `l.id, l.line_group_id, l.name, l.member_count, l.joined_at, l.left_at, l.dismissed_at, g.id`

const lineGroupTables = `line_groups l LEFT JOIN groups g ON g.line_group_id = l.line_group_id`

func scanLINEGroup(r scanner) (l roster.LINEGroup, err error) {
	err = r.Scan(&l.ID, &l.LINEGroupID, &l.Name, &l.MemberCount, scanInstant(&l.JoinedAt), scanInstant(&l.LeftAt), scanInstant(&l.DismissedAt), scanRef(&l.GroupID))
	return l, err
}

// UntiedLINEGroups lists the LINE groups that the account is in and that are tied to no group, the newest first. Those
// that an admin dismissed are left out.
func (s *Store) UntiedLINEGroups(ctx context.Context) ([]roster.LINEGroup, error) {
	l, err := list(ctx, s.read, scanLINEGroup, `SELECT `+lineGroupColumns+` FROM `+lineGroupTables+`
		WHERE g.id IS NULL AND l.left_at IS NULL AND l.dismissed_at IS NULL ORDER BY l.joined_at DESC, l.id DESC`)
	return l, wrap(err, "list untied LINE groups")
}

// PresentLINEGroups lists the LINE groups that the account is in.
func (s *Store) PresentLINEGroups(ctx context.Context) ([]roster.LINEGroup, error) {
	l, err := list(ctx, s.read, scanLINEGroup, `SELECT `+lineGroupColumns+` FROM `+lineGroupTables+` WHERE l.left_at IS NULL ORDER BY l.id`)
	return l, wrap(err, "list present LINE groups")
}

// LINEGroup returns a LINE group. The error is ErrNotFound if there is none.
func (s *Store) LINEGroup(ctx context.Context, lineGroupID int64) (roster.LINEGroup, error) {
	l, err := lineGroup(ctx, s.read, lineGroupID)
	return l, wrap(err, "LINE group %d", lineGroupID)
}

func lineGroup(ctx context.Context, q querier, lineGroupID int64) (roster.LINEGroup, error) {
	return one(ctx, q, scanLINEGroup, `SELECT `+lineGroupColumns+` FROM `+lineGroupTables+` WHERE l.id = ?`, lineGroupID)
}

// DismissLINEGroup takes an untied LINE group off the list of new ones: it is not the school's. When the account is
// invited to it again it is listed again. The error is ErrNotFound.
func (s *Store) DismissLINEGroup(ctx context.Context, lineGroupID int64) error {
	err := s.inTx(ctx, func(t *tx) error {
		return t.execOne(ErrNotFound, `UPDATE line_groups SET dismissed_at = ? WHERE id = ?`, at(t.now), lineGroupID)
	})
	return wrap(err, "dismiss LINE group %d", lineGroupID)
}

// NoteLINEGroup stores what LINE said of a LINE group at an instant: its name and member count, or, with nil, that the
// account is not in it.
func (s *Store) NoteLINEGroup(ctx context.Context, lineGroupID string, found *roster.LINEGroup, askedAt time.Time) error {
	err := s.inTx(ctx, func(t *tx) error { return t.askedGroup(lineGroupID, found, askedAt) })
	return wrap(err, "note LINE group")
}

// seenInGroup stores what an event says about being in a LINE group, unless something newer is known.
func (t *tx) seenInGroup(lineGroupID string, happenedAt time.Time, kind roster.LINEEventKind) error {
	var err error
	if kind == roster.BotLeft {
		_, err = t.exec(`INSERT INTO line_groups (line_group_id, joined_at, left_at, known_at) VALUES (?1, ?2, ?2, ?2)
			ON CONFLICT (line_group_id) DO UPDATE SET left_at = CASE WHEN known_at <= ?2 THEN ?2 ELSE left_at END, known_at = max(known_at, ?2)`,
			lineGroupID, at(happenedAt))
	} else {
		// Every other event comes only from a group that the account is in.
		_, err = t.exec(`INSERT INTO line_groups (line_group_id, joined_at, known_at) VALUES (?1, ?2, ?2)
			ON CONFLICT (line_group_id) DO UPDATE SET
				joined_at = CASE WHEN ?3 OR (left_at IS NOT NULL AND known_at <= ?2) THEN max(joined_at, ?2) ELSE joined_at END,
				dismissed_at = CASE WHEN ?3 AND known_at <= ?2 THEN NULL ELSE dismissed_at END,
				left_at = CASE WHEN known_at <= ?2 THEN NULL ELSE left_at END,
				known_at = max(known_at, ?2)`,
			lineGroupID, at(happenedAt), kind == roster.BotJoined)
	}
	if err != nil {
		return err
	}
	return t.copyToGroup(lineGroupID)
}

// askedGroup is NoteLINEGroup in a transaction.
func (t *tx) askedGroup(lineGroupID string, found *roster.LINEGroup, askedAt time.Time) error {
	var err error
	if found == nil {
		_, err = t.exec(`UPDATE line_groups SET left_at = coalesce(left_at, ?2), known_at = ?2 WHERE line_group_id = ?1 AND known_at <= ?2`, lineGroupID, at(askedAt))
	} else {
		_, err = t.exec(`UPDATE line_groups SET name = ?3, member_count = ?4,
			left_at = CASE WHEN known_at <= ?2 THEN NULL ELSE left_at END, known_at = max(known_at, ?2) WHERE line_group_id = ?1`,
			lineGroupID, at(askedAt), found.Name, found.MemberCount)
	}
	if err != nil {
		return err
	}
	return t.copyToGroup(lineGroupID)
}

// copyToGroup brings what is known of a LINE group to the group that is tied to it. It is no edit: a form that is open
// elsewhere does not show it.
func (t *tx) copyToGroup(lineGroupID string) error {
	_, err := t.exec(`UPDATE groups SET (line_group_name, line_member_count, line_left_at) =
		(SELECT name, member_count, left_at FROM line_groups WHERE line_group_id = ?1) WHERE line_group_id = ?1`, lineGroupID)
	return err
}

// Unannounced lists the newest publication of each month from that one on that the group's present LINE group was not
// told of and is not about to be, the earliest month first.
func (s *Store) Unannounced(ctx context.Context, groupID int64, from roster.Month) ([]roster.Publication, error) {
	l, err := list(ctx, s.read, scanPublication, `SELECT `+publicationColumns+` FROM publications p JOIN groups g ON g.id = p.group_id
		WHERE p.group_id = ? AND p.month >= ? AND g.line_group_id <> ''
		AND p.number = (SELECT max(n.number) FROM publications n WHERE n.group_id = p.group_id AND n.month = p.month)
		AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.publication_id = p.id
			AND (d.state IN ('pending', 'queued', 'processing') OR (d.state = 'sent' AND d.line_id = g.line_group_id)))
		ORDER BY p.month`, groupID, from.String())
	return l, wrap(err, "list publications group %d was not told of", groupID)
}
