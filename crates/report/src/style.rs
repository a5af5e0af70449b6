//! How text reports look.

/// How text reports look: colour is the caller's decision, never guessed here.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Style {
    /// True if ANSI colours may be used.
    pub ansi: bool,
    /// The columns that rows are folded to; `None`: each is a line, however long.
    pub columns: Option<usize>,
    /// Letters, digits and signs of ASCII alone, where a terminal has no others.
    pub ascii: bool,
    /// The extent of what is printed: RESULT alone, a table, or each step.
    pub detail: Detail,
    /// The purpose of printing another program's lines.
    pub words: Words,
}

/// How much text says of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    /// RESULT alone.
    Result,
    /// One table for all steps, and each fact once.
    #[default]
    Usual,
    /// Every line of every step.
    Full,
}

/// The program whose words are printed.
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
    /// Kept.
    Green,
    /// Labels.
    Dim,
    /// Headings.
    Bold,
}

impl Style {
    /// No colour, nothing folded, no other program's words.
    pub const PLAIN: Style =
        Style { ansi: false, columns: None, ascii: false, detail: Detail::Usual, words: Words::Own };

    /// `text` in a colour, or as it is when plain. Pad before painting: escapes have no width.
    pub fn paint(&self, colour: Colour, text: &str) -> String {
        if !self.ansi {
            return text.into();
        }
        let code = match colour {
            Colour::Yellow => 33,
            Colour::Red => 31,
            Colour::Green => 32,
            Colour::Dim => 2,
            Colour::Bold => 1,
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}

/// The substitute of each sign that is not ASCII, as wide as it: tables stay aligned.
const IN_ASCII: [(char, char); 14] = [
    ('✓', '+'),
    ('✗', 'x'),
    ('µ', 'u'),
    ('σ', 's'),
    ('τ', 't'),
    ('≥', '>'),
    ('≤', '<'),
    ('–', '-'),
    ('−', '-'),
    ('·', '-'),
    ('→', '>'),
    ('×', 'x'),
    ('±', '~'),
    ('…', '.'),
];

impl Style {
    /// Text as it is printed: in ASCII, if so asked. Other programs' lines have nothing else.
    pub fn in_letters(&self, text: String) -> String {
        // Most lines have none of these signs.
        if !self.ascii || text.is_ascii() {
            return text;
        }
        let replaced = |c: char| IN_ASCII.iter().find(|(sign, _)| *sign == c).map(|(_, ascii)| *ascii);
        let in_ascii = |c: char| if c.is_ascii() { c } else { replaced(c).unwrap_or('?') };
        text.chars().map(in_ascii).collect()
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
