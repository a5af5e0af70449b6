//! Each rule by what triggers it, and by what does not.

use stats::{Account, Counts, Reach};

use super::*;
use crate::Bottleneck;
use crate::finding::quantity::Quantile;
use crate::finding::{Caveat, Finding, Place, RunCaveat};
use crate::scenario::Scenario;
use crate::standing;
use crate::{
    GeneratorUse, LimitOutcome, LimitStatus, MachineUse, ProgramUse, Rates, ServerUse, ThreadUse, TimeSpent,
};

mod conclude;
mod failed;
mod generator;
mod lag;
mod machine;
mod reached;
mod server;
mod undecided;

use lag::late;
use server::stalls;

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
    let found = bottleneck(&with(change), None);
    (found.bottleneck, found.cause.terse())
}

/// The caveats of the step, a line each.
fn terse_caveats(step: &Step, quantile: f64) -> Vec<String> {
    caveats(step, quantile).iter().map(Finding::terse).collect()
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

/// All 10,000 answers were due and sent so far apart, and sent and handled.
fn spent(step: &mut Step, unsent_ns: u64, service_ns: u64) {
    answered(step, unsent_ns + service_ns);
    let mut account = Account::default();
    account.add(unsent_ns + service_ns, service_ns, 10_000, Reach::default());
    step.spent = TimeSpent::of(&account, &step.figures.rtt, None);
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
        (Bottleneck::None, "none.saturated cores=2.0 server_percent=40.0 worker_percent=30.0")
    );
}

#[test]
fn a_proxy_is_not_the_server_behind_it() {
    let named = |name: &str| {
        let step = with(|step| (server(step).name, server(step).pid) = (Some(name.into()), Some(12)));
        caveats(&step, 0.95)
    };
    assert_eq!(named("haproxy"), [Caveat::Proxy { name: "haproxy".into(), pid: "12".into() }]);
    assert_eq!(named("node"), []);
}

#[test]
fn instantaneous_loads_have_no_bottleneck() {
    let (who, why) = judged(|step| {
        step.duration_ns = 22 * MS;
        step.forget_cpu();
    });
    assert_eq!(who, Bottleneck::Unknown);
    assert_eq!(why, "unknown.brief duration_ms=22.0");
    let (who, _) = judged(|step| {
        step.duration_ns = 22 * MS;
        step.forget_cpu();
        (step.counts.received, step.counts.missing) = (9_000, 1_000);
    });
    assert_eq!(who, Bottleneck::Server, "what was lost is no question of CPU");
}

#[test]
fn unseen_servers_have_no_bottleneck() {
    let (who, why) = judged(|step| step.server = None);
    assert_eq!(who, Bottleneck::Unknown);
    assert_eq!(why, "unknown.server_unseen worker_percent=30.0");
}

#[test]
fn caveats_say_only_what_may_be_false() {
    assert_eq!(caveats(&quiet(), 0.95), Vec::<Caveat>::new());
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
    doubtful.bottleneck = Some(Cause::GeneratorCpu { cpu: Percent(93.0) }.into());
    assert_eq!(
        terse_caveats(&doubtful, 0.999),
        [
            "caveat.interrupted",
            "caveat.limited_by_generator",
            "caveat.generator_behind by_ms=1000.0",
            "caveat.samples needed=10000 quantile=0.999 samples=100",
            "caveat.miscounted error=\"10001 deliveries were due, but 10000 are accounted for\"",
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
    let samples = Caveat::Samples { quantile: Quantile(0.95), samples: 1, needed: 200 };
    let said = caveats(&step, 0.95);
    assert_eq!(said, std::slice::from_ref(&samples));
    let verdict = conclude(Scenario::Echo, &[Step { caveats: said, ..step }, quiet()]);
    let place = Place::Some { steps: 1, clients: (1, 1) };
    assert_eq!(verdict.caveats, [RunCaveat { low: samples.clone(), high: samples, place }]);
}
