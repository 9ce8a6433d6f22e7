-- +goose Up

CREATE TABLE admins (
    id            INTEGER PRIMARY KEY,
    email         TEXT NOT NULL UNIQUE CHECK (email = lower(email) AND email <> ''),
    name          TEXT NOT NULL,
    password_hash TEXT NOT NULL,
    created_at    INTEGER NOT NULL,
    archived_at   INTEGER
) STRICT;

-- The table of github.com/alexedwards/scs/sqlite3store, which fixes its name and columns.
CREATE TABLE sessions (
    token  TEXT PRIMARY KEY,
    data   BLOB NOT NULL,
    expiry REAL NOT NULL
) STRICT;
CREATE INDEX sessions_expiry ON sessions (expiry);

CREATE TABLE groups (
    id                INTEGER PRIMARY KEY,
    name              TEXT NOT NULL,
    lead_minutes      INTEGER NOT NULL CHECK (lead_minutes BETWEEN 15 AND 1440),
    line_group_id     TEXT NOT NULL DEFAULT '',
    line_group_name   TEXT NOT NULL DEFAULT '',
    line_member_count INTEGER NOT NULL DEFAULT 0,
    line_left_at      INTEGER,
    edit_number       INTEGER NOT NULL DEFAULT 1,
    created_at        INTEGER NOT NULL,
    updated_at        INTEGER NOT NULL,
    archived_at       INTEGER
) STRICT;
CREATE UNIQUE INDEX groups_line ON groups (line_group_id) WHERE line_group_id <> '';
CREATE UNIQUE INDEX groups_name ON groups (name) WHERE archived_at IS NULL;

CREATE TABLE classrooms (
    id          INTEGER PRIMARY KEY,
    group_id    INTEGER NOT NULL REFERENCES groups (id),
    name        TEXT NOT NULL,
    short_name  TEXT NOT NULL,
    position    INTEGER NOT NULL,
    edit_number INTEGER NOT NULL DEFAULT 1,
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    archived_at INTEGER
) STRICT;
CREATE INDEX classrooms_group ON classrooms (group_id, position);
CREATE UNIQUE INDEX classrooms_name ON classrooms (name) WHERE archived_at IS NULL;

CREATE TABLE teachers (
    id           INTEGER PRIMARY KEY,
    classroom_id INTEGER NOT NULL REFERENCES classrooms (id),
    name         TEXT NOT NULL,
    position     INTEGER NOT NULL,
    line_user_id TEXT NOT NULL DEFAULT '',
    notices_on   INTEGER NOT NULL DEFAULT 1 CHECK (notices_on IN (0, 1)),
    blocked      INTEGER NOT NULL DEFAULT 0 CHECK (blocked IN (0, 1)),
    edit_number  INTEGER NOT NULL DEFAULT 1,
    created_at   INTEGER NOT NULL,
    updated_at   INTEGER NOT NULL,
    archived_at  INTEGER
) STRICT;
CREATE INDEX teachers_classroom ON teachers (classroom_id, position);
CREATE UNIQUE INDEX teachers_line ON teachers (line_user_id) WHERE line_user_id <> '';

CREATE TABLE patterns (
    id            INTEGER PRIMARY KEY,
    name          TEXT NOT NULL,
    letter        TEXT NOT NULL,
    start_minutes INTEGER NOT NULL,
    end_minutes   INTEGER NOT NULL,
    position      INTEGER NOT NULL,
    edit_number   INTEGER NOT NULL DEFAULT 1,
    created_at    INTEGER NOT NULL,
    updated_at    INTEGER NOT NULL,
    archived_at   INTEGER,
    CHECK (start_minutes >= 0 AND start_minutes < end_minutes AND end_minutes <= 1800)
) STRICT;
CREATE UNIQUE INDEX patterns_name ON patterns (name) WHERE archived_at IS NULL;

