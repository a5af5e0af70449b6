//! Losses, and their causes.

use super::*;
use crate::conclusion::held::returns;
use crate::finding::quantity::Ns;

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

/// The value of a limit's figure, as outputs have it.
fn told(text: &str, value: f64, passed: bool) -> String {
    let status = LimitStatus::of(passed);
    actual(&LimitOutcome { status, actual: Some(value), ..LimitOutcome::of_text(text) }).unwrap()
}

#[test]
fn shares_are_told_from_their_bounds() {
    assert_eq!(told("lost_offline==0%", 0.003_57, false), "0.004%");
    assert_eq!(told("errors<=1%", 1.004, false), "1.004%");
    assert_eq!(told("errors<=1%", 1.25, false), "1.25%");
    assert_eq!(told("errors<=1%", 0.996, true), "1.00%");
}

#[test]
fn values_are_told_from_their_bounds() {
    assert_eq!(told("p95<=250ms", 250.4, false), "250.4ms");
    assert_eq!(told("p95<=6.4s", 6_400.3, false), "6.4003s");
    assert_eq!(told("p95<250ms", 250.0, false), "250ms", "there is nothing to tell");
    assert_eq!(told("p95<=250ms", 249.8, true), "250ms");
    assert_eq!(told("p95<=250ms", 252.4, false), "252ms");
    assert_eq!(told("rate>=500/s", 499.6, false), "499.6/s");
    assert_eq!(told("server.rss<1GiB", 1_074_000_000.0, false), "1.0002 GiB");
}

#[test]
fn lag_is_told_by_its_bound() {
    let said = |limit: &str, actual: f64, without_lag: f64| {
        let outcome = LimitOutcome {
            actual: Some(actual),
            without_lag: Some(without_lag),
            status: LimitStatus::Undecided,
            ..LimitOutcome::of_text(limit)
        };
        super::super::actual(&outcome).unwrap()
    };
    let time = said("p95<1us", 4.32, 0.0);
    assert!(time.starts_with("4.32ms, up to 100%"), "0 is what is left at least: {time}");
    let rate = said("rate>=500/s", 400.0, 900.0);
    assert!(rate.starts_with("400/s, up to 900/s"), "{rate}");
}

/// A closed loop beside a server that stands still: what is told of it, and by which cause.
#[test]
fn stalls_are_noticed_whatever_the_cause() {
    let noticed = |cause: Option<Cause>, is_delivered: bool| {
        let mut step = Step { bottleneck: cause.map(Found::from), ..step() };
        let row = |t: u64, ms: u64| Second { t_ns: t * S, max_ns: Some(ms * MS), ..Second::default() };
        step.series = vec![row(1, 2), row(2, 2), row(3, 2_010), row(4, 1_500)];
        if is_delivered {
            step.figures.delivery.record_n_ns(2 * MS, 1_800);
        }
        conclude(&Run { steps: vec![step], ..Run::default() }).noticed.unwrap_or_default()
    };
    let full = Cause::MachineFull { idle: Percent(0.0), others: None, programs: None };
    for (cause, is_delivered, what) in
        [(Some(full.clone()), false, "answers"), (None, false, "answers"), (Some(full), true, "deliveries")]
    {
        let said = noticed(cause, is_delivered);
        assert!(said.starts_with(what) && said.contains("2 times") && said.ends_with("2.01s"), "{said}");
    }
    let stalled = Cause::ServerStalled { longest: Ns(2_010 * MS), times: 2, first: Ns(S) };
    assert!(noticed(Some(stalled), false).contains("server"), "where its cause is proven");
}

#[test]
fn shares_of_stalls_are_of_all() {
    let mut step = Step { bottleneck: None, ..step() };
    (step.counts.events, step.counts.stalls, step.counts.stalls_here) = (1_000, 10, 8);
    step.figures.gap.record_n_ns(900 * MS, 10);
    let said = conclude(&Run { steps: vec![step], ..Run::default() }).noticed.unwrap_or_default();
    assert!(said.contains(" 10 times (") && said.contains("generator 80%"), "{said}");
}

#[test]
fn unanswered_tails_are_bounds() {
    let noticed = |answered: u64| {
        let mut step = step();
        for figure in [&mut step.figures.rtt, &mut step.figures.service] {
            figure.clear();
            figure.record_n_ns(2 * MS, answered);
        }
        step.figures.rtt.record_n_ns(9 * S, 1_800 - answered);
        let run = Run { steps: vec![step], ..Run::default() };
        conclude(&run).noticed.unwrap_or_default()
    };
    assert!(noticed(1_700).ends_with("at least 9.00s"), "{}", noticed(1_700));
    assert_eq!(noticed(1_799), "", "one in 1,800 is no p99");
}

