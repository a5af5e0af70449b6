-- The step that stands for the run in lists, from 1: the heaviest that kept its limits, or the last (NULL: the last), and the
-- metric of it that is listed (NULL: the scenario's main one). `p95_low_ns` and `p95_high_ns` are of these.
ALTER TABLE runs ADD COLUMN shown_step INTEGER;
ALTER TABLE runs ADD COLUMN shown_figure TEXT;
