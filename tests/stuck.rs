//! Processes that stand still, by SIGSTOP, at each phase of a run: everything else ends in bounded time, with what was
//! measured. The walk over all of them takes minutes, and is `make torture`'s.

use std::fs;
use std::process::Command;
use std::thread;
use std::time::Duration;

use net::proc::ports_of_tree;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::arena::{Arena, SERVE, tiny_suite};
use crate::support::fleet::{Bus, connections_to};
use crate::support::process::Process;
use crate::support::target::tools;
use crate::support::throng::{Outcome, Server, caveat, finish, run, start_measuring, sum_of, throng, under};
use crate::support::wait_until;

/// Ten seconds of silence, two to salvage, and all that is killed, on a busy machine.
const RUN_MAX: Duration = Duration::from_secs(60);
/// How long a coordinator stands still: longer than any of its workers may be silent.
const STOPPED: Duration = Duration::from_secs(12);
/// How long a phase may take to begin.
const PHASE_WITHIN: Duration = Duration::from_secs(30);

const GENERATOR_FAILED: Option<i32> = Some(6);
const INTERRUPTED: Option<i32> = Some(130);

/// The phase of a run when one of its processes stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Connecting,
    Loading,
    Draining,
}

impl Phase {
    /// Flags that hold a run in the phase for at least some seconds.
    fn flags(self) -> &'static [&'static str] {
        match self {
            Phase::Connecting => &["--connect-rate", "4", "--duration", "1s", "--drain-timeout", "2s"],
            Phase::Loading => &["--duration", "25s", "--drain-timeout", "2s"],
            Phase::Draining => &["--duration", "1s", "--drain-timeout", "25s"],
        }
    }

    /// The server's fault for it.
    fn fault(self) -> &'static [&'static str] {
        match self {
            Phase::Draining => &["--fault", "drop=1/2"],
            Phase::Connecting | Phase::Loading => &[],
        }
    }

    /// Starts a run of 40 clients, and waits until it is in the phase, without a word of what it is at.
    fn reach(self, command: &mut Command, server: &Server) -> Process {
        let folder = tempfile::tempdir().unwrap();
        let lines = folder.path().join("lines.json");
        command.args(["--clients", "40", "--interval", "100ms", "--format", "json", "--no-preflight"]);
        let process = Process::start(command.args(self.flags()).arg("--stream").arg(&lines));
        let has = |field: &str| fs::read_to_string(&lines).is_ok_and(|text| text.contains(field));
        let is_reached = || match self {
            Phase::Connecting => connections_to(server.address) >= 4,
            Phase::Loading => has(r#""event":"second""#),
            Phase::Draining => has(r#""phase":"draining""#),
        };
        assert!(wait_until(PHASE_WITHIN, is_reached), "{self:?} is not reached");
        process
    }
}

fn stop(pid: Pid) {
    kill_process(pid, Signal::STOP).unwrap();
}

/// The children of a process whose command line has this word.
fn children(parent: Pid, word: &str) -> Vec<Pid> {
    let pid = parent.as_raw_nonzero();
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).expect("it runs").flatten();
    let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    let pids: Vec<i32> = lists.flat_map(|list| numbers(&list)).collect();
    let is_it = |pid: &i32| {
        fs::read_to_string(format!("/proc/{pid}/cmdline"))
            .is_ok_and(|line| line.split('\0').any(|w| w == word))
    };
    pids.into_iter().filter(is_it).filter_map(Pid::from_raw).collect()
}

