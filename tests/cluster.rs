//! Several reference servers as one, over a real NATS: every copy exactly once, whoever sent it; and what
//! becomes of it when NATS goes away.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use wire::DialectId;

use crate::support;
use crate::support::client::TestClient;
use crate::support::fleet::Bus;
use crate::support::throng::{Outcome, Server, run, throng};
use crate::support::wait_until;
use crate::support::websocket::{TEXT, masked};

const RUN_MAX: Duration = Duration::from_secs(60);
/// A broadcast that is to be heard is heard within this; one that is not, is not.
const SOON: Duration = Duration::from_secs(10);

fn server(bus: &Bus, flags: &[&str]) -> Server {
    Server::start(&[&["--cluster", &bus.url], flags].concat())
}

/// A broadcast of every client to all, the clients spread over the servers; fails unless every copy came once.
fn broadcast(servers: &[&Server], path: &str, flags: &str) -> Outcome {
    let others: Vec<String> = servers[1..].iter().map(|server| server.address.to_string()).collect();
    let scheme = if flags.contains("--transport") { "http" } else { "ws" };
    let url = format!("{scheme}://{}{path}", servers[0].address);
    let mut command = throng(["broadcast", &url, "--also", &others.join(","), "--format", "json"]);
    command.args([
        "--clients",
        "12",
        "-c",
        "6",
        "-s",
        "60",
        "--drain-timeout",
        "10s",
        "--connect-timeout",
        "10s",
    ]);
    let outcome = run(command.args(flags.split_ascii_whitespace()), RUN_MAX);
    let counts = &outcome.json()["steps"][0]["counts"];
    let count = |name: &str| counts[name].as_u64().unwrap_or_else(|| panic!("no {name}\n{outcome}"));
    let found = ["sent", "expected", "received", "missing", "duplicate", "reordered"].map(count);
    assert_eq!(found, [60, 720, 720, 0, 0, 0], "{flags}\n{outcome}");
    outcome
}

#[test]
fn every_copy_comes_once_in_every_dialect() {
    let Some(bus) = Bus::start() else { return };
    let (one, other) = (server(&bus, &["--threads", "2"]), server(&bus, &["--processes", "2"]));
    let cases = [
        ("/ws", "--protocol json"),
        ("/ws", "--protocol binary"),
        ("/cable", "--protocol actioncable"),
        ("/socket/websocket", "--protocol phoenix"),
        ("/sockjs", "--protocol sockjs"),
        ("/sockjs", "--protocol sockjs --transport xhr-streaming"),
        ("/socket.io/", "--protocol socketio"),
        ("/socket.io/", "--protocol socketio --transport polling"),
    ];
    // A session of plain requests belongs to one process, which only a balancer could know.
    let third = server(&bus, &[]);
    for (path, flags) in cases {
        let second = if flags.contains("--transport") { &third } else { &other };
        broadcast(&[&one, second], path, flags);
    }
}

#[test]
fn messages_larger_than_nats_takes_go_in_parts() {
    let Some(bus) = Bus::start() else { return };
    let servers = [server(&bus, &[]), server(&bus, &[])];
    let mut clients = servers.each_ref().map(|server| TestClient::upgrade(server.address));
    let large = "large ".repeat(500_000); // NATS takes 1 MiB at once, unless it is told otherwise
    say(&mut clients[0], &large);
    // Both read theirs: who lets so much wait is cut off.
    assert!(hears(&mut clients[0], &large) && hears(&mut clients[1], &large));
    say(&mut clients[1], "small");
    assert!(hears(&mut clients[0], "small"));
}

#[test]
fn clusters_of_other_names_are_not_heard() {
    let Some(bus) = Bus::start() else { return };
    let servers = [server(&bus, &["--cluster-name", "blue"]), server(&bus, &["--cluster-name", "green"])];
    let mut clients = servers.each_ref().map(|server| TestClient::upgrade(server.address));
    say(&mut clients[0], "in blue");
    assert!(hears(&mut clients[0], "in blue"));
    say(&mut clients[1], "in green");
    assert_eq!(next(&mut clients[1]), broadcast_of("in green"), "nothing of the other cluster before it");
}

#[test]
fn servers_survive_a_lost_nats() {
    let Some(mut bus) = Bus::start() else { return };
    let servers = [server(&bus, &[]), server(&bus, &[])];
    let mut clients = servers.each_ref().map(|server| TestClient::upgrade(server.address));
    say(&mut clients[0], "before");
    assert!(hears(&mut clients[0], "before") && hears(&mut clients[1], "before"));
    bus.stop();
    say(&mut clients[0], "alone");
    assert!(hears(&mut clients[0], "alone"));
    std::thread::sleep(Duration::from_secs(1)); // long enough for both to notice
    bus.start_again();
    let is_back = |clients: &mut [TestClient; 2]| {
        say(&mut clients[0], "again");
        hears_within(&mut clients[1], "again", Duration::from_millis(300))
    };
    assert!(wait_until(SOON, || is_back(&mut clients)), "they do not find back");
    drop(clients);
    for server in servers {
        server.process.signal(Signal::TERM);
        let ended = support::throng::finish(server.process, RUN_MAX);
        assert_eq!(ended.stderr.matches("lost NATS").count(), 1, "said once\n{ended}");
        assert_eq!(ended.stderr.matches("back in the cluster").count(), 1, "{ended}");
    }
}