-- date is a local date; the minutes count from its midnight on the school's clock and may pass 1440.
CREATE TABLE shifts (
    id            INTEGER PRIMARY KEY,
    teacher_id    INTEGER NOT NULL REFERENCES teachers (id),
    classroom_id  INTEGER NOT NULL REFERENCES classrooms (id),
    date          TEXT NOT NULL CHECK (date GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]'),
    start_minutes INTEGER NOT NULL,
    end_minutes   INTEGER NOT NULL,
    note          TEXT NOT NULL DEFAULT '',
    state         TEXT NOT NULL CHECK (state IN ('draft', 'confirmed', 'deleted')),
    version       INTEGER NOT NULL DEFAULT 1,
    edit_number   INTEGER NOT NULL DEFAULT 1,
    shown_at      INTEGER, -- when what the table shows of it last changed; NULL while it was never confirmed
    changed_at    INTEGER NOT NULL,
    created_at    INTEGER NOT NULL,
    updated_at    INTEGER NOT NULL,
    CHECK (start_minutes >= 0 AND start_minutes < end_minutes AND end_minutes <= 1800)
) STRICT;
CREATE INDEX shifts_date ON shifts (date, classroom_id);
CREATE INDEX shifts_teacher ON shifts (teacher_id, date);

-- One row each time the picture of a sheet was rendered: the preview that was shown is the picture that is sent.
CREATE TABLE preview_pages (
    sheet_hash TEXT NOT NULL,
    page       INTEGER NOT NULL,
    title      TEXT NOT NULL,
    sha256     TEXT NOT NULL,
    width      INTEGER NOT NULL,
    height     INTEGER NOT NULL,
    size_bytes INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (sheet_hash, page)
) STRICT, WITHOUT ROWID;
CREATE INDEX preview_pages_sha256 ON preview_pages (sha256);

CREATE TABLE publications (
    id            INTEGER PRIMARY KEY,
    group_id      INTEGER NOT NULL REFERENCES groups (id),
    month         TEXT NOT NULL CHECK (month GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]'),
    number        INTEGER NOT NULL CHECK (number >= 1),
    document_id   TEXT NOT NULL UNIQUE,
    snapshot_hash TEXT NOT NULL,
    sheet_hash    TEXT NOT NULL,
    sheet         TEXT NOT NULL CHECK (json_valid(sheet)),
    published_at  INTEGER NOT NULL,
    published_by  INTEGER REFERENCES admins (id),
    UNIQUE (group_id, month, number)
) STRICT;

CREATE TABLE publication_pages (
    publication_id INTEGER NOT NULL REFERENCES publications (id),
    page           INTEGER NOT NULL,
    title          TEXT NOT NULL,
    sha256         TEXT NOT NULL,
    width          INTEGER NOT NULL,
    height         INTEGER NOT NULL,
    size_bytes     INTEGER NOT NULL,
    PRIMARY KEY (publication_id, page)
) STRICT, WITHOUT ROWID;
CREATE INDEX publication_pages_sha256 ON publication_pages (sha256);

