//! What broadcasts are to others than the worker that makes them.

use std::sync::Arc;

use wire::Room;

/// The broadcasts of one turn of one worker, for the members of all others.
#[derive(Debug, Clone)]
pub(crate) struct Parcel {
    pub(crate) room: Room,
    /// Frames in `frames`.
    pub(crate) messages: u32,
    /// Encoded frames, end to end.
    pub(crate) frames: Arc<[u8]>,
}
