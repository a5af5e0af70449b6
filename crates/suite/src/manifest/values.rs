//! Single values of a manifest or a suite, each with what is wrong where it is no such value.

use std::path::Path;
use std::time::Duration;

use net::signals::StopSignal;
use results::format::printable;
use results::units;
use toml::Spanned;
use wire::DialectId;

use crate::mistake::{Mistake, Source};

/// Words in braces that stand for what is known only when a target runs ([`Place`](crate::Place)).
const PLACEHOLDERS: [&str; 8] =
    ["{host}", "{port}", "{admin_port}", "{socket}", "{certificate}", "{key}", "{cores}", "{throng}"];

/// The name of a target's folder, as it is shown and typed.
pub(crate) fn folder_name(folder: &Path) -> String {
    folder.file_name().map(|name| printable(&name.to_string_lossy())).unwrap_or_default()
}

/// The one of these dialects that has that name.
pub(crate) fn dialect(
    source: &Source<'_>,
    name: &Spanned<String>,
    known: impl Iterator<Item = DialectId> + Clone,
) -> Result<DialectId, Mistake> {
    let found = known.clone().find(|dialect| dialect.name() == name.get_ref());
    found.ok_or_else(|| {
        let names: Vec<&str> = known.map(DialectId::name).collect();
        let help = Some(format!("there are {}", names.join(", ")));
        source.mistake(name.span(), format!("there is no protocol {:?}", name.get_ref()), help)
    })
}

pub(super) fn command(source: &Source<'_>, words: &Spanned<Vec<String>>) -> Result<Vec<String>, Mistake> {
    if words.get_ref().is_empty() {
        let help = Some("the program first, then its arguments, e.g. [\"node\", \"main.js\"]".to_owned());
        return Err(source.mistake(words.span(), "the command is empty".to_owned(), help));
    }
    Ok(words.get_ref().clone())
}

/// Why something is as it is, in words that people are shown.
pub(super) fn reason(source: &Source<'_>, text: &Spanned<String>) -> Result<String, Mistake> {
    let why = text.get_ref().trim();
    if why.is_empty() {
        let help = Some("say what the server needs, e.g. \"it starts containers\"".to_owned());
        return Err(source.mistake(text.span(), "the reason is empty".to_owned(), help));
    }
    Ok(why.to_owned())
}

pub(super) fn signal(source: &Source<'_>, name: &Spanned<String>) -> Result<StopSignal, Mistake> {
    StopSignal::from_name(name.get_ref()).ok_or_else(|| {
        let names = StopSignal::ALL.map(StopSignal::name).join(", ");
        let message = format!("{:?} is not a signal to stop with", name.get_ref());
        source.mistake(name.span(), message, Some(format!("there are {names}")))
    })
}

/// A time, as flags write it.
pub(crate) fn time(source: &Source<'_>, text: &Spanned<String>) -> Result<Duration, Mistake> {
    let ns = units::duration_ns(text.get_ref());
    ns.map(Duration::from_nanos).map_err(|error| source.mistake(text.span(), error.to_string(), None))
}

/// A URL of one of these schemes, whose placeholders exist.
pub(super) fn url(source: &Source<'_>, text: &Spanned<String>, schemes: &[&str]) -> Result<String, Mistake> {
    let is_of =
        |scheme: &&str| text.get_ref().strip_prefix(*scheme).is_some_and(|rest| rest.starts_with("://"));
    if !schemes.iter().any(is_of) {
        let help = Some(format!("it starts with {}://", schemes.join(":// or ")));
        return Err(source.mistake(text.span(), "this is not a URL that throng can load".to_owned(), help));
    }
    placeholders(source, text)
}

pub(super) fn placeholders(source: &Source<'_>, text: &Spanned<String>) -> Result<String, Mistake> {
    match unknown(text.get_ref()) {
        None => Ok(text.get_ref().clone()),
        Some(name) => {
            let help = Some(format!("there are {}", PLACEHOLDERS.join(" ")));
            Err(source.mistake(text.span(), format!("there is no placeholder {name}"), help))
        }
    }
}

/// The value of a flag, as it is written on a command line.
pub(crate) fn flag_value(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => text.clone(),
        toml::Value::Boolean(true) => String::new(),
        other => other.to_string(),
    }
}

/// A word in braces that is no placeholder.
fn unknown(text: &str) -> Option<&str> {
    let known = |name: &&str| PLACEHOLDERS.contains(name);
    let mut names = text.match_indices('{').filter_map(|(start, _)| {
        let end = start + text[start..].find('}')?;
        Some(&text[start..=end])
    });
    names.find(|name| !known(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_are_found() {
        assert_eq!(unknown("ws://{host}:{port}/{room}"), Some("{room}"));
        assert_eq!(unknown("http://{host}:{admin_port}/"), None);
    }
}
