//! The machine that both share, the others on it, and the network between them.

use super::*;

#[test]
fn busy_shared_machines_are_the_bottleneck() {
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
    assert_eq!((who, &*why), (Bottleneck::Machine, "machine.full idle_percent=2.0"));
    assert_eq!(judged(|step| full(step, 10.0)).0, Bottleneck::Generator, "the server hardly used it");
}

#[test]
fn hidden_servers_of_full_machines_share_them() {
    let step = with(|step| {
        step.machine = Some(MachineUse {
            cores: Some(2),
            idle_percent_mean: Some(0.0),
            same_host: Some(true),
            ..MachineUse::default()
        });
        step.server = None;
        step.rates.achieved_per_s = Some(300.0);
        generator(step).cpu_percent_mean = Some(40.0);
    });
    let found = bottleneck(&step, None);
    assert_eq!(
        (found.bottleneck, &*found.cause.terse()),
        (Bottleneck::Machine, "machine.full idle_percent=0.0")
    );
    assert_eq!(others_percent(&step), None, "most of it may be the server's");
}

#[test]
fn servers_waiting_for_cpus_wait_for_nothing_else() {
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
        "machine.starved cpu_percent=34.0 programs=[{\"cpu_percent\":135.0,\"name\":\"sh\"}] thread=\"node\""
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
    let found = bottleneck(&busy(40.0), None);
    let said = "machine.full idle_percent=0.0 others_percent=50.0";
    assert_eq!(found.cause.terse(), said);
    assert_eq!(terse_caveats(&busy(40.0), 0.95), ["caveat.others others_percent=50.0"]);
    assert_eq!(caveats(&busy(100.0), 0.95), Vec::<Caveat>::new(), "20% may be the kernel's own");
}

#[test]
fn starved_servers_are_not_at_their_limit() {
    let (who, why) = judged(|step| {
        crowd(step);
        step.counts.late = 1_000;
    });
    let said = "machine.crowded idle_percent=1.0 others_percent=94.0";
    assert_eq!((who, &*why), (Bottleneck::Machine, said));
    assert_eq!(judged(crowd).0, Bottleneck::None, "it was kept all the same");
}

#[test]
fn quick_acknowledgements_tell_nothing_of_late_copies() {
    let of_copies = |copy_ns| {
        judged(|step| {
            crowd(step);
            (step.counts.received, step.counts.missing) = (8_000, 2_000);
            server(step).thread_use =
                vec![ThreadUse { user_percent: 1.0, waiting_percent: 40.0, ..ThreadUse::default() }];
            server(step).cpu_percent_mean = Some(1.0);
            spent(step, 3 * MS, 5 * MS);
            step.figures.service.record_ns(1_000);
            (generator(step).worker_cpu_percent_max, generator(step).worker_waiting_percent_max) =
                (Some(1.0), Some(90.0));
            step.figures.delivery.record_n_ns(copy_ns, 8_000);
        })
    };
    assert_eq!(of_copies(9 * MS).0, Bottleneck::Machine, "they waited for the same");
    assert_eq!(of_copies(4_000 * MS).0, Bottleneck::Server);
}

#[test]
fn short_cpu_waits_explain_no_missed_rate() {
    // Of 10,000 due, so many came, and those within the schedule.
    let by = |received, waiting_percent, user_percent| {
        judged(|step| {
            crowd(step);
            (step.counts.received, step.counts.missing) = (received, 10_000 - received);
            let thread = ThreadUse { waiting_percent, user_percent, ..ThreadUse::default() };
            server(step).thread_use = vec![ThreadUse::default(), thread];
        })
        .0
    };
    let of = |received, waiting_percent| by(received, waiting_percent, 70.0 - waiting_percent);
    let waited = |waiting_percent| of(8_000, waiting_percent);
    assert_eq!(by(8_000, 4.0, 6.0), Bottleneck::Server, "it was asleep for most of the time");
    assert_eq!(of(1_250, 20.0), Bottleneck::Server, "a fifth of the time more is no eight times the rate");
    assert_eq!(of(1_250, 60.0), Bottleneck::Machine);
    assert_eq!(waited(4.0), Bottleneck::Machine, "a turn that came late may have delayed others");
    assert_eq!(
        waited(1.0),
        Bottleneck::Server,
        "a hundredth of the time is no reason for a fifth of the rate"
    );
}

#[test]
fn a_full_or_lossy_link_is_the_bottleneck() {
    let (who, why) = judged(|step| step.machine.as_mut().unwrap().network_percent = Some(97.0));
    assert_eq!((who, &*why), (Bottleneck::Network, "network.link used_percent=97.0"));
    let over_a_network = |segments: fn(&mut MachineUse), same_host| {
        judged(|step| {
            let machine = step.machine.as_mut().unwrap();
            machine.same_host = Some(same_host);
            segments(machine);
        })
    };
    let resent: fn(&mut MachineUse) = |machine| machine.retransmit_percent = Some(2.5);
    let early: fn(&mut MachineUse) = |machine| machine.out_of_order_percent = Some(15.9);
    let (who, why) = over_a_network(resent, false);
    assert_eq!((who, &*why), (Bottleneck::Network, "network.resent resent_percent=2.5"));
    let (who, why) = over_a_network(early, false);
    assert_eq!((who, &*why), (Bottleneck::Network, "network.out_of_order gaps_percent=15.9"));
    for dropped in [resent, early] {
        assert_ne!(over_a_network(dropped, true).0, Bottleneck::Network, "a buffer was full, not a network");
    }
}

/// Connections lost over a network, by the kind of error.
fn lost_over_a_network(kind: &str, same_host: bool, change: fn(&mut Step)) -> (Bottleneck, String) {
    judged(|step| {
        step.machine.as_mut().unwrap().same_host = Some(same_host);
        for _ in 0..600 {
            step.errors.add(kind, 0, "");
        }
        change(step);
        held_to(step);
    })
}

#[test]
fn unreachable_servers_are_the_networks() {
    let cut: fn(&mut Step) = |step| step.counts.disconnects = 600;
    let refused: fn(&mut Step) = |step| {
        (step.usable, step.counts.connected, step.counts.connect_failures) = (Some(400), 400, 600);
    };
    let out_of_reach = "network.unreachable lost=600 of=1000 what=\"clients\"";
    for kind in ["timed_out", "unreachable", "denied"] {
        for change in [cut, refused] {
            assert_eq!(lost_over_a_network(kind, false, change).1, out_of_reach, "{kind}");
        }
    }
    assert_eq!(lost_over_a_network("denied", true, refused).0, Bottleneck::Network, "a firewall's");
    assert_eq!(lost_over_a_network("timed_out", true, cut).0, Bottleneck::Server, "no way to cut");
    assert_eq!(lost_over_a_network("reset", false, cut).0, Bottleneck::Server);
    let stopped = lost_over_a_network("timed_out", false, |step| {
        step.counts.disconnects = 600;
        server(step).ended_ns = Some(3_000 * MS);
    });
    assert_eq!(stopped.1, "server.ended after_ms=3000.0");
    let lossy = lost_over_a_network("connect_timeout", false, |step| {
        (step.usable, step.counts.connect_timeouts) = (Some(990), 10);
        step.machine.as_mut().unwrap().retransmit_percent = Some(12.0);
    });
    assert_eq!(lossy.1, "network.resent resent_percent=12.0");
}
