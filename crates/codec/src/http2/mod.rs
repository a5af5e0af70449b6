//! HTTP/2 (RFC 9113) as far as requests and their answers need it, in both roles.
//!
//! ```text
//! frame        nine bytes and what follows: found in any portions, judged by what its header says
//! connection   what concerns all streams: settings, pings, the window, blocks in parts
//! credit       how much may be sent, and how much may still come in
//! head         what a block of fields says, judged as the head of a request or an answer
//! hpack        such blocks themselves (RFC 7541)
//! past         streams that are over, and which frames on them are errors
//! ```
//!
//! Streams are known to the users of a connection: the client's side has its requests or its tunnel, the
//! server's side its answers. Priorities (§5.3) and pushed answers (§8.4) are not there: the former are
//! deprecated, the latter are switched off.

pub mod connection;
pub mod credit;
pub mod frame;
pub mod head;
pub mod hpack;
pub mod past;
