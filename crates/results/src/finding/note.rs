//! Notes on a comparison.

use super::quantity::Span;
use super::table::findings;

findings! {
    /// Something to know before two sides are compared.
    Note:

    /// The runs are of different machines, versions or protocols.
    Differs "note.differs" {
        /// `CPU`, `kernel`, `version of throng` or `protocol`.
        what: String,
        /// The values, in order.
        values: String,
    } => "the {what} differs: {values}";
    /// The runs have different settings.
    CommandLines "note.command_lines" {
        /// Flags of A alone.
        only_a: Option<String>,
        /// Flags of B alone.
        only_b: Option<String>,
    } => "the command lines differ: {}", settings(&only_a, &only_b);
    /// Runs of a side failed at their load.
    LoadNotHeld "note.load_not_held" {
        /// `A` or `B`.
        side: String,
        /// Runs that failed.
        runs: u64,
        /// All runs of the side.
        of: u64,
        /// The failure of the first of them.
        failure: String,
    } => "{side}: {} failed, so its latencies are of what came: {failure}", runs.part_of(&of, "runs");
    /// Runs have caveats of their own.
    Caveats "note.caveats" {
        /// Runs that have some.
        runs: u64,
        /// All runs.
        of: u64,
    } => "caveats in {}: throng runs show ID lists them", runs.part_of(&of, "runs");
    /// Levels were left out, because one side alone has them.
    OneSide "note.one_side" {
        /// The levels.
        levels: u64,
    } => "left out: {}, which one side alone has", levels.of("level");
    /// There are too few runs to know how much runs of one server vary.
    FewRuns "note.few_runs" {
        /// Runs of the side that has fewer.
        runs: u64,
        /// Runs a side from which the variation is known.
        needed: u64,
    } => "{} a side cannot show how much runs of one server vary: take {needed} or more of each, in turns",
         runs.of("run");
    /// A run was named several times on a side.
    NamedAgain "note.named_again" {
        /// `A` or `B`.
        side: String,
        /// The run's id.
        run: String,
    } => "{side} names {run} more than once: it counts as one run";
}

/// The settings that each side has alone.
fn settings(only_a: &Span<'_, Option<String>>, only_b: &Span<'_, Option<String>>) -> String {
    let both = [only_a.behind("A has "), only_b.behind("B has ")];
    both.into_iter().filter(|side| !side.is_empty()).collect::<Vec<_>>().join(", ")
}
