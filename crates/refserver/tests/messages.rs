//! Services to every client: echoes, broadcasts, HTTP answers.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;

use crate::common::*;
use net::socket::Addr;

#[test]
fn echoes_text_binary_and_large() {
    let server = Running::with(|_| {});
    let mut client = server.open();
    let large = vec![b'y'; 300_000];
    for (opcode, payload) in
        [(TEXT, "zażółć".as_bytes()), (BINARY, &[0, 255, 3]), (BINARY, &large), (TEXT, b"")]
    {
        client.write_all(&frame(opcode, payload)).unwrap();
        assert!(read_frame(&mut client) == (opcode, payload.to_vec()));
    }
    client.write_all(&frame(PING, b"are you there")).unwrap();
    assert_eq!(read_frame(&mut client), (PONG, b"are you there".to_vec()));
    client.write_all(&frame(CLOSE, &1000u16.to_be_bytes())).unwrap();
    assert_eq!(read_frame(&mut client), (CLOSE, 1000u16.to_be_bytes().to_vec()));
    assert_eq!(client.read(&mut [0]).unwrap(), 0, "the server closes first (RFC 6455 §7.1.1)");
    drop(client);
    let stats = server.finish();
    assert_eq!((stats.connections, stats.upgrades, stats.echoes), (1, 1, 4));
    assert!(stats.errors.is_empty(), "{:?}", stats.errors);
}

#[test]
fn answers_whatever_the_segments() {
    let server = Running::with(|_| {});
    let echo = frame(TEXT, b"early");
    let all = [upgrade_request().as_bytes(), &echo, &echo].concat();
    for step in [all.len(), 1, 50] {
        let mut client = server.connect();
        for part in all.chunks(step) {
            client.write_all(part).unwrap();
        }
        assert!(read_head(&mut client).starts_with("HTTP/1.1 101 "));
        assert_eq!(read_texts(&mut client, 2), ["early", "early"], "in steps of {step}");
    }
}

/// Has every client send one broadcast, and checks that every client gets each broadcast exactly once, and
/// each sender its result.
fn everyone_hears_everyone(mut clients: Vec<TcpStream>) {
    for (number, client) in clients.iter_mut().enumerate() {
        client.write_all(&frame(TEXT, broadcast_text(number).as_bytes())).unwrap();
    }
    for number in 0..clients.len() {
        let mut expected: Vec<String> = (0..clients.len()).map(broadcast_text).collect();
        expected.push(result_text(number));
        expected.sort();
        let heard = read_texts(&mut clients[number], expected.len());
        assert_eq!(heard.len(), expected.len());
        for (heard, expected) in heard.iter().zip(&expected) {
            assert!(is_same_message(heard, expected), "{heard} is not {expected}");
        }
        assert_silent(&mut clients[number]);
    }
}

