//! Judgements in the file: limits kept or not, and the bottleneck.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::finding::FileFinding;
use super::mirror::mirror;
use crate::finding::{Cause, Finding};
use crate::judgement::{Bottleneck, Found};
use crate::limit::{LimitOutcome, LimitStatus, Requirement};
use crate::unit::Unit;

mirror!(FileLimit of LimitOutcome {
    #[serde(rename = "limit", with = "requirement")]
    of: Requirement,
    #[serde(flatten, with = "status")]
    status: LimitStatus,
    #[serde(with = "unit")]
    unit: Unit,
    ; numbers
    actual,
    without_lag,
});

/// The text of a requirement, which is read when the run's scenario is known: [`Requirement::settle`].
mod requirement {
    use super::*;

    pub(super) fn serialize<S: Serializer>(of: &Requirement, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(of)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Requirement, D::Error> {
        String::deserialize(deserializer).map(Requirement::Unknown)
    }
}

/// The status as fields of its limit: programs ask `passed` alone.
mod status {
    use super::*;

    #[derive(Serialize, Deserialize)]
    struct Fields {
        passed: bool,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        at_least: bool,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        undecided: bool,
    }

    pub(super) fn serialize<S: Serializer>(status: &LimitStatus, serializer: S) -> Result<S::Ok, S::Error> {
        let fields = Fields {
            passed: *status == LimitStatus::Passed,
            at_least: *status == LimitStatus::AtLeast,
            undecided: *status == LimitStatus::Undecided,
        };
        fields.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<LimitStatus, D::Error> {
        let Fields { passed, at_least, undecided } = Fields::deserialize(deserializer)?;
        Ok(match (at_least, undecided) {
            (true, _) => LimitStatus::AtLeast,
            (false, true) => LimitStatus::Undecided,
            (false, false) => LimitStatus::of(passed),
        })
    }
}

mod unit {
    use super::*;

    pub(super) fn serialize<S: Serializer>(unit: &Unit, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(unit.name())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Unit, D::Error> {
        let name = String::deserialize(deserializer)?;
        Unit::of_name(&name).ok_or_else(|| serde::de::Error::custom(format_args!("unknown unit {name:?}")))
    }
}

/// The bottleneck, its reason, and the key and numbers of that, as fields of what they belong to.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct FileBottleneck {
    #[serde(default, with = "bottleneck", skip_serializing_if = "Option::is_none")]
    bottleneck: Option<Bottleneck>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bottleneck_reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cause: Option<FileFinding>,
}

mod bottleneck {
    use super::*;

    pub(super) fn serialize<S: Serializer>(
        who: &Option<Bottleneck>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        who.map(Bottleneck::name).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Bottleneck>, D::Error> {
        let name = String::deserialize(deserializer)?;
        let known = Bottleneck::ALL.into_iter().find(|who| who.name() == name);
        known.map(Some).ok_or_else(|| serde::de::Error::custom(format_args!("unknown bottleneck {name:?}")))
    }
}

impl FileBottleneck {
    pub(super) fn of(found: Option<&Found>) -> Self {
        FileBottleneck {
            bottleneck: found.map(|found| found.bottleneck),
            bottleneck_reason: found.map(|found| found.cause.to_string()),
            cause: found.map(|found| FileFinding::of(&found.cause)),
        }
    }

    pub(super) fn into_memory(self) -> Option<Found> {
        let sentence = self.bottleneck_reason.unwrap_or_default();
        let cause = match self.cause {
            Some(cause) => cause.into_memory(sentence),
            None => Cause::told(sentence),
        };
        Some(Found { bottleneck: self.bottleneck?, cause })
    }
}
