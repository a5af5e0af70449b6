//! How text reports look.

/// How text reports look: colour is the caller's decision, never guessed here.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Style {
    /// Whether ANSI colours may be used.
    pub ansi: bool,
    /// The columns that rows are folded to; `None`: each is a line, however long.
    pub columns: Option<usize>,
    /// The program whose wording is printed.
    pub words: Words,
}

/// Wordings of the output.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Words {
    /// Our own alone.
    Own,
    /// Each step begins with websocket-bench's line, to the byte; this is its percentile, `--limit-percentile`.
    WebsocketBench(f64),
    /// An echo run ends with wsdemo's table.
    Wsdemo,
}

/// The colours of text reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// For text to be read twice.
    Yellow,
    /// Broken.
    Red,
    /// Labels.
    Dim,
}

impl Style {
    /// No colour, nothing folded, no other program's words.
    pub const PLAIN: Style = Style { ansi: false, columns: None, words: Words::Own };

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
