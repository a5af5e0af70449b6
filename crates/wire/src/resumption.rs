//! How a client goes on with a session whose connection it has lost.

use app::template::Values;
use codec::http::cookies::Cookies;

/// The state to resume from: names and offsets in its protocol's own words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resumption {
    /// The server's name for the session.
    pub(crate) session: Vec<u8>,
    /// The last message that came; empty: none that could be named.
    pub(crate) offset: Vec<u8>,
    /// How far the client has come, where its messages are of streams of their own.
    pub(crate) positions: Vec<Position>,
    /// The second of the wall clock at which the server was last known to be there; 0 if that is not needed.
    pub(crate) alive_s: u64,
    /// How far the client has come in a user's own app, in that app's words.
    pub(crate) heard: Values,
    /// Cookies that the server has set, for the client's next session, even a new one.
    pub(crate) cookies: Cookies,
}

/// How far a client has come in a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    /// The client's subscription that it came by.
    pub(crate) subscription: usize,
    /// The stream's name, and the name of its epoch, in which messages are numbered.
    pub(crate) stream: Vec<u8>,
    pub(crate) epoch: Vec<u8>,
    /// The number of the last message.
    pub(crate) offset: u64,
}

/// A client's place among the messages that it has received, the same for all clients at that message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    offset: Vec<u8>,
    positions: Vec<Position>,
}

impl Resumption {
    /// The place of the last message; `None`: no message has come that could be named.
    pub fn place(&self) -> Option<Place> {
        let Resumption { offset, positions, .. } = self;
        let is_named = !offset.is_empty() || !positions.is_empty();
        is_named.then(|| Place { offset: offset.clone(), positions: positions.clone() })
    }

    /// Returns whether the protocol has something to go on with.
    pub(crate) fn is_of_protocol(&self) -> bool {
        !self.session.is_empty() || !self.offset.is_empty() || self.alive_s > 0
    }
}
