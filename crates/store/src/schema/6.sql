-- The listed percentiles that are lower bounds, by their names and with spaces between them (NULL: kept by a version
-- without it), because messages that were never answered decide them. `p95_low_ns` and `p95_high_ns` are NULL for one.
ALTER TABLE runs ADD COLUMN shown_at_least TEXT;
