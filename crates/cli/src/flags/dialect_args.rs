//! The flags that concern single dialects: those that the protocols declare, and those that all of them know.

use std::convert::Infallible;

use clap::builder::ValueParser;
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, ValueEnum};
use results::units;
use secret::Secret;
use wire::{Ack, DialectId, DialectOptions, FlagKind, Settings, TokenHome, TokenPlace, Value};

use crate::exit::Failure;
use crate::mistyped;
use crate::protocol_flags::{self, Shared};
use crate::secrets::given;

/// Flags of dialects: how clients speak. Flags of other dialects than the one spoken are refused.
#[derive(Clone, Debug, Default)]
pub(crate) struct DialectArgs {
    of_all: OfAll,
    settings: Settings,
}

/// Flags of all protocols, or of all that have broadcasts.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Protocol")]
struct OfAll {
    /// Acknowledgement of a broadcast: result (a message for the sender), copy (the sender's own copy) or callback
    /// (the answer to the event) [default: result, where the protocol has one]
    #[arg(long, value_enum, value_name = "WHAT")]
    ack: Option<AckArg>,
    /// Token of the clients, e.g. a JWT, better as env:NAME or file:PATH; results record it as *** with a hash
    #[arg(long, value_name = "TOKEN", value_parser = given::value)]
    token: Option<Secret>,
    #[arg(long, value_name = "PLACE", value_parser = token_place, help = token_homes())]
    token_in: Option<TokenPlace>,
}

/// The acknowledgement of a broadcast.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum AckArg {
    /// A message for the sender alone
    Result,
    /// The sender's own copy
    Copy,
    /// What the server hands to the callback of the event; echoes too are asked for so
    Callback,
}

/// `--ack` with a value that few dialects have.
const CALLBACK: &str = "ack callback";

impl DialectArgs {
    /// The options as the plan carries them.
    pub(crate) fn options(&self) -> DialectOptions {
        let OfAll { ack, token, token_in } = self.of_all.clone();
        let ack = match ack {
            None | Some(AckArg::Result) => Ack::Result,
            Some(AckArg::Copy) => Ack::Copy,
            Some(AckArg::Callback) => Ack::Callback,
        };
        DialectOptions { token, token_in, ack, app: None, settings: self.settings.clone() }
    }

    /// Adds the flags of `others` where a flag was not given.
    pub(crate) fn or(self, others: DialectArgs) -> DialectArgs {
        DialectArgs {
            of_all: OfAll {
                ack: self.of_all.ack.or(others.of_all.ack),
                token: self.of_all.token.or(others.of_all.token),
                token_in: self.of_all.token_in.or(others.of_all.token_in),
            },
            settings: self.settings.or(others.settings),
        }
    }

    /// Adds a flag with a text for its value, without its dashes.
    pub(crate) fn with(self, flag: &str, text: &str) -> DialectArgs {
        DialectArgs { settings: self.settings.with(flag, text), ..self }
    }

    /// Returns whether an answer of the server's own is asked for, which broadcasts have in any case where
    /// nothing is said.
    pub(crate) fn asks_reply(&self) -> bool {
        matches!(self.of_all.ack, Some(AckArg::Result | AckArg::Callback))
    }

    /// Refuses a flag for which the dialect has no use.
    pub(crate) fn check(&self, dialect: DialectId) -> Result<(), Failure> {
        let misplaced = self.given().find_map(|flag| Some((flag, misplaced(flag, dialect)?)));
        match misplaced {
            Some((flag, problem)) => {
                Err(Failure::usage(&format!("--{flag}"), problem).because("other_dialect"))
            }
            None => Ok(()),
        }
    }

    /// The flags of single dialects that were given, without their dashes.
    pub(crate) fn given(&self) -> impl Iterator<Item = &str> {
        let ack = match self.of_all.ack {
            None => None,
            Some(AckArg::Callback) => Some(CALLBACK),
            Some(_) => Some("ack"),
        };
        self.settings.names().chain(ack)
    }
}

/// The problem with a flag, without its dashes, that is for other dialects than this one.
pub(crate) fn misplaced(flag: &str, dialect: DialectId) -> Option<String> {
    let dialects = dialects_of(flag).unwrap_or_default();
    if dialects.contains(&dialect) {
        return None;
    }
    // Dialects that need an app's file are not given to `--protocol`.
    let names = listed(dialects.into_iter().filter(|other| !other.facts().needs_app));
    Some(format!("is for --protocol {names}; the clients speak {}", dialect.name()))
}

