//! Sessions that outlive connections, over four threads: a request finds its session whichever thread
//! accepted it.

use std::io::{BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use crate::common::*;
use wire::{History, Keep, ReplayFault, Settings};

const THREADS: usize = 4;

/// A request with a body.
fn post(path: &str, body: &str) -> String {
    let length = body.len();
    format!("POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n{body}")
}

/// Sends a request with a body.
fn request(stream: &mut TcpStream, path: &str, body: &str) {
    stream.write_all(post(path, body).as_bytes()).unwrap();
}

/// Sends a request without a body.
fn get(stream: &mut TcpStream, path: &str) {
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes()).unwrap();
}

/// Reads a complete answer, and gives its status and body.
fn answer(stream: &mut impl Read) -> (String, String) {
    let head = read_head(stream);
    let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
    let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
    stream.read_exact(&mut body).unwrap();
    (head[9..12].to_owned(), String::from_utf8(body).unwrap())
}

/// Reads one chunk of a streaming answer; an empty chunk is its end.
fn chunk(stream: &mut TcpStream) -> String {
    let mut size = Vec::new();
    while !size.ends_with(b"\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).expect("a chunk");
        size.push(byte[0]);
    }
    let size = usize::from_str_radix(std::str::from_utf8(&size).unwrap().trim_end(), 16).unwrap();
    let mut chunk = vec![0; size + 2];
    stream.read_exact(&mut chunk).unwrap();
    chunk.truncate(size);
    String::from_utf8(chunk).unwrap()
}

/// Opens a streaming answer, and reads its prelude and the open frame.
fn open_stream(server: &Running, path: &str) -> TcpStream {
    let mut stream = server.connect();
    request(&mut stream, path, "");
    assert!(read_head(&mut stream).starts_with("HTTP/1.1 200 "));
    assert_eq!(chunk(&mut stream), "h".repeat(2048) + "\n");
    assert_eq!(chunk(&mut stream), "o\n");
    stream
}

