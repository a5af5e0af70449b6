//! Socket.IO over plain requests: any bytes at a client that waits for answers, and as the body of a request
//! at a server that keeps sessions, in each version.

use crate::support::{check_portions, check_requests, split};
use crate::world;
use wire::{DialectId, Settings};

/// Feeds one input.
pub fn run(data: &[u8]) {
    let Some((&choice, rest)) = data.split_first() else { return };
    let Some((step, bytes)) = split(rest) else { return };
    let eio = if choice & 1 == 0 { 4 } else { 3 };
    match choice >> 1 {
        0 => client("polling", eio, bytes, step),
        1 => client("upgrade", eio, bytes, step),
        _ => server(eio, bytes, step),
    }
}

fn client(transport: &str, eio: u64, bytes: &[u8], step: usize) {
    let settings = Settings::default().with("transport", transport).with("eio", eio);
    check_requests(DialectId::Socketio, "/socket.io/", settings.into(), bytes, step);
}

/// A session is open, and somebody else polls who is in the main namespace; the bytes come on a connection of
/// their own.
fn server(eio: u64, bytes: &[u8], step: usize) {
    check_portions(bytes, step, |portions| {
        let mut world = world::World::new();
        let path = format!("/socket.io/?EIO={eio}&transport=polling");
        let polls = world.connect();
        let ask = |world: &mut world::World, at: usize, path: &str| {
            let request = format!("GET {path} HTTP/1.1\r\nHost: h\r\n\r\n");
            world.send(at, request.as_bytes()).expect("a good request");
        };
        ask(&mut world, polls, &path);
        let opened = world.read(polls);
        let sid =
            opened.split("\"sid\":\"").nth(1).and_then(|rest| rest.split('"').next()).expect("a session");
        let path = format!("{path}&sid={sid}");
        ask(&mut world, polls, &path);
        let pushes = world.connect();
        let length = bytes.len();
        let head = format!("POST {path} HTTP/1.1\r\nHost: h\r\nContent-Length: {length}\r\n\r\n");
        world.send(pushes, head.as_bytes()).expect("a good head");
        // A failure is told by the output.
        for portion in portions {
            let _ = world.send(pushes, portion);
        }
        let said = [world.take(polls), world.take(pushes)];
        world.pass_s(60);
        assert_eq!(world.sessions(), 0, "a session outlives its time");
        said
    });
}
