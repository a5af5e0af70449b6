//! Who listens there?

use std::io;

use crate::socket::Addr;

/// The pid of a process that listens on `addr`: the one with the lowest pid if several share the socket.
/// `None` if nobody does, or if it is a process of another user (whose descriptors are not ours to see).
///
/// A wildcard listener (`0.0.0.0`, `[::]`) counts for every address with its port.
pub fn pid_listening_on(addr: &Addr) -> io::Result<Option<u32>> {
    let _ = addr;
    unimplemented!()
}
