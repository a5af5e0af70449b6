//! `throng stream`: requests, or messages, whose answers come in pieces.

use clap::Args;
use results::Scenario;
use wire::HttpOptions;

use crate::app_file;
use crate::estimate::Estimate;
use crate::exit::{Exit, Failure};
use crate::flags::args::RunArgs;
use crate::flags::streaming::StreamArgs;
use crate::verbs::requests::{RequestArgs, for_requests};
use crate::verbs::steps::StepArgs;

/// The place of streams of throng's own server.
const OWN_PATH: &str = "/stream";

/// Answers that come in pieces: first event, gaps, stalls, broken answers
///
/// Each connection asks, reads the answer event by event, and asks again: server-sent events, lines of JSON
/// or chunks of text, as language models, MCP servers and log tails answer; or, with a ws:// URL, messages of a
/// WebSocket. The load is that of throng http: closed by default, open with --rate.
#[derive(Args)]
#[command(mut_args(for_streams))]
pub(crate) struct Stream {
    #[command(flatten)]
    requests: RequestArgs,
    #[command(flatten)]
    asked: StreamArgs,
}

/// Adapts the help of common flags to streams.
fn for_streams(arg: clap::Arg) -> clap::Arg {
    match arg.get_id().as_str() {
        "max_message" => {
            arg.help("The largest event accepted from the server [default: 16MiB]").help_heading("Requests")
        }
        "url" => for_requests(arg)
            .help("The server, e.g. http://127.0.0.1:8000/chat or ws://127.0.0.1:8000/chat [default: throng's own]"),
        // Of WebSockets, which may carry streams, too.
        "compress" | "no_context_takeover" | "subprotocols" => arg,
        "app" => arg
            .help("An app's file with [stream], [[login]] and users; flags take precedence (throng docs streams)")
            .help_heading("Streams"),
        _ => for_requests(arg),
    }
}

impl Stream {
    /// Takes these flags, and leaves all others at their defaults.
    pub(crate) fn of(run: RunArgs, steps: StepArgs) -> Self {
        Self { requests: RequestArgs::of(run, steps), asked: StreamArgs::default() }
    }

    /// Runs it.
    pub(crate) fn run(mut self) -> Result<Exit, Failure> {
        let written = self.requests.run.app.as_deref().map(app_file::read_stream).transpose()?;
        let written = written.unwrap_or_default();
        let asked = self.asked.or(written.args);
        asked.check()?;
        let is_for_websockets = self.requests.is_for_websockets();
        if asked.api.is_some() && is_for_websockets {
            let problem = "names an API over HTTP; over a WebSocket, --body is the message that asks, and --end the last one";
            return Err(Failure::usage("--api", problem));
        }
        let body = self.requests.body()?.or(written.body).or_else(|| asked.body());
        if let Some(api) = asked.api.filter(|_| !written.has_path) {
            api.complete(&mut self.requests.run.url);
        }
        let usual_method = if body.is_some() { "POST" } else { "GET" };
        self.requests.method = self.requests.method.or(written.method);
        let options = HttpOptions {
            method: self.requests.method.clone().unwrap_or_else(|| usual_method.to_owned()),
            body: body.clone(),
            stream: Some(asked.options()),
            pipelining: self.requests.run.streams,
            ..HttpOptions::default()
        };
        let own_path = if written.has_path { "/" } else { OWN_PATH };
        self.requests.load(Scenario::Stream, own_path, options, |plan| {
            // An upgrade has no body whose type could be named.
            if !is_for_websockets {
                asked.complete(&mut plan.client_spec.headers, body.as_deref());
            }
        })
    }

    /// Estimates the duration.
    pub(crate) fn estimate(&self) -> Result<Estimate, Failure> {
        self.requests.estimate(self.requests.run.streams)
    }
}
