//! What can be chosen about single dialects, in either role. Everything has a default.

use std::sync::Arc;

use secret::Secret;
use serde::{Deserialize, Serialize};

use super::custom::spec::CustomDialect;
use super::http::options::HttpOptions;

/// A client's choices. Each concerns the dialect named with it, and means nothing to the others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DialectOptions {
    /// actioncable: the channel class; `None`: `BenchmarkChannel`.
    pub channel: Option<String>,
    /// actioncable: further parameters of the subscription, a JSON object.
    pub channel_params: Option<String>,
    /// actioncable: subscriptions of each client; from the second on they carry an `id`. `None`: one.
    pub subscriptions: Option<u32>,
    /// phoenix: the topic joined; `None`: `room:lobby`.
    pub topic: Option<String>,
    /// phoenix: what is sent along with the join, a JSON object.
    pub join_params: Option<Secret>,
    /// phoenix: version of the serializer, `1.0.0` or `2.0.0`; `None`: what the path says, or `2.0.0`.
    pub vsn: Option<String>,
    /// sockjs: how frames travel; socketio: how packets do; `None`: `websocket`.
    pub transport: Option<String>,
    /// sockjs: ask for `/info` first, as browsers do, and count it as part of the handshake.
    pub info: bool,
    /// The server has no result for a broadcast, as those have not that send everything they get to everyone: the
    /// sender's own copy acknowledges it.
    pub acked_by_copy: bool,
    /// socketio: the namespace; `None`: `/`.
    pub namespace: Option<String>,
    /// socketio: what is sent along to be let into the namespace, a JSON object.
    pub auth: Option<Secret>,
    /// socketio: version of Engine.IO, 3 or 4; `None`: what the path says, or 4.
    pub eio: Option<u8>,
    /// socketio: ask for acknowledgements, which then come instead of the events `echo` and `broadcastResult`.
    pub acks: bool,
    /// phoenix: push messages as binary, which the second serializer has; socketio: send payloads as attachments.
    pub binary: bool,
    /// A token that lets the client in, passed on as it is.
    pub token: Option<Secret>,
    /// Where the token goes; `None`: where the dialect's own clients put it.
    pub token_in: Option<TokenPlace>,
    /// custom: the dialect itself.
    pub custom: Option<Arc<CustomDialect>>,
    /// http: the request, and its good answers.
    pub http: HttpOptions,
}

/// Where in the upgrade request a token goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TokenPlace {
    /// A parameter of that name in the query.
    Query(String),
    /// A header of that name.
    Header(String),
    /// A cookie of that name.
    Cookie(String),
}

/// A server's choices, for all its connections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerDialectOptions {
    /// actioncable: from one ping to the next. Rails sends one every 3 seconds.
    pub cable_ping_interval_ns: u64,
    /// phoenix: a client that is silent this long is cut off. Phoenix waits 60 seconds.
    pub phoenix_timeout_ns: u64,
    /// sockjs: from one heartbeat to the next. The protocol document recommends 25 seconds.
    pub sockjs_heartbeat_ns: u64,
    /// sockjs: how long a session without a connection to write to lives. The protocol document says 5 seconds.
    pub sockjs_disconnect_ns: u64,
    /// sockjs: bytes of one streaming answer after which it ends, and the client has to ask anew. 128 KiB by the
    /// protocol document; the service `/echo` has its 4096 always.
    pub sockjs_response_bytes_max: usize,
    /// socketio: from one ping to the next. Socket.IO sends one every 25 seconds.
    pub socketio_ping_interval_ns: u64,
    /// socketio: how long a pong may take. Socket.IO waits 20 seconds.
    pub socketio_ping_timeout_ns: u64,
    /// socketio: by when a client must have connected to a namespace. Socket.IO waits 45 seconds.
    pub socketio_connect_timeout_ns: u64,
    /// socketio: most bytes of one message, or of packets joined. Socket.IO takes 1,000,000 (`maxHttpBufferSize`).
    pub socketio_payload_bytes_max: usize,
}

impl Default for ServerDialectOptions {
    fn default() -> ServerDialectOptions {
        ServerDialectOptions {
            cable_ping_interval_ns: 3_000_000_000,
            phoenix_timeout_ns: 60_000_000_000,
            sockjs_heartbeat_ns: 25_000_000_000,
            sockjs_disconnect_ns: 5_000_000_000,
            sockjs_response_bytes_max: 128 << 10,
            socketio_ping_interval_ns: 25_000_000_000,
            socketio_ping_timeout_ns: 20_000_000_000,
            socketio_connect_timeout_ns: 45_000_000_000,
            socketio_payload_bytes_max: 1_000_000,
        }
    }
}
