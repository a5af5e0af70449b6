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

#[test]
fn a_load_without_a_free_connection_is_short_of_them() {
    let (who, why) = judged(|step| {
        (step.clients, step.counts.waited) = (5, 5_000);
        (step.rates.achieved_per_s, step.counts.late) = (Some(250.0), 5_000);
    });
    assert_eq!(who, Bottleneck::Generator);
    let said = "generator.pool_small connections=5 of=10000 waited=5000";
    assert_eq!(why, said);
}

#[test]
fn what_the_generator_ran_out_of_is_not_the_servers() {
    let (who, why) = judged(|step| {
        (0..40).for_each(|at| step.errors.add("address_not_available", at, "no local port is free"));
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
fn messages_of_clients_that_failed_are_not_the_generators() {
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
fn a_generator_at_its_calibrated_ceiling_is_the_bottleneck() {
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
