//! What a client needs to know of its app.

use memchr::memmem::Finder;

/// What an app says of the frames.
#[derive(Debug)]
pub(crate) struct Parts {
    /// What ends each record of a frame; `None`: a frame is one message.
    pub(super) separator: Option<Finder<'static>>,
}

impl Parts {
    pub(super) fn new(separator: &str) -> Parts {
        let is_there = !separator.is_empty();
        Parts { separator: is_there.then(|| Finder::new(separator).into_owned()) }
    }
}
