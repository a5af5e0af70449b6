//! Clients that misbehave, and the server's end.

use std::io::{ErrorKind, Read, Write};
use std::time::{Duration, Instant};

use crate::common::*;
use refserver::SlowPolicy;

#[test]
fn clients_that_do_not_read_are_dropped() {
    let server = Running::with(|options| options.backlog_bytes_max = 200_000);
    let (mut sender, mut sleeper) = (server.open(), server.open());
    let message = format!(r#"{{"type":"broadcast","payload":{{"padding":"{}"}}}}"#, "x".repeat(100_000));
    // Loopback holds a few megabytes before the backlog begins.
    for _ in 0..200 {
        sender.write_all(&frame(TEXT, message.as_bytes())).unwrap();
        read_texts(&mut sender, 2);
    }
    let mut heard = 0;
    let end = loop {
        match try_read_frame(&mut sleeper) {
            Ok((_, payload)) => heard += usize::from(payload.len() == message.len()),
            Err(error) => break error,
        }
    };
    assert!(matches!(end.kind(), ErrorKind::ConnectionReset | ErrorKind::UnexpectedEof), "{end}");
    assert!(heard < 200, "{heard}");
    let stats = server.finish();
    assert_eq!((stats.slow_dropped, stats.copies_skipped), (1, 0));
}

#[test]
fn clients_that_do_not_read_miss_messages() {
    let server = Running::with(|options| {
        options.backlog_bytes_max = 200_000;
        options.slow_policy = SlowPolicy::DropMessage;
    });
    let (mut sender, mut sleeper) = (server.open(), server.open());
    let message = |number: usize| {
        format!(r#"{{"type":"broadcast","payload":{{"n":{number:03},"padding":"{}"}}}}"#, "x".repeat(100_000))
    };
    for number in 0..200 {
        sender.write_all(&frame(TEXT, message(number).as_bytes())).unwrap();
        read_texts(&mut sender, 2);
    }
    // Its own echo comes after all that waits for it.
    sleeper.write_all(&frame(TEXT, b"awake")).unwrap();
    let mut heard = Vec::new();
    loop {
        match read_frame(&mut sleeper).1 {
            awake if awake == b"awake" => break,
            copy => heard.push(String::from_utf8(copy).unwrap()),
        }
    }
    assert!(
        heard.iter().enumerate().all(|(number, text)| *text == message(number)),
        "whole, in order, from the start"
    );
    let stats = server.finish();
    assert_eq!(stats.slow_dropped, 0);
    assert!(stats.copies_skipped > 0);
    assert_eq!(heard.len() as u64 + stats.copies_skipped, 200, "each copy was either heard or counted");
}

#[test]
fn clients_with_untaken_echoes_are_not_read() {
    let server = Running::with(|_| {});
    let mut client = server.open();
    client.set_nonblocking(true).unwrap();
    let message = frame(BINARY, &[7; 100_000]);
    let (mut written, mut stuck) = (0, Instant::now());
    while stuck.elapsed() < Duration::from_millis(300) {
        match client.write(&message[written % message.len()..]) {
            Ok(count) => {
                written += count;
                stuck = Instant::now();
            }
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::WouldBlock);
                std::thread::sleep(Duration::from_millis(10));
            }
        }
        assert!(written < 100 << 20, "the server would take anything");
    }
    client.set_nonblocking(false).unwrap();
    for _ in 0..written / message.len() {
        assert!(read_frame(&mut client) == (BINARY, vec![7; 100_000]), "nothing is lost");
    }
}

