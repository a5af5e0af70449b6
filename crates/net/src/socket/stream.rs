//! A stream socket: connecting, receiving, sending.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::io::{Errno, FdFlags};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, Shutdown, SocketAddrUnix, SocketFlags, SocketType, bind, sockopt,
};

use super::addr::Addr;
use crate::sys;

/// A connected (or connecting) stream socket.
#[derive(Debug)]
pub struct Socket {
    fd: OwnedFd,
}

/// Starts a connection to `addr`, from the address `local` if given (its port is then chosen at connect time,
/// so that one source address serves as many connections as there are ports *per destination*:
/// `IP_BIND_ADDRESS_NO_PORT`).
///
/// Returns at once; the socket turns writable when the connection stands or has failed, and
/// [`take_error`](Socket::take_error) tells which. A refusal that is known at once is returned here. A unix
/// socket whose backlog is full gives [`io::ErrorKind::WouldBlock`] and must be tried again: the kernel has
/// no pending state for it.
pub fn connect(addr: &Addr, local: Option<IpAddr>) -> io::Result<Socket> {
    connect_with(addr, local, None)
}

/// Starts a connection as [`connect`] does, with a bound on the kernel's receive buffer that the peer learns
/// from the first packet on.
pub fn connect_narrow(addr: &Addr, local: Option<IpAddr>, recv_bytes: usize) -> io::Result<Socket> {
    connect_with(addr, local, Some(recv_bytes))
}

fn connect_with(addr: &Addr, local: Option<IpAddr>, recv_bytes: Option<usize>) -> io::Result<Socket> {
    let narrowed = |socket: &Socket| recv_bytes.map_or(Ok(()), |bytes| socket.set_recv_buffer_bytes(bytes));
    let result = match addr {
        Addr::Inet(remote) => {
            let socket = Socket::tcp(remote)?;
            sockopt::set_tcp_nodelay(&socket.fd, true)?;
            // Before the connect: the window's scale is told with the SYN and cannot change later (tcp(7),
            // RFC 7323 §2.2).
            narrowed(&socket)?;
            if let Some(ip) = local {
                sys::set_bind_address_no_port(socket.as_fd())?;
                bind(&socket.fd, &SocketAddr::new(ip, 0))?;
            }
            (rustix::net::connect(&socket.fd, remote), socket)
        }
        Addr::Unix(path) => {
            let socket = Socket::unix()?;
            narrowed(&socket)?;
            (rustix::net::connect(&socket.fd, &SocketAddrUnix::new(path)?), socket)
        }
    };
    match result {
        (Ok(()) | Err(Errno::INPROGRESS), socket) => Ok(socket),
        (Err(error), _) => Err(error.into()),
    }
}

impl Socket {
    pub(super) fn tcp(addr: &SocketAddr) -> io::Result<Socket> {
        let family = if addr.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        Socket::new(family)
    }

    pub(super) fn unix() -> io::Result<Socket> {
        Socket::new(AddressFamily::UNIX)
    }

