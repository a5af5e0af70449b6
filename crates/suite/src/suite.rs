//! A suite: scenarios, each a verb of throng with its flags, for all targets that can do it.
//!
//! The form is described in docs/SUITES.md.

mod file;
mod scenario;
mod shorten;
#[cfg(test)]
mod tests;

pub use file::FILE_BYTES_MAX;
pub use scenario::{CheckFlags, FlagMistake, Published, Scenario, Suite};
pub use shorten::Shortened;

/// The suite that runs when none is named.
pub const QUICK: &str = include_str!("../carried/quick.toml");
