-- A store as schema 1 left it while a run was under way: one run, with a tag, a name and a note. What users have is not
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
INSERT INTO "histograms" VALUES('20261130-174141-0c70d0',1,'handshake',2,4675471.5,3115463.5,1560008,1561000,7790935,7790935,7790935,7790935,7790935,7790935,'HISTFAAAACZ4nJNpmSzMwMDAxgABzFCaEUQoH3ZjsP8AEdgowdSoxgQAZB8FIA==');
INSERT INTO "histograms" VALUES('20261130-174141-0c70d0',1,'ready',2,0.0,0.0,0,0,0,0,0,0,0,0,'HISTFAAAACB4nJNpmSzMwMDAyAABzFAazFc+7MZg/wEiwAIASqYDqw==');
INSERT INTO "histograms" VALUES('20261130-174141-0c70d0',1,'rtt',20,1183800.95,1.66107188186401128772e+06,161930,308000,2273000,4175000,6714676,6714676,6714676,6714676,'HISTFAAAAE54nJNpmSzMwMCgxwABzFCaEUQoH3ZjsP8AETjMxMTNJMjEzKTIxMskylTMpM7Ey8TLFM60mInpPCPTezEmbyZFJn2mw3xMnzmZAIiECxA=');
INSERT INTO "histograms" VALUES('20261130-174141-0c70d0',1,'send_lag',20,330895.25,6.01722155193065409532e+05,63787,96000,355000,2105000,2138770,2138770,2138770,2138770,'HISTFAAAAEN4nJNpmSzMwMCgzAABzFCaEUQoH3ZjsP8AEahn4mViZWJlYmDhZmLiZONnUmcKZPJlYprLyNTIyPReikmeCQAGSQe3');
INSERT INTO "histograms" VALUES('20261130-174141-0c70d0',1,'service',20,853356.15,1.65061725780597841374e+06,81034,133000,2185000,4009000,6625588,6625588,6625588,6625588,'HISTFAAAAEl4nJNpmSzMwMCgyQABzFCaEUQoH3ZjsP8AEVjMyMLAxMzCycTMxMrEy6TPpMuUysTMxMvkzcTN9FKKqZWJaS4f01EuJgA5bgjn');
INSERT INTO "histograms" VALUES('20261130-174141-0c70d0',1,'tcp',2,208494.5,5700.5,202794,203000,214195,214195,214195,214195,214195,214195,'HISTFAAAACV4nJNpmSzMwMDAygABzFCaEUQoH3ZjsP8AEZjKzCTKBABc/QRc');
INSERT INTO "histograms" VALUES('20261130-174141-0c70d0',1,'upgrade',2,4466977.0,3109763.0,1357214,1358000,7576740,7576740,7576740,7576740,7576740,7576740,'HISTFAAAACZ4nJNpmSzMwMDAxgABzFCaEUQoH3ZjsP8AEZgtyrRWgwkAZBQFNQ==');
CREATE TABLE parts (
    run     TEXT NOT NULL REFERENCES runs ON DELETE CASCADE,
    step    INTEGER NOT NULL, -- from 1
    results TEXT NOT NULL,
    PRIMARY KEY (run, step)
) STRICT;
INSERT INTO "parts" VALUES('20261130-174141-0c70d0',1,'{
      "clients": 2,
      "usable": 2,
      "reached": 2,
      "agents": 1,
      "workers": 1,
      "start_s": 0.06715328,
      "duration_s": 1.0,
      "rates": {
        "asked_per_s": 20.0,
        "achieved_per_s": 20.0,
        "sent_per_s": 20.0,
        "received_per_s": 20.0,
        "received_bytes_per_s": 660.0,
        "connects_per_s": 175.879
      },
      "handshake": {
        "count": 2,
        "mean_ms": 4.675472,
        "sd_ms": 3.115464,
        "min_ms": 1.560008,
        "p50_ms": 1.561,
        "p90_ms": 7.790935,
        "p95_ms": 7.790935,
        "p99_ms": 7.790935,
        "p999_ms": 7.790935,
        "p9999_ms": 7.790935,
        "max_ms": 7.790935,
        "marked": [
          "p50",
          "p90",
          "p95",
          "p99",
          "p999",
          "p9999"
        ],
        "histogram": "HISTFAAAACZ4nJNpmSzMwMDAxgABzFCaEUQoH3ZjsP8AEdgowdSoxgQAZB8FIA=="
      },
      "handshake_parts": {
        "tcp": {
          "count": 2,
          "mean_ms": 0.208495,
          "sd_ms": 0.005701,
          "min_ms": 0.202794,
          "p50_ms": 0.203,
          "p90_ms": 0.214195,
          "p95_ms": 0.214195,
          "p99_ms": 0.214195,
          "p999_ms": 0.214195,
          "p9999_ms": 0.214195,
          "max_ms": 0.214195,
          "marked": [
            "p50",
            "p90",
            "p95",
            "p99",
            "p999",
            "p9999"
          ],
          "histogram": "HISTFAAAACV4nJNpmSzMwMDAygABzFCaEUQoH3ZjsP8AEZjKzCTKBABc/QRc"
        },
        "upgrade": {
          "count": 2,
          "mean_ms": 4.466977,
          "sd_ms": 3.109763,
          "min_ms": 1.357214,
          "p50_ms": 1.358,
          "p90_ms": 7.57674,
          "p95_ms": 7.57674,
          "p99_ms": 7.57674,
          "p999_ms": 7.57674,
          "p9999_ms": 7.57674,
          "max_ms": 7.57674,
          "marked": [
            "p50",
            "p90",
            "p95",
            "p99",
            "p999",
            "p9999"
          ],
          "histogram": "HISTFAAAACZ4nJNpmSzMwMDAxgABzFCaEUQoH3ZjsP8AEZgtyrRWgwkAZBQFNQ=="
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
        "mean_ms": 1.183801,
        "sd_ms": 1.661072,
        "min_ms": 0.16193,
        "p50_ms": 0.308,
        "p90_ms": 2.273,
        "p95_ms": 4.175,
        "p99_ms": 6.714676,
        "p999_ms": 6.714676,
        "p9999_ms": 6.714676,
        "max_ms": 6.714676,
        "marked": [
          "p90",
          "p95",
          "p99",
          "p999",
          "p9999"
        ],
        "histogram": "HISTFAAAAE54nJNpmSzMwMCgxwABzFCaEUQoH3ZjsP8AETjMxMTNJMjEzKTIxMskylTMpM7Ey8TLFM60mInpPCPTezEmbyZFJn2mw3xMnzmZAIiECxA="
      },
      "service": {
        "count": 20,
        "mean_ms": 0.853356,
        "sd_ms": 1.650617,
        "min_ms": 0.081034,
        "p50_ms": 0.133,
        "p90_ms": 2.185,
        "p95_ms": 4.009,
        "p99_ms": 6.625588,
        "p999_ms": 6.625588,
        "p9999_ms": 6.625588,
        "max_ms": 6.625588,
        "marked": [
          "p90",
          "p95",
          "p99",
          "p999",
          "p9999"
        ],
        "histogram": "HISTFAAAAEl4nJNpmSzMwMCgyQABzFCaEUQoH3ZjsP8AEVjMyMLAxMzCycTMxMrEy6TPpMuUysTMxMvkzcTN9FKKqZWJaS4f01EuJgA5bgjn"
      },
      "send_lag": {
        "count": 20,
        "mean_ms": 0.330895,
        "sd_ms": 0.601722,
        "min_ms": 0.063787,
        "p50_ms": 0.096,
        "p90_ms": 0.355,
        "p95_ms": 2.105,
        "p99_ms": 2.13877,
        "p999_ms": 2.13877,
        "p9999_ms": 2.13877,
        "max_ms": 2.13877,
        "marked": [
          "p90",
          "p95",
          "p99",
          "p999",
          "p9999"
        ],
        "histogram": "HISTFAAAAEN4nJNpmSzMwMCgzAABzFCaEUQoH3ZjsP8AEahn4mViZWJlYmDhZmLiZONnUmcKZPJlYprLyNTIyPReikmeCQAGSQe3"
      },
      "account": {
        "waited_percent": 0.0,
        "outstanding_percent": 1.731,
        "tail_from_ms": 4.175,
        "tail_quantile": 0.95,
        "all": {
          "messages": 20,
          "unsent_s": 0.006608896,
          "service_s": 0.017067123,
          "unanswered_s": 0.0,
          "turn_s": 0.000228969,
          "stamped_s": 0.017067123,
          "handling_s": 0.005455539,
          "owners_percent": {
            "cpu_contention": 89.176,
            "generator": 10.824
          }
        },
        "tail": {
          "messages": 2,
          "unsent_s": 0.000256,
          "service_s": 0.01063296,
          "unanswered_s": 0.0,
          "turn_s": 0.000016104,
          "stamped_s": 0.01063296,
          "handling_s": 0.002621489,
          "owners_percent": {
            "cpu_contention": 94.387,
            "generator": 5.613
          }
        }
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
            "waiting_percent": 1.3939507270641616,
            "asleep_percent": 98.60604927293583
          }
        ],
        "rss_bytes_mean": 17784832,
        "rss_bytes_peak": 17784832,
        "pss_bytes_peak": 6781952,
        "processes": 1,
        "threads": 1,
        "fds": 11,
        "fds_max": 20000,
        "name": "throng",
        "pid": 23366,
        "context_switches": 27,
        "cpu_percent_mean": 0.0,
        "cpu_percent_peak": 0.0,
        "cores": 2.0
      },
      "generator": {
        "rss_bytes_peak": 25595904,
        "cpu_percent_mean": 0.589,
        "cpu_percent_peak": 0.589,
        "worker_cpu_percent_max": 0.589,
        "waiting_percent": 2.186,
        "worker_waiting_percent_max": 2.186,
        "bytes_per_client": 825344.0,
        "loop_lag": {
          "count": 20,
          "mean_ms": 0.272777,
          "sd_ms": 0.670352,
          "min_ms": 0.013568,
          "p50_ms": 0.028,
          "p90_ms": 0.189,
          "p95_ms": 1.925,
          "p99_ms": 2.582164,
          "p999_ms": 2.582164,
          "p9999_ms": 2.582164,
          "max_ms": 2.582164,
          "marked": [
            "p90",
            "p95",
            "p99",
            "p999",
            "p9999"
          ],
          "histogram": "HISTFAAAAD54nJNpmSzMwMCgxAABzFCaEUQoH3ZjsP8AEZBmYWViYAIDZiYmViZuJgambKZoJksmaaZeaaZONiYA5zMGdA=="
        }
      },
      "machine": {
        "others": [
          {
            "name": "sh",
            "cpu_percent": 129.06939231752398
          },
          {
            "name": "bash",
            "cpu_percent": 54.45114988395542
          },
          {
            "name": "python3",
            "cpu_percent": 8.066837019845249
          }
        ],
        "cores": 2,
        "listen_overflows": 0,
        "same_host": true,
        "idle_percent_mean": 0.0,
        "steal_percent": 0.0
      },
      "limits": [],
      "standing": [
        {
          "limit": "unusable==0",
          "passed": true,
          "unit": "",
          "actual": 0.0
        },
        {
          "limit": "disconnects==0",
          "passed": true,
          "unit": "",
          "actual": 0.0
        },
        {
          "limit": "missing==0",
          "passed": true,
          "unit": "",
          "actual": 0.0
        },
        {
          "limit": "wrong==0",
          "passed": true,
          "unit": "",
          "actual": 0.0
        },
        {
          "limit": "rate>=99%",
          "passed": true,
          "unit": "%",
          "actual": 100.0
        }
      ],
      "stop": {
        "limit": "p95<=500ms",
        "passed": true,
        "unit": "ms",
        "actual": 4.175
      },
      "bottleneck": "none",
      "bottleneck_reason": "nothing was saturated: server CPU 0% of 2 cores, busiest worker 0.6% of a core",
      "cause": {
        "key": "none.saturated",
        "cores": 2.0,
        "server_percent": 0.0,
        "worker_percent": 0.589
      },
      "marks": [
        "the generator fell behind its schedule by up to 2.14ms",
        "other programs used 99.7% of the generator''s machine (sh 129%, bash 54%, python3 8% of a core)",
        "p95 is uncertain: 20 samples (200 needed)"
      ],
      "caveats": [
        {
          "key": "caveat.generator_behind",
          "by_ms": 2.13877
        },
        {
          "key": "caveat.others",
          "others_percent": 99.705,
          "programs": [
            {
              "cpu_percent": 129.069,
              "name": "sh"
            },
            {
              "cpu_percent": 54.451,
              "name": "bash"
            },
            {
              "cpu_percent": 8.067,
              "name": "python3"
            }
          ]
        },
        {
          "key": "caveat.samples",
          "needed": 200,
          "quantile": 0.95,
          "samples": 20
        }
      ],
      "connecting": [
        {
          "t_s": 0.044481608,
          "clients": 2,
          "sent": 0,
          "received": 0,
          "errors": 0,
          "density": "25:1 31:1",
          "p50_ms": 1.561,
          "p95_ms": 7.790935,
          "p99_ms": 7.790935,
          "max_ms": 7.790935,
          "generator_cpu_percent": 0.0
        }
      ],
      "series": [
        {
          "t_s": 1.039395544,
          "clients": 2,
          "sent": 20,
          "received": 20,
          "errors": 0,
          "density": "17:2 18:5 19:4 20:1 21:1 22:1 26:4 28:1 30:1",
          "p50_ms": 0.308,
          "p95_ms": 4.175,
          "p99_ms": 6.714676,
          "max_ms": 6.714676,
          "generator_cpu_percent": 0.589
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
INSERT INTO "runs" VALUES('20261130-174141-0c70d0',1796060501236945979,'0.1.0','throng echo ws://127.0.0.1:39871/ws --initial-clients 2 --total-steps 2 --step-size 2 --interval 100ms --duration 1s --quiet --no-report --no-preflight --name nightly --note the first of its name --store kept.db','echo','raw','ws://127.0.0.1:39871/ws','ws://127.0.0.1:39871/ws',NULL,'Intel(R) Xeon(R) Processor','none',NULL,0,0,'{
  "schema": 1,
  "id": "20261130-174141-0c70d0",
  "name": "nightly",
  "note": "the first of its name",
  "started": "2026-11-30T17:41:41.236945979Z",
  "throng": "0.1.0",
  "command": [
    "throng",
    "echo",
    "ws://127.0.0.1:39871/ws",
    "--initial-clients",
    "2",
    "--total-steps",
    "2",
    "--step-size",
    "2",
    "--interval",
    "100ms",
    "--duration",
    "1s",
    "--quiet",
    "--no-report",
    "--no-preflight",
    "--name",
    "nightly",
    "--note",
    "the first of its name",
    "--store",
    "kept.db"
  ],
  "scenario": "echo",
  "dialect": "raw",
  "seed": 3717294956076865144,
  "target": {
    "url": "ws://127.0.0.1:39871/ws"
  },
  "environment": {
    "cpu": "Intel(R) Xeon(R) Processor",
    "cores": 2,
    "memory_bytes": 25276502016,
    "kernel": "Linux 6.18.44-fc-v669",
    "os": "Debian GNU/Linux 12 (bookworm)",
    "fd_limit": 20000,
    "same_host": true
  },
  "steps": [],
  "resume_after": 1,
  "verdict": {
    "outcome": "held",
    "result": "PASSED at 2 clients, 20.0 messages/s. Capacity: at least 2 clients (highest load tried)",
    "why": "nothing was saturated: server CPU 0% of 2 cores, busiest worker 0.6% of a core",
    "how_much": "2 clients, 20.0 messages/s",
    "breaks": "no failure up to 2 clients, the highest load tried; nothing was saturated: server CPU 0% of 2 cores, busiest worker 0.6% of a core",
    "claims": {
      "how_much": "held.clients",
      "breaks": "breaks.not"
    },
    "limits": [],
    "bottleneck": "none",
    "bottleneck_reason": "nothing was saturated: server CPU 0% of 2 cores, busiest worker 0.6% of a core",
    "cause": {
      "key": "none.saturated",
      "cores": 2.0,
      "server_percent": 0.0,
      "worker_percent": 0.589
    },
    "trust": [
      "the run had not ended when this was written",
      "the generator fell behind its schedule by up to 2.14ms",
      "other programs used 99.7% of the generator''s machine (sh 129%, bash 54%, python3 8% of a core)",
      "p95 is uncertain: 20 samples (200 needed)"
    ],
    "caveats": [
      {
        "key": "caveat.unended"
      },
      {
        "key": "caveat.generator_behind",
        "by_ms": 2.13877
      },
      {
        "key": "caveat.others",
        "others_percent": 99.705,
        "programs": [
          {
            "cpu_percent": 129.069,
            "name": "sh"
          },
          {
            "cpu_percent": 54.451,
            "name": "bash"
          },
          {
            "cpu_percent": 8.067,
            "name": "python3"
          }
        ]
      },
      {
        "key": "caveat.samples",
        "needed": 200,
        "quantile": 0.95,
        "samples": 20
      }
    ]
  }
}
',1,'nightly','the first of its name','PASSED',NULL,NULL,1,'rtt','');
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
INSERT INTO "series" VALUES('20261130-174141-0c70d0',1,1039395544,2,20,20,0,308000,4175000,6714676,6714676,NULL,NULL,5.89462134306064311495e-01);
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
INSERT INTO "steps" VALUES('20261130-174141-0c70d0',1,2,2,67153280,1000000000,20.0,20.0,20.0,20.0,1.7587949862383086952e+02,20,20,20,0,0,0,0,0,0,0,0,0,0.0,17784832,5.89462134306064311495e-01,'none','the generator fell behind its schedule by up to 2.14ms
other programs used 99.7% of the generator''s machine (sh 129%, bash 54%, python3 8% of a core)
p95 is uncertain: 20 samples (200 needed)');
CREATE TABLE tags (
    run TEXT NOT NULL REFERENCES runs ON DELETE CASCADE,
    tag TEXT NOT NULL,
    PRIMARY KEY (run, tag)
) STRICT, WITHOUT ROWID;
INSERT INTO "tags" VALUES('20261130-174141-0c70d0','first');
CREATE INDEX runs_by_start ON runs (started_ns);
CREATE INDEX runs_by_name ON runs (name);
COMMIT;
PRAGMA application_id = 1953002095;
PRAGMA user_version = 1;
