//! A file with a mistake in it: says where, shows the line, and marks the place. Or flags: says which.

use std::ops::Range;
use std::path::Path;

use app::app_file::AppFile;
use serde::de::DeserializeOwned;
use toml::Spanned;

use super::file::NAME_BYTES_MAX;
use crate::exit::Failure;

/// A file's name and text, for errors.
pub(super) struct Source<'a> {
    /// `None`: it is the command line, and the places in its text are those of its flags.
    pub(super) path: Option<&'a Path>,
    pub(super) text: &'a str,
}

impl Source<'_> {
    /// The folder that the file's paths are relative to.
    pub(super) fn folder(&self) -> &Path {
        self.path.and_then(Path::parent).unwrap_or(Path::new(""))
    }

    /// The app's name in results: the one that is written, or the file's own.
    pub(super) fn name(&self, written: Option<&Spanned<String>>) -> Result<String, Failure> {
        let Some(name) = written else {
            // Results name the app; a file's name is what its users call it.
            let stem = self.path.and_then(Path::file_stem).unwrap_or_default();
            return Ok(stem.to_string_lossy().into_owned());
        };
        let is_sound = (1..=NAME_BYTES_MAX).contains(&name.get_ref().len())
            && name.get_ref().bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
        if is_sound {
            return Ok(name.get_ref().clone());
        }
        let problem = format!("expected letters, digits, -, _ and ., at most {NAME_BYTES_MAX}");
        Err(self.error(name.span(), problem))
    }

    /// Returns whether clients say what stands under this name: its placeholder is in the file, and not in
    /// conditions alone, which say nothing.
    pub(super) fn says(&self, app: &AppFile, name: &str) -> bool {
        self.says_beside(app, name, &[])
    }

    /// Returns the same of a file without some of its texts.
    pub(super) fn says_beside(&self, app: &AppFile, name: &str, texts: &[String]) -> bool {
        let placeholder = format!("{{{name}}}");
        let heard = app.heard();
        let others = heard.iter().copied().chain(texts.iter().map(String::as_str));
        let others: usize = others.map(|text| text.matches(&placeholder).count()).sum();
        self.text.matches(&placeholder).count() > others
    }

    /// The file and the line of a place: `app.toml:3`. `None`: it is a flag's.
    pub(super) fn place(&self, at: Range<usize>) -> Option<String> {
        let name = self.path?.file_name()?.to_string_lossy();
        let line = self.text[..char_before(self.text, at.start)].matches('\n').count() + 1;
        Some(format!("{name}:{line}"))
    }

    /// Describes an error there: line and column as people count them, the line itself, the place underlined.
    pub(super) fn error(&self, at: Range<usize>, problem: impl std::fmt::Display) -> Failure {
        let Some(path) = self.path else { return Failure::usage(&self.text[at], problem) };
        let start = char_before(self.text, at.start);
        let line_start = self.text[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let line = self.text[line_start..].lines().next().unwrap_or_default();
        let number = self.text[..start].matches('\n').count() + 1;
        let before = &self.text[line_start..start];
        let end = char_before(self.text, at.end.min(line_start + line.len()));
        let marks = self.text.get(start..end).map_or(1, |marked| marked.chars().count().max(1));
        // Tabs stay tabs, so that the marks stand below what they mean.
        let indent: String = before.chars().map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
        let gutter = " ".repeat(number.to_string().len());
        let place = format!("{}:{number}:{}", path.display(), before.chars().count() + 1);
        let underlined = format!("{gutter} |\n{number} | {line}\n{gutter} | {indent}{}", "^".repeat(marks));
        Failure::usage(&place, format!("{problem}\n{underlined}")).in_file()
    }
}

/// The place where a character starts that is not after `at`.
fn char_before(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

/// Returns whether this text is JSON of a type.
pub(super) fn is_json<T: DeserializeOwned>(text: &[u8]) -> bool {
    serde_json::from_slice::<T>(text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, at: Range<usize>) -> String {
        format!("{:?}", Source { path: Some(Path::new("a.toml")), text }.error(at, "no"))
    }

    #[test]
    fn the_place_is_named_and_underlined() {
        let text = "x = 1\n\tné = \"two\"\n";
        let start = text.find("\"two").unwrap();
        let shown_there = shown(text, start..start + 5);
        assert!(
            shown_there.contains("a.toml:2:7: no\\n  |\\n2 | \\tné = \\\"two\\\"\\n  | \\t     ^^^^^"),
            "{shown_there}"
        );
    }

    #[test]
    fn places_at_the_edges_are_shown() {
        for (text, at) in
            [("", 0..0), ("", 5..9), ("a", 1..1), ("a\n", 2..2), ("é", 1..2), ("'''a\nb'''", 0..9)]
        {
            assert!(shown(text, at.clone()).contains('^'), "{text:?} {at:?}");
        }
    }
}
