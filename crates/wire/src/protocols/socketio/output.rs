//! The outlet of a session's packets, whatever carries them.

use std::sync::Arc;

use super::sid::SID_CHARS;
use crate::history::History;
use crate::room::Room;

/// An outlet of packets.
pub(crate) trait PacketOutput {
    /// A packet of text, in parts.
    fn text(&mut self, parts: &[&[u8]]);
    /// An attachment of the packet before.
    fn attachment(&mut self, bytes: &[u8]);
    /// An id for a socket.
    fn sid(&mut self) -> [u8; SID_CHARS];
    /// The history of broadcasts, if it is kept, and the time.
    fn history(&self) -> Option<(Arc<History>, u64)>;
    /// The room of this session in a namespace.
    fn room(&self, namespace: &[u8]) -> Room;
}
