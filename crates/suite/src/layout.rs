//! The names of what is in a shootout's own folder, beside a folder for each scenario.

/// The file of the suite, machine and entries.
pub(crate) const HEAD: &str = "shootout.json";
/// A line for each measurement.
pub(crate) const CELLS: &str = "cells.jsonl";
/// Results files that were packed.
pub(crate) const PACKED: &str = "results.jsonl.gz";
/// The tables.
pub(crate) const TABLES: &str = "report.md";
/// The file of known faults of a published record.
pub(crate) const NOTES: &str = "notes.md";
/// The page with all rankings.
pub const PAGE: &str = "report.html";

/// All of them: no scenario may be called so.
pub(crate) const FILES: [&str; 6] = [HEAD, CELLS, PACKED, TABLES, NOTES, PAGE];
