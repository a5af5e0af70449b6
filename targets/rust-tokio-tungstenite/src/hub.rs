//! The clients: each has a task that answers it and hands it the broadcasts of all.

use std::pin::pin;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use tokio::net::TcpStream;
use tokio::sync::broadcast::Sender;
use tokio::time;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};
use tokio_tungstenite::{WebSocketStream, accept_async_with_config};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::protocol;

const MESSAGE_BYTES_MAX: usize = 16 << 20;
/// Instead of the library's 128 KiB, which every idle client would hold.
const READ_BUFFER_BYTES: usize = 4 << 10;
/// How many broadcasts a client may fall behind before it is given up.
const LAG_MAX: usize = 1024;
const HANDSHAKE_MAX: Duration = Duration::from_secs(10);
const CLOSE_GRACE: Duration = Duration::from_millis(800);

type Socket = WebSocketStream<TcpStream>;

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
    /// Serves a new client in a task of its own.
    pub fn spawn(&self, stream: TcpStream) {
        let hub = self.clone();
        self.clients.spawn(async move { hub.serve(stream).await });
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

    async fn serve(&self, stream: TcpStream) {
        // From here on, so that a client that has its handshake misses nothing.
        let mut broadcasts = self.broadcasts.subscribe();
        let Some(mut socket) = shake_hands(stream).await else { return };
        let mut stopped = pin!(self.stop.cancelled());
        loop {
            let message = tokio::select! {
                received = socket.next() => match received {
                    Some(Ok(message @ (Message::Text(_) | Message::Binary(_)))) => self.answer(message),
                    Some(Ok(_)) => continue, // the library answers pings, and closes
                    Some(Err(_)) | None => return,
                },
                broadcast = broadcasts.recv() => match broadcast {
                    Ok(message) => message,
                    Err(_) => return, // it has fallen behind
                },
                () = &mut stopped => return say_goodbye(socket).await,
            };
            if socket.send(message).await.is_err() {
                return;
            }
        }
    }
}

/// Nothing if it is no WebSocket, or takes too long.
async fn shake_hands(stream: TcpStream) -> Option<Socket> {
    stream.set_nodelay(true).ok()?;
    let config = WebSocketConfig::default()
        .read_buffer_size(READ_BUFFER_BYTES)
        .max_message_size(Some(MESSAGE_BYTES_MAX))
        .max_frame_size(Some(MESSAGE_BYTES_MAX));
    let handshake = accept_async_with_config(stream, Some(config));
    time::timeout(HANDSHAKE_MAX, handshake).await.ok()?.ok()
}

/// Closes the connection, and waits for the client to do so, too.
async fn say_goodbye(mut socket: Socket) {
    let frame = CloseFrame { code: CloseCode::Away, reason: Utf8Bytes::default() };
    if socket.send(Message::Close(Some(frame))).await.is_ok() {
        while let Some(Ok(_)) = socket.next().await {}
    }
}
