//! Whether a delta is still under way.

use std::sync::Arc;

/// That a delta is under way: its worker, who has one like it, is free to send the next when the delta and with it all
/// others are gone. In another process it is nobody's.
#[derive(Clone, Debug, Default)]
pub struct Ticket(Arc<()>);

impl Ticket {
    /// Whether there is no other like it.
    pub(crate) fn is_alone(&self) -> bool {
        Arc::strong_count(&self.0) == 1
    }
}
