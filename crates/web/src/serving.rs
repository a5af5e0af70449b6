//! Connections: how many, and how long each may take for what it asks.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

/// Connections at once; further ones wait to be accepted. A browser has six.
const CONNECTIONS_MAX: usize = 256;
/// The time from accept, or from the previous answer, to the end of the next head: an idle client is
/// disconnected, and connects again.
const HEAD_TIME_MAX: Duration = Duration::from_secs(10);
/// The time from there to the end of the body.
const BODY_TIME_MAX: Duration = Duration::from_secs(10);
/// The largest form is that of a new run: a few hundred bytes.
const BODY_BYTES_MAX: usize = 64 << 10;
/// When descriptors have run out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Accepts and serves for ever.
pub(crate) async fn serve(listener: TcpListener, routes: Router) -> io::Result<()> {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        // Before the accept: what cannot be served waits in the kernel's queue.
        let place = Arc::clone(&places).acquire_owned().await.map_err(io::Error::other)?;
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let service = TowerToHyperService::new(routes.clone());
        tokio::spawn(async move {
            let mut http = http1::Builder::new();
            http.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME_MAX);
            // How it ended is the client's affair.
            let _ = http.serve_connection(TokioIo::new(stream), service).await;
            drop(place);
        });
    }
}

/// The request with its whole body, which comes in time and is not too large; or what to answer instead.
pub(crate) async fn whole(request: Request) -> Result<Request, Response> {
    let (head, body) = request.into_parts();
    match tokio::time::timeout(BODY_TIME_MAX, axum::body::to_bytes(body, BODY_BYTES_MAX)).await {
        Ok(Ok(bytes)) => Ok(Request::from_parts(head, bytes.into())),
        Ok(Err(_)) => Err((StatusCode::PAYLOAD_TOO_LARGE, "throng: too large\n").into_response()),
        Err(_) => Err((StatusCode::REQUEST_TIMEOUT, "throng: too slow\n").into_response()),
    }
}
