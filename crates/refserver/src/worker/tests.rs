//! How much is done in one turn.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use net::socket::{Addr, listen};

use super::input::READS_PER_TURN;
use super::*;
use crate::faults::{Faults, MessageSelector, Selector};
use crate::mailbox::mailbox;

/// The least number of turns in which a flood is read: it has as many bytes as they may read.
const FLOOD_TURNS: usize = 32;

/// A request for an upgrade, many pongs, which need no answer (RFC 6455 §5.5.3), and a text to echo; masked
/// with zeros.
fn flood() -> Vec<u8> {
    let upgrade = "GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
                   Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";
    let mut pong = vec![0x8a, 0x80 | 125];
    pong.resize(2 + 4 + 125, 0);
    let pongs = pong.repeat((FLOOD_TURNS * READS_PER_TURN * READ_BYTES).div_ceil(pong.len()));
    [upgrade.as_bytes(), &pongs, b"\x81\x82\0\0\0\0hi"].concat()
}

/// Workers of one process, with a listener each, and the listeners' addresses.
fn workers<const N: usize>() -> [(Worker, SocketAddr); N] {
    let mailboxes: [_; N] = std::array::from_fn(|_| mailbox().unwrap());
    let outboxes = mailboxes.each_ref().map(|(_, outbox)| outbox.clone());
    let held = Held::new(usize::MAX);
    let board = Arc::new(SharedStats::new(None, N, held.clone(), |_| {}));
    let mut inboxes = mailboxes.map(|(inbox, _)| Some(inbox));
    std::array::from_fn(|number| {
        let listener = Arc::new(listen(&Addr::Inet("127.0.0.1:0".parse().unwrap()), 16, false).unwrap());
        let Addr::Inet(addr) = listener.local_addr().unwrap() else { unreachable!("bound to a port") };
        let others = outboxes.iter().enumerate().filter(|(other, _)| *other != number);
        let context = WorkerContext {
            number,
            listeners: vec![listener],
            inbox: inboxes[number].take().unwrap(),
            others: others.map(|(_, outbox)| outbox.clone()).collect(),
            peers: vec![],
            faults: None,
            held: held.clone(),
            board: Arc::clone(&board),
            room_counts: None,
        };
        let options = Arc::new(Options::new(vec![Addr::Inet(addr)]));
        (Worker::new(options, StopFlag::new(), context).unwrap(), addr)
    })
}

/// Has a worker do all its pending work.
fn settle(worker: &mut Worker) {
    let mut events = Events::with_capacity(16);
    for _ in 0..4 {
        worker.poller.wait(&mut events, Some(50_000_000)).unwrap();
        worker.turn(&events).unwrap();
    }
}

/// The status and body of an answer that has arrived.
fn answer(client: &mut TcpStream) -> (String, String) {
    let mut answer = [0; 4096];
    client.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let count = client.read(&mut answer).unwrap();
    let answer = String::from_utf8_lossy(&answer[..count]).into_owned();
    let (head, body) = answer.split_once("\r\n\r\n").expect("a whole head");
    (head[9..12].to_owned(), body.to_owned())
}

/// The keeper of a session reads the later of two polls; the earlier comes to another worker, which is slow
/// to hand it over.
#[test]
fn earlier_of_two_polls_is_told_the_end() {
    let mut workers = workers::<2>();
    let mut opener = TcpStream::connect(workers[0].1).unwrap();
    let poll = |client: &mut TcpStream, sid: &str| {
        let path = format!("/socket.io/?EIO=4&transport=polling{sid}");
        client.write_all(format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes()).unwrap();
    };
    poll(&mut opener, "");
    for (worker, _) in &mut workers {
        settle(worker);
    }
    let (_, opened) = answer(&mut opener);
    let sid = opened.split('"').nth(3).expect("a session's id").to_owned();
    let name = format!("socket.io/{sid}");
    let keeper = workers.iter().position(|(worker, _)| worker.sessions.find(&name).is_some());
    let keeper = keeper.expect("it is kept");

    let [mut first, mut second] = [1 - keeper, keeper].map(|at| TcpStream::connect(workers[at].1).unwrap());
    for (worker, _) in &mut workers {
        settle(worker);
    }
    poll(&mut first, &format!("&sid={sid}"));
    thread::sleep(Duration::from_millis(30)); // several ticks of the kernel's clock
    poll(&mut second, &format!("&sid={sid}"));
    for at in [keeper, 1 - keeper, keeper] {
        settle(&mut workers[at].0);
    }
    assert_eq!(answer(&mut first), ("200".into(), "1".into()));
    assert_eq!(answer(&mut second).0, "400");
}

#[test]
fn floods_have_bounded_reads_in_a_turn() {
    let [(mut worker, addr)] = workers::<1>();
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

#[test]
fn leaks_of_gone_clients_are_dropped() {
    let [(mut worker, _)] = workers::<1>();
    let leak = Some(MessageSelector { selector: Selector::All, of_each_client: false });
    let mut faults =
        WorkerFaults::new(Arc::new(faults::Shared::new(Faults { leak, ..Faults::default() }, 0)));
    let mut client = faults.client();
    faults.handle_messages(&mut client, token(3, 1), b"\x81\x01a", faults::EVERYTHING, 0);
    worker.faults = Some(Box::new(faults));
    settle(&mut worker);
    worker.count_faults();
    assert_eq!(worker.stats.faults.get("leak"), None);
}

#[test]
fn timers_show_in_the_metrics() {
    let [(mut worker, addr)] = workers::<1>();
    // Later than the figures of the turn that accepts are shown.
    Arc::get_mut(&mut worker.options).expect("the only one").handshake_timeout_ns = 3 * PUBLISH_AFTER_NS;
    let _idle = TcpStream::connect(addr).unwrap();
    let start = Instant::now();
    for open in [1, 0] {
        let line = format!("throng_serve_open_connections {open}");
        while !worker.board.metrics().lines().any(|shown| shown == line) {
            assert!(start.elapsed() < Duration::from_secs(30), "never {line}");
            settle(&mut worker);
        }
    }
}

#[test]
fn missed_pings_are_left_out() {
    const S: u64 = 1_000_000_000;
    let [(mut worker, _)] = workers::<1>();
    Arc::get_mut(&mut worker.options).expect("the only one").ping_interval_ns = Some(2 * S);
    (worker.now_ns, worker.next_ping_ns) = (3_600 * S, Some(5 * S));
    worker.ping_clients();
    assert_eq!(worker.next_ping_ns, Some(3_601 * S));
    worker.ping_clients();
    assert_eq!(worker.next_ping_ns, Some(3_601 * S), "not due yet");
}
