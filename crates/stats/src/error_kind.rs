//! Kinds of errors by their names in files. A name that one crate counts and another reads is declared here.
//! What ends a connection has more names, those of `net::errors`, TLS and `wire::Failure`; verdicts read a few.

/// Declares the kinds of errors that do not end a connection, and their list: a new one needs a row alone.
macro_rules! not_of_connections {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        $($(#[$doc])* pub const $name: &str = $text;)*

        const NOT_OF_CONNECTIONS: &[&str] = &[$($name),*];
    };
}

not_of_connections! {
    /// A streamed answer that ended before it was whole.
    BROKE_OFF = "broke_off",
    /// A broadcast that no client got: its sender's connection ended under it.
    CUT_OFF = "cut_off",
    /// A client that was not let into a room.
    JOIN_REFUSED = "join_refused",
    /// A client without an answer to its request for a room.
    JOIN_UNANSWERED = "join_unanswered",
    /// A leak between rooms which the app's file confuses.
    JOINED_BY_COLUMN = "joined_by_column",
    /// A client that got none of the copies due to it, while others got theirs.
    NO_COPIES = "no_copies",
    /// A request that must not be sent again when its connection ends.
    NOT_RESENT = "not_resent",
    /// A message of another run of throng.
    OTHER_RUN = "other_run",
    /// Clients of one room that got different pushes of one number.
    PUSH_DIFFERS = "push_differs",
    /// A push without the value that the app's file names.
    PUSH_LACKS = "push_lacks",
    /// A push that there was no room to compare.
    PUSH_UNCOMPARED = "push_uncompared",
    /// A slow reader whose connection ended, as servers may do.
    SLOW_DROPPED = "slow_dropped",
    /// The end of a worker's numbers for broadcasts.
    STEP_FULL = "step_full",
    /// An attempt to connect that no server saw.
    UNACCEPTED = "unaccepted",
    /// A message that others got, and that nothing answered to its sender.
    UNHEEDED = "unheeded",
    /// A message of this run that no condition of the app's file fits.
    UNMATCHED = "unmatched",
    /// A message that is not throng's.
    UNRECOGNISED = "unrecognised",
    /// A message that was due while its client had no connection.
    UNSENT = "unsent",
}

/// The server closed the session in words of the protocol.
pub const CLOSED: &str = "closed";
/// A client that was not ready within the connect timeout.
pub const CONNECT_TIMEOUT: &str = "connect_timeout";
/// The server missed a heartbeat.
pub const HEARTBEAT_TIMEOUT: &str = "heartbeat_timeout";
/// The kernel forbids the connection, as firewalls before or on this machine have it do.
pub const DENIED: &str = "denied";
/// The peer closed the connection.
pub const EOF: &str = "eof";
/// An answer of HTTP that refused a handshake: its client gets no connection by it, and no wrong answer.
pub const HTTP_STATUS: &str = "http_status";
/// A stream of HTTP/2 that the server refused.
pub const HTTP2_REFUSED: &str = "http2_refused";
/// A stream of HTTP/2 that the server reset.
pub const HTTP2_RESET: &str = "http2_reset";
/// Nothing listens at the address.
pub const REFUSED: &str = "refused";
/// The peer reset the connection.
pub const RESET: &str = "reset";
/// TCP got no acknowledgement of what it sent.
pub const TIMED_OUT: &str = "timed_out";
/// The process has as many files open as it may.
pub const TOO_MANY_FILES: &str = "too_many_files";
/// No way leads to the host.
pub const UNREACHABLE: &str = "unreachable";

/// The prefix of kinds of errors of publishers.
pub const PUBLISHER_PREFIX: &str = "publish_";
/// The prefix of kinds of errors that are answers of HTTP, which came, with another status, body or coding
/// than expected (METHODOLOGY "Figures"); `wire::WrongResponse` names them.
const ANSWER_PREFIX: &str = "http_";
/// The prefix of kinds of errors that are messages which a rule of the app's file took for something else;
/// `wire::Rule` names them.
const TAKEN_PREFIX: &str = "taken_by_";

/// Kinds of errors that a lack of CPU may make.
const OF_TIME: &[&str] = &[
    BROKE_OFF,
    CLOSED,
    CONNECT_TIMEOUT,
    CUT_OFF,
    EOF,
    HEARTBEAT_TIMEOUT,
    JOIN_UNANSWERED,
    NO_COPIES,
    NOT_RESENT,
    RESET,
    SLOW_DROPPED,
    STEP_FULL,
    TIMED_OUT,
    UNACCEPTED,
    UNHEEDED,
    UNMATCHED,
    UNSENT,
];

/// The prefix of kinds of errors that are messages without a value that the app's file keeps of them.
pub const NOT_KEPT_PREFIX: &str = "not_kept_";

/// Returns whether errors of a kind are wrong answers.
pub fn is_of_answers(kind: &str) -> bool {
    kind.starts_with(ANSWER_PREFIX) && kind != HTTP_STATUS
}

/// Returns whether errors of a kind are those of publishers.
pub fn is_of_publishers(kind: &str) -> bool {
    kind.starts_with(PUBLISHER_PREFIX)
}

/// Returns whether errors of a kind are messages that a rule of the app's file took for something else.
pub fn is_taken(kind: &str) -> bool {
    kind.starts_with(TAKEN_PREFIX)
}

/// Returns whether errors of a kind are messages that the app's file mistakes or does not mention: nothing went
/// wrong with them.
pub fn is_of_file(kind: &str) -> bool {
    is_taken(kind) || [JOINED_BY_COLUMN, UNRECOGNISED].contains(&kind)
}

/// Returns whether a lack of CPU may make errors of a kind: something was waited for in vain, or a connection
/// ended, as servers end them whose heartbeats are late.
pub fn is_of_time(kind: &str) -> bool {
    OF_TIME.contains(&kind.strip_prefix(PUBLISHER_PREFIX).unwrap_or(kind))
}

/// Returns whether errors of a kind are of the connections of clients that count: not of an answer or of a
/// message, nor of those who publish, of visits, or of slow clients.
pub fn is_of_connections(kind: &str) -> bool {
    let is_of_others = is_taken(kind) || is_of_answers(kind) || is_of_publishers(kind);
    !is_of_others && !NOT_OF_CONNECTIONS.contains(&kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_connections_are_told_from_others() {
        for (kind, expected) in [
            (RESET, true),
            (HTTP_STATUS, true),
            ("tls_eof", true),
            ("http_4xx", false),
            ("publish_reset", false),
            ("taken_by_push", false),
            (UNMATCHED, false),
            (UNSENT, false),
        ] {
            assert_eq!(is_of_connections(kind), expected, "{kind}");
        }
        assert!(is_of_time("publish_reset") && !is_of_time("http_5xx"));
        assert!(NOT_OF_CONNECTIONS.is_sorted_by(|one, next| one < next), "each is there once");
    }
}
