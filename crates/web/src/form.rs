//! Commands that a page may start: a verb, a file or a URL, and flags of the verb.
//!
//! The fields are the flags of the command line itself ([`Options::fields`]). A form becomes the words of a
//! command line: a value never stands alone, so that none can be taken for a flag; the URL has a known scheme
//! and the file is there; and the command line's own parser has to take them ([`Options::check`]).

use std::collections::BTreeMap;
use std::path::Path;

use secret::{Mask, Reference};
use url::Url;

use crate::options::{Field, Kind, Options};

const SCHEMES: [&str; 4] = ["ws", "wss", "http", "https"];
/// The flag whose lines are headers, which have names.
const HEADER: &str = "header";
/// The field for the file that a verb takes by its place.
const FILE: &str = "file";

/// The words after `throng`, or what is wrong with which field. Empty fields, and fields of other verbs, are left out.
pub(crate) fn command(pairs: &[(String, String)], options: &Options) -> Result<Vec<String>, String> {
    let given = |name: &str| {
        let value = pairs.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value.trim());
        (!value.is_empty()).then_some(value)
    };
    let verb = given("verb").and_then(|name| options.verbs.iter().find(|verb| verb.name == name));
    let verb = verb.ok_or("choose what to measure")?;
    // The word of the list, and not the one that came in.
    let mut words = vec![verb.name.clone()];
    if let Some(path) = given(FILE).filter(|_| verb.has_file) {
        words.push(checked_file(path).map_err(|problem| format!("file: {problem}"))?);
    }
    words.extend(given("url").map(checked_url).transpose()?);
    for field in options.fields.iter().filter(|field| field.verbs.contains(&verb.name)) {
        if let Some(value) = given(&field.name) {
            add(&mut words, field, value).map_err(|problem| format!("--{}: {problem}", field.name))?;
        }
    }
    // Masked, since what is wrong is shown with the words that are.
    (options.check)(&options.mask.command(words.iter().cloned()))?;
    Ok(words)
}

fn add(words: &mut Vec<String>, field: &Field, value: &str) -> Result<(), String> {
    let word = |value: &str| format!("--{}={value}", field.name);
    match field.kind {
        Kind::Switch => words.push(format!("--{}", field.name)),
        // A line that is none may be a secret in the wrong place, which no message should repeat.
        Kind::Lines if field.name == HEADER && value.lines().any(|line| !is_header(line.trim())) => {
            return Err("expected a line such as Authorization: Bearer env:JWT".into());
        }
        Kind::Lines => {
            words.extend(value.lines().map(str::trim).filter(|line| !line.is_empty()).map(word));
        }
        Kind::File => words.push(word(&checked_file(value)?)),
        Kind::Text if field.values.is_empty() => words.push(word(value)),
        Kind::Text => {
            let known = field.values.iter().find(|known| *known == value);
            words.push(word(known.ok_or("choose one of the list")?));
        }
    }
    match words.iter().any(|word| word.contains(char::is_control)) {
        true => Err("expected one line of text".into()),
        false => Ok(()),
    }
}

fn checked_url(text: &str) -> Result<String, String> {
    let url =
        Url::parse(text).map_err(|error| format!("URL: {error}; for example ws://127.0.0.1:9000/ws"))?;
    if !SCHEMES.contains(&url.scheme()) || url.host().is_none() {
        return Err("URL: expected ws://, wss://, http:// or https:// and a host".into());
    }
    Ok(url.into())
}

/// A path that stands for a file and for no flag.
fn checked_file(path: &str) -> Result<String, String> {
    match Path::new(path).is_file() && !path.starts_with('-') {
        true => Ok(path.to_owned()),
        false => Err("expected the path of a file on this machine".into()),
    }
}

/// The fields of a refused form to show again, by name, and the fields that lost a secret. A page is kept by
/// browsers and seen by those who pass, so that a secret does not come back; `env:NAME` and `file:PATH` are
/// none.
pub(crate) fn without_secrets(
    pairs: &[(String, String)],
    options: &Options,
) -> (BTreeMap<String, String>, Vec<String>) {
    let mut kept = BTreeMap::new();
    let mut lost = Vec::new();
    for (name, value) in pairs {
        let left = match options.fields.iter().find(|field| field.name == *name) {
            // Line by line: one secret does not take the others with it.
            Some(field) => value
                .split_inclusive('\n')
                .filter(|line| is_public(field, line.trim(), options.mask))
                .collect(),
            None if name == "url" => without_credentials(value),
            None if matches!(name.as_str(), "verb" | FILE) => value.clone(),
            // No field of ours.
            None => continue,
        };
        if left != *value {
            lost.push(name.clone());
        }
        kept.insert(name.clone(), left);
    }
    (kept, lost)
}

/// Returns whether a line of a field holds no secret, or says where its secret is.
fn is_public(field: &Field, line: &str, mask: &Mask) -> bool {
    if field.name == HEADER {
        return is_public_header(line);
    }
    let word = format!("--{}={line}", field.name);
    mask.command([word.clone()]) == [word]
}

/// Returns whether a line is empty, names a header that is no secret's, or says where its secret is.
fn is_public_header(line: &str) -> bool {
    let Some((name, value)) = line.split_once(':').filter(|_| is_header(line)) else {
        return line.is_empty();
    };
    !secret::is_secret(name) || Reference::of_header(value.trim()).is_some()
}

/// Returns whether a line is empty, or a header whose name is a token of RFC 9110 §5.6.2.
fn is_header(line: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    let name = line.split_once(':').map(|(name, _)| name);
    line.is_empty() || name.is_some_and(|name| !name.is_empty() && name.chars().all(is_part))
}

