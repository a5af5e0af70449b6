//! Checks that a shootout ranks what is so: servers whose speed, losses and end are known by arithmetic.

use std::fs;
use std::time::Duration;

use serde_json::Value;

use crate::support::arena::{Arena, SERVE, tiny_suite};
use crate::support::throng::{Outcome, run, throng};

const RUN_MAX: Duration = Duration::from_secs(120);

/// Sixteen clients that echo as fast as they can, measured beside a control.
fn suite(repeats: &str) -> String {
    let flags = r#"clients = 16, concurrent = 16, duration = "500ms", drain-timeout = "1s""#;
    let suite = tiny_suite(2, flags, &["rate", "rtt.p50"]).replace("interval = \"20ms\", ", "");
    suite.replace("repeats = 2", &format!("control = true\n{repeats}"))
}

fn shootout(arena: &Arena, arguments: &[&str]) -> Outcome {
    let mut command = throng(["shootout", "tiny", "--out", "kept"]);
    run(command.args(arguments).current_dir(arena.folder()), RUN_MAX)
}

fn standing(outcome: &Outcome, target: &str) -> Value {
    let json = outcome.json();
    let standings = json["scenarios"][0]["standings"].as_array().unwrap().clone();
    standings.into_iter().find(|one| one["target"] == target).unwrap_or_else(|| panic!("{outcome}"))
}

/// A server that takes 5 ms for each message, one at a time, answers 200 a second at the most, whoever asks.
/// The reference is as fast as its share of the CPU: on a busy machine, three rounds may differ so much that
/// it has no place.
#[test]
fn a_slow_server_ranks_where_arithmetic_puts_it() {
    let arena =
        Arena::new(&suite("repeats = 3"), "exec \"$THRONG\" serve --listen \"$AT\" --fault service=5ms");
    let outcome = shootout(&arena, &["--format", "json"]);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    let (slow, reference) = (standing(&outcome, "sh-copy"), standing(&outcome, "throng"));
    let rate = slow["mean"].as_f64().unwrap();
    assert!((100.0..=201.0).contains(&rate), "{slow}");
    let is_known = reference["low"].as_f64().unwrap() > 0.0;
    let places = if is_known { (Some(1), Some(2)) } else { (None, Some(1)) };
    assert_eq!((reference["place"].as_u64(), slow["place"].as_u64()), places, "{outcome}");
    let share = rate / reference["mean"].as_f64().unwrap();
    let both_are_bounds = slow["is_bound"] == true && reference["is_bound"] == true;
    assert!(slow["share"].as_f64().map_or(both_are_bounds, |found| (found - share).abs() < 1e-9), "{slow}");
    assert_eq!(reference["high"].is_null(), reference["is_bound"] == true, "{reference}");
    assert!(slow["remarks"].is_string() && outcome.json()["scenarios"][0]["answer"].is_string());
    let standings = outcome.json()["scenarios"][0]["standings"].as_array().unwrap().len();
    assert_eq!(standings, 2, "the control takes nobody's place: {outcome}");
}

/// The same program under two names is told from itself only by chance: with 95% intervals hardly ever.
#[test]
fn the_reference_ties_with_itself() {
    let arena = Arena::new(&suite("repeats = 3"), SERVE);
    let outcome = shootout(&arena, &["--targets", "throng", "--format", "json"]);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    let control = &outcome.json()["scenarios"][0]["control"];
    assert!(control["mean"].as_f64() > Some(0.0) && control["is_apart"] == false, "{outcome}");
    let cells = fs::read_to_string(arena.path("kept/cells.jsonl")).unwrap();
    assert_eq!(cells.matches("\"target\":\"throng-control\"").count(), 3, "{cells}");
}

#[test]
fn servers_that_lose_messages_have_no_rank() {
    let arena = Arena::new(
        &suite("repeats = 2"),
        // Beyond what the check sends.
        "exec \"$THRONG\" serve --listen \"$AT\" --fault drop=499%500",
    );
    let flags = "clients = 16, rate = 2000, ";
    let text = fs::read_to_string(arena.path("suites/tiny.toml")).unwrap();
    fs::write(arena.path("suites/tiny.toml"), text.replace("clients = 16, concurrent = 16, ", flags))
        .unwrap();
    let outcome = shootout(&arena, &["--format", "md"]);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    let row = outcome.stdout.lines().find(|line| line.contains("| sh-copy |")).expect("its row");
    assert!(row.starts_with("|  | sh-copy |") && row.contains("lost message"), "{row}");
    let first = outcome.stdout.lines().find(|line| line.contains("| throng |")).expect("its row");
    // What other programs disturb has no place, whoever it is.
    let is_first = first.starts_with("| 1 | throng |") || first.contains("limited by the machine");
    assert!(is_first && !first.contains("lost message"), "{first}");
}

