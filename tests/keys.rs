//! Agents that obey one key alone: what is signed by it is done, and nothing that somebody else on the bus
//! says, repeats or alters.

use std::os::unix::fs::MetadataExt;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tempfile::TempDir;

use crate::support::arena::Arena;
use crate::support::fleet::{Bus, connections_to};
use crate::support::peer::{Content, Down, Heard, Packet, Peer};
use crate::support::process::Process;
use crate::support::throng::{Outcome, Server, finish, run, start_measuring, sum_of, throng};
use crate::support::{REACTS_WITHIN, wait_until};

const RUN_MAX: Duration = Duration::from_secs(60);
/// The offset of the number that is signed with a packet.
const SIGNATURE: usize = 64;
/// The offset of the packet.
const SEAL_BYTES: usize = SIGNATURE + 8;

/// A pair: the seed is in a file.
struct Key {
    _folder: TempDir,
    seed: String,
    public: String,
}

impl Key {
    fn new() -> Key {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("fleet.seed");
        let made = run(throng(["fleet", "new-key"]).arg(&file), RUN_MAX);
        assert_eq!((made.code, made.stdout.len(), &made.stdout[..1]), (Some(0), 57, "U"), "{made}");
        assert_eq!(std::fs::metadata(&file).unwrap().mode() & 0o777, 0o600);
        let again = run(throng(["fleet", "new-key"]).arg(&file), RUN_MAX);
        assert_eq!(again.code, Some(1), "a seed that is there stays\n{again}");
        let seed = format!("file:{}", file.display());
        Key { _folder: folder, seed, public: made.stdout.trim().to_owned() }
    }

    fn flags(&self) -> [&str; 2] {
        ["--fleet-key", &self.seed]
    }

    /// An agent that obeys it.
    fn agent(&self, bus: &Bus) -> Process {
        let agent = bus.agent(&["--name", "a", "--threads", "1", "--agent-key", &self.public]);
        bus.await_agents(1);
        agent
    }
}

fn echo(bus: &Bus, server: &Server, flags: &[&str]) -> Command {
    let mut command = throng(["echo", &server.url(), "--clients", "4", "--format", "json", "--fleet"]);
    command.arg(&bus.url).args(flags);
    command
}

fn stop(bus: &Bus, flags: &[&str]) -> Outcome {
    run(throng(["fleet", "stop", "--nats", &bus.url]).args(flags), RUN_MAX)
}

#[test]
fn only_signed_orders_are_done() {
    let Some(bus) = Bus::start() else { return };
    let (key, other, server) = (Key::new(), Key::new(), Server::start(&[]));
    let _agent = key.agent(&bus);
    assert!(bus.list().contains(&format!("  obeys {}", key.public)), "{}", bus.list());
    let echo =
        |flags: &[&str]| run(echo(&bus, &server, &["-s", "40", "--fleet-wait", "0s"]).args(flags), RUN_MAX);
    let too_few = "generator.start_workers.too_few";
    echo(&[]).assert_failed(6, too_few, &["0 of 1 ", "\n  a ", &key.public, "--fleet-key"]);
    echo(&other.flags()).assert_failed(6, too_few, &["\n  a ", &key.public, "--fleet-key", &other.public]);

    let seed = std::fs::read_to_string(&key.seed["file:".len()..]).unwrap().trim().to_owned();
    for flags in [key.flags(), ["--fleet-key", &seed]] {
        let obeyed = echo(&flags);
        assert_eq!((obeyed.code, sum_of(&obeyed.json(), "received")), (Some(0), 40), "{obeyed}");
        assert!(!format!("{obeyed}").contains(&seed), "{obeyed}");
    }
    let mistaken = echo(&["--fleet-key", &seed[1..]]);
    mistaken.assert_failed(2, "usage.fleet_key.value_validation", &[]);
    assert!(!mistaken.stderr.contains(&seed[1..]), "{mistaken}");
}

