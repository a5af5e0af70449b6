//! How much is done in one turn.

use std::io::Write;
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use net::socket::{Addr, listen};

use super::input::READS_PER_TURN;
use super::*;
use crate::mailbox::mailbox;

/// As much as a connection may have read in this many turns.
const FLOOD_TURNS: usize = 32;

/// A request for an upgrade, many pongs, which need no answer (RFC 6455 §5.5.3), and a text to echo; masked with zeros.
fn flood() -> Vec<u8> {
    let upgrade = "GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
                   Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";
    let mut pong = vec![0x8a, 0x80 | 125];
    pong.resize(2 + 4 + 125, 0);
    let pongs = pong.repeat((FLOOD_TURNS * READS_PER_TURN * READ_BYTES).div_ceil(pong.len()));
    [upgrade.as_bytes(), &pongs, b"\x81\x82\0\0\0\0hi"].concat()
}

#[test]
fn a_flood_has_no_more_reads_in_a_turn_for_going_on() {
    let addr = Addr::Inet("127.0.0.1:0".parse().unwrap());
    let listener = Arc::new(listen(&addr, 16, false).unwrap());
    let Addr::Inet(addr) = listener.local_addr().unwrap() else { unreachable!("bound to a port") };
    let (inbox, _outbox) = mailbox().unwrap();
    let held = Held::new(usize::MAX);
    let board = Arc::new(Board::new(1, held.clone(), |_| {}));
    let (listeners, others, peers) = (vec![listener], vec![], vec![]);
    let seat = Seat { number: 0, listeners, inbox, others, peers, faults: None, held, board, roster: None };
    let options = Arc::new(Options::new(vec![Addr::Inet(addr)]));
    let mut worker = Worker::new(options, StopFlag::new(), seat).unwrap();

    let mut client = TcpStream::connect(addr).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| client.write_all(&flood()).unwrap());
        let (mut events, mut turns, start) = (Events::with_capacity(16), 0, Instant::now());
        while worker.stats.echoes == 0 {
            assert!(start.elapsed() < Duration::from_secs(30), "never read to its end");
            worker.poller.wait(&mut events, worker.timeout_ns()).unwrap();
            worker.turn(&events).unwrap();
            turns += 1;
        }
        assert!(turns >= FLOOD_TURNS, "{turns} turns for what takes {FLOOD_TURNS}");
    });
}
