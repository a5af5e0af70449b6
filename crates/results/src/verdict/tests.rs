use stats::Counts;

use super::*;
use crate::standing;
use crate::{GeneratorUse, LimitOutcome, MachineUse, ProgramUse, Rates, ServerUse, ThreadUse, Unit};

mod lag;
mod reached;

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

/// All 10,000 answers took so long.
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
        (
            Bottleneck::None,
            "nothing reached its limit: server CPU 40% of 2 cores, busiest worker 30% of a core"
        )
    );
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
        step.counts.late = 5_000;
    });
    assert_eq!((who, &*why), (Bottleneck::Server, "it completed 250 messages/s of 500/s"));
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
fn a_few_late_answers_are_the_servers_where_the_generator_was_on_time() {
    let queued = |send_lag_ns: u64| {
        judged(|step| {
            step.counts.late = 400;
            step.figures.rtt.clear();
            step.figures.rtt.record_n_ns(MS, 10_000);
            step.figures.send_lag.record_ns(send_lag_ns);
        })
    };
    let (who, why) = queued(MS / 10);
    assert_eq!((who, &*why), (Bottleneck::Server, "4% of its answers came after the schedule's end"));
    assert_eq!(queued(50 * MS).0, Bottleneck::None, "it may have been late itself");
}

#[test]
fn answers_that_are_missing_are_the_servers() {
    let (who, why) = judged(|step| (step.counts.received, step.counts.missing) = (9_800, 200));
    assert_eq!((who, &*why), (Bottleneck::Server, "it left out 200 of 10,000 messages due"));
    let (who, why) = judged(|step| (step.counts.received, step.counts.missing) = (0, 10_000));
    assert_eq!((who, &*why), (Bottleneck::Server, "it answered none of 10,000 messages"));
}

/// The step with the standing limits of an echo.
fn held_to(step: &mut Step) {
    step.standing = standing::check(&standing::limits("echo", &[], 0.0), step);
}

