//! Agents on other machines: what they measure together, and what happens when one of them, the bus or the coordinator
//! goes away. Here they are processes of this machine, with NATS on a free port of the loopback address; beside them is
//! `fleet_networks.rs`, where each has a network of its own.

use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use crate::support;
use crate::support::fleet::{Bus, is_there, messages_taken_in};
use crate::support::process::Process;
use crate::support::throng::{Outcome, Server, finding, finish, run, start_measuring, sum_of, throng};

const RUN_MAX: Duration = Duration::from_secs(60);

/// NATS with these agents, or the reason why there is none.
fn fleet<const N: usize>(names: [&str; N]) -> Option<(Bus, [Process; N])> {
    let bus = Bus::start()?;
    let agents = names.map(|name| bus.agent(&["--name", name, "--threads", "1"]));
    bus.await_agents(N);
    Some((bus, agents))
}

fn load(bus: &Bus, server: &Server, verb: &str, flags: &str) -> Command {
    let mut command = throng([verb, &server.url(), "--format", "json", "--fleet", &bus.url]);
    command.args(flags.split_ascii_whitespace());
    command
}

fn step(outcome: &Outcome) -> Value {
    outcome.json()["steps"][0].clone()
}

fn count(step: &Value, name: &str) -> u64 {
    step["counts"][name].as_u64().unwrap_or_else(|| panic!("no count {name} in {}", step["counts"]))
}

#[test]
fn a_fleet_counts_every_copy_whoever_sent_it() {
    let Some((bus, _agents)) = fleet(["a", "b"]) else { return };
    let server = Server::start(&["--threads", "1", "--fault", "drop=99%100,dup=124%250"]);
    let outcome =
        run(&mut load(&bus, &server, "broadcast", "--clients 20 -c 4 -s 500 --drain-timeout 5s"), RUN_MAX);
    let step = step(&outcome);
    assert_eq!(count(&step, "sent"), 500, "{outcome}");
    assert_eq!(count(&step, "expected"), 500 * 20, "{outcome}");
    let arrived = (count(&step, "received"), count(&step, "missing"), count(&step, "duplicate"));
    assert_eq!(arrived, (9_900, 100, 40), "{outcome}");
    assert_eq!(step["delivery"]["count"], count(&step, "received"), "{outcome}");
    assert_eq!((&step["agents"], &step["workers"]), (&2.into(), &2.into()), "{outcome}");
    let names: Vec<&Value> = step["fleet"].as_array().unwrap().iter().map(|agent| &agent["name"]).collect();
    assert_eq!(names, ["a", "b"], "{outcome}");
    // One machine has one clock, so the offset is nothing but its error.
    for agent in step["fleet"].as_array().unwrap() {
        let (offset, error) =
            (agent["clock_offset_ns"].as_i64().unwrap(), agent["clock_error_ns"].as_u64().unwrap());
        assert!(offset.unsigned_abs() <= error, "{outcome}");
    }
}

#[test]
fn agents_with_few_clients_delay_nobody() {
    let Some(bus) = Bus::start() else { return };
    let _agent = bus.agent(&["--name", "a", "--threads", "2"]);
    bus.await_agents(1);
    let server = Server::start(&[]);
    let outcome = run(&mut load(&bus, &server, "echo", "--clients 1 --interval 50ms --duration 1s"), RUN_MAX);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    assert_eq!(count(&step(&outcome), "sent"), 20, "{outcome}");
}

#[test]
fn nobody_has_to_wait_for_agents() {
    let told_at = support::free_address();
    let Some(bus) = Bus::start_with("", &["-m", &told_at.port().to_string()]) else { return };
    let server = Server::start(&[]);
    let mut command = load(&bus, &server, "echo", "--clients 1 --agents 3 --fleet-wait 60s");
    let process = Process::start(&mut command);
    assert!(support::wait_until(support::START_MAX, || messages_taken_in(told_at) >= 2), "it calls nobody");
    let before = messages_taken_in(told_at);
    std::thread::sleep(Duration::from_secs(2));
    let calls = messages_taken_in(told_at) - before;
    assert!(calls < 100, "{calls} calls in two seconds");
    assert!(process.signal(Signal::INT), "it does not wait");
    let outcome = finish(process, support::REACTS_WITHIN);
    assert_eq!(outcome.code, Some(130), "{outcome}");
}

