package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"time"

	"shiftpost/db/roster"
)

// ErrUndoWindow tells that an undo window is negative, longer than roster.MaxUndoWindow or not in whole seconds.
var ErrUndoWindow = errors.New("not a possible undo window")

// Settings reads what is set for the whole school; what was never set has the value the program was started with.
func (s *Store) Settings(ctx context.Context) (roster.Settings, error) {
	v, err := s.settings(ctx, s.read)
	return v, wrap(err, "read settings")
}

func (s *Store) settings(ctx context.Context, q querier) (roster.Settings, error) {
	v := roster.Settings{UndoWindow: max(0, s.opts.UndoWindow), EditNumber: 1}
	var value string
	err := q.QueryRowContext(ctx, `SELECT value, edit_number, updated_at FROM settings WHERE key = 'undo_window'`).Scan(&value, &v.EditNumber, scanInstant(&v.UpdatedAt))
	if errors.Is(err, sql.ErrNoRows) {
		return v, nil
	}
	if err != nil {
		return v, err
	}
	seconds, err := strconv.Atoi(value)
	if err != nil {
		return v, fmt.Errorf("undo window: %w", err)
	}
	v.UndoWindow = time.Duration(seconds) * time.Second
	return v, nil
}

// SettingsEdit is what an admin sets for the whole school.
type SettingsEdit struct {
	UndoWindow time.Duration // from 0 to roster.MaxUndoWindow, in whole seconds
	AdminID    int64
}

// EditSettings changes the settings that were read with that edit number. What waits already keeps its due instant.
// Beside failures the error is ErrEdited or ErrUndoWindow.
func (s *Store) EditSettings(ctx context.Context, editNumber int64, e SettingsEdit) error {
	if e.UndoWindow < 0 || e.UndoWindow > roster.MaxUndoWindow || e.UndoWindow%time.Second != 0 {
		return ErrUndoWindow
	}
	err := s.inTx(ctx, func(t *tx) error {
		before, err := s.settings(t.ctx, t)
		if err != nil {
			return err
		}
		if before.EditNumber != editNumber {
			return ErrEdited
		}
		_, err = t.exec(`INSERT INTO settings (key, value, edit_number, updated_at, updated_by) VALUES ('undo_window', ?, ?, ?, ?)
			ON CONFLICT (key) DO UPDATE SET value = excluded.value, edit_number = excluded.edit_number, updated_at = excluded.updated_at, updated_by = excluded.updated_by`,
			strconv.Itoa(int(e.UndoWindow/time.Second)), editNumber+1, at(t.now), ref(e.AdminID))
		return err
	})
	return wrap(err, "edit settings")
}
