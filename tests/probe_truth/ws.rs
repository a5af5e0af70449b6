//! Servers of the ws package in tests/servers/limits: echoes, and a socket of Phoenix's.

use super::planted::{ANY, Kind, OF_SOCKETS, Row, Running, Truth, certify, row};
use crate::support::free_address;
use crate::support::node::Scripts;
use crate::support::target::Unavailable;

pub(super) static WS: Kind = Kind {
    name: "ws (Node.js)",
    start: |limits| start("server.js", "/", limits[0]),
    usual: &[&USUAL],
    rows: &ROWS,
};

/// Limits as an endpoint of Phoenix's and Cowboy set them.
pub(super) static PHOENIX: Kind = Kind {
    name: "a socket of Phoenix's (Node.js)",
    start: |limits| start("phoenix.js", "/socket/websocket", limits[0]),
    usual: &[OF_SOCKETS],
    rows: &[
        row(
            "an idle timeout of 2 s, frames of 50,000 bytes, an origin",
            &[r#"{"timeout":2000,"frame":50000,"origin":"http://app.example"}"#],
            &[
                ("protocol/name", "\"Phoenix Channels\""),
                ("idle/closed_after_s", "2"),
                ("idle/closing/code", "1000"),
                ("idle_with_pings/kept_open", "true"),
                ("closed_by/by", "\"server\""),
                ("message_max/accepted_bytes", "50000"),
                ("message_max/refused_bytes", "50000"),
                ("message_max/refusal", "1009"),
                ("origin/foreign", "403"),
                ("origin/absent", "null"),
            ],
        ),
        row("no limit", &["{}"], &[("protocol/name", "\"Phoenix Channels\"")]),
    ],
};

/// Node.js's own HTTP/2 and no HTTP/1.1, so that the sheet has little else.
pub(super) static HTTP2: Kind = Kind {
    name: "HTTP/2 (Node.js)",
    start: start_http2,
    usual: &[],
    rows: &[row(
        "WebSockets over HTTP/2 alone, any number of streams",
        &[],
        &[
            ("tls_alpn/protocols", r#"["h2"]"#),
            ("http2/spoken", "true"),
            ("http2/websockets", "true"),
            ("http2/streams_max", "null"),
        ],
    )
    .probed(&["--insecure"])],
};

fn start_http2(_: &[&str]) -> Result<Running, Unavailable> {
    let scripts = Scripts::install_in("tests/servers", "http2")?;
    let (address, folder) = (free_address(), tempfile::tempdir().unwrap());
    let [cert, key] = certify(folder.path());
    let server = scripts.start("server.js", &[&address.port().to_string(), &cert, &key]);
    Ok(Running::new(format!("wss://{address}/"), (server.listening_at(address), folder)))
}

fn start(script: &str, path: &str, limits: &str) -> Result<Running, Unavailable> {
    let scripts = Scripts::install_in("tests/servers", "limits")?;
    let address = free_address();
    let server = scripts.start(script, &[&address.port().to_string(), limits]).listening_at(address);
    Ok(Running::new(format!("ws://{address}{path}"), server))
}

/// The truth of such a server without any limit; a server's own truth comes on top.
static USUAL: [Truth; 22] = [
    ("subprotocols/any", "true"),
    ("compression/deflate", "false"),
    ("http2/spoken", "false"),
    ("origin/foreign", "null"),
    ("origin/absent", "null"),
    ("close_codes/close", "1000"),
    ("close_codes/bad_utf8", "1007"),
    ("close_codes/reserved_bit", "1002"),
    ("close_codes/unmasked", "1002"),
    ("close_codes/ended_by", "null"),
    ("message_max/refused_bytes", "null"),
    ("frames/messages_per_frame_max", "1"),
    ("frames/frames_of_large", "1"),
    ("order/received", "100"),
    ("order/out_of_order", "0"),
    ("delayed_ack/delayed", "false"),
    ("stickiness/cookie", "null"),
    ("connections/refusal", "null"),
    ("handshake_rate/refusal", "null"),
    ("message_rate/limit", "null"),
    ("idle/closed_after_s", "null"),
    ("ping_interval/kind", "null"),
];

static ROWS: [Row; 19] = [
    row("no limit", &["{}"], &[("slow_reader/behavior", "\"buffers\"")]),
    row(
        "messages of 64 KiB, compression",
        &[
            r#"{"ws":{"maxPayload":65536,"perMessageDeflate":{"serverNoContextTakeover":true,"clientMaxWindowBits":10}}}"#,
        ],
        &[
            ("message_max/accepted_bytes", "65536"),
            ("message_max/refused_bytes", "65537"),
            ("message_max/refusal", "1009"),
            ("compression/deflate", "true"),
            ("compression/server_no_context_takeover", "true"),
            ("compression/client_max_window_bits", "10"),
        ],
    ),
    row(
        "compression: a window of 2 KiB, no context of the client",
        &[r#"{"ws":{"perMessageDeflate":{"serverMaxWindowBits":11,"clientNoContextTakeover":true}}}"#],
        &[
            ("compression/deflate", "true"),
            ("compression/server_no_context_takeover", "false"),
            ("compression/server_max_window_bits", "11"),
            ("compression/client_no_context_takeover", "true"),
        ],
    ),
    row(
        "messages of 300,000 bytes",
        &[r#"{"ws":{"maxPayload":300000}}"#],
        &[
            ("message_max/accepted_bytes", "300000"),
            ("message_max/refused_bytes", "300000"),
            ("message_max/refusal", "1009"),
        ],
    )
    .repeated(),
    row(
        "messages of 20 MiB",
        &[r#"{"ws":{"maxPayload":20971520}}"#],
        &[
            ("message_max/accepted_bytes", "20971520"),
            ("message_max/refused_bytes", "20971520"),
            ("message_max/refusal", "1009"),
        ],
    )
    .repeated()
    .probed(&["--max-message", "64MiB"]),
    row(
        "an idle timeout of 1.5 s, which pings do not reset",
        &[r#"{"idle":{"ms":1500,"code":4408,"resets":"message"}}"#],
        &[
            ("idle/closed_after_s", "1.5"),
            ("idle/closing/code", "4408"),
            ("idle_with_pings/kept_open", "false"),
            ("closed_by/by", "\"server\""),
            ("slow_reader/behavior", ANY),
        ],
    ),
    row(
        "an idle timeout of 2 s, which pings reset",
        &[r#"{"idle":{"ms":2000,"code":1001,"resets":"ping"}}"#],
        &[
            ("idle/closed_after_s", "2"),
            ("idle/closing/code", "1001"),
            ("idle_with_pings/kept_open", "true"),
            ("closed_by/by", "\"server\""),
            ("slow_reader/behavior", ANY),
        ],
    )
    .repeated(),
    row(
        "pings each 0.8 s",
        &[r#"{"pings":800}"#],
        &[
            ("ping_interval/kind", "\"ping\""),
            ("ping_interval/interval_s", "0.8"),
            ("pong_timeout/closed_after_s", "0.8"),
            ("slow_reader/behavior", ANY),
        ],
    )
    .repeated(),
    row(
        "20 connections, then 503",
        &[r#"{"connections":{"max":20,"by":503}}"#],
        &[("connections/open", "20"), ("connections/refusal", "503"), ("connections/freed", "true")],
    )
    .repeated(),
    row(
        "50 connections, then 1013",
        &[r#"{"connections":{"max":50,"by":1013}}"#],
        &[("connections/open", "50"), ("connections/refusal", "1013"), ("connections/freed", "true")],
    ),
    row(
        "120 connections, then 503",
        &[r#"{"connections":{"max":120,"by":503}}"#],
        &[("connections/open", "120"), ("connections/refusal", "503"), ("connections/freed", "true")],
    )
    .repeated()
    .probed(&["--max", "200"]),
    row(
        "20 handshakes a second",
        &[r#"{"handshakes":20}"#],
        &[
            ("handshake_rate/accepted", "20"),
            ("handshake_rate/per_s", "20"),
            ("handshake_rate/refusal", "429"),
            ("handshake_rate/retry_after", "\"1\""),
            ("handshake_rate/recovers_within_1_s", "true"),
        ],
    ),
    row(
        "120 messages a second, then 1008",
        &[r#"{"burst":{"max":120,"by":1008}}"#],
        &[
            ("message_rate/limit", "120"),
            ("message_rate/refusal", "1008"),
            ("message_rate/recovers_within_s", "1.2"),
        ],
    )
    .repeated(),
    row(
        "150 messages a second, then silence",
        &[r#"{"burst":{"max":150,"by":"silence"}}"#],
        &[
            ("message_rate/limit", "150"),
            ("message_rate/refusal", "\"silence\""),
            // After 1.5 s in which nothing came, it waits 1.2 s.
            ("message_rate/recovers_within_s", "2.7"),
        ],
    ),
    row(
        "no answers, and 40 messages a second, then 1008",
        &[r#"{"mute":true,"burst":{"max":40,"by":1008}}"#],
        &[
            ("message_rate/limit", "40"),
            ("message_rate/refusal", "1008"),
            ("frames/messages_per_frame_max", ANY),
            ("frames/frames_of_large", ANY),
            ("order/received", ANY),
            ("order/out_of_order", ANY),
        ],
    ),
    row(
        "answers that are collected, an origin, a subprotocol, a cookie",
        &[r#"{"together":50,"origin":"http://app.example","subprotocol":"mqtt","cookie":"SERVERID"}"#],
        &[
            ("frames/messages_per_frame_max", "16"),
            ("order/received", ANY),
            ("order/out_of_order", ANY),
            ("origin/foreign", "403"),
            ("origin/absent", "403"),
            ("subprotocols/any", "false"),
            ("subprotocols/spoken", r#"["mqtt"]"#),
            ("stickiness/cookie", "\"SERVERID\""),
            ("stickiness/values", "4"),
            ("stickiness/kept", "true"),
        ],
    )
    .probed(&["--origin", "http://app.example"]),
    row(
        "texts of its own in the place of what a slow reader would get",
        &[r#"{"lossy":1048576}"#],
        &[("slow_reader/behavior", "\"drops\"")],
    ),
    row(
        "answers that overtake each other, and 1 MiB for a slow reader",
        &[r#"{"reorders":true,"unread":1048576}"#],
        &[
            ("order/out_of_order", "50"),
            ("slow_reader/behavior", "\"closed\""),
            ("slow_reader/closing/code", "1013"),
        ],
    ),
    row(
        "a process that ends with the first broken frame",
        &[r#"{"fragile":true}"#],
        &[
            ("close_codes/ended_by", "\"bad_utf8\""),
            ("close_codes/bad_utf8", ANY),
            ("close_codes/reserved_bit", ANY),
            ("close_codes/unmasked", ANY),
        ],
    ),
];
