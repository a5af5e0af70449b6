//! The two ends.

/// The ends of a WebSocket. Clients mask what they send and servers do not (RFC 6455 §5.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// The end that asked for the upgrade.
    Client,
    /// The end that granted it.
    Server,
}
