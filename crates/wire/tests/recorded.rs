//! Handshakes recorded between programs that are not ours, replayed at both ends: a symmetric mistake in
//! client and server would hide from the tests that join the two.

use codec::Error;
use codec::http::Response;
use codec::ws::upgrade;
use wire::{DialectId, ServerConfig};

use crate::common::*;

struct Recorded {
    by: &'static str,
    request: &'static str,
    key: &'static str,
    subprotocols: &'static [&'static str],
    answer: &'static str,
}

const RECORDED: [Recorded; 5] = [
    Recorded {
        by: "Rails 6.1",
        request: "GET /cable HTTP/1.1\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: BP804YJFPXOzO5ElsTt43w==\r\n\
            Connection: Upgrade\r\nUpgrade: websocket\r\n\
            Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n\
            Sec-WebSocket-Protocol: actioncable-v1-json,actioncable-unsupported\r\nHost: 127.0.0.1:9303\r\n\r\n",
        key: "BP804YJFPXOzO5ElsTt43w==",
        subprotocols: &["actioncable-v1-json", "actioncable-unsupported"],
        answer: "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
            Sec-WebSocket-Accept: V8wyMRRSNauqC1U/iG4GCYQB2rY=\r\n\
            Sec-WebSocket-Protocol: actioncable-v1-json\r\n\r\n",
    },
    Recorded {
        by: "AnyCable-Go 1.5",
        request: "GET /cable HTTP/1.1\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: XmDvxmMxNUypMUn0plblfg==\r\n\
            Connection: Upgrade\r\nUpgrade: websocket\r\n\
            Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n\
            Sec-WebSocket-Protocol: actioncable-v1-ext-json\r\nHost: 127.0.0.1:9304\r\n\r\n",
        key: "XmDvxmMxNUypMUn0plblfg==",
        subprotocols: &["actioncable-v1-ext-json"],
        answer: "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
            Sec-WebSocket-Accept: I3pQQV7MxQ5dbqtq1Yn4nAI36fI=\r\n\
            Sec-WebSocket-Protocol: actioncable-v1-ext-json\r\nX-AnyCable-Version: 1.5.0\r\n\r\n",
    },
    Recorded {
        by: "Phoenix 1.7",
        request: "GET /socket/websocket?token=t&vsn=2.0.0 HTTP/1.1\r\nSec-WebSocket-Version: 13\r\n\
            Sec-WebSocket-Key: IB1iQM8KJY/u6QMOMMnJVw==\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
            Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\nHost: 127.0.0.1:9305\r\n\r\n",
        key: "IB1iQM8KJY/u6QMOMMnJVw==",
        subprotocols: &[],
        answer: "HTTP/1.1 101 Switching Protocols\r\ndate: Fri, 20 Nov 2026 11:00:16 GMT\r\nupgrade: websocket\r\n\
            connection: Upgrade\r\nsec-websocket-accept: ej0Vq4929bjju0cmddXW5vWyVpM=\r\n\
            cache-control: max-age=0, private, must-revalidate\r\n\r\n",
    },
    Recorded {
        by: "socket.io 4.8",
        request: "GET /socket.io/?EIO=4&transport=websocket HTTP/1.1\r\nSec-WebSocket-Version: 13\r\n\
            Sec-WebSocket-Key: mSk6ZXV+YMgPh7ILhaqOhg==\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
            Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\nHost: 127.0.0.1:9302\r\n\r\n",
        key: "mSk6ZXV+YMgPh7ILhaqOhg==",
        subprotocols: &[],
        answer: "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
            Sec-WebSocket-Accept: az+xuzdRo7QNDfBqJpbJdhm3IUo=\r\nAccess-Control-Allow-Origin: *\r\n\r\n",
    },
    Recorded {
        by: "sockjs 0.3.24",
        request: "GET /echo/000/sesswebsocket/websocket HTTP/1.1\r\nHost: 127.0.0.1:9301\r\nUpgrade: websocket\r\n\
            Connection: Upgrade\r\nSec-WebSocket-Key: qpktaqbvGz2uLIgdJZ2ECg==\r\n\
            Sec-WebSocket-Version: 13\r\n\r\n",
        key: "qpktaqbvGz2uLIgdJZ2ECg==",
        subprotocols: &[],
        answer: "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
            Sec-WebSocket-Accept: S/0/uTN6F7TCi3JWzs2uPtA+H/o=\r\n\r\n",
    },
];

#[test]
fn our_server_grants_what_other_servers_granted() {
    for recorded in RECORDED {
        let subprotocols = recorded.subprotocols.iter().map(|&p| p.to_owned()).collect();
        let cfg = ServerConfig { subprotocols, dialect: Some(DialectId::Raw), ..ServerConfig::default() };
        // A frame in the same segment as the handshake is answered too.
        let outcome = serve(&cfg, &[recorded.request.as_bytes(), &masked(0x81, b"o")].concat());
        assert_eq!(outcome.events, [Happened::Upgraded, Happened::Echoed(1)], "{}", recorded.by);
        let head = outcome.out.strip_suffix(b"\x81\x01o").expect("the echo");
        let (ours, theirs) = (fields(std::str::from_utf8(head).unwrap()), fields(recorded.answer));
        for field in &ours {
            assert!(theirs.contains(field), "{}: {field}", recorded.by);
        }
        assert_eq!(ours.len(), if recorded.subprotocols.is_empty() { 3 } else { 4 }, "{}", recorded.by);
    }
}

/// The field lines, names in lower case.
fn fields(head: &str) -> Vec<String> {
    let lines = head.trim_end().split("\r\n").skip(1);
    lines
        .map(|line| {
            let (name, value) = line.split_once(": ").unwrap();
            format!("{}: {value}", name.to_ascii_lowercase())
        })
        .collect()
}

#[test]
fn our_client_accepts_what_other_clients_accepted() {
    let offered = Some(codec::DeflateOptions::default());
    for recorded in RECORDED {
        let subprotocols: Vec<String> = recorded.subprotocols.iter().map(|&p| p.to_owned()).collect();
        let lines = recorded.answer.matches('\n').count();
        let response = Response::parse(recorded.answer.as_bytes(), lines).unwrap();
        let key = recorded.key.as_bytes().try_into().unwrap();
        assert_eq!(upgrade::verify(&response, &key, &subprotocols, offered), Ok(None), "{}", recorded.by);
        let other = b"dGhlIHNhbXBsZSBub25jZQ==";
        assert_eq!(upgrade::verify(&response, other, &subprotocols, offered), Err(Error::BadAccept));
        if !subprotocols.is_empty() {
            assert_eq!(upgrade::verify(&response, &key, &[], offered), Err(Error::UnaskedProtocol));
        }
    }
}
