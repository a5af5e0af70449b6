//! How text reports look.

/// How text reports look: colour is the caller's decision, never guessed here.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Style {
    /// Whether ANSI colours may be used.
    pub ansi: bool,
    /// The percentile of the seed's line, `--limit-percentile`: 95.
    pub percentile: f64,
}

/// The colours of text reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// To be read twice.
    Yellow,
    /// Broken.
    Red,
    /// Labels.
    Dim,
}

impl Style {
    /// No colour, 95th percentile.
    pub const PLAIN: Style = Style { ansi: false, percentile: 95.0 };

    /// `text` in a colour, or as it is when plain. Pad before painting: escapes have no width.
    pub fn paint(&self, colour: Colour, text: &str) -> String {
        if !self.ansi {
            return text.into();
        }
        let code = match colour {
            Colour::Yellow => 33,
            Colour::Red => 31,
            Colour::Dim => 2,
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}

impl Default for Style {
    fn default() -> Self {
        Style::PLAIN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_has_no_escapes() {
        assert_eq!(Style::PLAIN.paint(Colour::Red, "broken"), "broken");
        let ansi = Style { ansi: true, ..Style::PLAIN };
        assert_eq!(ansi.paint(Colour::Red, "broken"), "\x1b[31mbroken\x1b[0m");
    }
}
