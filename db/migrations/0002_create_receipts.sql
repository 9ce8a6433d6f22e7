-- +goose Up

-- Who opened a publication in the viewer and who confirmed it.
CREATE TABLE receipts (
    publication_id INTEGER NOT NULL REFERENCES publications (id),
    teacher_id     INTEGER NOT NULL REFERENCES teachers (id),
    opened_at      INTEGER NOT NULL, -- the first time
    confirmed_at   INTEGER,          -- the last time
    own            TEXT CHECK (json_valid(own)), -- what was confirmed: the teacher's part of the month, a roster.Snapshot
    PRIMARY KEY (publication_id, teacher_id),
    CHECK ((confirmed_at IS NULL) = (own IS NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX receipts_teacher ON receipts (teacher_id);

-- +goose Down
DROP TABLE receipts;
