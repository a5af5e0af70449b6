//! Secrets on a command line: those of the flags that are known here, and of those that the protocols declare.

use crate::names::{is_secret, is_secret_in};
use crate::place;
use crate::place::Reference;
use crate::secret::Secret;

/// Flags whose value is one.
const SECRET_FLAGS: [&str; 3] = ["token", "jwt-secret", "fleet-key"];
/// Flags whose value is hidden where it names one.
const TELLING_FLAGS: [&str; 2] = ["body", "expect-body"];
/// The short flag of a body.
const BODY: char = 'b';
/// Flags whose value is `Name: value`.
const HEADER_FLAGS: [&str; 2] = ["header", "publish-header"];
/// The short flag of a header.
const HEADER: char = 'H';

/// Flags besides those that every command line has, without their dashes.
#[derive(Clone, Debug, Default)]
pub struct Flags {
    /// Flags whose value is a secret.
    pub secret: Vec<&'static str>,
    /// Flags whose value is hidden where it names one.
    pub telling: Vec<&'static str>,
}

impl Flags {
    /// The secrets that stand on a command line.
    pub fn in_command(&self, words: impl IntoIterator<Item = String>) -> Vec<Secret> {
        let mut found = Vec::new();
        let mut keep = |secret: &str| {
            found.push(Secret::from(secret));
            String::new()
        };
        hide(self, words, &mut keep);
        found
    }

    fn has_secret(&self, flag: &str) -> bool {
        is_among(flag, &SECRET_FLAGS) || is_among(flag, &self.secret)
    }

    fn tells(&self, flag: &str) -> bool {
        cluster(flag, BODY).is_some_and(str::is_empty)
            || is_among(flag, &TELLING_FLAGS)
            || is_among(flag, &self.telling)
    }
}

fn is_among(flag: &str, names: &[&str]) -> bool {
    flag.strip_prefix("--").is_some_and(|name| names.contains(&name))
}

/// The command line with each of them as `hide` shows it.
pub(crate) fn hide(
    flags: &Flags,
    words: impl IntoIterator<Item = String>,
    hide: &mut dyn FnMut(&str) -> String,
) -> Vec<String> {
    let mut before: Option<String> = None;
    let shown = |word: String| match before.take() {
        Some(flag) => value(flags, &flag, &word, hide),
        None => {
            let shown = flag_and_value(flags, &word, hide);
            before = Some(word).filter(|word| takes_next(flags, word));
            shown
        }
    };
    words.into_iter().map(shown).collect()
}

/// Returns whether the next word is the value of this one, and may be a secret.
fn takes_next(flags: &Flags, word: &str) -> bool {
    is_among(word, &HEADER_FLAGS)
        || flags.has_secret(word)
        || flags.tells(word)
        || cluster(word, HEADER).is_some_and(str::is_empty)
}

/// The value of a flag.
fn value(flags: &Flags, flag: &str, value: &str, hide: &mut dyn FnMut(&str) -> String) -> String {
    let is_telling = flags.tells(flag) && is_secret_in(value);
    // Where a secret is kept is worth knowing, and lets nobody in.
    let is_secret = flags.has_secret(flag) && Reference::of(value).is_none();
    if is_secret || is_telling {
        hide(value)
    } else if is_among(flag, &HEADER_FLAGS) || cluster(flag, HEADER).is_some() {
        header(value, hide)
    } else {
        place::hide_in_url(value, hide)
    }
}

/// A word with a flag and its value, or with neither.
fn flag_and_value(flags: &Flags, word: &str, hide: &mut dyn FnMut(&str) -> String) -> String {
    if let Some((flag, of_flag)) = word.split_once('=').filter(|(flag, _)| flag.starts_with("--")) {
        return format!("{flag}={}", value(flags, flag, of_flag, hide));
    }
    // clap takes a short flag's value from the same word, too.
    let flags_before = |value: &str| &word[..word.len() - value.len()];
    if let Some(body) = cluster(word, BODY).filter(|body| is_secret_in(body)) {
        return format!("{}{}", flags_before(body), hide(body));
    }
    match cluster(word, HEADER) {
        Some(text) => format!("{}{}", flags_before(text), header(text, hide)),
        // Any word may be a URL, with a password in it.
        None => place::hide_in_url(word, hide),
    }
}