#[test]
fn broken_answers_keep_nobody_from_connecting() {
    let errors = |scenario: Scenario, kind: &str| {
        let mut step = Step { usable: Some(290), ..step() };
        (step.counts.connected, step.counts.connect_failures) = (290, 10);
        for _ in 0..10 {
            step.errors.add("refused", 0, "connection refused");
        }
        for _ in 0..50 {
            step.errors.add(kind, 0, "cut short");
        }
        let run = run_of(scenario, vec![step]);
        failings(scenario, &run.steps[0])[0].terse()
    };
    let refused = r#"loss.clients errors={"refused":10} missing=10 of=300"#;
    for kind in ["broke_off", "http2_reset", "http2_refused", "http_encoded"] {
        assert_eq!(errors(Scenario::Stream, kind), refused, "{kind}");
    }
    assert!(errors(Scenario::Echo, "http2_reset").contains("http2_reset"), "a client's own stream");
}

#[test]
fn encoded_answers_are_wrong() {
    let (how_much, ..) = said(Scenario::Stream, |step| {
        for _ in 0..2 {
            step.errors.add("http_encoded", 0, "gzip");
        }
    });
    assert!(how_much.contains(r#"loss.wrong example="gzip" of=1800 what="answers" wrong=2"#), "{how_much}");
}

#[test]
fn unrecognised_messages_fail_nobody() {
    let said = |messages: u64, change: fn(&mut Step)| {
        let mut step = step();
        step.counts = Counts { sent: 1_800, expected: 3_600, received: 600, missing: 3_000, ..step.counts };
        for _ in 0..messages {
            step.errors.add("unmatched", 0, "copy");
        }
        change(&mut step);
        let conclusion = conclude(&run_of(Scenario::Broadcast, vec![step]));
        (conclusion.status(), conclusion.outcome)
    };
    assert_eq!(said(3_000, |_| {}), (Status::Unclear, Outcome::Broken), "it still exits with 3");
    assert_eq!(said(2_999, |_| {}).0, Status::Failed, "one is missing for certain");
    assert_eq!(said(3_000, |step| step.counts.corrupt = 1).0, Status::Failed);
}

#[test]
fn local_errors_excuse_no_proof() {
    let said = |change: fn(&mut Step)| {
        let mut step = step();
        step.errors.add("address_not_available", 0, "");
        step.errors.set_local("address_not_available");
        change(&mut step);
        conclude(&run_of(Scenario::Echo, vec![step])).status()
    };
    assert_eq!(said(|step| step.usable = Some(299)), Status::Unclear);
    assert_eq!(said(|step| step.counts.corrupt = 1), Status::Failed, "no lack of ports damages a message");
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
fn clients_are_lost_of_those_connected() {
    let mut step = step();
    (step.usable, step.counts.connected, step.counts.disconnects) = (Some(290), 290, 3);
    step.standing = vec![LimitOutcome::of_text("disconnects==0")];
    let loss = failings(Scenario::Echo, &step)[0].terse();
    assert_eq!(loss, "loss.connections lost=3 of=290 what=\"clients\"");
    let cause = bottleneck(&step, None).cause.terse();
    assert_eq!(cause, "server.lost_clients lost=3 of=290 what=\"clients\"");
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
    let failing = failing(Scenario::Storm, &step, &limit).terse();
    assert!(failing.starts_with("loss.limit actual=9"), "{failing}");
    assert!(failing.ends_with(" at_least=true bound=20000.0 limit=\"p99<20s\" unit=\"ms\""), "{failing}");
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

#[test]
fn contention_makes_no_wrong_errors() {
    let said = |kind: &str| {
        let mut step = step();
        step.generator.as_mut().unwrap().worker_cpu_percent_max = Some(99.0);
        step.errors.add(kind, 0, "");
        step.limits = vec![Limit::parse("errors==0", Scenario::Echo).unwrap().check(&step)];
        conclude(&run_of(Scenario::Echo, vec![step])).status()
    };
    let expected =
        [("closed", Status::Unclear), ("join_refused", Status::Failed), ("unrecognised", Status::Passed)];
    for (kind, status) in expected {
        assert_eq!(said(kind), status, "{kind}");
    }
}
