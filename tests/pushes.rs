//! Messages that servers say by themselves: counted with their gaps and ages, by their numbers, and beside what others
//! were told.

use crate::frames::start;
use crate::support::app::example;
use crate::support::throng::{errors_of, sum_of};

#[test]
fn pushes_of_other_clocks_are_told() {
    let Some(app) = start("ahead", &example("ticker")) else { return };
    let outcome = app.run("idle", "/", "--clients 5 --connect-rate 200 -d 1s --no-preflight");
    let step = &outcome.json()["steps"][0];
    let pushed = &step["counts"]["pushed"];
    assert!(step.get("push_age").is_none() && step["push_ahead"]["count"] == *pushed, "{outcome}");
    let marks = step["caveats"].as_array().expect("a caveat");
    let clock = marks.iter().find(|mark| mark["key"] == "caveat.push_clock").expect("the clocks differ");
    assert_eq!((&clock["ahead"], &clock["of"]), (pushed, pushed), "{outcome}");
    let lead_ms = clock["lead_ms"].as_f64().expect("a lead");
    assert!((1_000.0..5_001.0).contains(&lead_ms), "{outcome}");
}

#[test]
fn pushes_are_counted_with_gaps_and_age() {
    let Some(app) = start("ticks", &example("ticker")) else { return };
    let outcome = app.run("idle", "/", "--clients 20 --connect-rate 200 -d 2s --no-preflight");
    outcome.assert_held();
    let results = outcome.json();
    let (pushed, step) = (sum_of(&results, "pushed"), &results["steps"][0]);
    // 50 a second to each of 20, unless the server has no CPU.
    assert!((500..=2_100).contains(&pushed) && pushed <= app.counted("sent"), "{pushed}: {outcome}");
    assert_eq!(errors_of(&results, "unrecognised") + errors_of(&results, "push_lacks"), 0, "{outcome}");
    let gap_ms = step["push_gap"]["p50_ms"].as_f64().unwrap();
    assert!((10.0..100.0).contains(&gap_ms), "{outcome}");
    assert_eq!(step["push_age"]["count"], pushed, "each says when: {outcome}");
    assert!(step["push_age"]["p50_ms"].as_f64().unwrap() < 1_000.0, "it is not old: {outcome}");
}

#[test]
fn numbers_that_a_server_leaves_out_are_lost() {
    let Some(app) = start("holes", &example("ticker")) else { return };
    let outcome = app.run("idle", "/", "--clients 10 --connect-rate 200 -d 2s --no-preflight");
    assert_eq!(outcome.code, Some(3), "{outcome}");
    let results = outcome.json();
    let (pushed, skipped) = (sum_of(&results, "pushed"), sum_of(&results, "push_skipped"));
    assert!(skipped.abs_diff(pushed / 9) <= 20, "one of ten, to within two at each client: {outcome}");
    assert_eq!(results["steps"][0]["losses"][0]["key"], "loss.pushes", "{outcome}");
    assert_eq!(results["steps"][0]["cause"]["key"], "server.left_out", "{outcome}");
    let allowed = app.run(
        "idle",
        "/",
        "--clients 5 -d 1s --no-preflight --limit push_skipped<20% --limit push_gap.max<60s",
    );
    assert_eq!(allowed.code, Some(0), "{allowed}");
}

const PRICES: &str = r#"
open = [{ send = '{"client":{client}}' }]
[push.price]
when = { json = { "/type" = "price" } }
number = "json:/seq"
same = "json:/price"
"#;

/// One of twenty is told another price now and then: it is found wherever its neighbours are, in this thread,
/// in others and in other processes.
#[test]
fn differing_push_is_named() {
    for threads in ["--threads 1", "--threads 4", "--threads 4 --processes 2"] {
        let Some(app) = start("prices-differ", PRICES) else { return };
        let flags = format!("--clients 20 -d 2s --no-preflight {threads}");
        let outcome = app.run("idle", "/", &flags);
        assert_eq!(outcome.code, Some(3), "{outcome}");
        let results = outcome.json();
        let of = |name| sum_of(&results, name);
        let (differing, of_server) = (of("push_differing"), app.counted("differing"));
        assert!(of("pushed") <= app.counted("sent") && of("push_compared") == of("pushed"), "{outcome}");
        // Two seconds of every fifth of fifty a second, unless the server has no CPU; it goes on outside the load.
        assert!((5..=21).contains(&differing) && differing <= of_server, "{of_server}: {outcome}");
        let step = &results["steps"][0];
        assert_eq!(errors_of(&results, "push_differs"), differing, "{outcome}");
        let example = step["counts"]["errors"]["push_differs"]["example"].as_str().unwrap();
        assert!(example.starts_with("client 13 ") && example.ends_with("19 others"), "{outcome}");
        assert_eq!(step["losses"][0]["key"], "loss.pushes_differ", "{outcome}");
        assert_eq!(step["cause"]["key"], "server.differs", "{outcome}");
    }
}

#[test]
fn agreeing_pushes_pass() {
    for threads in ["--threads 1", "--threads 4"] {
        let Some(app) = start("prices", PRICES) else { return };
        let outcome = app.run("idle", "/", &format!("--clients 20 -d 1s --no-preflight {threads}"));
        outcome.assert_held();
        let results = outcome.json();
        assert!(sum_of(&results, "pushed") > 200, "{outcome}");
        assert_eq!(
            sum_of(&results, "push_differing") + errors_of(&results, "push_uncompared"),
            0,
            "{outcome}"
        );
    }
}

#[test]
fn servers_pushing_too_rarely_are_told() {
    let Some(app) = start("ticks", &example("ticker")) else { return };
    let outcome = app.run("idle", "/", "--clients 5 -d 2s --no-preflight --limit push_gap.p50<5ms");
    assert_eq!(outcome.code, Some(3), "{outcome}");
    let results = outcome.json();
    let cause = results["steps"][0]["cause"]["key"].as_str().unwrap();
    // Where a busy machine has the generator hear late, that is the answer.
    let is_late = results["steps"][0]["marks"].as_array().is_some_and(|marks| !marks.is_empty());
    assert!(cause == "server.says_late" || is_late && cause != "none", "{outcome}");
}

#[test]
fn misplaced_fields_are_said() {
    let Some(app) = start("ticks", &example("ticker").replace("/seq", "/number")) else { return };
    let outcome = app.run("idle", "/", "--clients 2 -d 500ms --no-preflight");
    let results = outcome.json();
    assert!(sum_of(&results, "pushed") > 0 && errors_of(&results, "push_lacks") > 0, "{outcome}");
    for (of, to, line) in [("json:/seq", "/seq", 14), ("time = ", "tiem = ", 15), ("price]", "Price]", 12)] {
        let file = example("ticker");
        assert!(file.lines().nth(line - 1).is_some_and(|text| text.contains(of)), "{of}: {line}");
        app.write(&file.replacen(of, to, 1));
        let refused = app.run("idle", "/", "--clients 2");
        assert!(
            refused.code == Some(2) && refused.stderr.contains(&format!("app.toml:{line}:")),
            "{refused}"
        );
    }
}
