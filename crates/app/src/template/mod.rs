//! Messages with holes: literals, and what stands between them, put together once and written for each
//! message.
//!
//! An app's message becomes a template, and a protocol puts its envelope around it: literals that meet become
//! one. In a user's own text a hole is a lower-case name in braces, as `{id}`. Braces around anything else
//! are text, so that JSON needs no escapes.

mod compiled;
mod fields;
mod filling;
mod functions;
mod kept;
mod known;
mod md5;
mod names;
mod parse;
mod pieces;
mod quoting;
mod table;
pub mod uuid;

pub use compiled::CompiledTemplate;
pub use filling::{ClientContext, Filling, Mark, PersonData};
pub use kept::{Kept, Values};
pub use names::Names;
pub use parse::{BadTemplate, Purpose, placeholders};
pub use pieces::{KeyForm, Piece, Template};
pub use quoting::Quoting;
pub use table::Table;
