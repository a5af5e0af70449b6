//! The clients, all in one room.

use std::convert::Infallible;
use std::sync::Arc;

use serde_json::Value;
use socketioxide::SocketIo;
use socketioxide::adapter::Adapter;
use socketioxide::extract::{AckSender, Data, SocketRef};
use socketioxide::handler::{self, FromMessageParts};
use socketioxide::layer::SocketIoLayer;
use socketioxide::socket::Socket;

const MESSAGE_BYTES_MAX: usize = 16 << 20;
/// How many packets may wait for a client before it misses what comes.
const QUEUE_LEN: usize = 1024;

/// Answers the events `echo` and `broadcast`.
pub fn open() -> (SocketIoLayer, SocketIo) {
    let (layer, io) = SocketIo::builder()
        .max_buffer_size(QUEUE_LEN)
        .max_payload(MESSAGE_BYTES_MAX as u64)
        .ws_max_message_size(MESSAGE_BYTES_MAX)
        .ws_max_frame_size(MESSAGE_BYTES_MAX)
        .build_layer();
    io.ns("/", async |socket: SocketRef| {
        socket.on("echo", echo);
        socket.on("broadcast", broadcast);
    });
    (layer, io)
}

async fn echo(socket: SocketRef, Data(payload): Data<Value>, ack: AckSender, wants_ack: WantsAck) {
    answer(&socket, "echo", &payload, ack, wants_ack);
}

async fn broadcast(
    io: SocketIo,
    socket: SocketRef,
    Data(payload): Data<Value>,
    ack: AckSender,
    wants_ack: WantsAck,
) {
    // Fails for those who have left, and those for whom too much waits.
    let _ = io.emit("broadcast", &payload).await;
    answer(&socket, "broadcastResult", &payload, ack, wants_ack);
}

/// Acknowledges the message to a client that asks for that, and sends the event to any other.
fn answer(socket: &SocketRef, event: &str, payload: &Value, ack: AckSender, wants_ack: WantsAck) {
    // Fails if the client has left, or if too much waits for it.
    let _ = if wants_ack.0 { ack.send(payload) } else { socket.emit(event, payload) };
}

/// True if the client has asked for an acknowledgement, which [`AckSender`] does not tell.
struct WantsAck(bool);

impl<A: Adapter> FromMessageParts<A> for WantsAck {
    type Error = Infallible;

    fn from_message_parts(
        _: &Arc<Socket<A>>,
        _: &mut handler::Value,
        ack_id: &Option<i64>,
    ) -> Result<Self, Infallible> {
        Ok(Self(ack_id.is_some()))
    }
}
