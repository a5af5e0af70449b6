-- The steps of a run that has not come to its end, as they stand in its results file: until then, `runs.results` is that
-- file without them, so that a step that has ended is written once, however many follow.
CREATE TABLE parts (
    run     TEXT NOT NULL REFERENCES runs ON DELETE CASCADE,
    step    INTEGER NOT NULL, -- from 1
    results TEXT NOT NULL,
    PRIMARY KEY (run, step)
) STRICT;
