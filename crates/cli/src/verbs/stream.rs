//! `throng stream`: requests whose answers come in pieces.

mod api;

use clap::Args;
use results::Scenario;
use wire::{EndMark, HttpOptions, StreamForm, StreamOptions};

use self::api::Api;
use crate::estimate::Estimate;
use crate::exit::{Exit, Failure};
use crate::verbs::requests::{RequestArgs, for_requests};

/// The help of the flag with the end mark, whose brackets would be a link in a comment.
const END: &str = "The mark of a whole answer, which must be its last event: its data ([DONE]), event:NAME, or a JSON pointer with or without its value (/done=true)";

/// The place of streams of throng's own server.
const OWN_PATH: &str = "/stream";

/// Answers that come in pieces: first event, gaps, stalls, broken answers
///
/// Each connection asks, reads the answer event by event, and asks again: server-sent events, lines of JSON or chunks of
/// text, as language models, MCP servers and log tails answer. The load is that of throng http: closed by default, open with
/// --rate.
#[derive(Args)]
#[command(mut_args(for_streams))]
pub(crate) struct Stream {
    #[command(flatten)]
    requests: RequestArgs,
    /// Ask as clients of this API do: path, body, headers, end mark and tokens. A flag of your own takes precedence
    #[arg(long, value_name = "NAME", value_parser = Api::named, help_heading = "Streams", help = api::help())]
    api: Option<&'static Api>,
    /// The model that --api asks for
    #[arg(long, value_name = "NAME", requires = "api", default_value = "default", help_heading = "Streams")]
    model: String,
    /// The prompt that --api sends; with --users, {person.COLUMN} in it is each client's own
    #[arg(
        long,
        value_name = "TEXT",
        requires = "api",
        default_value = "Count from 1 to 100.",
        help_heading = "Streams"
    )]
    prompt: String,
    /// Form of the answers: sse, ndjson (lines) or text (an event for each read) [default: as Content-Type says]
    #[arg(long = "as", value_name = "FORM", value_parser = form, help_heading = "Streams")]
    form: Option<StreamForm>,
    #[arg(long, value_name = "MARK", help_heading = "Streams", help = END)]
    end: Option<String>,
    /// A JSON pointer to the token in an event, or to a number of tokens, e.g. /choices/0/delta/content
    #[arg(long, value_name = "POINTER", help_heading = "Streams")]
    tokens: Option<String>,
    /// A JSON pointer to a number that grows from event to event
    #[arg(long, value_name = "POINTER", help_heading = "Streams")]
    order: Option<String>,
    /// A gap is a stall above this many times the median gap of its answer, and above 10 ms
    #[arg(long, value_name = "TIMES", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..), help_heading = "Streams")]
    stall: u64,
}

fn form(name: &str) -> Result<StreamForm, String> {
    let known = StreamForm::NAMES.map(|(name, _)| name).join(", ");
    StreamForm::named(name).ok_or_else(|| format!("expected one of {known}"))
}

/// Adapts the help of common flags to streams.
fn for_streams(arg: clap::Arg) -> clap::Arg {
    match arg.get_id().as_str() {
        "max_message" => {
            arg.help("The largest event accepted from the server [default: 16MiB]").help_heading("Requests")
        }
        _ => for_requests(arg),
    }
}

impl Stream {
    /// Runs it.
    pub(crate) fn run(mut self) -> Result<Exit, Failure> {
        if self.requests.run.over_http2 && self.requests.run.url.is_none() {
            let why = "throng's own server streams over HTTP/1.1 only: give the URL of one that has HTTP/2";
            return Err(Failure::usage("--http2", why));
        }
        let own_body = self.requests.body()?;
        let body = match (own_body, self.api) {
            (Some(body), _) => Some(body),
            (None, api) => api.and_then(|api| api.body(&self.model, &self.prompt)),
        };
        if let Some(api) = self.api {
            api.complete(&mut self.requests.run);
        }
        let is_json =
            body.as_ref().is_some_and(|body| matches!(body.trim_ascii().first(), Some(b'{' | b'[')));
        if is_json {
            api::add_header(&mut self.requests.run, "Content-Type", "application/json");
        }
        let usual_method = if body.is_some() { "POST" } else { "GET" };
        let of_api = |text: fn(&Api) -> Option<&'static str>| self.api.and_then(text).map(str::to_owned);
        let end = self.end.clone().or_else(|| of_api(|api| api.end));
        let stream = StreamOptions {
            form: self.form,
            end: end.as_deref().map(EndMark::parse),
            tokens: self.tokens.clone().or_else(|| of_api(|api| api.tokens)),
            order: self.order.clone(),
            stall_times: self.stall,
        };
        let options = HttpOptions {
            method: self.requests.method.clone().unwrap_or_else(|| usual_method.to_owned()),
            body,
            stream: Some(stream),
            pipelining: self.requests.streams,
            ..HttpOptions::default()
        };
        self.requests.load(Scenario::Stream, OWN_PATH, options, |_| {})
    }

    /// Estimates the duration.
    pub(crate) fn estimate(&self) -> Result<Estimate, Failure> {
        self.requests.estimate(self.requests.streams)
    }
}
