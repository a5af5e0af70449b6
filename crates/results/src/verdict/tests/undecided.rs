//! Tests of whether a broken limit would have been kept without lag.

use super::*;
use crate::limit::Limit;
use crate::scenario::Scenario;

/// Each limit's value without lag in a step, and whether that would have kept it.
fn weighed(step: &mut Step, texts: &[&str]) -> Vec<(Option<f64>, bool)> {
    let scenario = if step.figures.first.is_empty() { Scenario::Echo } else { Scenario::Stream };
    let limits: Vec<Limit> = texts.iter().map(|text| Limit::parse(text, scenario).unwrap()).collect();
    step.limits = limits.iter().map(|limit| limit.check(step)).collect();
    weigh_broken(step);
    let rounded = |value: f64| (value * 10.0).round() / 10.0;
    step.limits.iter().map(|limit| (limit.without_lag.map(rounded), limit.is_undecided())).collect()
}

/// 10,000 messages that each waited for 60 ms for a busy generator, and for 40 ms for the server.
fn late_by_60_of_100_ms() -> Step {
    with(|step| {
        spent(step, 60 * MS, 40 * MS);
        (step.rates.asked_per_s, step.rates.achieved_per_s) = (None, Some(200.0));
    })
}

#[test]
fn latencies_explained_by_lag_are_undecided() {
    let found = weighed(&mut late_by_60_of_100_ms(), &["p95<=50ms", "p95<=20ms", "p95<=1s"]);
    // Shares are right to 15 points.
    assert_eq!(found, [(Some(25.0), true), (Some(25.0), false), (None, false)]);
}

#[test]
fn slow_messages_are_those_beyond_the_broken_limit() {
    let mut step = with(|step| {
        spent(step, 0, 10 * MS);
        let mut account = Account::default();
        account.add(10 * MS, 10 * MS, 9_000, Reach::default());
        account.add(900 * MS, 90 * MS, 1_000, Reach::default());
        for figure in [&mut step.figures.rtt, &mut step.figures.service] {
            figure.record_n_ns(900 * MS, 1_000);
        }
        step.spent = TimeSpent::of(&account, &step.figures.rtt, None);
    });
    let found = weighed(&mut step, &["p50<=5ms", "p99<=500ms"]);
    assert_eq!(found[1], (Some(0.0), true), "nine tenths of what is beyond it are the generator's");
    let spent = step.spent.unwrap();
    assert_eq!((spent.tail_from_ns, spent.tail_quantile, spent.tail.messages), (500 * MS, 0.99, 1_000));
}

#[test]
fn streamed_answers_are_weighed_by_first_events() {
    let mut step = late_by_60_of_100_ms();
    step.figures.first = std::mem::take(&mut step.figures.rtt);
    step.figures.rtt.record_n_ns(2_000 * MS, 10_000);
    let found = weighed(&mut step, &["first.p95<=50ms", "first.p95<=20ms", "rate>=700/s"]);
    assert_eq!(found, [(Some(25.0), true), (None, false), (None, false)]);
}

#[test]
fn closed_loops_ask_for_less_with_lag() {
    let found = weighed(&mut late_by_60_of_100_ms(), &["rate>=700/s", "rate>=900/s"]);
    assert_eq!(found, [(Some(800.0), true), (Some(800.0), false)]);
}

#[test]
fn undecided_limits_accuse_no_server() {
    let who = |limit: &str| {
        let mut step = with(|step| {
            spent(step, 32 * MS, 68 * MS);
            step.rates.achieved_per_s = Some(300.0);
        });
        weighed(&mut step, &[limit]);
        bottleneck(&step, None).bottleneck
    };
    assert_eq!(who("p95<=90ms"), Bottleneck::Unknown, "68 ms would have kept it");
    assert_ne!(who("p95<=20ms"), Bottleneck::Unknown, "68 ms would have broken it, too");
}

#[test]
fn missed_schedules_belong_to_the_queues_owner() {
    let of = |unsent_ms: u64, service_ms: u64| {
        let mut step = with(|step| {
            spent(step, unsent_ms * MS, service_ms * MS);
            step.rates.achieved_per_s = Some(300.0);
        });
        weighed(&mut step, &["rate>=450/s"])[0]
    };
    assert_eq!(of(20, 80), (Some(300.0), false), "the server's grows however fast the rest is");
    assert_eq!(of(60, 40), (Some(1_200.0), true));
}

#[test]
fn shares_of_a_rate_count_what_was_completed() {
    let mut step = with(|step| {
        spent(step, 60 * MS, 40 * MS);
        step.rates.achieved_per_s = Some(300.0);
        // The generator had no CPU until the schedule was over.
        step.counts.late = step.counts.expected;
    });
    assert!(step.kept_percent() < Some(1.0), "{:?}", step.kept_percent());
    let found = weighed(&mut step, &["rate>=60%"]);
    assert_eq!(found, [(Some(100.0), true)], "300/s were completed with six tenths of the time lost");
}

#[test]
fn lost_messages_have_no_lag() {
    let mut step = late_by_60_of_100_ms();
    step.counts = Counts { received: 9_000, missing: 1_000, ..step.counts };
    // Given up by their clients, and answered never.
    step.figures.rtt.record_n_ns(9_000 * MS, 1_000);
    let found = weighed(&mut step, &["missing==0", "p99<=50ms"]);
    assert_eq!(found[0], (None, false));
    assert!(step.limits[1].is_at_least() && !found[1].1, "{:?}", step.limits);
}

#[test]
fn one_way_messages_are_late_by_hearing() {
    let mut step = with(|step| {
        step.figures.handshake.record_n_ns(20 * MS, 10_000);
        late(step, 15 * MS);
    });
    let found = weighed(&mut step, &["handshake.p99<=10ms", "handshake.p99<=1ms"]);
    assert!(found[0].1 && !found[1].1, "{found:?}");
}

#[test]
fn send_lag_excuses_no_service_time() {
    let mut step = with(|step| {
        answered(step, 100 * MS);
        step.figures.delivery.record_n_ns(100 * MS, 10_000);
        step.figures.send_lag.clear();
        step.figures.send_lag.record_n_ns(80 * MS, 10_000);
    });
    let limits = ["service.p95<50ms", "delivery.p95<50ms"]
        .map(|text| Limit::parse(text, Scenario::Broadcast).unwrap());
    step.limits = limits.iter().map(|limit| limit.check(&step)).collect();
    weigh_broken(&mut step);
    let undecided: Vec<bool> = step.limits.iter().map(|limit| limit.is_undecided()).collect();
    assert_eq!(undecided, [false, true], "one begins with the write, and the other when it was due");
}
