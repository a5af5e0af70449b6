//! Tables of findings: what every kind of them is, and the macro that makes a kind of its rows.

use serde_json::{Map, Value};

use super::quantity::Extreme;

/// A kind of findings: what the file and the reports need to know of it.
pub trait Finding: Sized + std::fmt::Display {
    /// The stable name: `server.cpu`.
    fn key(&self) -> &'static str;

    /// Its numbers by name, with the unit as the name's end: `cpu_percent`, `lag_ms`.
    fn numbers(&self) -> Map<String, Value>;

    /// The finding of that key with these numbers; `None` if this version has no such row.
    fn read(key: &str, numbers: &Map<String, Value>) -> Option<Self>;

    /// A finding of which only the sentence is known: of a file without keys, or of a newer version's.
    fn told(sentence: String) -> Self;

    /// The key and the numbers on one line: `server.cpu cores=2 cpu_percent=97`.
    fn terse(&self) -> String {
        let numbers = self.numbers();
        let numbers = numbers.iter().map(|(name, value)| format!(" {name}={value}"));
        self.key().to_owned() + &numbers.collect::<String>()
    }

    /// The finding in a program's output: its key, its numbers, and its sentence as `text`.
    fn object(&self) -> Value {
        let mut object = self.numbers();
        object.insert("key".to_owned(), self.key().into());
        object.insert("text".to_owned(), self.to_string().into());
        Value::Object(object)
    }

    /// Returns whether both differ in nothing but their numbers.
    fn is_alike(&self, other: &Self) -> bool;

    /// Merges two that are alike: each number that is the extreme.
    fn merged(&self, other: &Self, extreme: Extreme) -> Self;
}

/// Declares a kind of findings: each row has a variant, its key, its numbers, and its sentence.
///
/// In the sentence, each number is a [`Span`](quantity::Span): one value, or the lowest and the highest of
/// several steps.
macro_rules! findings {
    (
        $(#[$meta:meta])*
        $kind:ident:
        $(
            $(#[$doc:meta])*
            $variant:ident $key:literal $({ $($(#[$field_doc:meta])* $field:ident: $type:ty),+ $(,)? })?
                => $sentence:literal $(, $argument:expr)*;
        )*
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        pub enum $kind {
            $($(#[$doc])* $variant $({ $($(#[$field_doc])* $field: $type),+ })?,)*
            /// Known by its sentence alone.
            Told {
                /// The sentence.
                sentence: String,
            },
        }

        impl $kind {
            /// The keys of all rows.
            pub const KEYS: &[&str] = &[$($key),*];

            /// A finding of each row, with example numbers.
            pub fn examples() -> Vec<Self> {
                vec![$(Self::$variant { $($($field: $crate::finding::quantity::Quantity::example()),+)? }),*]
            }

            /// Writes the sentence, with ranges where `to` has other numbers.
            fn say(&self, to: &Self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self {
                    $(Self::$variant { $($($field),+)? } => {
                        $($(let $field = $crate::finding::quantity::Span {
                            low: $field,
                            high: if let Self::$variant { $field, .. } = to { $field } else { $field },
                        };)+)?
                        write!(f, $sentence $(, $argument)*)
                    })*
                    Self::Told { sentence } => f.write_str(sentence),
                }
            }
        }

        impl $crate::finding::table::Finding for $kind {
            fn key(&self) -> &'static str {
                match self {
                    $(Self::$variant { .. } => $key,)*
                    Self::Told { .. } => "told",
                }
            }

            fn numbers(&self) -> serde_json::Map<String, serde_json::Value> {
                match self {
                    $(Self::$variant { $($($field),+)? } => $crate::finding::quantity::named([
                        $($($crate::finding::quantity::entry(stringify!($field), $field)),+)?
                    ]),)*
                    Self::Told { .. } => serde_json::Map::new(),
                }
            }

            fn read(key: &str, numbers: &serde_json::Map<String, serde_json::Value>) -> Option<Self> {
                let _ = numbers;
                match key {
                    $($key => Some(Self::$variant {
                        $($($field: $crate::finding::quantity::take(numbers, stringify!($field))?),+)?
                    }),)*
                    _ => None,
                }
            }

            fn told(sentence: String) -> Self {
                Self::Told { sentence }
            }

            fn is_alike(&self, other: &Self) -> bool {
                match self {
                    $(Self::$variant { $($($field),+)? } => {
                        let Self::$variant { .. } = other else { return false };
                        $($({
                            let own = $field;
                            let Self::$variant { $field, .. } = other else { return false };
                            if !$crate::finding::quantity::Quantity::is_alike(own, $field) {
                                return false;
                            }
                        })+)?
                        true
                    })*
                    Self::Told { .. } => self == other,
                }
            }

            fn merged(&self, other: &Self, extreme: $crate::finding::quantity::Extreme) -> Self {
                let _ = extreme;
                match self {
                    $(Self::$variant { $($($field),+)? } => Self::$variant { $($($field: {
                        let own = $field;
                        let theirs = if let Self::$variant { $field, .. } = other { $field } else { own };
                        extreme.of(own, theirs)
                    }),+)? },)*
                    Self::Told { .. } => self.clone(),
                }
            }
        }

        impl std::fmt::Display for $kind {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.say(self, f)
            }
        }
    };
}

pub(crate) use findings;
