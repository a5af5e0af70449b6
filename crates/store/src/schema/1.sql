-- One row for each run. `results` is the results file as it was written, and the truth: every other column, and every
-- row of the tables below, is read from it when the run is kept, so that it can be searched and joined.
CREATE TABLE runs (
    id             TEXT PRIMARY KEY,
    started_ns     INTEGER NOT NULL, -- since 1970 UTC
    throng         TEXT NOT NULL,
    command        TEXT NOT NULL,    -- the words, with spaces between them
    scenario       TEXT NOT NULL,
    dialect        TEXT NOT NULL,
    target         TEXT NOT NULL,    -- its name, or its URL
    url            TEXT NOT NULL,
    target_version TEXT,
    cpu            TEXT,
    bottleneck     TEXT,             -- the run's: of the lightest step that broke a limit, or of the last
    capacity       INTEGER,          -- clients, when they were searched for
    broken_limits  INTEGER NOT NULL,
    trusted        INTEGER NOT NULL, -- 1: it has no caveat
    results        TEXT NOT NULL,
    unfinished     INTEGER NOT NULL, -- 1: it was killed or interrupted, or is still under way
    name           TEXT,
    note           TEXT,
    outcome        TEXT NOT NULL,    -- how its RESULT begins: PASSED, FAILED, UNCLEAR
    p95_low_ns     INTEGER,          -- the 95% interval of the p95 of shown_step and shown_figure, where there is one
    p95_high_ns    INTEGER,
    shown_step     INTEGER,          -- the step in lists, from 1: the heaviest that kept its limits, or the last
    shown_figure   TEXT,             -- the metric of it that is listed; NULL: nothing came
    shown_at_least TEXT              -- the listed percentiles that are lower bounds, with spaces between them
) STRICT;

CREATE INDEX runs_by_start ON runs (started_ns);
CREATE INDEX runs_by_name ON runs (name);

-- The steps of a run that has not come to its end, as they stand in its results file: until then, `runs.results` is that
-- file without them, so that a step that has ended is written once, however many follow.
CREATE TABLE parts (
    run     TEXT NOT NULL REFERENCES runs ON DELETE CASCADE,
    step    INTEGER NOT NULL, -- from 1
    results TEXT NOT NULL,
    PRIMARY KEY (run, step)
) STRICT;

CREATE TABLE steps (
    run                   TEXT NOT NULL REFERENCES runs ON DELETE CASCADE,
    step                  INTEGER NOT NULL, -- from 1
    clients               INTEGER NOT NULL,
    connected             INTEGER NOT NULL,
    start_ns              INTEGER NOT NULL, -- since the start of the run
    duration_ns           INTEGER NOT NULL,
    asked_per_s           REAL,
    achieved_per_s        REAL,
    sent_per_s            REAL,
    received_per_s        REAL,
    connects_per_s        REAL,
    sent                  INTEGER NOT NULL,
    expected              INTEGER NOT NULL,
    received              INTEGER NOT NULL,
    missing               INTEGER NOT NULL,
    late                  INTEGER NOT NULL,
    duplicate             INTEGER NOT NULL,
    reordered             INTEGER NOT NULL,
    corrupt               INTEGER NOT NULL,
    unexpected            INTEGER NOT NULL,
    leaked                INTEGER NOT NULL,
    unacknowledged        INTEGER NOT NULL,
    errors                INTEGER NOT NULL,
    server_cpu_percent    REAL,
    server_rss_bytes      INTEGER,
    generator_cpu_percent REAL,
    bottleneck            TEXT,
    caveats               TEXT NOT NULL,    -- a line each
    PRIMARY KEY (run, step)
) STRICT, WITHOUT ROWID;

-- What was timed: the figures of METHODOLOGY, those that apply.
CREATE TABLE histograms (
    run       TEXT NOT NULL,
    step      INTEGER NOT NULL,
    figure    TEXT NOT NULL,    -- handshake, rtt, delivery, …
    count     INTEGER NOT NULL,
    mean_ns   REAL NOT NULL,
    sd_ns     REAL NOT NULL,
    min_ns    INTEGER NOT NULL,
    p50_ns    INTEGER NOT NULL,
    p90_ns    INTEGER NOT NULL,
    p95_ns    INTEGER NOT NULL,
    p99_ns    INTEGER NOT NULL,
    p999_ns   INTEGER NOT NULL,
    p9999_ns  INTEGER NOT NULL,
    max_ns    INTEGER NOT NULL,
    histogram TEXT NOT NULL,    -- HdrHistogram V2 in µs, deflated, base64
    PRIMARY KEY (run, step, figure),
    FOREIGN KEY (run, step) REFERENCES steps ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- One row a second.
CREATE TABLE series (
    run                   TEXT NOT NULL,
    step                  INTEGER NOT NULL,
    t_ns                  INTEGER NOT NULL, -- the end of the second, since the start of the run
    clients               INTEGER NOT NULL,
    sent                  INTEGER NOT NULL,
    received              INTEGER NOT NULL,
    errors                INTEGER NOT NULL,
    p50_ns                INTEGER,
    p95_ns                INTEGER,
    p99_ns                INTEGER,
    max_ns                INTEGER,
    server_cpu_percent    REAL,
    server_rss_bytes      INTEGER,
    generator_cpu_percent REAL,
    PRIMARY KEY (run, step, t_ns),
    FOREIGN KEY (run, step) REFERENCES steps ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE tags (
    run TEXT NOT NULL REFERENCES runs ON DELETE CASCADE,
    tag TEXT NOT NULL,
    PRIMARY KEY (run, tag)
) STRICT, WITHOUT ROWID;
