//! HPACK (RFC 7541): lists of header fields, as small as what was said before lets them be.
//!
//! ```text
//! encoder   lists that are sent over and over: what a client asks, and what a server answers
//! decoder   whatever a peer says
//! table     what both ends know: the standard's own entries, and those that the peer has added
//! ```

mod decoder;
mod encoder;
mod huffman;
mod integer;
mod table;

pub use decoder::Decoder;
pub use encoder::{Blocks, Field, FieldValue, Indexing, TableMode, write_answer, write_once};
