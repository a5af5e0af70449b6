//! Runs for the golden tests.

use results::conclusion::{conclude as conclude_run, failing};
use results::finding::Finding;
use results::verdict::{bottleneck, caveats, conclude};
use results::{
    Environment, GeneratorUse, LimitOutcome, LimitStatus, MachineUse, Rates, Requirement, RoleFigures, Run,
    SayFigures, Scenario, ServerUse, Step, Target, standing,
};
use stats::{Capacity, Counts, Figures, Histogram, fit::Line};

const US: u64 = 1_000;
const MS: u64 = 1_000_000;
const S: u64 = 1_000 * MS;

/// `n` samples spread evenly from `low_ns` to `high_ns`.
fn spread(low_ns: u64, high_ns: u64, n: u64) -> Histogram {
    let mut histogram = Histogram::new();
    for i in 0..n {
        histogram.record_ns(low_ns + (high_ns - low_ns) * i / (n - 1));
    }
    histogram
}

fn judged(scenario: Scenario, mut step: Step) -> Step {
    // Nobody waited before sending in these runs, so that both are the same.
    step.figures.service = step.figures.rtt.clone();
    step.standing = standing::check(&standing::limits(scenario, &[], 0.0), &step);
    step.bottleneck = Some(bottleneck(&step, None));
    step.caveats = caveats(&step, 0.95);
    step
}

fn limit(text: &str, passed: bool, actual: f64) -> LimitOutcome {
    let of = Requirement::parse(text, Scenario::Broadcast);
    LimitOutcome { status: LimitStatus::of(passed), actual: Some(actual), ..LimitOutcome::unmeasured(of) }
}

/// 1,000 clients, 1,000 broadcasts, all well.
pub(crate) fn step_in_rooms() -> Step {
    let mut step = broadcast_step();
    step.figures.delivery_2_10 = spread(2 * MS, 20 * MS, 40_000);
    step.figures.delivery_101_1000 = spread(2 * MS, 70 * MS, 60_000);
    step
}

/// The same, of messages of two kinds.
pub(crate) fn step_of_kinds() -> Step {
    let kind = |name: &str, room: &str, sent, copies, missing| SayFigures {
        name: name.into(),
        room: room.into(),
        counts: Counts { sent, expected: copies, received: copies - missing, missing, ..Counts::default() },
        rtt: spread(MS, 20 * MS, sent),
        delivery: spread(2 * MS, 60 * MS, copies - missing),
    };
    let says = vec![kind("group", "group", 600, 3_600, 2), kind("own", "own", 400, 400, 0)];
    Step { says, ..broadcast_step() }
}

/// 1,000 people of two roles, some of whom have trouble.
pub(crate) fn step_of_roles() -> Step {
    let role = |name: &str, people, sent, copies, missing| RoleFigures {
        name: name.into(),
        people,
        counts: Counts {
            sent,
            expected: copies,
            received: copies - missing,
            missing,
            connected: people - missing,
            connect_timeouts: missing,
            ..Counts::default()
        },
        handshake: spread(MS, 9 * MS, people - missing),
        rtt: if sent > 0 { spread(MS, 20 * MS, sent) } else { Histogram::new() },
        delivery: spread(2 * MS, 60 * MS, copies - missing),
    };
    let roles = vec![role("listener", 900, 0, 3_600, 2), role("speaker", 100, 600, 400, 0)];
    Step { roles, ..broadcast_step() }
}

pub(crate) fn broadcast_step() -> Step {
    let mut generator = GeneratorUse {
        cpu_percent_mean: Some(31.0),
        worker_cpu_percent_max: Some(16.0),
        rss_bytes_peak: Some(9 << 20),
        ..GeneratorUse::default()
    };
    generator.loop_lag = spread(US, 80 * US, 1_000);
    judged(
        Scenario::Broadcast,
        Step {
            clients: 1_000,
            agents: 1,
            workers: 2,
            duration_ns: 20 * S,
            rates: Rates {
                achieved_per_s: Some(50.0),
                sent_per_s: Some(50.0),
                received_per_s: Some(50_000.0),
                ..Rates::default()
            },
            figures: Figures {
                handshake: spread(MS, 9 * MS, 1_000),
                rtt: spread(9 * MS, 66 * MS, 1_000),
                delivery: spread(2 * MS, 70 * MS, 100_000),
                completion: spread(30 * MS, 70 * MS, 1_000),
                ..Figures::default()
            },
            counts: Counts {
                sent: 1_000,
                expected: 1_000_000,
                received: 1_000_000,
                connects: 1_000,
                connected: 1_000,
                ..Counts::default()
            },
            server: Some(ServerUse {
                cpu_percent_mean: Some(62.4),
                cores: Some(1.0),
                rss_bytes_peak: Some(87 << 20),
                ..ServerUse::default()
            }),
            generator: Some(generator),
            stop: Some(limit("rtt.p95<=250ms", true, 63.0)),
            ..Step::default()
        },
    )
}

