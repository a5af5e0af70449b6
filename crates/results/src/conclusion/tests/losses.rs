//! Losses, and their causes.

use super::*;
use crate::conclusion::held::returns;

fn step_errors() -> stats::Errors {
    let mut errors = stats::Errors::default();
    for _ in 0..10 {
        errors.add("refused", 0, "connection refused");
    }
    for _ in 0..15 {
        errors.add("connect_timeout", 0, "not usable after 2 s");
    }
    errors
}

#[test]
fn commonest_causes_come_first() {
    let (how_much, ..) = said(Scenario::Echo, |step| {
        step.rates.asked_per_s = None;
        step.counts = Counts { connected: 275, connect_timeouts: 15, connect_failures: 10, ..step.counts };
        (step.usable, step.errors) = (Some(275), step_errors());
    });
    let errors = r#"errors={"connect_timeout":15,"refused":10}"#;
    assert_eq!(how_much, format!("held.nothing; 300 clients; loss.clients {errors} missing=25 of=300"));
    let run = run_of(Scenario::Echo, vec![Step { errors: step_errors(), usable: Some(275), ..step() }]);
    let said = failings(Scenario::Echo, &run.steps[0])[0].to_string();
    assert!(said.ends_with(" (connect_timeout 15, refused 10)"), "{said}");
}

#[test]
fn a_storm_that_found_nobody_is_none() {
    let mut run = run_of(Scenario::Storm, vec![step()]);
    assert_eq!(standing::storm(&run.steps[0]), None);
    run.steps[0].counts.disconnects = 300;
    let outcome = standing::storm(&run.steps[0]).unwrap();
    run.steps[0].standing.push(outcome);
    assert_eq!(of(&run).0, "held.nothing; 300 clients; loss.no_storm left=300 of=300");
    assert_eq!(of(&run).2, Outcome::Broken);
    run.steps[0].figures.recovery.record_ns(MS);
    assert_eq!(standing::storm(&run.steps[0]), None, "one of them was cut off");
}

#[test]
fn failed_attempts_are_no_clients() {
    let (how_much, ..) = said(Scenario::Echo, |step| {
        step.rates.asked_per_s = None;
        step.counts = Counts { connects: 420, connected: 360, connect_failures: 60, left: 60, ..step.counts };
        for _ in 0..60 {
            step.errors.add("reset", S, "connection reset");
        }
    });
    assert_eq!(how_much, "held.nothing; 300 clients; loss.attempts errors={\"reset\":60} failed=60 of=420");
    let (how_much, ..) = said(Scenario::Echo, |step| {
        step.counts = Counts { connects: 3_000, connected: 3_000, disconnects: 500, left: 1, ..step.counts };
    });
    assert_eq!(how_much, "held.nothing; 300 clients; loss.connections lost=500 of=3000 what=\"connections\"");
}

#[test]
fn shares_are_told_from_their_bounds() {
    let limit = |text: &str, actual: f64, passed: bool| LimitOutcome {
        limit: text.into(),
        passed,
        actual: Some(actual),
        unit: Unit::Percent,
        ..LimitOutcome::default()
    };
    let said = |text, value, passed| actual(&limit(text, value, passed)).unwrap();
    assert_eq!(said("lost_offline==0%", 0.003_57, false), "0.004%");
    assert_eq!(said("errors<=1%", 1.004, false), "1.004%");
    assert_eq!(said("errors<=1%", 1.25, false), "1.25%");
    assert_eq!(said("errors<=1%", 0.996, true), "1.00%");
}

#[test]
fn one_of_anything_is_said_as_one() {
    let (how_much, ..) = said(Scenario::Echo, |step| {
        (step.clients, step.usable) = (1, Some(1));
        step.counts =
            Counts { sent: 1, expected: 1, missing: 1, connects: 1, connected: 1, ..Counts::default() };
        step.rates = Rates::default();
    });
    assert_eq!(how_much, "held.nothing; 1 client; loss.missing missing=1 of=1 what=\"answers\"");
    let (how_much, ..) = said(Scenario::Broadcast, |step| {
        (step.clients, step.usable) = (2, Some(2));
        step.counts =
            Counts { sent: 1, expected: 1, missing: 1, connects: 2, connected: 2, ..Counts::default() };
        step.rates = Rates::default();
    });
    assert_eq!(how_much, "held.nothing; 2 clients; loss.missing missing=1 of=1 what=\"copies\"");
}

#[test]
fn one_lost_client_explains_little() {
    let (how_much, ..) = said(Scenario::Echo, |step| {
        step.rates.achieved_per_s = Some(150.0);
        step.counts = Counts { late: 900, disconnects: 1, ..step.counts };
        step.errors.add("reset", S, "connection reset");
    });
    assert_eq!(
        how_much,
        "held.nothing; 300 clients; loss.connections first_ms=1000.0 lost=1 of=300 what=\"clients\"; loss.rate achieved_per_s=150.0 asked_per_s=300.0 sends=\"messages\""
    );
}

#[test]
fn absent_clients_are_not_said_to_be_back() {
    let mut step = step();
    step.figures.recovery.record_n_ns(900 * MS, 1_000);
    assert_eq!(returns(&step).unwrap(), "all back within 900ms");
    step.figures.recovery.record_n_ns(9 * S, 38);
    step.counts.not_back = 38;
    assert_eq!(returns(&step).unwrap(), "1,000 of 1,038 back within 900ms; 38 not back after 9.00s");
    step.counts.not_back = 1_038;
    assert_eq!(returns(&step).unwrap(), "none of 1,038 back after 9.00s");
    let limit = Limit::parse("p99<20s", Scenario::Storm).unwrap().check(&step);
    assert_eq!(
        failing(Scenario::Storm, &step, &limit).terse(),
        "loss.limit actual=\"at least 9.00s\" limit=\"p99<20s\""
    );
}

#[test]
fn handshakes_refused_over_http_are_no_answer() {
    let (how_much, breaks, _) = said(Scenario::Echo, |step| {
        step.counts = Counts { connected: 240, connect_failures: 60, ..step.counts };
        step.usable = Some(240);
        for _ in 0..60 {
            step.errors.add("http_status", 0, "the server answered with HTTP 503");
        }
        for _ in 0..90 {
            step.errors.add("unaccepted", 0, "its kernel gave no answer");
        }
    });
    assert_eq!(
        how_much,
        "held.nothing; 300 clients; loss.clients errors={\"HTTP 503\":60} missing=60 of=300"
    );
    assert_eq!(breaks, "breaks.below; 300 clients; server.turned_away of=300 refused=60 what=\"clients\"");
}