#[test]
fn noise_on_the_subject_reaches_nobody() {
    let Some(bus) = Bus::start() else { return };
    let servers = [server(&bus, &[]), server(&bus, &[])];
    let mut clients = servers.each_ref().map(|server| TestClient::upgrade(server.address));
    let mut rng = fastrand::Rng::with_seed(9);
    for length in [0, 1, 17, 18, 40, 5_000] {
        let mut noise: Vec<u8> = (0..length).map(|_| rng.u8(..)).collect();
        bus.publish("throng.cluster.default", &noise);
        if let [form, .., ends, _, _, _, _] = &mut noise[..] {
            (*form, *ends) = (1, 3); // whole, as far as its head goes
            bus.publish("throng.cluster.default", &noise);
        }
    }
    say(&mut clients[0], "heard");
    assert_eq!(next(&mut clients[1]), broadcast_of("heard"));
}

/// A broadcast as servers exchange it: whole, of somebody who was not heard before.
fn room_batch(sender: u64, dialect: u8, frames: &[u8]) -> Vec<u8> {
    let head = [&[1], &sender.to_le_bytes()[..], &[0; 8], &[3]].concat();
    [&head, &1_u32.to_le_bytes()[..], &0_u64.to_le_bytes(), &[dialect], frames].concat()
}

#[test]
fn unreadable_broadcasts_end_no_connection() {
    let Some(bus) = Bus::start() else { return };
    let server = server(&bus, &[]);
    let mut client = TestClient::upgrade(server.address);
    let mutated: [&[u8]; 7] = [
        &[0x88, 0],
        &[0x83, 1, b'{'],
        &[0xc1, 2, b'{', b'}'],
        &[0x81, 0x85, 0, 0, 0, 0, b'{', b'}', b' ', b' ', b' '],
        &[0x81, 9, b'{', b'}'],
        &[0x81, 3, b'"', 0xff, b'"'],
        &[0x01, 2, b'{', b'}'],
    ];
    // In whichever dialect, and in some that are none: its number among them is the servers' own.
    let dialects = DialectId::ALL.len() as u8 + 4;
    for (sender, dialect) in (0..).zip(0..dialects) {
        for (k, frames) in (0..).zip(mutated) {
            bus.publish("throng.cluster.default", &room_batch(sender * 16 + k, dialect, frames));
        }
        let whole = [&[0x81, broadcast_of("theirs").len() as u8], broadcast_of("theirs").as_bytes()].concat();
        bus.publish("throng.cluster.default", &room_batch(sender * 16 + 15, dialect, &whole));
    }
    assert_eq!(next(&mut client), broadcast_of("theirs"), "what is sound is heard");
    let behind = self::server(&bus, &[]);
    say(&mut TestClient::upgrade(behind.address), "heard");
    assert!(hears(&mut client, "heard"), "which NATS had after all of the above");
    server.process.signal(Signal::TERM);
    let ended = support::throng::finish(server.process, RUN_MAX);
    // What is sound in a text is none of the four, nor of the binary protocol.
    let unreadable = usize::from(dialects) * mutated.len() + 5;
    assert!(ended.stdout.contains(&format!("{unreadable} made no sense")), "{ended}");
}

#[test]
fn absent_clusters_are_said_at_the_start() {
    let refused = run(&mut throng(["serve", "--port", "0", "--cluster", "nats://127.0.0.1:1"]), RUN_MAX);
    assert_eq!(refused.code, Some(1), "{refused}");
    assert!(refused.stderr.contains("nats://127.0.0.1:1"), "{refused}");
}

fn broadcast_of(text: &str) -> String {
    format!(r#"{{"type":"broadcast","payload":"{text}"}}"#)
}

fn say(client: &mut TestClient, text: &str) {
    client.send(&masked(TEXT, broadcast_of(text).as_bytes()));
}

/// The next broadcast that a client is sent.
fn next(client: &mut TestClient) -> String {
    loop {
        let (_, payload) = client.frame().expect("a frame");
        let text = String::from_utf8(payload).unwrap();
        if !text.contains("Result") {
            return text;
        }
    }
}

fn hears(client: &mut TestClient, text: &str) -> bool {
    hears_within(client, text, SOON)
}

fn hears_within(client: &mut TestClient, text: &str, within: Duration) -> bool {
    let start = Instant::now();
    while let Some(left) = within.checked_sub(start.elapsed()) {
        let Some((_, payload)) = client.frame_within(left) else { return false };
        if payload == broadcast_of(text).as_bytes() {
            return true;
        }
    }
    false
}
