//! Will this machine hold this many clients? What is found is compared with what is needed; each check that
//! fails names the command that mends it.
//!
//! [`Facts`] are read in one place and judged by pure functions, one file for each family of checks.

mod cost;
mod facts;
mod files;
mod memory;
mod network;
mod pace;
mod print;
mod required;
mod row;

pub(crate) use cost::Cost;
pub(crate) use facts::Facts;
pub(crate) use print::{json, text};
pub(crate) use required::{Place, RequiredLoad, Sources};
pub(crate) use row::{Row, Verdict};

/// All checks.
pub(crate) fn rows(facts: &Facts, required: &RequiredLoad) -> Vec<Row> {
    [
        files::rows(facts, required),
        network::rows(facts, required),
        memory::rows(facts, required),
        pace::rows(facts, required),
    ]
    .concat()
}

#[cfg(test)]
mod tests;
