-- +goose Up

-- When a sweep last ran without trouble: what it could not do since then is still to be made up.
ALTER TABLE sweeps ADD COLUMN done_at INTEGER;
UPDATE sweeps SET done_at = ran_at;

-- +goose Down
ALTER TABLE sweeps DROP COLUMN done_at;
