-- A store as schema 6 left it while a run was under way: one run, with a tag, a name and a note. What users have is not
-- edited.
PRAGMA foreign_keys = OFF;
BEGIN TRANSACTION;
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
INSERT INTO "histograms" VALUES('20261121-013223-d53228',1,'handshake',2,2066829.5,82107.5,1984722,1985000,2148937,2148937,2148937,2148937,2148937,2148937,'HISTFAAAACZ4nJNpmSzMwMDAxgABzFCaEUQoH3ZjsP8AEWiUZ7rPyAQAY/IFMA==');
INSERT INTO "histograms" VALUES('20261121-013223-d53228',1,'ready',2,0.0,0.0,0,0,0,0,0,0,0,0,'HISTFAAAACB4nJNpmSzMwMDAyAABzFAazFc+7MZg/wEiwAIASqYDqw==');
INSERT INTO "histograms" VALUES('20261121-013223-d53228',1,'rtt',20,247657.45,1.8197168336350438767e+05,153483,188000,254000,663000,894803,894803,894803,894803,'HISTFAAAAEV4nJNpmSzMwMCgzgABzFCaEUQoH3ZjsP8AEdjMxMTLxM/EwMTKxMTAxMDEzMQM4rAwcTIxM8kz2TOtZ2M6y8wEAA6IBsU=');
INSERT INTO "histograms" VALUES('20261121-013223-d53228',1,'send_lag',20,102789.15,1.04207005757422579332e+05,49227,84000,98000,104000,552998,552998,552998,552998,'HISTFAAAADx4nJNpmSzMwMAgzwABzFCaEUQoH3ZjsP8AEUhm4mfiZGJgYmJhYOJlYmdiBrOYmNiZOJn+szEBANXVBZQ=');
INSERT INTO "histograms" VALUES('20261121-013223-d53228',1,'service',20,151657.45,1.53172981775989144803e+05,99190,114000,125000,190000,814803,814803,814803,814803,'HISTFAAAADV4nJNpmSzMwMAgzQABzFCaEUQoH3ZjsP8AETjOyMTOBAbMTBxMzExMDCCinuk+JxMAzUsGKA==');
INSERT INTO "histograms" VALUES('20261121-013223-d53228',1,'tcp',2,141856.5,21937.5,119919,120000,163794,163794,163794,163794,163794,163794,'HISTFAAAACV4nJNpmSzMwMDAygABzFCaEUQoH3ZjsP8AEXjPyBTKBABfNwT0');
INSERT INTO "histograms" VALUES('20261121-013223-d53228',1,'upgrade',2,1924973.0,60170.0,1864803,1865000,1985143,1985143,1985143,1985143,1985143,1985143,'HISTFAAAACZ4nJNpmSzMwMDAxgABzFCaEUQoH3ZjsP8AEZgoy/SekQkAZHgFTg==');
CREATE TABLE parts (
    run     TEXT NOT NULL REFERENCES runs ON DELETE CASCADE,
    step    INTEGER NOT NULL, -- from 1
    results TEXT NOT NULL,
    PRIMARY KEY (run, step)
) STRICT;
INSERT INTO "parts" VALUES('20261121-013223-d53228',1,'{
      "clients": 2,
      "usable": 2,
      "agents": 1,
      "workers": 1,
      "start_s": 0.070682121,
      "duration_s": 1.0,
      "rates": {
        "asked_per_s": 20.0,
        "achieved_per_s": 20.0,
        "sent_per_s": 20.0,
        "received_per_s": 20.0,
        "connects_per_s": 261.985
      },
      "handshake": {
        "count": 2,
        "mean_ms": 2.06683,
        "sd_ms": 0.082108,
        "min_ms": 1.984722,
        "p50_ms": 1.985,
        "p90_ms": 2.148937,
        "p95_ms": 2.148937,
        "p99_ms": 2.148937,
        "p999_ms": 2.148937,
        "p9999_ms": 2.148937,
        "max_ms": 2.148937,
        "marked": [
          "p50",
          "p90",
          "p95",
          "p99",
          "p999",
          "p9999"
        ],
        "histogram": "HISTFAAAACZ4nJNpmSzMwMDAxgABzFCaEUQoH3ZjsP8AEWiUZ7rPyAQAY/IFMA=="
      },
      "handshake_parts": {
        "tcp": {
          "count": 2,
          "mean_ms": 0.141857,
          "sd_ms": 0.021938,
          "min_ms": 0.119919,
          "p50_ms": 0.12,
          "p90_ms": 0.163794,
          "p95_ms": 0.163794,
          "p99_ms": 0.163794,
          "p999_ms": 0.163794,
          "p9999_ms": 0.163794,
          "max_ms": 0.163794,
          "marked": [
            "p50",
            "p90",
            "p95",
            "p99",
            "p999",
            "p9999"
          ],
          "histogram": "HISTFAAAACV4nJNpmSzMwMDAygABzFCaEUQoH3ZjsP8AEXjPyBTKBABfNwT0"
        },
        "upgrade": {
          "count": 2,
          "mean_ms": 1.924973,
          "sd_ms": 0.06017,
          "min_ms": 1.864803,
          "p50_ms": 1.865,
          "p90_ms": 1.985143,
          "p95_ms": 1.985143,
          "p99_ms": 1.985143,
          "p999_ms": 1.985143,
          "p9999_ms": 1.985143,
          "max_ms": 1.985143,
          "marked": [
            "p50",
            "p90",
            "p95",
            "p99",
            "p999",
            "p9999"
          ],
          "histogram": "HISTFAAAACZ4nJNpmSzMwMDAxgABzFCaEUQoH3ZjsP8AEZgoy/SekQkAZHgFTg=="
        },
        "ready": {
          "count": 2,
          "mean_ms": 0.0,
          "sd_ms": 0.0,
          "min_ms": 0.0,
          "p50_ms": 0.0,
          "p90_ms": 0.0,
          "p95_ms": 0.0,
          "p99_ms": 0.0,
          "p999_ms": 0.0,
          "p9999_ms": 0.0,
          "max_ms": 0.0,
          "marked": [
            "p50",
            "p90",
            "p95",
            "p99",
            "p999",
            "p9999"
          ],
          "histogram": "HISTFAAAACB4nJNpmSzMwMDAyAABzFAazFc+7MZg/wEiwAIASqYDqw=="
        }
      },
      "rtt": {
        "count": 20,
        "mean_ms": 0.247657,
        "sd_ms": 0.181972,
        "min_ms": 0.153483,
        "p50_ms": 0.188,
        "p90_ms": 0.254,
        "p95_ms": 0.663,
        "p99_ms": 0.894803,
        "p999_ms": 0.894803,
        "p9999_ms": 0.894803,
        "max_ms": 0.894803,
        "marked": [
          "p90",
          "p95",
          "p99",
          "p999",
          "p9999"
        ],
        "histogram": "HISTFAAAAEV4nJNpmSzMwMCgzgABzFCaEUQoH3ZjsP8AEdjMxMTLxM/EwMTKxMTAxMDEzMQM4rAwcTIxM8kz2TOtZ2M6y8wEAA6IBsU="
      },
      "service": {
        "count": 20,
        "mean_ms": 0.151657,
        "sd_ms": 0.153173,
        "min_ms": 0.09919,
        "p50_ms": 0.114,
        "p90_ms": 0.125,
        "p95_ms": 0.19,
        "p99_ms": 0.814803,
        "p999_ms": 0.814803,
        "p9999_ms": 0.814803,
        "max_ms": 0.814803,
        "marked": [
          "p90",
          "p95",
          "p99",
          "p999",
          "p9999"
        ],
        "histogram": "HISTFAAAADV4nJNpmSzMwMAgzQABzFCaEUQoH3ZjsP8AETjOyMTOBAbMTBxMzExMDCCinuk+JxMAzUsGKA=="
      },
      "send_lag": {
        "count": 20,
        "mean_ms": 0.102789,
        "sd_ms": 0.104207,
        "min_ms": 0.049227,
        "p50_ms": 0.084,
        "p90_ms": 0.098,
        "p95_ms": 0.104,
        "p99_ms": 0.552998,
        "p999_ms": 0.552998,
        "p9999_ms": 0.552998,
        "max_ms": 0.552998,
        "marked": [
          "p90",
          "p95",
          "p99",
          "p999",
          "p9999"
        ],
        "histogram": "HISTFAAAADx4nJNpmSzMwMAgzwABzFCaEUQoH3ZjsP8AEUhm4mfiZGJgYmJhYOJlYmdiBrOYmNiZOJn+szEBANXVBZQ="
      },
      "counts": {
        "sent": 20,
        "expected": 20,
        "received": 20,
        "missing": 0,
        "in_flight": 0,
        "late": 0,
        "duplicate": 0,
        "reordered": 0,
        "unexpected": 0,
        "corrupt": 0,
        "connects": 2,
        "connected": 2,
        "connect_timeouts": 0,
        "connect_failures": 0,
        "connecting": 0,
        "disconnects": 0,
        "errors": {}
      },
      "server": {
        "thread_use": [
          {
            "name": "throng",
            "user_percent": 0.0,
            "system_percent": 0.0,
            "waiting_percent": 0.0,
            "asleep_percent": 100.0
          },
          {
            "name": "serve-1",
            "user_percent": 0.0,
            "system_percent": 0.0,
            "waiting_percent": 0.10162942094709498,
            "asleep_percent": 99.89837057905291
          }
        ],
        "rss_bytes_mean": 8364032,
        "rss_bytes_peak": 8364032,
        "pss_bytes_peak": 4248576,
        "processes": 1,
        "threads": 2,
        "fds": 14,
        "context_switches": 20,
        "cpu_percent_mean": 0.0,
        "cpu_percent_peak": 0.0,
        "cores": 2.0
      },
      "generator": {
        "rss_bytes_peak": 14471168,
        "cpu_percent_mean": 0.254,
        "cpu_percent_peak": 0.254,
        "worker_cpu_percent_max": 0.254,
        "waiting_percent": 0.35,
        "bytes_per_client": 1427456.0,
        "loop_lag": {
          "count": 10,
          "mean_ms": 0.026027,
          "sd_ms": 0.003272,
          "min_ms": 0.02002,
          "p50_ms": 0.027,
          "p90_ms": 0.028,
          "p95_ms": 0.03384,
          "p99_ms": 0.03384,
          "p999_ms": 0.03384,
          "p9999_ms": 0.03384,
          "max_ms": 0.03384,
          "marked": [
            "p50",
            "p90",
            "p95",
            "p99",
            "p999",
            "p9999"
          ],
          "histogram": "HISTFAAAACp4nJNpmSzMwMDAxQABzFCaEUQoH3ZjsP8AEdBkYmZiYuJg4mQCAG8mA/k="
        }
      },
      "machine": {
        "cores": 2,
        "same_host": true,
        "idle_percent_mean": 0.0
      },
      "limits": [],
      "bottleneck": "none",
      "bottleneck_reason": "nothing reached its limit: server CPU 0%, busiest worker 0%",
      "marks": [
        "other processes used 100% of the generator''s machine",
        "p95 rests on 20 samples; 200 are needed"
      ],
      "connecting": [
        {
          "t_s": 0.049815292,
          "clients": 2,
          "sent": 0,
          "received": 0,
          "errors": 0,
          "density": "26:2",
          "p50_ms": 1.985,
          "p95_ms": 2.148937,
          "p99_ms": 2.148937,
          "max_ms": 2.148937,
          "generator_cpu_percent": 0.0
        }
      ],
      "series": [
        {
          "t_s": 1.032567675,
          "clients": 2,
          "sent": 20,
          "received": 20,
          "errors": 0,
          "density": "17:5 18:12 19:1 22:1 23:1",
          "p50_ms": 0.188,
          "p95_ms": 0.663,
          "p99_ms": 0.894803,
          "max_ms": 0.894803,
          "generator_cpu_percent": 0.254
        }
      ]
    }');
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
    bottleneck     TEXT,             -- of the last step
    capacity       INTEGER,          -- clients, when they were searched for
    broken_limits  INTEGER NOT NULL,
    trusted        INTEGER NOT NULL, -- 1: nothing speaks against the figures
    results        TEXT NOT NULL
