-- +goose Up

-- The secret addresses under which teachers subscribe to their shifts. One counts only as long as the teacher is linked
-- to the LINE user who made it.
CREATE TABLE calendars (
    teacher_id   INTEGER PRIMARY KEY REFERENCES teachers (id),
    token_hash   TEXT NOT NULL UNIQUE, -- SHA-256 of the address's secret, hex
    line_user_id TEXT NOT NULL CHECK (line_user_id <> ''),
    language     TEXT NOT NULL,
    created_at   INTEGER NOT NULL
) STRICT;

-- +goose Down
DROP TABLE calendars;
