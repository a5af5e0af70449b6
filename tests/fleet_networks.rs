//! A fleet whose members each have a network of their own: namespaces with veth links to one bridge. `make test-fleet`
//! runs this, as root; it takes a minute.

use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use serde_json::Value;

use crate::support::arena::Arena;
use crate::support::networks::{Member, Networks};
use crate::support::process::Process;
use crate::support::throng::{Outcome, finding, finish, run, start_measuring, sum_of};
use crate::support::{START_MAX, wait_until};

const RUN_MAX: Duration = Duration::from_secs(90);
const THRONG: &str = env!("CARGO_BIN_EXE_throng");
const AGENTS: [&str; 4] = ["a1", "a2", "a3", "a4"];

/// NATS, a server that lies, and four agents, each elsewhere.
struct World {
    networks: Networks,
    bus: Member,
    target: Member,
    coordinator: Member,
    /// Named in the order of [`AGENTS`].
    agents: Vec<Member>,
    _processes: Vec<Process>,
}

impl World {
    /// `None`, with the reason said, where namespaces are not allowed or NATS is not there.
    fn new(faults: &[&str]) -> Option<World> {
        let mut networks = Networks::new()?;
        let [bus, target, coordinator] = ["bus", "target", "coord"].map(|name| networks.add(name));
        let agents: Vec<Member> = AGENTS.into_iter().map(|name| networks.add(name)).collect();
        let listen = format!("{}:9000", target.address);
        let mut processes = vec![
            nats_at(&bus),
            Process::start(target.command(THRONG).args(["serve", "--listen", &listen]).args(faults)),
        ];
        await_listening(&target, ":9000");
        for (agent, name) in agents.iter().zip(AGENTS) {
            let mut command = agent.command(THRONG);
            command.args(["agent", "--nats", &format!("nats://{}:4222", bus.address), "--threads", "1"]);
            processes.push(Process::start(command.args([
                "--name",
                name,
                "--label",
                "net=own",
                "--allow",
                &format!("ws://{}:9000", target.address),
            ])));
        }
        Some(World { networks, bus, target, coordinator, agents, _processes: processes })
    }

    fn load(&self, verb: &str, flags: &str) -> Command {
        let mut command = self.coordinator.command(THRONG);
        command.args([verb, &format!("ws://{}:9000/ws", self.target.address), "--format", "json", "--quiet"]);
        command.args(["--fleet", &format!("nats://{}:4222", self.bus.address), "--where", "net=own"]);
        command.args(flags.split_ascii_whitespace());
        command
    }
}

/// NATS, once it listens.
fn nats_at(bus: &Member) -> Process {
    let nats = Process::start(bus.command("nats-server").args(["-a", &bus.address, "-p", "4222"]));
    await_listening(bus, ":4222");
    nats
}

fn await_listening(member: &Member, port: &str) {
    assert!(wait_until(START_MAX, || listeners(member).contains(port)), "{port}: {}", listeners(member));
}

/// The sockets that listen in a member's network, a line for each.
fn listeners(member: &Member) -> String {
    let listed = member.command("ss").args(["-Htln"]).output().expect("ss");
    String::from_utf8_lossy(&listed.stdout).into_owned()
}

fn step(outcome: &Outcome) -> Value {
    outcome.json()["steps"][0].clone()
}

#[test]
#[ignore = "make test-fleet"]
fn four_networks_count_as_one() {
    // Copy k = 20 m + c is lost if k % 100 = 99, and comes twice if k % 250 = 124.
    let Some(world) = World::new(&["--fault", "drop=99%100,dup=124%250", "--threads", "1"]) else { return };
    let flags = "--clients 20 -c 1 -s 1000 --agents 4 --drain-timeout 5s";
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("run.parquet");
    let outcome = run(world.load("broadcast", flags).arg("--events").arg(&log), RUN_MAX);
    let step = step(&outcome);
    let count = |name: &str| step["counts"][name].as_u64().unwrap();
    assert_eq!((count("sent"), count("expected")), (1_000, 20_000), "{outcome}");
    assert_eq!((count("received"), count("missing"), count("duplicate")), (19_800, 200, 80), "{outcome}");
    assert_eq!((count("reordered"), count("unexpected"), count("corrupt")), (0, 0, 0), "{outcome}");
    assert_eq!(step["delivery"]["count"], count("received"), "{outcome}");
    assert_eq!((&step["agents"], &step["workers"]), (&4.into(), &4.into()), "{outcome}");
    assert_is_sum_of_agents(&step["delivery"], &log);
}