    fn new(family: AddressFamily) -> io::Result<Socket> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        Ok(Socket { fd: rustix::net::socket_with(family, SocketType::STREAM, flags, None)? })
    }

    /// Reads what has arrived, at most `buffer.len()` bytes. `Ok(0)`: the peer has finished sending.
    pub fn recv(&self, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(rustix::net::recv(&self.fd, buffer, RecvFlags::empty())?.0)
    }

    /// Reads as [`recv`](Socket::recv) does, and gives the time when the kernel received the bytes (their
    /// last packet), in nanoseconds since the Unix epoch. The time is absent on unix sockets and unless
    /// [`enable_timestamps`](Socket::enable_timestamps) was called before the bytes arrived.
    pub fn recv_stamped(&self, buffer: &mut [u8]) -> io::Result<(usize, Option<u64>)> {
        sys::recv_stamped(self.as_fd(), buffer)
    }

    /// Hands bytes to the kernel, and returns the number that it took. Never raises SIGPIPE.
    pub fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        Ok(rustix::net::send(&self.fd, bytes, SendFlags::NOSIGNAL)?)
    }

    /// The pending error (the outcome of a failed connect), which is thereby cleared.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        Ok(sockopt::socket_error(&self.fd)?.err().map(io::Error::from))
    }

    /// Sends the end of the stream after the bytes sent so far; reading goes on.
    pub fn shutdown_write(&self) -> io::Result<()> {
        Ok(rustix::net::shutdown(&self.fd, Shutdown::Write)?)
    }

    /// Closes with a reset instead of an orderly end, which drops unsent bytes and leaves no TIME_WAIT
    /// behind.
    pub fn abort(self) {
        // Best effort: if lingering cannot be set, the drop closes in order, and that is all there is to do.
        let _ = sockopt::set_socket_linger(&self.fd, Some(std::time::Duration::ZERO));
    }

    /// Has the kernel drop every packet that comes for this socket, unseen and unacknowledged: to the peer,
    /// the link is as good as cut, and to this end nothing happens any more.
    pub fn drop_input(&self) -> io::Result<()> {
        sys::drop_input(self.as_fd())
    }

    /// Asks the kernel to stamp received packets (SO_TIMESTAMPNS), for
    /// [`recv_stamped`](Socket::recv_stamped). Costs a little per packet.
    pub fn enable_timestamps(&self) -> io::Result<()> {
        sys::enable_timestamps(self.as_fd())
    }

    /// The number of bytes sent over TCP that have not arrived at the peer's kernel, as far as this end
    /// knows.
    pub fn unacknowledged_bytes(&self) -> io::Result<u32> {
        sys::unacknowledged_bytes(self.as_fd())
    }

    /// How long ago this end last sent something, in milliseconds, as the kernel counts them. Fails if the
    /// socket is not a TCP socket.
    pub fn silent_for_ms(&self) -> io::Result<u32> {
        sys::silent_for_ms(self.as_fd())
    }

    /// How long ago the last bytes arrived, read or not, in milliseconds as the kernel counts them. Fails if
    /// the socket is not a TCP socket.
    pub fn heard_before_ms(&self) -> io::Result<u32> {
        sys::heard_before_ms(self.as_fd())
    }

    /// Bounds the kernel's receive buffer, in bytes (the kernel doubles it for its own overhead).
    pub fn set_recv_buffer_bytes(&self, bytes: usize) -> io::Result<()> {
        Ok(sockopt::set_socket_recv_buffer_size(&self.fd, bytes)?)
    }

    /// Has the kernel acknowledge what it receives at once for a while, or later, as it does in the midst of
    /// a long talk: this exposes a sender that waits for acknowledgements (RFC 9293 §3.7.4, Nagle). Fails if
    /// the socket is not a TCP socket.
    pub fn acknowledge_at_once(&self, at_once: bool) -> io::Result<()> {
        Ok(sockopt::set_tcp_quickack(&self.fd, at_once)?)
    }

    /// Leaves this socket open in the processes that are started while it is open; they take it over with
    /// [`inherited`], by the number returned here.
    pub fn leave_open_on_exec(&self) -> io::Result<i32> {
        rustix::io::fcntl_setfd(&self.fd, FdFlags::empty())?;
        Ok(self.fd.as_raw_fd())
    }

    /// The address of this end.
    pub fn local_addr(&self) -> io::Result<Addr> {
        Addr::try_from(rustix::net::getsockname(&self.fd)?)
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl From<OwnedFd> for Socket {
    /// Takes over a descriptor, which must be a non-blocking stream socket.
    fn from(fd: OwnedFd) -> Socket {
        Socket { fd }
    }
}

/// Makes two connected unix sockets, non-blocking.
pub fn pair() -> io::Result<(Socket, Socket)> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let (one, other) = rustix::net::socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    Ok((Socket { fd: one }, Socket { fd: other }))
}

/// Takes over a socket that the parent process left open for this one with [`Socket::leave_open_on_exec`], by
/// its number. Each can be taken once: it is closed on exec from then on, and that is an error here, like a
/// number that is no socket.
pub fn inherited(number: i32) -> io::Result<Socket> {
    let fd = sys::inherited_fd(number)?;
    sockopt::socket_type(&fd)?;
    Ok(Socket { fd })
}
