//! The clients: each has a task that answers it and hands it the broadcasts of all.

use std::pin::pin;
use std::time::Duration;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use sockudo_ws::axum_integration::{WebSocket, WebSocketUpgrade};
use sockudo_ws::error::CloseReason;
use sockudo_ws::{Config, Message};
use tokio::sync::broadcast::{Receiver, Sender};
use tokio::time;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use tokio_util::task::TaskTracker;

use crate::protocol;

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

    async fn serve(self, mut socket: WebSocket, mut broadcasts: Receiver<Message>) {
        let mut stopped = pin!(self.stop.cancelled());
        loop {
            let message = tokio::select! {
                received = socket.recv() => match received {
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

/// The route of WebSockets.
pub async fn upgrade(State(hub): State<Hub>, upgrade: WebSocketUpgrade) -> Response {
    // A client may be silent for as long as it likes.
    let config = Config::builder().max_payload_length(MESSAGE_BYTES_MAX).idle_timeout(0).build();
    // From here on, so that a client that has its handshake misses nothing.
    let (client, broadcasts) = (hub.clients.token(), hub.broadcasts.subscribe());
    let upgrade = upgrade.config(config).on_upgrade(async move |socket| {
        hub.serve(socket, broadcasts).await;
        drop(client);
    });
    upgrade.into_response()
}

/// Closes the connection, and waits for the client to do so, too.
async fn say_goodbye(mut socket: WebSocket) {
    let goodbye = Message::Close(Some(CloseReason::new(CloseReason::GOING_AWAY, "")));
    if socket.send(goodbye).await.is_ok() {
        while let Some(Ok(_)) = socket.recv().await {}
    }
}
