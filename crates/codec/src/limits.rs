//! The bounds on what a peer may make us hold, with the precedents for their defaults.

use serde::{Deserialize, Serialize};

/// Bounds on what one connection accepts. A breach fails the connection; none of them is reserved in advance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one HTTP head, request or status line included. Node's `--max-http-header-size` is 16 KiB,
    /// nginx's `large_client_header_buffers` 4 × 8 KiB.
    pub head_bytes_max: usize,
    /// Header fields of one HTTP head. Apache's `LimitRequestFields` and hyper's default are 100.
    pub headers_max: usize,
    /// Bytes of one HTTP body. nginx's `client_max_body_size` is 1 MiB.
    pub body_bytes_max: u64,
    /// Payload bytes of one WebSocket frame. tungstenite's default is 16 MiB.
    pub frame_bytes_max: u64,
    /// Bytes of one WebSocket message, after inflation. Autobahn's largest is 16 MiB.
    pub message_bytes_max: usize,
    /// Frames of one WebSocket message. Autobahn 9.3.1 sends 4 MiB as 65,537 frames.
    pub fragments_max: u32,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            head_bytes_max: 16 << 10,
            headers_max: 100,
            body_bytes_max: 1 << 20,
            frame_bytes_max: 16 << 20,
            message_bytes_max: 16 << 20,
            fragments_max: 1 << 17,
        }
    }
}

/// How permessage-deflate (RFC 7692) is offered or accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeflateOptions {
    /// Compression level, 0–9. Broadcast servers commonly run 1.
    pub level: u8,
    /// Ask both sides to forget their window after each message (RFC 7692 §7.1.1), trading ratio for memory.
    pub no_context_takeover: bool,
}

impl DeflateOptions {
    /// Memory that each end of a connection keeps that has read and written something compressed, if it
    /// remembers that: a window to inflate with and one to deflate with, of 15 bits, as resident memory.
    /// Without context takeover it keeps nothing.
    pub const fn window_bytes(self) -> usize {
        if self.no_context_takeover { 0 } else { 333 << 10 }
    }
}

impl Default for DeflateOptions {
    fn default() -> DeflateOptions {
        DeflateOptions { level: 1, no_context_takeover: false }
    }
}
