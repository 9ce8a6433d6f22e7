-- +goose Up

-- Whether a person was told the same of another shift of the day is asked for every reminder.
CREATE INDEX told_day ON told (line_id, date) WHERE certainty <> 'void';

-- +goose Down
DROP INDEX told_day;