#[test]
fn agents_far_ahead_deliver_in_the_present() {
    let Some((bus, _agents)) = fleet(["near"]) else { return };
    let Some(_ahead) = bus.agent_in_time(100_000, &["--name", "ahead", "--threads", "1"]) else { return };
    bus.await_agents(2);
    let server = Server::start(&[]);
    let outcome = run(&mut load(&bus, &server, "broadcast", "--clients 20 -c 2 -s 200"), RUN_MAX);
    let step = step(&outcome);
    assert_eq!(step["delivery"]["count"], 200 * 20, "{outcome}");
    assert!(step["delivery"]["max_ms"].as_f64().unwrap() < 10_000.0, "{outcome}");
    let ahead = &step["fleet"][0];
    assert_eq!(ahead["name"], "ahead", "{outcome}");
    let offset_s = ahead["clock_offset_ns"].as_i64().unwrap() / 1_000_000_000;
    assert!((-100_001..=-99_999).contains(&offset_s), "{outcome}");
}

#[test]
fn agents_serve_one_run_at_a_time() {
    let Some((bus, _agents)) = fleet(["only"]) else { return };
    let server = Server::start(&[]);
    let first =
        start_measuring(&mut load(&bus, &server, "echo", "--clients 10 --interval 100ms --duration 120s"));
    assert!(bus.list().contains("run "), "{}", bus.list());
    let second = run(&mut load(&bus, &server, "echo", "--clients 10 --fleet-wait 0s"), RUN_MAX);
    assert_eq!(second.code, Some(6), "{second}");
    second.assert_failed(6, "generator.start_workers.too_few", &["0 of 1 ", "\n  only "]);
    first.signal(Signal::INT);
    let first = finish(first, RUN_MAX);
    let [received, missing] = ["received", "missing"].map(|name| count(&step(&first), name));
    assert!(first.code == Some(130) && received > 0 && missing == 0, "{first}");
    let third = run(&mut load(&bus, &server, "echo", "--clients 10 --interval 100ms --duration 1s"), RUN_MAX);
    assert_eq!((third.code, sum_of(&third.json(), "received")), (Some(0), 100), "{third}");
}

#[test]
fn fleet_clients_may_leave_in_mid_message() {
    let Some((bus, _agents)) = fleet(["one", "two"]) else { return };
    // Half a second of answers is under way to whoever leaves.
    let server = Server::start(&["--fault", "delay=500ms"]);
    let flags = "--clients 20 --rate 400 --churn 20%/s --duration 2s";
    let outcome = run(&mut load(&bus, &server, "echo", flags), RUN_MAX);
    outcome.assert_held();
    let results = outcome.json();
    let of = |name| sum_of(&results, name);
    assert_eq!((of("sent"), of("missing"), of("left")), (800, 0, 8), "{outcome}");
    assert!(of("in_flight") > 0 && of("expected") == of("received") + of("in_flight"), "{outcome}");
}

