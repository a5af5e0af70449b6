//! Faults as clients see them: what is on the wire, and what the server says it did.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::common::*;
use refserver::faults::{
    CloseMethod, Delay, Ending, Faults, MessageSelector, Selector, SlowAccept, Time, Wave,
};
use wire::Settings;

fn serve(faults: Faults) -> Running {
    Running::with(|options| options.faults = Some(faults))
}

fn which(selector: Selector) -> Option<MessageSelector> {
    Some(MessageSelector { selector, of_each_client: false })
}

/// A text frame of this one letter, masked by nothing.
fn question(letter: u8) -> [u8; 7] {
    [0x81, 0x81, 0, 0, 0, 0, letter]
}

fn ask(stream: &mut TcpStream, letter: u8) {
    stream.write_all(&question(letter)).unwrap();
}

fn answer(stream: &mut TcpStream) -> u8 {
    let mut frame = [0; 3];
    stream.read_exact(&mut frame).unwrap();
    assert_eq!(frame[..2], [0x81, 1]);
    frame[2]
}

#[test]
fn a_delay_is_kept_and_others_overtake() {
    let time = Time::Fixed(200_000_000);
    let server = serve(Faults {
        delays: vec![Delay { time, which: which(Selector::One(0)).unwrap() }],
        ..Faults::default()
    });
    let mut stream = server.open();
    let began = Instant::now();
    // In one segment, so that the second is not late itself.
    stream.write_all(&[question(b'a'), question(b'b')].concat()).unwrap();
    assert_eq!(answer(&mut stream), b'b');
    assert_eq!(answer(&mut stream), b'a');
    assert!(began.elapsed() >= Duration::from_millis(200));
}

#[test]
fn stray_copies_reach_strangers_and_are_counted() {
    let server = serve(Faults { stray: which(Selector::All), ..Faults::default() });
    let (mut own, mut stranger) = (server.open(), server.open());
    ask(&mut own, b'a');
    assert_eq!(answer(&mut own), b'a');
    assert_eq!(answer(&mut stranger), b'a');
    assert_eq!(server.finish().faults["stray"], 1);
}

#[test]
fn strays_without_strangers_are_not_counted() {
    let server = serve(Faults { stray: which(Selector::All), ..Faults::default() });
    let mut own = server.open();
    ask(&mut own, b'a');
    assert_eq!(answer(&mut own), b'a');
    assert_eq!(server.finish().faults.get("stray"), None);
}

#[test]
fn acks_beside_echoes_are_left_alone() {
    let server = serve(Faults { drop: which(Selector::All), ..Faults::default() });
    let mut client = server.open();
    let broadcast = frame(TEXT, broadcast_text(7).as_bytes());
    // In one segment: the answers to all of it are one output.
    client.write_all(&[&question(b'a')[..], &broadcast, &question(b'b'), &broadcast].concat()).unwrap();
    assert_eq!(read_texts(&mut client, 2), [result_text(7), result_text(7)]);
    assert_silent(&mut client);
    assert_eq!(server.finish().faults["drop"], 4, "two echoes, and its copies of the broadcasts");
}

/// Connects a client that is in the room of that name.
fn enter(server: &Running, room: &str) -> TcpStream {
    let mut stream = server.connect();
    let request = upgrade_request().replacen("/ws ", &format!("/ws?room={room} "), 1);
    stream.write_all(request.as_bytes()).unwrap();
    assert!(read_head(&mut stream).starts_with("HTTP/1.1 101 "));
    stream
}

#[test]
fn only_leaks_leave_a_room() {
    let rooms = |server: &Running| {
        let mut clients = ["a", "a", "b"].map(|room| enter(server, room));
        clients[0].write_all(&frame(TEXT, broadcast_text(7).as_bytes())).unwrap();
        assert_eq!(read_texts(&mut clients[1], 1), [broadcast_text(7)]);
        clients
    };
    let tight = Running::with(|options| options.threads = 1);
    assert_silent(&mut rooms(&tight)[2]);
    // Two copies go to the room, its sender's and the other's; the first copy leaks.
    let leak = which(Selector::One(0));
    let leaky = Running::with(|options| {
        options.threads = 1;
        options.faults = Some(Faults { leak, ..Faults::default() });
    });
    let mut clients = rooms(&leaky);
    assert_eq!(read_texts(&mut clients[2], 1), [broadcast_text(7)]);
    assert_silent(&mut clients[2]);
    assert_eq!(leaky.finish().faults["leak"], 1);
}

