//! A macro that makes a type from a table: the table has a row for each measured quantity, and there is no
//! second list of them anywhere.

/// Declares a struct with a public field for each row, an enum that names the rows, and the ways from one to
/// the other. A row is the field's documentation, the field, its name in the enum, and what else is known of
/// it: `missing: Missing = Facts { … },`. Code that measures writes the field; code that lists iterates over
/// the enum.
macro_rules! table {
    (
        $(#[$of_struct:meta])*
        struct $struct:ident $(<$value_param:ident = $default:ty>)? of $value:ty;
        $(#[$of_enum:meta])*
        enum $enum:ident with $facts:ty;
        $($(#[$doc:meta])* $field:ident: $row:ident = $known:expr,)*
    ) => {
        $(#[$of_struct])*
        pub struct $struct $(<$value_param = $default>)? {
            $($(#[$doc])* pub $field: $value,)*
        }

        $(#[$of_enum])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $enum {
            $($(#[$doc])* $row,)*
        }

        impl $enum {
            /// All rows, in the order of the table, which files and reports keep.
            pub const ALL: [$enum; [$($enum::$row),*].len()] = [$($enum::$row),*];

            /// The row's name in files, reports and limits.
            pub const fn name(self) -> &'static str {
                match self {
                    $($enum::$row => stringify!($field),)*
                }
            }

            /// The row of that name.
            pub fn named(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|known| known.name() == name)
            }

            /// The facts of the row.
            pub const fn facts(self) -> $facts {
                match self {
                    $($enum::$row => $known,)*
                }
            }
        }

        impl $(<$value_param>)? $struct $(<$value_param>)? {
            /// The value of a row.
            pub fn get(&self, row: $enum) -> &$value {
                match row {
                    $($enum::$row => &self.$field,)*
                }
            }

            /// The value of a row, mutable.
            pub fn get_mut(&mut self, row: $enum) -> &mut $value {
                match row {
                    $($enum::$row => &mut self.$field,)*
                }
            }

            /// Each row with its value, in the order of the table.
            pub fn iter(&self) -> impl Iterator<Item = ($enum, &$value)> {
                $enum::ALL.into_iter().map(|row| (row, self.get(row)))
            }
        }

        impl std::fmt::Display for $enum {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }
    };
}

pub(crate) use table;
