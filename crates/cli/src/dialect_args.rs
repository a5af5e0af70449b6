//! The flags that concern single dialects.

use std::convert::Infallible;

use clap::{Args, FromArgMatches, ValueEnum};
use results::units;
use secret::Secret;
use wire::{DialectId, DialectOptions, ServerDialectOptions, TokenPlace};

use crate::exit::Failure;
use crate::secrets::given;

/// Where and how a client subscribes. Flags of other dialects than the one spoken are refused.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Dialect")]
pub(crate) struct DialectArgs {
    /// actioncable: the channel [default: BenchmarkChannel]
    #[arg(long, value_name = "CLASS")]
    channel: Option<String>,
    /// actioncable: parameters of the subscription, e.g. '{"room":1}'
    #[arg(long, value_name = "JSON")]
    channel_params: Option<String>,
    /// actioncable: subscriptions of each client; from the second on they have an id [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    subscriptions: Option<u32>,
    /// phoenix: the topic [default: room:lobby]
    #[arg(long, value_name = "NAME")]
    topic: Option<String>,
    /// phoenix: parameters of the join, e.g. '{"user":1}'; env:NAME and file:PATH keep them out of the list of processes
    #[arg(long, value_name = "JSON", value_parser = given::value)]
    join_params: Option<Secret>,
    /// phoenix: the serializer's version, 1.0.0 or 2.0.0 [default: 2.0.0]
    #[arg(long, value_name = "VERSION")]
    vsn: Option<String>,
    /// sockjs: websocket, raw-websocket, xhr-streaming, xhr-polling, eventsource, htmlfile, jsonp; socketio: websocket,
    /// polling, or upgrade from one to the other [default: websocket]
    #[arg(long, value_name = "NAME")]
    transport: Option<String>,
    /// sockjs: ask for /info first, as browsers do; it is part of the handshake
    #[arg(long)]
    info: bool,
    /// What acknowledges a broadcast: a result of its own, the sender's copy, where servers but pass messages on, or the
    /// answer to a callback [default: result, where the dialect has one]
    #[arg(long, value_enum, value_name = "WHAT")]
    ack: Option<Ack>,
    /// socketio: the namespace [default: /]
    #[arg(long, value_name = "NAME")]
    namespace: Option<String>,
    /// socketio: what lets the client into the namespace, e.g. '{"user":1}', env:NAME or file:PATH
    #[arg(long, value_name = "JSON", value_parser = given::value)]
    auth: Option<Secret>,
    /// socketio: the version of Engine.IO, 3 or 4 [default: 4]
    #[arg(long, value_name = "VERSION")]
    eio: Option<u8>,
    /// phoenix: push messages as binary; socketio: send payloads as attachments
    #[arg(long)]
    binary: bool,
    /// A token to let the client in, e.g. a JWT, better as env:NAME or file:PATH; results record it as *** with a hash
    #[arg(long, value_name = "TOKEN", value_parser = given::value)]
    token: Option<Secret>,
    /// Where it goes: query:NAME, header:NAME or cookie:NAME [default: actioncable query:jid, phoenix query:token]
    #[arg(long, value_name = "PLACE", requires = "token", value_parser = token_place)]
    token_in: Option<TokenPlace>,
}

impl DialectArgs {
    /// The same, as the plan carries it.
    pub(crate) fn options(&self) -> DialectOptions {
        DialectOptions {
            channel: self.channel.clone(),
            channel_params: self.channel_params.clone(),
            subscriptions: self.subscriptions,
            topic: self.topic.clone(),
            join_params: self.join_params.clone(),
            vsn: self.vsn.clone(),
            transport: self.transport.clone(),
            info: self.info,
            acked_by_copy: self.ack == Some(Ack::Copy),
            namespace: self.namespace.clone(),
            auth: self.auth.clone(),
            eio: self.eio,
            acks: self.ack == Some(Ack::Callback),
            binary: self.binary,
            token: self.token.clone(),
            token_in: self.token_in.clone(),
            custom: None,
            http: wire::HttpOptions::default(),
        }
    }
}

