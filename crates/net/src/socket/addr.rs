//! Addresses to connect to or listen on.

use std::fmt;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;

use rustix::net::{SocketAddrAny, SocketAddrUnix};

/// The address of a stream socket.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Addr {
    /// TCP over IPv4 or IPv6.
    Inet(SocketAddr),
    /// A unix socket. The path is empty for the unnamed end of a connection.
    Unix(PathBuf),
}

impl fmt::Display for Addr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Addr::Inet(addr) => addr.fmt(f),
            Addr::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

impl From<SocketAddr> for Addr {
    fn from(addr: SocketAddr) -> Addr {
        Addr::Inet(addr)
    }
}

impl TryFrom<SocketAddrAny> for Addr {
    type Error = io::Error;

    fn try_from(any: SocketAddrAny) -> io::Result<Addr> {
        if let Ok(addr) = SocketAddr::try_from(any.clone()) {
            return Ok(Addr::Inet(addr));
        }
        let unix = SocketAddrUnix::try_from(any)?;
        let path = unix.path().map(|path| path.to_string_lossy().into_owned()).unwrap_or_default();
        Ok(Addr::Unix(path.into()))
    }
}

/// The addresses of `host` by the system's resolver, in its order of preference. Blocks: for set-up only.
///
/// `host` is a name, an IPv4 address, or an IPv6 address with or without brackets. Errors are the resolver's;
/// a name without addresses is [`io::ErrorKind::NotFound`].
pub fn resolve(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    let mut addrs: Vec<SocketAddr> = (bare, port).to_socket_addrs()?.collect();
    addrs.dedup();
    if addrs.is_empty() {
        return Err(io::Error::new(io::ErrorKind::NotFound, format!("{host} has no address")));
    }
    Ok(addrs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn displays_as_one_writes_it() {
        assert_eq!(Addr::Inet("[::1]:80".parse().unwrap()).to_string(), "[::1]:80");
        assert_eq!(Addr::Unix("/run/x.sock".into()).to_string(), "unix:/run/x.sock");
    }

    #[test]
    fn resolves_addresses_and_names() {
        assert_eq!(resolve("127.0.0.1", 80).unwrap(), ["127.0.0.1:80".parse().unwrap()]);
        assert_eq!(resolve("[::1]", 80).unwrap(), ["[::1]:80".parse().unwrap()]);
        assert_eq!(resolve("::1", 80).unwrap(), ["[::1]:80".parse().unwrap()]);
        assert!(resolve("localhost", 1).unwrap().iter().all(|addr| addr.ip().is_loopback()));
        assert!(resolve("no-such-host.invalid", 80).is_err());
    }
}
