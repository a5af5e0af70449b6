//! Findings: what throng says of a step or a run, as a key, its numbers with units, and one sentence.
//!
//! Each finding is a row of a table: [`Cause`] (what held a step back), [`Caveat`] (what weakens its
//! metrics), [`Loss`] (what was lost, wrong or late) and [`Note`] (what to know of a comparison). The row is
//! the only place where its key and its wording stand. Files carry key and numbers beside the sentence;
//! text, pages, annotations and exporters print the sentence; tests compare the rest.

mod cause;
mod caveat;
mod loss;
mod measured;
mod note;
mod phrase;
pub mod quantity;
mod table;
#[cfg(test)]
mod tests;

pub use cause::Cause;
pub(crate) use caveat::agents;
pub use caveat::{Caveat, Place, RunCaveat};
pub use loss::Loss;
pub(crate) use loss::is_total;
pub(crate) use measured::Measured;
pub use note::Note;
pub use table::Finding;

/// The sentences of findings, with `separator` between them.
pub fn join(findings: &[impl Finding], separator: &str) -> String {
    findings.iter().map(ToString::to_string).collect::<Vec<_>>().join(separator)
}