CREATE TABLE deliveries (
    id               INTEGER PRIMARY KEY,
    kind             TEXT NOT NULL CHECK (kind IN ('shift_publication', 'shift_reminder', 'shift_correction', 'shift_cancellation', 'publication_change')),
    state            TEXT NOT NULL CHECK (state IN ('pending', 'queued', 'processing', 'sent', 'failed', 'canceled')),
    code             TEXT NOT NULL DEFAULT '',
    retry_key        TEXT NOT NULL,
    group_id         INTEGER REFERENCES groups (id),
    publication_id   INTEGER REFERENCES publications (id),
    teacher_id       INTEGER REFERENCES teachers (id),
    shift_id         INTEGER REFERENCES shifts (id),
    shift_version    INTEGER,
    line_id          TEXT NOT NULL DEFAULT '',
    body             BLOB,
    first_try_at     INTEGER,
    key_first_try_at INTEGER, -- first try with the present retry key
    due_at           INTEGER NOT NULL,
    deadline_at      INTEGER,
    next_attempt_at  INTEGER,
    ladder           INTEGER NOT NULL DEFAULT 1,
    ladder_tries     INTEGER NOT NULL DEFAULT 0,
    interruptions    INTEGER NOT NULL DEFAULT 0,
    attempt_id       INTEGER, -- the open attempt while processing
    boot_id          TEXT,    -- the process that holds it while processing
    held_by          TEXT NOT NULL DEFAULT '', -- the cause of the channel hold that failed it
    created_at       INTEGER NOT NULL,
    created_by       INTEGER REFERENCES admins (id),
    updated_at       INTEGER NOT NULL,
    finished_at      INTEGER,
    CHECK (CASE WHEN kind = 'shift_publication'
                THEN publication_id IS NOT NULL AND group_id IS NOT NULL AND teacher_id IS NULL AND shift_id IS NULL AND deadline_at IS NULL
                ELSE teacher_id IS NOT NULL AND (line_id <> '' OR state = 'canceled') AND publication_id IS NULL AND group_id IS NULL END),
    CHECK ((body IS NULL) = (first_try_at IS NULL)),
    CHECK (body IS NULL OR line_id <> ''),
    CHECK ((state = 'processing') = (attempt_id IS NOT NULL)),
    CHECK ((state = 'processing') = (boot_id IS NOT NULL)),
    CHECK ((state IN ('pending', 'queued')) = (next_attempt_at IS NOT NULL)),
    CHECK ((state IN ('sent', 'failed', 'canceled')) = (finished_at IS NOT NULL)),
    CHECK (state NOT IN ('failed', 'canceled') OR code <> ''),
    CHECK (state <> 'sent' OR code = '')
) STRICT;
CREATE INDEX deliveries_open ON deliveries (state, next_attempt_at) WHERE state IN ('pending', 'queued', 'processing');
CREATE INDEX deliveries_failed ON deliveries (id) WHERE state = 'failed';
CREATE INDEX deliveries_publication ON deliveries (publication_id) WHERE publication_id IS NOT NULL;
CREATE INDEX deliveries_shift ON deliveries (shift_id, line_id) WHERE shift_id IS NOT NULL;
CREATE INDEX deliveries_teacher ON deliveries (teacher_id) WHERE teacher_id IS NOT NULL;
-- At most one notice stands per kind, shift, version and person; a canceled one stands only when an admin canceled it.
CREATE UNIQUE INDEX deliveries_standing ON deliveries (kind, shift_id, shift_version, line_id)
    WHERE shift_id IS NOT NULL AND (state <> 'canceled' OR code = 'CANCELED_BY_ADMIN');
-- At most one notice is live per shift and person.
CREATE UNIQUE INDEX deliveries_live ON deliveries (shift_id, line_id)
    WHERE shift_id IS NOT NULL AND state IN ('pending', 'queued', 'processing');

-- The moves of roster.Moves, once more where no code can pass them by.
-- +goose StatementBegin
CREATE TRIGGER deliveries_move BEFORE UPDATE OF state ON deliveries
WHEN OLD.state <> NEW.state AND (OLD.state || '>' || NEW.state) NOT IN (
    'pending>queued', 'pending>canceled', 'pending>failed',
    'queued>processing', 'queued>canceled', 'queued>failed',
    'processing>sent', 'processing>failed', 'processing>canceled', 'processing>queued',
    'failed>queued', 'failed>pending')
BEGIN
    SELECT RAISE(ABORT, 'a delivery may not make this move');
END;
-- +goose StatementEnd

CREATE TABLE attempts (
    id                  INTEGER PRIMARY KEY,
    delivery_id         INTEGER NOT NULL REFERENCES deliveries (id),
    number              INTEGER NOT NULL,
    ladder              INTEGER NOT NULL,
    retry_key           TEXT NOT NULL,
    boot_id             TEXT NOT NULL,
    started_at          INTEGER NOT NULL,
    finished_at         INTEGER,
    outcome             TEXT CHECK (outcome IN ('accepted', 'refused', 'unknown', 'interrupted')),
    code                TEXT NOT NULL DEFAULT '',
    status              INTEGER NOT NULL DEFAULT 0,
    request_id          TEXT NOT NULL DEFAULT '',
    accepted_request_id TEXT NOT NULL DEFAULT '',
    message             TEXT NOT NULL DEFAULT '',
    UNIQUE (delivery_id, number),
    CHECK ((finished_at IS NULL) = (outcome IS NULL))
) STRICT;

-- What happened to a delivery beside its attempts: made, retried or canceled by an admin, superseded, and so on.
CREATE TABLE delivery_events (
    id          INTEGER PRIMARY KEY,
    delivery_id INTEGER NOT NULL REFERENCES deliveries (id),
    happened_at INTEGER NOT NULL,
    event       TEXT NOT NULL,
    code        TEXT NOT NULL DEFAULT '',
    admin_id    INTEGER REFERENCES admins (id)
) STRICT;
CREATE INDEX delivery_events_delivery ON delivery_events (delivery_id);

