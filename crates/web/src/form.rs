//! Commands that a page may start: a load verb, a URL, and flags with a checked value each.
//!
//! A form becomes the words of a command line. Every word is either written here or has the shape of its field (a
//! count, a time, a URL of a known scheme, a header), and a value never stands alone, so that none can be taken for a flag.

use std::collections::BTreeMap;
use std::path::Path;

use results::Scenario::{self, Broadcast, Echo, Http, Idle, Saturate, Storm};
use results::{Limit, units};
use secret::{Mask, Reference};
use serde::{Serialize, Serializer};
use url::Url;

const SCHEMES: [&str; 4] = ["ws", "wss", "http", "https"];

/// A field of the form, which is a flag of the same name.
#[derive(Serialize)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    label: &'static str,
    example: &'static str,
    /// The verbs that know the flag.
    #[serde(serialize_with = "names")]
    verbs: &'static [Scenario],
    /// It may have several lines, each a value of its own.
    has_lines: bool,
    #[serde(skip)]
    kind: Kind,
}

#[derive(Clone, Copy)]
enum Kind {
    Count,
    Counts,
    Duration,
    Rate,
    Limit,
    Headers,
    Token,
    AppFile,
}

const fn field(
    name: &'static str,
    label: &'static str,
    example: &'static str,
    kind: Kind,
    verbs: &'static [Scenario],
) -> Field {
    let has_lines = matches!(kind, Kind::Headers);
    Field { name, label, example, verbs, has_lines, kind }
}

fn names<S: Serializer>(verbs: &[Scenario], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(verbs.iter().map(|verb| verb.name()))
}

/// All fields beside verb, URL and dialect.
pub(crate) const FIELDS: [Field; 12] = [
    field("clients", "Clients", "1000", Kind::Count, &[Echo, Idle, Storm, Http]),
    field("step-size", "Clients added at each step", "1000", Kind::Count, &[Echo, Broadcast]),
    field("total-steps", "Steps", "5", Kind::Count, &[Echo, Broadcast]),
    field("levels", "Levels of clients", "50,100,200", Kind::Counts, &[Saturate]),
    field("concurrent", "Messages under way at once", "4", Kind::Count, &[Echo, Broadcast]),
    field("rate", "Messages or requests per second", "500", Kind::Rate, &[Echo, Broadcast, Http]),
    field("duration", "Duration", "10s", Kind::Duration, &Scenario::ALL),
    field("limit-rtt", "End the steps above this round trip", "500ms", Kind::Duration, &[Echo, Broadcast]),
    field("limit", "Limit", "p99<250ms", Kind::Limit, &Scenario::ALL),
    field("app", "App file", "chat/app.toml", Kind::AppFile, &[Echo, Broadcast, Saturate, Idle, Storm]),
    field("token", "Token", "a JWT, or env:JWT", Kind::Token, &[Echo, Broadcast, Saturate, Idle, Storm]),
    field("header", "Headers, one a line", "Authorization: Bearer env:JWT", Kind::Headers, &Scenario::ALL),
];

/// The words after `throng`, or what is wrong with which field. Empty fields, and fields of other verbs, are left out.
pub(crate) fn command(pairs: &[(String, String)], dialects: &[&str]) -> Result<Vec<String>, String> {
    let given = |name: &str| {
        let value = pairs.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value.trim());
        (!value.is_empty()).then_some(value)
    };
    let Some(verb) = given("verb").and_then(|verb| verb.parse::<Scenario>().ok()) else {
        return Err("choose what to measure".into());
    };
    let mut words = vec![verb.to_string()];
    words.extend(given("url").map(checked_url).transpose()?);
    if let Some(dialect) = given("dialect").filter(|_| verb.facts().has_dialects) {
        // The word of the list, and not the one that came in.
        let known = dialects.iter().find(|known| **known == dialect);
        words.push(format!("--dialect={}", known.ok_or("Dialect: choose one of the list")?));
    }
    for field in FIELDS.iter().filter(|field| field.verbs.contains(&verb)) {
        if let Some(value) = given(field.name) {
            let values = if field.has_lines { value.lines().collect() } else { vec![value] };
            for value in values.into_iter().map(str::trim).filter(|value| !value.is_empty()) {
                check(field, value, verb).map_err(|problem| format!("{}: {problem}", field.label))?;
                words.push(format!("--{}={value}", field.name));
            }
        }
    }
    Ok(words)
}

fn checked_url(text: &str) -> Result<String, String> {
    let url =
        Url::parse(text).map_err(|error| format!("URL: {error}; for example ws://127.0.0.1:9000/ws"))?;
    if !SCHEMES.contains(&url.scheme()) || url.host().is_none() {
        return Err("URL: expected ws://, wss://, http:// or https:// and a host".into());
    }
    Ok(url.into())
}

