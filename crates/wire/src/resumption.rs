//! How a client goes on with a session whose connection it has lost.

/// What it has to say for that: names and offsets in its protocol's own words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resumption {
    /// The server's name for the session.
    pub(crate) session: Vec<u8>,
    /// The last message that came; empty: none that could be named.
    pub(crate) offset: Vec<u8>,
    /// How far the client has come in a user's own app, in that app's words; empty: not at all.
    pub(crate) heard: String,
}

impl Resumption {
    /// Whether the protocol has something to go on with.
    pub(crate) fn is_of_protocol(&self) -> bool {
        !self.session.is_empty()
    }
}
