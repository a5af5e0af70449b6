//! Output while a run goes on: a reader that stops reading (`| less`) does not hold it up.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use net::pipe;

use crate::interrupts;

/// How often it is looked whether the user has had enough of waiting for a reader.
const LOOK: Duration = Duration::from_millis(100);

/// A file, a pipe or a terminal, and what its reader has not taken yet.
pub(crate) struct BufferedOutput {
    to: OwnedFd,
    behind: Vec<u8>,
}

impl BufferedOutput {
    /// Writes to this file.
    pub(crate) fn new(to: OwnedFd) -> BufferedOutput {
        BufferedOutput { to, behind: Vec::new() }
    }

    /// Writes to standard output.
    pub(crate) fn stdout() -> io::Result<BufferedOutput> {
        Ok(BufferedOutput::new(io::stdout().as_fd().try_clone_to_owned()?))
    }

    /// Writes what the reader takes now, and keeps the rest.
    pub(crate) fn write(&mut self, text: &[u8]) -> io::Result<()> {
        self.behind.extend_from_slice(text);
        // Not waited for: a pause here would be one in the measurement's progress.
        self.push(Duration::ZERO)
    }

    /// Waits for the reader to take the rest, as long as it takes something now and then. Keeps what it does
    /// not take.
    pub(crate) fn offer(&mut self, within: Duration) -> io::Result<()> {
        self.push(within)
    }

    /// Bytes that are kept.
    pub(crate) fn bytes_behind(&self) -> usize {
        self.behind.len()
    }

    /// Waits for the reader to take the rest, as long as it takes something now and then; whether it has all.
    /// Nothing more is kept.
    pub(crate) fn finish_within(&mut self, within: Duration) -> io::Result<bool> {
        let written = self.push(within);
        let is_whole = self.behind.is_empty();
        self.behind.clear();
        written.map(|()| is_whole)
    }

    /// Waits for the reader to take the rest, until the user interrupts that; whether it has all. Nothing
    /// more is kept.
    pub(crate) fn finish(&mut self) -> io::Result<bool> {
        let before = interrupts::count();
        while !self.behind.is_empty() && interrupts::count() == before {
            self.push(LOOK)?;
        }
        self.finish_within(Duration::ZERO)
    }

    fn push(&mut self, within: Duration) -> io::Result<()> {
        let written = pipe::write_within(&self.to, &self.behind, within)?;
        self.behind.drain(..written);
        Ok(())
    }
}