#[test]
fn faulty_connections_end_at_their_message() {
    let end = |how, number| Ending { how, who: Selector::One(number), at: 1 };
    let endings = vec![end(CloseMethod::Reset, 0), end(CloseMethod::Close, 1), end(CloseMethod::Mute, 2)];
    let server = serve(Faults { endings, ..Faults::default() });
    let mut streams = [server.open(), server.open(), server.open()];
    for stream in &mut streams {
        ask(stream, b'a');
        assert_eq!(answer(stream), b'a');
        ask(stream, b'b');
    }
    let [reset, closed, mute] = &mut streams;
    assert_eq!(reset.read(&mut [0; 9]).unwrap_err().kind(), ErrorKind::ConnectionReset);
    let mut frame = [0; 4];
    closed.read_exact(&mut frame).unwrap();
    assert_eq!(frame, [0x88, 2, 0x03, 0xe9], "a close with 1001");
    mute.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    assert_eq!(mute.read(&mut [0; 9]).unwrap_err().kind(), ErrorKind::WouldBlock);
}

#[test]
fn muted_clients_get_no_heartbeats() {
    const INTERVAL: Duration = Duration::from_millis(50);
    let endings = vec![Ending { how: CloseMethod::Mute, who: Selector::All, at: 0 }];
    let server = Running::with(|options| {
        let interval_ns = INTERVAL.as_nanos() as u64;
        options.protocol.settings = Settings::default().with("cable-ping-interval", interval_ns);
        options.faults = Some(Faults { endings, ..Faults::default() });
    });
    let mut client = server.connect();
    let offer = "\r\nSec-WebSocket-Protocol: actioncable-v1-json\r\n\r\n";
    let request = upgrade_request().replace("/ws", "/cable").replace("\r\n\r\n", offer);
    client.write_all(request.as_bytes()).unwrap();
    assert!(read_head(&mut client).starts_with("HTTP/1.1 101 "));
    let identifier = r#""identifier":"{\"channel\":\"BenchmarkChannel\"}""#;
    let subscribe = format!(r#"{{"command":"subscribe",{identifier}}}"#);
    let data = r#""data":"{\"action\":\"echo\",\"payload\":{}}""#;
    let echo = format!(r#"{{"command":"message",{identifier},{data}}}"#);
    for text in [subscribe, echo] {
        client.write_all(&frame(TEXT, text.as_bytes())).unwrap();
    }
    client.set_read_timeout(Some(4 * INTERVAL)).unwrap();
    let start = Instant::now();
    // The greeting, the confirmation, and pings until the echo is due.
    while try_read_frame(&mut client).is_ok() {
        assert!(start.elapsed() < PATIENCE, "never mute");
    }
    assert_eq!(server.finish().faults["mute"], 1);
    assert!(!matches!(client.read(&mut [0]), Ok(1)), "a close");
}

#[test]
fn a_connection_may_be_refused_or_kept_waiting() {
    let accept = Some(SlowAccept { delay_ns: 200_000_000, who: Selector::One(1) });
    let server = serve(Faults { refuse: Some(Selector::One(0)), accept, ..Faults::default() });
    let mut refused = server.connect();
    assert_eq!(refused.read(&mut [0; 9]).unwrap_err().kind(), ErrorKind::ConnectionReset);
    let began = Instant::now();
    let mut late = server.open();
    assert!(began.elapsed() >= Duration::from_millis(200));
    ask(&mut late, b'a');
    assert_eq!(answer(&mut late), b'a');
    server.open();
    let faults = server.finish().faults;
    assert_eq!((faults["refuse"], faults["accept"]), (1, 1));
}

#[test]
fn waiting_connections_end_with_the_server() {
    let accept = Some(SlowAccept { delay_ns: 60_000_000_000, who: Selector::All });
    let server = Running::with(|options| {
        options.grace_ns = 60_000_000_000;
        options.faults = Some(Faults { accept, ..Faults::default() });
    });
    let mut client = server.connect();
    server.ask_to_stop();
    assert_eq!(client.read(&mut [0]).unwrap(), 0);
    drop(client);
    let start = Instant::now();
    assert_eq!(server.finish().connections, 1);
    assert!(start.elapsed() < PATIENCE, "{:?}", start.elapsed());
}

#[test]
fn a_stalled_server_can_be_stopped() {
    const S: u64 = 1_000_000_000;
    let stall = Some(Wave { length_ns: 60 * S - 1, period_ns: 60 * S });
    let server = serve(Faults { stall, ..Faults::default() });
    let mut client = server.connect();
    client.write_all(upgrade_request().as_bytes()).unwrap();
    assert_silent(&mut client);
    let start = Instant::now();
    server.finish();
    assert!(start.elapsed() < PATIENCE, "{:?}", start.elapsed());
}