/// Names with commas and an `or` between them.
pub(crate) fn listed(dialects: impl Iterator<Item = DialectId>) -> String {
    let names: Vec<&str> = dialects.map(DialectId::name).collect();
    match names.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => names.concat(),
    }
}

/// The dialects that a flag, without its dashes, is for; `None`: any.
pub(crate) fn dialects_of(flag: &str) -> Option<Vec<DialectId>> {
    let those = |has: fn(&DialectId) -> bool| Some(DialectId::ALL.iter().copied().filter(has).collect());
    match flag {
        "ack" => those(|dialect| dialect.can_broadcast()),
        CALLBACK => those(|dialect| dialect.facts().has_callbacks),
        // Flags that protocols declare: a flag is of the dialects that declare it.
        _ => {
            let shared = protocol_flags::of_clients().iter().find(|shared| shared.flag.name == flag)?;
            Some(shared.dialects.clone())
        }
    }
}

/// A dialect's own name for the one that the user gave. A text that is no alias stays as it is: a file, or a
/// mistake that is reported later.
pub(crate) fn dialect_name(given: &str) -> Result<String, Infallible> {
    Ok(DialectId::from_name(given).map_or_else(|| given.to_owned(), |id| id.name().to_owned()))
}

/// The help of `--protocol`.
pub(crate) fn dialect_help() -> String {
    let names = DialectId::named().filter(|dialect| !dialect.facts().asks);
    let names: Vec<&str> = names.map(DialectId::name).collect();
    format!(
        "The protocol to speak: {}, or FILE.toml as with --app [default: raw; json for broadcasts, saturate, and echo \
         with -c, -s or --pipelining]",
        names.join(", ")
    )
}

/// The help of `--token-in`.
fn token_homes() -> String {
    let home = |dialect: &DialectId| match dialect.facts().token {
        TokenHome::Query(name) => Some(format!("{} query:{name}", dialect.name())),
        TokenHome::Authorization => Some(format!("{} Authorization: Bearer", dialect.name())),
        TokenHome::Nowhere | TokenHome::Message => None,
    };
    let homes: Vec<String> = DialectId::ALL.iter().filter_map(home).collect();
    format!("Where it goes: query:NAME, header:NAME or cookie:NAME [default: {}]", homes.join(", "))
}

/// Reads the flags of a target's manifest.
pub(crate) fn read_flags(flags: &[(String, String)]) -> Result<DialectOptions, String> {
    parse_flags(flags).map(|args| args.options())
}

/// Reads the flags of a file, given as names without dashes and values, as the command line would. The file
/// may be another user's: it has no say in what is read of this user's environment and files.
pub(crate) fn parse_flags(flags: &[(String, String)]) -> Result<DialectArgs, String> {
    if let Some((name, _)) = flags.iter().find(|(_, value)| given::is_reference(value)) {
        return Err(format!("{name}: env: and file: are for the command line and for suites"));
    }
    let word = |(name, value): &(String, String)| match value.as_str() {
        "" => format!("--{name}"),
        value => format!("--{name}={value}"),
    };
    // Through clap, so that a file's flags have the very checks of the command line's.
    let command = Command::new("throng").no_binary_name(true).disable_help_flag(true);
    let command = DialectArgs::augment_args(command);
    let matches = command.try_get_matches_from(flags.iter().map(word));
    let args = matches.and_then(|matches| DialectArgs::from_arg_matches(&matches));
    args.map_err(|error| mistyped::in_a_line(&error.to_string()))
}

impl Args for DialectArgs {
    fn augment_args(command: Command) -> Command {
        OfAll::augment_args(augment(command, protocol_flags::of_clients(), "Protocol"))
    }

    fn augment_args_for_update(command: Command) -> Command {
        DialectArgs::augment_args(command)
    }
}