/// 4,000 clients, of which some failed, on a server that is at its end.
pub(crate) fn troubled_step() -> Step {
    let mut step = broadcast_step();
    (step.clients, step.usable) = (4_000, Some(3_980));
    step.figures.rtt = spread(20 * MS, 6_734 * MS, 100);
    step.figures.delivery = spread(20 * MS, 7_000 * MS, 100_000);
    step.figures.completion = spread(500 * MS, 7_000 * MS, 100);
    step.counts = Counts {
        sent: 100,
        expected: 398_000,
        received: 397_510,
        missing: 490,
        late: 1_200,
        duplicate: 3,
        connects: 4_000,
        connected: 3_980,
        connect_timeouts: 15,
        connect_failures: 5,
        ..Counts::default()
    };
    for i in 0..5 {
        step.errors.add("refused", (2 + i) * S, "connection refused");
    }
    step.server.as_mut().unwrap().cpu_percent_mean = Some(99.2);
    step.stop = Some(limit("rtt.p95<=250ms", false, 6_398.9));
    judged(Scenario::Broadcast, step)
}

/// A fast echo server under an open loop.
pub(crate) fn echo_step() -> Step {
    judged(
        Scenario::Echo,
        Step {
            clients: 10_000,
            agents: 1,
            workers: 2,
            duration_ns: 30 * S,
            rates: Rates {
                asked_per_s: Some(10_000.0),
                achieved_per_s: Some(9_999.6),
                sent_per_s: Some(10_000.0),
                ..Rates::default()
            },
            figures: Figures {
                handshake: spread(300 * US, 14 * MS, 10_000),
                rtt: spread(45 * US, 2_345 * US, 300_000),
                send_lag: spread(0, 90 * US, 300_000),
                ..Figures::default()
            },
            counts: Counts {
                sent: 300_000,
                expected: 300_000,
                received: 300_000,
                connects: 10_000,
                connected: 10_000,
                ..Counts::default()
            },
            server: Some(ServerUse {
                cpu_percent_mean: Some(41.0),
                cores: Some(1.0),
                ..ServerUse::default()
            }),
            ..Step::default()
        },
    )
}

/// Connections that are opened and held.
pub(crate) fn idle_step() -> Step {
    judged(
        Scenario::Idle,
        Step {
            clients: 20_000,
            agents: 2,
            workers: 2,
            duration_ns: 30 * S,
            rates: Rates { connects_per_s: Some(200.0), ..Rates::default() },
            figures: Figures { handshake: spread(300 * US, 4 * MS, 20_000), ..Figures::default() },
            counts: Counts { connects: 20_000, connected: 20_000, ..Counts::default() },
            machine: Some(MachineUse { cores: Some(2), same_host: Some(true), ..MachineUse::default() }),
            ..Step::default()
        },
    )
}

fn run(scenario: Scenario, steps: Vec<Step>) -> Run {
    let verdict = conclude(scenario, &steps);
    Run {
        id: "20261120-183000-abcdef".into(),
        started_unix_ns: 1_795_199_400_000_000_000,
        throng: "0.1.0".into(),
        command: ["throng", scenario.name(), "ws://127.0.0.1:3334/ws"].map(String::from).into(),
        scenario,
        dialect: "json".into(),
        target: Target { name: Some("node-ws".into()), url: "ws://127.0.0.1:3334/ws".into(), version: None },
        environment: Environment {
            cpu: Some("i7-4790K".into()),
            cores: Some(8),
            memory_bytes: Some(16 << 30),
            same_host: Some(false),
            ..Environment::default()
        },
        steps,
        verdict,
        ..Run::default()
    }
}

