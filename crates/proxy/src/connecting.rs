//! Connections to the server, over TLS where it speaks that.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Body;
use hyper::client::conn::http1::{Builder, SendRequest};
use hyper_util::rt::TokioIo;
use net::tls::ClientTls;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;

use crate::upstream::Upstream;

/// Time for a connection, TLS included.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(10);

/// A byte stream, with or without TLS.
trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// Connects; the connection lives in a task of its own for as long as its request does.
pub(crate) async fn connect<B>(upstream: &Upstream, tls: &ClientTls) -> io::Result<SendRequest<B>>
where
    B: Body<Data: Send, Error: Into<Box<dyn std::error::Error + Send + Sync>>> + Send + 'static,
{
    let connected = tokio::time::timeout(CONNECT_TIME_MAX, stream(upstream, tls)).await;
    let stream = connected.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
    let mut http = Builder::new();
    http.preserve_header_case(true);
    let (sender, connection) = http.handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
    // How it ended is known from the request.
    tokio::spawn(async move { drop(connection.with_upgrades().await) });
    Ok(sender)
}

async fn stream(upstream: &Upstream, tls: &ClientTls) -> io::Result<Box<dyn Stream>> {
    let stream = TcpStream::connect((upstream.host.as_str(), upstream.port)).await?;
    // Frames of a WebSocket are small, and wait for nothing.
    stream.set_nodelay(true)?;
    if !upstream.is_tls {
        return Ok(Box::new(stream));
    }
    let name = ServerName::try_from(upstream.host.clone()).map_err(io::Error::other)?;
    let connector = TlsConnector::from(Arc::clone(tls.config()));
    Ok(Box::new(connector.connect(name, stream).await?))
}
