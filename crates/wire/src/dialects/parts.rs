//! What a dialect encodes once for all clients of a run.

use super::custom::compiled::Compiled;
use crate::event::Kind;

/// What a dialect encodes once for all clients of a run.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    /// What a client says to become usable or to stay so, message by message.
    pub(crate) opening: Vec<Vec<u8>>,
    /// What every message starts with.
    pub(crate) start: Vec<u8>,
    /// A message up to what varies: of an echo and of a broadcast.
    pub(crate) heads: [Vec<u8>; 2],
    /// What every message ends with, after its stamp.
    pub(crate) tail: Vec<u8>,
    /// What follows the stamp when a message comes back.
    pub(crate) returned: Vec<u8>,
    /// What a message usually starts with when it comes back.
    pub(crate) usual: Vec<u8>,
    /// The user's own dialect, ready for use.
    pub(crate) custom: Option<Box<Compiled>>,
}

impl Parts {
    /// A message up to what varies.
    #[inline]
    pub(crate) fn head(&self, kind: Kind) -> &[u8] {
        match kind {
            Kind::Echo => &self.heads[0],
            Kind::Broadcast => &self.heads[1],
        }
    }
}
