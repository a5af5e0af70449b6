//! Results on the network: links that lose packets, links that are full, and servers whose queue is.

use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::support::fleet::attempts_at;
use crate::support::hostile::HostileServer;
use crate::support::process::Process;
use crate::support::throng::{Outcome, run, sum_of, throng};
use crate::support::wait_until;
use crate::support::wire::{SERVER, Wire};

/// A run of a few seconds, on a busy machine.
const RUN_MAX: Duration = Duration::from_secs(60);

/// A run over the wire against a server at its other end.
fn run_over(wire: &Wire, verb: &str, flags: &str) -> Outcome {
    let listen = format!("{SERVER}:9000");
    let _server = Process::start(&mut wire.far(&throng(["serve", "--quiet", "--listen", &listen])));
    let mut listening = Command::new("ss");
    listening.args(["-Htln", "sport", "=", ":9000"]);
    let is_up = || wire.far(&listening).output().is_ok_and(|output| !output.stdout.is_empty());
    assert!(wait_until(RUN_MAX, is_up), "the server does not listen");
    let mut load = throng([verb, &format!("ws://{listen}/"), "--format", "json", "--no-store", "--quiet"]);
    load.args(["--threads", "1", "--connect-timeout", "20s"]).args(flags.split_ascii_whitespace());
    let outcome = run(&mut wire.near(&load), RUN_MAX);
    assert!(sum_of(&outcome.json(), "received") > 0, "{outcome}");
    outcome
}

fn machine(outcome: &Outcome, name: &str) -> Option<f64> {
    outcome.json()["steps"][0]["machine"][name].as_f64()
}

#[test]
fn segments_lost_outward_are_retransmitted() {
    let flags = "--clients 20 --interval 50ms --duration 4s --drain-timeout 10s";
    let Some(fine) = Wire::new(0.0, 0) else { return };
    let outcome = run_over(&fine, "echo", flags);
    let resent = machine(&outcome, "retransmit_percent");
    assert!(resent.is_some_and(|share| share < 0.5), "{outcome}");
    assert_eq!(machine(&outcome, "network_percent"), None, "nobody knows its speed\n{outcome}");

    let Some(lossy) = Wire::new(5.0, 0) else { return };
    let outcome = run_over(&lossy, "echo", flags);
    let resent = machine(&outcome, "retransmit_percent");
    assert!(resent.is_some_and(|share| share > 1.0 && share < 20.0), "{outcome}");
    assert_eq!(outcome.json()["steps"][0]["server"], Value::Null, "it is elsewhere\n{outcome}");
}

#[test]
fn segments_lost_inward_leave_gaps() {
    let Some(wire) = Wire::new(5.0, 0) else { return };
    // Copies come close behind one another, so that what comes after one that is lost is there before it comes again.
    let flags = "--protocol json --clients 4 -c 20 -s 500 --payload 1KiB --drain-timeout 10s";
    let outcome = run_over(&wire, "broadcast", flags);
    assert!(machine(&outcome, "out_of_order_percent").is_some_and(|share| share > 1.0), "{outcome}");
}

#[test]
fn a_link_that_is_full_shows() {
    let Some(wire) = Wire::new(0.0, 2) else { return };
    let outcome =
        run_over(&wire, "echo", "--clients 20 -c 20 --payload 1KiB --duration 4s --drain-timeout 10s");
    assert!(machine(&outcome, "network_percent").is_some_and(|share| share > 80.0), "{outcome}");
}

#[test]
fn a_listen_queue_that_overflows_is_told() {
    const WAITING: usize = 20;
    // With room for two, and nobody who accepts them, until so many have found no room.
    let server = HostileServer::start_late(
        |listener| {
            rustix::net::listen(listener, 1).unwrap();
            let address = listener.local_addr().unwrap();
            wait_until(RUN_MAX, || attempts_at(address) >= WAITING);
            rustix::net::listen(listener, 1024).unwrap();
        },
        |peer| peer.upgrade().hold(),
    );
    let mut idle =
        throng(["idle", &server.url(), "--format", "json", "--no-store", "--quiet", "--no-preflight"]);
    let outcome = run(
        idle.args("--clients 40 --threads 1 --duration 1s --connect-timeout 60s".split(' ')),
        2 * RUN_MAX,
    );
    assert_eq!((outcome.code, sum_of(&outcome.json(), "connected")), (Some(0), 40), "{outcome}");
    let overflows = machine(&outcome, "listen_overflows");
    assert!(overflows.is_some_and(|times| times >= WAITING as f64), "{outcome}");
}
