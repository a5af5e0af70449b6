use stats::{Capacity, Count, Counts, Figures, Timed, fit::Line, knee::Knee};

use super::*;
use crate::finding::quantity::{Cores, Percent};
use crate::finding::{Cause, Caveat};
use crate::judgement::Unit;
use crate::*;

const MS: u64 = 1_000_000;
const S: u64 = 1_000 * MS;

/// 2026-11-20T18:30:00.25Z.
const STARTED_UNIX_NS: u64 = 1_795_199_400_250_000_000;

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
fn full_step() -> Step {
    let outcome = LimitOutcome {
        limit: "p95<250ms".into(),
        passed: false,
        actual: Some(252.469),
        unit: Unit::Ms,
        ..LimitOutcome::default()
    };
    Step {
        clients: 1_000,
        usable: Some(990),
        reached: Some(995),
        agents: 2,
        workers: 4,
        fleet: vec![FleetAgent {
            name: "zone-a-1".into(),
            workers: 2,
            clock_offset_ns: Some(-100_000_000_123),
            clock_error_ns: Some(250_000),
            lost: Some("no word from it for 3 s (after 7.5 s)".into()),
        }],
        start_ns: 3 * S + 1,
        duration_ns: 20 * S,
        warmup: Some(Warmup { clients: 100, duration_ns: 2 * S, sent: 200, received: 199 }),
        rates: Rates {
            asked_per_s: Some(50.0),
            achieved_per_s: Some(49.975),
            sent_per_s: Some(50.0),
            received_per_s: Some(49_975.5),
            received_bytes_per_s: Some(1_000_000.5),
            connects_per_s: Some(8_123.25),
            events_per_s: Some(1_200.5),
            tokens_per_s: Some(1_100.0),
        },
        figures: full_figures(),
        counts: full_counts(),
        statuses: [(200, 999_000), (404, 510)].into(),
        server: Some(full_server()),
        generator: Some(full_generator()),
        machine: Some(MachineUse {
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
        }),
        limits: vec![outcome.clone()],
        stop: Some(outcome),
        bottleneck: Some(Cause::ServerCpu { cpu: Percent(98.5), cores: Cores(1.0) }.into()),
        marks: vec![Caveat::Others { others: Percent(98.5), programs: None }],
        ..Step::default()
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
        thread_use: vec![ThreadUse { name: "node".into(), user_percent: 70.5, ..ThreadUse::default() }],
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
fn full() -> Run {
    let mut step = full_step();
    step.errors.add("reset", 4 * S, "connection reset by peer");
    step.errors.add("reset", 9 * S, "connection reset by peer");
    step.errors.add("too_many_files", 5 * S, "too many open files");
    step.errors.set_local("too_many_files");
    step.series = (1..=20).map(full_second).collect();
    step.connecting = (1..=2).map(full_second).collect();
    let verdict = Verdict {
        capacity: Some(Capacity {
            clients: 900,
            low: 850,
            high: 960,
            confidence: 0.95,
            at_least: false,
            contradicted_by: Some(1_500),
        }),
        knee: Some(Knee { load: 40.0, latency: 30.0 * MS as f64 }),
        levels: vec![Level {
            clients: 25,
            safe_per_s: Some(400.0),
            received_per_s: Some(10_000.0),
            overload_per_s: Some(800.0),
            fatal_per_s: Some(566.5),
            knee: Some(Knee { load: 300.0, latency: 3.0 * MS as f64 }),
        }],
        memory_per_client: Some(Line { slope: 33_000.5, intercept: 50e6, slope_se: 120.25, points: 80 }),
        ..verdict::conclude(std::slice::from_ref(&step))
    };
    Run {
        id: run_id(STARTED_UNIX_NS, 0xabcdef),
        started_unix_ns: STARTED_UNIX_NS,
        throng: "0.1.0".into(),
        command: vec!["throng".into(), "broadcast".into(), "ws://127.0.0.1:3334/ws".into()],
        scenario: Scenario::Broadcast,
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

/// A run of which almost nothing is known.
fn bare() -> Run {
    Run { steps: vec![Step::default()], ..Run::default() }
}

#[test]
fn files_round_trip() {
    for run in [full(), bare(), Run::default()] {
        let text = write(&run);
        let read = read(&text).unwrap();
        assert_eq!(write(&read), text, "writing again changes nothing");
        assert_eq!((&read.verdict, read.resume_after), (&run.verdict, run.resume_after));
        assert_eq!((&read.id, &read.target, &read.environment), (&run.id, &run.target, &run.environment));
        assert_eq!((&read.name, &read.note, &read.inputs), (&run.name, &run.note, &run.inputs));
        for (read, step) in read.steps.iter().zip(&run.steps) {
            assert_eq!((read.counts, &read.errors, &read.series), (step.counts, &step.errors, &step.series));
            assert_eq!(read.connecting, step.connecting);
            assert_eq!(
                (&read.server, &read.machine, read.rates, &read.stop),
                (&step.server, &step.machine, step.rates, &step.stop)
            );
            for ((name, ours), (_, theirs)) in step.figures.iter().zip(read.figures.iter()) {
                assert_eq!(ours.count(), theirs.count(), "{name}");
                assert!((ours.mean_ns() - theirs.mean_ns()).abs() < 1.0, "{name}: the mean survives");
                assert_eq!(ours.quantile_ns(0.95), theirs.quantile_ns(0.95), "{name}");
            }
        }
    }
}

#[test]
fn fields_that_do_not_apply_are_absent() {
    let text = write(&bare());
    for absent in
        ["handshake", "rtt", "server", "generator", "warmup", "sent", "capacity", "bottleneck", "null", "-1"]
    {
        assert!(!text.contains(&format!("\"{absent}")) && !text.contains("null"), "{absent} in {text}");
    }
    let text = write(&full());
    for present in ["handshake_parts", "p9999_ms", "\"marked\"", "HISTFAAA", "2026-11-20T18:30:00.25Z"] {
        assert!(text.contains(present), "{present}");
    }
}

#[test]
fn a_file_in_a_line_holds_the_same() {
    let line = write_line(&full());
    assert_eq!(line.matches('\n').count(), 1);
    let again = |text: &str| write(&read(text).unwrap());
    assert_eq!(again(&line), again(&write(&full())));
}

#[test]
fn numbers_that_are_none_are_absent() {
    let mut run = bare();
    run.steps[0].rates.achieved_per_s = Some(f64::NAN);
    run.steps[0].rates.sent_per_s = Some(1.0 / 3.0);
    let read = read(&write(&run)).unwrap();
    assert_eq!((read.steps[0].rates.achieved_per_s, read.steps[0].rates.sent_per_s), (None, Some(0.333)));
}

#[test]
fn a_newer_schema_is_named() {
    let text =
        write(&full()).replacen("\"schema\": 1", "\"schema\": 2", 1).replace("\"steps\"", "\"stages\"");
    let error = read(&text).unwrap_err().to_string();
    assert_eq!(
        error,
        "this results file has schema 2; this throng reads up to 1: use the throng that wrote it, or newer"
    );
}

#[test]
fn fields_of_a_later_version_are_passed_over() {
    let text = write(&full()).replacen("\"clients\": 1000,", "\"clients\": 1000, \"colour\": \"red\",", 1);
    assert_eq!(write(&read(&text).unwrap()), write(&full()));
}

#[test]
fn other_files_are_refused_plainly() {
    for text in ["", "[]", "{}", "{\"schema\": 1}", "not json"] {
        let error = read(text).unwrap_err().to_string();
        assert!(error.starts_with("this is not a results file: "), "{error}");
    }
    let damaged = write(&full()).replacen("HISTFAAA", "HISTXAAA", 1);
    let error = read(&damaged).unwrap_err().to_string();
    assert!(
        error.starts_with("this is not a results file: the histogram is not in HdrHistogram V2 format"),
        "{error}"
    );
    assert!(error.contains("at line"), "{error}");
}

#[test]
fn truncated_files_are_named_at_any_cut() {
    // In a word, behind a number's sign, behind its point: every place of the small file, and of the large one
    // those that differ by the two bytes before them.
    let (small, large) = (write(&bare()), write(&full()));
    let mut pairs = std::collections::HashSet::new();
    let large_cuts = (3..large.len() - 1).filter(|&at| pairs.insert(&large.as_bytes()[at - 2..at]));
    let cuts = (3..small.len() - 1).map(|at| &small[..at]).chain(large_cuts.map(|at| &large[..at]));
    let mut signs = 0;
    for cut in cuts {
        let error = read(cut).unwrap_err().to_string();
        assert!(error.starts_with("this results file ends too early, at line "), "{error}\n{cut}");
        signs += usize::from(cut.ends_with(" -"));
    }
    assert!(signs > 0, "the file has no number below zero to cut");
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config::with_cases(64))]

    #[test]
    fn damaged_files_are_errors_or_runs(at in 0..60_000usize, byte in 0..=255u8, cut in proptest::bool::ANY) {
        let mut text = write(&full()).into_bytes();
        let at = at % text.len();
        text[at] = byte;
        if cut {
            text.truncate(at);
        }
        if let Ok(run) = read(&String::from_utf8_lossy(&text)) {
            let again = write(&run);
            proptest::prop_assert!(read(&again).is_ok());
        }
    }
}

#[test]
fn ids_sort_by_time() {
    assert_eq!(run_id(STARTED_UNIX_NS, 0x12_3456_789a), "20261120-183000-56789a");
    assert!(run_id(STARTED_UNIX_NS, u64::MAX) < run_id(STARTED_UNIX_NS + S, 0));
}

#[test]
fn written_results_are_valid_by_the_schema() {
    let schema: serde_json::Value =
        serde_json::from_str(include_str!("../../../../docs/results.schema.json")).unwrap();
    assert!(jsonschema::meta::is_valid(&schema), "the schema itself is valid");
    let validator = jsonschema::validator_for(&schema).unwrap();
    for run in [full(), bare(), Run::default()] {
        let results = serde_json::from_str(&write(&run)).unwrap();
        let errors: Vec<_> =
            validator.iter_errors(&results).map(|e| format!("{}: {e}", e.instance_path())).collect();
        assert!(errors.is_empty(), "{errors:#?}");
    }
    let counts = Count::ALL.map(|count| format!("/$defs/counts/properties/{count}"));
    let timed = Timed::ALL.map(|timed| match timed.facts().within {
        Some(object) => format!("/$defs/step/properties/{object}/properties/{timed}"),
        None => format!("/$defs/step/properties/{timed}"),
    });
    for at in counts.iter().chain(&timed) {
        assert!(schema.pointer(at).is_some(), "the schema does not describe {at}");
    }
    // It can also refuse: everything in it is looked at, and a field nobody described is found.
    let damage: [(&str, serde_json::Value); 7] = [
        ("/schema", 2.into()),
        ("/steps/0/rtt/p95_ms", (-1).into()),
        ("/steps/0/counts/errors/reset", 2.into()),
        ("/steps/0/bottleneck", "nobody".into()),
        ("/steps/0/series/0/t_s", serde_json::Value::Null),
        ("/steps/0/series/0/density", "24".into()),
        ("/verdict/capacity", serde_json::json!({"clients": 1, "low": 1, "confidence": 0.95, "hgih": 2})),
    ];
    for (at, value) in damage {
        let mut results: serde_json::Value = serde_json::from_str(&write(&full())).unwrap();
        *results.pointer_mut(at).unwrap_or_else(|| panic!("no {at}")) = value;
        assert!(!validator.is_valid(&results), "damage at {at} goes unnoticed");
    }
}

#[test]
fn control_characters_of_a_file_reach_nobodys_terminal() {
    let shown = |text: &str| printable(text).into_owned();
    assert_eq!(shown(r#"{"a":"x\u001b[2Jy\u0007\rz\n\t\u000d\u009b"}"#), r#"{"a":"x[2Jyz\n\t"}"#);
    assert_eq!(shown("{\"a\":\"\u{9b}2J\u{7f}\"}\n"), "{\"a\":\"2J\"}\n");
    // A backslash of the text's own, an astral character in two escapes, and an escape that is cut short.
    for kept in [r#"{"a":"\\u001b \ud83d\ude00 \u00e9"}"#, r#"{"a":"\u00"#, "\\"] {
        assert_eq!(shown(kept), kept);
    }
    let mut run = Run { steps: vec![full_step()], ..Run::default() };
    run.target.version = Some("1.0\u{1b}]0;owned\u{7}".into());
    let text = write(&run);
    assert_eq!(read(&text).unwrap().target.version.as_deref(), Some("1.0]0;owned"));
}

/// Whatever a crash leaves of a step that was being added, the steps before it are read.
#[test]
fn torn_files_are_read_up_to_there() {
    let step = |clients| Step { clients, figures: Figures::default(), ..full_step() };
    let of = |steps: u64| Run {
        scenario: Scenario::Broadcast,
        resume_after: Some(steps as u32),
        steps: (1..=steps).map(step).collect(),
        ..Run::default()
    };
    let (before, after) = (write(&of(2)), write(&of(3)));
    let same = before.len() - Frame::of(&of(2)).end(2).len();
    // Written up to some byte, behind which the old end still stands, or nothing, or what the disk had.
    for cut in (same..after.len()).step_by(211) {
        let old = before.get(cut..).unwrap_or_default();
        for behind in [old, "", "\0\0\0"] {
            let run = salvage::read(&[&after[..cut], behind].concat()).unwrap();
            let whole = run.resume_after.unwrap();
            assert!(run.steps.len() == whole as usize && (2..=3).contains(&whole), "cut at {cut}: {whole}");
            assert_eq!(run.steps[..], read(&after).unwrap().steps[..whole as usize], "cut at {cut}");
        }
    }
    assert_eq!(salvage::read(&after).unwrap(), read(&after).unwrap(), "a whole one is read as ever");
    for none in ["", "{}", &after[..same / 4], "{\n  \"steps\": [\n    }"] {
        assert!(salvage::read(none).is_err(), "{none}");
    }
}

#[test]
fn a_file_grows_by_its_steps() {
    let mut run = Run { steps: vec![full_step(); 3], ..Run::default() };
    let frame = Frame::of(&run);
    let behind = write_steps_behind(&run, 1);
    run.steps.truncate(1);
    let first = write_steps_behind(&run, 0);
    run.steps = vec![full_step(); 3];
    assert_eq!([&frame.head, &first, &behind, &frame.end(3)].map(String::as_str).concat(), write(&run));
    assert_eq!(Frame::parse(&frame.around([""; 0])), Some(frame));
    assert_eq!(Frame::parse(&write(&run)), None, "it has steps");
}
