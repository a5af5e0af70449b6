//! Sessions that a server of kept broadcasts recovers: their rooms, and what they missed.

use std::sync::Arc;

use wire::{History, Keep, ReplayFault, Settings};

use crate::common::world::World;
use crate::common::*;

const WEBSOCKET_PATH: &str = "/socket.io/?EIO=4&transport=websocket";

/// A server that keeps broadcasts, and hardly ever pings.
fn keeping() -> World {
    let mut world = World::new();
    world.cfg.settings = Settings::default().with("socketio-ping-interval", 3_600_000_000_000_u64);
    let history = History::new(Keep::Messages(10), |_| ReplayFault::default());
    world.cfg.history = Some(Arc::new(history));
    world
}

/// Opens a WebSocket in a room.
fn open(world: &mut World, room: &str) -> usize {
    let at = world.connect();
    let path = format!("{WEBSOCKET_PATH}&room={room}");
    world.send(at, request("").replace("/chat", &path).as_bytes()).unwrap();
    world.take(at);
    at
}

fn talk(world: &mut World, at: usize, messages: &[&str]) -> Vec<String> {
    world.send(at, &masked_texts(messages)).unwrap();
    said(&world.take(at))
}

/// The connect of a client that has got the messages up to this offset, by the answer to its connect before.
fn again(answer: &str, offset: u32) -> String {
    let (_, rest) = answer.split_once(r#""pid":""#).unwrap();
    let pid = rest.trim_end_matches(r#""}"#);
    format!(r#"40{{"pid":"{pid}","offset":"{offset}"}}"#)
}

#[test]
fn recovered_sessions_keep_their_rooms() {
    let mut world = keeping();
    let join = |room: &str| format!(r#"420["join","{room}"]"#);
    let broadcast = |room: &str, n: u32| format!(r#"42["broadcast",{{"room":"{room}","n":{n}}}]"#);
    let copy = |room: &str, n: u32| format!(r#"42["broadcast",{{"room":"{room}","n":{n}}},"{n}"]"#);
    let first = open(&mut world, "x");
    let heard = talk(&mut world, first, &["40", &join("a"), &join("b"), &broadcast("a", 1)]);
    assert!(heard.contains(&copy("a", 1)), "{heard:?}");
    // Longer than a session is kept behind its last heartbeat.
    world.now_ns += 360_000_000_000;
    world.abort(first);
    let other = open(&mut world, "x");
    let others = ["b", "a", "c"].map(join);
    talk(&mut world, other, &["40", &others[0], &others[1], &others[2]]);
    talk(&mut world, other, &[&broadcast("b", 2), &broadcast("c", 3), &broadcast("a", 4)]);
    let back = open(&mut world, "x");
    assert_eq!(talk(&mut world, back, &[&again(&heard[0], 1)])[1..], [copy("b", 2), copy("a", 4)]);
    talk(&mut world, other, &[&broadcast("b", 5), &broadcast("c", 6)]);
    assert_eq!(said(&world.take(back)), [copy("b", 5)]);
}

#[test]
fn recovered_sessions_stay_out_of_rooms_left() {
    let copy = |n: u32| format!(r#"42["broadcast",{n},"{n}"]"#);
    let moves = [r#"42["join","a"]"#, r#"42["leave","a"]"#];
    for (moves, hears) in [(&moves[..0], true), (&moves[..], false)] {
        let mut world = keeping();
        let [first, other] = [(); 2].map(|()| open(&mut world, "x"));
        let heard = talk(&mut world, first, &[&["40"][..], moves].concat());
        world.abort(first);
        talk(&mut world, other, &["40", r#"42["broadcast",1]"#]);
        let back = open(&mut world, "x");
        let missed = talk(&mut world, back, &[&again(&heard[0], 0)]).split_off(1);
        talk(&mut world, other, &[r#"42["broadcast",2]"#]);
        let all = [missed, said(&world.take(back))].concat();
        assert_eq!(all, if hears { vec![copy(1), copy(2)] } else { vec![] }, "{moves:?}");
    }
}
