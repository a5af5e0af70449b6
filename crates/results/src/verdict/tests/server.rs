//! The server as the one that held a step back: by its CPU, its answers, and what it did wrong.

use super::*;
use crate::limit::Limit;

#[test]
fn a_busy_server_is_the_bottleneck() {
    let (who, why) = judged(|step| server(step).cpu_percent_mean = Some(194.0));
    assert_eq!((who, &*why), (Bottleneck::Server, "server.cpu cores=2.0 cpu_percent=97.0"));
    let thread =
        ThreadUse { name: "node".into(), user_percent: 70.0, system_percent: 28.0, ..ThreadUse::default() };
    let (who, why) = judged(|step| server(step).thread_use = vec![ThreadUse::default(), thread]);
    assert_eq!((who, &*why), (Bottleneck::Server, "server.thread cpu_percent=98.0 thread=\"node\""));
}

#[test]
fn late_answers_are_the_servers() {
    // A server that sleeps 10 ms for each of 200/s: all CPUs idle, half the rate.
    let (who, why) = judged(|step| {
        server(step).cpu_percent_mean = Some(1.0);
        step.rates.achieved_per_s = Some(250.0);
        step.counts.late = 5_000;
    });
    assert_eq!((who, &*why), (Bottleneck::Server, "server.rate achieved_per_s=250.0 asked_per_s=500.0"));
}

#[test]
fn answers_after_the_schedules_end_are_the_servers() {
    // The same for 10 s, drained in another 10 s: everything completes, half of it late.
    let (who, why) = judged(|step| {
        server(step).cpu_percent_mean = Some(1.0);
        step.counts = Counts { expected: 2_000, received: 2_000, late: 1_000, ..step.counts };
    });
    assert_eq!((who, &*why), (Bottleneck::Server, "server.queue late_percent=50.0"));
}

#[test]
fn few_late_answers_may_be_the_servers() {
    let queued = |send_lag_ns: u64| {
        judged(|step| {
            step.counts.late = 400;
            step.figures.rtt.clear();
            step.figures.rtt.record_n_ns(MS, 10_000);
            step.figures.send_lag.record_ns(send_lag_ns);
        })
    };
    let (who, why) = queued(MS / 10);
    assert_eq!((who, &*why), (Bottleneck::Server, "server.queue late_percent=4.0"));
    assert_eq!(queued(50 * MS).0, Bottleneck::None, "it may have been late itself");
}

#[test]
fn answers_that_are_missing_are_the_servers() {
    let (who, why) = judged(|step| (step.counts.received, step.counts.missing) = (9_800, 200));
    assert_eq!((who, &*why), (Bottleneck::Server, "server.left_out due=10000 missing=200"));
    let (who, why) = judged(|step| (step.counts.received, step.counts.missing) = (0, 10_000));
    assert_eq!((who, &*why), (Bottleneck::Server, "server.answered_none messages=10000"));
    for (unended, expected) in
        [(6_000, "server.streaming answers=6000 events=1680"), (10, "server.answered_none messages=10000")]
    {
        let (_, why) = judged(|step| {
            (step.counts.received, step.counts.missing) = (0, 10_000);
            (step.counts.unended, step.counts.events) = (unended, 1_680);
        });
        assert_eq!(why, expected);
    }
    let without_copies = |step: &mut Step| {
        (step.counts.expected, step.counts.received, step.counts.missing) = (50_000, 0, 50_000);
    };
    let (_, why) = judged(without_copies);
    assert_eq!(why, "server.left_out due=50000 missing=50000", "senders were answered");
    let (_, why) = judged(|step| {
        without_copies(step);
        step.figures.service.clear();
    });
    assert_eq!(why, "server.answered_none messages=10000");
}

#[test]
fn servers_full_of_earlier_clients_turn_away() {
    let (_, why) = judged(|step| {
        (step.clients, step.usable) = (200, Some(100));
        (step.counts.connects, step.counts.connected, step.counts.connect_failures) = (100, 0, 100);
        held_to(step);
    });
    assert_eq!(why, "server.turned_away of=200 refused=100 what=\"clients\"");
}

