-- +goose Up

-- A receipt request asks one teacher to confirm a publication.
ALTER TABLE deliveries ADD COLUMN asked_id INTEGER REFERENCES publications (id)
    CHECK (CASE WHEN kind = 'receipt_request'
                THEN asked_id IS NOT NULL AND line_id <> '' AND shift_id IS NULL AND deadline_at IS NULL
                ELSE asked_id IS NULL END);
-- A looser CHECK leaves the rows as they are, so the table need not be made anew
-- (https://www.sqlite.org/lang_altertable.html, section 7).
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, '''publication_change'')', '''publication_change'', ''receipt_request'')') WHERE type = 'table' AND name = 'deliveries';
PRAGMA writable_schema = RESET;
-- At most one receipt request is live per publication and person.
CREATE UNIQUE INDEX deliveries_asked ON deliveries (asked_id, line_id)
    WHERE asked_id IS NOT NULL AND state IN ('pending', 'queued', 'processing');

-- +goose Down
DROP INDEX deliveries_asked;
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, '''publication_change'', ''receipt_request'')', '''publication_change'')') WHERE type = 'table' AND name = 'deliveries';
PRAGMA writable_schema = RESET;
ALTER TABLE deliveries DROP COLUMN asked_id;
