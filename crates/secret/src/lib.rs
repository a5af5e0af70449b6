//! Credentials are private: a type for it that does not print itself, and the knowledge of where
//! such things stand on a command line, in a URL and in what a server says.
//!
//! Results, reports, logs and argument lists are shared. What goes into them is text; a [`Secret`] has to be
//! [revealed](Secret::reveal) to become one, which only those do that speak to the server. The crates of
//! results, reports and the store do not know the type at all (`tests/tidy`).

mod command;
mod mask;
mod names;
mod place;
mod scrub;
mod secret;

pub use command::Flags;
pub use mask::{KEY_BYTES, Mask, without_tags};
pub use names::is_secret;
pub use place::{Reference, in_place};
pub use scrub::{SCRUBBED_BYTES_MIN, scrub, scrub_bytes, scrub_random};
pub use secret::{HIDDEN, Secret};