impl DialectArgs {
    /// Whether the dialect has a use for all flags given; one that does not exist is told apart later.
    pub(crate) fn check(&self, dialect: DialectId) -> Result<(), Failure> {
        let stranger = |flag: &&str| dialects_of(flag).is_some_and(|dialects| !dialects.contains(&dialect));
        let Some(flag) = self.given().find(stranger) else { return Ok(()) };
        let names: Vec<&str> =
            dialects_of(flag).into_iter().flatten().map(|dialect| dialect.name()).collect();
        let (last, others) = names.split_last().expect("a flag is for some dialect");
        let names =
            if others.is_empty() { (*last).to_owned() } else { format!("{} or {last}", others.join(", ")) };
        let problem = format!("is for --dialect {names}; the clients speak {}", dialect.name());
        Err(Failure::usage(&format!("--{flag}"), problem))
    }

    /// The flags of single dialects that were given, without their dashes.
    pub(crate) fn given(&self) -> impl Iterator<Item = &'static str> {
        let flags = [
            ("channel", self.channel.is_some()),
            ("channel-params", self.channel_params.is_some()),
            ("subscriptions", self.subscriptions.is_some()),
            ("topic", self.topic.is_some()),
            ("join-params", self.join_params.is_some()),
            ("vsn", self.vsn.is_some()),
            ("transport", self.transport.is_some()),
            ("info", self.info),
            (CALLBACK, self.ack == Some(Ack::Callback)),
            ("ack", self.ack.is_some()),
            ("namespace", self.namespace.is_some()),
            ("auth", self.auth.is_some()),
            ("eio", self.eio.is_some()),
            ("binary", self.binary),
        ];
        flags.into_iter().filter(|(_, is_given)| *is_given).map(|(flag, _)| flag)
    }
}

/// `--ack` with a value that one dialect alone has.
const CALLBACK: &str = "ack callback";

/// The dialects that a flag, without its dashes, is for; `None`: any.
pub(crate) fn dialects_of(flag: &str) -> Option<&'static [DialectId]> {
    use DialectId::{Actioncable, Binary, Custom, Json, Phoenix, Socketio, Sockjs};
    Some(match flag {
        "channel" | "channel-params" | "subscriptions" => &[Actioncable],
        "topic" | "join-params" | "vsn" => &[Phoenix],
        "transport" => &[Sockjs, Socketio],
        "info" => &[Sockjs],
        "namespace" | "auth" | "eio" | CALLBACK => &[Socketio],
        "binary" => &[Phoenix, Socketio],
        // Those that have broadcasts.
        "ack" => &[Json, Binary, Sockjs, Actioncable, Phoenix, Socketio, Custom],
        _ => return None,
    })
}

/// A dialect as somebody named it, by its own name: back-offs and flags go by that. What is no alias stays: a file, or a
/// mistake that is told later.
pub(crate) fn dialect_name(given: &str) -> Result<String, Infallible> {
    Ok(DialectId::from_name(given).map_or_else(|| given.to_owned(), |id| id.name().to_owned()))
}

/// Reads the flags of a target's manifest, given as names without dashes and values, as the command line would. A manifest
/// is somebody's file: it has no say in what is read of this user's environment and files.
pub(crate) fn read_flags(flags: &[(String, String)]) -> Result<DialectOptions, String> {
    if let Some((name, _)) = flags.iter().find(|(_, value)| given::is_reference(value)) {
        return Err(format!("{name}: env: and file: are for the command line and for suites"));
    }
    let word = |(name, value): &(String, String)| match value.as_str() {
        "" => format!("--{name}"),
        value => format!("--{name}={value}"),
    };
    let command = DialectArgs::augment_args(clap::Command::new("throng")).no_binary_name(true);
    let matches = command.try_get_matches_from(flags.iter().map(word));
    let args = matches.and_then(|matches| DialectArgs::from_arg_matches(&matches));
    args.map(|args| args.options()).map_err(|error| error.to_string())
}

/// What acknowledges a broadcast.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Ack {
    /// A message for the sender alone
    Result,
    /// The sender's own copy
    Copy,
    /// What the server hands to the callback of the event (socketio); echoes too are asked for so
    Callback,
}

