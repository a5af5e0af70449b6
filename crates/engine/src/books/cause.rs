//! Why a client was lost, or never came to be: the kinds under which results count errors.

use std::fmt;

use codec::Error;
use net::errors::ErrorKind;
use net::tls::TlsError;
use stats::error_kind;
use wire::{Failure, Rejection};

/// Why a client has no connection (any more).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// The kernel said so.
    Net(ErrorKind),
    /// TLS failed.
    Tls(TlsError),
    /// The server broke a protocol, or closed in the middle of it.
    Wire(Failure),
    /// The dialect refused the client.
    Rejected(Rejection),
    /// The server closed the session with this code.
    Closed(u16),
    /// Not usable within the connect timeout.
    ConnectTimeout,
    /// The server takes what it is sent so slowly that our bounded buffer for it is full.
    Unread,
}

impl Cause {
    /// The kind's name in results.
    pub(crate) fn kind(self) -> &'static str {
        match self {
            Self::Net(kind) => kind.name(),
            Self::Tls(error) => error.name(),
            Self::Wire(failure) => failure.name(),
            Self::Rejected(rejection) => rejection.name(),
            Self::Closed(_) => error_kind::CLOSED,
            Self::ConnectTimeout => error_kind::CONNECT_TIMEOUT,
            Self::Unread => "unread",
        }
    }

    /// Returns whether the server said in words of a protocol that this is the end.
    pub(crate) fn is_said(self) -> bool {
        matches!(self, Self::Closed(_) | Self::Rejected(_) | Self::Wire(Failure::Codec(Error::HttpStatus(_))))
    }

    /// Returns whether this machine, not the server, is at fault.
    pub(crate) fn is_local(self) -> bool {
        matches!(self, Self::Net(kind) if kind.is_local())
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Net(kind) => with_remedy(f, &kind, kind.remedy()),
            Self::Tls(error) => with_remedy(f, &error, error.remedy()),
            Self::Wire(failure) => write!(f, "{failure}"),
            Self::Rejected(rejection) => write!(f, "{rejection}"),
            Self::Closed(code) => write!(f, "the server closed the session with code {code}"),
            Self::ConnectTimeout => f.write_str("not ready within the connect timeout"),
            Self::Unread => f.write_str("the server does not take what it is sent"),
        }
    }
}

fn with_remedy(f: &mut fmt::Formatter<'_>, what: &dyn fmt::Display, remedy: Option<&str>) -> fmt::Result {
    write!(f, "{what}")?;
    remedy.map_or(Ok(()), |remedy| write!(f, "; {remedy}"))
}

#[cfg(test)]
mod tests {
    use codec::ErrorCode;
    use wire::{Rule, WrongResponse};

    use super::*;

    #[test]
    fn kinds_that_verdicts_read_are_counted() {
        for (cause, expected) in [
            (Cause::Net(ErrorKind::Denied), error_kind::DENIED),
            (Cause::Net(ErrorKind::Reset), error_kind::RESET),
            (Cause::Net(ErrorKind::TimedOut), error_kind::TIMED_OUT),
            (Cause::Net(ErrorKind::TooManyFiles), error_kind::TOO_MANY_FILES),
            (Cause::Net(ErrorKind::Unreachable), error_kind::UNREACHABLE),
            (Cause::Wire(Failure::Closed(1000)), error_kind::CLOSED),
            (Cause::Wire(Failure::Eof), error_kind::EOF),
            (Cause::Wire(Failure::Codec(Error::HttpStatus(403))), error_kind::HTTP_STATUS),
            (Cause::Wire(Failure::Reset(ErrorCode::RefusedStream)), error_kind::HTTP2_REFUSED),
            (Cause::Wire(Failure::Reset(ErrorCode::Cancel)), error_kind::HTTP2_RESET),
        ] {
            assert_eq!(cause.kind(), expected);
            assert!(error_kind::is_of_connections(expected), "{expected}");
        }
        assert!(error_kind::is_of_answers(WrongResponse::Body.name()));
        assert!(error_kind::is_taken(Rule::Ignore.name()));
    }
}