/// Returns whether two messages are equal except for the server's listener count, which results may carry
/// between type and payload.
fn is_same_message(heard: &str, expected: &str) -> bool {
    let parts = |text: &str| {
        let payload = text.find(r#""payload""#).expect("a payload");
        (text.contains("Result"), text[payload..].to_owned())
    };
    parts(heard) == parts(expected)
}

#[test]
fn a_broadcast_reaches_everyone_once() {
    let server = Running::with(|_| {});
    everyone_hears_everyone((0..3).map(|_| server.open()).collect());
    let stats = server.finish();
    assert_eq!((stats.broadcasts, stats.copies), (3, 9));
}

#[test]
fn a_broadcast_reaches_the_clients_of_other_threads() {
    let server = Running::with(|options| options.threads = 3);
    everyone_hears_everyone((0..24).map(|_| server.open()).collect());
    let stats = server.finish();
    assert_eq!((stats.broadcasts, stats.copies, stats.handovers_dropped), (24, 24 * 24, 0));
}

#[test]
fn binary_results_go_to_the_sender_alone() {
    let server = Running::with(|_| {});
    let (mut sender, mut other) = (server.open(), server.open());
    let message = |kind: u8| [&[kind, 0, 0, 0, 10], &42u64.to_be_bytes()[..], b"pp"].concat();
    sender.write_all(&frame(BINARY, &message(b'b'))).unwrap();
    assert_eq!(read_frame(&mut other), (BINARY, message(b'b')));
    let mut heard = [read_frame(&mut sender).1, read_frame(&mut sender).1];
    heard.sort();
    assert_eq!(heard, [message(b'b'), message(b'r')]);
    assert_silent(&mut other);
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let server = Running::with(|_| {});
    let mut client = server.connect();
    let request = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    client.write_all(request.repeat(3).as_bytes()).unwrap();
    for _ in 0..3 {
        let head = read_head(&mut client).to_lowercase();
        assert!(head.starts_with("http/1.1 200 ") && head.contains("content-length: 0\r\n"), "{head}");
    }
    assert_silent(&mut client);
    client.write_all(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    assert!(read_head(&mut client).starts_with("HTTP/1.1 200 "));
    assert_eq!(client.read(&mut [0]).unwrap(), 0);
    assert_eq!(server.finish().requests, 4);
}

#[test]
fn a_request_is_answered_after_a_half_close() {
    let server = Running::with(|options| options.threads = 2);
    let requests = [
        ("GET / HTTP/1.1\r\nHost: x\r\n\r\n", 1),
        ("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", 1),
        ("POST /publish/lobby HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}", 1),
        // Sessions are kept at either thread.
        ("GET /socket.io/?EIO=4&transport=polling HTTP/1.1\r\nHost: x\r\n\r\n", 8),
    ];
    for (request, times) in requests {
        for _ in 0..times {
            let mut client = server.connect();
            client.write_all(request.as_bytes()).unwrap();
            client.shutdown(Shutdown::Write).unwrap();
            let mut answer = String::new();
            client.read_to_string(&mut answer).unwrap();
            assert!(answer.starts_with("HTTP/1.1 20"), "{request}: {answer}");
        }
    }
}

#[test]
fn listens_on_ipv6_and_unix_sockets_as_well() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s");
    let server = Running::with(|options| {
        options.threads = 2;
        options.listen.push(Addr::Inet("[::1]:0".parse().unwrap()));
        options.listen.push(Addr::Unix(path.clone()));
    });
    let Addr::Inet(v6) = server.addrs[1] else { panic!("not TCP") };
    let mut v6 = TcpStream::connect(v6).unwrap();
    let mut unix = UnixStream::connect(&path).unwrap();
    v6.set_read_timeout(Some(PATIENCE)).unwrap();
    unix.set_read_timeout(Some(PATIENCE)).unwrap();
    upgrade(&mut v6);
    upgrade(&mut unix);
    unix.write_all(&frame(TEXT, broadcast_text(1).as_bytes())).unwrap();
    assert_eq!(read_texts(&mut v6, 1), [broadcast_text(1)]);
    assert_eq!(read_texts(&mut unix, 2)[0], broadcast_text(1));
    drop(server);
    assert!(!path.exists());
}

#[test]
fn members_are_pinged_when_asked_for() {
    let server = Running::with(|options| {
        options.ping_interval_ns = Some(20_000_000);
        options.threads = 2;
    });
    // Before the first ping can be under way.
    let start = std::time::Instant::now();
    let mut client = server.open();
    for _ in 0..5 {
        assert_eq!(read_frame(&mut client), (PING, vec![]));
    }
    assert!(start.elapsed().as_millis() >= 60, "one worker pings a member, not each");
}

#[test]
fn clients_get_one_ping_whatever_their_rooms() {
    let server = Running::with(|options| options.ping_interval_ns = Some(1_000_000_000));
    let mut client = server.connect();
    let request = upgrade_request().replacen("/ws ", "/socket/websocket?vsn=2.0.0 ", 1);
    client.write_all(request.as_bytes()).unwrap();
    assert!(read_head(&mut client).starts_with("HTTP/1.1 101 "));
    assert_eq!(read_frame(&mut client), (PING, vec![]), "in no room");
    for room in ["a", "b"] {
        let join = format!(r#"["1","1","room:{room}","phx_join",{{}}]"#);
        client.write_all(&frame(TEXT, join.as_bytes())).unwrap();
        // On a busy machine the next ping may come first.
        while read_frame(&mut client).0 != TEXT {}
    }
    assert_eq!(read_frame(&mut client), (PING, vec![]), "in two");
    assert_silent(&mut client);
}
