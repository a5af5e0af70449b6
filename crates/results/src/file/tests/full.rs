//! A run with every field filled: one that is added has to be filled here, too.

use stats::{Account, Capacity, Counts, Errors, Figures, LatencyParts, Timed, fit::Line, knee::Knee};

use crate::file::run_id;
use crate::finding::quantity::{Cores, Percent};
use crate::finding::{Cause, Caveat};
use crate::levels::Level;
use crate::unit::Unit;
use crate::*;

const MS: u64 = 1_000_000;
pub(super) const S: u64 = 1_000 * MS;

/// 2026-11-20T18:30:00.25Z.
pub(super) const STARTED_UNIX_NS: u64 = 1_795_199_400_250_000_000;

fn figure(ms: u64) -> stats::Histogram {
    let mut histogram = stats::Histogram::new();
    for i in 1..=200 {
        histogram.record_ns(ms * MS + i * 12_345);
    }
    histogram
}

/// Each figure with samples of its own.
fn full_figures() -> Figures {
    let mut figures = Figures::default();
    for (tens, timed) in (0..).zip(Timed::ALL) {
        *figures.get_mut(timed) = figure(10 * tens);
    }
    figures
}

/// A step with every field filled.
pub(super) fn full_step() -> Step {
    let outcome = LimitOutcome {
        of: Requirement::parse("p95<250ms", Scenario::Broadcast),
        status: LimitStatus::Undecided,
        actual: Some(252.469),
        without_lag: Some(12.5),
        unit: Unit::Ms,
    };
    Step {
        clients: 1_000,
        usable: Some(990),
        reached: Some(995),
        interrupted: Some(Interrupted::Loading),
        agents: 2,
        workers: 4,
        fleet: vec![full_agent()],
        start_ns: 3 * S + 1,
        duration_ns: 20 * S,
        warmup: Some(Warmup { clients: 100, duration_ns: 2 * S, sent: 200, received: 199 }),
        rates: Rates {
            asked_per_s: Some(50.0),
            achieved_per_s: Some(49.975),
            sent_per_s: Some(50.0),
            sent_bytes_per_s: Some(2_000.5),
            received_per_s: Some(49_975.5),
            received_bytes_per_s: Some(1_000_000.5),
            connects_per_s: Some(8_123.25),
            events_per_s: Some(1_200.5),
            tokens_per_s: Some(1_100.0),
        },
        figures: full_figures(),
        spent: Some(full_account()),
        counts: full_counts(),
        errors: full_errors(),
        statuses: [(200, 999_000), (404, 510)].into(),
        absences: vec![full_absences()],
        ages: vec![Ages { up_to_ns: Some(S), due: 400, recovered: 390 }],
        says: vec![full_say()],
        roles: vec![full_role()],
        server: Some(full_server()),
        generator: Some(full_generator()),
        machine: Some(full_machine()),
        connecting: (1..=2).map(full_second).collect(),
        series: (1..=20).map(full_second).collect(),
        limits: vec![outcome.clone()],
        standing: vec![LimitOutcome {
            of: Requirement::parse("missing==0", Scenario::Broadcast),
            ..outcome.clone()
        }],
        stop: Some(LimitOutcome { status: LimitStatus::AtLeast, ..outcome }),
        bottleneck: Some(Cause::ServerCpu { cpu: Percent(98.5), cores: Cores(1.0) }.into()),
        caveats: vec![Caveat::Others { others: Percent(98.5), programs: None }],
    }
}

fn full_errors() -> Errors {
    let mut errors = Errors::default();
    errors.add("reset", 4 * S, "connection reset by peer");
    errors.add("reset", 9 * S, "connection reset by peer");
    errors.add("too_many_files", 5 * S, "too many open files");
    errors.set_local("too_many_files");
    errors
}

fn full_agent() -> FleetAgent {
    FleetAgent {
        name: "zone-a-1".into(),
        workers: 2,
        clock_offset_ns: Some(-100_000_000_123),
        clock_error_ns: Some(250_000),
        lost: Some("no word from it for 3 s (after 7.5 s)".into()),
    }
}

fn full_absences() -> Absences {
    Absences {
        ended_by: "reset".into(),
        up_to_ns: Some(2 * S),
        count: 10,
        not_back: 1,
        due: 400,
        recovered: 390,
        due_squares: 16_100,
        recovered_squares: 15_400,
        due_by_recovered: 15_700,
    }
}

fn full_say() -> SayFigures {
    SayFigures {
        name: "line".into(),
        room: "table".into(),
        counts: full_counts(),
        rtt: figure(3),
        delivery: figure(4),
    }
}

fn full_role() -> RoleFigures {
    RoleFigures {
        name: "speaker".into(),
        people: 12,
        counts: full_counts(),
        handshake: figure(5),
        rtt: figure(6),
        delivery: figure(7),
    }
}

fn full_machine() -> MachineUse {
    MachineUse {
        kernel_bytes_per_client: Some(10_240.5),
        cores: Some(4),
        idle_percent_mean: Some(60.5),
        steal_percent: Some(0.25),
        others: vec![ProgramUse { name: "rustc".into(), cpu_percent: 98.5 }],
        network_percent: Some(1.5),
        retransmit_percent: Some(0.125),
        out_of_order_percent: Some(0.375),
        listen_overflows: Some(27),
        same_host: Some(false),
    }
}

