//! The account of round trips, in the file. Shares by owner are made of the rest, and written for who reads the file.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use stats::LatencyParts;

use super::mirror::{mirror, ms_from_ns, ns_from_ms, rounded, seconds};
use crate::spent::TimeSpent;
use crate::step::Step;
use crate::verdict::{Owner, Owners};

mirror!(FileSpent of LatencyParts {
    messages: u64,
    #[serde(rename = "unsent_s", with = "seconds")]
    unsent_ns: u64,
    #[serde(rename = "service_s", with = "seconds")]
    service_ns: u64,
    #[serde(rename = "unanswered_s", with = "seconds")]
    unanswered_ns: u64,
    #[serde(rename = "turn_s", with = "seconds", default)]
    turn_ns: u64,
    #[serde(rename = "stamped_s", with = "seconds")]
    stamped_ns: u64,
    #[serde(rename = "handling_s", with = "seconds")]
    handling_ns: u64,
});

/// The parts of some round trips, and whom they belong to.
#[derive(Debug, Serialize, Deserialize)]
struct FilePart {
    #[serde(flatten)]
    spent: FileSpent,
    #[serde(skip_deserializing)]
    owners_percent: BTreeMap<&'static str, f64>,
}

/// The account of a step.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct FileAccount {
    waited_percent: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    outstanding_percent: Option<f64>,
    tail_from_ms: f64,
    tail_quantile: f64,
    all: FilePart,
    tail: FilePart,
}

impl FileAccount {
    pub(super) fn of(step: &Step) -> Option<Self> {
        let spent = step.spent.as_ref()?;
        let part = |of: &LatencyParts, owners: Option<Owners>| FilePart {
            spent: FileSpent::from(of),
            owners_percent: by_key(owners),
        };
        Some(FileAccount {
            waited_percent: rounded(spent.waited_percent)?,
            outstanding_percent: spent.outstanding_percent.and_then(rounded),
            tail_from_ms: ms_from_ns(spent.tail_from_ns as f64),
            tail_quantile: spent.tail_quantile,
            all: part(&spent.all, Owners::of_all(step)),
            tail: part(&spent.tail, Owners::of_tail(step)),
        })
    }
}

/// Shares by the names of their owners.
pub(super) fn by_key(owners: Option<Owners>) -> BTreeMap<&'static str, f64> {
    let named = |(owner, percent): (Owner, f64)| Some((owner.key(), rounded(percent)?));
    owners.unwrap_or_default().0.into_iter().filter_map(named).collect()
}

impl From<FileAccount> for TimeSpent {
    fn from(file: FileAccount) -> Self {
        TimeSpent {
            all: file.all.spent.into(),
            tail: file.tail.spent.into(),
            tail_from_ns: ns_from_ms(file.tail_from_ms),
            tail_quantile: file.tail_quantile,
            waited_percent: file.waited_percent,
            outstanding_percent: file.outstanding_percent,
            ..TimeSpent::default()
        }
    }
}
