//! An address at which nothing answers, not even the kernel.

use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::net::{AddressFamily, SocketType, bind, getsockname, listen, socket};

/// A listener that never accepts and whose queue is full: the kernel ignores further connects.
pub struct BlackHole {
    pub address: SocketAddr,
    _listener: OwnedFd,
    _queued: Vec<TcpStream>,
}

impl BlackHole {
    pub fn open() -> BlackHole {
        let listener = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
        bind(&listener, &SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).unwrap();
        listen(&listener, 0).unwrap();
        let address = SocketAddr::try_from(getsockname(&listener).unwrap()).unwrap();
        // One fits into a queue of none; the second is there for kernels that are more generous.
        let connect = |_| TcpStream::connect_timeout(&address, Duration::from_millis(200));
        let queued = (0..4).map(connect).filter_map(Result::ok).collect();
        BlackHole { address, _listener: listener, _queued: queued }
    }
}