#[test]
fn what_a_server_did_wrong_is_its_own_whoever_had_the_cpu() {
    let beside_others = |change: fn(&mut Step)| {
        judged(|step| {
            let compiler = ProgramUse { name: "rustc".into(), cpu_percent: 190.0 };
            step.machine.as_mut().unwrap().others = vec![compiler];
            generator(step).worker_cpu_percent_max = Some(5.0);
            generator(step).worker_waiting_percent_max = Some(20.0);
            step.usable = Some(1_000);
            late(step, 15 * MS);
            change(step);
            held_to(step);
        })
    };
    type Case = (fn(&mut Step), &'static str);
    let cases: [Case; 5] = [
        (
            |step| (step.counts.received, step.counts.missing) = (9_999, 1),
            "it left out 1 of 10,000 messages due",
        ),
        (|step| step.counts.disconnects = 3, "it lost 3 of 1,000 clients"),
        (|step| step.counts.corrupt = 2, "2 of its 10,002 answers were wrong"),
        (
            |step| (step.usable, step.counts.connect_failures) = (Some(990), 10),
            "it turned away 10 of 1,000 clients",
        ),
        (
            |step| (step.usable, step.counts.connect_timeouts) = (Some(990), 10),
            "it left 10 of 1,000 clients waiting until they gave up",
        ),
    ];
    for (change, why) in cases {
        assert_eq!(beside_others(change), (Bottleneck::Server, why.to_owned()));
    }
    assert_eq!(beside_others(|_| {}).0, Bottleneck::Machine, "nothing broke");
    let (who, _) = beside_others(|step| {
        (step.usable, step.counts.connect_timeouts) = (Some(990), 10);
        generator(step).loop_lag.record_ns(900 * MS);
    });
    assert_eq!(who, Bottleneck::Machine, "nobody may have had the time to serve them");
}

#[test]
fn latency_that_outgrows_the_load_is_the_servers() {
    let slow = |ms: u64| {
        with(|step| {
            step.clients = 2_000;
            answered(step, ms * MS);
        })
    };
    let finding = judge(&slow(200), Some(&quiet()));
    assert_eq!(finding.bottleneck, Bottleneck::Server);
    assert_eq!(finding.reason, "p95 grew 10.0-fold for 2.0-fold load while the generator was idle");
    let nobody = |step: &Step, before: &Step| judge(step, Some(before)).bottleneck == Bottleneck::None;
    assert!(nobody(&slow(50), &quiet()), "2.5-fold for 2-fold is no sign");
    assert!(nobody(&slow(200), &slow(10)), "a repeat carries no more load");
    let mut behind = slow(200);
    behind.figures.send_lag.record_ns(100 * MS);
    assert!(nobody(&behind, &quiet()), "the generator stood still");
    let mut disturbed = slow(200);
    crowd(&mut disturbed);
    assert!(nobody(&disturbed, &quiet()), "others had the CPU");
}

#[test]
fn a_server_that_waits_is_told_from_one_that_works() {
    // 50 at once, 10 ms each: 5,000/s, for which it needs 100 us of CPU each.
    let closed = |cpu_percent: f64, same_host: bool| {
        judged(|step| {
            answered(step, 10 * MS);
            (step.rates.asked_per_s, step.rates.achieved_per_s) = (None, Some(5_000.0));
            server(step).cpu_percent_mean = Some(cpu_percent);
            step.machine.as_mut().unwrap().same_host = Some(same_host);
            step.figures.handshake_parts.tcp.record_ns(9 * MS);
        })
    };
    let (who, why) = closed(50.0, true);
    assert_eq!(who, Bottleneck::Server);
    assert_eq!(
        why,
        "it waits, for a lock, a timer or another service: 10.0ms an answer, 100µs of it with a CPU"
    );
    assert_eq!(closed(120.0, true).0, Bottleneck::None, "half its CPU is work that others wait for");
    let too_short = judged(|step| {
        answered(step, 10 * MS);
        (step.rates.asked_per_s, step.rates.achieved_per_s) = (None, Some(5_000.0));
        (step.duration_ns, server(step).cpu_percent_mean) = (4 * MS, Some(0.0));
        step.machine.as_mut().unwrap().same_host = Some(true);
    });
    assert_eq!(too_short.0, Bottleneck::None, "nobody counts the CPU time of 4 ms");
    let (who, why) = closed(50.0, false);
    assert_eq!(who, Bottleneck::Network);
    assert!(why.starts_with("an answer takes 10.0ms, and the way there and back 9.00ms"), "{why}");
}

#[test]
fn a_busy_generator_is_the_bottleneck() {
    let (who, why) = judged(|step| generator(step).worker_cpu_percent_max = Some(93.0));
    assert_eq!((who, &*why), (Bottleneck::Generator, "a worker's CPU was at 93% of a core"));
    let (who, why) = judged(|step| generator(step).throttled_percent = Some(40.0));
    assert_eq!(who, Bottleneck::Generator);
    assert_eq!(why, "the CPU quota of its control group was used up in 40% of the periods");
    let (who, why) = judged(|step| step.rates.sent_per_s = Some(400.0));
    assert_eq!((who, &*why), (Bottleneck::Generator, "it sent 400 messages/s of 500/s with the server idle"));
}

#[test]
fn a_load_without_a_free_connection_is_short_of_them() {
    let (who, why) = judged(|step| {
        (step.clients, step.counts.waited) = (5, 5_000);
        (step.rates.achieved_per_s, step.counts.late) = (Some(250.0), 5_000);
    });
    assert_eq!(who, Bottleneck::Generator);
    let said = "5,000 of 10,000 messages waited because all of its 5 connections were busy: use more, or --pipelining";
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
    assert_eq!(why, "it ran out of what it needs, address_not_available 40 times: no local port is free");
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
    assert_eq!((who, &*why), (Bottleneck::Server, "it took none of 1,000 clients"));
}

#[test]
fn a_server_that_loses_its_clients_is_named_first() {
    let crash = |step: &mut Step| {
        step.counts.disconnects = 501;
        step.figures.send_lag.record_n_ns(50 * MS, 10_000);
    };
    assert_eq!(judged(crash), (Bottleneck::Server, "it lost 501 of 1,000 clients".into()));
    let with = |change: fn(&mut Step)| {
        judged(|step| {
            crash(step);
            change(step);
        })
    };
    assert_eq!(with(|step| step.counts.disconnects = 500).0, Bottleneck::Generator, "not most of them");
    assert_eq!(with(|step| step.figures.recovery.record_ns(MS)).0, Bottleneck::Generator, "a storm");
    let busy = with(|step| generator(step).worker_cpu_percent_max = Some(95.0)).0;
    assert_eq!(busy, Bottleneck::Generator, "it may not have answered the server");
    let ended = with(|step| (step.start_ns, server(step).ended_ns) = (2_000 * MS, Some(5_000 * MS)));
    assert_eq!(ended, (Bottleneck::Server, "its process ended 3.00s after the load began".into()));
}

#[test]
fn a_server_that_can_do_no_more_is_named_before_a_busy_generator() {
    let (who, _) = judged(|step| {
        generator(step).worker_cpu_percent_max = Some(91.0);
        server(step).cpu_percent_mean = Some(200.0);
        late(step, 15 * MS);
    });
    assert_eq!(who, Bottleneck::Server);
    let (who, why) = judged(|step| {
        (server(step).cores, server(step).throttled_percent) = (Some(0.5), Some(80.0));
        server(step).cpu_percent_mean = Some(45.0);
    });
    assert_eq!(
        (who, &*why),
        (Bottleneck::Server, "its CPU quota of 0.5 cores was used up in 80% of the periods")
    );
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

#[test]
fn a_server_that_waits_for_a_cpu_waits_for_nothing_else() {
    let (who, why) = judged(|step| {
        answered(step, 90 * MS);
        (step.rates.asked_per_s, step.rates.achieved_per_s) = (None, Some(100.0));
        step.machine.as_mut().unwrap().same_host = Some(true);
        step.machine.as_mut().unwrap().others = vec![ProgramUse { name: "sh".into(), cpu_percent: 135.0 }];
        server(step).cpu_percent_mean = Some(34.0);
        server(step).thread_use = vec![ThreadUse::default(), starved()];
    });
    assert_eq!(who, Bottleneck::Machine);
    assert_eq!(
        why,
        "the server's thread \"node\" was ready to run all the time, and had a CPU for 34% of it; others: sh 135% of a core"
    );
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
    let said = "server and generator share a machine of which 0% was idle, other programs used 50%";
    assert_eq!(finding.reason, said);
    assert_eq!(marks(&busy(40.0), 0.95, false), ["other programs used 50% of the generator's machine"]);
    assert_eq!(marks(&busy(100.0), 0.95, false), Vec::<String>::new(), "20% may be the kernel's own");
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
fn a_server_that_others_leave_no_turn_is_not_at_its_limit() {
    let (who, why) = judged(|step| {
        crowd(step);
        step.counts.late = 1_000;
    });
    let said = "other programs used 94% of it; 1% was idle, and the rate was not kept";
    assert_eq!((who, &*why), (Bottleneck::Machine, said));
    assert_eq!(judged(crowd).0, Bottleneck::None, "it was kept all the same");
}

#[test]
fn a_full_or_lossy_link_is_the_bottleneck() {
    let (who, why) = judged(|step| step.machine.as_mut().unwrap().network_percent = Some(97.0));
    assert_eq!((who, &*why), (Bottleneck::Network, "a link carried 97% of its speed"));
    let (who, why) = judged(|step| step.machine.as_mut().unwrap().retransmit_percent = Some(2.5));
    assert_eq!((who, &*why), (Bottleneck::Network, "2.5% of the segments were sent again"));
    let (who, why) = judged(|step| step.machine.as_mut().unwrap().out_of_order_percent = Some(15.9));
    assert_eq!(who, Bottleneck::Network);
    assert!(why.starts_with("15.9% of the segments came out of order"), "{why}");
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
fn marks_say_what_may_be_false_and_nothing_else() {
    assert_eq!(marks(&quiet(), 0.95, false), Vec::<String>::new());
    let mut doubtful = with(|step| {
        for figure in [&mut step.figures.rtt, &mut step.figures.service] {
            figure.clear();
            figure.record_n_ns(2_000 * MS, 100);
        }
        step.figures.send_lag.record_ns(1_000 * MS);
        (step.counts.connected, step.counts.connect_timeouts, step.counts.disconnects) = (990, 10, 3);
        step.counts.expected = 10_001;
    });
    doubtful.bottleneck =
        Some(Finding { bottleneck: Bottleneck::Generator, reason: "a worker's CPU was at 93%".into() });
    assert_eq!(
        marks(&doubtful, 0.999, true),
        [
            "interrupted: the figures are of what ran",
            "the generator was at its limit: the server may be faster",
            "the generator fell behind its schedule by up to 1.00s",
            "p99.9 rests on 100 samples; 10000 are needed",
            "the generator lost count: 10001 deliveries were due, but 10000 are accounted for",
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
    for figure in [&mut step.figures.rtt, &mut step.figures.service] {
        figure.clear();
        figure.record_ns(20 * MS);
    }
    let said = marks(&step, 0.95, false);
    assert_eq!(said, ["p95 rests on 1 sample; 200 are needed"]);
    let verdict = conclude(&[Step { marks: said, ..step }, quiet()]);
    assert_eq!(verdict.trust[0].0, "p95 rests on 1 sample; 200 are needed (at 1 client)");
}
