use stats::{Count, Figures, Histogram, Timed};

use super::*;
use crate::*;

mod full;
#[path = "../../../../tests/support/schema.rs"]
mod schema;

use full::{S, STARTED_UNIX_NS, full, full_step};
use schema::Schema;

const SCHEMA: &str = include_str!("../../../../docs/results.schema.json");

/// A run of which almost nothing is known.
fn bare() -> Run {
    Run { steps: vec![Step::default()], ..Run::default() }
}

/// How many, and the slowest.
fn samples(of: &Histogram) -> (u64, u64, u64) {
    (of.count(), of.quantile_ns(0.95), of.max_ns())
}

#[test]
fn files_round_trip() {
    for run in [full(), bare(), Run::default()] {
        let text = write(&run);
        let read = read(&text).unwrap();
        assert_eq!(write(&read), text, "writing again changes nothing");
        assert_eq!((&read.verdict, read.resume_after), (&run.verdict, run.resume_after));
        assert_eq!(read.is_search, run.is_search);
        assert_eq!((&read.id, &read.target, &read.environment), (&run.id, &run.target, &run.environment));
        assert_eq!((&read.name, &read.note, &read.inputs), (&run.name, &run.note, &run.inputs));
        for (read, step) in read.steps.iter().zip(&run.steps) {
            assert_eq!((&read.spent, read.interrupted), (&step.spent, step.interrupted));
            assert_eq!((&read.absences, &read.ages), (&step.absences, &step.ages));
            assert_eq!((&read.limits, &read.standing), (&step.limits, &step.standing));
            assert_eq!((&read.fleet, &read.caveats), (&step.fleet, &step.caveats));
            for (read, say) in read.says.iter().zip(&step.says) {
                assert_eq!((&read.name, &read.room, read.counts), (&say.name, &say.room, say.counts));
                assert_eq!([&read.rtt, &read.delivery].map(samples), [&say.rtt, &say.delivery].map(samples));
            }
            for (read, role) in read.roles.iter().zip(&step.roles) {
                assert_eq!((&read.name, read.people, read.counts), (&role.name, role.people, role.counts));
                assert_eq!(
                    [&read.handshake, &read.rtt, &read.delivery].map(samples),
                    [&role.handshake, &role.rtt, &role.delivery].map(samples)
                );
            }
            assert_eq!((read.says.len(), read.roles.len()), (step.says.len(), step.roles.len()));
            assert_eq!((read.counts, &read.errors, &read.series), (step.counts, &step.errors, &step.series));
            assert_eq!(read.connecting, step.connecting);
            assert_eq!(
                (&read.server, &read.machine, read.rates, &read.stop),
                (&step.server, &step.machine, step.rates, &step.stop)
            );
            for ((name, ours), (_, theirs)) in step.figures.iter().zip(read.figures.iter()) {
                assert_eq!(samples(ours), samples(theirs), "{name}");
                assert!((ours.mean_ns() - theirs.mean_ns()).abs() < 1.0, "{name}: the mean survives");
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
    let schema: serde_json::Value = serde_json::from_str(SCHEMA).unwrap();
    let validator = Schema::new(SCHEMA);
    for run in [full(), bare(), Run::default()] {
        assert_eq!(validator.faults(&serde_json::from_str(&write(&run)).unwrap()), None);
    }
    let counts = Count::ALL.map(|count| format!("/$defs/counts/properties/{count}"));
    let timed = Timed::ALL.map(|timed| match timed.facts().within {
        Some(object) => format!("/$defs/step/properties/{object}/properties/{timed}"),
        None => format!("/$defs/step/properties/{timed}"),
    });
    for at in counts.iter().chain(&timed) {
        assert!(schema.pointer(at).is_some(), "the schema does not describe {at}");
    }
    let claims = conclusion::Claim::KEYS.map(|(key, _)| key);
    assert_eq!(schema["$defs"]["claim"]["enum"], serde_json::json!(claims));
    // It can also refuse: everything in it is looked at, and a field nobody described is found.
    let damage: [(&str, serde_json::Value); 8] = [
        ("/schema", 2.into()),
        ("/steps/0/rtt/p95_ms", (-1).into()),
        ("/steps/0/counts/errors/reset", 2.into()),
        ("/steps/0/bottleneck", "nobody".into()),
        ("/steps/0/series/0/t_s", serde_json::Value::Null),
        ("/steps/0/series/0/density", "24".into()),
        ("/verdict/claims/how_much", "held.tomorrow".into()),
        ("/verdict/capacity", serde_json::json!({"clients": 1, "low": 1, "confidence": 0.95, "hgih": 2})),
    ];
    for (at, value) in damage {
        let mut results: serde_json::Value = serde_json::from_str(&write(&full())).unwrap();
        *results.pointer_mut(at).unwrap_or_else(|| panic!("no {at}")) = value;
        assert!(validator.faults(&results).is_some(), "damage at {at} goes unnoticed");
    }
}

#[test]
fn capacities_are_read_within_their_intervals() {
    let mut results: serde_json::Value = serde_json::from_str(&write(&full())).unwrap();
    let mut read_as = |clients: u64| {
        results["verdict"]["capacity"] =
            serde_json::json!({"clients": clients, "low": 500, "high": 600, "confidence": 0.95});
        let capacity = read(&results.to_string()).unwrap().verdict.capacity.unwrap();
        (capacity.low, capacity.clients, capacity.high)
    };
    assert_eq!(read_as(100), (100, 100, 600));
    assert_eq!(read_as(900), (500, 900, 900));
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
    let step = |clients| Step { clients, interrupted: None, figures: Figures::default(), ..full_step() };
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
fn torn_sweeps_keep_their_levels() {
    let step = |per_s: f64| {
        let rates = Rates { asked_per_s: Some(per_s), received_per_s: Some(per_s), ..Rates::default() };
        Step { clients: 25, rates, ..Step::default() }
    };
    let steps = [100.0, 200.0, 400.0].map(step).to_vec();
    let whole = write(&Run { scenario: Scenario::Saturate, steps, ..Run::default() });
    let torn = &whole[..whole.rfind("\"clients\"").unwrap()];
    let run = salvage::read(torn).unwrap();
    let safe: Vec<_> = run.verdict.levels.iter().map(|level| (level.clients, level.safe_per_s)).collect();
    assert_eq!((run.steps.len(), safe), (2, vec![(25, Some(200.0))]));
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
