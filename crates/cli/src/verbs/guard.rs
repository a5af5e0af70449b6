//! The hidden verb under which a server that throng has started runs: see [`suite::guard`].

use crate::exit::{Exit, Failure};

/// The verb.
pub(crate) const NAME: &str = "guard";

/// Runs the program that throng's brief names, and ends it when throng says so or is gone.
pub(crate) fn run() -> Result<Exit, Failure> {
    suite::guard::run().map_err(|error| Failure::could_not("guard the program", error))?;
    Ok(Exit::Fine)
}