fn numbers(list: &str) -> Vec<i32> {
    list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

/// A run of two processes.
fn divided(server: &Server) -> Command {
    let mut command = throng(["echo", &server.url(), "--protocol", "json", "--processes", "2"]);
    command.args(["--threads", "1"]);
    command
}

fn stop_a_child(run: &Process) {
    stop(*children(run.pid(), "child-agent").first().expect("a child process"));
}

/// A run that lost a child at this phase: it says so, with what was measured.
fn assert_salvaged(outcome: &Outcome, phase: Phase) {
    assert_eq!(outcome.code, GENERATOR_FAILED, "{phase:?}: {outcome}");
    assert!(outcome.stderr.contains(" 10 s"), "{phase:?}: {outcome}");
    let results = outcome.json();
    assert!(sum_of(&results, "connected") > 0, "{phase:?}: what was measured is lost\n{outcome}");
    if phase != Phase::Connecting {
        assert!(sum_of(&results, "received") > 0, "{phase:?}: what was measured is lost\n{outcome}");
    }
    assert!(caveat(&results, "cut_short").is_some(), "{phase:?}: {outcome}");
    // Nothing is said of the server, and nobody is missing who had no time to come.
    assert_eq!(results["verdict"]["claims"]["how_much"], "cannot_tell.maimed", "{phase:?}: {outcome}");
    assert_eq!(results["steps"][0]["usable"].is_null(), phase == Phase::Connecting, "{phase:?}: {outcome}");
}

fn a_child_that_stands_still(phase: Phase) {
    let server = Server::start(phase.fault());
    let run = phase.reach(&mut divided(&server), &server);
    stop_a_child(&run);
    assert_salvaged(&finish(run, RUN_MAX), phase);
}

/// A run of 40 clients with a server of its own.
fn self_contained(flags: &str) -> Command {
    let mut command = throng(["echo", "--clients", "40", "--interval", "100ms", "--format", "json"]);
    command.args(flags.split(' ')).args(["--drain-timeout", "2s"]);
    command
}

/// Connections to the server that a run has started for itself, whose address nobody knows beforehand.
fn connections_to_own_server(run: &Process) -> usize {
    let servers = children(run.pid(), "serve");
    let tree = |pid: &Pid| ports_of_tree(pid.as_raw_nonzero().get().unsigned_abs());
    let listeners = servers.first().and_then(|pid| tree(pid).ok()).unwrap_or_default();
    listeners.into_iter().map(connections_to).sum()
}

/// Stops the server that a run has started for itself.
fn a_built_in_server_that_stands_still(run: Process) {
    stop(*children(run.pid(), "serve").first().expect("it is needed still"));
    let outcome = finish(run, RUN_MAX);
    assert_eq!(outcome.code, Some(3), "clients had no answer\n{outcome}");
    let results = outcome.json();
    assert_eq!(results["steps"].as_array().map(Vec::len), Some(1), "{outcome}");
    assert!(sum_of(&results, "connected") > 0, "{outcome}");
}

fn a_coordinator_that_stands_still(phase: Phase) {
    let server = Server::start(phase.fault());
    let run = phase.reach(&mut divided(&server), &server);
    stop(run.pid());
    thread::sleep(STOPPED);
    run.signal(Signal::CONT);
    let outcome = finish(run, RUN_MAX);
    // It has not listened: nobody was silent.
    assert!(outcome.code.is_some_and(|code| [0, 3].contains(&code)), "{phase:?}: {outcome}");
    assert!(sum_of(&outcome.json(), "received") > 0, "{phase:?}: {outcome}");
}

/// One of the two agents of a fleet, or a process of it; the run goes on without.
fn an_agent_that_stands_still(phase: Phase, is_its_child: bool) {
    let Some(bus) = Bus::start() else { return };
    let agent = |name| {
        // With files for ten clients in a process of two threads, each has two.
        let flags =
            ["agent", "--nats", &bus.url, "--threads", "2", "--name", name, "--allow", "127.0.0.0/8:*"];
        let agent = throng(flags);
        Process::start(&mut under("prlimit", &["--nofile=78:78", "--"], &agent))
    };
    let agents = ["a", "b"].map(agent);
    bus.await_agents(2);
    let server = Server::start(phase.fault());
    let mut command = throng(["echo", &server.url(), "--protocol", "json", "--fleet", &bus.url]);
    command.args(["--on-agent-loss", "continue"]);
    let run = phase.reach(&mut command, &server);
    let agent = agents[0].pid();
    stop(if is_its_child { children(agent, "child-agent")[0] } else { agent });
    let outcome = finish(run, RUN_MAX);
    let step = &outcome.json()["steps"][0];
    assert!(step["fleet"][0]["lost"].is_string(), "{phase:?}: {outcome}");
    assert_eq!(step["agents"], 1, "{phase:?}: {outcome}");
}

/// NATS, and with it all agents.
fn a_bus_that_stands_still(phase: Phase) {
    let Some(bus) = Bus::start() else { return };
    let mut agent = bus.agent(&["--name", "a", "--threads", "2"]);
    bus.await_agents(1);
    let server = Server::start(phase.fault());
    let mut command = throng(["echo", &server.url(), "--protocol", "json", "--fleet", &bus.url]);
    let run = phase.reach(&mut command, &server);
    stop(bus.pid());
    let outcome = finish(run, RUN_MAX);
    assert_eq!(outcome.code, GENERATOR_FAILED, "{phase:?}: {outcome}");
    assert!(outcome.stderr.contains("no word from it for 3 s"), "{phase:?}: {outcome}");
    assert!(sum_of(&outcome.json(), "connected") > 0, "{phase:?}: {outcome}");
    assert!(wait_until(RUN_MAX, || connections_to(server.address) == 0), "the agent goes on");
    agent.signal(Signal::TERM);
    assert!(agent.wait(RUN_MAX).is_some(), "{phase:?}: the agent does not end");
}

#[test]
fn stuck_children_end_the_run() {
    a_child_that_stands_still(Phase::Loading);
}

#[test]
fn stuck_own_servers_delay_nobody() {
    a_built_in_server_that_stands_still(start_measuring(&mut self_contained("--duration 4s")));
}

/// The same while it still answers more than it had the time for.
fn a_built_in_server_that_stands_still_while_it_drains() {
    let folder = tempfile::tempdir().unwrap();
    let lines = folder.path().join("lines.json");
    // Four million copies: sent within the second, and received by no machine.
    let mut command = throng(["broadcast", "--clients", "400", "--rate", "10000", "--duration", "1s"]);
    command.args(["--drain-timeout", "20s", "--format", "json"]);
    let run = Process::start(command.arg("--stream").arg(&lines));
    let drains = || fs::read_to_string(&lines).is_ok_and(|text| text.contains(r#""phase":"draining""#));
    assert!(wait_until(PHASE_WITHIN, drains), "nothing is under way");
    stop(*children(run.pid(), "serve").first().expect("it is needed still"));
    let outcome = finish(run, RUN_MAX);
    assert!(outcome.code.is_some_and(|code| [0, 3].contains(&code)), "{outcome}");
    assert!(sum_of(&outcome.json(), "received") > 0, "{outcome}");
}

/// All processes of a run, one after the other.
fn everybody_stands_still(phase: Phase) {
    a_child_that_stands_still(phase);
    a_coordinator_that_stands_still(phase);
    an_agent_that_stands_still(phase, false);
    an_agent_that_stands_still(phase, true);
    a_bus_that_stands_still(phase);
}

#[test]
#[ignore = "two minutes: make torture"]
fn torture_everybody_stands_still_while_clients_connect() {
    everybody_stands_still(Phase::Connecting);
    let run = Process::start(&mut self_contained("--connect-rate 4 --duration 1s"));
    assert!(wait_until(PHASE_WITHIN, || connections_to_own_server(&run) >= 4), "no server of its own");
    a_built_in_server_that_stands_still(run);
}

#[test]
#[ignore = "two minutes: make torture"]
fn torture_everybody_stands_still_under_load() {
    everybody_stands_still(Phase::Loading);
}

#[test]
#[ignore = "two minutes: make torture"]
fn torture_everybody_stands_still_while_the_step_drains() {
    everybody_stands_still(Phase::Draining);
    a_built_in_server_that_stands_still_while_it_drains();
}

#[test]
fn second_interrupts_do_not_wait() {
    let server = Server::start(&[]);
    let mut echo = divided(&server);
    echo.args(["--clients", "10", "--interval", "100ms", "--duration", "60s", "--format", "json"]);
    let run = start_measuring(&mut echo);
    stop_a_child(&run);
    run.signal(Signal::INT);
    thread::sleep(Duration::from_millis(500));
    assert!(run.signal(Signal::INT), "ended although a child owes its books");
    let outcome = finish(run, Duration::from_secs(8));
    assert_eq!(outcome.code, INTERRUPTED, "{outcome}");
    assert!(sum_of(&outcome.json(), "received") > 0, "what there is is lost\n{outcome}");
}

#[test]
fn workers_without_clients_hold_nobody_up() {
    let server = Server::start(&[]);
    // Eight processes begin 160 ms after they were told: those without a client are done before.
    let mut echo = throng(["echo", &server.url(), "--clients", "1", "--processes", "8", "--threads", "1"]);
    echo.args(["--interval", "50ms", "--duration", "1s", "--format", "json"]);
    let outcome = run(&mut echo, RUN_MAX);
    outcome.assert_held();
    assert_eq!(
        sum_of(&outcome.json(), "sent"),
        20,
        "the one that has a client has the whole load\n{outcome}"
    );
    assert_eq!(outcome.json()["steps"][0]["workers"], 8, "{outcome}");
}

#[test]
fn leftovers_of_version_commands_are_not_awaited() {
    let arena = Arena::new("", SERVE);
    let manifest = fs::read_to_string(arena.path("targets/sh-copy/target.toml")).unwrap();
    let leaving = r#"["sh", "-c", "sleep 300 & echo 1.0"]"#;
    let manifest = manifest.replace(r#"["cat", "version"]"#, leaving);
    assert!(manifest.contains(leaving));
    fs::write(arena.path("targets/sh-copy/target.toml"), manifest).unwrap();
    let list = run(throng(["targets", "list", "--format", "json"]).current_dir(arena.folder()), RUN_MAX);
    assert_eq!(list.code, Some(0), "{list}");
    let rows: Value = serde_json::from_str(&list.stdout).unwrap();
    assert!(rows.to_string().contains("1.0"), "{list}");
}

#[test]
fn a_server_that_died_unnoticed_was_not_measured() {
    // Not SIGINT: a shell that is started in the background, as these tests may be, has that ignored and
    // cannot trap it.
    let arena = Arena::new("", "trap 'exit 7' USR1\n\"$THRONG\" serve --listen \"$AT\" &\nwait\n");
    let folder = arena.path("targets/sh-copy");
    let target = suite::Target::of_folder(&folder, suite::Readers::INDIFFERENT).unwrap().remove(0);
    let start = || suite::Server::start(&target, Some(&arena.path("log")), &[], &tools()).unwrap();
    assert_eq!(start().finish(), None, "it was asked to stop");
    let server = start();
    let pid = Pid::from_raw(server.pid() as i32).unwrap();
    // With its own child, its trap is set.
    let children = || fs::read_to_string(format!("/proc/{0}/task/{0}/children", server.pid()));
    assert!(wait_until(RUN_MAX, || children().is_ok_and(|pids| !pids.is_empty())), "it starts nothing");
    kill_process(pid, Signal::USR1).unwrap();
    let state = || fs::read_to_string(format!("/proc/{}/cmdline", server.pid())).unwrap_or_default();
    assert!(wait_until(RUN_MAX, || state().is_empty()), "it goes on");
    assert!(server.finish().is_some_and(|death| death.starts_with("the server exited with 7")));
}

#[test]
#[ignore = "half a minute: make torture"]
fn torture_stuck_guards_are_killed() {
    let suite = tiny_suite(1, r#"clients = 3, duration = "4s", drain-timeout = "1s""#, &["rtt.p50"]);
    let arena = Arena::new(&suite, SERVE);
    let mut command = throng(["shootout", "tiny", "--out", "kept", "--targets", "sh-copy"]);
    let run = Process::start(command.current_dir(arena.folder()));
    let measures =
        || arena.path("kept/echo/sh-copy-1.log").exists() && !children(run.pid(), "echo").is_empty();
    assert!(wait_until(RUN_MAX, measures), "no measurement begins");
    let guard = children(run.pid(), "guard")[0];
    let server = fs::read_to_string(format!("/proc/{0}/task/{0}/children", guard.as_raw_nonzero())).unwrap();
    stop(guard);
    let outcome = finish(run, RUN_MAX);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    for pid in numbers(&server) {
        assert!(!fs::exists(format!("/proc/{pid}/cwd")).unwrap(), "the server outlives its guard");
    }
}
