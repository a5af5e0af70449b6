//! Tokens by which clients go on with their sessions, presented by somebody else while their owners are here,
//! or given to several: nobody loses anything by that, nothing gets out of a room, and what a server does
//! wrong is counted.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::client::TestClient;
use crate::support::hostile::{HostileServer, Peer};
use crate::support::node::Scripts;
use crate::support::target::Unavailable;
use crate::support::throng::{Server, finish, results_in, run, sum_of, throng};
use crate::support::websocket::{CLOSE, TEXT, UPGRADE, masked};
use crate::support::{free_address, skip};

/// A run of a few seconds, on a busy machine.
const RUN_MAX: Duration = Duration::from_secs(60);

/// Somebody who says and hears texts.
struct Somebody {
    client: TestClient,
    /// Messages that came and were not taken yet.
    unheard: VecDeque<String>,
}

impl Somebody {
    fn connect(address: SocketAddr, target: &str, field: &str) -> Somebody {
        let request = UPGRADE.replace("GET / ", &format!("GET {target} ")).replace("\r\n\r\n", "\r\n");
        let client = TestClient::upgrade_by(address, &format!("{request}{field}\r\n"));
        Somebody { client, unheard: VecDeque::new() }
    }

    fn say(&mut self, text: &str) {
        self.client.send(&masked(TEXT, text.as_bytes()));
    }

    /// The next text in which this occurs. What comes before it is kept.
    fn hear(&mut self, part: &str) -> String {
        if let Some(at) = self.unheard.iter().position(|text| text.contains(part)) {
            return self.unheard.remove(at).unwrap();
        }
        loop {
            let (_, payload) = self
                .client
                .frame()
                .unwrap_or_else(|| panic!("it ended before {part:?} came: {:?}", self.unheard));
            match String::from_utf8_lossy(&payload).into_owned() {
                text if text.contains(part) => return text,
                text => self.unheard.push_back(text),
            }
        }
    }

    /// Goes with a close frame, and waits until the server has seen it.
    fn go(mut self) {
        self.client.send(&masked(CLOSE, &1000_u16.to_be_bytes()));
        self.client.expect_end();
    }
}

/// Somebody in Socket.IO's main namespace, and what was said to them as they came in.
fn socket_io(address: SocketAddr, room: &str, auth: &str) -> (Somebody, Value) {
    let target = format!("/socket.io/?EIO=4&transport=websocket{room}");
    let mut somebody = Somebody::connect(address, &target, "");
    somebody.hear("0{");
    somebody.say(&format!("40{auth}"));
    let welcome = somebody.hear("40{");
    (somebody, serde_json::from_str(&welcome[2..]).unwrap())
}

/// The text behind an event's name, and the offset that the server gave it.
fn broadcast_of(text: &str) -> (u64, String) {
    let event: Value = serde_json::from_str(&text[2..]).unwrap();
    (event[1].as_u64().unwrap(), event[2].as_str().unwrap().to_owned())
}

/// A client's message to go on with a session.
fn going_on(welcome: &Value, offset: &str) -> String {
    json!({ "pid": welcome["pid"], "offset": offset }).to_string()
}

