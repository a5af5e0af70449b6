//! Where a target runs this time: the values of a manifest's placeholders.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::thread;

/// Every placeholder.
pub(crate) const NAMES: [&str; 6] = ["{host}", "{port}", "{admin_port}", "{socket}", "{cores}", "{throng}"];

/// The first port that is tried; those below belong to well-known services.
const PORT_MIN: u16 = 10_240;

/// How many ports are tried.
const TRIES_MAX: u32 = 1_000;

/// A free place on this machine.
#[derive(Clone, Debug)]
pub struct Place {
    /// Where the server listens.
    pub address: SocketAddr,
    /// A second port, for what it tells about itself.
    pub admin_port: u16,
    /// A path for a unix socket, in a folder of its own.
    pub socket: PathBuf,
    /// This program.
    throng: PathBuf,
}

impl Place {
    /// Free ports of the loopback address, and a path below `folder`.
    ///
    /// # Errors
    /// No port is free.
    pub fn find(folder: &Path, throng: &Path) -> io::Result<Place> {
        let port = free_port(None)?;
        Ok(Place {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
            admin_port: free_port(Some(port))?,
            socket: folder.join("server.sock"),
            throng: throng.to_owned(),
        })
    }

    /// The text with the values for its placeholders.
    pub fn fill(&self, text: &str) -> String {
        if !text.contains('{') {
            return text.to_owned();
        }
        let cores = thread::available_parallelism().map_or(1, usize::from);
        text.replace("{host}", &self.address.ip().to_string())
            .replace("{port}", &self.address.port().to_string())
            .replace("{admin_port}", &self.admin_port.to_string())
            .replace("{socket}", &self.socket.to_string_lossy())
            .replace("{cores}", &cores.to_string())
            .replace("{throng}", &self.throng.to_string_lossy())
    }
}

/// A port that nobody listens on, and that no outgoing connection will be given: those come from the ephemeral range,
/// and a shootout opens them by the thousand.
fn free_port(besides: Option<u16>) -> io::Result<u16> {
    let first_ephemeral = net::limits::port_range().map_or(32_768, |(first, _)| first);
    let ports =
        if first_ephemeral > PORT_MIN + 1_000 { PORT_MIN..first_ephemeral } else { PORT_MIN..u16::MAX };
    let candidates = (0..TRIES_MAX).map(|_| fastrand::u16(ports.clone()));
    let free = candidates
        .filter(|port| Some(*port) != besides)
        .find(|&port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok());
    free.ok_or_else(|| io::Error::new(io::ErrorKind::AddrInUse, "no port of 127.0.0.1 is free"))
}

/// A word in braces that is no placeholder.
pub(crate) fn unknown_placeholder(text: &str) -> Option<&str> {
    let known = |name: &&str| NAMES.contains(name);
    let mut names = text.match_indices('{').filter_map(|(start, _)| {
        let end = start + text[start..].find('}')?;
        Some(&text[start..=end])
    });
    names.find(|name| !known(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_filled_and_others_are_found() {
        let place = Place::find(Path::new("run"), Path::new("bin/throng")).unwrap();
        assert_ne!(place.address.port(), place.admin_port);
        let port = place.address.port();
        assert_eq!(place.fill("ws://{host}:{port}/ws"), format!("ws://127.0.0.1:{port}/ws"));
        assert_eq!(place.fill("{throng} serve {socket}"), "bin/throng serve run/server.sock");
        assert_eq!(unknown_placeholder("ws://{host}:{port}/{room}"), Some("{room}"));
        assert_eq!(unknown_placeholder("http://{host}:{admin_port}/"), None);
    }
}
