//! SockJS: any bytes at a client that waits for answers, on each transport, and at a server that keeps sessions.

use crate::support::{check_portions, check_requests, limits, split};
use crate::world;
use codec::Limits;
use wire::{DialectId, Settings};

const TRANSPORTS: [&str; 5] = ["xhr-streaming", "xhr-polling", "eventsource", "htmlfile", "jsonp"];

/// Feeds one input.
pub fn run(data: &[u8]) {
    let Some((&choice, rest)) = data.split_first() else { return };
    let Some((step, bytes)) = split(rest) else { return };
    match TRANSPORTS.get(usize::from(choice)) {
        Some(&transport) => {
            let settings = Settings::default().with("transport", transport);
            check_requests(DialectId::Sockjs, "/sockjs", settings.into(), bytes, step);
        }
        None => server(bytes, step),
    }
}

/// A session is open and waits; the bytes come on a connection of their own.
fn server(bytes: &[u8], step: usize) {
    check_portions(bytes, step, |portions| {
        let mut world = world::World::new();
        // How much may wait behind a request depends on what comes with it: not here.
        world.cfg.limits = Limits { body_bytes_max: 1 << 20, ..limits() };
        let (waiting, other) = (world.connect(), world.connect());
        let poll = b"POST /echo/0/a/xhr HTTP/1.1\r\nHost: h\r\n\r\n";
        world.send(waiting, &poll.repeat(2)).expect("two good requests");
        // A failure is told by the output; it may come as late as the answer before it.
        for portion in portions {
            let _ = world.send(other, portion);
        }
        let is_closed = world.is_closed(other);
        let said = [world.take(waiting), world.take(other)];
        world.abort(waiting);
        world.abort(other);
        world.pass_s(60);
        assert_eq!(world.sessions(), 0, "a session outlives its time");
        (said, is_closed)
    });
}