/// The merged figure is made of what each agent noted of its own clients, sample for sample.
fn assert_is_sum_of_agents(merged: &Value, log: &Path) {
    let mut command = Command::new(THRONG);
    command.args(["events", "--kind", "receive", "--step", "1", "--to", "json"]).arg(log);
    let rows = run(&mut command, RUN_MAX).stdout;
    let mut of_agents = [const { Vec::new() }; AGENTS.len()];
    for row in rows.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
        // Each agent has one worker, and worker k of n has the clients k, k + n, k + 2 n, …
        let client = row["client"].as_u64().unwrap() as usize;
        of_agents[client % AGENTS.len()].push(row["latency_ns"].as_u64().unwrap());
    }
    assert!(of_agents.iter().all(|samples| samples.len() > 4_000), "each has a quarter of the clients");
    let mut all = of_agents.concat();
    all.sort_unstable();
    assert_eq!(merged["count"], all.len());
    let mean_ns = all.iter().sum::<u64>() as f64 / all.len() as f64;
    let exact = [("min_ms", all[0] as f64), ("mean_ms", mean_ns), ("max_ms", all[all.len() - 1] as f64)];
    for (name, ns) in exact {
        let is_ms = merged[name].as_f64().unwrap();
        assert!((is_ms - ns / 1e6).abs() < 2e-6, "{name}: {is_ms} merged, {ns} ns by the agents");
    }
    for (name, share) in [("p50_ms", 0.5), ("p95_ms", 0.95), ("p99_ms", 0.99)] {
        let sample_ms = all[(share * all.len() as f64).ceil() as usize - 1] as f64 / 1e6;
        let is_ms = merged[name].as_f64().unwrap();
        assert!((is_ms - sample_ms).abs() <= 0.001 * sample_ms + 0.001, "{name}: {is_ms}, {sample_ms}");
    }
}

#[test]
#[ignore = "make test-fleet"]
fn cut_links_cost_their_agent_alone() {
    let Some(world) = World::new(&[]) else { return };
    let flags = "--clients 40 --interval 100ms --duration 16s --agents 4 --on-agent-loss continue";
    let process = start_measuring(&mut world.load("echo", flags));
    world.networks.cut(&world.agents[2]);
    sleep(Duration::from_secs(10));
    world.networks.mend(&world.agents[2]);
    let outcome = finish(process, RUN_MAX);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    let cut = step(&outcome);
    assert_eq!(cut["agents"], 3, "{outcome}");
    let lost = finding(&cut["caveats"], "caveat.lost_agents").expect("it was lost");
    assert!(lost["which"].as_str().is_some_and(|which| which.starts_with("a3: ")), "{outcome}");
    assert!(
        cut["counts"]["received"].as_u64().unwrap() >= 3 * 10 * 160,
        "the others sent all of theirs\n{outcome}"
    );
    assert_eq!(cut["counts"]["missing"], 0, "{outcome}");
    // Its lease has ended; it is free again, with its connection to NATS mended.
    let again =
        run(&mut world.load("echo", "--clients 40 --interval 100ms --duration 1s --agents 4"), RUN_MAX);
    assert_eq!((again.code, sum_of(&again.json(), "received")), (Some(0), 400), "{again}");
}

#[test]
#[ignore = "make test-fleet"]
fn a_shootout_drives_servers_of_another_network() {
    let (Some(mut networks), arena) = (Networks::new(), Arena::echoing_for(6)) else { return };
    let [bus, target, generator] = ["bus", "target", "load"].map(|name| networks.add(name));
    let url = format!("nats://{}:4222", bus.address);
    let _bus = nats_at(&bus);
    let targets = arena.targets();
    let flags = ["--role", "target", "--name", "rack", "--targets-dir", &targets];
    let _agent = Process::start(target.command(THRONG).args(["agent", "--nats", &url]).args(flags));
    let shootout = |out: &str| {
        let mut command = generator.command(THRONG);
        command.args(["shootout", "tiny", "--target-agent", "rack", "--nats", &url, "--out", out]);
        command.current_dir(arena.folder());
        command
    };
    let outcome = run(&mut shootout("kept"), RUN_MAX);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    for name in ["throng", "sh-copy"] {
        assert_eq!(arena.trouble("echo", name), Value::Null, "{outcome}");
        let results = arena.kept(&format!("echo/{name}-1.json"));
        let at = format!("ws://{}:", target.address);
        assert!(
            results["target"]["url"].as_str().unwrap().starts_with(&at),
            "the address by its route: {results}"
        );
        let step = &results["steps"][0];
        assert_eq!(step["counts"]["received"], 4 * 50 * 6, "{step}");
        assert!(
            step["server"]["cpu_percent_mean"].is_f64() && step["server"]["rss_bytes_peak"].is_u64(),
            "{step}"
        );
        assert_eq!(
            (&results["environment"]["same_host"], &step["machine"]["same_host"]),
            (&false.into(), &false.into())
        );
    }

    // Cut off in mid-measurement, the one that measures says so, and the other's server is gone by its lease.
    std::fs::rename(arena.path("kept"), arena.path("whole")).unwrap();
    let process = Process::start(&mut shootout("kept"));
    let connected = || {
        let listed = target.command("ss").args(["-Htn", "state", "established"]).output().expect("ss");
        let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
        listed.lines().filter(|line| line.contains(&format!(" {}:", generator.address))).count()
    };
    assert!(wait_until(START_MAX, || connected() >= 4), "no load");
    networks.cut(&target);
    assert!(
        wait_until(Duration::from_secs(15), || listeners(&target).is_empty()),
        "the server is still there"
    );
    networks.mend(&target);
    let outcome = finish(process, RUN_MAX);
    let lost = ["throng", "sh-copy"].map(|name| arena.trouble("echo", name)["reason"].to_string());
    assert!(lost[0].contains("was lost") || lost[1].contains("was lost"), "{lost:?}\n{outcome}");
}
