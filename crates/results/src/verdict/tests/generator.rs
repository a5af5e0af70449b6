//! The generator as the one that held a step back.

use super::*;

#[test]
fn a_busy_generator_is_the_bottleneck() {
    let (who, why) = judged(|step| generator(step).worker_cpu_percent_max = Some(93.0));
    assert_eq!((who, &*why), (Bottleneck::Generator, "generator.cpu cpu_percent=93.0"));
    let (who, why) = judged(|step| generator(step).throttled_percent = Some(40.0));
    assert_eq!(who, Bottleneck::Generator);
    assert_eq!(why, "generator.quota throttled_percent=40.0");
    let (who, why) = judged(|step| step.rates.sent_per_s = Some(400.0));
    assert_eq!((who, &*why), (Bottleneck::Generator, "generator.behind asked_per_s=500.0 sent_per_s=400.0"));
}

/// 10,000 messages at 500/s, of which half waited for one of a few connections; each answer took
/// `service_ms`, but for the first.
fn waited(first_ms: u64, service_ms: u64, achieved_per_s: f64) -> Cause {
    let step = with(|step| {
        answered(step, service_ms * MS);
        step.figures.service.record_ns(first_ms * MS);
        (step.counts.waited, step.counts.late) = (5_000, 5_000);
        step.figures.send_lag.record_n_ns(4_000 * MS, 5_000);
        (step.rates.achieved_per_s, step.rates.sent_per_s) = (Some(achieved_per_s), Some(achieved_per_s));
    });
    bottleneck(&step, None).cause
}

#[test]
fn small_pools_are_judged_by_unloaded_service() {
    // 16 at once, half a second each: 32/s, and 500/s need 250 at once.
    let small = waited(500, 500, 32.0).terse();
    assert_eq!(small, "generator.pool_small needed=250 of=10000 service_ms=500.0 slots=16 waited=5000");
}

#[test]
fn pools_held_by_queues_are_the_servers() {
    // 100 at once and 100/s: the first answer took 10 ms, so that 5 at once were enough.
    let queue = waited(10, 1_000, 100.0).terse();
    assert_eq!(queue, "server.rate achieved_per_s=100.0 asked_per_s=500.0");
}

#[test]
fn waiting_for_connections_is_no_generator_lag() {
    let step = with(|step| {
        step.counts.waited = 5_000;
        step.figures.send_lag.record_n_ns(4_000 * MS, 5_000);
    });
    assert_eq!(caveats(&step, 0.95), Vec::<Caveat>::new());
}

#[test]
fn exhausted_generators_are_not_the_servers_fault() {
    let (who, why) = judged(|step| {
        for at in 0..40 {
            step.errors.add("address_not_available", at, "no local port is free");
        }
        step.errors.set_local("address_not_available");
        (step.counts.connected, step.counts.connect_failures) = (0, 1_000);
    });
    assert_eq!(who, Bottleneck::Generator);
    assert_eq!(
        why,
        "generator.ran_out error=\"address_not_available\" example=\"no local port is free\" times=40"
    );
}

#[test]
fn messages_of_failed_clients_are_not_its() {
    let (who, _) = judged(|step| {
        (step.rates.sent_per_s, step.rates.achieved_per_s) = (Some(400.0), Some(400.0));
        (step.counts.sent, step.counts.expected, step.counts.received) = (8_000, 8_000, 8_000);
        step.counts.connected = 800;
    });
    assert_eq!(who, Bottleneck::Server, "a fifth of the clients was refused");
    let (who, why) = judged(|step| step.counts.connected = 0);
    assert_eq!((who, &*why), (Bottleneck::Server, "server.took_none clients=1000"));
}

#[test]
fn generators_at_their_ceiling_are_the_bottleneck() {
    let at = |percent, at_least| {
        judged(|step| {
            let generator = step.generator.as_mut().unwrap();
            (generator.ceiling_percent, generator.ceiling_at_least) = (Some(percent), Some(at_least));
        })
    };
    let (who, why) = at(93.0, false);
    assert_eq!((who, &*why), (Bottleneck::Generator, "generator.ceiling used_percent=93.0"));
    assert_eq!(at(89.0, false).0, Bottleneck::None);
    assert_eq!(at(93.0, true).0, Bottleneck::None, "it may be far from its ceiling");
}