#[test]
fn errors_are_the_servers_despite_busy_cpus() {
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
    let cases: [Case; 6] = [
        (
            |step| (step.counts.received, step.counts.missing) = (9_999, 1),
            "server.left_out due=10000 missing=1",
        ),
        (|step| step.counts.disconnects = 3, "server.lost_clients lost=3 of=1000 what=\"clients\""),
        (|step| step.counts.corrupt = 2, "server.wrong of=10002 wrong=2"),
        (
            |step| (step.usable, step.counts.connect_failures) = (Some(990), 10),
            "server.turned_away of=1000 refused=10 what=\"clients\"",
        ),
        (
            |step| (step.usable, step.counts.connect_timeouts) = (Some(990), 10),
            "server.kept_waiting of=1000 waited=10 what=\"clients\"",
        ),
        (
            |step| {
                (step.usable, step.counts.connect_timeouts) = (Some(990), 10);
                (server(step).fds, server(step).fds_max) = (Some(1_024), Some(1_024));
            },
            "server.files most=1024 of=1000 open=1024 refused=10 what=\"clients\"",
        ),
    ];
    for (change, why) in cases {
        assert_eq!(beside_others(change), (Bottleneck::Server, why.to_owned()));
    }
    let (_, why) = beside_others(|step| {
        (step.counts.offline_due, step.counts.lost_offline) = (400, 380);
        step.limits = vec![Limit::parse("lost_offline==0%", Scenario::Broadcast).unwrap().check(step)];
    });
    assert_eq!(why, "server.forgot due=400 lost=380");
    assert_eq!(beside_others(|_| {}).0, Bottleneck::Machine, "nothing broke");
    let (who, _) = beside_others(|step| {
        (step.usable, step.counts.connect_timeouts) = (Some(990), 10);
        generator(step).loop_lag.record_ns(900 * MS);
    });
    assert_eq!(who, Bottleneck::Machine, "nobody may have had the time to serve them");
    let (_, why) = judged(|step| {
        crowd(step);
        (step.usable, step.counts.connect_timeouts) = (Some(990), 10);
        held_to(step);
    });
    assert!(why.starts_with("machine.crowded"), "nor may the server have had a CPU: {why}");
}

#[test]
fn short_listen_queues_are_the_servers() {
    let overflowed = |times: u64, change: fn(&mut Step)| {
        judged(|step| {
            step.machine.as_mut().unwrap().listen_overflows = Some(times);
            change(step);
        })
    };
    let storm: fn(&mut Step) = |step| step.figures.recovery.record_n_ns(1_200 * MS, 1_000);
    let why = "server.listen_queue overflows=4487";
    assert_eq!(overflowed(4_487, storm), (Bottleneck::Server, why.to_owned()));
    assert_eq!(overflowed(9, storm).0, Bottleneck::None, "of 1,000 connections");
    assert_eq!(overflowed(0, storm).0, Bottleneck::None);
    assert_eq!(overflowed(4_487, |_| {}).0, Bottleneck::None, "it has not to do with answers");
    assert_eq!(overflowed(4_487, |step| step.figures.rtt.clear()).1, why, "nothing but connections");
    let (who, why) = overflowed(4_487, |step| {
        (step.usable, step.counts.connect_timeouts) = (Some(990), 10);
        held_to(step);
    });
    assert_eq!(who, Bottleneck::Server);
    assert_eq!(why, "server.kept_waiting of=1000 overflows=4487 waited=10 what=\"clients\"");
}

#[test]
fn clients_of_earlier_steps_were_taken() {
    let why = |reached| {
        let judged = judged(|step| {
            step.interrupted = Some(crate::Interrupted::Connecting);
            (step.usable, step.reached) = (None, Some(reached));
            step.counts = Counts { connects: 100, connecting: 90, connect_failures: 10, ..Counts::default() };
        });
        judged.1
    };
    let none = "server.took_none clients=10";
    assert_eq!(why(0), none);
    assert_ne!(why(100), none);
}

#[test]
fn unsent_messages_are_not_the_servers() {
    let half = |nobody_to_send: u64| {
        judged(|step| {
            step.counts =
                Counts { nobody_to_send, sent: 5_000, expected: 5_000, received: 5_000, ..step.counts };
            (step.rates.sent_per_s, step.rates.achieved_per_s) = (Some(250.0), Some(249.0));
            step.counts.connects += 5; // who was away came back
            step.counts.connected += 4;
        })
    };
    assert_eq!(half(5_000).0, Bottleneck::None);
    assert_eq!(half(0).1, "server.rate achieved_per_s=249.0 asked_per_s=500.0");
}

