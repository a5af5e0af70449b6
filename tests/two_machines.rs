//! Servers of a shootout under a target agent, with NATS on a free port: here both are this machine, the
//! agent's servers at a loopback address of their own. `fleet_networks.rs` has the same in two networks.

use std::process::Command;
use std::thread;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use crate::support::arena::Arena;
use crate::support::fleet::{Bus, messages_taken_in};
use crate::support::process::Process;
use crate::support::throng::{finish, run, throng};
use crate::support::{REACTS_WITHIN, START_MAX, free_address, wait_until};

const RUN_MAX: Duration = Duration::from_secs(90);
/// How long the remains of a lost coordinator or agent may last: its lease of 3 s, the server's grace of 2 s, and a
/// machine that others use as well.
const GONE_WITHIN: Duration = Duration::from_secs(15);

/// A target agent at that address.
fn agent(bus: &Bus, arena: &Arena, name: &str, address: &str) -> Process {
    let flags =
        ["--role", "target", "--name", name, "--advertise", address, "--targets-dir", &arena.targets()];
    let agent = bus.agent(&flags);
    let is_there = || bus.list().lines().any(|line| line.starts_with(name) && line.contains(" free"));
    assert!(wait_until(START_MAX, is_there), "{}", bus.list());
    agent
}

/// A shootout that is kept in `kept`.
fn shootout(bus: &Bus, arena: &Arena, agent: &str, flags: &[&str]) -> Command {
    let mut command = throng(["shootout", "tiny", "--target-agent", agent, "--nats", &bus.url]);
    if !flags.contains(&"--out") {
        command.args(["--out", "kept"]);
    }
    command.args(flags).current_dir(arena.folder());
    command
}

/// Connections that are open to servers at that address of the loopback network.
fn connections_to(host: [u8; 4]) -> usize {
    sockets("01", host, 2)
}

fn listeners_at(host: [u8; 4]) -> usize {
    sockets("0A", host, 1)
}

/// `end`: 1 for our end of a socket, 2 for the other, as columns of the kernel's table.
fn sockets(state: &str, host: [u8; 4], end: usize) -> usize {
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let host = format!("{:08X}:", u32::from_le_bytes(host));
    let is_it = |line: &&str| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        fields[3] == state && fields[end].starts_with(&host)
    };
    table.lines().filter(is_it).count()
}

fn assert_is_measured(results: &Value) {
    let (step, server) = (&results["steps"][0], &results["steps"][0]["server"]);
    assert_eq!(step["counts"]["missing"], 0, "{step}");
    assert!(step["counts"]["received"].as_u64().unwrap() > 50, "{step}");
    assert!(server["cpu_percent_mean"].is_f64(), "{server}");
    assert!(server["rss_bytes_peak"].as_u64().unwrap() > 100_000, "{server}");
    assert!(server["threads"].as_u64().unwrap() > 0, "{server}");
    assert!(!server["thread_use"].as_array().unwrap().is_empty(), "{server}");
}

#[test]
fn agent_servers_are_measured_like_local_ones() {
    let (Some(bus), arena) = (Bus::start(), Arena::echoing_for(1)) else { return };
    let _agent = agent(&bus, &arena, "rack", "127.0.0.21");
    let outcome = run(&mut shootout(&bus, &arena, "rack", &["--format", "json"]), RUN_MAX);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    let report = std::fs::read_to_string(arena.path("kept/report.md")).unwrap();
    assert!(report.contains(" target agent rack"), "{report}");
    for target in ["throng", "sh-copy"] {
        assert_eq!(arena.trouble("echo", target), Value::Null, "{outcome}");
        let results = arena.kept(&format!("echo/{target}-1.json"));
        assert_is_measured(&results);
        assert_eq!(results["target"]["name"], target);
        assert!(results["target"]["url"].as_str().unwrap().starts_with("ws://127.0.0.21:"), "{results}");
    }
    assert_eq!(arena.kept("echo/sh-copy-1.json")["target"]["version"], "1.0");
    assert!(outcome.stderr.lines().any(|line| line.starts_with("unix is left out: ")), "{outcome}");
    let head = arena.kept("shootout.json");
    assert_eq!(head["target_agent"], "rack");
    assert!(head["machine"].to_string().contains("rack at 127.0.0.21: "), "{head}");
    assert_eq!(listeners_at([127, 0, 0, 21]), 0, "nothing is left");

    let mut resumed = throng(["shootout", "--resume", "kept"]);
    let elsewhere = run(resumed.args(["--format", "json"]).current_dir(arena.folder()), RUN_MAX);
    elsewhere.assert_failed(2, "usage.resume", &["rack"]);
}

