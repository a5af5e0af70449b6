-- What whoever ran it called it and remarked, how its RESULT begins (PASSED, FAILED, UNCLEAR; NULL: kept by a version without
-- it), and the 95% interval of the main figure's p95 at the last step, where there is one.
ALTER TABLE runs ADD COLUMN name TEXT;
ALTER TABLE runs ADD COLUMN note TEXT;
ALTER TABLE runs ADD COLUMN outcome TEXT;
ALTER TABLE runs ADD COLUMN p95_low_ns INTEGER;
ALTER TABLE runs ADD COLUMN p95_high_ns INTEGER;
UPDATE runs SET outcome = rtrim(substr(json_extract(results, '$.verdict.result'), 1, 7), ' :');
CREATE INDEX runs_by_name ON runs (name);