#[test]
fn a_run_ends_by_its_key_alone() {
    let Some(bus) = Bus::start() else { return };
    let (key, server) = (Key::new(), Server::start(&[]));
    let _agent = key.agent(&bus);
    let load = |duration| [&["--interval", "100ms", "--duration", duration], &key.flags()[..]].concat();
    // Long enough for two commands on a busy machine.
    let process = start_measuring(&mut echo(&bus, &server, &load("10s")));
    let ignored = stop(&bus, &[]);
    for named in ["0 of 1 ", "\n  a ", &key.public, "--fleet-key"] {
        assert!(ignored.stdout.contains(named), "{named}: {ignored}");
    }
    let ignored = stop(&bus, &Key::new().flags());
    assert!(ignored.stdout.starts_with("0 of 1 ") && ignored.code == Some(1), "{ignored}");
    let whole = finish(process, RUN_MAX);
    assert_eq!((whole.code, sum_of(&whole.json(), "received")), (Some(0), 400), "{whole}");

    let process = start_measuring(&mut echo(&bus, &server, &load("60s")));
    let free = stop(&bus, &key.flags()).stdout;
    assert!(free.starts_with("1 of 1 ") && free.lines().count() == 1, "{free}");
    let ended = finish(process, RUN_MAX);
    assert!(ended.stderr.contains("`throng fleet stop`"), "{ended}");
}

/// The word that ends a run, as somebody says it who hears what goes to the agent. `sealed`: as packets of its run are.
fn release(heard: &Heard, sealed: bool) -> Option<Vec<u8>> {
    let seal = if sealed { SEAL_BYTES } else { 0 };
    let (seal, packet) = heard.bytes.split_at_checked(seal)?;
    let packet = Packet::read(packet)?;
    let Content::Part { number, last: true, .. } = packet.content else { return None };
    let bytes = postcard::to_stdvec(&Down::Release).unwrap();
    let content = Content::Part { number: number + 1, last: true, bytes };
    Some([seal, &Packet { content, ..packet }.write()].concat())
}

#[test]
fn foreign_messages_in_a_run_are_ignored() {
    let Some(bus) = Bus::start() else { return };
    let (key, server) = (Key::new(), Server::start(&[]));
    let load = ["--interval", "100ms", "--duration", "4s"];
    let is_down = |heard: &Heard| heard.subject.ends_with(".down");
    // Without a key one packet of somebody who listens is enough.
    let open = bus.agent(&["--name", "open", "--threads", "1"]);
    bus.await_agents(1);
    let peer = Peer::at(bus.address(), &["throng.agent.>"]);
    let process = start_measuring(&mut echo(&bus, &server, &load));
    let orders: Vec<Heard> = peer.all().into_iter().filter(is_down).collect();
    let forged = orders.iter().rev().find_map(|heard| Some((&heard.subject, release(heard, false)?)));
    let (subject, forged) = forged.expect("an order");
    peer.publish(subject, None, &forged);
    let ended = finish(process, RUN_MAX);
    assert_eq!(ended.code, Some(6), "{ended}");
    drop(open);
    assert!(wait_until(REACTS_WITHIN, || bus.list().starts_with("no agents")), "{}", bus.list());

    let _agent = key.agent(&bus);
    let peer = Peer::at(bus.address(), &["throng.agent.>"]);
    let process = Process::start(echo(&bus, &server, &load).args(key.flags()));
    let (until, mut rng, mut said) = (Instant::now() + RUN_MAX, fastrand::Rng::with_seed(1), 0);
    let mut process = process;
    while process.wait(Duration::ZERO).is_none() && Instant::now() < until {
        let Some(heard) = peer.find(Duration::from_millis(100), is_down) else { continue };
        let again = heard.bytes.clone();
        let unsigned = heard.bytes[SEAL_BYTES..].to_vec();
        let mut altered = heard.bytes.clone();
        altered[rng.usize(..again.len())] ^= 1 << rng.u8(..8);
        let mut later = heard.bytes.clone();
        later[SIGNATURE..SEAL_BYTES].copy_from_slice(&u64::MAX.to_le_bytes());
        let ends = [release(&heard, true), release(&heard, false)].into_iter().flatten();
        for bytes in [again, unsigned, altered, later].into_iter().chain(ends) {
            peer.publish(&heard.subject, None, &bytes);
            said += 1;
        }
    }
    let whole = finish(process, RUN_MAX);
    assert!(said > 50, "{said} packets\n{whole}");
    assert_eq!((whole.code, sum_of(&whole.json(), "received")), (Some(0), 160), "{whole}");
    assert_eq!(sum_of(&whole.json(), "sent"), 160, "{whole}");
}