#[test]
fn nobody_has_to_wait_for_a_target_agent() {
    let told_at = free_address();
    let Some(bus) = Bus::start_with("", &["-m", &told_at.port().to_string()]) else { return };
    let arena = Arena::echoing_for(1);
    let process = Process::start(&mut shootout(&bus, &arena, "nobody", &["--fleet-wait", "60s"]));
    assert!(wait_until(START_MAX, || messages_taken_in(told_at) >= 2), "it calls nobody");
    assert!(process.signal(Signal::INT), "it does not wait");
    let outcome = finish(process, REACTS_WITHIN);
    assert_eq!(outcome.code, Some(130), "{outcome}");
}

#[test]
fn load_may_come_from_the_fleet() {
    let (Some(bus), arena) = (Bus::start(), Arena::echoing_for(1)) else { return };
    let _loader = bus.agent(&["--name", "loader", "--threads", "1"]);
    bus.await_agents(1);
    let _agent = agent(&bus, &arena, "rack", "127.0.0.22");
    let flags = ["--fleet", &bus.url, "--targets", "sh-copy"];
    let outcome = run(&mut shootout(&bus, &arena, "rack", &flags), RUN_MAX);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    assert_eq!(arena.trouble("echo", "sh-copy"), Value::Null, "{outcome}");
    let results = arena.kept("echo/sh-copy-1.json");
    assert_is_measured(&results);
    assert_eq!(results["steps"][0]["fleet"][0]["name"], "loader", "{results}");
}

#[test]
fn killed_loaders_are_not_the_servers_fault() {
    let (Some(bus), arena) = (Bus::start(), Arena::echoing_for(20)) else { return };
    let doomed = bus.agent(&["--name", "doomed", "--threads", "1"]);
    bus.await_agents(1);
    let mut command = throng(["shootout", "tiny", "--targets", "throng", "--out", "kept"]);
    command.args(["--fleet", &bus.url, "--fleet-wait", "0s"]).current_dir(arena.folder());
    let process = Process::start(&mut command);
    let is_busy = || bus.list().lines().any(|line| line.starts_with("doomed") && line.contains("run "));
    assert!(wait_until(START_MAX, is_busy), "no load");
    // It is claimed first, and loads for long.
    thread::sleep(Duration::from_secs(3));
    doomed.signal(Signal::KILL);
    let outcome = finish(process, RUN_MAX);
    let trouble = arena.trouble("echo", "throng");
    assert_eq!(trouble["stage"], "load", "{trouble}\n{outcome}");
    assert!(trouble["reason"].as_str().unwrap().contains("agent doomed was lost"), "{trouble}");
}

