-- +goose Up

-- How long records of what was sent are kept is set too.
CREATE TABLE new_settings (
    key         TEXT PRIMARY KEY CHECK (key IN ('undo_window', 'retention')),
    value       TEXT NOT NULL, -- undo_window: whole seconds; retention: whole months, 0 for ever
    edit_number INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    updated_by  INTEGER REFERENCES admins (id)
) STRICT, WITHOUT ROWID;
INSERT INTO new_settings SELECT key, value, edit_number, updated_at, updated_by FROM settings;
DROP TABLE settings;
ALTER TABLE new_settings RENAME TO settings;

-- +goose Down
CREATE TABLE old_settings (
    key         TEXT PRIMARY KEY CHECK (key IN ('undo_window')),
    value       TEXT NOT NULL, -- undo_window: whole seconds
    edit_number INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    updated_by  INTEGER REFERENCES admins (id)
) STRICT, WITHOUT ROWID;
INSERT INTO old_settings SELECT key, value, edit_number, updated_at, updated_by FROM settings WHERE key = 'undo_window';
DROP TABLE settings;
ALTER TABLE old_settings RENAME TO settings;