#[test]
fn failing_servers_have_no_rank() {
    for (script, said) in [
        ("exec \"$THRONG\" serve --listen \"$AT\" --fault kill=12@3", "error"),
        (
            "\"$THRONG\" serve --listen \"$AT\" & server=$!\n\
             trap 'kill $server; exit' TERM\n\
             n=$(cat starts 2>/dev/null || echo 0); echo $((n + 1)) > starts\n\
             if [ $n = 2 ]; then sleep 0.7; kill -9 $server; exit 7; fi\n\
             wait $server\n",
            "exited with 7",
        ),
    ] {
        let longer = suite("repeats = 2").replace("500ms", "1500ms").replace("control = true\n", "");
        let arena = Arena::new(&longer, script);
        let outcome = shootout(&arena, &["--format", "md"]);
        let row = outcome.stdout.lines().find(|line| line.contains("| sh-copy |")).expect("its row");
        assert!(row.starts_with("|  | sh-copy |") && row.contains(said), "{row}\n{outcome}");
    }
}

/// A server that gives every second answer twice, then every third, and so on, is not known after two rounds,
/// and never will be. Others give none twice, however busy the machine.
#[test]
fn rounds_are_added_for_unknown_figures_alone() {
    let flags = "clients = 4, concurrent = 4, sample-size = 400, drain-timeout = \"10s\"";
    let suite = tiny_suite(2, flags, &["duplicate"]).replace("interval = \"20ms\", ", "");
    let arena = Arena::new(
        &suite.replace("repeats = 2", "repeats = 2\nrepeats-max = 4"),
        "n=$(cat starts 2>/dev/null || echo 0); echo $((n + 1)) > starts\n\
         [ $n = 0 ] || fault=\"--fault dup=0%$((1 + n))\"\n\
         exec \"$THRONG\" serve --listen \"$AT\" $fault\n",
    );
    let steady = arena.path("targets/sh-steady");
    fs::create_dir(&steady).unwrap();
    for file in ["target.toml", "version"] {
        fs::copy(arena.path("targets/sh-copy").join(file), steady.join(file)).unwrap();
    }
    fs::write(steady.join("serve.sh"), SERVE).unwrap();
    let outcome = shootout(&arena, &["--targets", "sh-copy,sh-steady"]);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    assert!(outcome.stderr.contains("at most 12 measurements: "), "said beforehand\n{outcome}");
    let cells = fs::read_to_string(arena.path("kept/cells.jsonl")).unwrap();
    let of = |target: &str| cells.matches(&format!("\"target\":\"{target}\"")).count();
    assert_eq!(of("sh-copy"), 4, "{outcome}");
    assert_eq!((of("sh-steady"), of("throng")), (2, 2), "none is there twice\n{outcome}");
    assert!(outcome.stdout.contains("2 to 4 rounds in random order"), "{outcome}");
}

#[test]
fn budgets_end_resumed_rounds() {
    // Two servers with 2.5 s each at the least: three rounds take more than 14 s on any machine.
    let arena = Arena::new(&suite("repeats = 3").replace("\"10ms\"", "\"2s\""), SERVE);
    let small = shootout(&arena, &["--budget", "1s"]);
    assert_eq!(small.code, Some(2), "{small}");
    assert!(small.stderr.contains("--budget: one round takes about "), "{small}");
    let outcome = shootout(&arena, &["--budget", "14s", "--targets", "throng"]);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    assert!(outcome.stderr.contains("would end after --budget"), "{outcome}");
    let before = fs::read_to_string(arena.path("kept/cells.jsonl")).unwrap().lines().count();
    assert!((2..6).contains(&before), "{outcome}");
    let measured_after = |arguments: &[&str]| {
        let mut resumed = throng(["shootout", "--resume", "kept"]);
        let resumed = run(resumed.args(arguments).current_dir(arena.folder()), RUN_MAX);
        assert_eq!(resumed.code, Some(0), "{resumed}");
        fs::read_to_string(arena.path("kept/cells.jsonl")).unwrap().lines().count()
    };
    assert_eq!(measured_after(&[]), before, "the time is up still");
    assert_eq!(measured_after(&["--budget", "1h"]), 6, "another time, and all three rounds");
    assert_eq!(arena.kept("shootout.json")["budget_s"], 3600.0);
}
