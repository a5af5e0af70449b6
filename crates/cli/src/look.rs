//! `throng URL`: a server's URL in the place of a verb.

use std::ffi::OsString;

/// The verb and the flag that a URL alone stands for.
const LOOK: [&str; 2] = ["probe", "--short"];

/// The command line with the verb that a URL alone stands for.
pub(crate) fn spelled_out(mut words: Vec<OsString>) -> Vec<OsString> {
    let is_url = |word: &OsString| word.to_str().is_some_and(is_url);
    if words.get(1).is_some_and(is_url) {
        words.splice(1..1, LOOK.map(OsString::from));
    }
    words
}

/// Returns whether the first word of a command line names a server: `ws://…`, `localhost:3000/cable`,
/// `example.org`. No verb does.
pub(crate) fn is_url(word: &str) -> bool {
    let is_file = word.ends_with(".toml");
    !word.starts_with('-') && !is_file && (word.contains([':', '/', '.']) || word == "localhost")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_told_from_verbs() {
        for url in
            ["ws://a/", "https://a", "localhost:3000", "localhost", "10.0.0.1:80/x", "[::1]:80", "a.org"]
        {
            assert!(is_url(url), "{url}");
        }
        for other in ["echo", "--version", "-h", "app.toml", "child-agent", "sing"] {
            assert!(!is_url(other), "{other}");
        }
    }
}
