//! Answers that come in pieces: how they are asked for and read, by flags or an app's file.

mod api;

use clap::Args;
use secret::Secret;
use wire::{EndMark, StreamForm, StreamOptions};

pub(crate) use self::api::Api;
use crate::exit::Failure;

/// The help of the flag with the end mark, whose brackets would be a link in a comment.
const END: &str = "The mark of a whole answer, which must be its last event: its data ([DONE]), event:NAME, or a JSON pointer with or without its value (/done=true); over a WebSocket, it has to be given";
/// The model and the prompt where nobody says others.
const MODEL: &str = "default";
const PROMPT: &str = "Count from 1 to 100.";

/// The API that is spoken, and how its answers are read.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Streams")]
pub(crate) struct StreamArgs {
    /// Ask as clients of this API do: path, body, headers, end mark and tokens. A flag of your own takes precedence
    #[arg(long, value_name = "NAME", value_parser = Api::named, help = api::help())]
    pub(crate) api: Option<&'static Api>,
    /// The model that --api asks for [default: default]
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// The prompt that --api sends; with --users, {person.COLUMN} in it is each client's own [default: Count
    /// from 1 to 100.]
    #[arg(long, value_name = "TEXT")]
    pub(crate) prompt: Option<String>,
    /// Form of the answers: sse, ndjson (lines) or text (an event for each read) [default: as Content-Type says]
    #[arg(long = "as", value_name = "FORM", value_parser = form)]
    pub(crate) form: Option<StreamForm>,
    #[arg(long, value_name = "MARK", value_parser = end_mark, help = END)]
    pub(crate) end: Option<String>,
    /// A JSON pointer to the token in an event, or to a number of tokens, e.g. /choices/0/delta/content
    #[arg(long, value_name = "POINTER")]
    pub(crate) tokens: Option<String>,
    /// A JSON pointer to a number that grows from event to event
    #[arg(long, value_name = "POINTER")]
    pub(crate) order: Option<String>,
    /// A gap is a stall above this many times the median gap of its answer, and above 10 ms [default: 10]
    #[arg(long, value_name = "TIMES", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) stall: Option<u64>,
}

/// Reads the form of an answer.
pub(crate) fn form(name: &str) -> Result<StreamForm, String> {
    let known = StreamForm::NAMES.map(|(name, _)| name).join(", ");
    StreamForm::named(name).ok_or_else(|| format!("expected one of {known}"))
}

/// Reads an end mark. An empty one, such as that of an unset variable, would leave every answer unmarked.
pub(crate) fn end_mark(mark: &str) -> Result<String, String> {
    match mark.strip_prefix("event:").unwrap_or(mark).trim().is_empty() {
        true => Err("expected a mark that is not empty, such as [DONE], event:done or /done=true".to_owned()),
        false => Ok(mark.to_owned()),
    }
}

impl StreamArgs {
    /// The same, with what they leave open as `others` have it.
    pub(crate) fn or(self, others: StreamArgs) -> StreamArgs {
        StreamArgs {
            api: self.api.or(others.api),
            model: self.model.or(others.model),
            prompt: self.prompt.or(others.prompt),
            form: self.form.or(others.form),
            end: self.end.or(others.end),
            tokens: self.tokens.or(others.tokens),
            order: self.order.or(others.order),
            stall: self.stall.or(others.stall),
        }
    }

    /// Refuses what only an API makes use of, where there is none.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let of_api = [("--model", &self.model), ("--prompt", &self.prompt)];
        match of_api.into_iter().find(|(_, text)| text.is_some() && self.api.is_none()) {
            Some((flag, _)) => Err(Failure::usage(flag, "is for --api NAME; --body says the whole body")),
            None => Ok(()),
        }
    }

    /// The body with which the API is asked.
    pub(crate) fn body(&self) -> Option<Vec<u8>> {
        let text = |given: &Option<String>, usual: &str| given.as_deref().unwrap_or(usual).to_owned();
        self.api?.body(&text(&self.model, MODEL), &text(&self.prompt, PROMPT))
    }

    /// How answers are read.
    pub(crate) fn options(&self) -> StreamOptions {
        let of_api = |text: fn(&Api) -> Option<&'static str>| self.api.and_then(text).map(str::to_owned);
        let end = self.end.clone().or_else(|| of_api(|api| api.end));
        let usual = StreamOptions::default();
        StreamOptions {
            form: self.form,
            end: end.as_deref().map(EndMark::parse),
            tokens: self.tokens.clone().or_else(|| of_api(|api| api.tokens)),
            order: self.order.clone(),
            stall_times: self.stall.unwrap_or(usual.stall_times),
        }
    }

    /// Adds the header fields that the API insists on, and the type of this body, unless the user has given others.
    pub(crate) fn complete(&self, headers: &mut Vec<(String, Secret)>, body: Option<&[u8]>) {
        let media = body.and_then(wire::media_of).map(|media| ("Content-Type", media));
        let own = self.api.into_iter().flat_map(|api| api.headers).copied();
        for (name, value) in own.chain(media) {
            if !headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name)) {
                headers.push((name.to_owned(), Secret::from(value)));
            }
        }
    }
}
