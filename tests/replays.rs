//! Servers that go on with sessions as they should not, against an app's file with a history: whatever is
//! sent again is counted as what it is, the sentence says so, and the run ends in time.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use results::format;
use serde_json::{Value, json};

use crate::support::hostile::{HostileServer, Peer};
use crate::support::throng::{ANY_PACE, Outcome, errors_of, results_in, run, sum_of, throng};
use crate::support::websocket::{CLOSE, TEXT, frame};

/// Six seconds of load, what it takes to connect and to drain, and a busy machine.
const RUN_MAX: Duration = Duration::from_secs(60);

const APP: &str = r#"
[broadcast]
send = '{"type":"say","text":"{id}"}'
copy = { json = { "/type" = "said" } }
ack = { json = { "/type" = "ok" } }

[[open]]
send = '{"type":"join","room":"{room}","after":{kept}}'

[[open]]
expect = { json = { "/type" = "joined" } }

[resume]
keep = "/number"
first = "0"
"#;

/// Before the numbers that no message has yet.
const FUTURE: u64 = 1 << 60;

/// Replays of a server to a client that is back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Replay {
    /// The messages it missed.
    Missed,
    /// The message, and before it all that it has received already.
    All,
    /// The messages missed in all rooms.
    AllRooms,
    /// Nothing: its messages had numbers that are none.
    NumbersOfTheFuture,
    /// The messages missed by another client: all of them have the same name.
    SomebodyElses,
    /// The last message of its room, until it leaves.
    WithoutEnd,
    /// The same, before it has joined.
    WithoutEndNorBeginning,
}

/// A chat that numbers what is said from 1 on, and does this to who is back.
struct Chat {
    replay: Replay,
    said: Mutex<Vec<Said>>,
    /// Copies that were sent again although their receivers had not missed them.
    undue: AtomicU64,
    /// Copies that were not, although they had.
    withheld: AtomicU64,
}

#[derive(Clone)]
struct Said {
    room: String,
    text: String,
}

/// How far a client has come, in which room.
struct Place {
    room: String,
    next: usize,
}

impl Chat {
    fn start(replay: Replay) -> (Arc<Chat>, HostileServer) {
        let chat = Arc::new(Chat {
            replay,
            said: Mutex::default(),
            undue: AtomicU64::new(0),
            withheld: AtomicU64::new(0),
        });
        let served = Arc::clone(&chat);
        (chat, HostileServer::start(move |peer| served.serve(peer)))
    }

    fn serve(&self, peer: &mut Peer) {
        let Some((_, join)) = peer.upgrade().receive_frame() else { return };
        let mut place = self.join(peer, &join);
        while let Ok(frame) = peer.receive_soon() {
            match frame {
                Some((CLOSE, payload)) => {
                    peer.frame(CLOSE, &payload);
                    break;
                }
                Some((_, message)) => self.hear(peer, &place, &message),
                None => {}
            }
            self.tell(peer, &mut place);
        }
    }

    /// Lets a client in, and tells it what it has missed.
    fn join(&self, peer: &mut Peer, join: &[u8]) -> Place {
        let join: Value = serde_json::from_slice(join).unwrap();
        let (room, after) = (join["room"].as_str().unwrap().to_owned(), join["after"].as_u64().unwrap());
        let said = self.said.lock().unwrap().clone();
        let last = said.iter().rposition(|message| message.room == room);
        self.tell_again(peer, &said, &room, after);
        if let (Replay::WithoutEndNorBeginning, Some(last)) = (self.replay, last) {
            peer.flood(&self.copy(&said, last));
        }
        peer.frame(TEXT, json!({ "type": "joined" }).to_string().as_bytes());
        if let (Replay::WithoutEnd, Some(last)) = (self.replay, last) {
            peer.flood(&self.copy(&said, last));
        }
        Place { room, next: said.len() }
    }

    fn tell_again(&self, peer: &mut Peer, said: &[Said], room: &str, after: u64) {
        for (at, message) in said.iter().enumerate() {
            let is_of_room = message.room == room;
            let is_missed = is_of_room && at as u64 >= after % FUTURE;
            let is_sent = match self.replay {
                Replay::All => is_of_room,
                Replay::AllRooms => at as u64 >= after,
                Replay::NumbersOfTheFuture | Replay::SomebodyElses => false,
                _ => is_missed,
            };
            self.undue.fetch_add(u64::from(is_sent && !is_missed), Ordering::Relaxed);
            self.withheld.fetch_add(u64::from(is_missed && !is_sent), Ordering::Relaxed);
            if is_sent {
                peer.send(&self.copy(said, at));
            }
        }
    }

    fn hear(&self, peer: &mut Peer, place: &Place, message: &[u8]) {
        let text = serde_json::from_slice::<Value>(message).unwrap()["text"].as_str().unwrap().to_owned();
        peer.frame(TEXT, json!({ "type": "ok", "text": text }).to_string().as_bytes());
        self.said.lock().unwrap().push(Said { room: place.room.clone(), text });
    }

    /// Tells a client what was said in its room since.
    fn tell(&self, peer: &mut Peer, place: &mut Place) {
        let said = self.said.lock().unwrap().clone();
        for at in place.next..said.len() {
            if said[at].room == place.room {
                peer.send(&self.copy(&said, at));
            }
        }
        place.next = said.len();
    }