CREATE TABLE jobs (
    id          INTEGER PRIMARY KEY,
    kind        TEXT NOT NULL,
    subject_id  INTEGER NOT NULL,
    lane        TEXT NOT NULL, -- at most one job of a lane is leased at a time
    state       TEXT NOT NULL CHECK (state IN ('ready', 'leased', 'done', 'dead')),
    run_at      INTEGER NOT NULL,
    passes_hold INTEGER NOT NULL DEFAULT 0 CHECK (passes_hold IN (0, 1)),
    owner       TEXT,
    lease_until INTEGER,
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    CHECK ((state = 'leased') = (owner IS NOT NULL AND lease_until IS NOT NULL))
) STRICT;
CREATE INDEX jobs_ready ON jobs (run_at, id) WHERE state = 'ready';
CREATE UNIQUE INDEX jobs_leased_lane ON jobs (lane) WHERE state = 'leased';
CREATE INDEX jobs_lease ON jobs (lease_until) WHERE state = 'leased';
CREATE UNIQUE INDEX jobs_live ON jobs (kind, subject_id) WHERE state <> 'done';
CREATE INDEX jobs_done ON jobs (updated_at) WHERE state = 'done';

-- What LINE users were told about shifts: one row per notice that was tried, with what it says. Only notices write it.
CREATE TABLE told (
    delivery_id   INTEGER PRIMARY KEY REFERENCES deliveries (id),
    line_id       TEXT NOT NULL,
    shift_id      INTEGER NOT NULL REFERENCES shifts (id),
    canceled      INTEGER NOT NULL CHECK (canceled IN (0, 1)),
    classroom_id  INTEGER REFERENCES classrooms (id),
    date          TEXT,
    start_minutes INTEGER,
    end_minutes   INTEGER,
    certainty     TEXT NOT NULL CHECK (certainty IN ('sure', 'maybe', 'void')),
    told_at       INTEGER NOT NULL,
    CHECK (canceled = 1 OR (classroom_id IS NOT NULL AND date IS NOT NULL AND start_minutes IS NOT NULL AND end_minutes IS NOT NULL))
) STRICT;
CREATE INDEX told_person ON told (line_id, shift_id);
CREATE INDEX told_shift ON told (shift_id) WHERE certainty <> 'void';
CREATE INDEX told_date ON told (date) WHERE certainty <> 'void';

-- Why pushes wait: one row per cause, kept after its end so that a second one soon after lasts longer.
CREATE TABLE channel_holds (
    cause       TEXT PRIMARY KEY CHECK (cause IN ('unauthorized', 'forbidden', 'rate_limit', 'monthly_limit', 'clock')),
    since       INTEGER NOT NULL,
    probe_at    INTEGER, -- when it is next looked at; NULL: only a person ends it
    notices     INTEGER NOT NULL CHECK (notices IN (0, 1)), -- 0: publications alone wait
    needed      INTEGER NOT NULL DEFAULT 0, -- monthly limit: messages that what met it costs
    lasts       INTEGER NOT NULL DEFAULT 0, -- rate limit: milliseconds
    delivery_id INTEGER REFERENCES deliveries (id), -- what met it
    ended_at    INTEGER
) STRICT;

-- Up to which row the clock of before is not believed: a person said that the present clock is right.
CREATE TABLE clock_trust (
    id          INTEGER PRIMARY KEY CHECK (id = 1),
    attempt_id  INTEGER NOT NULL,
    delivery_id INTEGER NOT NULL
) STRICT;

CREATE TABLE sweeps (
    name    TEXT PRIMARY KEY,
    ran_at  INTEGER NOT NULL,
    handled INTEGER NOT NULL,
    error   TEXT NOT NULL DEFAULT ''
) STRICT;

-- +goose Down
DROP TABLE sweeps;
DROP TABLE clock_trust;
DROP TABLE channel_holds;
DROP TABLE told;
DROP TABLE jobs;
DROP TABLE delivery_events;
DROP TABLE attempts;
DROP TABLE deliveries;
DROP TABLE publication_pages;
DROP TABLE publications;
DROP TABLE preview_pages;
DROP TABLE shifts;
DROP TABLE patterns;
DROP TABLE teachers;
DROP TABLE classrooms;
DROP TABLE groups;
DROP TABLE sessions;
DROP TABLE admins;
