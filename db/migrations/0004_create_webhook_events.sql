-- +goose Up

-- What LINE told by webhook, once for each event however often it came. What members of a group write to each other is
-- not kept: the body is NULL for every kind that nothing is done with.
CREATE TABLE webhook_events (
    id            INTEGER PRIMARY KEY,
    event_id      TEXT NOT NULL UNIQUE,
    kind          TEXT NOT NULL,        -- LINE's word
    line_group_id TEXT NOT NULL DEFAULT '',
    line_user_id  TEXT NOT NULL DEFAULT '',
    happened_at   INTEGER NOT NULL,     -- by LINE's clock; events come in any order
    received_at   INTEGER NOT NULL,
    reply_token   TEXT NOT NULL DEFAULT '', -- serves once: emptied when it is handed out
    body          TEXT CHECK (json_valid(body)),
    tries         INTEGER NOT NULL DEFAULT 0,
    outcome       TEXT CHECK (outcome IN ('applied', 'ignored', 'failed')), -- NULL while its job waits
    error         TEXT NOT NULL DEFAULT '',
    finished_at   INTEGER,
    CHECK ((outcome IS NULL) = (finished_at IS NULL))
) STRICT;
CREATE INDEX webhook_events_finished ON webhook_events (finished_at) WHERE finished_at IS NOT NULL;

-- Every LINE group that the account is in or was in, tied to a group or not.
CREATE TABLE line_groups (
    id            INTEGER PRIMARY KEY,
    line_group_id TEXT NOT NULL UNIQUE CHECK (line_group_id <> ''),
    name          TEXT NOT NULL DEFAULT '',     -- empty while LINE did not say
    member_count  INTEGER NOT NULL DEFAULT 0,   -- 0 while LINE did not say
    joined_at     INTEGER NOT NULL,
    left_at       INTEGER,                      -- NULL while the account is in it
    known_at      INTEGER NOT NULL,             -- the newest instant for which being in it or not is known
    dismissed_at  INTEGER                       -- an admin said that it is not the school's
) STRICT;

INSERT INTO line_groups (line_group_id, name, member_count, joined_at, left_at, known_at)
SELECT line_group_id, line_group_name, line_member_count, updated_at, line_left_at, updated_at FROM groups WHERE line_group_id <> '';

-- The newest instant for which blocked is known to be so; NULL while nobody asked.
ALTER TABLE teachers ADD COLUMN blocked_as_of INTEGER;

-- +goose Down
ALTER TABLE teachers DROP COLUMN blocked_as_of;
DROP TABLE line_groups;
DROP TABLE webhook_events;
