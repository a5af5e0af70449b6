//! Kinds of I/O errors: they are sorted into the kinds that reports count.

use std::fmt;
use std::io;

use rustix::io::Errno;

use crate::tls::TlsError;

/// The kind of an I/O failure. Small and `Copy`: a counter's index, not a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ErrorKind {
    /// No server listens there (ECONNREFUSED).
    Refused,
    /// The peer broke the connection off (ECONNRESET).
    Reset,
    /// Bytes were sent after the connection had ended (EPIPE).
    BrokenPipe,
    /// The kernel gave up waiting for the peer (ETIMEDOUT).
    TimedOut,
    /// There is no route to the host or network.
    Unreachable,
    /// The connection was aborted on this side (ECONNABORTED).
    Aborted,
    /// No port is free, or the source address is not this machine's (EADDRNOTAVAIL).
    AddrNotAvailable,
    /// Another server listens there; from a connect, another socket has this source address and port
    /// (EADDRINUSE).
    AddrInUse,
    /// The process or machine is out of file descriptors (EMFILE, ENFILE).
    TooManyFiles,
    /// The kernel is out of buffers or memory (ENOBUFS, ENOMEM).
    NoBuffers,
    /// The process lacks the permission (EACCES, EPERM).
    Denied,
    /// The unix socket or file does not exist (ENOENT).
    NotFound,
    /// The call would have to wait (EAGAIN): from a connect, to a unix socket whose backlog is full.
    WouldBlock,
    /// TLS failed.
    Tls(TlsError),
    /// Another errno; 0 if the error did not come from the kernel.
    Other(i32),
}

impl ErrorKind {
    /// Finds the kind of an error.
    pub fn of(error: &io::Error) -> ErrorKind {
        match error.raw_os_error() {
            Some(errno) => ErrorKind::of_errno(errno),
            None => match error.kind() {
                io::ErrorKind::NotFound => ErrorKind::NotFound,
                io::ErrorKind::TimedOut => ErrorKind::TimedOut,
                _ => ErrorKind::Other(0),
            },
        }
    }

    /// Finds the kind of an errno.
    pub fn of_errno(errno: i32) -> ErrorKind {
        match Errno::from_raw_os_error(errno) {
            Errno::CONNREFUSED => ErrorKind::Refused,
            Errno::CONNRESET => ErrorKind::Reset,
            Errno::PIPE => ErrorKind::BrokenPipe,
            Errno::TIMEDOUT => ErrorKind::TimedOut,
            Errno::HOSTUNREACH | Errno::NETUNREACH | Errno::HOSTDOWN | Errno::NETDOWN => {
                ErrorKind::Unreachable
            }
            Errno::CONNABORTED => ErrorKind::Aborted,
            Errno::ADDRNOTAVAIL => ErrorKind::AddrNotAvailable,
            Errno::ADDRINUSE => ErrorKind::AddrInUse,
            Errno::MFILE | Errno::NFILE => ErrorKind::TooManyFiles,
            Errno::NOBUFS | Errno::NOMEM => ErrorKind::NoBuffers,
            Errno::ACCESS | Errno::PERM => ErrorKind::Denied,
            Errno::NOENT => ErrorKind::NotFound,
            Errno::AGAIN => ErrorKind::WouldBlock,
            _ => ErrorKind::Other(errno),
        }
    }

    /// The name that reports use: lower case, words joined by `_`. Other errors are all `other`; the errno is
    /// in the [`Display`](fmt::Display) form.
    pub fn name(self) -> &'static str {
        match self {
            ErrorKind::Refused => "refused",
            ErrorKind::Reset => "reset",
            ErrorKind::BrokenPipe => "broken_pipe",
            ErrorKind::TimedOut => "timed_out",
            ErrorKind::Unreachable => "unreachable",
            ErrorKind::Aborted => "aborted",
            ErrorKind::AddrNotAvailable => "address_not_available",
            ErrorKind::AddrInUse => "address_in_use",
            ErrorKind::TooManyFiles => "too_many_files",
            ErrorKind::NoBuffers => "no_buffers",
            ErrorKind::Denied => "denied",
            ErrorKind::NotFound => "not_found",
            ErrorKind::WouldBlock => "would_block",
            ErrorKind::Tls(error) => error.name(),
            ErrorKind::Other(_) => "other",
        }
    }

    /// Returns whether this machine, not the server, is at fault: such errors make a result untrustworthy.
    pub fn is_local(self) -> bool {
        matches!(
            self,
            ErrorKind::AddrNotAvailable
                | ErrorKind::AddrInUse
                | ErrorKind::TooManyFiles
                | ErrorKind::NoBuffers
        )
    }

    /// The user's remedy, as a sentence, if there is one.
    pub fn remedy(self) -> Option<&'static str> {
        match self {
            ErrorKind::Refused => Some("check that the server runs and listens on this address and port"),
            ErrorKind::AddrNotAvailable => Some(
                "all local ports to this server are in use: widen net.ipv4.ip_local_port_range, or spread the \
                 clients over more source addresses with --local-addr, each of which the machine must have",
            ),
            ErrorKind::AddrInUse => {
                Some("stop the process that has this address and port, or choose another")
            }
            ErrorKind::TooManyFiles => {
                Some("raise the limit on open files: `ulimit -n` for the user, fs.file-max for the machine")
            }
            ErrorKind::NoBuffers => {
                Some("the kernel is out of socket memory: raise net.ipv4.tcp_mem, or use fewer clients")
            }
            ErrorKind::Unreachable => Some("check the address and this machine's routes"),
            ErrorKind::Denied => Some("check the permissions of the socket, or use a port above 1023"),
            ErrorKind::NotFound => Some("check the path of the unix socket"),
            ErrorKind::Tls(error) => error.remedy(),
            _ => None,
        }
    }
}

