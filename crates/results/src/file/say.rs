//! In the file, what each kind of messages came to.

use std::collections::BTreeMap;

use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use stats::{Count, CountOf, Counts, Histogram};

use super::figure;
use crate::step::SayFigures;

/// One kind of messages.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct FileSay {
    name: String,
    room: String,
    counts: MessageCounts,
    #[serde(default, with = "figure", skip_serializing_if = "Histogram::is_empty")]
    rtt: Histogram,
    #[serde(default, with = "figure", skip_serializing_if = "Histogram::is_empty")]
    delivery: Histogram,
}

impl From<&SayFigures> for FileSay {
    fn from(say: &SayFigures) -> Self {
        let SayFigures { name, room, counts, rtt, delivery } = say.clone();
        FileSay { name, room, counts: MessageCounts(counts), rtt, delivery }
    }
}

impl From<FileSay> for SayFigures {
    fn from(file: FileSay) -> Self {
        let FileSay { name, room, counts, rtt, delivery } = file;
        SayFigures { name, room, counts: counts.0, rtt, delivery }
    }
}

/// The counts that are of messages; those that most steps do not have are left out where there is none.
#[derive(Debug)]
struct MessageCounts(Counts);

impl Serialize for MessageCounts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let is_said = |count: Count, n: u64| {
            let facts = count.facts();
            facts.of == CountOf::Messages && (n > 0 || !facts.is_rare)
        };
        let mut map = serializer.serialize_map(None)?;
        for (count, &n) in self.0.iter().filter(|&(count, &n)| is_said(count, n)) {
            map.serialize_entry(count.name(), &n)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for MessageCounts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read = BTreeMap::<String, u64>::deserialize(deserializer)?;
        let mut counts = Counts::default();
        // What a later version counts besides is nothing to this one.
        for (count, n) in read.iter().filter_map(|(name, n)| Some((Count::named(name)?, n))) {
            *counts.get_mut(count) = *n;
        }
        Ok(MessageCounts(counts))
    }
}
