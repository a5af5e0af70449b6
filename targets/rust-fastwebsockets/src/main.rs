//! An echo and broadcast server on fastwebsockets.

mod hub;
mod protocol;

use std::env;
use std::error::Error;
use std::io;
use std::net::{IpAddr, SocketAddr};

use axum::Router;
use axum::routing::{any, get};
use axum::serve::ListenerExt;
use tokio::net::{TcpListener, TcpSocket};
use tokio::signal::unix::{SignalKind, signal};

use crate::hub::Hub;

const BACKLOG: u32 = 4096;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let host: IpAddr = setting("HOST", "127.0.0.1").parse()?;
    let port = setting("PORT", "3334").parse()?;
    let listener = listen(SocketAddr::new(host, port))?.tap_io(|stream| {
        // Fails only on a connection that is gone already.
        let _ = stream.set_nodelay(true);
    });

    let hub = Hub::default();
    let app =
        Router::new().route("/", get(|| async {})).route("/ws", any(hub::upgrade)).with_state(hub.clone());
    tokio::spawn(axum::serve(listener, app).with_graceful_shutdown(hub.stopped()).into_future());
    stop_signal().await?;
    hub.close_all().await;
    Ok(())
}

/// Binds as `TcpListener::bind` does, with a longer queue of connections to accept.
fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

async fn stop_signal() -> io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(())
}

fn setting(name: &str, fallback: &str) -> String {
    env::var(name).unwrap_or_else(|_| fallback.to_owned())
}
