//! Broken standing limits: each is somebody's.

use stats::Histogram;

use super::*;
use crate::Second;
use crate::limit::{Counted, Figure, Limit, Requirement};

/// The step with one standing limit broken, by ten of what it counts.
fn breaking(figure: Figure) -> Step {
    with(|step| {
        match figure {
            Figure::Counted(Counted::Unusable) => {
                (step.usable, step.counts.connect_failures) = (Some(990), 10);
            }
            Figure::Counted(Counted::Count(count)) => {
                *step.counts.get_mut(count) = 10;
                step.counts.connect_timeouts = if count == stats::Count::NotBack { 10 } else { 0 };
            }
            Figure::Counted(_) => step.counts.corrupt = 10,
            _ => (step.counts.late, step.rates.achieved_per_s) = (5_000, Some(250.0)),
        }
        step.standing = vec![LimitOutcome::unmeasured(Requirement::Limit(Limit::at_most(figure, 0.0)))];
    })
}

#[test]
fn each_standing_limit_has_an_owner() {
    for figure in standing::FIGURES {
        let found = bottleneck(&breaking(figure), None);
        assert_eq!(found.bottleneck, Bottleneck::Server, "{figure:?}: {}", found.cause.terse());
    }
    let mut step = breaking(Figure::Counted(Counted::Count(stats::Count::JoinFailures)));
    step.counts.visits = 90;
    let cause = bottleneck(&step, None).cause.terse();
    assert_eq!(cause, "server.faulty faulty=10 of=100 what=\"not let in\"");
    generator(&mut step).worker_cpu_percent_max = Some(95.0);
    assert_eq!(bottleneck(&step, None).bottleneck, Bottleneck::Generator, "it may not have answered");
}

#[test]
fn damaged_messages_are_wrong_before_missing() {
    let damaged = |missing| {
        let why = judged(|step| {
            (step.counts.corrupt, step.counts.missing) = (12, missing);
            step.standing = ["missing==0", "wrong==0"].map(LimitOutcome::of_text).to_vec();
        });
        why.1.split(' ').next().map(str::to_owned)
    };
    assert_eq!(damaged(12).as_deref(), Some("server.wrong"), "each came, damaged");
    assert_eq!(damaged(100).as_deref(), Some("server.left_out"), "most did not come");
}

#[test]
fn hasty_waits_prove_no_loss() {
    let key = |wait_ns: u64, took_ns: u64| {
        let why = judged(|step| {
            step.figures.delivery = Histogram::new();
            step.figures.delivery.record_n_ns(took_ns, 5_000);
            step.counts.missing = 12;
            let t_ns = step.start_ns + step.duration_ns + wait_ns;
            step.series = vec![Second { t_ns, ..Second::default() }];
            step.standing = vec![LimitOutcome::of_text("missing==0")];
        });
        why.1.split(' ').next().map(str::to_owned)
    };
    assert_eq!(key(100 * MS, 500 * MS).as_deref(), Some("server.undelivered"));
    assert_eq!(key(2_000 * MS, 500 * MS).as_deref(), Some("server.left_out"));
}

#[test]
fn broken_answers_were_not_left_out() {
    let why = judged(|step| {
        (step.counts.missing, step.counts.broken_off) = (12, 12);
        step.standing = vec![LimitOutcome::of_text("missing==0")];
    });
    assert!(why.1.starts_with("server.faulty faulty=12 "), "{}", why.1);
}

#[test]
fn clients_kept_waiting_outweigh_a_refusal() {
    let judged = |refused: u64, waited: u64, lag_ns: u64| {
        judged(|step| {
            step.usable = Some(1_000 - refused - waited);
            (step.counts.connect_failures, step.counts.connect_timeouts) = (refused, waited);
            step.machine.as_mut().unwrap().listen_overflows = Some(99);
            generator(step).loop_lag.record_ns(lag_ns);
            held_to(step);
        })
    };
    let why = "server.kept_waiting of=1000 overflows=99 waited=99 what=\"clients\"";
    assert_eq!(judged(1, 99, MS), (Bottleneck::Server, why.to_owned()));
    assert_ne!(judged(1, 99, 900 * MS).0, Bottleneck::Server, "the generator may have given them up early");
    let why = "server.turned_away of=1000 refused=400 what=\"clients\"";
    assert_eq!(judged(400, 401, 900 * MS), (Bottleneck::Server, why.to_owned()));
}

#[test]
fn cut_ways_explain_clients_kept_waiting() {
    let (who, _) = judged(|step| {
        (step.usable, step.counts.connect_failures, step.counts.connect_timeouts) = (Some(900), 1, 99);
        step.counts.disconnects = 500;
        for at_ns in 0..501 {
            step.errors.add("timed_out", at_ns, "");
        }
        held_to(step);
    });
    assert_eq!(who, Bottleneck::Network);
}

/// A storm of 300 clients, 100 of which were not back.
fn storm(step: &mut Step) {
    step.figures.recovery.record_n_ns(9_000 * MS, 300);
    (step.counts.disconnects, step.counts.not_back) = (300, 100);
    step.standing = vec![LimitOutcome::of_text("not_back==0")];
}

#[test]
fn storms_that_end_the_server_are_its() {
    let judged = |change: fn(&mut Step)| {
        judged(|step| {
            storm(step);
            change(step);
        })
    };
    let (_, why) = judged(|step| (server(step).ended_ns, step.counts.not_back) = (Some(3_000 * MS), 300));
    assert_eq!(why, "server.ended after_ms=3000.0");
    let restarted = judged(|step| (server(step).ended_ns, step.counts.not_back) = (Some(3_000 * MS), 0));
    assert_eq!(restarted.0, Bottleneck::None, "the storm ended it, and all were back");
    let (_, why) = judged(|step| {
        server(step).ended_ns = Some(3_000 * MS);
        step.counts.connect_timeouts = 100;
    });
    assert_eq!(why, "server.kept_waiting of=1000 waited=100 what=\"clients\"", "most were back");
    let (_, why) = judged(|step| {
        server(step).ended_ns = Some(3_000 * MS);
        (step.counts.disconnects, step.counts.connect_timeouts) = (200, 100);
    });
    assert_eq!(why, "server.ended after_ms=3000.0", "throng dropped 100, and ended no process");
    let (_, why) = judged(|step| step.counts.connect_failures = 200);
    assert_eq!(why, "server.turned_away of=1000 refused=200 what=\"clients\"");
    let (_, why) = judged(|step| step.counts.connect_timeouts = 100);
    assert_eq!(why, "server.kept_waiting of=1000 waited=100 what=\"clients\"");
    assert_ne!(judged(|_| {}).0, Bottleneck::Server, "they waited for their protocol's time");
    let late = judged(|step| {
        step.counts.connect_timeouts = 100;
        generator(step).loop_lag.record_ns(900 * MS);
    });
    assert_ne!(late.0, Bottleneck::Server, "the generator may have given them up early");
}
