//! A step's counts in the file, each by its name, and its errors beside them.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Error, IgnoredAny, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use stats::errors::ErrorKind;
use stats::{Count, CountOf, Counts, Errors};

use super::mirror::{mirror, seconds};

/// The key of failures by their kind.
const ERRORS: &str = "errors";

/// Counts and errors. Those of messages are left out where none was exchanged, and what most steps do not have where
/// there is none.
#[derive(Debug, Default)]
pub(super) struct FileCounts {
    counts: Counts,
    errors: BTreeMap<String, FileErrorKind>,
}

mirror!(FileErrorKind of ErrorKind {
    count: u64,
    #[serde(rename = "first_s", with = "seconds")]
    first_ns: u64,
    #[serde(rename = "last_s", with = "seconds")]
    last_ns: u64,
    example: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    local: bool,
});

impl FileCounts {
    pub(super) fn of(counts: &Counts, errors: &Errors) -> Self {
        let errors = errors.iter().map(|(name, kind)| (name.into(), FileErrorKind::from(kind))).collect();
        FileCounts { counts: *counts, errors }
    }

    pub(super) fn into_memory(self) -> (Counts, Errors) {
        let mut errors = Errors::default();
        for (name, kind) in self.errors {
            errors.add_kind(&name, kind.into());
        }
        (self.counts, errors)
    }

    /// Returns whether a count stands in the file even if it is 0.
    fn is_said(&self, count: Count) -> bool {
        let facts = count.facts();
        !facts.is_rare && (facts.of == CountOf::Connections || self.counts.has_messages())
    }
}

impl Serialize for FileCounts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (count, n) in self.counts.iter() {
            if *n > 0 || self.is_said(count) {
                map.serialize_entry(count.name(), n)?;
            }
        }
        map.serialize_entry(ERRORS, &self.errors)?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for FileCounts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(CountsVisitor)
    }
}

struct CountsVisitor;

impl<'de> Visitor<'de> for CountsVisitor {
    type Value = FileCounts;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with counts and errors")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<FileCounts, M::Error> {
        let (mut counts, mut errors, mut read) = (Counts::default(), None, Vec::new());
        while let Some(key) = map.next_key::<String>()? {
            if let Some(count) = Count::named(&key) {
                *counts.get_mut(count) = map.next_value()?;
                read.push(count);
            } else if key == ERRORS {
                errors = Some(map.next_value()?);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        // Any file has those of connections that are not rare.
        let is_due = |count: Count| count.facts().of == CountOf::Connections && !count.facts().is_rare;
        match Count::ALL.into_iter().find(|count| is_due(*count) && !read.contains(count)) {
            Some(missing) => Err(M::Error::missing_field(missing.name())),
            None => Ok(FileCounts { counts, errors: errors.ok_or_else(|| M::Error::missing_field(ERRORS))? }),
        }
    }
}
