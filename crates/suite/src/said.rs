//! Lines of programs of others, as they are told: the last one, printable and short.

use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

/// Characters told of a program's line: it goes into tables.
const SAID_CHARS_MAX: usize = 300;
/// The end of a log, in which its last line is.
const LOG_TAIL_BYTES: u64 = 16 << 10;

/// The last line of a log that says something.
pub(crate) fn last_line(log: &Path) -> Option<String> {
    let mut file = net::files::open_regular(log).ok()?;
    let bytes = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(bytes.saturating_sub(LOG_TAIL_BYTES))).ok()?;
    last_line_of(file)
}

/// Makes a program's text fit for a terminal and a table.
pub(crate) fn printable(said: &str) -> String {
    let mut said = said.trim().chars().filter(|c| stats::is_shown(*c));
    let kept: String = said.by_ref().take(SAID_CHARS_MAX).collect();
    if said.next().is_some() { kept + "…" } else { kept }
}

/// The last line of a text that says something.
pub(crate) fn last_line_of(text: impl Read) -> Option<String> {
    // Bytes, since `lines` ends at the first that are not UTF-8: a seek may land within a character.
    let lines = BufReader::new(text).split(b'\n').map_while(Result::ok);
    let said = lines.map(|line| printable(&String::from_utf8_lossy(&line))).filter(|line| !line.is_empty());
    said.last()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endless_lines_are_cut() {
        let long = "é".repeat(SAID_CHARS_MAX + 1);
        let told = last_line_of(long.as_bytes()).unwrap();
        assert_eq!(told, "é".repeat(SAID_CHARS_MAX) + "…");
        assert_eq!(last_line_of(&long.as_bytes()[2..]).unwrap().chars().count(), SAID_CHARS_MAX);
    }
}
