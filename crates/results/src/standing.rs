//! The limits that hold without being asked for (METHODOLOGY "Standing limits").
//!
//! A server *holds* a load when everything was delivered, every answer was right, nobody was lost and the rate was kept.
//! A limit of the user's on the same figure takes the place of a standing one, and `--allow-loss` loosens them all.

use crate::limit::Limit;
use crate::{LimitOutcome, Step, Unit};

/// The share of the asked rate that must be kept.
const RATE_PERCENT_MIN: f64 = 99.0;

/// A figure of which there may be none, and the scenarios that have it.
struct Standing {
    figure: &'static str,
    scenarios: &'static [&'static str],
}

/// In the order in which they are said: who was not there, who was lost, what was lost, what was wrong.
const NONE_OF: [Standing; 5] = [
    Standing { figure: "unusable", scenarios: &["echo", "broadcast", "saturate", "http", "idle", "storm"] },
    // Who is thrown out in a storm has to come back.
    Standing { figure: "disconnects", scenarios: &["echo", "broadcast", "saturate", "http", "idle"] },
    Standing { figure: "not_back", scenarios: &["storm"] },
    Standing { figure: "missing", scenarios: &["echo", "broadcast", "saturate", "http", "storm"] },
    Standing { figure: "wrong", scenarios: &["echo", "broadcast", "saturate", "http", "storm"] },
];
/// In a storm, what is due to be sent by those who are away is not sent.
const PACED: [&str; 4] = ["echo", "broadcast", "saturate", "http"];

/// The standing limits of a scenario beside those that were asked for; of everything that must not be, `allowed_percent`
/// may.
pub fn limits(scenario: &str, asked: &[Limit], allowed_percent: f64) -> Vec<Limit> {
    let none = NONE_OF.iter().filter(|standing| standing.scenarios.contains(&scenario)).map(|standing| {
        let figure = standing.figure;
        if allowed_percent > 0.0 { format!("{figure}<={allowed_percent}%") } else { format!("{figure}==0") }
    });
    let rate = PACED.contains(&scenario).then(|| format!("rate>={}%", RATE_PERCENT_MIN - allowed_percent));
    let all = none.chain(rate).filter_map(|text| Limit::parse(&text, scenario).ok());
    all.filter(|limit| !asked.iter().any(|asked| asked.is_about_the_same(limit))).collect()
}

/// Holds them against a step. What the step has not (a rate in a closed loop) is no limit of it.
pub fn check(limits: &[Limit], step: &Step) -> Vec<LimitOutcome> {
    let outcomes = limits.iter().map(|limit| limit.check(step));
    outcomes.filter(|outcome| outcome.actual.is_some()).collect()
}

/// Of a step that the generator did not get to the end of: whatever was kept of it, the load was not held.
pub fn unfinished() -> LimitOutcome {
    LimitOutcome {
        limit: "unfinished==0".into(),
        passed: false,
        actual: Some(1.0),
        at_least: false,
        unit: Unit::Count,
    }
}

#[cfg(test)]
mod tests {
    use stats::Counts;

    use super::*;
    use crate::{Rates, Second};

    const S: u64 = 1_000_000_000;

    fn asked(texts: &[&str]) -> Vec<Limit> {
        texts.iter().map(|text| Limit::parse(text, "echo").unwrap()).collect()
    }

