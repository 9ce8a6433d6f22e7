package db

import (
	"context"
	"database/sql"
	"errors"
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
	v := roster.Settings{UndoWindow: max(0, s.opts.UndoWindow)}
	set, err := readSetting(ctx, q, "undo_window")
	v.EditNumber, v.UpdatedAt = set.editNumber, set.updatedAt
	if err == nil && !set.updatedAt.IsZero() {
		v.UndoWindow = time.Duration(set.value) * time.Second
	}
	return v, err
}

// setting is one row of what is set; with the edit number 1 and no instant while there is none.
type setting struct {
	value      int
	editNumber int64
	updatedAt  time.Time
}

func readSetting(ctx context.Context, q querier, key string) (setting, error) {
	v := setting{editNumber: 1}
	err := q.QueryRowContext(ctx, `SELECT value, edit_number, updated_at FROM settings WHERE key = ?`, key).Scan(&v.value, &v.editNumber, scanInstant(&v.updatedAt))
	if errors.Is(err, sql.ErrNoRows) {
		return v, nil
	}
	return v, wrap(err, "setting %s", key)
}

// writeSetting changes a setting that was read with that edit number. Beside failures the error is ErrEdited.
func (t *tx) writeSetting(key string, value int, editNumber, adminID int64) error {
	before, err := readSetting(t.ctx, t, key)
	if err != nil {
		return err
	}
	if before.editNumber != editNumber {
		return ErrEdited
	}
	_, err = t.exec(`INSERT INTO settings (key, value, edit_number, updated_at, updated_by) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (key) DO UPDATE SET value = excluded.value, edit_number = excluded.edit_number, updated_at = excluded.updated_at, updated_by = excluded.updated_by`,
		key, strconv.Itoa(value), editNumber+1, at(t.now), ref(adminID))
	return wrap(err, "setting %s", key)
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
		return t.writeSetting("undo_window", int(e.UndoWindow/time.Second), editNumber, e.AdminID)
	})
	return wrap(err, "edit settings")
}
