use insta::assert_snapshot;

use results::{LimitOutcome, LimitStatus, Requirement, Run};

use super::*;
use crate::sample;

/// The step's lines, with keys for its findings and metrics.
fn plain(scenario: Scenario, step: Step) -> String {
    let text = lines(scenario, &step, &Style::PLAIN).replace(CLEAN, "; CLEAN");
    let spans = Timed::ALL.into_iter().map(|timed| timed.facts().span);
    let text = spans.fold(text, |text, span| text.replace(&format!(": {span}"), ""));
    sample::keyed(&Run { scenario, steps: vec![step], ..Run::default() }, &text)
}

#[test]
fn broadcast_step_has_checks_and_latencies() {
    assert_snapshot!(plain(Scenario::Broadcast, sample::broadcast_step()), @"
    1,000 clients · closed model · 20.0s

    ✓ connected  1,000 of 1,000
    ✓ delivered  1,000,000 of 1,000,000; CLEAN
      rate       50.0 messages/s
    ✓ limit      rtt.p95<=250ms  was 63.0ms

    latency             p50      p95      p99    p99.9      max    samples
    round trip       37.5ms   63.2ms   65.4ms  66.0ms?   66.0ms      1,000
    delivery         36.0ms   66.6ms   69.4ms   70.0ms   70.0ms    100,000
    last receiver    50.0ms   68.0ms   69.6ms  70.0ms?   70.0ms      1,000
      round trip; delivery; last receiver; ?: too few samples above it

    server     62% of a core, 87.0 MiB
    generator  31% of a core, 9.00 MiB, p99 of its lag 80µs
    ");
}

#[test]
fn step_in_trouble_says_what_failed() {
    assert_snapshot!(plain(Scenario::Broadcast, sample::troubled_step()), @"
    4,000 clients · closed model · 20.0s

    ✗ connected  3,980 of 4,000, 15 timed out, 5 failed
    ✗ delivered  397,510 of 398,000, 490 missing, 1,200 late, 3 duplicate
      rate       50.0 messages/s
    ✗ limit      rtt.p95<=250ms  was 6.40s

    latency             p50      p95      p99    p99.9      max    samples
    round trip        3.34s   6.40s?   6.67s?   6.73s?    6.73s        100
    delivery          3.51s    6.65s    6.93s    7.00s    7.00s    100,000
    last receiver   ≥ 3.72s ≥ 6.67s? ≥ 6.93s? ≥ 7.00s?  ≥ 7.00s        100
      round trip; delivery; last receiver; ?: too few samples above it

    error      refused 5, 2.0s to 6.0s: connection refused
    server     99% of a core, 87.0 MiB
    generator  31% of a core, 9.00 MiB, p99 of its lag 80µs
    ");
}

#[test]
fn lost_messages_are_not_clean() {
    let is_clean = |lose: fn(&mut Step)| {
        let mut step = sample::broadcast_step();
        lose(&mut step);
        lines(Scenario::Broadcast, &step, &Style::PLAIN).contains(CLEAN)
    };
    assert!(is_clean(|step| (step.counts.offline_due, step.counts.recovered) = (200, 200)));
    assert!(!is_clean(|step| (step.counts.offline_due, step.counts.lost_offline) = (200, 50)));
    assert!(!is_clean(|step| step.counts.unacknowledged = 1));
}

#[test]
fn idle_step_has_no_round_trip() {
    assert_snapshot!(plain(Scenario::Idle, sample::idle_step()), @"
    20,000 clients · 30.0s

    ✓ connected  20,000 of 20,000, 200/s

    latency             p50      p95      p99    p99.9      max    samples
    handshake        2.15ms   3.81ms   3.96ms   4.00ms   4.00ms     20,000
      handshake
    ");
}

#[test]
fn no_line_is_wider_than_a_terminal() {
    let style = Style { columns: Some(80), ..Style::PLAIN };
    for step in [sample::troubled_step(), sample::step_in_rooms(), sample::echo_step()] {
        let text = lines(Scenario::Broadcast, &step, &style);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}

#[test]
fn required_rates_are_those_of_the_limit() {
    let row = |limit: &str, passed: bool, is_asked: bool| {
        let mut step = Step { clients: 10, duration_ns: 10_000_000_000, ..Step::default() };
        (step.rates.asked_per_s, step.rates.achieved_per_s) = (Some(10.0), Some(8.5));
        (step.counts.sent, step.counts.expected, step.counts.received) = (100, 100, 85);
        let outcome = LimitOutcome {
            status: LimitStatus::of(passed),
            ..LimitOutcome::unmeasured(Requirement::parse(limit, Scenario::Echo))
        };
        if is_asked {
            step.limits.push(outcome)
        } else {
            step.standing.push(outcome)
        }
        let text = lines(Scenario::Echo, &step, &Style::PLAIN);
        text.lines().find(|line| line.contains(" rate ")).unwrap_or_default().to_owned()
    };
    let missed = ["99%", "94%"].map(|bound| row(&format!("rate>={bound}"), false, false));
    assert!(missed[0].ends_with("(99% required)") && missed[1].ends_with("(94% required)"), "{missed:?}");
    let asked = row("rate >= 90%", false, true);
    assert!(asked.starts_with('✗') && asked.ends_with("(90% required)"), "{asked}");
    let passed = row("rate>=80%", true, true);
    assert!(passed.starts_with('✓') && !passed.contains("required"), "{passed}");
}

#[test]
fn heads_have_the_verb_that_was_typed() {
    let head = |command: &[&str]| {
        let command = command.iter().map(|&word| word.to_owned()).collect();
        told::head(&Run { command, scenario: Scenario::Broadcast, ..Run::default() })
    };
    assert!(head(&["throng", "run", "app.toml"]).starts_with("throng run · "));
    assert!(head(&["throng", "audit"]).starts_with("throng audit · "));
    assert!(head(&[]).starts_with("throng broadcast · "));
}

#[test]
fn drained_answers_have_a_time_of_their_own() {
    let said = |received: f64| {
        let mut step = Step { clients: 20, duration_ns: 4_000_000_000, ..Step::default() };
        (step.counts.sent, step.counts.expected, step.counts.received) = (48_000, 48_000, 48_000);
        step.rates = Rates {
            asked_per_s: Some(12_000.0),
            achieved_per_s: Some(received),
            received_per_s: Some(received),
            sent_bytes_per_s: Some(1_024.0),
            received_bytes_per_s: Some(2_048.0),
            ..Rates::default()
        };
        lines(Scenario::Http, &step, &Style::PLAIN)
    };
    let text = said(6_000.0);
    assert!(text.contains("4.00s + 4.00s until"), "{text}");
    let parts = ["requests/s in 8.00s", "sent in 4.00s", "received in 8.00s"];
    assert!(parts.iter().all(|part| text.contains(part)), "{text}");
    let text = said(12_000.0);
    assert!(!text.contains(" in 4.00s") && !text.contains("until"), "{text}");
}

#[test]
fn both_ends_have_shares_of_all_cores() {
    let mut step = sample::broadcast_step();
    step.machine = Some(results::MachineUse { cores: Some(2), ..Default::default() });
    step.generator.as_mut().unwrap().cpu_percent_mean = Some(30.0);
    assert!(plain(Scenario::Broadcast, step).contains("15% of 2 cores"));
}

#[test]
fn rates_name_the_clients_that_send() {
    let said = |usable: u64| {
        let mut step = Step { clients: 100, usable: Some(usable), ..Step::default() };
        step.rates = Rates { asked_per_s: Some(100.0), achieved_per_s: Some(100.0), ..Rates::default() };
        lines(Scenario::Echo, &step, &Style::PLAIN)
    };
    assert!(said(20).contains("messages/s from 20 clients"));
    assert!(!said(100).contains(" from "));
}