impl FromArgMatches for DialectArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<DialectArgs, clap::Error> {
        let settings = settings(matches, protocol_flags::of_clients())?;
        Ok(DialectArgs { of_all: OfAll::from_arg_matches(matches)?, settings })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = DialectArgs::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Choices that the protocols leave to the server.
#[derive(Clone, Debug)]
pub(crate) struct ServeDialectArgs {
    settings: Settings,
}

impl ServeDialectArgs {
    /// The settings as the server takes them.
    pub(crate) fn settings(&self) -> Settings {
        self.settings.clone()
    }
}

impl Args for ServeDialectArgs {
    fn augment_args(command: Command) -> Command {
        augment(command, protocol_flags::of_servers(), "Protocols")
    }

    fn augment_args_for_update(command: Command) -> Command {
        ServeDialectArgs::augment_args(command)
    }
}

impl FromArgMatches for ServeDialectArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<ServeDialectArgs, clap::Error> {
        Ok(ServeDialectArgs { settings: settings(matches, protocol_flags::of_servers())? })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = ServeDialectArgs::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The command with these flags under a heading.
fn augment(command: Command, flags: &'static [Shared], heading: &'static str) -> Command {
    let arg = |Shared { flag, help, .. }: &'static Shared| {
        let arg = Arg::new(flag.name).long(flag.name).help(help.as_str()).help_heading(heading);
        match flag.kind {
            FlagKind::Switch => arg.action(ArgAction::SetTrue),
            FlagKind::Text | FlagKind::OwnText | FlagKind::Json => arg.value_name(flag.value_name),
            FlagKind::Method => arg.value_name(flag.value_name).value_parser(stream_method),
            FlagKind::Secret => arg.value_name(flag.value_name).value_parser(given::value),
            FlagKind::Number { min, max } => {
                let parser = ValueParser::from(clap::value_parser!(u64).range(min..=max));
                arg.value_name(flag.value_name).value_parser(parser)
            }
            // 0 is to be chosen only where it is the default: between two pings, it would leave no time for
            // anything.
            FlagKind::Time(0) => arg.value_name(flag.value_name).value_parser(units::time_ns),
            FlagKind::Time(_) => arg.value_name(flag.value_name).value_parser(units::interval_ns),
            FlagKind::Size(_) => arg.value_name(flag.value_name).value_parser(units::bytes),
        }
    };
    command.args(flags.iter().map(arg))
}

/// The flags that were given.
fn settings(matches: &ArgMatches, flags: &[Shared]) -> Result<Settings, clap::Error> {
    let mut settings = Settings::default();
    for flag in flags.iter().map(|shared| shared.flag) {
        let value = match flag.kind {
            FlagKind::Switch => matches.get_flag(flag.name).then_some(Value::On),
            FlagKind::Text | FlagKind::OwnText | FlagKind::Method | FlagKind::Json => {
                one::<String>(matches, flag.name)?.map(Value::Text)
            }
            FlagKind::Secret => one::<Secret>(matches, flag.name)?.map(Value::Secret),
            FlagKind::Number { .. } | FlagKind::Time(_) | FlagKind::Size(_) => {
                one::<u64>(matches, flag.name)?.map(Value::Number)
            }
        };
        if let Some(value) = value {
            settings = settings.with(flag.name, value);
        }
    }
    Ok(settings)
}

fn one<T: Clone + Send + Sync + 'static>(matches: &ArgMatches, name: &str) -> Result<Option<T>, clap::Error> {
    let value = matches.try_get_one(name).map_err(|error| clap::Error::raw(ErrorKind::Format, error))?;
    Ok(value.cloned())
}

/// Reads the method of the request for a stream.
pub(crate) fn stream_method(text: &str) -> Result<String, String> {
    let method = wire::is_stream_method(text).then(|| text.to_owned());
    method.ok_or_else(|| "expected a method such as GET or POST".to_owned())
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

    #[test]
    fn flags_become_settings_of_their_kind() {
        let flags = [("topic", "room:1"), ("binary", ""), ("subscriptions", "3"), ("auth", "{}")];
        let flags = flags.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let expected = Settings::default()
            .with("topic", "room:1")
            .with("binary", Value::On)
            .with("subscriptions", 3)
            .with("auth", Secret::from("{}"));
        assert_eq!(read_flags(&flags).unwrap().settings, expected);
        for number in ["0", "1001"] {
            let wrong = parse_flags(&[("subscriptions".to_owned(), number.to_owned())]).unwrap_err();
            assert!(wrong.contains("--subscriptions"), "{wrong}");
        }
    }
}
