//! `throng init`: the beginning of an app's file, from an example or from what a browser recorded.

pub(super) mod new_file;
pub(super) mod recorded;

use std::io::{self, IsTerminal};
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::exit::{Exit, Failure};
use crate::{output, stderr};

/// Write an app's file that runs as it is, with comments on what to change (throng docs app)
///
/// The first eight protocols of --from come with messages of throng's own server, so that `throng run app.toml`
/// works at once; the others need a server of theirs. Put in your app's messages, then give your server's URL.
///
/// Recordings: throng record URL writes the file from a session through a proxy, and --from session.har from
/// what a browser recorded: the login, what is said before the load, and what is measured (throng docs
/// recording). Names, passwords and tokens go into a CSV beside it, for your eyes only.
#[derive(Args)]
pub(crate) struct Init {
    /// File to write
    #[arg(value_name = "FILE", default_value = "app.toml")]
    file: PathBuf,
    #[arg(long, value_name = "PROTOCOL|HAR", value_parser = From::parse, help = from_help())]
    from: Vec<From>,
    #[command(flatten)]
    check: recorded::CheckArgs,
}

/// The help of `--from`.
fn from_help() -> String {
    format!(
        "Protocol of your app's clients: {}; or a HAR, of which two, of two users, tell their values apart [default: \
         asks, on a terminal]",
        Protocol::names()
    )
}

/// The beginning of a file.
#[derive(Clone, Debug)]
enum From {
    Example(Protocol),
    Recording(PathBuf),
}

impl From {
    /// Reads a protocol's name, or the path of a HAR.
    fn parse(text: &str) -> Result<From, String> {
        match Protocol::from_str(text, true) {
            Ok(protocol) => Ok(From::Example(protocol)),
            Err(_) if text.contains(['.', '/']) => Ok(From::Recording(text.into())),
            Err(_) => Err(format!("expected a HAR, such as session.har, or one of {}", Protocol::names())),
        }
    }
}

/// Protocols that carry an app's messages.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Protocol {
    /// Messages of its own over a WebSocket: ws, FastAPI, Django Channels, gorilla, …
    Plain,
    /// Rails
    Actioncable,
    /// Channels
    Phoenix,
    /// Events
    Socketio,
    /// sockjs-client, Spring
    Sockjs,
    /// Subscriptions over graphql-transport-ws
    Graphql,
    /// Server-sent events: EventSource
    Sse,
    /// Streamed answers: language models
    Stream,
    /// The Model Context Protocol, over streamable HTTP
    Mcp,
    /// Subscriptions over graphql-ws, the older subprotocol
    GraphqlWsLegacy,
    /// Phoenix LiveView
    Liveview,
    /// Laravel Reverb, Pusher, Soketi
    Pusher,
    /// ASP.NET Core
    Signalr,
    /// ASP.NET Core, with MessagePack
    SignalrMsgpack,
    /// Spring, RabbitMQ, ActiveMQ
    Stomp,
    /// Centrifugo
    Centrifugo,
    /// Supabase Realtime
    Supabase,
    /// JSON-RPC
    Jsonrpc,
    /// Charge points, OCPP 1.6
    Ocpp,
    /// Moves to the others, without an answer: games, cursors, sensors
    Game,
    /// What the server says by itself: dashboards, exchanges
    Ticker,
}

/// Parts of most apps, as comments.
const BESIDES: &str = include_str!("besides.toml");

/// Steps that many apps take before the load, as a comment behind the file's first paragraph: keys of the
/// whole file stand before all tables.
const OPENING: &str = "
# open = [                      # what a client says before the load, and what it waits for
#   { STEP },
#   { expect = { contains = \"joined\" } },
# ]";
const STEP: &str = r#"send = '{"type":"join","room":"{room}"}'"#;
const STEP_OF_EVENTS: &str = r#"event = "join", send = '{"room":"{room}"}'"#;

impl Protocol {
    /// The names of all, with commas between them.
    fn names() -> String {
        let values = Protocol::value_variants().iter().filter_map(ValueEnum::to_possible_value);
        let names: Vec<String> = values.map(|value| value.get_name().to_owned()).collect();
        names.join(", ")
    }

