//! Bounds on slow clients, each and together, and for how long an idle connection is kept.

use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::common::*;
use refserver::SlowPolicy;

const MIB: usize = 1 << 20;

fn broadcast(bytes: usize) -> Vec<u8> {
    let text = format!(r#"{{"type":"broadcast","payload":{{"padding":"{}"}}}}"#, "x".repeat(bytes));
    frame(TEXT, text.as_bytes())
}

/// Reads the server's /metrics on a connection of its own that lives on.
fn metrics(stream: &mut TcpStream) -> String {
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    let head = read_head(stream);
    assert!(head.starts_with("HTTP/1.1 200 ") && head.contains("text/plain; version=0.0.4"), "{head}");
    let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: ")).expect("a length");
    let mut body = vec![0; length.parse().unwrap()];
    stream.read_exact(&mut body).unwrap();
    String::from_utf8(body).unwrap()
}

fn metric(text: &str, name: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {name} in\n{text}")).parse().unwrap()
}

#[test]
fn unread_broadcasts_are_kept_once() {
    const SLEEPERS: usize = 20;
    const LARGE_BYTES: usize = 8 * MIB;
    let server = Running::with(|_| {});
    let mut scraper = server.connect();
    let mut sender = server.open();
    let sleepers: Vec<TcpStream> = (0..SLEEPERS).map(|_| server.open()).collect();
    for _ in 0..2 {
        sender.write_all(&broadcast(LARGE_BYTES)).unwrap();
        read_texts(&mut sender, 2);
    }
    // Sockets hold a few megabytes each, and the server what they do not.
    let shown = metrics(&mut scraper);
    let held = metric(&shown, "throng_serve_backlog_bytes");
    assert!(held >= LARGE_BYTES as u64, "sockets that hold everything show nothing: {held}");
    assert!(held <= 3 * LARGE_BYTES as u64, "{held}");
    assert_eq!(metric(&shown, "throng_serve_slow_dropped_total"), 0, "nothing waits behind a second one");
    assert_eq!(metric(&shown, "throng_serve_open_connections"), SLEEPERS as u64 + 2);
    drop(sleepers);
    let start = Instant::now();
    while metric(&metrics(&mut scraper), "throng_serve_backlog_bytes") > 0 {
        assert!(start.elapsed() < PATIENCE, "never given back");
        std::thread::sleep(Duration::from_millis(10));
    }
    server.finish();
}

#[test]
fn senders_get_their_copy_behind_the_result() {
    let server = Running::with(|_| {});
    let mut client = server.open();
    for _ in 0..5 {
        // All is written before any of it is read: result and copy come in one turn.
        client.write_all(&broadcast(4 * MIB)).unwrap();
        let texts = read_texts(&mut client, 2);
        assert!(texts[0].contains("\"broadcast\"") && texts[1].contains("\"broadcastResult\""));
    }
    assert_eq!(server.finish().slow_dropped, 0);
}

/// Broadcasts messages that are kept for each client on its own, until the metrics show that all clients
/// together hold too much.
fn crowd(options: impl FnOnce(&mut refserver::Options)) -> refserver::Stats {
    const TOTAL_BYTES: usize = 4 * MIB;
    const SLEEPERS: usize = 8;
    let server = Running::with(|of| {
        (of.backlog_bytes_max, of.backlog_total_bytes_max) = (1 << 30, TOTAL_BYTES);
        options(of);
    });
    let (mut scraper, mut sender) = (server.connect(), server.open());
    let sleepers: Vec<TcpStream> = (0..SLEEPERS).map(|_| server.open()).collect();
    let message = broadcast(8 << 10);
    let start = Instant::now();
    loop {
        for _ in 0..100 {
            sender.write_all(&message).unwrap();
            read_texts(&mut sender, 2);
        }
        let shown = metrics(&mut scraper);
        let held = metric(&shown, "throng_serve_backlog_bytes");
        assert!(held <= TOTAL_BYTES as u64 + 256 * 1024, "{held}");
        if metric(&shown, "throng_serve_crowded_out_total") > 0 {
            break;
        }
        assert!(start.elapsed() < 6 * PATIENCE, "never too much: {held}");
    }
    drop(sleepers);
    server.finish()
}

#[test]
fn slow_clients_together_are_bounded() {
    static SAID: Mutex<Vec<String>> = Mutex::new(Vec::new());
    let stats = crowd(|options| options.say = |line| SAID.lock().unwrap().push(line.to_owned()));
    assert!(stats.slow_dropped > 0 && stats.copies_skipped == 0, "{stats:?}");
    let said = SAID.lock().unwrap();
    assert!(said[0].contains("4 MiB together") && said[0].contains("--max-backlog-total"), "{said:?}");
}

#[test]
fn clients_of_a_crowd_may_miss_messages_instead() {
    let stats = crowd(|options| options.slow_policy = SlowPolicy::DropMessage);
    assert!(stats.copies_skipped > 0, "{stats:?}");
}

/// All of a stream's events are due at once, and more than fit in any memory.
#[test]
fn endless_streams_wait_for_their_reader() {
    const EVENT_BYTES: usize = 1 << 20;
    let server = Running::with(|_| {});
    let mut scraper = server.connect();
    let mut stream = server.connect();
    let query = format!("gap=0s&events=4294967296&bytes={EVENT_BYTES}&as=ndjson");
    stream.write_all(format!("GET /stream?{query} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes()).unwrap();
    assert!(read_head(&mut stream).starts_with("HTTP/1.1 200 "));
    // More than sockets hold: what one reads makes room for the next.
    let mut body = BufReader::new(stream.try_clone().unwrap());
    for number in 0..64 {
        let mut line = String::new();
        while !line.ends_with("}\n") {
            // Sizes of chunks and ends of these stand between the lines.
            line.clear();
            body.read_line(&mut line).unwrap();
        }
        assert!(line.starts_with(&format!(r#"{{"n":{number},"#)), "{}", &line[..20]);
        assert!(line.len() > EVENT_BYTES);
        let held = metric(&metrics(&mut scraper), "throng_serve_backlog_bytes");
        assert!(held <= 2 * EVENT_BYTES as u64, "{held}");
    }
    server.finish();
}

#[test]
fn endless_messages_wait_for_their_reader() {
    let server = Running::with(|_| {});
    let (mut scraper, mut client) = (server.connect(), server.connect());
    let target = format!("GET /stream?gap=0s&events=4294967296&bytes={MIB} HTTP");
    client.write_all(upgrade_request().replacen("GET /ws HTTP", &target, 1).as_bytes()).unwrap();
    assert!(read_head(&mut client).starts_with("HTTP/1.1 101 "));
    client.write_all(&frame(TEXT, b"tea?")).unwrap();
    for number in 0..64 {
        let (_, event) = read_frame(&mut client);
        assert!(event.starts_with(format!(r#"{{"n":{number},"#).as_bytes()) && event.len() > MIB);
        let held = metric(&metrics(&mut scraper), "throng_serve_backlog_bytes");
        assert!(held <= 2 * MIB as u64, "{held}");
    }
    server.finish();
}

/// A frame of HTTP/2 (RFC 9113 §4.1).
fn http2_frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = &(payload.len() as u32).to_be_bytes()[1..];
    [length, &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// A client of HTTP/2 that keeps its windows shut, and asks so often for an answer of a megabyte.
fn with_shut_windows(server: &Running, requests: u32) -> TcpStream {
    let mut client = server.connect();
    let path = format!("/stream?gap=0s&events=1&bytes={MIB}");
    // Method, scheme, path and authority, the last two as literals (RFC 7541 §6.2.2).
    let head = [&[0x82, 0x86, 0x04, path.len() as u8], path.as_bytes(), &[0x01, 1, b'x']].concat();
    let mut asked = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    // SETTINGS with an initial window of 0.
    asked.extend(http2_frame(4, 0, 0, &[0, 4, 0, 0, 0, 0]));
    for number in 0..requests {
        asked.extend(http2_frame(1, 0x05, 2 * number + 1, &head));
    }
    client.write_all(&asked).unwrap();
    client
}

#[test]
fn shut_windows_are_held_against_the_total() {
    const TOTAL_BYTES: usize = 8 * MIB;
    const ANSWERS: u32 = 40;
    for connections in [1, ANSWERS] {
        let server = Running::with(|options| options.backlog_total_bytes_max = TOTAL_BYTES);
        let mut scraper = server.connect();
        let clients: Vec<_> =
            (0..connections).map(|_| with_shut_windows(&server, ANSWERS / connections)).collect();
        let start = Instant::now();
        let held = loop {
            let shown = metrics(&mut scraper);
            let held = metric(&shown, "throng_serve_backlog_bytes") as usize;
            let reset = metric(&shown, "throng_serve_crowded_out_total") as usize;
            assert!(held <= TOTAL_BYTES + 2 * MIB, "{held}");
            if held / MIB + reset >= ANSWERS as usize {
                break held;
            }
            assert!(start.elapsed() < PATIENCE, "{held} bytes are held, {reset} streams are reset");
            std::thread::sleep(Duration::from_millis(10));
        };
        assert!(held >= TOTAL_BYTES, "{held}");
        drop(clients);
        let start = Instant::now();
        while metric(&metrics(&mut scraper), "throng_serve_backlog_bytes") > 0 {
            assert!(start.elapsed() < PATIENCE, "never given back");
            std::thread::sleep(Duration::from_millis(10));
        }
        let dropped = server.finish().slow_dropped as usize;
        assert_eq!(dropped + held / MIB, ANSWERS as usize, "each is kept or dropped");
    }
}

/// Asks for more than the sockets of both ends hold, and reads the first of it slowly. Returns the longest
/// time in which the server's kernel may have seen no progress, and whether all came.
fn read_slowly(server: &Running, body_bytes: usize) -> (Duration, io::Result<()>) {
    /// Reads after which the kernels of both ends have moved bytes: they do so by tens of kilobytes.
    const READS_OF_PROGRESS: usize = 4;
    let mut client = server.connect();
    let head =
        format!("POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {body_bytes}\r\n\r\n");
    client.write_all(head.as_bytes()).unwrap();
    let mut body = vec![b'x'; body_bytes];
    client.write_all(&body).unwrap();
    let mut read_at = vec![Instant::now()];
    assert!(read_head(&mut client).starts_with("HTTP/1.1 200 "));
    // Too little at a time for the server's socket to report room.
    let (slowly, rest) = body.split_at_mut(MIB);
    let read = slowly.chunks_mut(MIB / 25).try_for_each(|part| {
        std::thread::sleep(Duration::from_millis(100));
        read_at.push(Instant::now());
        client.read_exact(part)
    });
    let held_up = read_at.windows(READS_OF_PROGRESS).map(|reads| reads[READS_OF_PROGRESS - 1] - reads[0]);
    let all = read.and_then(|()| client.read_exact(rest));
    let end = all.and_then(|()| client.read(&mut [0]));
    (held_up.max().unwrap_or_default(), end.map(|bytes| assert_eq!(bytes, 0)))
}

#[test]
fn last_bytes_wait_for_a_slow_reader() {
    const BODY_BYTES: usize = 32 * MIB;
    /// The server gives up after 2 s without progress: a reader that the machine held up for long shows
    /// nothing.
    const HELD_UP_MAX: Duration = Duration::from_millis(1_500);
    let is_read = (0..3).any(|_| {
        let server = Running::with(|options| options.protocol.limits.body_bytes_max = BODY_BYTES as u64);
        let (held_up, end) = read_slowly(&server, BODY_BYTES);
        let errors = server.finish().errors;
        assert!(
            held_up > HELD_UP_MAX || end.is_ok() && errors.is_empty(),
            "{held_up:?}: {end:?}, {errors:?}"
        );
        end.is_ok()
    });
    assert!(is_read, "held up at each attempt");
}

#[test]
fn idle_connections_end_and_websockets_stay() {
    const IDLE: Duration = Duration::from_millis(300);
    let server = Running::with(|options| options.idle_timeout_ns = IDLE.as_nanos() as u64);
    let mut websocket = server.open();
    let mut client = server.connect();
    let start = Instant::now();
    for _ in 0..2 {
        client.write_all(b"POST /upload HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nany").unwrap();
        let head = read_head(&mut client);
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
        let date = head.lines().find_map(|line| line.strip_prefix("Date: ")).expect("a date");
        assert!(date.len() == 29 && date.ends_with(" GMT"), "{date}");
    }
    assert_eq!(client.read(&mut [0]).unwrap(), 0, "closed in order");
    assert!(start.elapsed() >= IDLE);
    websocket.set_read_timeout(Some(IDLE)).unwrap();
    let error = websocket.read(&mut [0]).expect_err("nothing is said");
    assert!(matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut), "{error}");
    let stats = server.finish();
    assert_eq!((stats.idle_closed, stats.requests, stats.errors.len()), (1, 2, 0), "{stats:?}");
}
