//! Copies due to clients while they were away, and their outcomes, for the page's charts.

use results::{Absences, Ages, Step};
use serde::Serialize;

use super::curve::{digits, ms};

/// Absences that began alike and lasted about as long. Shares are percent of the copies due.
#[derive(Serialize)]
pub(super) struct AbsencesData {
    ended_by: String,
    /// Seconds; without it, longer than any other.
    #[serde(skip_serializing_if = "Option::is_none")]
    up_to: Option<f64>,
    count: u64,
    due: u64,
    recovered: u64,
    /// The 95% interval of the recovered share.
    #[serde(skip_serializing_if = "Option::is_none")]
    range: Option<[f64; 2]>,
}

/// Copies whose messages were about as old when their receivers were back.
#[derive(Serialize)]
pub(super) struct AgesData {
    #[serde(skip_serializing_if = "Option::is_none")]
    up_to: Option<f64>,
    due: u64,
    recovered: u64,
}

/// Absences of a step in which something was due.
pub(super) fn absences(step: &Step) -> Vec<AbsencesData> {
    // Of nothing that was due, no share can have come.
    step.absences.iter().filter(|row| row.due > 0).map(row_of).collect()
}

/// By age.
pub(super) fn ages(step: &Step) -> Vec<AgesData> {
    let age = |&Ages { up_to_ns, due, recovered }| AgesData { up_to: up_to_ns.map(seconds), due, recovered };
    step.ages.iter().map(age).collect()
}

fn row_of(row: &Absences) -> AbsencesData {
    let interval = row.recovered().interval();
    AbsencesData {
        ended_by: row.ended_by.clone(),
        up_to: row.up_to_ns.map(seconds),
        count: row.count,
        due: row.due,
        recovered: row.recovered,
        range: interval.map(|interval| [interval.low, interval.high].map(|share| digits(100.0 * share))),
    }
}

fn seconds(ns: u64) -> f64 {
    ms(ns as f64) / 1e3
}
