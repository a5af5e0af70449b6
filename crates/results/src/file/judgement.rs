//! What was made of the figures, in the file: limits kept or not, and what held the run back.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::mirror::mirror;
use crate::judgement::{Bottleneck, Finding, LimitOutcome, Unit};

mirror!(FileLimit of LimitOutcome {
    limit: String,
    passed: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    at_least: bool,
    #[serde(with = "unit")]
    unit: Unit,
    ; numbers
    actual,
});

mod unit {
    use super::*;

    const UNITS: [Unit; 5] = [Unit::Ms, Unit::Percent, Unit::PerSecond, Unit::Bytes, Unit::Count];

    pub(super) fn serialize<S: Serializer>(unit: &Unit, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(unit.name())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Unit, D::Error> {
        let name = String::deserialize(deserializer)?;
        let known = UNITS.into_iter().find(|unit| unit.name() == name);
        known.ok_or_else(|| serde::de::Error::custom(format_args!("unknown unit {name:?}")))
    }
}

/// The bottleneck and its reason, as two fields of what they belong to.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct FileBottleneck {
    #[serde(default, with = "bottleneck", skip_serializing_if = "Option::is_none")]
    bottleneck: Option<Bottleneck>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bottleneck_reason: Option<String>,
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
    pub(super) fn of(finding: Option<&Finding>) -> Self {
        FileBottleneck {
            bottleneck: finding.map(|finding| finding.bottleneck),
            bottleneck_reason: finding.map(|finding| finding.reason.clone()),
        }
    }

    pub(super) fn into_memory(self) -> Option<Finding> {
        Some(Finding { bottleneck: self.bottleneck?, reason: self.bottleneck_reason.unwrap_or_default() })
    }
}
