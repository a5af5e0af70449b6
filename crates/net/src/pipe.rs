//! Pipes, and other files with a reader at the other end, so that writer and reader need not wait for each
//! other.

use std::fs::OpenOptions;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::sys;

/// The number of bytes that a pipe takes without waiting once it takes anything: it has a free page then
/// (pipe(7), PIPE_BUF).
const AT_ONCE_BYTES: usize = 4096;
/// The time between two checks of the pipe for a reader.
const LOOK: Duration = Duration::from_millis(20);

/// Returns whether standard output was closed when this process began, as by `>&-` in a shell. Rust's runtime
/// opens /dev/null in its place before `main`, so that whatever is written seems to arrive.
pub fn stdout_was_closed() -> bool {
    sys::stdout_was_closed()
}

/// Writes the bytes that the reader takes, and returns their number. Ends early when the reader has taken
/// nothing for this long. (A file on a disk takes everything, however long the disk may take.)
///
/// # Errors
/// The reader is gone, or the disk is full.
pub fn write_within(to: impl AsFd, bytes: &[u8], within: Duration) -> io::Result<usize> {
    let patience = Timespec::try_from(within).unwrap_or(Timespec { tv_sec: i64::MAX, tv_nsec: 0 });
    let mut written = 0;
    while written < bytes.len() {
        match poll(&mut [PollFd::new(&to, PollFlags::OUT)], Some(&patience)) {
            Ok(0) => break,
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        }
        // The descriptor may be blocking, and stays as the user's shell has made it: a longer write could
        // wait in the kernel beyond the deadline.
        let end = bytes.len().min(written + AT_ONCE_BYTES);
        match rustix::io::write(&to, &bytes[written..end]) {
            Ok(count) => written += count,
            Err(Errno::INTR) => {}
            // Another process shares the pipe and has been faster.
            Err(Errno::AGAIN) => break,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(written)
}

/// Opens a named pipe to write to it, once a reader has opened it; `None` if no reader has within this time,
/// or before `is_over` shows that the pipe is no longer needed.
///
/// # Errors
/// It cannot be opened.
pub fn open_named(path: &Path, within: Duration, is_over: impl Fn() -> bool) -> io::Result<Option<OwnedFd>> {
    let until = Instant::now() + within;
    let nonblocking = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    loop {
        match OpenOptions::new().write(true).custom_flags(nonblocking).open(path) {
            Ok(file) => {
                // Non-blocking only for the open, which otherwise waits for a reader (fifo(7)).
                rustix::io::ioctl_fionbio(&file, false)?;
                return Ok(Some(file.into()));
            }
            Err(error) if error.raw_os_error() != Some(Errno::NXIO.raw_os_error()) => return Err(error),
            Err(_) if Instant::now() >= until || is_over() => return Ok(None),
            Err(_) => thread::sleep(LOOK),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn stopped_readers_are_awaited_for_bounded_time() {
        let (mut reader, writer) = io::pipe().unwrap();
        let text = [b'x'; 1 << 20];
        let begun = Instant::now();
        let written = write_within(&writer, &text, Duration::from_millis(100)).unwrap();
        assert!((1..text.len()).contains(&written), "{written}");
        assert!(begun.elapsed() >= Duration::from_millis(100) && begun.elapsed() < Duration::from_secs(10));
        assert_eq!(write_within(&writer, b"x", Duration::ZERO).unwrap(), 0);
        let mut bytes = vec![0; written];
        reader.read_exact(&mut bytes).unwrap();
        assert_eq!(write_within(&writer, b"xy", Duration::ZERO).unwrap(), 2);
        drop(reader);
        let error = write_within(&writer, b"x", Duration::ZERO).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }

    #[test]
    fn named_pipes_wait_for_readers_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR)
            .unwrap();
        let within = Duration::from_millis(50);
        assert!(open_named(&path, within, || false).unwrap().is_none());
        assert!(open_named(&path, Duration::MAX / 4, || true).unwrap().is_none());
        let reader = thread::spawn({
            let path = path.clone();
            move || std::fs::read_to_string(path).unwrap()
        });
        let writer = open_named(&path, Duration::from_secs(10), || false).unwrap().expect("it is read");
        assert_eq!(write_within(&writer, b"hi", Duration::ZERO).unwrap(), 2);
        drop(writer);
        assert_eq!(reader.join().unwrap(), "hi");
    }
}
