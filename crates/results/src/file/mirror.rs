//! File types that have the fields of their type in memory, and the numbers in them.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Declares the file's form of a type with the same fields, and both conversions. Fields after `optional` are left
/// out when `None`; those after `numbers` are optional floats, left out when not finite, else rounded; those after
/// `figures` are histograms, left out when empty.
macro_rules! mirror {
    ($file:ident of $memory:ident {
        $($(#[$attr:meta])* $field:ident: $type:ty,)*
        $(; optional $($(#[$option_attr:meta])* $option:ident: $option_type:ty,)*)?
        $(; numbers $($number:ident,)*)?
        $(; figures $($figure:ident,)*)?
    }) => {
        #[derive(Debug, Serialize, Deserialize)]
        pub(super) struct $file {
            $($(#[$attr])* $field: $type,)*
            $($(#[serde(default, skip_serializing_if = "Option::is_none")] $(#[$option_attr])*
                $option: Option<$option_type>,)*)?
            $($(#[serde(default, skip_serializing_if = "Option::is_none")] $number: Option<f64>,)*)?
            $($(
                #[serde(default, with = "crate::file::figure", skip_serializing_if = "stats::Histogram::is_empty")]
                $figure: stats::Histogram,
            )*)?
        }

        impl From<&$memory> for $file {
            fn from(memory: &$memory) -> Self {
                let $memory { $($field,)* $($($option,)*)? $($($number,)*)? $($($figure,)*)? } = memory.clone();
                $file {
                    $($field,)*
                    $($($option,)*)?
                    $($($number: $number.and_then(super::mirror::rounded),)*)?
                    $($($figure,)*)?
                }
            }
        }

        impl From<$file> for $memory {
            fn from(file: $file) -> Self {
                let $file { $($field,)* $($($option,)*)? $($($number,)*)? $($($figure,)*)? } = file;
                $memory { $($field,)* $($($option,)*)? $($($number,)*)? $($($figure,)*)? }
            }
        }
    };
}

pub(super) use mirror;

/// Rounds to three decimals: a rate or a percentage has no more to say. `None` if it is no number.
pub(super) fn rounded(value: f64) -> Option<f64> {
    value.is_finite().then(|| (value * 1e3).round() / 1e3)
}

/// Nanoseconds as milliseconds, exact to the nanosecond.
pub(super) fn ms_from_ns(ns: f64) -> f64 {
    ns.round() / 1e6
}

/// Milliseconds as nanoseconds; nothing below 0 or beyond 64 bits gets through a cast.
pub(super) fn ns_from_ms(ms: f64) -> u64 {
    (ms * 1e6).round() as u64
}

/// `u64` nanoseconds in memory, seconds in the file.
pub(super) mod seconds {
    use super::*;

    pub(in crate::file) fn serialize<S: Serializer>(ns: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(*ns as f64 / 1e9)
    }

    pub(in crate::file) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        f64::deserialize(deserializer).map(|seconds| (seconds * 1e9).round() as u64)
    }
}

/// `Option<u64>` nanoseconds in memory, seconds in the file.
pub(super) mod optional_seconds {
    use super::*;

    pub(in crate::file) fn serialize<S: Serializer>(
        ns: &Option<u64>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        ns.map(|ns| ns as f64 / 1e9).serialize(serializer)
    }

    pub(in crate::file) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<u64>, D::Error> {
        Option::<f64>::deserialize(deserializer).map(|s| s.map(|s| (s * 1e9).round() as u64))
    }
}

/// `Option<u64>` nanoseconds in memory, milliseconds in the file.
pub(super) mod optional_ms {
    use super::*;

    pub(in crate::file) fn serialize<S: Serializer>(
        ns: &Option<u64>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        ns.map(|ns| ms_from_ns(ns as f64)).serialize(serializer)
    }

    pub(in crate::file) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<u64>, D::Error> {
        Option::<f64>::deserialize(deserializer).map(|ms| ms.map(ns_from_ms))
    }
}
