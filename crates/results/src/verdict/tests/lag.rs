//! Lag: whose it is, and when it decides.

use super::*;

/// Lag of the loop for a hundredth of its events and more.
pub(super) fn late(step: &mut Step, ns: u64) {
    generator(step).loop_lag.record_n_ns(ns, 1_000);
}

/// The lag that held a step back, the latency that it is a part of, and at which quantile.
fn part_of(step: &Step) -> (u64, u64, f64) {
    match bottleneck(step, None).cause {
        Cause::GeneratorBusy { lag, latency, quantile, .. } => (lag.0, latency.0, quantile.0),
        other => panic!("{}", other.terse()),
    }
}

#[test]
fn lag_by_own_work_is_the_generators() {
    let (who, why) = judged(|step| late(step, 15 * MS));
    assert_eq!(who, Bottleneck::Generator);
    assert_eq!(why, "generator.busy lag_ms=15.0 latency_ms=20.0 metric=\"rtt\" quantile=0.99");
    let (who, _) = judged(|step| step.figures.send_lag.record_n_ns(15 * MS, 1_000));
    assert_eq!(who, Bottleneck::Generator);
}

#[test]
fn lag_by_other_programs_is_the_machines() {
    let others = vec![ProgramUse { name: "rustc".into(), cpu_percent: 140.0 }];
    let (who, why) = judged(|step| {
        late(step, 15 * MS);
        generator(step).worker_cpu_percent_max = Some(1.0);
        generator(step).worker_waiting_percent_max = Some(4.0);
        step.machine.as_mut().unwrap().others = others.clone();
    });
    assert_eq!(who, Bottleneck::Machine);
    let said = "machine.late lag_ms=15.0 latency_ms=20.0 metric=\"rtt\" programs=[{\"cpu_percent\":140.0,\"name\":\"rustc\"}] quantile=0.99";
    assert_eq!(why, said);
    let (who, _) = judged(|step| {
        late(step, 15 * MS);
        generator(step).worker_waiting_percent_max = Some(20.0);
    });
    assert_eq!(who, Bottleneck::Machine, "it waited for a CPU almost as long as it had one");
}

#[test]
fn fleets_wait_for_cpus_of_their_machines() {
    let (who, why) = judged(|step| {
        spent(step, 15 * MS, 5 * MS);
        step.machine = None;
        generator(step).worker_cpu_percent_max = Some(1.0);
        generator(step).worker_waiting_percent_max = Some(99.0);
    });
    assert_eq!(who, Bottleneck::Machine);
    assert!(why.starts_with("machine.late ") && !why.contains("programs"), "{why}");
}

#[test]
fn stolen_cpu_time_delays_the_server_too() {
    let robbed = |ns: u64, steal: f64, same_host: bool, change: &dyn Fn(&mut Step)| {
        judged(|step| {
            late(step, ns);
            let machine = step.machine.as_mut().unwrap();
            (machine.steal_percent, machine.same_host) = (Some(steal), Some(same_host));
            change(step);
        })
    };
    let stolen = |ns, steal, same_host| robbed(ns, steal, same_host, &|_| {});
    let (who, why) = stolen(6 * MS, 8.0, true);
    assert_eq!(who, Bottleneck::Machine);
    let said = "machine.late_both lag_ms=6.0 latency_ms=20.0 metric=\"rtt\" quantile=0.99 stolen_percent=8.0";
    assert_eq!(why, said);
    for (ns, steal, same_host) in [(4 * MS, 8.0, true), (6 * MS, 1.0, true), (6 * MS, 8.0, false)] {
        assert_ne!(stolen(ns, steal, same_host).0, Bottleneck::Machine, "{ns} ns, {steal}%, {same_host}");
    }
    let (who, _) = robbed(6 * MS, 8.0, true, &|step| generator(step).worker_cpu_percent_max = Some(60.0));
    assert_eq!(who, Bottleneck::None, "its own work may be why");
    let (who, _) = robbed(6 * MS, 8.0, true, &|step| step.counts.missing = step.counts.expected / 20);
    assert_eq!(who, Bottleneck::Server, "waiting loses nothing");
}

#[test]
fn accounts_name_owners_of_slow_time() {
    let judged = |cpu, waiting, unsent, service| {
        bottleneck(
            &with(|step| {
                spent(step, unsent * MS, service * MS);
                generator(step).worker_cpu_percent_max = Some(cpu);
                generator(step).worker_waiting_percent_max = Some(waiting);
            }),
            None,
        )
    };
    let Cause::GeneratorBusy { lag, latency, quantile, .. } = judged(80.0, 0.0, 70, 30).cause else {
        panic!()
    };
    assert_eq!((lag.0, latency.0, quantile.0), (70 * MS, 100 * MS, 0.95));
    assert_eq!(judged(1.0, 99.0, 70, 30).bottleneck, Bottleneck::Machine);
    assert_eq!(judged(1.0, 99.0, 50, 50).bottleneck, Bottleneck::None, "nothing broke");
    assert_eq!(judged(1.0, 99.0, 0, 100).bottleneck, Bottleneck::None, "it was never late");
}

