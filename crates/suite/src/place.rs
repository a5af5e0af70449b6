//! The surroundings of a target's run: the values of a manifest's placeholders.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::thread;

use net::socket::can_bind;
use wire::DialectId;

use crate::manifest::Target;

/// The first port that is tried; those below belong to well-known services.
const PORT_MIN: u16 = 10_240;

/// How many ports are tried.
const TRIES_MAX: u32 = 1_000;

/// The address and folders of a server.
#[derive(Clone, Debug)]
pub struct Place {
    /// The address where the server listens for the load.
    pub address: SocketAddr,
    /// A second port, for the server's own metrics.
    pub admin_port: u16,
    /// A path for a unix socket, in a folder of its own.
    pub socket: PathBuf,
    /// The files of a TLS server's certificate and key.
    certificate: PathBuf,
    key: PathBuf,
    /// This program.
    throng: PathBuf,
    /// The number of CPUs that the server may use.
    cores: usize,
}

impl Place {
    /// Free ports of an address of this machine, and a path below `folder`, for a server on these CPUs, or on
    /// all that this process may use if there are none.
    ///
    /// # Errors
    /// No port is free, or the address is not this machine's.
    pub fn find(host: Ipv4Addr, folder: &Path, throng: &Path, cpus: &[usize]) -> io::Result<Place> {
        let port = free_port(host, None)?;
        Ok(Place {
            address: SocketAddr::from((host, port)),
            // Nothing listens on the first yet, so that it would be found free again.
            admin_port: free_port(host, Some(port))?,
            socket: folder.join("server.sock"),
            certificate: folder.join("server.pem"),
            key: folder.join("server.key"),
            throng: throng.to_owned(),
            cores: cores(cpus),
        })
    }

    /// On another machine, where it has no unix socket that could be reached.
    pub fn elsewhere(host: Ipv4Addr, port: u16, admin_port: u16) -> Place {
        let address = SocketAddr::from((host, port));
        let [socket, certificate, key, throng] = Default::default();
        Place { address, admin_port, socket, certificate, key, throng, cores: cores(&[]) }
    }

    /// Makes the certificate, signed by itself, of the server that is to be here, and its key.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn certify(&self) -> io::Result<()> {
        let names = vec![self.address.ip().to_string()];
        let made = rcgen::generate_simple_self_signed(names).map_err(io::Error::other)?;
        fs::write(&self.certificate, made.cert.pem())?;
        fs::write(&self.key, made.signing_key.serialize_pem())
    }

    /// The URL at which the target, being there, speaks a dialect.
    pub fn url(&self, target: &Target, dialect: DialectId) -> String {
        self.fill(target.endpoint(dialect))
    }

    /// The URL of the target's metrics there, if it has any.
    pub fn metrics_url(&self, target: &Target) -> Option<String> {
        target.metrics.as_ref().map(|url| self.fill(url))
    }

    /// The text with the values for its placeholders.
    pub fn fill(&self, text: &str) -> String {
        if !text.contains('{') {
            return text.to_owned();
        }
        text.replace("{host}", &self.address.ip().to_string())
            .replace("{port}", &self.address.port().to_string())
            .replace("{admin_port}", &self.admin_port.to_string())
            .replace("{socket}", &self.socket.to_string_lossy())
            .replace("{certificate}", &self.certificate.to_string_lossy())
            .replace("{key}", &self.key.to_string_lossy())
            .replace("{cores}", &self.cores.to_string())
            .replace("{throng}", &self.throng.to_string_lossy())
    }
}

/// The number of these CPUs, or of those of this process if there are none.
fn cores(cpus: &[usize]) -> usize {
    if cpus.is_empty() { thread::available_parallelism().map_or(1, usize::from) } else { cpus.len() }
}

/// A port on which nothing listens, and that no outgoing connection will be given: those come from the ephemeral range,
/// and a shootout opens them by the thousand.
fn free_port(host: Ipv4Addr, besides: Option<u16>) -> io::Result<u16> {
    let first_ephemeral = net::limits::port_range().map_or(32_768, |(first, _)| first);
    // Below the ephemeral ports, unless these leave hardly any.
    let ports =
        if first_ephemeral > PORT_MIN + 1_000 { PORT_MIN..first_ephemeral } else { PORT_MIN..u16::MAX };
    let candidates = (0..TRIES_MAX).map(|_| fastrand::u16(ports.clone()));
    let can_have = |port: u16| can_bind(&SocketAddr::from((host, port)));
    // An address that is not this machine's would fail a thousand times.
    can_have(0).map_err(|error| io::Error::new(error.kind(), format!("{host}: {error}")))?;
    let free = candidates.filter(|port| Some(*port) != besides).find(|&port| can_have(port).is_ok());
    free.ok_or_else(|| io::Error::new(io::ErrorKind::AddrInUse, format!("no port of {host} is free")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_filled() {
        let place =
            Place::find(Ipv4Addr::LOCALHOST, Path::new("run"), Path::new("bin/throng"), &[0, 2]).unwrap();
        assert_ne!(place.address.port(), place.admin_port);
        let port = place.address.port();
        assert_eq!(place.fill("ws://{host}:{port}/ws"), format!("ws://127.0.0.1:{port}/ws"));
        assert_eq!(place.fill("{throng} serve {socket}"), "bin/throng serve run/server.sock");
        assert_eq!(place.fill("{cores}"), "2", "those it is pinned to");
    }
}
