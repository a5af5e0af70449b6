//! The limits that hold without being asked for (METHODOLOGY "Standing limits").
//!
//! A server *holds* a load when everything was delivered, every answer was right, no client was lost and the
//! rate was kept. A limit of the user's on the same figure takes the place of a standing one, and
//! `--allow-loss` loosens them all.

use stats::Count;

use crate::limit::{Counted, Figure, Limit, LimitOutcome, Requirement};
use crate::rates::{KEPT_PERCENT_MIN, Rate};
use crate::scenario::Scenario;
use crate::step::Step;

/// The figures of the standing limits, in the order in which they are said: clients that were not there,
/// clients lost, visitors that were not let in, what was lost or had no answer, what was wrong, and how much
/// was too much.
pub(crate) const FIGURES: [Figure; 14] = [
    Figure::Counted(Counted::Unusable),
    Figure::Counted(Counted::Count(Count::Disconnects)),
    Figure::Counted(Counted::Count(Count::JoinFailures)),
    Figure::Counted(Counted::Count(Count::NotBack)),
    Figure::Counted(Counted::Count(Count::Missing)),
    Figure::Counted(Counted::Count(Count::Unacknowledged)),
    Figure::Counted(Counted::Count(Count::Unseen)),
    Figure::Counted(Counted::Count(Count::PushSkipped)),
    Figure::Counted(Counted::Count(Count::PushDiffering)),
    Figure::Counted(Counted::Count(Count::Unmarked)),
    Figure::Counted(Counted::Count(Count::AfterEnd)),
    Figure::Counted(Counted::Count(Count::Misordered)),
    Figure::Counted(Counted::Wrong),
    RATE,
];
/// The one that must be kept; of the others there may be none.
pub(crate) const RATE: Figure = Figure::Rate(Rate::Achieved);

/// Returns whether a figure that the scenario has must be as good as it can be.
fn stands(figure: Figure, scenario: Scenario) -> bool {
    let facts = scenario.facts();
    match figure {
        RATE => facts.has_rate,
        // A client that is thrown out in a storm has to come back.
        Figure::Counted(Counted::Count(Count::Disconnects)) => !facts.comes_back,
        _ => true,
    }
}

/// The standing limits of a scenario beside those that were asked for; of everything that must not be,
/// `allowed_percent` may.
pub fn limits(scenario: Scenario, asked: &[Limit], allowed_percent: f64) -> Vec<Limit> {
    let figures = FIGURES.into_iter().filter(|figure| figure.is_of(scenario) && stands(*figure, scenario));
    let all = figures.map(|figure| match figure {
        RATE => Limit::at_least(RATE, KEPT_PERCENT_MIN - allowed_percent),
        figure => Limit::at_most(figure, allowed_percent),
    });
    all.filter(|limit| !asked.iter().any(|asked| asked.is_about_the_same(limit))).collect()
}

/// Holds them against a step, and the limit that there was a load. What the step has not (a rate in a closed
/// loop) is no limit of it.
pub fn check(limits: &[Limit], step: &Step) -> Vec<LimitOutcome> {
    let outcomes = limits.iter().filter_map(|limit| limit.check_decided(step));
    outcomes.filter(|outcome| outcome.actual.is_some()).chain(load(step)).collect()
}

/// A group of standing limits that a reader takes for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// Clients are there, and stay.
    Connected,
    /// All that was due came, right and once.
    Delivered,
    /// All that the server says by itself came.
    Pushed,
    /// Events of streamed answers came in order, and ended with their mark.
    Streamed,
    /// The rate was kept.
    Rate,
}

impl Check {
    fn of(figure: Figure) -> Option<Check> {
        use Count::{AfterEnd, Misordered, Missing, Unacknowledged, Unmarked, Unseen};
        use Count::{Disconnects, JoinFailures, NotBack, PushDiffering, PushSkipped};
        Some(match figure {
            Figure::Counted(Counted::Unusable | Counted::Count(Disconnects | JoinFailures | NotBack)) => {
                Check::Connected
            }
            Figure::Counted(Counted::Wrong | Counted::Count(Missing | Unacknowledged | Unseen)) => {
                Check::Delivered
            }
            Figure::Counted(Counted::Count(Unmarked | AfterEnd | Misordered)) => Check::Streamed,
            Figure::Counted(Counted::Count(PushSkipped | PushDiffering)) => Check::Pushed,
            RATE => Check::Rate,
            _ => return None,
        })
    }
}

