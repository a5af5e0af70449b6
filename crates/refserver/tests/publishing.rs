//! Messages to a room by requests from outside, over every protocol that has rooms.

use std::io::{Read, Write};
use std::net::TcpStream;

use crate::common::*;

/// A member: the path and subprotocol of its connection, its messages to join, the number of messages that it
/// gets until it has joined, and its copy of a publication.
struct Member {
    target: &'static str,
    subprotocol: &'static str,
    says: &'static [&'static str],
    told: usize,
    hears: &'static str,
}

const BODY: &str = r#"{"text":"hi"}"#;

const MEMBERS: [Member; 10] = [
    Member {
        target: "/ws?room=7",
        subprotocol: "",
        says: &[],
        told: 0,
        hears: r#"{"type":"broadcast","payload":{"text":"hi"}}"#,
    },
    Member {
        target: "/socket/websocket?vsn=2.0.0",
        subprotocol: "",
        says: &[r#"["1","1","room:7","phx_join",{}]"#],
        told: 1,
        hears: r#"[null,null,"room:7","broadcast",{"payload":{"text":"hi"},"type":"broadcast"}]"#,
    },
    Member {
        target: "/socket/websocket",
        subprotocol: "",
        says: &[r#"{"topic":"room:7","event":"phx_join","payload":{},"ref":"1"}"#],
        told: 1,
        hears: r#"{"event":"broadcast","payload":{"payload":{"text":"hi"},"type":"broadcast"},"ref":null,"topic":"room:7"}"#,
    },
    Member {
        target: "/cable",
        subprotocol: "actioncable-v1-json",
        says: &[
            r#"{"command":"subscribe","identifier":"{\"channel\":\"BenchmarkChannel\",\"room\":\"7\"}"}"#,
        ],
        told: 2,
        hears: r#"{"identifier":"{\"channel\":\"BenchmarkChannel\",\"room\":\"7\"}","message":{"action":"broadcast","payload":{"text":"hi"}}}"#,
    },
    Member {
        target: "/cable",
        subprotocol: "actioncable-v1-json",
        says: &[r#"{"command":"subscribe","identifier":"{\"channel\":\"BenchmarkChannel\",\"room\":7}"}"#],
        told: 2,
        hears: r#"{"identifier":"{\"channel\":\"BenchmarkChannel\",\"room\":7}","message":{"action":"broadcast","payload":{"text":"hi"}}}"#,
    },
    Member {
        target: "/graphql",
        subprotocol: "graphql-transport-ws",
        says: &[
            r#"{"type":"connection_init"}"#,
            r#"{"id":"s","type":"subscribe","payload":{"query":"subscription { messages }","variables":{"room":7}}}"#,
            r#"{"type":"ping"}"#,
        ],
        told: 2,
        hears: r#"{"id":"s","type":"next","payload":{"data":{"messages":{"text":"hi"}}}}"#,
    },
    Member {
        target: "/sockjs/000/one/websocket?room=7",
        subprotocol: "",
        says: &[],
        told: 1,
        hears: r#"a["{\"type\":\"broadcast\",\"payload\":{\"text\":\"hi\"}}"]"#,
    },
    Member {
        target: "/sockjs/websocket?room=7",
        subprotocol: "",
        says: &[],
        told: 0,
        hears: r#"{"type":"broadcast","payload":{"text":"hi"}}"#,
    },
    Member {
        target: "/socket.io/?EIO=4&transport=websocket&room=7",
        subprotocol: "",
        says: &["40"],
        told: 3,
        hears: r#"42["broadcast",{"text":"hi"}]"#,
    },
    Member {
        target: "/socket.io/?EIO=4&transport=websocket",
        subprotocol: "",
        says: &["40/custom,", r#"42/custom,1["join","7"]"#],
        // An acknowledgement beside the two that every connection gets, and the greeting.
        told: 4,
        hears: r#"42/custom,["broadcast",{"text":"hi"}]"#,
    },
];

/// Opens a WebSocket that has joined.
fn join(server: &Running, member: &Member) -> TcpStream {
    let mut stream = server.connect();
    let offered = match member.subprotocol {
        "" => String::new(),
        name => format!("Sec-WebSocket-Protocol: {name}\r\n"),
    };
    let request = upgrade_request().replace("/ws", member.target);
    stream.write_all(request.replace("\r\n\r\n", &format!("\r\n{offered}\r\n")).as_bytes()).unwrap();
    let head = read_head(&mut stream);
    assert!(head.starts_with("HTTP/1.1 101 "), "{}: {head}", member.target);
    for text in member.says {
        stream.write_all(&frame(TEXT, text.as_bytes())).unwrap();
    }
    for _ in 0..member.told {
        read_frame(&mut stream);
    }
    stream
}

/// Sends a request on a connection that stays open, and gives the status and body of the answer.
fn request(stream: &mut TcpStream, method: &str, target: &str, body: &str) -> (u16, String) {
    let length = body.len();
    let head = format!("{method} {target} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n{body}");
    stream.write_all(head.as_bytes()).unwrap();
    answer(stream)
}

fn answer(stream: &mut TcpStream) -> (u16, String) {
    let head = read_head(stream).to_lowercase();
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    let length = head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
    let mut body = vec![0; length.map_or(0, |length| length.trim().parse().unwrap())];
    stream.read_exact(&mut body).unwrap();
    (status.expect("a status"), String::from_utf8(body).unwrap())
}

#[test]
fn published_messages_reach_every_protocol() {
    for threads in [1, 3] {
        let server = Running::with(|options| options.threads = threads);
        let mut members: Vec<TcpStream> = MEMBERS.iter().map(|member| join(&server, member)).collect();
        let elsewhere = Member { target: "/ws?room=8", ..MEMBERS[0] };
        let mut stranger = join(&server, &elsewhere);
        let mut of_requests = server.connect();
        assert_eq!(request(&mut of_requests, "POST", "/sockjs/0/s/xhr?room=7", ""), (200, "o\n".to_owned()));

        let mut publisher = server.connect();
        let all = format!(r#"{{"members":{}}}"#, MEMBERS.len() + 1);
        for _ in 0..2 {
            assert_eq!(request(&mut publisher, "POST", "/publish/7", BODY), (202, all.clone()));
        }
        for (stream, member) in members.iter_mut().zip(&MEMBERS) {
            assert_eq!(read_texts(stream, 2), [member.hears; 2], "{}", member.target);
            assert_silent(stream);
        }
        assert_silent(&mut stranger);
        let (_, mut polled) = request(&mut of_requests, "POST", "/sockjs/0/s/xhr?room=7", "");
        if polled.matches("broadcast").count() < 2 {
            polled += &request(&mut of_requests, "POST", "/sockjs/0/s/xhr?room=7", "").1;
        }
        assert_eq!(polled.matches(r#"{\"type\":\"broadcast\",\"payload\":{\"text\":\"hi\"}}"#).count(), 2);

        // A client that has left is not a member.
        drop(members.pop());
        let fewer = format!(r#"{{"members":{}}}"#, MEMBERS.len());
        let has_left = (0..200).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(20));
            request(&mut publisher, "POST", "/publish/7", BODY).1 == fewer
        });
        assert!(has_left, "with {threads} threads");
    }
}

#[test]
fn empty_rooms_and_invalid_json_reach_nobody() {
    let server = Running::with(|_| {});
    let mut member = join(&server, &MEMBERS[0]);
    let mut publisher = server.connect();
    let nobody = (202, r#"{"members":0}"#.to_owned());
    assert_eq!(request(&mut publisher, "POST", "/publish/nobody", BODY), nobody);
    for body in ["", "hi", r#"{"text":"#, r#"{} {}"#] {
        let (status, said) = request(&mut publisher, "POST", "/publish/7", body);
        assert_eq!((status, said.contains("has to be JSON")), (400, true), "{body}: {said}");
    }
    assert_eq!(request(&mut publisher, "GET", "/publish/7", "").0, 405);
    assert_eq!(request(&mut publisher, "POST", "/publish/", BODY).0, 404);
    assert_silent(&mut member);
    let large = "POST /publish/7 HTTP/1.1\r\nHost: x\r\nContent-Length: 1048577\r\n\r\n";
    publisher.write_all(large.as_bytes()).unwrap();
    assert_eq!(answer(&mut publisher).0, 413);
    assert_silent(&mut member);
    drop((member, publisher));
    assert_eq!(server.finish().broadcasts, 1, "the one to nobody");
}

#[test]
fn joining_the_paths_own_room_counts_once() {
    let server = Running::with(|_| {});
    let says = &[r#"{"type":"join","room":"7","payload":1}"#, r#"{"type":"leave","room":"7"}"#];
    for says in [&says[..1], says] {
        let mut member = join(&server, &Member { says, told: says.len(), ..MEMBERS[0] });
        let mut publisher = server.connect();
        assert_eq!(request(&mut publisher, "POST", "/publish/7", BODY).1, r#"{"members":1}"#);
        assert_eq!(read_texts(&mut member, 1), [MEMBERS[0].hears]);
        let broadcast = r#"{"type":"broadcast","room":"7","payload":2}"#;
        member.write_all(&frame(TEXT, broadcast.as_bytes())).unwrap();
        assert_eq!(read_texts(&mut member, 2)[0], broadcast);
        assert_silent(&mut member);
        member.write_all(&frame(CLOSE, &[])).unwrap();
        assert_eq!(member.read_to_end(&mut Vec::new()).unwrap(), 2);
    }
    assert_eq!(server.finish().copies, 4);
}

#[test]
fn abandoned_sessions_are_no_members() {
    let server = Running::with(|_| {});
    let (mut silent, mut publisher) = (server.connect(), server.connect());
    let mut ask = || request(&mut silent, "POST", "/sockjs/0/s/xhr?room=7", "").1;
    assert_eq!(ask(), "o\n");
    // A session keeps a megabyte for a client that does not ask.
    let payload = format!("\"{}\"", "x".repeat(100_000));
    let members: Vec<String> =
        (0..20).map(|_| request(&mut publisher, "POST", "/publish/7", &payload).1).collect();
    assert_eq!(members[0], r#"{"members":1}"#);
    assert_eq!(members[19], r#"{"members":0}"#);
    assert_eq!(ask(), "c[1008,\"Too many messages waiting\"]\n");
}

#[test]
fn the_name_of_a_room_may_need_escapes() {
    let server = Running::with(|_| {});
    let target = "/ws?room=a%20b";
    let mut by_url = join(&server, &Member { target, ..MEMBERS[0] });
    let says = &[r#"["1","1","room:a b","phx_join",{}]"#];
    let mut by_topic = join(&server, &Member { says, ..MEMBERS[1] });
    let mut publisher = server.connect();
    let (_, said) = request(&mut publisher, "POST", "/publish/a%20b", "[1]");
    assert_eq!(said, r#"{"members":2}"#);
    assert_eq!(read_texts(&mut by_url, 1), [r#"{"type":"broadcast","payload":[1]}"#]);
    let heard = r#"[null,null,"room:a b","broadcast",{"payload":[1],"type":"broadcast"}]"#;
    assert_eq!(read_texts(&mut by_topic, 1), [heard]);
}
