//! Lag: whose it is, and when it decides.

use super::*;

/// Lag of the loop for a hundredth of its events and more.
pub(super) fn late(step: &mut Step, ns: u64) {
    generator(step).loop_lag.record_n_ns(ns, 1_000);
}

#[test]
fn lag_is_the_generators_where_its_own_work_made_it() {
    let (who, why) = judged(|step| late(step, 15 * MS));
    assert_eq!(who, Bottleneck::Generator);
    assert_eq!(why, "it was busy with other messages: up to 15.0ms of the rtt p99 of 20.0ms is its own");
    let (who, _) = judged(|step| step.figures.send_lag.record_n_ns(15 * MS, 1_000));
    assert_eq!(who, Bottleneck::Generator);
}

#[test]
fn lag_is_the_machines_where_others_had_the_cpu() {
    let others = vec![ProgramUse { name: "rustc".into(), cpu_percent: 140.0 }];
    let (who, why) = judged(|step| {
        late(step, 15 * MS);
        generator(step).worker_cpu_percent_max = Some(1.0);
        generator(step).worker_waiting_percent_max = Some(4.0);
        step.machine.as_mut().unwrap().others = others.clone();
    });
    assert_eq!(who, Bottleneck::Machine);
    let said = "other programs had the CPU, rustc 140% of a core: up to 15.0ms of the rtt p99 of 20.0ms is \
                waiting for it";
    assert_eq!(why, said);
    let (who, _) = judged(|step| {
        late(step, 15 * MS);
        generator(step).worker_waiting_percent_max = Some(20.0);
    });
    assert_eq!(who, Bottleneck::Machine, "it waited for a CPU almost as long as it had one");
}

#[test]
fn where_a_hypervisor_had_the_cpu_the_server_waited_for_it_too() {
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
    let said = "the hypervisor gave 8% of the CPU to other machines: up to 6.00ms of the rtt p99 of 20.0ms is \
                the generator's waiting for it, and the server will have waited as long";
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
fn lag_that_is_a_small_part_is_said_and_decides_nothing() {
    let step = with(|step| late(step, 5 * MS));
    assert_eq!(bottleneck(&step, None).bottleneck, Bottleneck::None);
    let said = "latencies are upper bounds: of the rtt p99 of 20.0ms, 5.00ms may be the generator's own";
    assert_eq!(marks(&step, 0.95), [said]);
    // 1.5 ms is not a tenth of 20 ms; 0.9 ms of 1.2 ms is below what matters.
    assert_eq!(marks(&with(|step| late(step, 3 * MS / 2)), 0.95), Vec::<String>::new());
    let short = with(|step| {
        answered(step, 6 * MS / 5);
        late(step, 9 * MS / 10);
    });
    assert_eq!(marks(&short, 0.95), Vec::<String>::new());
    let longer = with(|step| {
        answered(step, 9 * MS);
        late(step, 14 * MS);
    });
    assert!(
        bottleneck(&longer, None).reason.contains("up to 9.00ms of the rtt p99 of 9.00ms"),
        "never more than all"
    );
}

#[test]
fn lag_of_an_acknowledgement_is_not_what_copies_wait_for() {
    let (who, _) = judged(|step| {
        late(step, 15 * MS);
        step.figures.delivery.record_n_ns(150 * MS, 10_000);
    });
    assert_eq!(who, Bottleneck::None);
}

#[test]
fn a_hiccup_is_not_what_a_hundred_samples_show() {
    let step = with(|step| {
        for figure in [&mut step.figures.rtt, &mut step.figures.send_lag] {
            figure.clear();
            figure.record_n_ns(MS / 2, 98);
            figure.record_n_ns(3 * MS, 2);
        }
    });
    assert_eq!(bottleneck(&step, None).bottleneck, Bottleneck::None);
    assert!(!marks(&step, 0.5).iter().any(|mark| mark.contains("upper bounds")));
    let late = with(|step| {
        for figure in [&mut step.figures.rtt, &mut step.figures.send_lag] {
            figure.clear();
            figure.record_n_ns(3 * MS, 100);
        }
    });
    let why = bottleneck(&late, None);
    assert!(why.reason.contains("up to 3.00ms of the rtt p90 of 3.00ms"), "{}", why.reason);
}

#[test]
fn a_hiccup_is_not_what_a_dozen_sampled_reads_show() {
    let step = with(|step| {
        answered(step, MS / 5);
        let lag = &mut generator(step).loop_lag;
        lag.clear();
        lag.record_n_ns(MS / 20, 12);
        lag.record_ns(2 * MS);
    });
    assert_eq!(bottleneck(&step, None).bottleneck, Bottleneck::None);
    assert_eq!(marks(&step, 0.95), Vec::<String>::new());
    let late = with(|step| {
        answered(step, 2 * MS);
        let lag = &mut generator(step).loop_lag;
        lag.clear();
        lag.record_n_ns(2 * MS, 12);
    });
    let why = bottleneck(&late, None).reason;
    assert!(why.contains("up to 2.00ms of the rtt p50 of 2.00ms"), "{why}");
}
