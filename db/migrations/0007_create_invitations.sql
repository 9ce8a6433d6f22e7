-- +goose Up

-- Which LINE users were ever linked to a teacher. Somebody who left, or changed their phone, may still be in the LINE
-- group and read what is published there.
CREATE TABLE teacher_links (
    id           INTEGER PRIMARY KEY,
    teacher_id   INTEGER NOT NULL REFERENCES teachers (id),
    line_user_id TEXT NOT NULL CHECK (line_user_id <> ''),
    linked_at    INTEGER NOT NULL,
    unlinked_at  INTEGER -- NULL while the link stands
) STRICT;
CREATE INDEX teacher_links_teacher ON teacher_links (teacher_id);
CREATE UNIQUE INDEX teacher_links_standing ON teacher_links (line_user_id) WHERE unlinked_at IS NULL;

INSERT INTO teacher_links (teacher_id, line_user_id, linked_at) SELECT id, line_user_id, updated_at FROM teachers WHERE line_user_id <> '';

-- The invitations to teachers to link their LINE user, each for one teacher and one use.
CREATE TABLE invitations (
    id         INTEGER PRIMARY KEY,
    teacher_id INTEGER NOT NULL REFERENCES teachers (id),
    token_hash TEXT NOT NULL UNIQUE, -- SHA-256 of the secret, hex
    created_at INTEGER NOT NULL,
    created_by INTEGER REFERENCES admins (id),
    expires_at INTEGER NOT NULL,
    used_at    INTEGER,
    used_by    TEXT CHECK (used_by <> ''), -- the LINE user
    revoked_at INTEGER,
    CHECK ((used_at IS NULL) = (used_by IS NULL)),
    CHECK (used_at IS NULL OR revoked_at IS NULL)
) STRICT;
-- A teacher has at most one invitation that can be used: a newer one takes the place of the older.
CREATE UNIQUE INDEX invitations_open ON invitations (teacher_id) WHERE used_at IS NULL AND revoked_at IS NULL;

-- +goose Down
DROP TABLE invitations;
DROP TABLE teacher_links;
