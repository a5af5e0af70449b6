//! Will this machine hold this many clients? What is found is compared with what is needed; each check that fails names
//! the command that mends it.
//!
//! [`Facts`] are read in one place and judged by pure functions, one file for each family of checks.

mod ask;
mod cost;
mod facts;
mod files;
mod memory;
mod network;
mod pace;
mod print;
mod row;

pub(crate) use ask::{Ask, Place, Sources};
pub(crate) use cost::Cost;
pub(crate) use facts::Facts;
pub(crate) use print::{json, text};
pub(crate) use row::{Row, Verdict};

/// All checks.
pub(crate) fn rows(facts: &Facts, ask: &Ask) -> Vec<Row> {
    [files::rows(facts, ask), network::rows(facts, ask), memory::rows(facts, ask), pace::rows(facts, ask)]
        .concat()
}

#[cfg(test)]
mod tests;
