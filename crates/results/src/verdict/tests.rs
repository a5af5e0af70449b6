use stats::Counts;

use super::*;
use crate::{GeneratorUse, LimitOutcome, MachineUse, Rates, ServerUse, ThreadUse, Unit};

const MS: u64 = 1_000_000;

/// A step of 1,000 clients at 500/s with an rtt of 20 ms, server and generator half idle on two hosts.
fn quiet() -> Step {
    let mut step = Step { clients: 1_000, ..Step::default() };
    step.figures.rtt.record_n_ns(20 * MS, 10_000);
    step.figures.send_lag.record_n_ns(50_000, 10_000);
    step.counts = Counts { connects: 1_000, connected: 1_000, ..Counts::default() };
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

fn with(change: impl FnOnce(&mut Step)) -> Step {
    let mut step = quiet();
    change(&mut step);
    step
}

fn judged(change: impl FnOnce(&mut Step)) -> (Bottleneck, String) {
    let finding = judge(&with(change), None);
    (finding.bottleneck, finding.reason)
}

fn server(step: &mut Step) -> &mut ServerUse {
    step.server.as_mut().unwrap()
}

fn generator(step: &mut Step) -> &mut GeneratorUse {
    step.generator.as_mut().unwrap()
}

#[test]
fn room_to_spare_is_nobodys_bottleneck() {
    let (who, why) = judged(|_| {});
    assert_eq!(
        (who, &*why),
        (Bottleneck::None, "nothing reached its limit: server CPU 40%, busiest worker 30%")
    );
    assert_eq!(judge(&Step::default(), None).bottleneck, Bottleneck::None);
}

#[test]
fn a_busy_server_is_the_bottleneck() {
    let (who, why) = judged(|step| server(step).cpu_percent_mean = Some(194.0));
    assert_eq!((who, &*why), (Bottleneck::Server, "its CPU was at 97% of 2 cores"));
    let thread =
        ThreadUse { name: "node".into(), user_percent: 70.0, system_percent: 28.0, ..ThreadUse::default() };
    let (who, why) = judged(|step| server(step).thread_use = vec![ThreadUse::default(), thread]);
    assert_eq!((who, &*why), (Bottleneck::Server, "its thread \"node\" was at 98% of a core"));
}

#[test]
fn answers_that_do_not_come_in_time_are_the_servers() {
    // A server that sleeps 10 ms for each of 200/s: all CPUs idle, half the rate.
    let (who, why) = judged(|step| {
        server(step).cpu_percent_mean = Some(1.0);
        step.rates.achieved_per_s = Some(250.0);
    });
    assert_eq!((who, &*why), (Bottleneck::Server, "it completed 250 of 500 messages/s"));
}

#[test]
fn answers_after_the_schedules_end_are_the_servers() {
    // The same for 10 s, drained in another 10 s: everything completes, half of it late.
    let (who, why) = judged(|step| {
        server(step).cpu_percent_mean = Some(1.0);
        step.counts = Counts { expected: 2_000, received: 2_000, late: 1_000, ..step.counts };
    });
    assert_eq!((who, &*why), (Bottleneck::Server, "50% of its answers came after the schedule's end"));
}

#[test]
fn latency_that_outgrows_the_load_is_the_servers() {
    let slow = |ms: u64| {
        with(|step| {
            step.clients = 2_000;
            step.figures.rtt.clear();
            step.figures.rtt.record_n_ns(ms * MS, 10_000);
        })
    };
    let finding = judge(&slow(200), Some(&quiet()));
    assert_eq!(finding.bottleneck, Bottleneck::Server);
    assert_eq!(finding.reason, "p95 grew 10.0-fold for 2.0-fold load while the generator was idle");
    assert_eq!(
        judge(&slow(50), Some(&quiet())).bottleneck,
        Bottleneck::None,
        "2.5-fold for 2-fold is no sign"
    );
    assert_eq!(
        judge(&slow(200), Some(&slow(10))).bottleneck,
        Bottleneck::None,
        "a repeat carries no more load"
    );
    let mut behind = slow(200);
    behind.figures.send_lag.record_ns(100 * MS);
    assert_ne!(judge(&behind, Some(&quiet())).bottleneck, Bottleneck::Server, "the generator stood still");
}

#[test]
fn a_busy_or_late_generator_is_the_bottleneck() {
    let (who, why) = judged(|step| generator(step).worker_cpu_percent_max = Some(93.0));
    assert_eq!((who, &*why), (Bottleneck::Generator, "a worker's CPU was at 93%"));
    let (who, why) = judged(|step| generator(step).loop_lag.record_n_ns(3 * MS, 1_000));
    assert_eq!(who, Bottleneck::Generator);
    assert!(why.starts_with("its loop lag p99 of 3.0 ms shows in the p99 of 20"), "{why}");
    let (who, _) = judged(|step| step.figures.send_lag.record_n_ns(5 * MS, 1_000));
    assert_eq!(who, Bottleneck::Generator);
    let (who, why) = judged(|step| step.rates.sent_per_s = Some(400.0));
    assert_eq!((who, &*why), (Bottleneck::Generator, "it sent 400 messages/s of 500 with the server idle"));
}

#[test]
fn messages_of_clients_that_failed_are_not_the_generators() {
    let (who, _) = judged(|step| {
        (step.rates.sent_per_s, step.rates.achieved_per_s) = (Some(400.0), Some(400.0));
        step.counts.connected = 800;
    });
    assert_eq!(who, Bottleneck::Server, "a fifth of the clients was refused");
    let (who, why) = judged(|step| step.counts.connected = 0);
    assert_eq!((who, &*why), (Bottleneck::Server, "it took none of 1000 clients"));
}

#[test]
fn a_server_that_loses_its_clients_is_named_first() {
    let crash = |step: &mut Step| {
        step.counts.disconnects = 501;
        step.figures.send_lag.record_n_ns(50 * MS, 10_000);
    };
    assert_eq!(judged(crash), (Bottleneck::Server, "it lost 501 of 1000 clients".into()));
    let without = |change: fn(&mut Step)| {
        judged(|step| {
            crash(step);
            change(step);
        })
        .0
    };
    assert_eq!(without(|step| step.counts.disconnects = 500), Bottleneck::Generator, "not most of them");
    assert_eq!(without(|step| step.figures.recovery.record_ns(MS)), Bottleneck::Generator, "a storm");
    let busy = without(|step| generator(step).worker_cpu_percent_max = Some(95.0));
    assert_eq!(busy, Bottleneck::Generator, "it may not have answered the server");
}

#[test]
fn small_lag_does_not_matter() {
    // 0.9 ms is more than a tenth of 2 ms, but below 1 ms; 1.5 ms is not a tenth of 20 ms.
    let (who, _) = judged(|step| {
        step.figures.rtt.clear();
        step.figures.rtt.record_n_ns(2 * MS, 10_000);
        generator(step).loop_lag.record_n_ns(900_000, 1_000);
    });
    assert_eq!(who, Bottleneck::None);
    assert_eq!(judged(|step| generator(step).loop_lag.record_n_ns(1_500_000, 1_000)).0, Bottleneck::None);
}

#[test]
fn the_generator_is_blamed_before_the_server() {
    let (who, _) = judged(|step| {
        generator(step).worker_cpu_percent_max = Some(91.0);
        server(step).cpu_percent_mean = Some(200.0);
    });
    assert_eq!(who, Bottleneck::Generator);
}

#[test]
fn a_shared_machine_without_idle_cpu_is_the_bottleneck() {
    let full = |step: &mut Step, server_cpu| {
        step.machine = Some(MachineUse {
            cores: Some(2),
            idle_percent_mean: Some(2.0),
            same_host: Some(true),
            ..MachineUse::default()
        });
        server(step).cpu_percent_mean = Some(server_cpu);
        generator(step).worker_cpu_percent_max = Some(95.0);
    };
    let (who, why) = judged(|step| full(step, 90.0));
    assert_eq!(
        (who, &*why),
        (Bottleneck::Machine, "server and generator share a machine of which 2% was idle")
    );
    assert_eq!(judged(|step| full(step, 10.0)).0, Bottleneck::Generator, "the server hardly used it");
}

#[test]
fn others_on_the_machine_are_named() {
    let busy = |generator_cpu| {
        with(|step| {
            step.machine = Some(MachineUse {
                cores: Some(2),
                idle_percent_mean: Some(0.0),
                same_host: Some(true),
                ..MachineUse::default()
            });
            server(step).cpu_percent_mean = Some(60.0);
            generator(step).cpu_percent_mean = Some(generator_cpu);
        })
    };
    let finding = judge(&busy(40.0), None);
    assert_eq!(finding.reason, "server and generator share a machine of which 0% was idle, others used 50%");
    assert_eq!(marks(&busy(40.0), 0.95, false), ["other processes used 50% of the generator's machine"]);
    assert_eq!(marks(&busy(100.0), 0.95, false), Vec::<String>::new(), "20% may be the kernel's own");
}

#[test]
fn a_full_or_lossy_link_is_the_bottleneck() {
    let (who, why) = judged(|step| step.machine.as_mut().unwrap().network_percent = Some(97.0));
    assert_eq!((who, &*why), (Bottleneck::Network, "a link carried 97% of its speed"));
    let (who, why) = judged(|step| step.machine.as_mut().unwrap().retransmit_percent = Some(2.5));
    assert_eq!((who, &*why), (Bottleneck::Network, "2.5% of the segments were sent again"));
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
    assert_eq!(
        (who, &*why),
        (Bottleneck::Generator, "it did 93% of what it can do here, by throng calibrate")
    );
    assert_eq!(at(89.0, false).0, Bottleneck::None);
    assert_eq!(at(93.0, true).0, Bottleneck::None, "it may be far from its ceiling");
}

#[test]
fn marks_say_what_is_wrong() {
    assert_eq!(marks(&quiet(), 0.95, false), Vec::<String>::new());
    let mut wrong = with(|step| {
        step.rates.achieved_per_s = Some(475.0);
        step.figures.rtt.clear();
        step.figures.rtt.record_n_ns(2_000 * MS, 100);
        step.figures.send_lag.record_ns(1_000 * MS);
        step.counts.connected = 990;
        step.counts.connect_timeouts = 10;
        step.counts.disconnects = 3;
        step.counts.sent = 1;
        step.counts.expected = 1;
    });
    wrong.bottleneck =
        Some(Finding { bottleneck: Bottleneck::Generator, reason: "a worker's CPU was at 93%".into() });
    assert_eq!(
        marks(&wrong, 0.999, true),
        [
            "interrupted: the figures are of what ran",
            "limited by the generator: the figures are not the server's",
            "the generator fell behind its schedule by up to 1000.0 ms",
            "the rate was missed by 5.0%: 475.0/s of 500.0/s",
            "10 of 1000 clients did not become usable; the others carried the whole rate",
            "3 clients lost their connection",
            "p99.9 rests on 100 samples; 10000 are needed",
            "the generator lost count: 1 deliveries were due, but 0 are accounted for",
        ]
    );
}

#[test]
fn a_run_is_concluded_from_its_steps() {
    let outcome = |limit: &str, passed| LimitOutcome {
        limit: limit.into(),
        passed,
        actual: Some(1.0),
        at_least: false,
        unit: Unit::Ms,
    };
    let finding = |bottleneck| Some(Finding { bottleneck, reason: String::new() });
    let step = |clients, p95, bottleneck| Step {
        clients,
        limits: vec![outcome("p95<1ms", p95), outcome("missing==0", true)],
        bottleneck: finding(bottleneck),
        marks: vec!["few samples".into()],
        ..Step::default()
    };
    let mut steps = vec![step(1, true, Bottleneck::None), step(2, false, Bottleneck::Generator)];
    steps[1].marks.push("interrupted".into());
    let verdict = conclude(&steps);
    assert_eq!(verdict.limits, [outcome("p95<1ms", false), outcome("missing==0", true)]);
    assert_eq!(verdict.bottleneck, finding(Bottleneck::Generator));
    assert_eq!(
        verdict.trust.iter().map(|note| &*note.0).collect::<Vec<_>>(),
        ["few samples (at every step)", "interrupted (at 2 clients)"]
    );
    assert!(limited_by_generator(&steps) && !limited_by_generator(&steps[..1]));
    assert_eq!(conclude(&[]).trust, [crate::TrustNote("nothing was measured".into())]);
}

#[test]
fn a_search_is_concluded_from_the_lightest_step_that_broke() {
    let step = |clients, asked_per_s, broke: Option<f64>| Step {
        clients,
        rates: Rates { asked_per_s, ..Rates::default() },
        limits: vec![LimitOutcome {
            limit: "p95<1ms".into(),
            passed: broke.is_none(),
            actual: broke,
            at_least: false,
            unit: Unit::Ms,
        }],
        bottleneck: Some(Finding { bottleneck: Bottleneck::Server, reason: format!("{clients} clients") }),
        ..Step::default()
    };
    let steps = [
        step(100, None, None),
        step(400, None, Some(9.0)),
        step(120, None, Some(2.0)),
        step(110, None, None),
    ];
    let verdict = conclude(&steps);
    assert_eq!(lightest_broken(&steps, &[]).unwrap().clients, 120);
    assert_eq!((verdict.limits[0].passed, verdict.limits[0].actual), (false, Some(2.0)));
    assert_eq!(verdict.bottleneck.unwrap().reason, "120 clients");
    assert_eq!(conclude(&steps[..1]).bottleneck.unwrap().reason, "100 clients");
    let rates = [step(50, Some(400.0), Some(9.0)), step(50, Some(200.0), Some(2.0))];
    assert_eq!(conclude(&rates).limits[0].actual, Some(2.0), "at one number of clients, the lowest rate");
}

#[test]
fn a_rate_is_missed_by_more_than_a_hundredth() {
    for (asked, achieved, missed) in [(1_000.0, 990.0, false), (1_000.0, 989.9, true), (700.0, 693.0, false)]
    {
        assert_eq!(is_missed(achieved, asked), missed, "{achieved} of {asked}");
    }
}

#[test]
fn one_of_anything_is_said_as_one() {
    let mut step = quiet();
    step.clients = 1;
    step.counts.disconnects = 1;
    step.figures.rtt = Default::default();
    step.figures.rtt.record_ns(MS);
    let said = marks(&step, 0.95, false);
    assert_eq!(said, ["1 client lost its connection", "p95 rests on 1 sample; 200 are needed"]);
    let verdict = conclude(&[Step { marks: said, ..step }, quiet()]);
    assert_eq!(verdict.trust[0].0, "1 client lost its connection (at 1 client)");
}