/// Sends bytes one by one, as long as the server takes them; a whole request takes longer than any deadline.
fn drip(client: &mut std::net::TcpStream, bytes: &[u8]) {
    let start = Instant::now();
    for &byte in bytes.iter().cycle() {
        if client.write_all(&[byte]).is_err() {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
        assert!(start.elapsed() < PATIENCE, "never cut off");
    }
}

#[test]
fn dripping_requests_meet_an_absolute_deadline() {
    const DEADLINE: Duration = Duration::from_secs(1);
    let server = Running::with(|options| options.handshake_timeout_ns = DEADLINE.as_nanos() as u64);
    let mut patient = server.open();
    // Each time is taken before the server's own begins.
    let start = Instant::now();
    let mut client = server.connect();
    drip(&mut client, upgrade_request().as_bytes());
    assert!(start.elapsed() >= DEADLINE, "cut off early");

    let mut client = server.connect();
    client.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    assert!(read_head(&mut client).starts_with("HTTP/1.1 200 "));
    std::thread::sleep(DEADLINE + Duration::from_millis(100));
    let start = Instant::now();
    drip(&mut client, b"GET /?");
    assert!(start.elapsed() >= DEADLINE, "being idle is no offence");

    patient.write_all(&frame(TEXT, b"still here")).unwrap();
    assert_eq!(read_texts(&mut patient, 1), ["still here"]);
    assert_eq!(server.finish().errors.get("handshake_timeout"), Some(&2));
}

#[test]
fn resets_in_mid_frame_leave_others_alone() {
    let server = Running::with(|_| {});
    let mut others = [server.open(), server.open()];
    let mut victim = server.open();
    victim.write_all(&frame(TEXT, &[b'a'; 5000])[..1000]).unwrap();
    others[0].write_all(&frame(TEXT, broadcast_text(1).as_bytes())).unwrap();
    assert_eq!(read_texts(&mut victim, 1), [broadcast_text(1)]);
    net::socket::Socket::from(std::os::fd::OwnedFd::from(victim)).abort();
    others[1].write_all(&frame(TEXT, broadcast_text(2).as_bytes())).unwrap();
    assert_eq!(read_texts(&mut others[0], 3)[..2], [broadcast_text(1), broadcast_text(2)]);
    assert_eq!(read_texts(&mut others[1], 3)[..2], [broadcast_text(1), broadcast_text(2)]);
    assert_eq!(server.finish().errors.get("reset"), Some(&1));
}

#[test]
fn errors_are_told_before_the_end() {
    let server = Running::with(|_| {});
    let mut client = server.open();
    let mut bad = frame(TEXT, b"x");
    bad[0] |= 0x40; // a reserved bit
    bad.resize(bad.len() + 200_000, 0);
    client.write_all(&bad).unwrap();
    let (opcode, payload) = read_frame(&mut client);
    assert_eq!((opcode, &payload[..2]), (CLOSE, &1002u16.to_be_bytes()[..]));
    assert_eq!(client.read(&mut [0]).unwrap(), 0);
    assert_eq!(server.finish().errors.get("protocol"), Some(&1));
}

#[test]
fn stops_say_goodbye_and_await_answers() {
    let server = Running::with(|options| (options.threads, options.grace_ns) = (2, 10_000_000_000));
    let mut clients: Vec<_> = (0..4).map(|_| server.open()).collect();
    let mut idle = server.connect();
    let start = Instant::now();
    server.ask_to_stop();
    for client in &mut clients {
        let (opcode, payload) = read_frame(client);
        assert_eq!((opcode, &payload[..2]), (CLOSE, &1001u16.to_be_bytes()[..]));
        client.write_all(&frame(CLOSE, &payload)).unwrap();
        assert_eq!(client.read(&mut [0]).unwrap(), 0);
    }
    assert_eq!(idle.read(&mut [0]).unwrap(), 0);
    let addr = server.addr();
    drop((clients, idle));
    assert_eq!(server.finish().connections, 5);
    assert!(start.elapsed() < Duration::from_secs(3), "nobody was waited for in vain");
    assert_eq!(std::net::TcpStream::connect(addr).unwrap_err().kind(), ErrorKind::ConnectionRefused);
}

#[test]
fn a_stop_does_not_wait_for_ever() {
    let server = Running::with(|_| {});
    let client = server.open();
    let start = Instant::now();
    server.finish();
    let took = start.elapsed();
    assert!((Duration::from_millis(200)..PATIENCE).contains(&took), "{took:?}");
    drop(client);
}

#[test]
fn taken_ports_are_errors_for_many_threads() {
    let server = Running::with(|options| options.threads = 2);
    for threads in [1, 2] {
        let mut options = refserver::Options::new(vec![server.addrs[0].clone()]);
        options.threads = threads;
        let error = refserver::Server::bind(options).err().expect("the port is taken");
        assert_eq!(error.kind(), ErrorKind::AddrInUse);
        assert!(error.to_string().contains(&server.addr().to_string()), "{error}");
    }
}
