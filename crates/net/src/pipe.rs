//! Pipes whose reader never waits.

use std::io::{self, PipeReader, PipeWriter};

/// A pipe; reading what is not there yet is [`WouldBlock`](io::ErrorKind::WouldBlock). Whoever writes may wait.
pub fn nonblocking() -> io::Result<(PipeReader, PipeWriter)> {
    let (reader, writer) = io::pipe()?;
    rustix::io::ioctl_fionbio(&reader, true)?;
    Ok((reader, writer))
}
