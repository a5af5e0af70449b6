//! The clients: each has a task that answers it and hands it the broadcasts of all.

use std::future;
use std::pin::pin;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use fastwebsockets::upgrade::{IncomingUpgrade, UpgradeFut};
use fastwebsockets::{
    CloseCode, FragmentCollectorRead, Frame, OpCode, Payload, WebSocketError, WebSocketRead, WebSocketWrite,
};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Mutex;
use tokio::sync::broadcast::{Receiver, Sender};
use tokio::time;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use tokio_util::task::TaskTracker;

use crate::protocol::{self, Message};

const MESSAGE_BYTES_MAX: usize = 16 << 20;
/// How many broadcasts a client may fall behind before it is given up.
const LAG_MAX: usize = 1024;
const CLOSE_GRACE: Duration = Duration::from_millis(800);

/// State shared by all clients.
#[derive(Clone)]
pub struct Hub {
    broadcasts: Sender<Message>,
    stop: CancellationToken,
    clients: TaskTracker,
}

impl Default for Hub {
    fn default() -> Self {
        let (stop, clients) = (CancellationToken::new(), TaskTracker::new());
        Self { broadcasts: Sender::new(LAG_MAX), stop, clients }
    }
}

impl Hub {
    /// Ends when the server is to stop.
    pub fn stopped(&self) -> WaitForCancellationFutureOwned {
        self.stop.clone().cancelled_owned()
    }

    /// Says goodbye to every client, and waits until they have left, at most as long as the grace.
    pub async fn close_all(&self) {
        self.stop.cancel();
        self.clients.close();
        // Who has not left by then is dropped with the process.
        let _ = time::timeout(CLOSE_GRACE, self.clients.wait()).await;
    }

    /// Sends a broadcast to everybody, and returns the answer for the sender of the message.
    fn answer(&self, message: Message) -> Message {
        let Some(result) = protocol::broadcast_result(&message) else { return message };
        // Fails if nobody listens, but the sender does.
        let _ = self.broadcasts.send(message);
        result
    }

    /// Serves one client until it leaves, falls behind, breaks the protocol, or the server stops.
    async fn serve(&self, upgrade: UpgradeFut, broadcasts: Receiver<Message>) -> Result<(), WebSocketError> {
        let mut socket = upgrade.await?;
        socket.set_max_message_size(MESSAGE_BYTES_MAX);
        let (reader, writer) = socket.split(tokio::io::split);
        let writer = Mutex::new(writer);
        // Both go on while the other waits: what one has read of a frame is lost if it is interrupted.
        tokio::select! {
            end = self.answer_all(reader, &writer) => end,
            end = self.deliver_all(broadcasts, &writer) => end,
        }
    }

    /// Until the client has closed the connection.
    async fn answer_all<R: AsyncRead + Unpin, W: AsyncWrite + Unpin>(
        &self,
        reader: WebSocketRead<R>,
        writer: &Mutex<WebSocketWrite<W>>,
    ) -> Result<(), WebSocketError> {
        let mut reader = FragmentCollectorRead::new(reader);
        // Pongs, and the answer to a close frame, unless that is an answer already.
        let mut answer_control = |frame| async move {
            let mut writer = writer.lock().await;
            if writer.is_closed() { Ok(()) } else { writer.write_frame(frame).await }
        };
        loop {
            let frame = reader.read_frame(&mut answer_control).await?;
            match frame.opcode {
                OpCode::Text | OpCode::Binary => {
                    let message = Message { kind: frame.opcode, data: shared(frame.payload) };
                    write(writer, &self.answer(message)).await?;
                }
                OpCode::Close => return Ok(()),
                _ => {}
            }
        }
    }

    /// Until the client has fallen behind; when the server stops, says goodbye and leaves the end to the reader.
    async fn deliver_all<W: AsyncWrite + Unpin>(
        &self,
        mut broadcasts: Receiver<Message>,
        writer: &Mutex<WebSocketWrite<W>>,
    ) -> Result<(), WebSocketError> {
        let mut stopped = pin!(self.stop.cancelled());
        loop {
            tokio::select! {
                broadcast = broadcasts.recv() => match broadcast {
                    Ok(message) => write(writer, &message).await?,
                    Err(_) => return Ok(()),
                },
                () = &mut stopped => break,
            }
        }
        writer.lock().await.write_frame(Frame::close(CloseCode::Away.into(), &[])).await?;
        future::pending().await
    }
}

/// The route of WebSockets.
pub async fn upgrade(upgrade: IncomingUpgrade, State(hub): State<Hub>) -> Response {
    let Ok((response, upgrade)) = upgrade.upgrade() else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    // From here on, so that a client that has its handshake misses nothing.
    let broadcasts = hub.broadcasts.subscribe();
    let clients = hub.clients.clone();
    clients.spawn(async move {
        // A client that breaks off is no mistake of the server's.
        let _ = hub.serve(upgrade, broadcasts).await;
    });
    response.into_response()
}

/// The bytes that were read, without a copy.
fn shared(payload: Payload<'_>) -> Bytes {
    match payload {
        Payload::Bytes(bytes) => bytes.freeze(),
        other => Bytes::from(Vec::from(other)),
    }
}

async fn write<W: AsyncWrite + Unpin>(
    writer: &Mutex<WebSocketWrite<W>>,
    message: &Message,
) -> Result<(), WebSocketError> {
    let frame = Frame::new(true, message.kind, None, Payload::Borrowed(&message.data));
    writer.lock().await.write_frame(frame).await
}
