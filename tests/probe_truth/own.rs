//! `throng serve`: its limits, its protocols, its faults and its history; and a socket that waits for
//! acknowledgements.

use super::planted::{ANY, Kind, OF_ECHOES, OF_SOCKETS, Running, certify, row, sheet};
use crate::support::hostile::{HostileServer, Peer};
use crate::support::target::Unavailable;
use crate::support::throng::Server;
use crate::support::websocket;

pub(super) static TLS: Kind = Kind {
    name: "throng serve, over TLS",
    start: start_with_tls,
    usual: OF_ECHOES,
    rows: &[row(
        "messages of 100 KiB, compression, a certificate",
        &["--max-message", "100KiB", "--compress"],
        &[
            ("tls_versions/versions", r#"["1.2","1.3"]"#),
            ("tls_alpn/protocols", r#"["h2","http/1.1"]"#),
            ("tls_resumption/resumed", "true"),
            ("tls_certificate/until", "\"4096-01-01\""),
            ("http2/spoken", "true"),
            ("http2/websockets", "false"),
            ("compression/deflate", "true"),
            ("message_max/accepted_bytes", "102400"),
            ("message_max/refused_bytes", "102400"),
            ("message_max/refusal", "1009"),
        ],
    )
    .probed(&["--insecure"])],
};

/// A path, and the server's flags.
pub(super) static PROTOCOLS: Kind = Kind {
    name: "throng serve, its protocols",
    start: start_at_path,
    usual: &[OF_SOCKETS],
    rows: &[
        row(
            "Phoenix Channels: an idle timeout of 2 s",
            &["/socket/websocket", "--phoenix-timeout", "2s"],
            &[("protocol/name", "\"Phoenix Channels\""), ("idle/closed_after_s", "2")],
        ),
        row(
            "Socket.IO: messages of 1 MB, a heartbeat each second, to be answered within 1 s",
            &["/socket.io", "--socketio-ping-interval", "1s", "--socketio-ping-timeout", "1s"],
            &[
                ("protocol/name", "\"Socket.IO (EIO 4)\""),
                ("message_max/accepted_bytes", "1000000"),
                ("message_max/refused_bytes", "1000000"),
                ("ping_interval/kind", "\"message\""),
                ("ping_interval/interval_s", "1"),
                ("pong_timeout/closed_after_s", "1"),
            ],
        ),
        row(
            // One comes in 4 s, and the handshake tells the interval.
            "Socket.IO: messages of 1 MB, a heartbeat each 3 s",
            &["/socket.io", "--socketio-ping-interval", "3s"],
            &[
                ("protocol/name", "\"Socket.IO (EIO 4)\""),
                ("message_max/refused_bytes", "1000000"),
                ("ping_interval/kind", "\"message\""),
                ("ping_interval/interval_s", "3"),
                ("ping_interval/announced_s", "3"),
                ("pong_timeout/closed_after_s", "null"),
            ],
        ),
    ],
};

/// Flags with faults (docs/FAULTS.md).
pub(super) static FAULTS: Kind = Kind {
    name: "throng serve, with faults",
    start: start_at_path,
    usual: OF_ECHOES,
    rows: &[
        // Nagle's algorithm takes as long, and is not this.
        row("answers 45 ms late", &["/ws", "--fault", "delay=45ms"], &[]),
        row(
            "150 messages of a connection, then 1001",
            &["/ws", "--fault", "close=all@150"],
            &[
                ("message_rate/limit", "150"),
                ("message_rate/refusal", "1001"),
                ("message_rate/recovers_within_s", "1.2"),
            ],
        ),
        row(
            "120 messages of a connection, then silence",
            &["/ws", "--fault", "mute=all@120"],
            &[
                ("message_rate/limit", "120"),
                ("message_rate/refusal", "\"silence\""),
                ("message_rate/recovers_within_s", "null"),
            ],
        ),
        row(
            "one message of a connection changes places with the next",
            &["/ws", "--fault", "reorder=each:50"],
            &[("order/out_of_order", "1"), ("order/received", "100")],
        ),
    ],
};

/// A path, and a history of some length or time. How many messages one by time holds is a matter of speed.
pub(super) static HISTORY: Kind = Kind {
    name: "throng serve, its history",
    start: start_at_path,
    usual: &[],
    rows: &[
        row(
            "Socket.IO: messages of 1 MB, 50 of them, and a heartbeat each 25 s",
            &["/socket.io/", "--history", "50"],
            &[
                ("protocol/name", "\"Socket.IO (EIO 4)\""),
                ("resume_time/limit_s", "null"),
                ("resume_messages/limit", "50"),
                ("message_max/refused_bytes", "1000000"),
                ("ping_interval/announced_s", "25"),
                ("ping_interval/kind", "\"message\""),
            ],
        )
        .probed(&["--absence", "6s"]),
        row(
            "Socket.IO: messages of 1 MB, 4 s of them, and a heartbeat each 25 s",
            &["/socket.io/", "--history", "4s"],
            &[
                ("protocol/name", "\"Socket.IO (EIO 4)\""),
                ("resume_time/limit_s", "4"),
                ("resume_messages/limit", ANY),
                ("message_max/refused_bytes", "1000000"),
                ("ping_interval/announced_s", "25"),
                ("ping_interval/kind", "\"message\""),
            ],
        )
        .repeated()
        .probed(&["--absence", "6s"]),
        row(
            "Action Cable: 50 messages, a heartbeat each 3 s",
            &["/cable", "--history", "50"],
            &[
                ("protocol/name", "\"Action Cable\""),
                ("resume_time/limit_s", "null"),
                ("resume_messages/limit", "50"),
                ("ping_interval/kind", "\"message\""),
            ],
        )
        .repeated()
        .probed(&["--absence", "6s"]),
        row(
            "Action Cable: 4 s, a heartbeat each 3 s",
            &["/cable", "--history", "4s"],
            &[
                ("protocol/name", "\"Action Cable\""),
                ("resume_time/limit_s", "4"),
                ("resume_messages/limit", ANY),
                ("ping_interval/kind", "\"message\""),
            ],
        )
        .probed(&["--absence", "6s"]),
        row(
            "events: 50 messages",
            &["/events?room=1", "--history", "50"],
            &[("resume_time/limit_s", "null"), ("resume_messages/limit", "50")],
        )
        .probed(&["--absence", "6s", "--publish-url", "/publish/1"]),
        row(
            "events: 4 s",
            &["/events?room=1", "--history", "4s"],
            &[("resume_time/limit_s", "4"), ("resume_messages/limit", ANY)],
        )
        .repeated()
        .probed(&["--absence", "6s", "--publish-url", "/publish/1"]),
    ],
};

/// A server that writes header and payload of a frame apart, with Nagle's algorithm on.
pub(super) static NAGLE: Kind = Kind {
    name: "a socket",
    start: start_waiting,
    usual: OF_ECHOES,
    rows: &[row("answers that wait for acknowledgements", &[], &[("delayed_ack/delayed", "true")])],
};

fn start_at_path(arguments: &[&str]) -> Result<Running, Unavailable> {
    let server = Server::start(&arguments[1..]);
    let scheme = if arguments[0].starts_with("/events") { "http" } else { "ws" };
    Ok(Running::new(format!("{scheme}://{}{}", server.address, arguments[0]), server))
}

fn start_with_tls(arguments: &[&str]) -> Result<Running, Unavailable> {
    let folder = tempfile::tempdir().unwrap();
    let [cert, key] = certify(folder.path());
    let server = Server::start(&[&["--cert", &*cert, "--key", &*key][..], arguments].concat());
    Ok(Running::new(format!("wss://{}/ws", server.address), (server, folder)))
}

fn start_waiting(_: &[&str]) -> Result<Running, Unavailable> {
    let server = HostileServer::start(|p: &mut Peer| {
        p.delay_small().upgrade();
        while let Some((first, payload)) = p.receive_frame() {
            let pong = if first == websocket::PING { websocket::PONG } else { first };
            let frame = websocket::frame(pong, &payload);
            p.send(&frame[..2]).send(&frame[2..]);
            if first == websocket::CLOSE {
                break;
            }
        }
    });
    Ok(Running::new(server.url(), server))
}

#[test]
fn unknown_authorities_end_a_sheet() {
    let server = start_with_tls(&[]).unwrap_or_else(|Unavailable(why)| panic!("{why}"));
    let untrusted = sheet(&server.url, &[]);
    untrusted.assert_failed(1, "could_not.reach.tls_unknown_issuer", &["--insecure"]);
}
