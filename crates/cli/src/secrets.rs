//! What lets a client in is no one else's business: results, reports and logs are shared, so secrets are recorded as
//! `***`. This is the one place that knows what a secret looks like on a command line and in a URL.

/// What stands for a secret.
const HIDDEN: &str = "***";
/// Flags whose value is one.
const SECRET_FLAGS: [&str; 3] = ["--token", "--auth", "--join-params"];
/// Flags whose value is hidden where it names one.
const TELLING_FLAGS: [&str; 4] = ["--channel-params", "--body", "-b", "--expect-body"];
const HEADER: &str = "--header";
/// A name is a secret's if one of these is in it …
const PARTS: [&str; 11] = [
    "token",
    "secret",
    "password",
    "passwd",
    "jwt",
    "signature",
    "credential",
    "authorization",
    "cookie",
    "session",
    "apikey",
];
/// … or if one of these is the whole, or its last word.
const WORDS: [&str; 9] = ["key", "sig", "auth", "jid", "sid", "pass", "pwd", "pw", "hmac"];

/// A command line, fit to be recorded: what was asked for, without what lets a client in.
pub(crate) fn command(words: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut before: Option<String> = None;
    let hide = |word: String| match before.take() {
        Some(flag) => value(&flag, &word),
        None => {
            let hidden = flag_and_value(&word);
            before = Some(word).filter(|word| takes_next(word));
            hidden
        }
    };
    words.into_iter().map(hide).collect()
}

/// A URL without user and password, and without the values of the query that are secrets. (It has a scheme: nothing else
/// is changed.)
pub(crate) fn url(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text.to_owned() };
    let (authority, place) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let user = authority.rfind('@').map_or(String::new(), |_| format!("{HIDDEN}@"));
    let host = authority.rsplit('@').next().unwrap_or(authority);
    let place = place.split_once('?').map_or(place.to_owned(), |(path, query)| {
        let pairs = query.split('&').map(|pair| match pair.split_once('=') {
            Some((name, _)) if is_secret(name) => format!("{name}={HIDDEN}"),
            _ => pair.to_owned(),
        });
        format!("{path}?{}", pairs.collect::<Vec<_>>().join("&"))
    });
    format!("{scheme}://{user}{host}{place}")
}

/// Whether the next word is the value of this one, and may be a secret.
fn takes_next(word: &str) -> bool {
    word == HEADER
        || SECRET_FLAGS.contains(&word)
        || TELLING_FLAGS.contains(&word)
        || header_cluster(word).is_some_and(str::is_empty)
}

/// The value of a flag, fit to be recorded.
fn value(flag: &str, value: &str) -> String {
    let is_telling = TELLING_FLAGS.contains(&flag) && is_secret_in(value);
    if SECRET_FLAGS.contains(&flag) || is_telling {
        HIDDEN.to_owned()
    } else if flag == HEADER || header_cluster(flag).is_some() {
        header(value)
    } else {
        url(value)
    }
}

/// A word with a flag and its value, or with neither.
fn flag_and_value(word: &str) -> String {
    if let Some((flag, of_flag)) = word.split_once('=').filter(|(flag, _)| flag.starts_with("--")) {
        return format!("{flag}={}", value(flag, of_flag));
    }
    match header_cluster(word) {
        Some(text) => format!("{}{}", &word[..word.len() - text.len()], header(text)),
        None => url(word),
    }
}

/// What comes after the `H` of `-H` or `-qH`.
fn header_cluster(word: &str) -> Option<&str> {
    let letters = word.strip_prefix('-')?;
    let (before, text) = letters.split_once('H')?;
    before.chars().all(|letter| letter.is_ascii_lowercase()).then_some(text)
}

/// `Name: value`.
fn header(text: &str) -> String {
    match text.split_once(':') {
        Some((name, _)) if is_secret(name) => format!("{name}: {HIDDEN}"),
        _ => text.to_owned(),
    }
}

/// Whether a header or a parameter of this name is a secret.
fn is_secret(name: &str) -> bool {
    let name = name.trim().to_ascii_lowercase();
    let last = name.rsplit(['-', '_', '.']).next().unwrap_or_default();
    PARTS.iter().any(|part| name.contains(part)) || WORDS.contains(&last)
}

/// Whether a text, such as a JSON object, has the name of a secret in it.
fn is_secret_in(text: &str) -> bool {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || "-_.".contains(c))).any(is_secret)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_secret_is_recorded() {
        for (given, recorded) in [
            ("--token abc", "--token ***"),
            ("--token=abc --token-in header:X-Token", "--token=*** --token-in header:X-Token"),
            ("--auth {\"user\":1}", "--auth ***"),
            ("--join-params {} --topic key:1", "--join-params *** --topic key:1"),
            ("--channel-params {\"room\":1}", "--channel-params {\"room\":1}"),
            ("--channel-params {\"api_key\":1}", "--channel-params ***"),
            ("-H Authorization:Bearer --clients 5", "-H Authorization: *** --clients 5"),
            ("-HX-Api-Key:5 -qH Cookie:a=b", "-HX-Api-Key: *** -qH Cookie: ***"),
            ("--header=Proxy-Authorization:Basic", "--header=Proxy-Authorization: ***"),
            ("-H Accept:text/html -m HEAD -mHEAD", "-H Accept:text/html -m HEAD -mHEAD"),
            ("--also auth-1:9000 --limit p95<5ms", "--also auth-1:9000 --limit p95<5ms"),
            ("--otlp http://me:pw@host:4318", "--otlp http://***@host:4318"),
            ("--scrape=http://h/m?token=5", "--scrape=http://h/m?token=***"),
            ("-b password=5 -b room=5", "-b *** -b room=5"),
        ] {
            let words = given.split(' ').map(str::to_owned);
            assert_eq!(command(words).join(" "), recorded);
        }
    }

    #[test]
    fn a_url_keeps_what_is_no_secret() {
        for (given, recorded) in [
            ("ws://me:p@ss@host:9000/ws?room=1", "ws://***@host:9000/ws?room=1"),
            ("wss://host/cable?jid=ey.J&vsn=2.0.0", "wss://host/cable?jid=***&vsn=2.0.0"),
            (
                "wss://host?access_token=1&KEY=2&sig=3&x_key=4",
                "wss://host?access_token=***&KEY=***&sig=***&x_key=***",
            ),
            ("ws://host/a@b?monkey=1&author=2&flag", "ws://host/a@b?monkey=1&author=2&flag"),
            ("ws://127.0.0.1:9000/", "ws://127.0.0.1:9000/"),
            ("127.0.0.1", "127.0.0.1"),
        ] {
            assert_eq!(url(given), recorded);
        }
    }
}