#[test]
fn killed_agents_are_named() {
    let Some((bus, [doomed, _survivor])) = fleet(["doomed", "survivor"]) else { return };
    let server = Server::start(&[]);
    let flags = "--clients 20 --interval 50ms --duration 8s --on-agent-loss continue";
    let process = start_measuring(&mut load(&bus, &server, "echo", flags));
    doomed.signal(Signal::KILL);
    let went_on = finish(process, RUN_MAX);
    assert_eq!(went_on.code, Some(0), "{went_on}");
    let went_on_step = step(&went_on);
    assert_eq!(went_on_step["agents"], 1, "{went_on}");
    assert!(
        went_on_step["generator"]["bytes_per_client"].is_null(),
        "what the dead had is unknown\n{went_on}"
    );
    assert_eq!(count(&went_on_step, "missing"), 0, "nothing is due from the dead\n{went_on}");
    assert!(count(&went_on_step, "received") >= 1_600, "the survivor sent all of its part\n{went_on}");
    let lost = finding(&went_on_step["caveats"], "caveat.lost_agents").expect("it was lost");
    assert_eq!((lost["lost"].as_u64(), lost["of"].as_u64()), (Some(1), Some(2)), "{lost}");
    let which = lost["which"].as_str().unwrap();
    assert!(which.starts_with("doomed: ") && which.contains(" 3 s"), "{which}");
    assert_every_form_says(&went_on, which);

    let doomed = bus.agent(&["--name", "doomed", "--threads", "1"]);
    bus.await_agents(2);
    let mut command = load(&bus, &server, "echo", "--clients 20 --interval 100ms --duration 120s");
    let process = start_measuring(&mut command);
    doomed.signal(Signal::KILL);
    // It would go on for twice as long.
    let ended = finish(process, RUN_MAX);
    assert_eq!(ended.code, Some(6), "{ended}");
    assert!(ended.stderr.contains("agent doomed "), "{ended}");
    assert!(count(&step(&ended), "received") > 0, "what was measured is reported\n{ended}");
}

/// Whatever a run's results are turned into says this.
fn assert_every_form_says(outcome: &Outcome, text: &str) {
    let dir = tempfile::tempdir().unwrap();
    let (results, page) = (dir.path().join("run.json"), dir.path().join("run.html"));
    std::fs::write(&results, &outcome.stdout).unwrap();
    for format in [None, Some("--md"), Some("--csv"), Some("--json")] {
        let report = run(throng(["report"]).args(format).arg(&results), RUN_MAX);
        assert!(report.stdout.contains(text), "{format:?}\n{report}");
    }
    let report = run(throng(["report", "--html"]).arg(&page).arg(&results), RUN_MAX);
    assert!(std::fs::read_to_string(page).unwrap().contains(text), "{report}");
}

#[test]
fn an_agent_that_refuses_is_free_at_once() {
    let Some(bus) = Bus::start() else { return };
    let _agent = bus.agent(&["--name", "strict", "--allow", "ws://10.0.0.1:9000"]);
    bus.await_agents(1);
    let server = Server::start(&[]);
    let refused = run(&mut load(&bus, &server, "echo", "--clients 1 -s 10"), RUN_MAX);
    assert!(refused.stderr.contains("it may not load"), "{refused}");
    // Its lease would go on for 3 s; to ask takes 0.7 s.
    let list = bus.list();
    assert!(list.contains(" free"), "{list}");
}

#[test]
fn refused_runs_claim_no_agent() {
    let Some((bus, _agents)) = fleet(["a"]) else { return };
    let server = Server::start(&[]);
    let folder = tempfile::tempdir().unwrap();
    let (people, row) = (folder.path().join("people.csv"), "x".repeat(1 << 20) + "\n");
    std::fs::write(&people, format!("note\n{}", row.repeat(65))).unwrap();
    let mut command = load(&bus, &server, "echo", "--clients 65 -s 65 --no-preflight --users");
    let refused = run(command.arg(&people), RUN_MAX);
    assert!(refused.stderr.contains("people's data takes 65 MiB"), "{refused}");
    let list = bus.list();
    assert!(list.contains(" free"), "{list}");
}