/// A URL without user, password and the secrets of its query. What is none may be anything, and is kept only
/// if it has no place for them.
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
    use crate::options::Verb;

    fn options() -> Options {
        let field = |name: &str, verbs: &[&str], kind, values: &[&str]| Field {
            name: name.into(),
            label: String::new(),
            group: String::new(),
            example: String::new(),
            values: values.iter().map(ToString::to_string).collect(),
            verbs: verbs.iter().map(ToString::to_string).collect(),
            kind,
        };
        let verb = |name: &str, has_file| Verb { name: name.into(), about: String::new(), has_file };
        let mask = Box::leak(Box::new(Mask::new([0; secret::KEY_BYTES], secret::Flags::default())));
        Options {
            listen: ([127, 0, 0, 1], 0).into(),
            token: String::new(),
            store: "runs.db".into(),
            program: "throng".into(),
            words_verb: "",
            mask,
            verbs: vec![verb("echo", false), verb("run", true)],
            fields: vec![
                field("clients", &["echo", "run"], Kind::Text, &[]),
                field("protocol", &["echo"], Kind::Text, &["raw", "json"]),
                field("app", &["echo"], Kind::File, &[]),
                field("token", &["echo"], Kind::Text, &[]),
                field("header", &["echo"], Kind::Lines, &[]),
                field("strict", &["echo"], Kind::Switch, &[]),
            ],
            check: Box::new(|words| match words.iter().any(|word| word == "--clients=0") {
                true => Err("clients: 0".into()),
                false => Ok(()),
            }),
        }
    }

    fn owned(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    fn words(pairs: &[(&str, &str)]) -> Result<Vec<String>, String> {
        command(&owned(pairs), &options())
    }

    #[test]
    fn a_form_is_a_command_line() {
        let form = [
            ("verb", "echo"),
            ("url", "ws://h:1/ws"),
            ("protocol", "json"),
            ("clients", "1k"),
            ("strict", "on"),
            ("extra", "x"),
        ];
        let words = words(&form).unwrap();
        assert_eq!(words, ["echo", "ws://h:1/ws", "--clients=1k", "--protocol=json", "--strict"]);
        let command = "throng echo ws://h:1/ws --clients=1k --protocol=json --strict";
        assert_eq!(shown(&words, options().mask), command);
        assert!(!shown(&["ws://me:secret@h/".to_owned()], options().mask).contains("me:secret"));
    }

    #[test]
    fn foreign_and_empty_fields_are_left_out() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = file.path().to_str().unwrap();
        let form = [("verb", "run"), ("file", path), ("clients", ""), ("token", "x"), ("extra", "x")];
        assert_eq!(words(&form).unwrap(), ["run", path]);
        assert_eq!(words(&[("verb", "echo"), ("file", path)]).unwrap(), ["echo"]);
    }

    #[test]
    fn lines_are_headers_and_secrets_are_hidden() {
        let form = [
            ("verb", "echo"),
            ("token", "abc.def"),
            ("header", "Authorization: Bearer sesame\r\n\r\n X-Room: 7 "),
        ];
        let words = words(&form).unwrap();
        assert_eq!(
            words[1..],
            ["--token=abc.def", "--header=Authorization: Bearer sesame", "--header=X-Room: 7"]
        );
        let shown = shown(&words, options().mask);
        assert!(!shown.contains("sesame"), "{shown}");
    }

    #[test]
    fn a_refused_form_forgets_its_secrets() {
        let again = |name: &str, value: &str| {
            let (kept, lost) = without_secrets(&owned(&[(name, value)]), &options());
            (kept.get(name).cloned().unwrap_or_default(), lost.concat())
        };
        for (name, given, kept, lost) in [
            ("verb", "echo", "echo", ""),
            ("clients", "1 000 0", "1 000 0", ""),
            ("extra", "sesame", "", ""),
            ("token", "se same", "", "token"),
            ("token", "env:JWT", "env:JWT", ""),
            ("header", "Cookie: sesame\r\nX-Room: 7\r\n", "X-Room: 7\r\n", "header"),
            ("header", "X-Room: 7\r\n\r\nAccept: */*", "X-Room: 7\r\n\r\nAccept: */*", ""),
            ("header", "Authorization: Bearer env:JWT", "Authorization: Bearer env:JWT", ""),
            ("header", "Authorization Bearer sesame", "", "header"),
            ("url", "ws://h:1/ws?room=1", "ws://h:1/ws?room=1", ""),
            ("url", "ws://me:sesame@h:1/ws?room=1", "ws://h:1/ws?room=1", "url"),
            ("url", "ftp://h/?access_token=sesame&room=1#sesame", "ftp://h/?room=1", "url"),
            ("url", "wss://h/?token=sesame", "wss://h/", "url"),
            ("url", "me:sesame@h:1/ws", "", "url"),
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
            [("verb", "echo"), ("protocol", "/etc/passwd")],
            [("verb", "echo"), ("clients", "0")],
            [("verb", "echo"), ("clients", "1\n--out=/tmp")],
            [("verb", "echo"), ("app", "/no/such/app.toml")],
            [("verb", "echo"), ("header", "Authorization Bearer sesame")],
            [("verb", "run"), ("file", "--out=/tmp")],
            [("verb", "run"), ("file", "/no/such/app.toml")],
        ] {
            assert!(words(&form).is_err(), "{form:?}");
        }
    }
}
