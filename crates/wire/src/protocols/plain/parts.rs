//! What a client needs to know of its app.

/// What an app says of the frames.
#[derive(Debug)]
pub(crate) struct Parts {
    /// One may hold several messages, a line each.
    pub(super) by_line: bool,
}
