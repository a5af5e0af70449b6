//! Flags of a protocol: its folder declares it here, and command lines, files and plans are made of that.

/// A flag of a protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Flag {
    /// The flag's name, on the command line behind two dashes. Several protocols may have a flag of the same
    /// name and kind.
    pub name: &'static str,
    /// The name of its value in help; empty for a switch.
    pub value_name: &'static str,
    /// The flag's help text, in lower case and without a full stop.
    pub help: &'static str,
    /// The flag's default, as help shows it.
    pub default: Option<&'static str>,
    /// The kind of its value.
    pub kind: FlagKind,
}

/// Kinds of flags' values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FlagKind {
    /// Any text.
    Text,
    /// Any text, in which people's names in braces stand for what is each client's own.
    OwnText,
    /// A method of HTTP for the request of a stream.
    Method,
    /// JSON, which records do not show where it names a secret.
    Json,
    /// A credential, which records never show.
    Secret,
    /// A whole number from `min` to `max`.
    Number {
        /// The smallest.
        min: u64,
        /// The largest.
        max: u64,
    },
    /// There is no value: it is given or not.
    Switch,
    /// A length of time; nanoseconds where it is not given.
    Time(u64),
    /// Bytes, with the number where the flag is not given.
    Size(u64),
}

/// The name of the flags that choose among the ways in which a protocol's sessions travel. Results name what
/// was chosen.
pub(crate) const TRANSPORT: &str = "transport";

impl Flag {
    /// A flag with any text for its value.
    pub(crate) const fn text(name: &'static str, value_name: &'static str, help: &'static str) -> Flag {
        Flag { name, value_name, help, default: None, kind: FlagKind::Text }
    }

    /// A flag with text for its value that may differ for each client.
    pub(crate) const fn own_text(name: &'static str, value_name: &'static str, help: &'static str) -> Flag {
        Flag { kind: FlagKind::OwnText, ..Flag::text(name, value_name, help) }
    }

    /// A flag with a method of HTTP for its value.
    pub(crate) const fn method(name: &'static str, help: &'static str) -> Flag {
        Flag { kind: FlagKind::Method, ..Flag::text(name, "NAME", help) }
    }

    /// A flag with JSON for its value.
    pub(crate) const fn json(name: &'static str, help: &'static str) -> Flag {
        Flag { kind: FlagKind::Json, ..Flag::text(name, "JSON", help) }
    }

    /// A flag with a secret for its value, which is JSON.
    pub(crate) const fn secret_json(name: &'static str, help: &'static str) -> Flag {
        Flag { kind: FlagKind::Secret, ..Flag::text(name, "JSON", help) }
    }

    /// A flag with a number from `min` to `max` for its value.
    pub(crate) const fn number(
        name: &'static str,
        value_name: &'static str,
        help: &'static str,
        min: u64,
        max: u64,
    ) -> Flag {
        Flag { kind: FlagKind::Number { min, max }, ..Flag::text(name, value_name, help) }
    }

    /// A flag without a value.
    pub(crate) const fn switch(name: &'static str, help: &'static str) -> Flag {
        Flag { kind: FlagKind::Switch, ..Flag::text(name, "", help) }
    }

    /// A flag with a length of time for its value.
    pub(crate) const fn time(name: &'static str, help: &'static str, default_ns: u64) -> Flag {
        Flag { kind: FlagKind::Time(default_ns), ..Flag::text(name, "TIME", help) }
    }

    /// A flag with a number of bytes for its value.
    pub(crate) const fn size(name: &'static str, help: &'static str, default: u64) -> Flag {
        Flag { kind: FlagKind::Size(default), ..Flag::text(name, "SIZE", help) }
    }

    /// Sets the default that help shows.
    pub(crate) const fn or(self, default: &'static str) -> Flag {
        Flag { default: Some(default), ..self }
    }
}
