//! Units of metrics.

/// Units of metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    /// Milliseconds.
    Ms,
    /// Percent.
    Percent,
    /// Per second.
    PerSecond,
    /// Bytes.
    Bytes,
    /// A plain number.
    #[default]
    Count,
}

impl Unit {
    const ALL: [Unit; 5] = [Unit::Ms, Unit::Percent, Unit::PerSecond, Unit::Bytes, Unit::Count];

    /// The unit of that name.
    pub(crate) fn of_name(name: &str) -> Option<Unit> {
        Unit::ALL.into_iter().find(|unit| unit.name() == name)
    }

    /// The name in files and reports; empty for plain numbers.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Ms => "ms",
            Unit::Percent => "%",
            Unit::PerSecond => "/s",
            Unit::Bytes => "bytes",
            Unit::Count => "",
        }
    }
}