/// A walk of two steps, the second of which breaks the limit.
pub(crate) fn broadcast_run() -> Run {
    run(Scenario::Broadcast, vec![broadcast_step(), troubled_step()])
}

/// One step of wsdemo.
pub(crate) fn echo_run() -> Run {
    run(Scenario::Echo, vec![echo_step()])
}

/// Connections that are opened and held, and nothing else.
pub(crate) fn idle_run() -> Run {
    run(Scenario::Idle, vec![idle_step()])
}

/// A search with everything a search can find.
pub(crate) fn search_run() -> Run {
    let mut run = broadcast_run();
    run.is_search = true;
    run.verdict.capacity = Some(Capacity {
        clients: 3_120,
        low: 2_890,
        high: 3_310,
        confidence: 0.95,
        at_least: false,
        contradicted_by: None,
    });
    run.verdict.memory_per_client =
        Some(Line { slope: 33_000.5, intercept: 50e6, slope_se: 120.25, points: 80 });
    run
}

/// A sweep of rates at two numbers of clients; the smaller one is delivered more.
pub(crate) fn sweep_run() -> Run {
    let step = |clients: u64, per_s: f64, mean_ms: u64| {
        let mut step = broadcast_step();
        let passed = mean_ms <= 1_500;
        let limit = limit("rtt.mean<=1.5s", passed, mean_ms as f64);
        step.clients = clients;
        step.rates = Rates {
            asked_per_s: Some(per_s),
            achieved_per_s: Some(per_s),
            sent_per_s: Some(per_s),
            received_per_s: Some(per_s * clients as f64),
            ..Rates::default()
        };
        step.figures.rtt = spread(MS, 2 * mean_ms * MS, 1_000);
        step.stop = Some(limit);
        step
    };
    run(
        Scenario::Saturate,
        vec![
            step(50, 100.0, 2),
            step(50, 200.0, 300),
            step(50, 400.0, 2_000),
            step(100, 80.0, 3),
            step(100, 160.0, 3_000),
        ],
    )
}

/// Clients lose their connections and all come back.
pub(crate) fn storm_run() -> Run {
    let mut step = idle_step();
    step.figures.recovery = spread(20 * MS, 900 * MS, 1_000);
    run(Scenario::Storm, vec![step])
}

/// Requests over HTTP.
pub(crate) fn http_run() -> Run {
    let statuses = [(200, 299_988), (503, 12)].into();
    run(Scenario::Http, vec![Step { statuses, ..echo_step() }])
}

/// The text with every sentence of the run's findings replaced by its key: what remains is the report's own,
/// and what does not vanish was not taken from the finding.
pub(crate) fn keyed(run: &Run, text: &str) -> String {
    let conclusion = conclude_run(run);
    let mut sentences = Vec::new();
    sentences.push((conclusion.result(), conclusion.status().word()));
    sentences.extend(conclusion.why().map(|why| (why, "WHY")));
    for claim in [&conclusion.how_much, &conclusion.breaks] {
        sentences.push((claim.to_string(), claim.key));
        sentences.push((claim.answer.clone(), claim.key));
    }
    sentences.extend(run.verdict.caveats.iter().map(|caveat| (caveat.to_string(), caveat.key())));
    for step in &run.steps {
        let limits = step.limits.iter().chain(&step.standing).chain(&step.stop);
        let losses = limits.map(|limit| failing(run.scenario, step, limit));
        sentences.extend(losses.map(|loss| (loss.to_string(), loss.key())));
        sentences.extend(step.caveats.iter().map(|caveat| (caveat.to_string(), caveat.key())));
        sentences.extend(step.bottleneck.iter().map(|found| (found.cause.to_string(), found.cause.key())));
    }
    // A sentence may be a part of another.
    sentences.sort_by_key(|(sentence, _)| std::cmp::Reverse(sentence.len()));
    sentences.iter().fold(text.to_owned(), |text, (sentence, key)| {
        match sentence.split_whitespace().count() {
            0..=4 => text,
            _ => text.replace(sentence, key),
        }
    })
}