/// The broadcasts that somebody hears, up to this one.
fn hears_up_to(last: u64, somebody: &mut Somebody) -> Vec<u64> {
    let mut heard = Vec::new();
    while heard.last() != Some(&last) {
        heard.push(broadcast_of(&somebody.hear(r#"42["broadcast","#)).0);
    }
    heard
}

/// A stranger presents the token of somebody who is here, stays for a while and goes: what it is sent of what was said
/// before it came. The one whose token it is hears everything once, also what was said while it was away itself.
fn present_the_token_of_somebody_who_is_here(address: SocketAddr) -> Vec<u64> {
    let ((mut living, welcome), (mut speaker, _)) = (socket_io(address, "", ""), socket_io(address, "", ""));
    let mut say = |number: u64| {
        speaker.say(&format!(r#"42["broadcast",{number}]"#));
        speaker.hear(r#"42["broadcast","#);
    };
    say(1);
    let (_, first) = broadcast_of(&living.hear(r#"42["broadcast","#));
    say(2);
    let (mut stranger, of_stranger) = socket_io(address, "", &going_on(&welcome, &first));
    assert_ne!(of_stranger["sid"], welcome["sid"], "it is not the other one");
    say(3);
    let heard = hears_up_to(3, &mut stranger);
    stranger.go();
    say(4);
    assert_eq!(hears_up_to(4, &mut living), [2, 3, 4]);
    // The one whose token it is comes back by it.
    say(5);
    let (_, last) = broadcast_of(&living.hear(r#"42["broadcast","#));
    living.go();
    say(6);
    let (mut living, again) = socket_io(address, "", &going_on(&welcome, &last));
    assert_eq!(again["pid"], welcome["pid"]);
    say(7);
    assert_eq!(hears_up_to(7, &mut living), [6, 7]);
    living.go();
    speaker.go();
    heard
}

#[test]
fn tokens_of_present_clients_take_nothing() {
    let server = Server::start(&["--history", "100"]);
    let address = server.address;
    // The token proves that the server knows its holder; what is sent again was said in the stranger's own room.
    assert_eq!(present_the_token_of_somebody_who_is_here(address), [2, 3]);
    // From another room, it brings nothing of this one.
    let ((mut living, welcome), (mut speaker, _)) = (socket_io(address, "", ""), socket_io(address, "", ""));
    speaker.say(r#"42["broadcast",1]"#);
    let (_, first) = broadcast_of(&living.hear(r#"42["broadcast","#));
    speaker.say(r#"42["broadcast",2]"#);
    let (mut stranger, _) = socket_io(address, "&room=other", &going_on(&welcome, &first));
    stranger.say(r#"42["broadcast",3]"#);
    assert_eq!(hears_up_to(3, &mut stranger), [3]);
    assert_eq!(hears_up_to(2, &mut living), [2]);
    assert!(server.process.signal(Signal::TERM));
    let outcome = finish(server.process, RUN_MAX);
    // Of the first seven, the speaker was told each, the living one six and the stranger one; of the others,
    // both were told two and the stranger one. One more connection was to see whether the server listens.
    assert!(
        outcome.stdout.contains("served 8 connections, 0 echoes, 10 broadcasts (19 copies)"),
        "{outcome}"
    );
    assert_eq!(
        outcome.stdout.lines().last().map(|line| line.starts_with("served ")),
        Some(true),
        "{outcome}"
    );
}

/// A session is kept when its connection has ended: who names one that has not begins anew.
#[test]
fn socketio_tokens_of_present_clients_are_nobodys() {
    let scripts = match Scripts::install_in("tests/servers", "socketio") {
        Ok(scripts) => scripts,
        Err(Unavailable(why)) => return skip("socket.io (npm)", &why),
    };
    let address = free_address();
    // Its pings are so far apart that nobody is late to answer one.
    let _server =
        scripts.start("server.js", &[&address.port().to_string(), "30000", "60000"]).listening_at(address);
    assert_eq!(present_the_token_of_somebody_who_is_here(address), [3]);
}

/// AnyCable gives the subscriptions of a session to whoever names it. The one whose name it was stays, and
/// begins anew when it comes back, but misses nothing: its history is its own to ask for.
#[test]
fn cable_sessions_may_be_taken_over() {
    const ROOM: &str = r#""identifier":"{\"channel\":\"BenchmarkChannel\",\"room\":\"a\"}""#;
    const EXTENDED: &str = "Sec-WebSocket-Protocol: actioncable-v1-ext-json\r\n";
    let server = Server::start(&["--history", "100"]);
    let connect = |session: &str| {
        let mut somebody = Somebody::connect(server.address, &format!("/cable{session}"), EXTENDED);
        let welcome: Value = serde_json::from_str(&somebody.hear(r#""welcome""#)).unwrap();
        (somebody, welcome)
    };
    let command = |name: &str, more: &str| format!(r#"{{"command":"{name}",{ROOM}{more}}}"#);
    let broadcast = |number: u64| {
        command("message", &format!(r#","data":"{{\"action\":\"broadcast\",\"payload\":{number}}}""#))
    };
    let numbers_up_to = |last: u64, somebody: &mut Somebody| {
        let (mut numbers, mut history) = (Vec::new(), String::new());
        while numbers.last() != Some(&last) {
            let copy: Value = serde_json::from_str(&somebody.hear(r#""offset""#)).unwrap();
            numbers.push(copy["message"]["payload"].as_u64().unwrap());
            let position = json!({ "epoch": copy["epoch"], "offset": copy["offset"] });
            let streams = json!({ (copy["stream_id"].as_str().unwrap()): position });
            history = format!(r#","history":{{"since":1,"streams":{streams}}}"#);
        }
        (numbers, history)
    };
    let ((mut living, welcome), (mut speaker, _)) = (connect(""), connect(""));
    for somebody in [&mut living, &mut speaker] {
        somebody.say(&command("subscribe", ""));
        somebody.hear("confirm_subscription");
    }
    speaker.say(&broadcast(1));
    let (_, behind_first) = numbers_up_to(1, &mut living);
    let name = format!("?sid={}", welcome["sid"].as_str().unwrap());
    let (mut stranger, of_stranger) = connect(&name);
    assert_eq!(of_stranger["restored"], true);
    stranger.say(&command("history", &behind_first));
    stranger.hear("confirm_history");
    speaker.say(&broadcast(2));
    assert_eq!(numbers_up_to(2, &mut stranger).0, [2]);
    let (heard, behind_second) = numbers_up_to(2, &mut living);
    assert_eq!(heard, [2]);
    living.go();
    speaker.say(&broadcast(3));
    numbers_up_to(3, &mut stranger);
    let (mut living, again) = connect(&name);
    assert_eq!(again["restored"], Value::Null, "it was taken over");
    living.say(&command("subscribe", &behind_second));
    living.hear("confirm_subscription");
    assert_eq!(numbers_up_to(3, &mut living).0, [3]);
    assert!(server.process.signal(Signal::TERM));
    let outcome = finish(server.process, RUN_MAX);
    assert!(outcome.stdout.contains("served 5 connections, 0 echoes, 3 broadcasts (7 copies)"), "{outcome}");
}

/// A Socket.IO server to which all clients are the same: each has the same token, and one of them has always
/// had everything.
#[derive(Default)]
struct OneForAll {
    said: Mutex<Vec<String>>,
    /// Copies that who came back had missed, and is not sent.
    withheld: AtomicUsize,
}

impl OneForAll {
    fn serve(&self, peer: &mut Peer) {
        let hello =
            r#"0{"sid":"s","upgrades":[],"pingInterval":25000,"pingTimeout":20000,"maxPayload":1000000}"#;
        peer.upgrade().frame(TEXT, hello.as_bytes());
        let Some((_, connect)) = peer.receive_frame() else { return };
        let mut next = self.said.lock().unwrap().len();
        let offset = serde_json::from_slice::<Value>(&connect[2..]).ok();
        let offset = offset.and_then(|known| known["offset"].as_str()?.parse::<usize>().ok());
        self.withheld.fetch_add(offset.map_or(0, |offset| next - offset), Ordering::Relaxed);
        peer.frame(TEXT, br#"40{"sid":"s","pid":"everybody"}"#);
        while let Ok(frame) = peer.receive_soon() {
            match frame {
                Some((CLOSE, payload)) => {
                    peer.frame(CLOSE, &payload);
                    return;
                }
                Some((_, message)) => self.hear(peer, &message),
                None => {}
            }
            let said = self.said.lock().unwrap().clone();
            for (at, payload) in said.iter().enumerate().skip(next) {
                peer.frame(TEXT, format!(r#"42["broadcast",{payload},"{}"]"#, at + 1).as_bytes());
            }
            next = said.len();
        }
    }

    fn hear(&self, peer: &mut Peer, message: &[u8]) {
        let message = std::str::from_utf8(message).unwrap();
        let Some(payload) = message.strip_prefix(r#"42["broadcast","#) else { return };
        let payload = payload.strip_suffix(']').unwrap();
        self.said.lock().unwrap().push(payload.to_owned());
        peer.frame(TEXT, format!(r#"42["broadcastResult",{payload}]"#).as_bytes());
    }
}

#[test]
fn shared_tokens_show_as_losses() {
    let chat = std::sync::Arc::new(OneForAll::default());
    let served = std::sync::Arc::clone(&chat);
    let server = HostileServer::start(move |peer| served.serve(peer));
    let url = format!("{}socket.io/", server.url());
    let mut audit =
        throng(["audit", &url, "--protocol", "socketio", "--no-report", "--no-preflight", "--out"]);
    let load = "--clients 20 --rate 50 -d 6s --threads 2 --flap 2s..3s:1s --flap-how close,reset --seed 4 --require at-least-once";
    let kept = tempfile::tempdir().unwrap();
    let outcome = run(audit.arg(kept.path()).args(load.split(' ')), RUN_MAX);
    let results = results_in(kept.path()).unwrap_or_else(|| panic!("no results\n{outcome}"));
    let (of, withheld) = (|name| sum_of(&results, name), chat.withheld.load(Ordering::Relaxed) as u64);
    assert_eq!((outcome.code, of("missing"), of("duplicate"), of("leaked")), (Some(3), 0, 0, 0), "{outcome}");
    assert!(withheld > 0 && of("lost_offline") >= withheld, "{withheld} withheld\n{outcome}");
    assert_eq!(of("offline_due"), of("recovered") + of("lost_offline"), "{outcome}");
    assert!(outcome.stdout.contains("\nguarantee "), "{outcome}");
}
