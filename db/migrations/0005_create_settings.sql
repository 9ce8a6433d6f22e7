-- +goose Up

-- What an admin set that is no part of a group or another thing. A key without a row has its default.
CREATE TABLE settings (
    key         TEXT PRIMARY KEY CHECK (key IN ('undo_window')),
    value       TEXT NOT NULL, -- undo_window: whole seconds
    edit_number INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    updated_by  INTEGER REFERENCES admins (id)
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE settings;