/// Returns whether a step kept the limits of a group: the standing ones, and those that took their place.
pub fn passes(step: &Step, check: Check) -> bool {
    let broken = step.limits.iter().chain(&step.standing).filter(|limit| !limit.passed());
    broken.filter_map(|limit| limit.of.figure()).filter_map(Check::of).all(|broken| broken != check)
}

/// The limit on the rate that a step broke, asked for or standing.
pub fn broken_rate(step: &Step) -> Option<&LimitOutcome> {
    let mut broken = step.limits.iter().chain(&step.standing).filter(|limit| !limit.passed());
    broken.find(|limit| limit.is_of_rate())
}

/// The limit broken by a step that the generator did not finish: whatever was kept of it, the load was not held.
pub fn unfinished() -> LimitOutcome {
    LimitOutcome { actual: Some(1.0), ..LimitOutcome::unmeasured(Requirement::Finished) }
}

/// The limit broken by a storm whose clients had left before it struck: nobody was cut off, and nobody came
/// back. `None`: it took place, or the server was to bring it about and did not.
pub fn storm(step: &Step) -> Option<LimitOutcome> {
    let was_none = step.figures.recovery.is_empty() && step.counts.disconnects > 0;
    (was_none && !step.was_interrupted()).then(|| none_of(Requirement::Storm))
}

/// The limit broken by a step in which clients were ready, and nothing was sent: the server kept all others
/// for want of a load. `None`: there was a load, or none was asked for.
fn load(step: &Step) -> Option<LimitOutcome> {
    step.sent_nothing().then(|| none_of(Requirement::Load))
}

fn none_of(of: Requirement) -> LimitOutcome {
    LimitOutcome { actual: Some(0.0), ..LimitOutcome::unmeasured(of) }
}

#[cfg(test)]
mod tests {
    use stats::Counts;

    use super::*;
    use crate::{Rates, Second, Unit};

    const S: u64 = 1_000_000_000;

    fn asked(texts: &[&str]) -> Vec<Limit> {
        texts.iter().map(|text| Limit::parse(text, Scenario::Echo).unwrap()).collect()
    }