    /// The example for it, in a file of this name.
    fn example_in(self, file: &str) -> String {
        let own = self.to_possible_value().expect("none is hidden");
        let example = self.example().replacen(&format!("{}.toml", own.get_name()), file, 1);
        // It says already what is said before the load, or only receives.
        if example.contains("\nopen = ") || matches!(self, Self::Sse | Self::Stream | Self::Mcp) {
            return example;
        }
        let step = if example.contains("\nevent = ") { STEP_OF_EVENTS } else { STEP };
        example.replacen("\n\n", &format!("\n{}\n\n", OPENING.replace("STEP", step)), 1)
    }

    /// Parts of most apps that the example lacks, as comments.
    fn besides(self) -> String {
        match self {
            // Users of streams have neither rooms nor messages; what else there is is in the example.
            Self::Stream | Self::Mcp => String::new(),
            // Its example has the request already, which opens no WebSocket.
            Self::Sse => {
                let parts = BESIDES.split("\n\n").filter(|part| !part.starts_with("# [connect]"));
                parts.collect::<Vec<_>>().join("\n\n").replace("the WebSocket opens", "the stream opens")
            }
            _ => BESIDES.to_owned(),
        }
    }

    fn example(self) -> &'static str {
        match self {
            Self::Plain => include_str!("../../apps/plain.toml"),
            Self::Actioncable => include_str!("../../apps/actioncable.toml"),
            Self::Phoenix => include_str!("../../apps/phoenix.toml"),
            Self::Socketio => include_str!("../../apps/socketio.toml"),
            Self::Sockjs => include_str!("../../apps/sockjs.toml"),
            Self::Graphql => include_str!("../../apps/graphql.toml"),
            Self::Sse => include_str!("../../apps/sse.toml"),
            Self::Stream => include_str!("../../apps/stream.toml"),
            Self::Mcp => include_str!("../../apps/mcp.toml"),
            Self::GraphqlWsLegacy => include_str!("../../apps/graphql-ws-legacy.toml"),
            Self::Liveview => include_str!("../../apps/liveview.toml"),
            Self::Pusher => include_str!("../../apps/pusher.toml"),
            Self::Signalr => include_str!("../../apps/signalr.toml"),
            Self::SignalrMsgpack => include_str!("../../apps/signalr-msgpack.toml"),
            Self::Stomp => include_str!("../../apps/stomp.toml"),
            Self::Centrifugo => include_str!("../../apps/centrifugo.toml"),
            Self::Supabase => include_str!("../../apps/supabase.toml"),
            Self::Jsonrpc => include_str!("../../apps/jsonrpc.toml"),
            Self::Ocpp => include_str!("../../apps/ocpp.toml"),
            Self::Game => include_str!("../../apps/game.toml"),
            Self::Ticker => include_str!("../../apps/ticker.toml"),
        }
    }

    /// Returns whether throng's own server understands the example.
    fn is_served(self) -> bool {
        use Protocol::{Actioncable, Graphql, Phoenix, Plain, Socketio, Sockjs, Sse, Stream};
        matches!(self, Plain | Actioncable | Phoenix | Socketio | Sockjs | Graphql | Sse | Stream)
    }

    /// The topic of `throng docs` with the login, the rooms and the errors of its servers.
    fn topic(self) -> &'static str {
        match self {
            Self::Actioncable => "rails",
            Self::Phoenix | Self::Liveview => "phoenix",
            Self::Socketio => "socketio",
            Self::Graphql | Self::GraphqlWsLegacy => "graphql",
            Self::Sse | Self::Stream | Self::Mcp => "streams",
            Self::Pusher => "laravel",
            Self::Signalr | Self::SignalrMsgpack => "signalr",
            Self::Stomp => "stomp",
            Self::Centrifugo => "centrifugo",
            Self::Supabase => "supabase",
            Self::Jsonrpc | Self::Ocpp => "jsonrpc",
            Self::Game | Self::Ticker => "games",
            // Servers of any framework speak these.
            Self::Plain | Self::Sockjs => "app",
        }
    }

    /// The usual URL of a developer's server.
    fn usual_url(self) -> &'static str {
        match self {
            Self::Plain => "ws://127.0.0.1:8080/ws",
            Self::Actioncable => "ws://127.0.0.1:3000/cable",
            Self::Phoenix => "ws://127.0.0.1:4000/socket/websocket",
            Self::Socketio => "ws://127.0.0.1:3000/socket.io/",
            Self::Sockjs => "ws://127.0.0.1:8080/sockjs",
            Self::Graphql | Self::GraphqlWsLegacy => "ws://127.0.0.1:4000/graphql",
            Self::Sse => "http://127.0.0.1:3000/events",
            Self::Stream => "http://127.0.0.1:8000/v1/chat/completions",
            Self::Mcp => "http://127.0.0.1:8000/mcp",
            Self::Liveview => "ws://127.0.0.1:4000",
            Self::Pusher => "ws://127.0.0.1:8080/app/app-key?protocol=7",
            Self::Signalr | Self::SignalrMsgpack => "ws://127.0.0.1:5000/chat",
            Self::Stomp => "ws://127.0.0.1:8080/ws",
            Self::Centrifugo => "ws://127.0.0.1:8000/connection/websocket",
            Self::Supabase => "ws://127.0.0.1:54321/realtime/v1/websocket",
            Self::Jsonrpc => "ws://127.0.0.1:8545/",
            Self::Ocpp => "ws://127.0.0.1:9001",
            Self::Game | Self::Ticker => "ws://127.0.0.1:3000/",
        }
    }
}