/// Opens a Socket.IO session that polls, and returns its path.
fn open_session(stream: &mut TcpStream) -> String {
    let path = "/socket.io/?EIO=4&transport=polling";
    get(stream, path);
    let (_, handshake) = answer(stream);
    let sid = handshake.strip_prefix(r#"0{"sid":""#).and_then(|rest| rest.split('"').next());
    format!("{path}&sid={}", sid.expect("a handshake"))
}

/// Opens a session that has joined the main namespace and has nothing more to receive, and returns its path.
fn open_polling(stream: &mut TcpStream) -> String {
    let path = open_session(stream);
    request(stream, &path, "40");
    assert_eq!(answer(stream).1, "ok");
    hear_polled(stream, &path, r#"42["auth",{}]"#);
    path
}

/// Polls until a packet has come that starts with `start`.
fn hear_polled(stream: &mut TcpStream, path: &str, start: &str) -> String {
    loop {
        get(stream, path);
        let (status, body) = answer(stream);
        assert_eq!(status, "200", "{body}");
        if let Some(packet) = body.split('\x1e').find(|packet| packet.starts_with(start)) {
            return packet.to_owned();
        }
    }
}

#[test]
fn connections_and_sessions_mix_freely() {
    let server = Running::with(|options| options.threads = THREADS);
    let mut wanderer = server.connect();
    for number in 0..50 {
        request(&mut wanderer, &format!("/echo/0/{number}/xhr"), "");
        assert_eq!(answer(&mut wanderer), ("200".into(), "o\n".into()));
    }
    for number in 0..50 {
        let mut sender = server.connect();
        request(&mut sender, &format!("/echo/0/{number}/xhr_send"), &format!("[\"{number}\"]"));
        assert_eq!(answer(&mut sender).0, "204");
        request(&mut sender, "/echo/0/nobody/xhr_send", "[\"x\"]");
        assert_eq!(answer(&mut sender).0, "404");
    }
    for number in 0..50 {
        request(&mut wanderer, &format!("/echo/0/{number}/xhr"), "");
        assert_eq!(answer(&mut wanderer), ("200".into(), format!("a[\"{number}\"]\n")));
    }
    drop(wanderer);
    let stats = server.finish();
    assert_eq!((stats.connections, stats.requests, stats.echoes), (51, 200, 50));
    assert!(stats.errors.is_empty(), "{:?}", stats.errors);
}

#[test]
fn pipelined_session_requests_are_answered_in_order() {
    let server = Running::with(|options| options.threads = THREADS);
    let mut client = server.connect();
    let mut all = Vec::new();
    for number in 0..200 {
        let request = format!("POST /echo/0/{number}/xhr HTTP/1.1\r\nHost: x\r\n\r\n");
        all.extend_from_slice(request.as_bytes());
        all.extend_from_slice(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    }
    client.write_all(&all).unwrap();
    for _ in 0..200 {
        assert_eq!(answer(&mut client), ("200".into(), "o\n".into()));
        assert_eq!(answer(&mut client), ("200".into(), String::new()));
    }
}

#[test]
fn many_pipelined_requests_are_all_answered() {
    // Each SockJS request opens a session; a pong belongs to one of the sessions of Engine.IO that are open.
    let sockjs = |_: &Running| (0..150).map(|number| format!("/echo/0/{number}/xhr")).collect();
    let engine = |server: &Running| (0..8).map(|_| open_polling(&mut server.connect())).collect();
    assert_pipelined(sockjs, "", "o\n");
    assert_pipelined(engine, "3", "ok");
}

/// Sends many requests at once, each to the next of these paths, and hears the answers.
fn assert_pipelined(open: impl Fn(&Running) -> Vec<String>, body: &'static str, answered: &str) {
    /// Few and large: each may have to go to another thread, which a busy machine wakes late.
    const REQUESTS: usize = 150;
    let server = Running::with(|options| options.threads = THREADS);
    let paths = open(&server);
    let client = server.connect();
    let mut sender = client.try_clone().unwrap();
    let sending = std::thread::spawn(move || {
        let field = "x".repeat(8 << 10);
        let request =
            |path: &String| post(path, body).replace("Host: x\r\n", &format!("Host: x\r\nX: {field}\r\n"));
        let all: String = paths.iter().cycle().take(REQUESTS).map(request).collect();
        assert!(all.len() > 1 << 20, "{}", all.len());
        sender.write_all(all.as_bytes()).unwrap();
    });
    let mut answers = BufReader::new(&client);
    for number in 0..REQUESTS {
        assert_eq!(answer(&mut answers), ("200".into(), answered.into()), "{number}");
    }
    sending.join().unwrap();
    drop(client);
    assert_eq!(server.finish().errors.len(), 0);
}

#[test]
fn moved_connections_may_become_websockets() {
    let server = Running::with(|options| options.threads = THREADS);
    for number in 0..8 {
        let mut client = server.connect();
        request(&mut client, &format!("/echo/0/{number}/xhr"), "");
        assert_eq!(answer(&mut client).1, "o\n");
        upgrade(&mut client);
        client.write_all(&frame(TEXT, b"after the move")).unwrap();
        assert_eq!(read_frame(&mut client), (TEXT, b"after the move".to_vec()));
    }
}

#[test]
fn everyone_hears_everyone_whatever_the_thread() {
    let server = Running::with(|options| options.threads = THREADS);
    let mut streams: Vec<TcpStream> =
        (0..40).map(|number| open_stream(&server, &format!("/sockjs/0/{number}/xhr_streaming"))).collect();
    let string = |number: usize| format!(r#"{{\"type\":\"broadcast\",\"payload\":{number}}}"#);
    for number in 0..40 {
        let mut sender = server.connect();
        request(&mut sender, &format!("/sockjs/0/{number}/xhr_send"), &format!("[\"{}\"]", string(number)));
        assert_eq!(answer(&mut sender).0, "204");
    }
    for (number, stream) in streams.iter_mut().enumerate() {
        let mut expected: Vec<String> = (0..40).map(string).collect();
        expected.push(string(number).replace("broadcast", "broadcastResult"));
        let mut heard: Vec<String> = Vec::new();
        while heard.len() < expected.len() {
            let frame = chunk(stream);
            let array =
                frame.strip_prefix("a[\"").and_then(|rest| rest.strip_suffix("\"]\n")).expect("messages");
            heard.extend(array.split("\",\"").map(str::to_owned));
        }
        heard.sort();
        expected.sort();
        assert_eq!(heard, expected, "session {number}");
    }
    drop(streams);
    let stats = server.finish();
    assert_eq!((stats.broadcasts, stats.copies), (40, 40 * 40));
}

#[test]
fn leaving_while_waiting_ends_the_session() {
    const KEPT: Duration = Duration::from_secs(1);
    let server = Running::with(|options| {
        options.threads = THREADS;
        options.protocol.settings = Settings::default().with("sockjs-disconnect", KEPT.as_nanos() as u64);
    });
    let stays = open_stream(&server, "/sockjs/0/stays/xhr_streaming");
    let leaves = open_stream(&server, "/sockjs/0/leaves/xhr_streaming");
    leaves.shutdown(Shutdown::Both).unwrap();
    let mut client = server.connect();
    let mut ask = || {
        request(&mut client, "/sockjs/0/leaves/xhr", "");
        answer(&mut client).1
    };
    let unnoticed = "c[2010,\"Another connection still open\"]\n";
    let mut answers = std::iter::repeat_with(&mut ask).take(10_000);
    let said = answers.find(|said| said != unnoticed).expect("it is noticed");
    assert_eq!(said, "c[1002,\"Connection interrupted\"]\n");
    request(&mut client, "/sockjs/0/stays/xhr_send", r#"["{\"type\":\"broadcast\",\"payload\":1}"]"#);
    assert_eq!(answer(&mut client).0, "204");
    // Its name is free again when it is over.
    std::thread::sleep(KEPT + Duration::from_millis(500));
    request(&mut client, "/sockjs/0/leaves/xhr", "");
    assert_eq!(answer(&mut client).1, "o\n");
    drop((stays, client));
    assert_eq!(server.finish().copies, 1, "one member was left");
}

#[test]
fn unread_streams_end_with_their_session() {
    let server = Running::with(|options| {
        options.backlog_bytes_max = 100_000;
        let settings = std::mem::take(&mut options.protocol.settings);
        options.protocol.settings = settings.with("sockjs-response-limit", u64::MAX);
    });
    let slow = open_stream(&server, "/sockjs/0/slow/xhr_streaming");
    let mut sender = server.connect();
    request(&mut sender, "/sockjs/0/sender/xhr", "");
    answer(&mut sender);
    let padding = "x".repeat(500_000);
    let message = format!(r#"["{{\"type\":\"broadcast\",\"payload\":\"{padding}\"}}"]"#);
    for _ in 0..40 {
        request(&mut sender, "/sockjs/0/sender/xhr_send", &message);
        assert_eq!(answer(&mut sender).0, "204");
        // The sender's own copies are bounded, too: it asks for them.
        request(&mut sender, "/sockjs/0/sender/xhr", "");
        assert_eq!(answer(&mut sender).0, "200");
    }
    drop((slow, sender));
    assert_eq!(server.finish().slow_dropped, 1);
}

#[test]
fn clients_that_stop_polling_are_given_up() {
    let server = Running::with(|_| {});
    let mut client = server.connect();
    let silent: Vec<String> = (0..3).map(|_| open_polling(&mut client)).collect();
    let sender = open_polling(&mut client);
    let late = open_polling(&mut client);
    let padding = "x".repeat(20_000);
    // A session keeps a megabyte for a client that does not ask.
    for number in 0..60 {
        let packet = format!(r#"42["broadcast",{number},"{padding}"]"#);
        request(&mut client, &sender, &packet);
        assert_eq!(answer(&mut client), ("200".into(), "ok".into()));
        hear_polled(&mut client, &sender, &packet);
        hear_polled(&mut client, &late, &packet);
    }
    for path in &silent {
        get(&mut client, path);
        assert_eq!(answer(&mut client).0, "400", "its session is over");
    }
    assert_eq!(server.finish().broadcasts, 60);
}

/// As a client does whose answer to the first poll is still on its way: engine.io-client sends ten packets of
/// 300 KB in four.
#[test]
fn own_answers_wait_at_any_size() {
    let server = Running::with(|_| {});
    let mut client = server.connect();
    let path = open_polling(&mut client);
    let long = "x".repeat(900_000);
    for number in 0..4 {
        request(&mut client, &path, &format!(r#"42{number}["echo","{long}"]"#));
        assert_eq!(answer(&mut client), ("200".into(), "ok".into()));
    }
    get(&mut client, &path);
    let (status, body) = answer(&mut client);
    assert_eq!((&*status, body.matches(&long).count()), ("200", 4));
    request(&mut client, "/echo/0/a/xhr", "");
    assert_eq!(answer(&mut client).1, "o\n");
    for _ in 0..4 {
        request(&mut client, "/echo/0/a/xhr_send", &format!(r#"["{long}"]"#));
        assert_eq!(answer(&mut client).0, "204");
    }
    request(&mut client, "/echo/0/a/xhr", "");
    assert_eq!(answer(&mut client).1.matches(&long).count(), 4);
}

#[test]
fn requests_behind_a_poll_may_broadcast() {
    let server = Running::with(|_| {});
    let (mut poller, mut sender) = (server.connect(), server.connect());
    let (polled, sent) = (open_polling(&mut poller), open_polling(&mut sender));
    get(&mut poller, &polled);
    let upgrade = upgrade_request().replace("/ws", "/socket.io/?EIO=4&transport=websocket");
    poller.write_all(upgrade.as_bytes()).unwrap();
    poller.write_all(&frame(TEXT, b"40")).unwrap();
    poller.write_all(&frame(TEXT, br#"42["broadcast","behind"]"#)).unwrap();
    request(&mut sender, &sent, r#"42["broadcast","before"]"#);
    assert_eq!(answer(&mut sender).1, "ok");
    assert_eq!(answer(&mut poller).1, r#"42["broadcast","before"]"#);
    assert!(read_head(&mut poller).starts_with("HTTP/1.1 101 "));
    hear_polled(&mut sender, &sent, r#"42["broadcast","behind"]"#);
    let mut again = server.connect();
    hear_polled(&mut again, &polled, r#"42["broadcast","behind"]"#);
    assert_eq!(server.finish().broadcasts, 2);
}

/// Both requests come in one write, so that they are handled in one turn of the server's loop.
#[test]
fn returning_clients_get_a_broadcast_once() {
    let server = Running::with(|options| {
        let history = History::new(Keep::Messages(100), |_| ReplayFault::default());
        options.protocol.history = Some(Arc::new(history));
    });
    let mut client = server.connect();
    let (first, again) = (open_polling(&mut client), open_session(&mut client));
    request(&mut client, &first, r#"42["broadcast","before"]"#);
    assert_eq!(answer(&mut client).1, "ok");
    let before = hear_polled(&mut client, &first, r#"42["broadcast","before""#);
    let offset = before.rsplit('"').nth(1).expect("its number");
    let gone = open_session(&mut client);
    request(&mut client, &gone, "40");
    assert_eq!(answer(&mut client).1, "ok");
    let welcome = hear_polled(&mut client, &gone, "40{");
    let pid = welcome.rsplit('"').nth(1).expect("its token");
    let said = r#"42["broadcast","behind"]"#;
    let back = format!(r#"40{{"pid":"{pid}","offset":"{offset}"}}"#);
    let [said, back] = [(&first, said), (&again, &*back)].map(|(path, body)| post(path, body));
    client.write_all(&[said, back].concat().into_bytes()).unwrap();
    assert_eq!([answer(&mut client).1, answer(&mut client).1], ["ok", "ok"]);
    request(&mut client, &first, r#"42["broadcast","last"]"#);
    assert_eq!(answer(&mut client).1, "ok");
    let mut heard = String::new();
    while !heard.contains("last") {
        get(&mut client, &again);
        heard += &answer(&mut client).1;
    }
    assert_eq!((heard.matches("before").count(), heard.matches("behind").count()), (0, 1), "{heard}");
}

/// All in one request, which the server handles in one call of the session.
#[test]
fn rejoining_in_one_request_counts_once() {
    let server = Running::with(|_| {});
    let mut client = server.connect();
    let path = open_polling(&mut client);
    let (join, leave) = (r#"42["join","a"]"#, r#"42["leave","a"]"#);
    for packets in [&["41", "40", "41"][..], &["40"], &[join, leave, join], &[leave, join]] {
        request(&mut client, &path, &packets.join("\x1e"));
        assert_eq!(answer(&mut client).1, "ok");
    }
    request(&mut client, &path, r#"42["broadcast",1]"#);
    assert_eq!(answer(&mut client).1, "ok");
    hear_polled(&mut client, &path, r#"42["broadcast",1]"#);
    let stats = server.finish();
    assert_eq!((stats.broadcasts, stats.copies), (1, 1));
}

#[test]
fn held_polls_outlast_the_handshake_deadline() {
    const DEADLINE: Duration = Duration::from_secs(1);
    let server = Running::with(|options| options.handshake_timeout_ns = DEADLINE.as_nanos() as u64);
    let mut poller = server.connect();
    request(&mut poller, "/echo/0/a/xhr", "");
    assert_eq!(answer(&mut poller).1, "o\n");
    request(&mut poller, "/echo/0/a/xhr", "");
    // What comes after it is not late either: it could not be answered yet.
    poller.write_all(b"POST /echo/0/a/xhr HTTP/1.1\r\n").unwrap();
    std::thread::sleep(DEADLINE + Duration::from_millis(200));
    let mut sender = server.connect();
    request(&mut sender, "/echo/0/a/xhr_send", r#"["x"]"#);
    assert_eq!(answer(&mut sender).0, "204");
    assert_eq!(answer(&mut poller).1, "a[\"x\"]\n");
}

#[test]
fn a_stop_ends_streams_and_sessions() {
    let server = Running::with(|options| options.threads = 2);
    let mut streams: Vec<TcpStream> =
        (0..4).map(|number| open_stream(&server, &format!("/sockjs/0/{number}/xhr_streaming"))).collect();
    server.finish();
    for stream in &mut streams {
        let mut rest = Vec::new();
        // Whether the stream ends in order or not is the grace's affair; that it ends is the server's.
        let _ = stream.read_to_end(&mut rest);
    }
}
