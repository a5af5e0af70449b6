//! Reasons why no app file can be made of a recording.

/// A file that no app file can be made of.
#[derive(Debug, thiserror::Error)]
pub enum BadHar {
    /// It is no HAR.
    #[error("expected a HAR, as a browser's network panel exports it: {0}")]
    NotHar(String),
    /// It has no WebSocket.
    #[error(
        "it has no WebSocket; open the network panel first, then load the page, and export with sensitive data"
    )]
    NoSocket,
    /// Its WebSockets have no messages.
    #[error(
        "its WebSocket has no messages: Firefox and Safari export none; use throng record URL, or Chrome with the network panel open before the page connects"
    )]
    NoMessages,
    /// Its WebSockets have binary messages alone, so many, which a recording does not keep.
    #[error(
        "its {} binary messages cannot be read here; write the app's file by hand: throng docs app, Binary messages",
        .0
    )]
    OnlyBinary(usize),
}