/// Its tail is that of a p99.99, which three digits would take for the longest.
fn full_account() -> TimeSpent {
    let parts = |messages: u64| LatencyParts {
        messages,
        unsent_ns: messages * MS,
        service_ns: messages * 40 * MS,
        unanswered_ns: 9 * S,
        turn_ns: messages * MS / 2,
        stamped_ns: messages * MS / 4,
        handling_ns: messages * MS / 8,
    };
    TimeSpent {
        all: parts(1_000_000),
        tail: parts(100),
        tail_from_ns: 250 * MS,
        tail_quantile: 0.9999,
        waited_percent: 12.5,
        outstanding_percent: Some(99.5),
        by_latency: Account::default(),
    }
}

fn full_server() -> ServerUse {
    ServerUse {
        cpu_percent_mean: Some(98.5),
        cpu_percent_peak: Some(100.0),
        cores: Some(1.5),
        rss_bytes_mean: Some(90 << 20),
        rss_bytes_peak: Some(100 << 20),
        pss_bytes_peak: Some(95 << 20),
        processes: Some(2),
        threads: Some(11),
        fds: Some(1_020),
        fds_max: Some(1_024),
        name: Some("node".into()),
        pid: Some(4_711),
        context_switches: Some(40_000),
        throttled_percent: Some(12.5),
        ended_ns: Some(7 * S),
        thread_use: vec![ThreadUse {
            name: "node".into(),
            user_percent: 70.5,
            system_percent: 9.5,
            waiting_percent: 2.5,
            asleep_percent: 17.5,
        }],
    }
}

fn full_generator() -> GeneratorUse {
    GeneratorUse {
        cpu_percent_mean: Some(60.0),
        cpu_percent_peak: Some(80.0),
        worker_cpu_percent_max: Some(35.5),
        waiting_percent: Some(0.5),
        worker_waiting_percent_max: Some(1.5),
        throttled_percent: Some(2.5),
        rss_bytes_peak: Some(30 << 20),
        bytes_per_client: Some(480.25),
        ceiling_per_s: Some(200_000.5),
        ceiling_percent: Some(25.125),
        ceiling_at_least: Some(true),
        loop_lag: figure(0),
    }
}

fn full_counts() -> Counts {
    Counts {
        sent: 1_000,
        expected: 1_000_000,
        received: 999_510,
        missing: 490,
        left: 5,
        waited: 6,
        not_back: 2,
        tls_resumed: 5,
        slow: 3,
        slow_received: 7,
        ..Counts::default()
    }
}

fn full_second(t: u64) -> Second {
    Second {
        t_ns: t * S,
        clients: 1_000,
        sent: 50,
        received: 50_000,
        errors: 1,
        p50_ns: Some(250 * MS),
        p95_ns: Some((250 + t) * MS),
        p99_ns: Some(252 * MS),
        max_ns: Some(253 * MS),
        density: vec![(0, 1), (24, 99)],
        server_cpu_percent: Some(98.5),
        server_rss_bytes: Some(99 << 20),
        generator_cpu_percent: Some(60.25),
        metrics: [("queue_depth".to_owned(), 12.5)].into(),
    }
}

/// A run with every field filled.
pub(super) fn full() -> Run {
    let step = full_step();
    let concluded = verdict::conclude(Scenario::Broadcast, std::slice::from_ref(&step));
    let verdict = Verdict {
        capacity: Some(Capacity {
            clients: 900,
            low: 850,
            high: 960,
            confidence: 0.95,
            at_least: false,
            contradicted_by: Some(1_500),
        }),
        levels: vec![Level {
            clients: 25,
            safe_per_s: Some(400.0),
            received_per_s: Some(10_000.0),
            overload_per_s: Some(800.0),
            fatal_per_s: Some(566.5),
            knee: Some(Knee { load: 300.0, latency: 3.0 * MS as f64 }),
        }],
        memory_per_client: Some(Line { slope: 33_000.5, intercept: 50e6, slope_se: 120.25, points: 80 }),
        memory_later: Some(41_000.25),
        limits: concluded.limits,
        bottleneck: concluded.bottleneck,
        caveats: concluded.caveats,
    };
    Run {
        id: run_id(STARTED_UNIX_NS, 0xabcdef),
        started_unix_ns: STARTED_UNIX_NS,
        throng: "0.1.0".into(),
        command: vec!["throng".into(), "broadcast".into(), "ws://127.0.0.1:3334/ws".into()],
        scenario: Scenario::Broadcast,
        is_search: true,
        dialect: "json".into(),
        seed: Some(u64::MAX),
        target: Target {
            name: Some("node-ws".into()),
            url: "ws://127.0.0.1:3334/ws".into(),
            version: Some("8".into()),
        },
        name: Some("nightly".into()),
        note: Some("a new kernel".into()),
        environment: Environment {
            cpu: Some("i7-4790K".into()),
            cores: Some(4),
            memory_bytes: Some(16 << 30),
            kernel: Some("6.1.0".into()),
            os: Some("Debian 12".into()),
            fd_limit: Some(20_000),
            generator_cpus: Some("1-3".into()),
            server_cpus: Some("0".into()),
            same_host: Some(false),
        },
        inputs: [("app.toml".to_owned(), "0a".repeat(32))].into(),
        steps: vec![step],
        resume_after: Some(1),
        verdict,
    }
}
