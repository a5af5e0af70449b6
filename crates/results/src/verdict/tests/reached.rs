//! A rule that nothing can trigger is no rule: each decides somewhere.

use super::*;
use crate::FleetAgent;

/// The rule that decides.
fn deciding(step: &Step, previous: Option<&Step>) -> Option<usize> {
    RULES.iter().position(|rule| rule.evidence(step, previous).is_some())
}

fn nothing_sent(step: &mut Step) {
    step.usable = Some(1_000);
    step.counts = Counts { connects: 1_000, connected: 1_000, ..Counts::default() };
}

/// Misses a message, which can be the one that the app's file did not recognise.
fn unmatched(step: &mut Step) {
    (step.counts.received, step.counts.missing) = (9_999, 1);
    step.errors.add("unmatched", 0, "copy");
}

/// Steps of which each is decided by another rule.
fn examples() -> Vec<Step> {
    let compiler = || vec![ProgramUse { name: "rustc".into(), cpu_percent: 190.0 }];
    let machine = |step: &mut Step, change: fn(&mut MachineUse)| change(step.machine.as_mut().unwrap());
    let closed = |step: &mut Step| {
        answered(step, 10 * MS);
        (step.rates.asked_per_s, step.rates.achieved_per_s) = (None, Some(5_000.0));
        server(step).cpu_percent_mean = Some(50.0);
        step.figures.tcp.record_ns(9 * MS);
    };
    vec![
        with(|step| server(step).ended_ns = Some(3_000 * MS)),
        with(unmatched),
        with(|step| {
            step.errors.add("address_not_available", 0, "no local port is free");
            step.errors.set_local("address_not_available");
        }),
        with(|step| step.counts.connected = 0),
        with(|step| server(step).throttled_percent = Some(80.0)),
        with(|step| {
            (step.counts.received, step.counts.missing) = (9_999, 1);
            held_to(step);
        }),
        with(|step| step.fleet = vec![FleetAgent { lost: Some("".into()), ..FleetAgent::default() }]),
        with(nothing_sent),
        with(|step| {
            machine(step, |machine| (machine.idle_percent_mean, machine.same_host) = (Some(1.0), Some(true)));
        }),
        with(|step| server(step).thread_use = vec![starved()]),
        with(|step| generator(step).worker_cpu_percent_max = Some(93.0)),
        with(|step| {
            answered(step, 500 * MS);
            step.counts.waited = 5_000;
            step.rates.achieved_per_s = Some(32.0);
        }),
        with(|step| {
            late(step, 15 * MS);
            generator(step).worker_cpu_percent_max = Some(5.0);
            generator(step).worker_waiting_percent_max = Some(5.0);
            step.machine.as_mut().unwrap().others = compiler();
        }),
        with(|step| late(step, 15 * MS)),
        with(|step| machine(step, |machine| machine.network_percent = Some(97.0))),
        with(|step| step.rates.sent_per_s = Some(400.0)),
        with(|step| {
            crowd(step);
            step.counts.late = 5_000;
        }),
        with(|step| {
            spent(step, 50 * MS, 50 * MS);
            (step.counts.late, step.rates.achieved_per_s) = (5_000, Some(250.0));
            held_to(step);
        }),
        with(|step| {
            server(step).cpu_percent_mean = Some(1.0);
            (step.rates.achieved_per_s, step.counts.late) = (Some(250.0), 5_000);
        }),
        with(|step| {
            closed(step);
            machine(step, |machine| machine.same_host = Some(true));
        }),
        with(|step| {
            step.figures.recovery.record_n_ns(MS, 1_000);
            machine(step, |machine| machine.listen_overflows = Some(500));
        }),
        with(|step| {
            closed(step);
            machine(step, |machine| machine.same_host = Some(false));
        }),
        with(super::lag::listening),
        with(|step| stalls(step, &[(4, 1_000)])),
    ]
}

#[test]
fn each_rule_decides_somewhere() {
    let steps = examples();
    let reached: Vec<usize> = steps.iter().filter_map(|step| deciding(step, None)).collect();
    let unreached: Vec<usize> = (0..RULES.len()).filter(|at| !reached.contains(at)).collect();
    assert!(unreached.is_empty(), "rules {unreached:?} decide no example; give each one, or drop it");
    assert_eq!(deciding(&quiet(), None), None);
}

#[test]
fn ended_servers_decide_before_local_errors() {
    let unmatched = with(|step| {
        step.errors.add("unmatched", 0, "copy");
        (step.counts.expected, step.counts.missing) = (60_000, 50_000);
    });
    assert_eq!(bottleneck(&unmatched, None).bottleneck, Bottleneck::Server, "one is not 50,000");
    let out_of_ports = with(|step| {
        step.errors.add("address_not_available", 0, "");
        step.errors.set_local("address_not_available");
        step.counts.disconnects = 300;
        server(step).ended_ns = Some(3_000 * MS);
        generator(step).worker_cpu_percent_max = Some(95.0);
    });
    assert_eq!(bottleneck(&out_of_ports, None).cause.terse(), "server.ended after_ms=3000.0");
}