#[test]
fn without_a_coordinator_agents_stop_loading() {
    let Some((bus, _agents)) = fleet(["left"]) else { return };
    let server = Server::start(&[]);
    let coordinator = Process::start(&mut load(&bus, &server, "echo", "--clients 50 --duration 120s"));
    let connections = || support::fleet::connections_to(server.address);
    assert!(support::wait_until(RUN_MAX, || connections() >= 50), "{}", connections());
    coordinator.signal(Signal::KILL);
    // The load itself would go on for twice as long.
    assert!(support::wait_until(RUN_MAX, || connections() == 0), "{} are left", connections());
    assert!(support::wait_until(RUN_MAX, || bus.list().contains("free")), "{}", bus.list());
}

#[test]
fn killed_coordinators_go_on_with_their_step() {
    let Some((bus, _agents)) = fleet(["a", "b"]) else { return };
    let server = Server::start(&[]);
    let dir = tempfile::tempdir().unwrap();
    let walk = |more: &[&str]| {
        let flags = "--step-size 10 --total-steps 3 --interval 100ms --duration 2s --limit-rtt 20s --quiet";
        let mut command = load(&bus, &server, "echo", flags);
        // Of two leases one ends first: without a number, whoever is free by then would do.
        command.args(["--agents", "2"]);
        command.arg("--out").arg(dir.path()).args(more);
        command
    };
    let coordinator = Process::start(&mut walk(&[]));
    let file = || {
        std::fs::read_dir(dir.path())
            .unwrap()
            .find_map(|entry| std::fs::read_to_string(entry.unwrap().path()).ok())
    };
    assert!(support::wait_until(support::START_MAX, || file().is_some()), "no first step");
    std::thread::sleep(Duration::from_secs(1));
    coordinator.signal(Signal::KILL);
    // The agents are free again when their lease has ended; until then it waits for them.
    let left: Value = serde_json::from_str(&file().unwrap()).unwrap();
    let whole = left["resume_after"].as_u64().unwrap() as usize;
    assert!([1, 2].contains(&whole), "{left}");
    let outcome = run(&mut walk(&["--resume"]), RUN_MAX);
    outcome.assert_held();
    let results = outcome.json();
    let steps = results["steps"].as_array().unwrap();
    let of = |step: &Value| (step["clients"].as_u64(), count(step, "received"), step["agents"].as_u64());
    let expected = [10, 20, 30].map(|clients| (Some(clients), 20 * clients, Some(2)));
    assert_eq!(steps.iter().map(of).collect::<Vec<_>>(), expected, "{outcome}");
    let resumed = finding(&steps[whole]["caveats"], "caveat.resumed").expect("it was resumed");
    assert_eq!(resumed["steps"].as_u64(), Some(whole as u64), "{outcome}");
    assert!(file().unwrap().contains(results["id"].as_str().unwrap()), "the same run\n{outcome}");
}

#[test]
fn a_restart_of_nats_costs_nothing() {
    let Some((mut bus, _agents)) = fleet(["a", "b"]) else { return };
    let server = Server::start(&[]);
    let mut command = load(&bus, &server, "echo", "--clients 20 --interval 100ms --duration 6s");
    let process = start_measuring(&mut command);
    let gone = Instant::now();
    bus.restart();
    let gone = gone.elapsed();
    let outcome = finish(process, RUN_MAX);
    if gone > Duration::from_millis(1_500) {
        return support::skip("a restart of NATS", &format!("it took {gone:.1?} here, half of the lease"));
    }
    assert_eq!(outcome.code, Some(0), "{outcome}");
    let step = step(&outcome);
    assert_eq!((count(&step, "sent"), count(&step, "received")), (1_200, 1_200), "{outcome}");
    assert_eq!(step["rtt"]["count"], 1_200, "every sample arrived, once\n{outcome}");
}

