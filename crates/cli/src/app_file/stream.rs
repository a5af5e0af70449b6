//! Answers that come in pieces: `[stream]`.

use std::collections::BTreeMap;

use app::app_file::{AppFile, Exchange, LoginRequest, Say};
use app::template::{Names, Purpose, Quoting};
use serde::de::IgnoredAny;
use toml::Spanned;

use super::file::{self, File};
use super::source::Source;
use crate::exit::Failure;
use crate::flags::dialect_args;
use crate::flags::streaming::{self, Api, StreamArgs};
use crate::people;

/// Keys that a file with `[stream]` may have: its users have requests, and no messages, rooms or roles.
const KEYS: [&str; 7] = ["name", "data", "people", "login", "connect", "load", "stream"];

/// How a file has its answers asked for and read.
#[derive(Debug, Default)]
pub(crate) struct Streaming {
    pub(crate) args: StreamArgs,
    pub(crate) method: Option<String>,
    pub(crate) body: Option<Vec<u8>>,
    /// True if the file names the path of its requests.
    pub(crate) has_path: bool,
}

/// Reads `[stream]`.
pub(super) fn streaming(source: &Source<'_>, file: &File) -> Result<Streaming, Failure> {
    let Some(written) = &file.stream else {
        return Err(source.error(0..0, "has no [stream], which throng stream asks for (throng docs streams)"));
    };
    let file::Stream { api, model, prompt, method, body, form, end, tokens, order, stall } =
        written.get_ref();
    let text = |text: &Option<Spanned<String>>| text.as_ref().map(|text| text.get_ref().clone());
    let pointer = |pointer: &Option<Spanned<String>>| match pointer {
        Some(odd) if !odd.get_ref().starts_with('/') => {
            Err(source.error(odd.span(), "expected a JSON pointer, such as /choices/0/delta/content"))
        }
        _ => Ok(text(pointer)),
    };
    if let (Some(odd), None) = (model.as_ref().or(prompt.as_ref()), api) {
        return Err(source.error(odd.span(), "is for an `api`; `body` says the whole body"));
    }
    if let Some(odd) = stall.as_ref().filter(|stall| *stall.get_ref() == 0) {
        return Err(source.error(odd.span(), "expected one at least"));
    }
    Ok(Streaming {
        args: StreamArgs {
            api: named(source, api.as_ref(), Api::named)?,
            model: text(model),
            prompt: text(prompt),
            form: named(source, form.as_ref(), streaming::form)?,
            end: named(source, end.as_ref(), streaming::end_mark)?,
            tokens: pointer(tokens)?,
            order: pointer(order)?,
            stall: stall.as_ref().map(|stall| *stall.get_ref()),
        },
        method: named(source, method.as_ref(), dialect_args::stream_method)?,
        body: text(body).map(String::into_bytes),
        has_path: file.connect.as_ref().is_some_and(|connect| connect.path.is_some()),
    })
}

fn named<T>(
    source: &Source<'_>,
    name: Option<&Spanned<String>>,
    of_name: fn(&str) -> Result<T, String>,
) -> Result<Option<T>, Failure> {
    let Some(name) = name else { return Ok(None) };
    of_name(name.get_ref()).map(Some).map_err(|problem| source.error(name.span(), problem))
}

/// The texts of `[stream]` in which names stand for what is each client's own.
pub(super) fn texts(file: &File) -> impl Iterator<Item = &Spanned<String>> {
    let streams = file.stream.iter().map(Spanned::get_ref);
    streams.flat_map(|stream| stream.body.iter().chain(&stream.prompt))
}

/// The app of clients that log in, and whose requests are what `[stream]` says.
pub(super) fn app(
    source: &Source<'_>,
    file: &File,
    login: Vec<LoginRequest>,
    login_servers: Vec<String>,
    names: &Names,
) -> Result<AppFile, Failure> {
    let keys: BTreeMap<Spanned<String>, IgnoredAny> = toml::from_str(source.text)
        .map_err(|error| source.error(error.span().unwrap_or(0..0), error.message()))?;
    if let Some(odd) = keys.keys().find(|key| !KEYS.contains(&key.get_ref().as_str())) {
        let problem =
            format!("cannot stand beside [stream]: leave it out. Keys there are {}", KEYS.join(", "));
        return Err(source.error(odd.span(), problem));
    }
    streaming(source, file)?;
    for text in texts(file) {
        people::template(text.get_ref(), Purpose::Opening, names, Quoting::JSON)
            .map_err(|problem| source.error(text.span(), problem))?;
    }
    // A message of plain HTTP has nothing of its own: its request is an option of the protocol.
    let echo = Exchange { send: Say::default(), reply: None, keep: Vec::new(), is_replied: false };
    Ok(AppFile {
        name: source.name(file.name.as_ref())?,
        login,
        login_servers,
        echo: Some(echo),
        ..AppFile::default()
    })
}
