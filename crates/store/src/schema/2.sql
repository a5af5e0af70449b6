-- Whether a run has not come to its end: it was killed or interrupted, or is still under way.
ALTER TABLE runs ADD COLUMN unfinished INTEGER NOT NULL DEFAULT 0;
UPDATE runs SET unfinished = json_extract(results, '$.resume_after') IS NOT NULL;