fn check(field: &Field, value: &str, verb: Scenario) -> Result<(), String> {
    let checked = match field.kind {
        Kind::Count => units::count(value).map(drop),
        Kind::Counts => value.split(',').try_for_each(|level| units::count(level.trim()).map(drop)),
        Kind::Duration => units::duration_ns(value).map(drop),
        Kind::Rate => units::rate_per_s(value).map(drop),
        Kind::Limit => return Limit::parse(value, verb).map(drop).map_err(|error| error.to_string()),
        Kind::Headers => return checked_header(value),
        Kind::Token => return checked_token(value),
        Kind::AppFile => return checked_file(value),
    };
    checked.map_err(|error| error.to_string())
}

/// A field's name is a token of RFC 9110 §5.6.2; that its value is one is throng's to say.
fn checked_header(line: &str) -> Result<(), String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    let named = line.split_once(':').filter(|(name, _)| !name.is_empty() && name.chars().all(is_name));
    named.map(drop).ok_or_else(|| "expected a line such as Authorization: Bearer env:JWT".to_owned())
}

fn checked_token(token: &str) -> Result<(), String> {
    if token.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return Err("expected a token without spaces, env:NAME or file:PATH".into());
    }
    Ok(())
}

fn checked_file(path: &str) -> Result<(), String> {
    let path = Path::new(path);
    if path.extension().is_none_or(|extension| extension != "toml") || !path.is_file() {
        return Err("expected the path of an app's file on this machine, which ends in .toml".into());
    }
    Ok(())
}

/// The fields of a refused form to show again, by name, and the labels of the fields that lost a secret. A page is kept
/// by browsers and seen by those who pass, so that a secret does not come back; `env:NAME` and `file:PATH` are none.
pub(crate) fn without_secrets(pairs: &[(String, String)]) -> (BTreeMap<String, String>, Vec<&'static str>) {
    let mut kept = BTreeMap::new();
    let mut lost = Vec::new();
    for (name, value) in pairs {
        let field = FIELDS.iter().find(|field| field.name == name);
        let (label, left) = match field.map(|field| field.kind) {
            Some(Kind::Token) => {
                ("Token", if Reference::of(value.trim()).is_some() { value } else { "" }.into())
            }
            Some(Kind::Headers) => {
                // Line by line: one secret does not take the others with it.
                let lines = value.split_inclusive('\n').filter(|line| is_public_header(line.trim()));
                ("Headers", lines.collect())
            }
            Some(_) => (field.map_or("", |field| field.label), value.clone()),
            None if name == "url" => ("URL", without_credentials(value)),
            None if matches!(name.as_str(), "verb" | "dialect") => ("", value.clone()),
            // No field of ours.
            None => continue,
        };
        if left != *value {
            lost.push(label);
        }
        kept.insert(name.clone(), left);
    }
    (kept, lost)
}

/// Returns whether a line is empty, names a header that is no secret's, or says where its secret is.
fn is_public_header(line: &str) -> bool {
    if line.is_empty() {
        return true;
    }
    let Some((name, value)) = line.split_once(':').filter(|_| checked_header(line).is_ok()) else {
        return false;
    };
    !secret::is_secret(name) || Reference::of_header(value.trim()).is_some()
}

/// A URL without user, password and the secrets of its query. What is none may be anything, and is kept only if it has no place
/// for them.
fn without_credentials(text: &str) -> String {
    let Ok(mut url) = Url::parse(text.trim()).map_err(drop).and_then(|url| match url.has_host() {
        true => Ok(url),
        false => Err(()),
    }) else {
        return if text.contains(['@', '?', '#']) { String::new() } else { text.to_owned() };
    };
    let has_user = !url.username().is_empty() || url.password().is_some();
    let is_public = |pair: &&str| !secret::is_secret(pair.split('=').next().unwrap_or_default());
    let query = url.query().unwrap_or_default().to_owned();
    let public: Vec<&str> = query.split('&').filter(is_public).collect();
    if !has_user && public.len() == query.split('&').count() && url.fragment().is_none() {
        return text.to_owned();
    }
    // One that has a host can be without a user.
    let _ = (url.set_username(""), url.set_password(None));
    url.set_query(Some(public.join("&")).as_deref().filter(|query| !query.is_empty()));
    // It never reaches a server, and tokens of logins may be left in it.
    url.set_fragment(None);
    url.into()
}