#[test]
fn waiting_for_a_cpu_is_server_lag() {
    let step = with(|step| {
        spent(step, 0, 100 * MS);
        // One was in nobody's way.
        step.figures.service.record_ns(MS);
        server(step).cpu_percent_mean = Some(20.0);
        server(step).thread_use = vec![ThreadUse { user_percent: 20.0, waiting_percent: 70.0, ..starved() }];
    });
    assert_eq!(bottleneck(&step, None).bottleneck, Bottleneck::Machine);
}

#[test]
fn small_lag_decides_nothing() {
    let step = with(|step| late(step, 5 * MS));
    assert_eq!(bottleneck(&step, None).bottleneck, Bottleneck::None);
    let said = "caveat.generator_lag lag_ms=5.0 latency_ms=20.0 metric=\"rtt\" quantile=0.99";
    assert_eq!(terse_caveats(&step, 0.95), [said]);
    // 1.5 ms is not a tenth of 20 ms; 0.9 ms of 1.2 ms is below what matters.
    assert_eq!(caveats(&with(|step| late(step, 3 * MS / 2)), 0.95), Vec::<Caveat>::new());
    let short = with(|step| {
        answered(step, 6 * MS / 5);
        late(step, 9 * MS / 10);
    });
    assert_eq!(caveats(&short, 0.95), Vec::<Caveat>::new());
    let longer = with(|step| {
        answered(step, 9 * MS);
        late(step, 14 * MS);
    });
    assert_eq!(part_of(&longer), (9 * MS, 9 * MS, 0.99), "never more than all");
}

#[test]
fn lag_of_acknowledgements_delays_no_copies() {
    let (who, _) = judged(|step| {
        late(step, 15 * MS);
        step.figures.delivery.record_n_ns(150 * MS, 10_000);
    });
    assert_eq!(who, Bottleneck::None);
}

#[test]
fn hundred_late_samples_are_no_hiccup() {
    let step = with(|step| {
        for figure in [&mut step.figures.rtt, &mut step.figures.send_lag] {
            figure.clear();
            figure.record_n_ns(MS / 2, 98);
            figure.record_n_ns(3 * MS, 2);
        }
    });
    assert_eq!(bottleneck(&step, None).bottleneck, Bottleneck::None);
    assert!(!caveats(&step, 0.5).iter().any(|caveat| matches!(caveat, Caveat::GeneratorLag { .. })));
    let late = with(|step| {
        for figure in [&mut step.figures.rtt, &mut step.figures.send_lag] {
            figure.clear();
            figure.record_n_ns(3 * MS, 100);
        }
    });
    assert_eq!(part_of(&late), (3 * MS, 3 * MS, 0.9));
}

#[test]
fn dozen_late_reads_are_no_hiccup() {
    let step = with(|step| {
        answered(step, MS / 5);
        let lag = &mut generator(step).loop_lag;
        lag.clear();
        lag.record_n_ns(MS / 20, 12);
        lag.record_ns(2 * MS);
    });
    assert_eq!(bottleneck(&step, None).bottleneck, Bottleneck::None);
    assert_eq!(caveats(&step, 0.95), Vec::<Caveat>::new());
    let late = with(|step| {
        answered(step, 2 * MS);
        let lag = &mut generator(step).loop_lag;
        lag.clear();
        lag.record_n_ns(2 * MS, 12);
    });
    assert_eq!(part_of(&late), (2 * MS, 2 * MS, 0.5));
}

/// A step whose clients only listen, to what comes each 20 ms; a limit on that broke.
pub(super) fn listening(step: &mut Step) {
    step.figures = Default::default();
    (step.rates, step.counts) =
        (Default::default(), Counts { connects: 1_000, connected: 1_000, ..Counts::default() });
    step.figures.push_gap.record_n_ns(20 * MS, 10_000);
    step.limits = vec![LimitOutcome { actual: Some(20.0), ..LimitOutcome::of_text("push_gap.p99<10ms") }];
}

#[test]
fn pushes_are_the_servers_unless_heard_late() {
    let (who, why) = judged(listening);
    assert_eq!((who, &*why), (Bottleneck::Server, "server.says_late limit=\"push_gap.p99<10ms\""));
    let heard_late = with(|step| {
        listening(step);
        late(step, 15 * MS);
    });
    assert_eq!(bottleneck(&heard_late, None).bottleneck, Bottleneck::Generator);
    let heard_somewhat_late = with(|step| {
        listening(step);
        late(step, 5 * MS);
    });
    assert_eq!(bottleneck(&heard_somewhat_late, None).bottleneck, Bottleneck::Generator, "in doubt");
    let of_pushes = |text: &String| text.contains("push_gap");
    assert!(terse_caveats(&heard_late, 0.99).iter().any(of_pushes), "{:?}", terse_caveats(&heard_late, 0.99));
    let copies = with(|step| {
        listening(step);
        step.figures.delivery.record_n_ns(20 * MS, 10_000);
        late(step, 5 * MS);
    });
    assert!(terse_caveats(&copies, 0.99).iter().any(|text| text.contains("delivery")), "nobody is answered");
}
