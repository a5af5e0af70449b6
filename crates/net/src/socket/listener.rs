//! Listening sockets.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use rustix::net::{SocketAddrUnix, SocketFlags, accept_with, bind, sockopt};

use super::addr::Addr;
use super::stream::{Socket, connect};
use crate::limits::binds_any_address;

/// A socket that accepts connections. Dropping a unix one removes its file.
#[derive(Debug)]
pub struct Listener {
    socket: Socket,
    path: Option<PathBuf>,
}

/// Listens on `addr` with room for `backlog` connections that are not yet accepted (the kernel caps it at
/// [`somaxconn`](crate::limits::somaxconn)). With `reuseport`, several listeners, of this process or others
/// of the same user, share a TCP port and the kernel spreads connections over them.
///
/// IPv6 sockets take IPv6 only: `[::]` and `0.0.0.0` are two addresses. A unix socket that a dead process
/// left behind is replaced; one that answers is `AddrInUse`.
pub fn listen(addr: &Addr, backlog: u32, reuseport: bool) -> io::Result<Listener> {
    let listener = match addr {
        Addr::Inet(local) => Listener { socket: bind_tcp(local, reuseport)?, path: None },
        Addr::Unix(path) => Listener { socket: bind_unix(path)?, path: Some(path.clone()) },
    };
    rustix::net::listen(&listener.socket, backlog.try_into().unwrap_or(i32::MAX))?;
    Ok(listener)
}

/// A TCP port that is reserved for the listeners of other processes.
#[derive(Debug)]
pub struct Reservation {
    socket: Socket,
}

/// Keeps a free port without listening on it, so that processes of the same user can [`listen`] there with
/// `reuseport`. `AddrInUse` if another socket listens already, sharing or not. The kernel does not give the
/// port to sockets that ask for any port. A process that asks for this very one before the others listen can
/// still have it, and they then fail.
pub fn reserve(addr: &SocketAddr) -> io::Result<Reservation> {
    // A port that others share could be joined unawares: only one that can be had alone is free.
    let Addr::Inet(free) = bind_tcp(addr, false)?.local_addr()? else { unreachable!("a TCP socket") };
    Ok(Reservation { socket: bind_tcp(&free, true)? })
}

/// Checks that a server could listen on this address: `AddrInUse` if one does, `AddrNotAvailable` if this
/// machine does not have the address. Port 0 stands for any.
///
/// Listens nowhere, not for a moment: a child that was forked in that moment would keep the socket until its
/// exec, and take connections in the place of a server that is not there yet.
pub fn can_bind(addr: &SocketAddr) -> io::Result<()> {
    bind_tcp(addr, false).map(drop)
}

/// Returns whether connections can come from this address: false if this machine does not have it.
pub fn has_address(ip: IpAddr) -> bool {
    let bound = can_bind(&SocketAddr::new(ip, 0));
    bound.err().is_none_or(|error| error.kind() != io::ErrorKind::AddrNotAvailable)
}

/// Returns whether this machine is known to have the address. Where the kernel lets programs bind any
/// (`ip_nonlocal_bind`, ip-sysctl), as on machines with floating addresses, that is known of loopback only.
pub fn is_local(ip: IpAddr) -> bool {
    ip.is_loopback() || !binds_any_address(ip) && can_bind(&SocketAddr::new(ip, 0)).is_ok()
}

impl Reservation {
    /// The address with the reserved port.
    pub fn local_addr(&self) -> io::Result<Addr> {
        self.socket.local_addr()
    }
}

fn bind_tcp(local: &SocketAddr, reuseport: bool) -> io::Result<Socket> {
    let socket = Socket::tcp(local)?;
    // Connections of an earlier listener in TIME_WAIT would keep the port for a minute (socket(7)).
    sockopt::set_socket_reuseaddr(&socket, true)?;
    sockopt::set_socket_reuseport(&socket, reuseport)?;
    // Accepted sockets inherit it, which saves a system call each.
    sockopt::set_tcp_nodelay(&socket, true)?;
    if local.is_ipv6() {
        sockopt::set_ipv6_v6only(&socket, true)?;
    }
    bind(&socket, local)?;
    Ok(socket)
}

fn bind_unix(path: &Path) -> io::Result<Socket> {
    let socket = Socket::unix()?;
    let addr = SocketAddrUnix::new(path)?;
    match bind(&socket, &addr) {
        Err(rustix::io::Errno::ADDRINUSE) if is_abandoned(path) => {
            std::fs::remove_file(path)?;
            bind(&socket, &addr)?;
        }
        other => other?,
    }
    Ok(socket)
}

/// Returns whether `path` is a socket on which nothing listens. Anything else in the way is left alone:
/// connecting to a plain file is refused as well.
fn is_abandoned(path: &Path) -> bool {
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|file| file.file_type().is_socket());
    let refused = |error: io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
    // Without waiting: a server that is stopped, and whose queue is full, would be waited for without end.
    is_socket && connect(&Addr::Unix(path.into()), None).is_err_and(refused)
}

impl Listener {
    /// The listener that another process has made, and left open for this one: see
    /// [`inherited`](super::inherited). Its file is that process's.
    pub fn of_another(socket: Socket) -> Listener {
        Listener { socket, path: None }
    }

    /// Leaves the listener open in new processes, as [`Socket::leave_open_on_exec`] does.
    pub fn leave_open_on_exec(&self) -> io::Result<i32> {
        self.socket.leave_open_on_exec()
    }

    /// Accepts the next connection, as a non-blocking socket without delay (TCP_NODELAY). `WouldBlock` when
    /// there is none.
    pub fn accept(&self) -> io::Result<Socket> {
        let fd = accept_with(&self.socket, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC)?;
        Ok(Socket::from(fd))
    }

    /// The listener's address, with the port that the kernel chose if port 0 was requested.
    pub fn local_addr(&self) -> io::Result<Addr> {
        self.socket.local_addr()
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            let _ = std::fs::remove_file(path);
        }
    }
}