/// The command as it would be typed, except for its secrets.
pub(crate) fn shown(words: &[String], mask: &Mask) -> String {
    format!("throng {}", results::command_line(&mask.command(words.iter().cloned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(pairs: &[(&str, &str)]) -> Result<Vec<String>, String> {
        let pairs: Vec<_> =
            pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        command(&pairs, &["raw", "json"])
    }

    #[test]
    fn a_form_is_a_command_line() {
        let form = [
            ("verb", "echo"),
            ("url", "ws://h:1/ws"),
            ("dialect", "json"),
            ("clients", "1k"),
            ("limit", "p99<250ms"),
        ];
        let words = words(&form).unwrap();
        assert_eq!(words, ["echo", "ws://h:1/ws", "--dialect=json", "--clients=1k", "--limit=p99<250ms"]);
        let mask = Mask::new([0; secret::KEY_BYTES], secret::Flags::default());
        let command = "throng echo ws://h:1/ws --dialect=json --clients=1k '--limit=p99<250ms'";
        assert_eq!(shown(&words, &mask), command);
        assert!(!shown(&["ws://me:secret@h/".to_owned()], &mask).contains("me:secret"));
    }

    #[test]
    fn foreign_and_empty_fields_are_left_out() {
        let form = [
            ("verb", "broadcast"),
            ("clients", "5"),
            ("step-size", ""),
            ("total-steps", "2"),
            ("extra", "x"),
        ];
        assert_eq!(words(&form).unwrap(), ["broadcast", "--total-steps=2"]);
    }

    #[test]
    fn lines_are_headers_and_secrets_are_hidden() {
        let file = tempfile::Builder::new().suffix(".toml").tempfile().unwrap();
        let form = [
            ("verb", "echo"),
            ("app", file.path().to_str().unwrap()),
            ("token", "abc.def"),
            ("header", "Authorization: Bearer sesame\r\n\r\n X-Room: 7 "),
        ];
        let words = words(&form).unwrap();
        assert_eq!(words[1], format!("--app={}", file.path().display()));
        assert_eq!(
            words[2..],
            ["--token=abc.def", "--header=Authorization: Bearer sesame", "--header=X-Room: 7"]
        );
        let flags = secret::Flags::default();
        let shown = shown(&words, &Mask::new([0; secret::KEY_BYTES], flags));
        assert!(!shown.contains("sesame"), "{shown}");
    }

    #[test]
    fn a_refused_form_forgets_its_secrets() {
        let again = |name: &str, value: &str| {
            let (kept, lost) = without_secrets(&[(name.to_owned(), value.to_owned())]);
            (kept.get(name).cloned().unwrap_or_default(), lost.concat())
        };
        for (name, given, kept, lost) in [
            ("verb", "echo", "echo", ""),
            ("clients", "1 000 0", "1 000 0", ""),
            ("extra", "sesame", "", ""),
            ("token", "se same", "", "Token"),
            ("token", "env:JWT", "env:JWT", ""),
            ("header", "Cookie: sesame\r\nX-Room: 7\r\n", "X-Room: 7\r\n", "Headers"),
            ("header", "X-Room: 7\r\n\r\nAccept: */*", "X-Room: 7\r\n\r\nAccept: */*", ""),
            ("header", "Authorization: Bearer env:JWT", "Authorization: Bearer env:JWT", ""),
            ("header", "Authorization Bearer sesame", "", "Headers"),
            ("url", "ws://h:1/ws?room=1", "ws://h:1/ws?room=1", ""),
            ("url", "ws://me:sesame@h:1/ws?room=1", "ws://h:1/ws?room=1", "URL"),
            ("url", "ftp://h/?access_token=sesame&room=1#sesame", "ftp://h/?room=1", "URL"),
            ("url", "wss://h/?token=sesame", "wss://h/", "URL"),
            ("url", "me:sesame@h:1/ws", "", "URL"),
            ("url", "ws//h:1/ws", "ws//h:1/ws", ""),
        ] {
            assert_eq!(again(name, given), (kept.to_owned(), lost.to_owned()), "{name}={given}");
        }
    }

    #[test]
    fn nothing_else_can_be_started() {
        for form in [
            [("verb", "serve"), ("url", "")],
            [("verb", "echo; reboot"), ("url", "")],
            [("verb", "echo"), ("url", "--server-pid=1")],
            [("verb", "echo"), ("url", "file:///etc/passwd")],
            [("verb", "echo"), ("url", "ws://")],
            [("verb", "echo"), ("dialect", "/etc/passwd")],
            [("verb", "echo"), ("dialect", "dialect.toml")],
            [("verb", "echo"), ("clients", "1 --out=/tmp")],
            [("verb", "echo"), ("duration", "$(reboot)")],
            [("verb", "echo"), ("limit", "--strict")],
            [("verb", "echo"), ("app", "/etc/passwd")],
            [("verb", "echo"), ("app", "/no/such/app.toml")],
            [("verb", "echo"), ("token", "a --out=/tmp")],
            [("verb", "echo"), ("header", "Cookie")],
            [("verb", "echo"), ("header", "A: b\n--out=/tmp")],
            [("verb", "saturate"), ("levels", "5,--out")],
        ] {
            assert!(words(&form).is_err(), "{form:?}");
        }
    }
}
