//! An echo and broadcast server on tokio-tungstenite.

mod hub;
mod protocol;

use std::env;
use std::error::Error;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use tokio::net::{TcpListener, TcpSocket};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time;

use crate::hub::Hub;

const BACKLOG: u32 = 4096;
/// How long to wait after a connection could not be accepted, for which there may be no file.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let host: IpAddr = setting("HOST", "127.0.0.1").parse()?;
    let port = setting("PORT", "3334").parse()?;
    let listener = listen(SocketAddr::new(host, port))?;

    let hub = Hub::default();
    tokio::select! {
        end = stop_signal() => end?,
        () = accept(listener, &hub) => {}
    }
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

async fn accept(listener: TcpListener, hub: &Hub) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => hub.spawn(stream),
            Err(_) => time::sleep(ACCEPT_PAUSE).await,
        }
    }
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