/// What the protocols leave to the server.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Dialects")]
pub(crate) struct ServeDialectArgs {
    /// actioncable: ping every client this often
    #[arg(long, value_name = "TIME", default_value = "3s", value_parser = units::duration_ns)]
    cable_ping_interval: u64,
    /// phoenix: close connections that are silent for this long
    #[arg(long, value_name = "TIME", default_value = "1m", value_parser = units::duration_ns)]
    phoenix_timeout: u64,
    /// sockjs: from one heartbeat to the next
    #[arg(long, value_name = "TIME", default_value = "25s", value_parser = units::duration_ns)]
    sockjs_heartbeat: u64,
    /// sockjs: how long a session over requests lives while its client asks for nothing
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = units::duration_ns)]
    sockjs_disconnect: u64,
    /// sockjs: end a streaming answer after this much, except that of /echo, which ends after 4096 bytes
    #[arg(long, value_name = "SIZE", default_value = "128KiB", value_parser = units::bytes)]
    sockjs_response_limit: u64,
    /// socketio: ping every client this often
    #[arg(long, value_name = "TIME", default_value = "25s", value_parser = units::duration_ns)]
    socketio_ping_interval: u64,
    /// socketio: give up clients that do not answer a ping for this long
    #[arg(long, value_name = "TIME", default_value = "20s", value_parser = units::duration_ns)]
    socketio_ping_timeout: u64,
    /// socketio: give up clients that have not connected to a namespace by then
    #[arg(long, value_name = "TIME", default_value = "45s", value_parser = units::duration_ns)]
    socketio_connect_timeout: u64,
    /// socketio: the largest message, and the largest body of a request
    #[arg(long, value_name = "SIZE", default_value = "1000000", value_parser = units::bytes)]
    socketio_max_payload: u64,
}

impl ServeDialectArgs {
    /// The same, as the server takes it.
    pub(crate) fn options(&self) -> ServerDialectOptions {
        ServerDialectOptions {
            cable_ping_interval_ns: self.cable_ping_interval.max(1),
            phoenix_timeout_ns: self.phoenix_timeout,
            sockjs_heartbeat_ns: self.sockjs_heartbeat.max(1),
            sockjs_disconnect_ns: self.sockjs_disconnect,
            sockjs_response_bytes_max: usize::try_from(self.sockjs_response_limit).unwrap_or(usize::MAX),
            socketio_ping_interval_ns: self.socketio_ping_interval,
            socketio_ping_timeout_ns: self.socketio_ping_timeout,
            socketio_connect_timeout_ns: self.socketio_connect_timeout,
            socketio_payload_bytes_max: usize::try_from(self.socketio_max_payload).unwrap_or(usize::MAX),
        }
    }
}

fn token_place(text: &str) -> Result<TokenPlace, String> {
    let of = |name: &str| name.to_owned();
    match text.split_once(':') {
        Some(("query", name)) if !name.is_empty() => Ok(TokenPlace::Query(of(name))),
        Some(("header", name)) if !name.is_empty() => Ok(TokenPlace::Header(of(name))),
        Some(("cookie", name)) if !name.is_empty() => Ok(TokenPlace::Cookie(of(name))),
        _ => Err("expected query:NAME, header:NAME or cookie:NAME".to_owned()),
    }
}

/// The flag that sets a field of [`DialectOptions`].
pub(crate) fn flag_of(option: &str) -> &'static str {
    match option {
        "channel" => "--channel",
        "channel_params" => "--channel-params",
        "subscriptions" => "--subscriptions",
        "topic" => "--topic",
        "join_params" => "--join-params",
        "vsn" => "--vsn",
        "binary" => "--binary",
        "transport" => "--transport",
        "custom" => "--dialect",
        "sizes" => "--payload-padding",
        "rows" => "--data",
        "method" => "--method",
        "body" => "--body or --input",
        "pipelining" => "--pipelining",
        "keep_alive" => "--no-keep-alive",
        "expect_status" => "--expect-status",
        "namespace" => "--namespace",
        "auth" => "--auth",
        "eio" => "--eio",
        _ => "--token or --token-in",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alias_is_resolved_where_it_is_read() {
        for (given, name) in [
            ("wsdemo", "raw"),
            ("websocket-bench", "json"),
            ("socket.io", "socketio"),
            ("phoenix", "phoenix"),
            ("./chat.toml", "./chat.toml"),
            ("klingon", "klingon"),
        ] {
            assert_eq!(dialect_name(given).as_deref(), Ok(name));
        }
    }
}
