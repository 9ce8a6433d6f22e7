-- +goose Up

-- What could not be told in time, or at all, is looked for when the home page is drawn.
CREATE INDEX deliveries_untold ON deliveries (deadline_at) WHERE state = 'canceled' AND deadline_at IS NOT NULL;

-- +goose Down
DROP INDEX deliveries_untold;