#[test]
fn latency_that_outgrows_the_load_is_the_servers() {
    let slow = |ms: u64| {
        with(|step| {
            step.clients = 2_000;
            answered(step, ms * MS);
        })
    };
    let found = bottleneck(&slow(200), Some(&quiet()));
    assert_eq!(found.bottleneck, Bottleneck::Server);
    assert_eq!(found.cause.terse(), "server.grew latency_factor=10.0 load_factor=2.0");
    let nobody = |step: &Step, before: &Step| bottleneck(step, Some(before)).bottleneck == Bottleneck::None;
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
fn waiting_servers_are_told_from_working_ones() {
    // 50 at once, 10 ms each: 5,000/s, for which it needs 100 us of CPU each.
    let closed = |cpu_percent: f64, same_host: bool| {
        judged(|step| {
            answered(step, 10 * MS);
            (step.rates.asked_per_s, step.rates.achieved_per_s) = (None, Some(5_000.0));
            server(step).cpu_percent_mean = Some(cpu_percent);
            step.machine.as_mut().unwrap().same_host = Some(same_host);
            step.figures.tcp.record_ns(9 * MS);
        })
    };
    let (who, why) = closed(50.0, true);
    assert_eq!(who, Bottleneck::Server);
    assert_eq!(why, "server.asleep cpu_ms=0.1 service_ms=10.0");
    assert_eq!(closed(120.0, true).0, Bottleneck::None, "half its CPU is work that others wait for");
    let too_short = judged(|step| {
        answered(step, 10 * MS);
        (step.rates.asked_per_s, step.rates.achieved_per_s) = (None, Some(5_000.0));
        (step.duration_ns, server(step).cpu_percent_mean) = (4 * MS, Some(0.0));
        step.machine.as_mut().unwrap().same_host = Some(true);
    });
    assert_eq!(too_short.0, Bottleneck::Unknown, "nobody counts the CPU time of 4 ms");
    let (who, why) = closed(50.0, false);
    assert_eq!((who, &*why), (Bottleneck::Network, "network.far service_ms=10.0 way_ms=9.0"));
}

/// Ten rows; in some of them a message waited for so many ms.
pub(super) fn stalls(step: &mut Step, at: &[(u64, u64)]) {
    let waited = |t: u64| at.iter().find(|(row, _)| *row == t).map_or(20, |(_, ms)| *ms);
    let row =
        |t: u64| crate::Second { t_ns: t * 1_000 * MS, max_ns: Some(waited(t) * MS), ..Default::default() };
    step.series = (1..=10).map(row).collect();
}

#[test]
fn a_server_that_stands_still_is_named() {
    let stalled = |change: fn(&mut Step)| {
        judged(|step| {
            stalls(step, &[(4, 1_000), (8, 1_020)]);
            change(step);
        })
    };
    let said = "server.stalled first_ms=3000.0 longest_ms=1020.0 times=2";
    assert_eq!(stalled(|_| {}), (Bottleneck::Server, said.into()));
    let late = stalled(|step| generator(step).loop_lag.record_ns(900 * MS));
    assert_eq!(late.0, Bottleneck::None, "the generator stood still");
    let slow = stalled(|step| answered(step, 100 * MS));
    assert_eq!(slow.0, Bottleneck::None, "ten times the median");
    let streamed = stalled(|step| step.counts.events = 1_000);
    assert_eq!(streamed.0, Bottleneck::None, "long answers that never paused");
    let starved = stalled(|step| {
        server(step).thread_use = vec![ThreadUse { waiting_percent: 6.0, ..ThreadUse::default() }];
    });
    assert_eq!(starved.0, Bottleneck::None, "1.2 of 20 seconds without a CPU");
}

#[test]
fn silences_to_all_clients_are_the_servers() {
    let silent = |long: u64, waiting_percent: f64| {
        judged(|step| {
            stalls(step, &[(2, 1_000), (5, 1_000), (8, 1_000)]);
            for row in step.series.iter_mut().filter(|row| row.max_ns > Some(20 * MS)) {
                let [usual, waited] = [20, 700].map(|ms| stats::density::cell(ms * MS));
                row.density = vec![(usual, 100 - long), (waited, long)];
            }
            server(step).thread_use = vec![ThreadUse { waiting_percent, ..ThreadUse::default() }];
            step.limits = vec![LimitOutcome::of_text("delivery.p99<=50ms")];
        })
    };
    let said = "server.stalled first_ms=1000.0 longest_ms=1000.0 times=3";
    // Of 20 seconds, a thread waited for two, and for four.
    assert_eq!(silent(20, 10.0), (Bottleneck::Server, said.into()));
    assert_eq!(silent(5, 10.0).0, Bottleneck::None, "few clients waited");
    assert_eq!(silent(20, 20.0).0, Bottleneck::None, "the silences may all be waits for a CPU");
}

#[test]
fn limits_broken_by_stalls_name_the_owner() {
    // Of a thousand gaps, twenty are stalls; so many of these were read late, and for want of a CPU.
    let paused = |late: u64, starved: u64, limit: &str| {
        judged(|step| {
            (step.counts.events, step.counts.stalls) = (1_010, 20);
            (step.counts.stalls_here, step.counts.stalls_starved) = (late, starved);
            step.figures.gap.record_n_ns(10 * MS, 980);
            step.figures.gap.record_n_ns(900 * MS, 20);
            step.limits = vec![LimitOutcome::of_text(limit)];
        })
    };
    let (who, why) = paused(4, 2, "stalls==0");
    assert!(who == Bottleneck::Server && why.starts_with("server.paused longest_ms=900.0 "), "{why}");
    assert!(why.ends_with("times=20"), "{why}");
    assert_eq!(paused(11, 2, "stalls==0").0, Bottleneck::Server, "nine break it alone");
    assert!(paused(12, 2, "stalls<10").1.starts_with("generator.paused "), "eight would have kept it");
    assert!(paused(16, 2, "gap<100ms").1.starts_with("generator.paused "));
    assert!(paused(16, 14, "gap.p99<100ms").1.starts_with("machine.paused "));
    for long in ["gap<5ms", "gap.p99<5ms"] {
        assert_eq!(paused(4, 2, long).0, Bottleneck::None, "each gap breaks it");
    }
    assert_eq!(paused(16, 14, "gap.p50<100ms").0, Bottleneck::None, "the median has other reasons");
}

#[test]
fn slow_deliveries_are_no_stalls() {
    let (who, _) = judged(|step| {
        answered(step, 5 * MS);
        step.figures.delivery.record_n_ns(400 * MS, 50_000);
        stalls(step, &[(3, 700), (4, 690), (5, 700)]);
    });
    assert_eq!(who, Bottleneck::None, "half of all take 400 ms, and none 20 times as long");
}

#[test]
fn lost_clients_are_told_by_their_ends() {
    let lost = |change: fn(&mut Step)| {
        judged(|step| {
            step.clients = 3;
            (step.counts.connects, step.counts.connected, step.counts.disconnects) = (3, 3, 3);
            change(step);
        })
        .1
    };
    let told = lost(|step| {
        step.errors.add("eof", MS, "no close frame");
        step.errors.add("closed", 2 * MS, "code 4403: expired");
        step.errors.add("closed", 3 * MS, "code 1001");
        step.errors.add("unsent", 4 * MS, "no connection");
    });
    let ends = r#"errors={"closed":2,"eof":1} example="code 4403: expired""#;
    assert_eq!(told, format!(r#"server.lost_clients {ends} lost=3 of=3 what="clients""#));
    let beside_attempts = lost(|step| {
        step.counts.connect_failures = 1;
        for at_ns in 1..=4 {
            step.errors.add("reset", at_ns, "connection reset");
        }
    });
    assert_eq!(beside_attempts, r#"server.lost_clients lost=3 of=3 what="clients""#);
}

#[test]
fn servers_that_lose_clients_come_first() {
    let crash = |step: &mut Step| {
        step.counts.disconnects = 501;
        step.figures.send_lag.record_n_ns(50 * MS, 10_000);
    };
    assert_eq!(
        judged(crash),
        (Bottleneck::Server, "server.lost_clients lost=501 of=1000 what=\"clients\"".into())
    );
    let with = |change: fn(&mut Step)| {
        judged(|step| {
            crash(step);
            change(step);
        })
    };
    assert_eq!(with(|step| step.counts.disconnects = 500).0, Bottleneck::Generator, "not most of them");
    // Clients that come and go have several connections, and lose some of them.
    let renewed = |step: &mut Step| step.counts.connected = 1_400;
    assert_eq!(
        judged(|step| {
            crash(step);
            renewed(step)
        })
        .0,
        Bottleneck::Generator
    );
    let most = judged(|step| {
        renewed(step);
        step.counts.disconnects = 800;
    });
    assert_eq!(
        most,
        (Bottleneck::Server, "server.lost_clients lost=800 of=1400 what=\"connections\"".into())
    );
    assert_eq!(with(|step| step.figures.recovery.record_ns(MS)).0, Bottleneck::Generator, "a storm");
    let busy = with(|step| generator(step).worker_cpu_percent_max = Some(95.0)).0;
    assert_eq!(busy, Bottleneck::Generator, "it may not have answered the server");
    let ended = with(|step| {
        (step.start_ns, server(step).ended_ns) = (2_000 * MS, Some(5_000 * MS));
        generator(step).worker_cpu_percent_max = Some(95.0);
    });
    assert_eq!(ended, (Bottleneck::Server, "server.ended after_ms=3000.0".into()));
}

#[test]
fn exhausted_servers_come_before_busy_generators() {
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
    assert_eq!((who, &*why), (Bottleneck::Server, "server.quota cores=0.5 throttled_percent=80.0"));
}
