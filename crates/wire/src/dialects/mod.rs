//! The application protocols spoken over a WebSocket.

/// A dialect.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DialectId {
    /// wsdemo's: any message is echoed.
    Raw,
    /// websocket-bench's JSON: echo and broadcast.
    Json,
    /// websocket-bench's binary: echo and broadcast.
    Binary,
}

impl DialectId {
    /// Every dialect.
    pub const ALL: &'static [DialectId] = &[DialectId::Raw, DialectId::Json, DialectId::Binary];

    /// The name on the command line and in results.
    pub fn name(self) -> &'static str {
        match self {
            DialectId::Raw => "raw",
            DialectId::Json => "json",
            DialectId::Binary => "binary",
        }
    }

    /// The dialect of that name or alias.
    pub fn from_name(name: &str) -> Option<DialectId> {
        DialectId::ALL.iter().copied().find(|d| d.name() == name)
    }

    /// Whether [`Kind::Broadcast`](crate::Kind::Broadcast) may be sent.
    pub fn can_broadcast(self) -> bool {
        self != DialectId::Raw
    }

    /// Whether the server acknowledges a broadcast with a result of its own, apart from the sender's copy.
    pub fn has_ack(self) -> bool {
        self != DialectId::Raw
    }
}
