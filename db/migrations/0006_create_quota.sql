-- +goose Up

-- What LINE said last about the channel's monthly limit of messages.
CREATE TABLE quota_readings (
    id        INTEGER PRIMARY KEY CHECK (id = 1),
    read_at   INTEGER,          -- when LINE last answered; NULL while it never did
    limited   INTEGER NOT NULL DEFAULT 0 CHECK (limited IN (0, 1)),
    value     INTEGER NOT NULL DEFAULT 0, -- messages a month, if limited
    used      INTEGER NOT NULL DEFAULT 0, -- of the month of read_at, by LINE's count
    own       INTEGER NOT NULL DEFAULT 0, -- of the same month, by ours then
    failed_at INTEGER           -- when LINE was asked last, if it did not answer then
) STRICT;

-- How many messages LINE took from us in each of its months: counted when a delivery is sent, since finished rows are
-- not counted when a page is drawn. LINE's months are Japan's, nine hours before UTC.
CREATE TABLE sent_messages (
    month    TEXT PRIMARY KEY CHECK (month GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]'),
    messages INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO sent_messages (month, messages)
    SELECT strftime('%Y-%m', d.finished_at / 1000 + 9 * 3600, 'unixepoch') AS month, sum(coalesce(g.line_member_count, 1))
    FROM deliveries d LEFT JOIN groups g ON g.id = d.group_id WHERE d.state = 'sent' GROUP BY 1;

-- +goose Down
DROP TABLE sent_messages;
DROP TABLE quota_readings;
