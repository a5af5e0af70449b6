use insta::assert_snapshot;

use results::Interrupted;

use super::*;
use crate::sample;
use crate::text::text;

#[test]
fn walk_has_one_row_a_step() {
    let run = sample::broadcast_run();
    assert_snapshot!(sample::keyed(&run, &text(&run, &Style::PLAIN)), @"
    throng broadcast · json · ws://127.0.0.1:3334/ws (node-ws)

    delivery: sent → each receiver
        clients       rate      p50      p95      p99      max    came  server CPU
    ✓     1,000     50.0/s   36.0ms   66.6ms   69.4ms   70.0ms    100%         62%
    ✗     4,000     50.0/s    3.51s    6.65s    6.93s    7.00s   99.8%         99%
        loss.clients, loss.missing, loss.wrong, rtt.p95<=250ms was 6.40s

    error      at 4,000 clients: refused 5, 2.0s to 6.0s: connection refused
    server     62% of a core, 87.0 MiB
    generator  31% of a core, 9.00 MiB, p99 of its lag 80µs

    RESULT    FAILED
    WHY       WHY
    CAVEATS   caveat.samples
    ");
}

#[test]
fn asked_rates_are_named_so() {
    let mut step = sample::echo_step();
    let title = |step: &Step| names(step, Timed::Rtt, &Style::PLAIN).contains(" asked ");
    (step.rates.asked_per_s, step.rates.achieved_per_s) = (None, Some(2_120.0));
    assert!(!title(&step));
    step.rates.asked_per_s = Some(5_000.0);
    assert!(title(&step) && row(Scenario::Echo, &step, Timed::Rtt, &Style::PLAIN).contains("5,000/s"));
}

#[test]
fn loads_that_never_began_have_not_passed() {
    let mut step = Step { interrupted: Some(Interrupted::Connecting), clients: 10_000, ..Step::default() };
    step.rates.connects_per_s = Some(200.0);
    let text = row(Scenario::Echo, &step, Timed::Rtt, &Style::PLAIN);
    let untold = conclusion::untold(&step).unwrap();
    assert!(text.contains(&untold) && !text.contains('✓') && !text.contains("200/s"), "{text}");
}

#[test]
fn missing_copies_are_never_rounded_away() {
    let mut step = Step::default();
    assert_eq!(came(&step), "");
    (step.counts.expected, step.counts.received) = (100_000, 99_999);
    assert_eq!(came(&step), "99.9%");
    step.counts.received = 100_000;
    assert_eq!(came(&step), "100%");
}