    fn texts(scenario: &str, asked: &[Limit], allowed: f64) -> Vec<String> {
        limits(scenario, asked, allowed).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn each_scenario_has_what_it_can_lose() {
        let all = ["unusable==0", "disconnects==0", "missing==0", "wrong==0", "rate>=99%"];
        for scenario in ["echo", "broadcast", "saturate", "http"] {
            assert_eq!(texts(scenario, &[], 0.0), all, "{scenario}");
        }
        assert_eq!(texts("idle", &[], 0.0), ["unusable==0", "disconnects==0"]);
        assert_eq!(texts("storm", &[], 0.0), ["unusable==0", "not_back==0", "missing==0", "wrong==0"]);
    }

    #[test]
    fn what_is_asked_takes_the_place_of_what_stands() {
        let said = texts("echo", &asked(&["missing<5%", "rate>=100/s", "p99<1s"]), 0.0);
        assert_eq!(said, ["unusable==0", "disconnects==0", "wrong==0"]);
        let loosened = texts("echo", &[], 2.5);
        assert_eq!(loosened[2..], ["missing<=2.5%", "wrong<=2.5%", "rate>=96.5%"]);
    }

    /// 200 messages/s for 10 s, each answered after `latency_ms`; `late` of them after the schedule.
    fn open(latency_ms: u64, late: u64) -> Step {
        let rates = Rates { asked_per_s: Some(200.0), ..Rates::default() };
        let counts = Counts { sent: 2_000, expected: 2_000, received: 2_000, late, ..Counts::default() };
        let mut step = Step { clients: 10, duration_ns: 10 * S, rates, counts, ..Step::default() };
        for figure in [&mut step.figures.rtt, &mut step.figures.service] {
            figure.record_n_ns(latency_ms * 1_000_000, 2_000);
        }
        step
    }

    fn broken(step: &Step) -> Vec<String> {
        let outcomes = check(&limits("echo", &[], 0.0), step);
        outcomes.into_iter().filter(|outcome| !outcome.passed).map(|outcome| outcome.limit).collect()
    }

    #[test]
    fn a_constant_latency_keeps_the_rate_however_long_it_is() {
        for (latency_ms, late) in [(1, 1), (200, 40), (5_000, 1_000)] {
            assert_eq!(open(latency_ms, late).kept_percent(), Some(100.0), "{latency_ms} ms");
        }
    }

    #[test]
    fn who_leaves_takes_no_answer_from_the_rate() {
        let mut step = open(500, 120);
        step.counts = Counts { received: 1_800, in_flight: 200, left: 20, ..step.counts };
        assert_eq!(step.kept_percent(), Some(100.0));
        // One of them left as soon as it had asked.
        step.figures.rtt.record_ns(1_000);
        assert_eq!(step.kept_percent(), Some(100.0));
        step.counts.left = 0;
        assert_eq!(step.kept_percent(), Some(90.0), "it was interrupted, and they are due");
    }

    fn seconds(step: &mut Step, p95_ms: impl Fn(u64) -> u64) {
        let second =
            |t: u64| Second { t_ns: t * S, p95_ns: Some(p95_ms(t) * 1_000_000), ..Second::default() };
        step.series = (1..=10).map(second).collect();
    }

    #[test]
    fn a_few_that_take_long_are_no_queue() {
        // One in twenty takes 3 s, the others 1 ms.
        let mut step = open(1, 30);
        seconds(&mut step, |t| if t > 3 { 3_000 } else { 1 });
        assert_eq!(broken(&step), Vec::<String>::new());
    }

    #[test]
    fn a_latency_that_varies_is_no_queue_in_a_short_schedule() {
        // From 0 to 100 ms, for a second: a twentieth is late.
        let mut step = open(0, 10);
        step.duration_ns = S;
        step.counts = Counts { sent: 200, expected: 200, received: 200, late: 10, ..Counts::default() };
        step.figures.rtt.clear();
        (0..200u64).for_each(|k| step.figures.rtt.record_ns(k * 500_000));
        assert_eq!(step.kept_percent(), Some(100.0));
        step.counts.late = 100;
        assert!(step.kept_percent() < Some(60.0), "half of it is");
    }

    #[test]
    fn a_queue_does_not_keep_it() {
        // One at a time, 10 ms each: half the rate, the k-th after 10 + 5k ms, so that half come late.
        let mut step = open(0, 1_000);
        step.figures.rtt.clear();
        (0..2_000u64).for_each(|k| step.figures.rtt.record_ns((10 + 5 * k) * 1_000_000));
        assert_eq!(step.kept_percent(), Some(65.0));
        seconds(&mut step, |t| 500 * t);
        assert_eq!(broken(&step), ["rate>=99%"]);
        // 2% too much is little, and grows all the same.
        let mut step = open(10, 40);
        seconds(&mut step, |t| 20 * t);
        assert_eq!(step.kept_percent(), Some(99.0));
        step.counts.late = 45;
        assert_eq!(broken(&step), ["rate>=99%"]);
    }

    #[test]
    fn what_is_lost_is_said_with_its_figure() {
        let mut step = open(1, 0);
        step.counts = Counts { received: 1_900, missing: 100, disconnects: 3, corrupt: 2, ..step.counts };
        assert_eq!(broken(&step), ["disconnects==0", "missing==0", "wrong==0", "rate>=99%"]);
        let outcome = &check(&limits("echo", &[], 0.0), &step)[2];
        assert_eq!((outcome.actual, outcome.unit), (Some(100.0), Unit::Count));
    }

    #[test]
    fn a_closed_loop_has_no_rate_to_keep() {
        let mut step = open(1, 0);
        step.rates.asked_per_s = None;
        assert_eq!(broken(&step), Vec::<String>::new());
    }

    #[test]
    fn a_hundredth_of_the_rate_may_be_missed() {
        for (asked, sent, kept) in [(700.0, 6_930, true), (700.0, 6_929, false), (1_000.0, 9_900, true)] {
            let mut step = open(1, 0);
            step.rates.asked_per_s = Some(asked);
            step.counts = Counts { sent, expected: sent, received: sent, ..Counts::default() };
            assert_eq!(broken(&step).is_empty(), kept, "{sent} at {asked}/s");
        }
    }
}