    fn copy(&self, said: &[Said], at: usize) -> Vec<u8> {
        let before = if self.replay == Replay::NumbersOfTheFuture { FUTURE } else { 0 };
        let number = before + at as u64 + 1;
        let copy = json!({ "type": "said", "number": number, "text": said[at].text });
        frame(TEXT, copy.to_string().as_bytes())
    }
}

/// Twenty clients in two rooms.
const CLIENTS: u64 = 20;
const MANY: &str = "--clients 20 --room-size 10";
/// Four, whose copies are not waited for.
const FEW: &str = "--clients 4 --room-size 2 --drain-timeout 3s";

/// An audit of such a server: 50 messages a second, to clients that are away for a second.
fn audit(replay: Replay, flags: &str) -> (Outcome, Value, Arc<Chat>) {
    let (chat, server) = Chat::start(replay);
    let folder = tempfile::tempdir().unwrap();
    let (app, kept) = (folder.path().join("chat.toml"), folder.path().join("results"));
    std::fs::write(&app, APP).unwrap();
    let mut command =
        throng(["audit", &server.url(), "--no-report", "--no-preflight", "--threads", "1", "--app"]);
    command.arg(&app).arg("--out").arg(&kept);
    command.args("--rate 50 -d 6s --flap 2s..3s:1s --flap-how close,reset".split(' '));
    let outcome = run(command.args(flags.split_whitespace()), RUN_MAX);
    let results = results_in(&kept).unwrap_or_else(|| panic!("no results\n{outcome}"));
    (outcome, results, chat)
}

/// The sentence on delivery.
fn sentence(outcome: &Outcome) -> &str {
    let line = outcome.stdout.lines().find_map(|line| line.strip_prefix("guarantee "));
    line.unwrap_or_else(|| panic!("nothing of delivery\n{outcome}"))
}

#[test]
fn correct_replays_are_recovered_once() {
    let flags = format!("{MANY} {} --require at-least-once", ANY_PACE.join(" "));
    let (outcome, results, _) = audit(Replay::Missed, &flags);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    let of = |name| sum_of(&results, name);
    assert!(of("recovered") == of("offline_due") && of("recovered") > of("cut"), "{outcome}");
}

#[test]
fn replays_of_received_messages_are_duplicates() {
    let (outcome, results, chat) = audit(Replay::All, MANY);
    let (of, undue) = (|name| sum_of(&results, name), chat.undue.load(Ordering::Relaxed));
    assert!(undue > 0, "{outcome}");
    assert_eq!((outcome.code, of("duplicate"), of("leaked")), (Some(3), undue, 0), "{outcome}");
    assert_eq!((of("recovered"), of("missing"), of("lost_offline")), (of("offline_due"), 0, 0), "{outcome}");
    assert!(sentence(&outcome).contains(&format!(" {} copies ", format::count(undue))), "{outcome}");
}

#[test]
fn replays_of_other_rooms_have_leaked() {
    let (outcome, results, chat) = audit(Replay::AllRooms, MANY);
    let (of, undue) = (|name| sum_of(&results, name), chat.undue.load(Ordering::Relaxed));
    assert!(undue > 0, "{outcome}");
    assert_eq!((outcome.code, of("leaked"), of("duplicate")), (Some(3), undue, 0), "{outcome}");
    assert_eq!((of("recovered"), of("missing"), of("lost_offline")), (of("offline_due"), 0, 0), "{outcome}");
}

#[test]
fn wrong_offsets_lose_messages() {
    for replay in [Replay::NumbersOfTheFuture, Replay::SomebodyElses] {
        let (outcome, results, chat) = audit(replay, &format!("{MANY} --require at-least-once"));
        let (of, withheld) = (|name| sum_of(&results, name), chat.withheld.load(Ordering::Relaxed));
        assert!(withheld > 0, "{replay:?}: {outcome}");
        let lost = of("lost_offline");
        // A message whose sender was cut off before the server is known to have it is due to nobody, and may
        // be withheld.
        let undue = CLIENTS * errors_of(&results, "cut_off");
        assert!((lost..=lost + undue).contains(&withheld), "{replay:?}: {withheld} withheld: {outcome}");
        assert_eq!(
            (outcome.code, of("offline_due"), of("missing"), of("duplicate")),
            (Some(3), of("recovered") + lost, 0, 0),
            "{replay:?}: {outcome}"
        );
    }
}

/// Nothing that repeats itself is waited for: a step is drained two seconds after the last copy that is new, or after
/// --drain-timeout.
#[test]
fn a_replay_without_end_ends_with_the_run() {
    let (outcome, results, _) = audit(Replay::WithoutEnd, &format!("{FEW} --connect-timeout 20s"));
    let of = |name| sum_of(&results, name);
    assert_eq!(outcome.code, Some(3), "{outcome}");
    assert!(of("duplicate") > 10 * of("sent"), "{outcome}");
    // Whether what is new comes through such a flood is a matter of moments; that it is due once, to both of
    // the room, is not.
    let heard = of("sent") - errors_of(&results, "cut_off");
    assert_eq!(of("expected") + of("offline_due"), 2 * heard, "{outcome}");
    assert!(sentence(&outcome).contains(" copies too many"), "{outcome}");
    // Who is never let in is not back.
    let hasty = format!("{FEW} --connect-timeout 2s");
    let (outcome, results, _) = audit(Replay::WithoutEndNorBeginning, &hasty);
    assert!(errors_of(&results, "connect_timeout") > 0 && sum_of(&results, "not_back") > 0, "{outcome}");
    assert!(outcome.code == Some(3) && sum_of(&results, "offline_due") > 0, "{outcome}");
}