, unfinished INTEGER NOT NULL DEFAULT 0, name TEXT, note TEXT, outcome TEXT, p95_low_ns INTEGER, p95_high_ns INTEGER, shown_step INTEGER, shown_figure TEXT, shown_at_least TEXT) STRICT;
INSERT INTO "runs" VALUES('20261121-013223-d53228',1795224743214698789,'0.1.0','throng echo --clients 2 --interval 100ms --duration 1s --quiet --no-report --store fix.db','echo','raw','throng','ws://127.0.0.1:43179/ws',NULL,'AMD EPYC','none',NULL,0,0,'{
  "schema": 1,
  "id": "20261121-013223-d53228",
  "started": "2026-11-21T01:32:23.214698789Z",
  "throng": "0.1.0",
  "command": [
    "throng",
    "echo",
    "--clients",
    "2",
    "--interval",
    "100ms",
    "--duration",
    "1s",
    "--quiet",
    "--no-report",
    "--store",
    "fix.db"
  ],
  "scenario": "echo",
  "dialect": "raw",
  "seed": 5100312143320894448,
  "target": {
    "url": "ws://127.0.0.1:43179/ws",
    "name": "throng"
  },
  "environment": {
    "cpu": "AMD EPYC",
    "cores": 2,
    "memory_bytes": 25276510208,
    "kernel": "Linux 6.18.44-fc-v657",
    "fd_limit": 20000,
    "same_host": true
  },
  "steps": [],
  "resume_after": 1,
  "verdict": {
    "limits": [],
    "bottleneck": "none",
    "bottleneck_reason": "nothing reached its limit: server CPU 0%, busiest worker 0%",
    "trust": [
      "other processes used 100% of the generator''s machine",
      "p95 rests on 20 samples; 200 are needed"
    ]
  }
}
',1,'nightly','the first of its name','PASSED',600000,700000,1,'rtt','');
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
INSERT INTO "series" VALUES('20261121-013223-d53228',1,1032567675,2,20,20,0,188000,663000,894803,894803,NULL,NULL,2.53980559414222262226e-01);
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
    errors                INTEGER NOT NULL,
    server_cpu_percent    REAL,
    server_rss_bytes      INTEGER,
    generator_cpu_percent REAL,
    bottleneck            TEXT,
    marks                 TEXT NOT NULL,    -- a line each
    PRIMARY KEY (run, step)
) STRICT, WITHOUT ROWID;
INSERT INTO "steps" VALUES('20261121-013223-d53228',1,2,2,70682121,1000000000,20.0,20.0,20.0,20.0,2.61984754583161304707e+02,20,20,20,0,0,0,0,0,0.0,8364032,2.53980559414222262226e-01,'none','other processes used 100% of the generator''s machine
p95 rests on 20 samples; 200 are needed');
CREATE TABLE tags (
    run TEXT NOT NULL REFERENCES runs ON DELETE CASCADE,
    tag TEXT NOT NULL,
    PRIMARY KEY (run, tag)
) STRICT, WITHOUT ROWID;
INSERT INTO "tags" VALUES('20261121-013223-d53228','first');
CREATE INDEX runs_by_start ON runs (started_ns);
CREATE INDEX runs_by_name ON runs (name);
COMMIT;
PRAGMA application_id = 1953002087;
PRAGMA user_version = 6;