    fn texts(scenario: Scenario, asked: &[Limit], allowed: f64) -> Vec<String> {
        limits(scenario, asked, allowed).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn each_scenario_has_what_it_can_lose() {
        let all = [
            "unusable==0",
            "disconnects==0",
            "missing==0",
            "push_skipped==0",
            "push_differing==0",
            "wrong==0",
            "rate>=99%",
        ];
        assert_eq!(texts(Scenario::Echo, &[], 0.0), all);
        assert_eq!(
            texts(Scenario::Http, &[], 0.0),
            all.into_iter().filter(|text| !text.starts_with("push_")).collect::<Vec<_>>()
        );
        let with_rooms = [
            "unusable==0",
            "disconnects==0",
            "join_failures==0",
            "missing==0",
            "unacknowledged==0",
            "unseen==0",
            "push_skipped==0",
            "push_differing==0",
            "wrong==0",
            "rate>=99%",
        ];
        for scenario in [Scenario::Broadcast, Scenario::Saturate] {
            assert_eq!(texts(scenario, &[], 0.0), with_rooms, "{scenario}");
        }
        assert_eq!(
            texts(Scenario::Idle, &[], 0.0),
            ["unusable==0", "disconnects==0", "push_skipped==0", "push_differing==0"]
        );
        assert_eq!(
            texts(Scenario::Storm, &[], 0.0),
            ["unusable==0", "not_back==0", "missing==0", "push_skipped==0", "push_differing==0", "wrong==0"]
        );
    }

    #[test]
    fn asked_limits_replace_standing_ones() {
        let said = texts(Scenario::Echo, &asked(&["missing<5%", "rate>=100/s", "p99<1s"]), 0.0);
        assert_eq!(
            said,
            ["unusable==0", "disconnects==0", "push_skipped==0", "push_differing==0", "wrong==0"]
        );
        assert_eq!(texts(Scenario::Echo, &[], 64.1).last().unwrap(), "rate>=34.9%");
        let loosened = texts(Scenario::Echo, &[], 2.5);
        assert_eq!(
            loosened[2..],
            ["missing<=2.5%", "push_skipped<=2.5%", "push_differing<=2.5%", "wrong<=2.5%", "rate>=96.5%"]
        );
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
        let outcomes = check(&limits(Scenario::Echo, &[], 0.0), step);
        outcomes
            .into_iter()
            .filter(|outcome| !outcome.passed())
            .map(|outcome| outcome.of.to_string())
            .collect()
    }

    #[test]
    fn constant_latencies_keep_the_rate() {
        for (latency_ms, late) in [(1, 1), (200, 40), (5_000, 1_000)] {
            assert_eq!(open(latency_ms, late).kept_percent(), Some(100.0), "{latency_ms} ms");
        }
    }

    #[test]
    fn unsent_messages_are_not_the_servers() {
        let mut step = open(1, 0);
        step.counts =
            Counts { sent: 500, expected: 500, received: 500, nobody_to_send: 1_500, ..step.counts };
        assert_eq!(step.kept_percent(), Some(100.0));
        step.counts.nobody_to_send = 1_250;
        assert!(step.kept_percent() < Some(70.0), "of 750 messages, 500 were sent");
        step.counts = Counts { nobody_to_send: 2_000, ..Counts::default() };
        assert_eq!((step.kept_percent(), broken(&step)), (None, Vec::new()), "nothing was asked");
    }

    #[test]
    fn messages_due_to_nobody_keep_the_rate() {
        let mut step = open(1, 0);
        step.counts = Counts { sent: 2_000, ..Counts::default() };
        assert_eq!(step.kept_percent(), Some(100.0));
        step.counts.sent = 1_000;
        assert_eq!(step.kept_percent(), Some(50.0));
        step.counts.sent = 0;
        assert_eq!(step.kept_percent(), Some(0.0));
    }

    #[test]
    fn departures_take_no_answer_from_the_rate() {
        let mut step = open(500, 120);
        step.counts = Counts { received: 1_800, in_flight: 200, left: 20, ..step.counts };
        assert_eq!(step.kept_percent(), Some(100.0));
        // One of them left as soon as it had asked.
        step.figures.rtt.record_ns(1_000);
        assert_eq!(step.kept_percent(), Some(100.0));
        step.counts.left = 0;
        assert_eq!(step.kept_percent(), Some(90.0), "it was interrupted, and they are due");
    }

    #[test]
    fn one_message_under_way_is_no_queue() {
        let short = |expected: u64, late: u64| {
            let mut step = open(0, late);
            step.duration_ns = 3 * S / 10;
            step.rates.asked_per_s = Some(100.0);
            step.counts = Counts { sent: 30, expected, received: expected, late, ..Counts::default() };
            step.kept_percent()
        };
        assert_eq!(short(30, 1), Some(100.0));
        assert_eq!(short(30 * 40, 40), Some(100.0), "all copies of one");
        assert!(short(30, 2) < Some(99.0) && short(30 * 40, 80) < Some(99.0));
        // 1% of 130 is more than one.
        let mut step = open(0, 2);
        step.counts = Counts { sent: 130, expected: 130, received: 130, ..step.counts };
        step.rates.asked_per_s = Some(13.0);
        assert_eq!(step.kept_percent(), Some(100.0));
        step.counts = Counts { received: 120, in_flight: 10, left: 1, ..step.counts };
        assert_eq!(step.kept_percent(), Some(100.0), "who left takes nothing of it");
    }

    /// Ten rows of 200 messages, with so many answers in each.
    fn answered_by_row(step: &mut Step, received: impl Fn(u64) -> u64) {
        let second = |t: u64| Second { t_ns: t * S, sent: 200, received: received(t), ..Second::default() };
        step.series = (1..=10).map(second).collect();
    }

    #[test]
    fn a_few_that_take_long_are_no_queue() {
        // A fifth of the clients is 3 s away, the others 1 ms.
        let mut step = open(1, 120);
        answered_by_row(&mut step, |t| if t > 3 { 200 } else { 160 });
        assert_eq!((step.kept_percent(), broken(&step)), (Some(100.0), Vec::new()));
    }

    #[test]
    fn servers_that_catch_up_keep_the_rate() {
        let mut step = open(1, 1);
        answered_by_row(&mut step, |t| [200, 200, 0, 400][t as usize % 4]);
        assert_eq!(step.kept_percent(), Some(100.0));
    }

    #[test]
    fn varying_latencies_are_no_queue() {
        // From 0 to 100 ms, for a second: a twentieth is late.
        let mut step = open(0, 10);
        step.duration_ns = S;
        step.counts = Counts { sent: 200, expected: 200, received: 200, late: 10, ..Counts::default() };
        step.figures.rtt.clear();
        for k in 0..200u64 {
            step.figures.rtt.record_ns(k * 500_000);
        }
        assert_eq!(step.kept_percent(), Some(100.0));
        step.counts.late = 100;
        assert!(step.kept_percent() < Some(60.0), "half of it is");
    }

    #[test]
    fn a_queue_keeps_what_the_server_does() {
        // 100/s of 200/s: half of the answers come late, and half of the rate is kept.
        let mut step = open(0, 1_000);
        answered_by_row(&mut step, |_| 100);
        assert_eq!((step.kept_percent(), broken(&step)), (Some(50.0), vec!["rate>=99%".to_owned()]));
        // 100/s of 800/s, in a walk that asks for more than the server does.
        let mut step = open(0, 7_000);
        (step.rates.asked_per_s, step.counts.sent) = (Some(800.0), 8_000);
        (step.counts.expected, step.counts.received) = (8_000, 8_000);
        step.series =
            (1..=10).map(|t| Second { t_ns: t * S, sent: 800, received: 100, ..Second::default() }).collect();
        assert_eq!(step.kept_percent(), Some(12.5));
        // 2% too much is little, and grows all the same.
        let mut step = open(10, 40);
        answered_by_row(&mut step, |t| 196 + t % 2);
        assert_eq!(step.kept_percent(), Some(98.25));
        assert_eq!(broken(&step), ["rate>=99%"]);
    }

    #[test]
    fn connections_used_up_at_first_keep_no_rate() {
        // A pool of 100 before a queue of 100/s: what it has left at the start is sent, and never again.
        let mut step = open(500, 100);
        answered_by_row(&mut step, |t| if t == 1 { 99 } else { 100 });
        for row in &mut step.series {
            row.sent = if row.t_ns == S { 199 } else { 100 };
        }
        let kept = step.kept_percent().unwrap();
        assert!((49.9..=50.2).contains(&kept), "{kept}");
    }

    #[test]
    fn late_answers_show_short_queues() {
        let mut step = open(0, 1_000);
        step.figures.rtt.clear();
        for k in 0..2_000u64 {
            step.figures.rtt.record_ns((10 + 5 * k) * 1_000_000);
        }
        assert_eq!(step.kept_percent(), Some(50.0));
        // 500/s of 1,000/s for 4 s: the last row ends after the schedule.
        (step.duration_ns, step.rates.asked_per_s) = (4 * S, Some(1_000.0));
        step.counts =
            Counts { sent: 4_000, expected: 4_000, received: 4_000, late: 2_001, ..Counts::default() };
        let second = |t: u64, received| Second { t_ns: t * S, sent: 1_000, received, ..Second::default() };
        step.series = vec![second(1, 499), second(2, 500), second(3, 500)];
        assert_eq!(step.kept_percent(), Some(50.0));
        // Half of it waits for a connection, and is sent when there is one.
        for row in &mut step.series {
            row.sent = 500;
        }
        assert!(step.kept_percent() < Some(51.0), "{:?}", step.kept_percent());
        // A constant latency of 0.9 s, of which the first row knows.
        (step.counts.late, step.series) = (900, vec![second(1, 100), second(2, 1_000), second(3, 1_000)]);
        assert_eq!(step.kept_percent(), Some(100.0));
    }

    #[test]
    fn losses_are_said_with_their_figure() {
        let mut step = open(1, 0);
        step.counts = Counts { received: 1_900, missing: 100, disconnects: 3, corrupt: 2, ..step.counts };
        assert_eq!(broken(&step), ["disconnects==0", "missing==0", "wrong==0", "rate>=99%"]);
        let outcome = &check(&limits(Scenario::Echo, &[], 0.0), &step)[2];
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
        for (asked, sent, kept) in [
            (700.0, 6_930, true),
            (700.0, 6_929, false),
            (1_000.0, 9_900, true),
            (5.0, 49, true),
            (5.0, 48, false),
            (13.0, 128, true),
            (13.0, 127, false),
        ] {
            let mut step = open(1, 0);
            step.rates.asked_per_s = Some(asked);
            step.counts = Counts { sent, expected: sent, received: sent, ..Counts::default() };
            assert_eq!(broken(&step).is_empty(), kept, "{sent} at {asked}/s");
        }
    }
}
