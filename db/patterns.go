package db

import (
	"context"

	"shiftpost/db/roster"
)

// PatternEdit is what an admin enters for a pattern.
type PatternEdit struct {
	Name     string
	Letter   string
	Times    roster.TimeRange
	Position int // 0: after all others
}

const patternColumns = `id, name, letter, start_minutes, end_minutes, position, edit_number, updated_at, archived_at`

func scanPattern(r scanner) (p roster.Pattern, err error) {
	err = r.Scan(&p.ID, &p.Name, &p.Letter, &p.Times.Start, &p.Times.End, &p.Position, &p.EditNumber, scanInstant(&p.UpdatedAt), scanInstant(&p.ArchivedAt))
	return p, err
}

// Patterns lists the patterns in use by position, and after them the archived ones.
func (s *Store) Patterns(ctx context.Context) ([]roster.Pattern, error) {
	l, err := list(ctx, s.read, scanPattern, `SELECT `+patternColumns+` FROM patterns ORDER BY archived_at IS NOT NULL, position, id`)
	return l, wrap(err, "list patterns")
}

// Pattern returns a pattern, archived or not. The error is ErrNotFound if there is none.
func (s *Store) Pattern(ctx context.Context, patternID int64) (roster.Pattern, error) {
	p, err := pattern(ctx, s.read, patternID)
	return p, wrap(err, "pattern %d", patternID)
}

func pattern(ctx context.Context, q querier, patternID int64) (roster.Pattern, error) {
	return one(ctx, q, scanPattern, `SELECT `+patternColumns+` FROM patterns WHERE id = ?`, patternID)
}

// CreatePattern adds a pattern. The error is ErrNameTaken if a pattern in use has the name.
func (s *Store) CreatePattern(ctx context.Context, e PatternEdit) (p roster.Pattern, err error) {
	err = s.inTx(ctx, func(t *tx) error {
		if err := lastPosition(t, &e.Position, `SELECT coalesce(max(position), 0) + 1 FROM patterns`); err != nil {
			return err
		}
		patternID, err := t.insert(`INSERT INTO patterns (name, letter, start_minutes, end_minutes, position, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?)`,
			e.Name, e.Letter, e.Times.Start, e.Times.End, e.Position, at(t.now), at(t.now))
		if err != nil {
			return nameTaken(err)
		}
		p, err = pattern(t.ctx, t, patternID)
		return err
	})
	return p, wrap(err, "create pattern")
}

// EditPattern changes a pattern that still has that edit number. Shifts that were filled from it keep their times. The
// error is ErrNotFound, ErrEdited or ErrNameTaken.
func (s *Store) EditPattern(ctx context.Context, patternID, editNumber int64, e PatternEdit) error {
	err := s.inTx(ctx, func(t *tx) error {
		if _, err := pattern(t.ctx, t, patternID); err != nil {
			return err
		}
		if err := lastPosition(t, &e.Position, `SELECT coalesce(max(position), 0) + 1 FROM patterns WHERE id <> ?`, patternID); err != nil {
			return err
		}
		return nameTaken(t.execOne(ErrEdited, `UPDATE patterns SET name = ?, letter = ?, start_minutes = ?, end_minutes = ?, position = ?, edit_number = edit_number + 1, updated_at = ?
			WHERE id = ? AND edit_number = ? AND archived_at IS NULL`, e.Name, e.Letter, e.Times.Start, e.Times.End, e.Position, at(t.now), patternID, editNumber))
	})
	return wrap(err, "edit pattern %d", patternID)
}

// ArchivePattern puts a pattern away. Shifts that were filled from it keep their times. The error is ErrNotFound.
func (s *Store) ArchivePattern(ctx context.Context, patternID int64) error {
	err := s.inTx(ctx, func(t *tx) error {
		if _, err := pattern(t.ctx, t, patternID); err != nil {
			return err
		}
		return archive(t, "patterns", patternID)
	})
	return wrap(err, "archive pattern %d", patternID)
}

// RestorePattern brings an archived pattern back. The error is ErrNotFound or ErrNameTaken.
func (s *Store) RestorePattern(ctx context.Context, patternID int64) error {
	err := s.inTx(ctx, func(t *tx) error {
		if _, err := pattern(t.ctx, t, patternID); err != nil {
			return err
		}
		return restore(t, "patterns", patternID)
	})
	return wrap(err, "restore pattern %d", patternID)
}
