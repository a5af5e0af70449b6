//! In the file, what each kind of messages and the people of each role came to.

use std::collections::BTreeMap;

use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use stats::{Count, CountOf, Counts, Histogram};

use super::figure;
use crate::step::{RoleFigures, SayFigures};

/// One kind of messages.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct FileSay {
    name: String,
    room: String,
    counts: PartCounts,
    #[serde(default, with = "figure", skip_serializing_if = "Histogram::is_empty")]
    rtt: Histogram,
    #[serde(default, with = "figure", skip_serializing_if = "Histogram::is_empty")]
    delivery: Histogram,
}

impl From<&SayFigures> for FileSay {
    fn from(say: &SayFigures) -> Self {
        let SayFigures { name, room, counts, rtt, delivery } = say.clone();
        FileSay { name, room, counts: PartCounts(counts), rtt, delivery }
    }
}

impl From<FileSay> for SayFigures {
    fn from(file: FileSay) -> Self {
        let FileSay { name, room, counts, rtt, delivery } = file;
        SayFigures { name, room, counts: counts.0, rtt, delivery }
    }
}

/// The people of one role.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct FileRole {
    name: String,
    people: u64,
    counts: PartCounts,
    #[serde(default, with = "figure", skip_serializing_if = "Histogram::is_empty")]
    handshake: Histogram,
    #[serde(default, with = "figure", skip_serializing_if = "Histogram::is_empty")]
    rtt: Histogram,
    #[serde(default, with = "figure", skip_serializing_if = "Histogram::is_empty")]
    delivery: Histogram,
}

impl From<&RoleFigures> for FileRole {
    fn from(role: &RoleFigures) -> Self {
        let RoleFigures { name, people, counts, handshake, rtt, delivery } = role.clone();
        FileRole { name, people, counts: PartCounts(counts), handshake, rtt, delivery }
    }
}

impl From<FileRole> for RoleFigures {
    fn from(file: FileRole) -> Self {
        let FileRole { name, people, counts, handshake, rtt, delivery } = file;
        RoleFigures { name, people, counts: counts.0, handshake, rtt, delivery }
    }
}

/// The counts that are of messages, but for those that most steps do not have; and whatever else there is some of.
#[derive(Debug)]
struct PartCounts(Counts);

impl Serialize for PartCounts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let is_said = |count: Count, n: u64| {
            let facts = count.facts();
            n > 0 || facts.of == CountOf::Messages && !facts.is_rare
        };
        let mut map = serializer.serialize_map(None)?;
        for (count, &n) in self.0.iter().filter(|&(count, &n)| is_said(count, n)) {
            map.serialize_entry(count.name(), &n)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for PartCounts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read = BTreeMap::<String, u64>::deserialize(deserializer)?;
        let mut counts = Counts::default();
        // What a later version counts besides is nothing to this one.
        for (count, n) in read.iter().filter_map(|(name, n)| Some((Count::named(name)?, n))) {
            *counts.get_mut(count) = *n;
        }
        Ok(PartCounts(counts))
    }
}