impl Init {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        let recordings = self.from.iter().filter_map(|from| match from {
            From::Recording(path) => Some(path.clone()),
            From::Example(_) => None,
        });
        let recordings: Vec<PathBuf> = recordings.collect();
        let protocol = match (self.from.as_slice(), recordings.len()) {
            ([], _) => ask()?,
            ([From::Example(protocol)], _) => *protocol,
            (from, count) if count == from.len() && count <= recorded::SESSIONS_MAX => {
                return recorded::write(&self.file, &recordings, &self.check);
            }
            _ => return Err(Failure::usage("--from", "expected one protocol, or one or two HARs")),
        };
        self.check.refuse()?;
        let name = self.file.display().to_string();
        let line = |words: &[&str]| {
            results::command_line(&words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>())
        };
        let url = protocol.usual_url();
        let parts = [protocol.example_in(&name), protocol.besides()];
        let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        new_file::create(&self.file)?.write(parts.join("\n"))?;
        let at_once = if protocol.is_served() {
            let own = line(&["throng", "run", &name]);
            format!("It runs as it is, against throng's own server:\n\n  {own}\n\n")
        } else {
            String::new()
        };
        output::print(&format!(
            "{name} is written. {at_once}Make its words your app's (throng docs {}), and name your server:\n\n  {}\n\n\
             The server's limits and timeouts: {}\n",
            protocol.topic(),
            line(&["throng", "run", &name, url]),
            line(&["throng", "probe", url])
        ))
    }
}

/// Asks for the protocol, by its number or its name.
fn ask() -> Result<Protocol, Failure> {
    let all = Protocol::value_variants();
    let values: Vec<_> = all.iter().filter_map(ValueEnum::to_possible_value).collect();
    // A script would wait for an answer that never comes.
    if !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
        let names: Vec<&str> = values.iter().map(|value| value.get_name()).collect();
        return Err(Failure::usage(
            "--from",
            format_args!("say what your clients speak: {}", names.join(", ")),
        ));
    }
    stderr::line("If the app runs: throng record URL writes its file from a session. If not:");
    stderr::line("What do your app's clients speak?\n");
    for (number, value) in values.iter().enumerate() {
        let about = value.get_help().map(ToString::to_string).unwrap_or_default();
        stderr::line(format_args!("  {}  {:<18} {about}", number + 1, value.get_name()));
    }
    loop {
        stderr::text(format_args!("\nIts number or name: "));
        let mut answer = String::new();
        let read = io::stdin().read_line(&mut answer);
        if read.map_err(|error| Failure::could_not("read_answer", "read the answer", error))? == 0 {
            // The end of the input (Ctrl-D) is no answer.
            return Err(Failure::interrupted());
        }
        let answer = answer.trim();
        let numbered = answer.parse::<usize>().ok().and_then(|number| all.get(number.checked_sub(1)?));
        if let Some(protocol) = numbered.copied().or_else(|| Protocol::from_str(answer, true).ok()) {
            return Ok(protocol);
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::Cli;

    #[test]
    fn topics_are_those_of_the_docs() {
        for protocol in Protocol::value_variants() {
            assert!(Cli::try_parse_from(["throng", "docs", protocol.topic()]).is_ok(), "{protocol:?}");
        }
        assert_eq!(Protocol::Plain.topic(), "app", "it is of no framework");
    }
}
