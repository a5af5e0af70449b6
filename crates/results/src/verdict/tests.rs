//! Each rule by what triggers it, and by what does not.

use stats::Counts;

use super::*;
use crate::scenario::Scenario;
use crate::standing;
use crate::{GeneratorUse, LimitOutcome, MachineUse, ProgramUse, Rates, ServerUse, ThreadUse, Unit};

mod conclude;
mod generator;
mod lag;
mod machine;
mod reached;
mod server;

use lag::late;

const MS: u64 = 1_000_000;

/// A step of 1,000 clients at 500/s with an rtt of 20 ms, server and generator half idle on two hosts.
fn quiet() -> Step {
    let mut step = Step { clients: 1_000, ..Step::default() };
    answered(&mut step, 20 * MS);
    step.figures.send_lag.record_n_ns(50_000, 10_000);
    step.counts = Counts {
        sent: 10_000,
        expected: 10_000,
        received: 10_000,
        connects: 1_000,
        connected: 1_000,
        ..Counts::default()
    };
    step.duration_ns = 20_000 * MS;
    step.rates.asked_per_s = Some(500.0);
    step.rates.sent_per_s = Some(500.0);
    step.rates.achieved_per_s = Some(499.0);
    step.server = Some(ServerUse { cpu_percent_mean: Some(80.0), cores: Some(2.0), ..ServerUse::default() });
    let mut generator = GeneratorUse { worker_cpu_percent_max: Some(30.0), ..GeneratorUse::default() };
    generator.loop_lag.record_n_ns(MS / 10, 1_000);
    step.generator = Some(generator);
    step.machine =
        Some(MachineUse { cores: Some(4), idle_percent_mean: Some(80.0), ..MachineUse::default() });
    step
}

/// All 10,000 answers took this long.
fn answered(step: &mut Step, ns: u64) {
    for figure in [&mut step.figures.rtt, &mut step.figures.service] {
        figure.clear();
        figure.record_n_ns(ns, 10_000);
    }
}

fn with(change: impl FnOnce(&mut Step)) -> Step {
    let mut step = quiet();
    change(&mut step);
    step
}

fn judged(change: impl FnOnce(&mut Step)) -> (Bottleneck, String) {
    let finding = bottleneck(&with(change), None);
    (finding.bottleneck, finding.reason)
}

fn server(step: &mut Step) -> &mut ServerUse {
    step.server.as_mut().unwrap()
}

fn generator(step: &mut Step) -> &mut GeneratorUse {
    step.generator.as_mut().unwrap()
}

/// The step with the standing limits of an echo.
fn held_to(step: &mut Step) {
    step.standing = standing::check(&standing::limits(Scenario::Echo, &[], 0.0), step);
}

/// A thread that shares its CPU with two others that are as busy.
fn starved() -> ThreadUse {
    ThreadUse {
        name: "node".into(),
        user_percent: 34.0,
        waiting_percent: 65.0,
        asleep_percent: 1.0,
        ..ThreadUse::default()
    }
}

/// A machine that others fill: server and generator have 5% of it.
fn crowd(step: &mut Step) {
    server(step).cpu_percent_mean = Some(10.0);
    generator(step).cpu_percent_mean = Some(10.0);
    step.machine = Some(MachineUse {
        cores: Some(4),
        idle_percent_mean: Some(1.0),
        same_host: Some(true),
        ..MachineUse::default()
    });
}

#[test]
fn room_to_spare_is_nobodys_bottleneck() {
    let (who, why) = judged(|_| {});
    assert_eq!(
        (who, &*why),
        (
            Bottleneck::None,
            "nothing reached its limit: server CPU 40% of 2 cores, busiest worker 30% of a core"
        )
    );
}

#[test]
fn of_a_load_of_an_instant_nothing_is_known() {
    let (who, why) = judged(|step| {
        step.duration_ns = 22 * MS;
        step.forget_cpu();
    });
    assert_eq!(who, Bottleneck::Unknown);
    assert_eq!(
        why,
        "the load took 22.0ms, too short to see who was at a limit: send more (--sample-size), or for a time \
         (--duration)"
    );
    let (who, _) = judged(|step| {
        step.duration_ns = 22 * MS;
        step.forget_cpu();
        (step.counts.received, step.counts.missing) = (9_000, 1_000);
    });
    assert_eq!(who, Bottleneck::Server, "what was lost is no question of CPU");
}

#[test]
fn of_a_server_that_cannot_be_seen_nothing_is_known() {
    let (who, why) = judged(|step| step.server = None);
    assert_eq!(who, Bottleneck::Unknown);
    assert_eq!(
        why,
        "the server cannot be seen from here, and nothing here reached its limit: busiest worker 30% of a core"
    );
}

#[test]
fn marks_say_what_may_be_false_and_nothing_else() {
    assert_eq!(marks(&quiet(), 0.95), Vec::<String>::new());
    let mut doubtful = with(|step| {
        for figure in [&mut step.figures.rtt, &mut step.figures.service] {
            figure.clear();
            figure.record_n_ns(2_000 * MS, 100);
        }
        step.figures.send_lag.record_ns(1_000 * MS);
        (step.counts.connected, step.counts.connect_timeouts, step.counts.disconnects) = (990, 10, 3);
        step.counts.expected = 10_001;
        step.interrupted = Some(crate::Interrupted::Loading);
    });
    doubtful.bottleneck =
        Some(Finding { bottleneck: Bottleneck::Generator, reason: "a worker's CPU was at 93%".into() });
    assert_eq!(
        marks(&doubtful, 0.999),
        [
            "interrupted: the figures are of what ran",
            "limited by the generator: the server may hold more than this",
            "the generator fell behind its schedule by up to 1.00s",
            "p99.9 rests on 100 samples; 10000 are needed",
            "the generator lost count: 10001 deliveries were due, but 10000 are accounted for",
        ]
    );
}

#[test]
fn one_of_anything_is_said_as_one() {
    let mut step = quiet();
    step.clients = 1;
    for figure in [&mut step.figures.rtt, &mut step.figures.service] {
        figure.clear();
        figure.record_ns(20 * MS);
    }
    let said = marks(&step, 0.95);
    assert_eq!(said, ["p95 rests on 1 sample; 200 are needed"]);
    let verdict = conclude(&[Step { marks: said, ..step }, quiet()]);
    assert_eq!(verdict.trust[0].0, "p95 rests on 1 sample; 200 are needed (at 1 client)");
}