/// The system's message, and the user's remedy. An error that is not the kernel's has none: its kind says
/// nothing of a socket.
pub fn told(error: &io::Error) -> String {
    let remedy = match kind_of_kernel(error) {
        // What starts or works never waits for a socket: there is no room for another thread or process.
        Some(ErrorKind::WouldBlock) => Some(
            "a limit on threads (`ulimit -u`, a container's pids) or on memory (`ulimit -v`) is reached: raise it",
        ),
        kind => kind.and_then(ErrorKind::remedy),
    };
    with_remedy(error, remedy)
}

/// The error of a listener, behind its address and with the user's remedy.
pub fn listen_error(addr: &impl fmt::Display, error: &io::Error) -> io::Error {
    let remedy = match kind_of_kernel(error) {
        // Only a connect runs out of ports.
        Some(ErrorKind::AddrNotAvailable) => {
            Some("this machine does not have the address: `ip address` lists those it has; 0.0.0.0 is all")
        }
        kind => kind.and_then(ErrorKind::remedy),
    };
    io::Error::new(error.kind(), format!("{addr}: {}", with_remedy(error, remedy)))
}

fn kind_of_kernel(error: &io::Error) -> Option<ErrorKind> {
    error.raw_os_error().map(ErrorKind::of_errno)
}

fn with_remedy(error: &io::Error, remedy: Option<&str>) -> String {
    match remedy {
        Some(remedy) => format!("{error}; {remedy}"),
        None => error.to_string(),
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ErrorKind::Refused => "connection refused",
            ErrorKind::Reset => "connection reset",
            ErrorKind::BrokenPipe => "the other end is gone",
            ErrorKind::TimedOut => "connection timed out",
            ErrorKind::Unreachable => "host or network unreachable",
            ErrorKind::Aborted => "connection aborted",
            ErrorKind::AddrNotAvailable => "no local port is free",
            ErrorKind::AddrInUse => "address in use",
            ErrorKind::TooManyFiles => "too many open files",
            ErrorKind::NoBuffers => "no memory for buffers",
            ErrorKind::Denied => "permission denied",
            ErrorKind::NotFound => "no such file",
            ErrorKind::WouldBlock => "not ready",
            ErrorKind::Tls(error) => return error.fmt(f),
            ErrorKind::Other(0) => "the system does not say why",
            ErrorKind::Other(errno) => return write!(f, "{}", io::Error::from_raw_os_error(*errno)),
        })
    }
}

impl From<TlsError> for ErrorKind {
    fn from(error: TlsError) -> ErrorKind {
        ErrorKind::Tls(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorts_what_the_kernel_says() {
        let kind = |errno| ErrorKind::of(&io::Error::from_raw_os_error(errno));
        assert_eq!(kind(libc::ECONNREFUSED), ErrorKind::Refused);
        assert_eq!(kind(libc::EMFILE), ErrorKind::TooManyFiles);
        assert_eq!(kind(libc::ENETUNREACH), ErrorKind::Unreachable);
        assert_eq!(kind(libc::EXDEV), ErrorKind::Other(libc::EXDEV));
        assert_eq!(ErrorKind::of(&io::Error::other("x")), ErrorKind::Other(0));
    }

    #[test]
    fn local_errors_have_a_remedy() {
        for errno in [libc::EMFILE, libc::EADDRNOTAVAIL, libc::EADDRINUSE, libc::ENOBUFS] {
            let kind = ErrorKind::of_errno(errno);
            assert!(kind.is_local() && kind.remedy().is_some(), "{kind}");
        }
        assert!(!ErrorKind::Reset.is_local());
        let full = told(&io::Error::from_raw_os_error(libc::EMFILE));
        assert!(full.starts_with("Too many open files") && full.contains("; raise"), "{full}");
        assert!(told(&io::Error::from_raw_os_error(libc::EAGAIN)).contains("`ulimit -u`"));
        for kind in [io::ErrorKind::Other, io::ErrorKind::NotFound] {
            assert_eq!(told(&io::Error::new(kind, "x")), "x");
        }
    }

    #[test]
    fn listeners_have_remedies_of_their_own() {
        for (errno, kind, remedy) in [
            (libc::EADDRINUSE, io::ErrorKind::AddrInUse, "; stop"),
            (libc::EADDRNOTAVAIL, io::ErrorKind::AddrNotAvailable, "`ip address`"),
        ] {
            let error = listen_error(&"here", &io::Error::from_raw_os_error(errno));
            assert_eq!(error.kind(), kind);
            let text = error.to_string();
            assert!(text.starts_with("here: ") && text.contains(remedy), "{text}");
            assert!(!text.contains("--local-addr"), "{text}");
        }
    }

    #[test]
    fn other_errors_show_the_errno() {
        assert_eq!(ErrorKind::Other(libc::EXDEV).name(), "other");
        assert!(ErrorKind::Other(libc::EXDEV).to_string().contains("os error 18"));
    }
}