#[test]
fn agents_are_not_blamed_for_nats() {
    let server = Server::start(&[]);
    let load_of = |bus: &Bus| {
        let mut command = load(bus, &server, "echo", "--clients 20 --interval 100ms --duration 20s");
        start_measuring(command.arg("--no-preflight"))
    };
    let Some((bus, _agents)) = fleet(["a", "b"]) else { return };
    let process = load_of(&bus);
    drop(bus);
    let outcome = finish(process, RUN_MAX);
    assert!(outcome.code == Some(6) && outcome.stderr.contains("NATS is out of reach for "), "{outcome}");

    let Some((bus, _agents)) = fleet(["a", "b"]) else { return };
    let process = load_of(&bus);
    assert!(process.signal(Signal::STOP));
    std::thread::sleep(Duration::from_secs(5)); // longer than the lease
    assert!(process.signal(Signal::CONT));
    let outcome = finish(process, RUN_MAX);
    let why = "the coordinator stood still for ";
    assert!(outcome.code == Some(6) && outcome.stderr.contains(why), "{outcome}");
}

#[test]
fn stop_frees_everybody() {
    let Some((bus, _agents)) = fleet(["a"]) else { return };
    let server = Server::start(&[]);
    let process = Process::start(&mut load(&bus, &server, "echo", "--clients 10 --duration 60s"));
    assert!(support::wait_until(support::START_MAX, || bus.list().contains("run ")));
    let stopped = run(&mut throng(["fleet", "stop", "--nats", &bus.url]), RUN_MAX);
    assert_eq!((stopped.code, &*stopped.stdout), (Some(0), "1 of 1 agents are free\n"), "{stopped}");
    let ended = finish(process, RUN_MAX);
    assert_eq!(ended.code, Some(6), "{ended}");
    assert!(ended.stderr.contains("it left: `throng fleet stop`"), "{ended}");
}

#[test]
fn flags_impossible_in_a_fleet_are_said() {
    let server = Server::start(&[]);
    let cases = [
        (vec!["echo", "--fleet", "nats://127.0.0.1:1"], 2, "URL: "),
        (vec!["echo", "ws://h/", "--agents", "2"], 2, "--fleet"),
        (vec!["echo", "ws://h/", "--fleet", "x", "--where", "zone"], 2, "KEY=VALUE"),
        (
            vec!["echo", "ws://127.0.0.1:9/", "--fleet", "nats://127.0.0.1:1", "--threads", "2000"],
            2,
            "--threads: ",
        ),
        (vec!["agent", "--nats", "nats://127.0.0.1:1", "--name", "a b"], 2, "--name"),
        (vec!["agent", "--nats", "nats://127.0.0.1:1", "--pin", "999"], 2, " 999 "),
        (vec!["agent", "--nats", "nats://127.0.0.1:1"], 1, "nats://127.0.0.1:1"),
    ];
    for (arguments, code, said) in cases {
        let outcome = run(Command::new(env!("CARGO_BIN_EXE_throng")).args(&arguments), RUN_MAX);
        assert_eq!(outcome.code, Some(code), "{arguments:?}\n{outcome}");
        assert!(outcome.stderr.contains(said), "{arguments:?}\n{outcome}");
    }
    let refused = run(
        throng(["echo", &server.url(), "--fleet", "nats://me:s3cret@127.0.0.1:1"]).args([""; 0]),
        RUN_MAX,
    );
    assert!(refused.code == Some(6) && !refused.stderr.contains("s3cret"), "{refused}");
}

#[test]
fn noise_on_the_bus_disturbs_nobody() {
    let Some((bus, _agents)) = fleet(["a"]) else { return };
    let server = Server::start(&[]);
    let process =
        start_measuring(&mut load(&bus, &server, "echo", "--clients 10 --interval 100ms --duration 8s"));
    let mut noise = fastrand::Rng::with_seed(1);
    for subject in bus.subjects() {
        for length in [0, 1, 9, 100, 10_000] {
            let bytes: Vec<u8> = std::iter::repeat_with(|| noise.u8(..)).take(length).collect();
            bus.publish(&subject, &bytes);
        }
    }
    let outcome = finish(process, RUN_MAX);
    assert_eq!((outcome.code, sum_of(&outcome.json(), "received")), (Some(0), 800), "{outcome}");
    assert!(is_there(&bus, "a"));
}
