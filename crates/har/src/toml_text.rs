//! TOML as a person writes it: comments above what they are about, and one value a line.

use crate::json::without_placeholders;

/// Columns of a comment.
const COLUMNS_MAX: usize = 96;

/// A text in quotation marks.
pub(crate) fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

/// A text that is no JSON, as a file has it. Whoever made the recording may have written placeholders, which
/// would send what only this machine knows (`{hmac:sha256:env:…}`); without an escape, a parenthesis takes
/// the place of the brace.
pub(crate) fn plain(text: &str) -> String {
    without_placeholders(text, "(")
}

/// A text as an expression that matches it.
pub(crate) fn escaped(text: &str) -> String {
    let is_special = |c: char| c.is_ascii_punctuation() && !"<>\"'=_ ,:;@%&!/`~".contains(c);
    text.chars().flat_map(|c| is_special(c).then_some('\\').into_iter().chain([c])).collect()
}

/// An inline table of texts.
pub(crate) fn texts<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    inline(pairs.into_iter().map(|(name, value)| format!("{} = {}", key(name), quoted(value))))
}

/// A key, in quotation marks where TOML wants them.
fn key(text: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    if !text.is_empty() && text.chars().all(is_bare) { text.to_owned() } else { quoted(text) }
}

/// An inline table.
pub(crate) fn inline(pairs: impl Iterator<Item = String>) -> String {
    format!("{{ {} }}", pairs.collect::<Vec<_>>().join(", "))
}

/// A number of occurrences, for comments.
pub(crate) fn times(count: usize) -> String {
    if count == 1 { "once".to_owned() } else { format!("{count} times") }
}

/// A number of things, each called `one`.
pub(crate) fn counted(count: usize, one: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {one}s") }
}

/// A file on its way.
#[derive(Default)]
pub(crate) struct TomlText(pub(crate) String);

impl TomlText {
    /// A blank line, and a comment.
    pub(crate) fn comment(&mut self, text: &str) {
        self.0 += "\n";
        self.remark(text);
    }

    /// A comment.
    pub(crate) fn remark(&mut self, text: &str) {
        let mut line = String::from("#");
        // Control characters of what was recorded would end the comment.
        let clean: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        for word in clean.split_whitespace() {
            if line.len() > 1 && line.len() + 1 + word.len() > COLUMNS_MAX {
                self.0 += &line;
                self.0 += "\n";
                line = String::from("#");
            }
            line += " ";
            line += word;
        }
        self.0 += &line;
        self.0 += "\n";
    }

    /// A key with a table of texts; nothing if it is empty.
    pub(crate) fn texts(&mut self, key: &str, pairs: &[(String, String)]) {
        if !pairs.is_empty() {
            self.line(&format!("{key} = {}", texts(pairs.iter().map(|(name, value)| (&**name, &**value)))));
        }
    }

    /// A line as it stands.
    pub(crate) fn line(&mut self, line: &str) {
        self.0 += line;
        self.0 += "\n";
    }

    /// A key with a text.
    pub(crate) fn text(&mut self, key: &str, value: &str) {
        self.line(&format!("{key} = {}", quoted(value)));
    }
}