/// The text after a short flag: behind the `H` of `-H` or `-qH`.
fn cluster(word: &str, flag: char) -> Option<&str> {
    let (before, text) = word.strip_prefix('-')?.split_once(flag)?;
    // Other short flags may stand before it, each a letter.
    before.chars().all(|letter| letter.is_ascii_lowercase()).then_some(text)
}

/// `Name: value`.
fn header(text: &str, hide: &mut dyn FnMut(&str) -> String) -> String {
    match text.split_once(':') {
        Some((name, value)) if is_secret(name) && Reference::of_header(value.trim()).is_none() => {
            format!("{name}: {}", hide(value.trim()))
        }
        // A mistake, which will be told.
        None if is_secret_in(text) => hide(text),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags() -> Flags {
        Flags { secret: vec!["auth", "join-params"], telling: vec!["channel-params"] }
    }

    #[test]
    fn no_secret_is_recorded() {
        for (given, recorded) in [
            ("--token abc", "--token ***"),
            ("--token=abc --token-in header:X-Token", "--token=*** --token-in header:X-Token"),
            ("--token env:JWT --auth=file:/a", "--token env:JWT --auth=file:/a"),
            ("--auth {\"user\":1}", "--auth ***"),
            ("--jwt-secret abc --jwt-secret=env:KEY", "--jwt-secret *** --jwt-secret=env:KEY"),
            ("--join-params {} --topic key:1", "--join-params *** --topic key:1"),
            ("--channel-params {\"room\":1}", "--channel-params {\"room\":1}"),
            ("--channel-params {\"api_key\":1}", "--channel-params ***"),
            ("-H Authorization:Bearer --clients 5", "-H Authorization: *** --clients 5"),
            ("-HX-Api-Key:5 -qH Cookie:a=b", "-HX-Api-Key: *** -qH Cookie: ***"),
            ("--header=Proxy-Authorization:Basic", "--header=Proxy-Authorization: ***"),
            (
                "--publish-header Authorization:abc --publish-url /x",
                "--publish-header Authorization: *** --publish-url /x",
            ),
            ("-H Authorization:env:JWT -H Authorization", "-H Authorization:env:JWT -H ***"),
            ("-H Accept:text/html -m HEAD -mHEAD", "-H Accept:text/html -m HEAD -mHEAD"),
            ("--also auth-1:9000 --limit p95<5ms", "--also auth-1:9000 --limit p95<5ms"),
            ("--otlp http://me:pw@host:4318", "--otlp http://***@host:4318"),
            ("--fleet=nats://me:pw@host", "--fleet=nats://***@host"),
            ("--fleet-key SUAB --fleet-key=SUAB", "--fleet-key *** --fleet-key=***"),
            (
                "--fleet-key file:/run/fleet.seed --agent-key UAB",
                "--fleet-key file:/run/fleet.seed --agent-key UAB",
            ),
            ("--scrape=http://h/m?token=5", "--scrape=http://h/m?token=***"),
            ("me:pw@h:1/ws?token=5 --scrape=h/m?sig=5", "***@h:1/ws?token=*** --scrape=h/m?sig=***"),
            (
                "--publish-url /say?api_key=5 --note me@h.org",
                "--publish-url /say?api_key=*** --note me@h.org",
            ),
            ("-b password=5 -b room=5 -bpassword=5", "-b *** -b room=5 -b***"),
            ("-qb password=5 -qb room=5 -vbpassword=5", "-qb *** -qb room=5 -vb***"),
            (
                "--fault delay=5ms@1/9 --fault=delay=exp:5ms@all",
                "--fault delay=5ms@1/9 --fault=delay=exp:5ms@all",
            ),
            ("--topic room@hall/1 --out runs@v2/x", "--topic room@hall/1 --out runs@v2/x"),
        ] {
            let words = given.split(' ').map(str::to_owned);
            assert_eq!(hide(&flags(), words, &mut |_| "***".into()).join(" "), recorded);
        }
    }

    #[test]
    fn secrets_in_a_command_are_found() {
        let words = ["throng", "echo", "ws://me:pw@h/?token=1", "-H", "Cookie: a=b"].map(str::to_owned);
        assert_eq!(flags().in_command(words), ["me:pw", "1", "a=b"].map(Secret::from));
    }
}
