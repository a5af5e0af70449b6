//! A fleet whose members each have a network of their own: namespaces with veth links to one bridge. `make test-fleet`
//! runs this, as root; it takes a minute.

mod support;

use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use serde_json::Value;
use support::networks::{Member, Networks};
use support::process::Process;
use support::throng::{Outcome, finish, run, sum_of};

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
        let mut processes =
            vec![Process::start(bus.command("nats-server").args(["-a", &bus.address, "-p", "4222"]))];
        let listen = format!("{}:9000", target.address);
        processes
            .push(Process::start(target.command(THRONG).args(["serve", "--listen", &listen]).args(faults)));
        sleep(Duration::from_secs(1));
        for (agent, name) in agents.iter().zip(AGENTS) {
            let mut command = agent.command(THRONG);
            command.args(["agent", "--nats", &format!("nats://{}:4222", bus.address), "--threads", "1"]);
            processes.push(Process::start(command.args(["--name", name, "--label", "net=own"])));
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

fn step(outcome: &Outcome) -> Value {
    outcome.json()["steps"][0].clone()
}

#[test]
#[ignore = "make test-fleet"]
fn four_networks_count_as_one() {
    // Copy k = 20 m + c is lost if k % 100 = 99, and comes twice if k % 250 = 124.
    let Some(world) = World::new(&["--fault", "drop=99%100,dup=124%250", "--threads", "1"]) else { return };
    let flags = "--clients 20 -c 1 -s 1000 --agents 4 --drain-timeout 5s";
    let outcome = run(&mut world.load("broadcast", flags), RUN_MAX);
    let step = step(&outcome);
    let count = |name: &str| step["counts"][name].as_u64().unwrap();
    assert_eq!((count("sent"), count("expected")), (1_000, 20_000), "{outcome}");
    assert_eq!((count("received"), count("missing"), count("duplicate")), (19_800, 200, 80), "{outcome}");
    assert_eq!((count("reordered"), count("unexpected"), count("corrupt")), (0, 0, 0), "{outcome}");
    assert_eq!(step["delivery"]["count"], count("received"), "{outcome}");
    assert_eq!((&step["agents"], &step["workers"]), (&4.into(), &4.into()), "{outcome}");
}

#[test]
#[ignore = "make test-fleet"]
fn a_link_cut_for_ten_seconds_costs_its_agent_alone() {
    let Some(world) = World::new(&[]) else { return };
    let flags = "--clients 40 --interval 100ms --duration 16s --agents 4 --on-agent-loss continue";
    let process = Process::start(&mut world.load("echo", flags));
    sleep(Duration::from_secs(5));
    world.networks.cut(&world.agents[2]);
    sleep(Duration::from_secs(10));
    world.networks.mend(&world.agents[2]);
    let outcome = finish(process, RUN_MAX);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    let cut = step(&outcome);
    assert_eq!(cut["agents"], 3, "{outcome}");
    assert!(cut["marks"].to_string().contains("a3: no word from it for 3 s"), "{outcome}");
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