#[test]
fn recorded_messages_cannot_be_replayed() {
    let Some(bus) = Bus::start() else { return };
    let (key, server) = (Key::new(), Server::start(&[]));
    let _agent = key.agent(&bus);
    let peer = Peer::at(bus.address(), &["throng.agent.>", "inbox.of.test"]);
    let load = [&["--interval", "100ms", "--duration", "60s"], &key.flags()[..]].concat();
    let coordinator = start_measuring(&mut echo(&bus, &server, &load));
    assert_eq!(connections_to(server.address), 4);
    coordinator.signal(Signal::KILL);
    // Beats of a coordinator that is gone, said again and again, keep no load up.
    let recorded = peer.all();
    let said_until = Instant::now() + REACTS_WITHIN;
    let mut is_over = false;
    while Instant::now() < said_until && !is_over {
        for heard in recorded.iter().filter(|heard| heard.subject.ends_with(".down")) {
            peer.publish(&heard.subject, None, &heard.bytes);
        }
        std::thread::sleep(Duration::from_millis(100));
        is_over = connections_to(server.address) == 0;
    }
    assert!(is_over, "{} connections are left", connections_to(server.address));
    assert!(wait_until(RUN_MAX, || bus.list().contains(" free")), "{}", bus.list());

    let claim = recorded.iter().find(|heard| heard.subject.ends_with(".claim")).expect("a claim");
    let mut unsigned: serde_json::Value = serde_json::from_slice(&claim.bytes).unwrap();
    assert!(unsigned.as_object_mut().unwrap().remove("signature").is_some(), "{unsigned}");
    for bytes in [claim.bytes.clone(), unsigned.to_string().into_bytes()] {
        peer.publish(&claim.subject, Some("inbox.of.test"), &bytes);
        let answer = peer.find(Duration::from_secs(10), |heard| heard.subject == "inbox.of.test");
        let answer: serde_json::Value = serde_json::from_slice(&answer.expect("an answer").bytes).unwrap();
        assert!(answer["refused"].as_str().is_some_and(|why| why.contains(&key.public)), "{answer}");
    }
    for heard in &recorded {
        peer.publish(&heard.subject, None, &heard.bytes);
    }
    assert!(bus.list().contains(" free"), "{}", bus.list());
    assert_eq!(connections_to(server.address), 0);
    let honest = run(echo(&bus, &server, &["-s", "40"]).args(key.flags()), RUN_MAX);
    assert_eq!((honest.code, sum_of(&honest.json(), "received")), (Some(0), 40), "{honest}");
}

#[test]
fn a_target_agent_obeys_its_key_as_well() {
    let (Some(bus), arena, key) = (Bus::start(), Arena::echoing_for(1), Key::new()) else { return };
    let flags = ["--role", "target", "--name", "rack", "--advertise", "127.0.0.31"];
    let of_key = ["--agent-key", &key.public, "--targets-dir", &arena.targets()];
    let _agent = bus.agent(&[&flags[..], &of_key].concat());
    bus.await_agents(1);
    let shootout = |flags: &[&str]| {
        let mut command = throng(["shootout", "tiny", "--target-agent", "rack", "--nats", &bus.url]);
        command.args(["--out", "kept", "--format", "json"]).args(flags).current_dir(arena.folder());
        run(&mut command, RUN_MAX)
    };
    let refused = shootout(&[]);
    refused.assert_failed(1, "could_not.run_servers.unfit", &["rack ", &key.public, "--fleet-key"]);
    let obeyed = shootout(&key.flags());
    assert_eq!(obeyed.code, Some(0), "{obeyed}");
}
