//! `target.toml`: how a server under test is installed, built, started, found ready and stopped.
//!
//! The form is described, key by key, in docs/TARGET-MANIFEST.md.

mod file;
mod target;
#[cfg(test)]
mod tests;
mod values;

pub use file::{CONTROL_NAME, FILE_NAME, REFERENCE_NAME, Readers};
pub use target::{Ability, Probe, Ready, Requirement, Step, Stop, Target, Version};
pub(crate) use values::{dialect, flag_value, folder_name, time};
