//! How text reports look.

/// How text reports look: colour is the caller's decision, never guessed here.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Style {
    /// Whether ANSI colours may be used.
    pub ansi: bool,
    /// The percentile of the seed's line, `--limit-percentile`: 95.
    pub percentile: f64,
}

impl Style {
    /// No colour, 95th percentile.
    pub const PLAIN: Style = Style { ansi: false, percentile: 95.0 };
}

impl Default for Style {
    fn default() -> Self {
        Style::PLAIN
    }
}