#[test]
fn killed_agents_leave_no_server() {
    let (Some(bus), arena) = (Bus::start(), Arena::echoing_for(20)) else { return };
    let doomed = agent(&bus, &arena, "doomed", "127.0.0.23");
    let flags = ["--targets", "throng"];
    let process = Process::start(&mut shootout(&bus, &arena, "doomed", &flags));
    // Before it is kept, the server is being checked, by several connections, too.
    let is_loaded = || arena.path("kept/cells.jsonl").exists() && connections_to([127, 0, 0, 23]) >= 4;
    assert!(wait_until(START_MAX, is_loaded), "no load");
    doomed.signal(Signal::KILL);
    let outcome = finish(process, RUN_MAX);
    assert_eq!(outcome.code, Some(1), "there is nothing of it\n{outcome}");
    let trouble = arena.trouble("echo", "throng");
    assert_eq!(trouble["stage"], "load", "no fault of the server's: {trouble}");
    let reason = trouble["reason"].as_str().unwrap();
    assert!(reason.contains("target agent doomed ") && reason.contains(" 3 s"), "{reason}");
    assert!(outcome.stdout.contains("target agent doomed "), "{outcome}");
    assert!(wait_until(GONE_WITHIN, || listeners_at([127, 0, 0, 23]) == 0), "its server is still there");
}

#[test]
fn killed_coordinators_leave_no_server() {
    let (Some(bus), arena) = (Bus::start(), Arena::echoing_for(60)) else { return };
    let _agent = agent(&bus, &arena, "rack", "127.0.0.24");
    let flags = ["--targets", "throng"];
    let coordinator = Process::start(&mut shootout(&bus, &arena, "rack", &flags));
    assert!(wait_until(START_MAX, || connections_to([127, 0, 0, 24]) >= 4), "no load");
    assert!(bus.list().contains("servers at 127.0.0.24  run "), "{}", bus.list());
    let second =
        run(&mut shootout(&bus, &arena, "rack", &["--fleet-wait", "0s", "--out", "second"]), RUN_MAX);
    assert_eq!(second.code, Some(1), "one at a time\n{second}");
    coordinator.signal(Signal::KILL);
    assert!(wait_until(GONE_WITHIN, || listeners_at([127, 0, 0, 24]) == 0), "its server is still there");
    assert!(wait_until(GONE_WITHIN, || bus.list().contains(" free")), "{}", bus.list());
}

#[test]
fn unavailable_targets_are_said() {
    let (Some(bus), arena) = (Bus::start(), Arena::echoing_for(1)) else { return };
    let elsewhere = Arena::echoing_for(1);
    std::fs::remove_dir_all(elsewhere.path("targets/sh-copy")).unwrap();
    let _agent = agent(&bus, &elsewhere, "bare", "127.0.0.25");
    let lacking = run(&mut shootout(&bus, &arena, "bare", &["--targets", "sh-copy"]), RUN_MAX);
    let receipts = arena.kept("shootout.json")["receipts"].to_string();
    assert!(receipts.contains("target sh-copy"), "{receipts}\n{lacking}");

    // Which CPUs there are, the agent's machine alone knows.
    let flags = ["--targets", "throng", "--server-pin", "1023", "--out", "pinned"];
    let pinned = run(&mut shootout(&bus, &arena, "bare", &flags), RUN_MAX);
    assert!(pinned.stdout.contains("[1023]: Invalid argument"), "{pinned}");

    let nobody = ["--fleet-wait", "0s", "--format", "json"];
    let nobody = run(&mut shootout(&bus, &arena, "nobody", &nobody), RUN_MAX);
    nobody.assert_failed(1, "could_not.run_servers.agents", &["target agent nobody", "bare"]);

    let nowhere = run(throng(["shootout", "--target-agent", "rack"]).current_dir(arena.folder()), RUN_MAX);
    assert_eq!(nowhere.code, Some(2), "{nowhere}");
    assert!(nowhere.stderr.contains("--nats"), "{nowhere}");

    let mut loads = throng(["echo", "ws://127.0.0.1:9/", "--fleet", &bus.url, "--fleet-wait", "0s"]);
    let loads = run(loads.args(["--format", "json"]), RUN_MAX);
    loads.assert_failed(6, "generator.start_workers.too_few", &["\n  bare "]);

    let pinned = run(&mut throng(["agent", "--nats", &bus.url, "--role", "target", "--pin", "0"]), RUN_MAX);
    assert_eq!(pinned.code, Some(2), "{pinned}");
}
