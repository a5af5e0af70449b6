//! The clients: each has a task that answers it and hands it the broadcasts of all.

use std::pin::pin;
use std::time::Duration;

use actix_web::{HttpRequest, HttpResponse, rt, web};
use actix_ws::{AggregatedMessage, AggregatedMessageStream, CloseCode, Closed, Session};
use tokio::sync::broadcast::{Receiver, Sender};
use tokio::time;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::protocol::{self, Message};

const MESSAGE_BYTES_MAX: usize = 16 << 20;
/// How many broadcasts a client may fall behind before it is given up.
const LAG_MAX: usize = 1024;
const CLOSE_GRACE: Duration = Duration::from_millis(800);

/// State shared by all clients of all workers.
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
    /// Says goodbye to every client, and waits until they have left, at most as long as the grace.
    pub async fn close_all(&self) {
        self.stop.cancel();
        self.clients.close();
        // A client that has not left by then is dropped with the server.
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
    async fn serve(
        &self,
        mut session: Session,
        mut stream: AggregatedMessageStream,
        mut broadcasts: Receiver<Message>,
    ) -> Result<(), Closed> {
        let mut stopped = pin!(self.stop.cancelled());
        loop {
            let message = tokio::select! {
                received = stream.recv() => match received {
                    Some(Ok(AggregatedMessage::Text(text))) => self.answer(Message::Text(text)),
                    Some(Ok(AggregatedMessage::Binary(data))) => self.answer(Message::Binary(data)),
                    Some(Ok(AggregatedMessage::Ping(data))) => {
                        session.pong(&data).await?;
                        continue;
                    }
                    Some(Ok(AggregatedMessage::Pong(_))) => continue,
                    Some(Ok(AggregatedMessage::Close(reason))) => return session.close(reason).await,
                    Some(Err(_)) => return session.close(Some(CloseCode::Protocol.into())).await,
                    None => return Ok(()),
                },
                broadcast = broadcasts.recv() => match broadcast {
                    Ok(message) => message,
                    Err(_) => return session.close(Some(CloseCode::Policy.into())).await, // it has fallen behind
                },
                () = &mut stopped => return say_goodbye(session, stream).await,
            };
            match message {
                Message::Text(text) => session.text(text).await?,
                Message::Binary(data) => session.binary(data).await?,
            }
        }
    }
}

/// The route of WebSockets.
pub async fn upgrade(
    request: HttpRequest,
    body: web::Payload,
    hub: web::Data<Hub>,
) -> Result<HttpResponse, actix_web::Error> {
    let (response, session, stream) = actix_ws::handle(&request, body)?;
    let stream = stream
        .max_frame_size(MESSAGE_BYTES_MAX)
        .aggregate_continuations()
        .max_continuation_size(MESSAGE_BYTES_MAX);
    // From here on, so that a client that has its handshake misses nothing.
    let (client, broadcasts) = (hub.clients.token(), hub.broadcasts.subscribe());
    rt::spawn(async move {
        // A client that is gone already is no mistake.
        let _ = hub.serve(session, stream, broadcasts).await;
        drop(client);
    });
    Ok(response)
}

/// Closes the connection, and waits until it is.
async fn say_goodbye(session: Session, mut stream: AggregatedMessageStream) -> Result<(), Closed> {
    session.close(Some(CloseCode::Away.into())).await?;
    while let Some(Ok(_)) = stream.recv().await {}
    Ok(())
}
