//! The registry: the one place that knows every protocol, and calls whichever a connection speaks. All of it
//! is made of the one table in [`protocols`].

pub(crate) mod clients;
pub(crate) mod requesting;
pub(crate) mod servers;
pub(crate) mod sessions;

use std::sync::LazyLock;

use crate::carried::{AppMessage, MessageTemplate, Shape};
use crate::contract::Protocol;
use crate::dialect_id::{DialectId, GROUP};
use crate::facts::Facts;
use crate::io::Io;
use crate::options::{BadOption, Options};
use crate::protocols;
use crate::resumption::Resumption;
use crate::settings::Settings;

macro_rules! parts {
    ($($id:ident: $module:ident, by $($dialect:ident)|+;)*) => {
        /// The parts a protocol encodes once for all clients of a run.
        #[derive(Debug)]
        pub(crate) enum Parts {
            $($id(<protocols::$module::$id as Protocol>::Parts),)*
        }

        impl Parts {
            /// Adds to a client's request what its protocol asks for.
            pub(crate) fn complete(options: &mut Options) -> Result<(), BadOption> {
                match options.dialect {
                    $($(DialectId::$dialect)|+ => protocols::$module::$id::complete(options),)*
                }
            }

            pub(crate) fn new(options: &Options) -> Result<Parts, BadOption> {
                match options.dialect {
                    $($(DialectId::$dialect)|+ => {
                        protocols::$module::$id::parts(options).map(Parts::$id)
                    })*
                }
            }

            /// How the seeds' benchmark speaks over it.
            pub(crate) fn shape(options: &Options) -> Shape {
                match options.dialect {
                    $($(DialectId::$dialect)|+ => protocols::$module::$id::shape(options),)*
                }
            }

            /// Puts the envelope around a message.
            pub(crate) fn message_template(&self, app_message: &AppMessage<'_>) -> Result<MessageTemplate, BadOption> {
                match self {
                    $(Parts::$id(parts) => protocols::$module::$id::message_template(parts, app_message),)*
                }
            }

            pub(crate) fn handle_templates(&mut self, templates: &[&MessageTemplate]) {
                match self {
                    $(Parts::$id(parts) => protocols::$module::$id::handle_templates(parts, templates),)*
                }
            }

            /// Returns whether a client goes on to need what it was given at its login.
            pub(crate) fn names_kept(&self) -> bool {
                match self {
                    $(Parts::$id(parts) => protocols::$module::$id::names_kept(parts),)*
                }
            }

            /// The question a client asks, below the path, before anything else.
            pub(crate) fn question(&self, settings: &Settings) -> Option<&'static str> {
                match self {
                    $(Parts::$id(_) => protocols::$module::$id::question(settings),)*
                }
            }

            /// Appends what a client adds to the path of its upgrade.
            pub(crate) fn write_path(&self, now_ns: u64, io: &mut impl Io) {
                match self {
                    $(Parts::$id(parts) => protocols::$module::$id::write_path(parts, now_ns, io),)*
                }
            }

            /// The addition of a client that comes back to a session to the query of its upgrade.
            pub(crate) fn query(&self, resumption: &Resumption) -> Option<String> {
                match self {
                    $(Parts::$id(_) => protocols::$module::$id::query(resumption),)*
                }
            }
        }

        impl DialectId {
            /// The facts of the dialect.
            pub fn facts(self) -> &'static Facts {
                match self {
                    $($(DialectId::$dialect)|+ => protocols::$module::$id::facts(self),)*
                }
            }

            /// Returns whether its clients begin with plain requests, or stay with them.
            pub fn is_over_requests(self, settings: &Settings) -> bool {
                match self {
                    $($(DialectId::$dialect)|+ => protocols::$module::$id::is_over_requests(settings),)*
                }
            }
        }
    };
}

protocols!(parts);

/// Protocols by path: asked for at every request.
static PATHS: LazyLock<Vec<(&str, DialectId)>> = LazyLock::new(|| {
    let paths = |&dialect: &DialectId| dialect.facts().paths.iter().map(move |&path| (path, dialect));
    DialectId::ALL.iter().flat_map(paths).collect()
});

impl DialectId {
    /// The name on the command line and in results.
    pub fn name(self) -> &'static str {
        self.facts().name
    }

    /// The dialect of that name or alias.
    pub fn from_name(name: &str) -> Option<DialectId> {
        DialectId::ALL.iter().copied().find(|dialect| dialect.facts().is_called(name))
    }

    /// The dialects that `--protocol` may name: all that are something without a user's own app.
    pub fn named() -> impl Iterator<Item = DialectId> + Clone {
        DialectId::ALL.iter().copied().filter(|dialect| !dialect.facts().needs_app)
    }

    /// The dialects whose clients say something over a connection that stays, and hear what comes of it.
    pub fn conversing() -> impl Iterator<Item = DialectId> + Clone {
        DialectId::named().filter(|dialect| !dialect.facts().asks && !dialect.facts().only_receives)
    }

    /// The dialect of a user's own app over a protocol, which is asked for by its name or an alias.
    pub fn of_protocol(name: &str) -> Option<DialectId> {
        let is_called = |facts: &Facts| facts.protocol == name || facts.aliases.contains(&name);
        DialectId::carriers().find(|dialect| is_called(dialect.facts()))
    }

    /// The dialects over whose protocols a user's own app can go.
    pub fn carriers() -> impl Iterator<Item = DialectId> {
        DialectId::ALL.iter().copied().filter(|dialect| dialect.facts().app.is_some())
    }

    /// The dialect whose servers open a connection with this text, for those that open it with something of
    /// their own.
    pub fn opening_with(text: &str) -> Option<DialectId> {
        let opens = |dialect: &DialectId| dialect.facts().openings.iter().any(|opening| opening.is(text));
        DialectId::ALL.iter().copied().find(opens)
    }

    /// Returns whether [`Kind::Broadcast`](app::Kind::Broadcast) may be sent.
    pub fn can_broadcast(self) -> bool {
        self.facts().can_broadcast
    }

    /// The dialect that a server speaks at a path: raw stands for raw, json and binary, which share all paths
    /// that no other has.
    pub fn at(path: &str) -> DialectId {
        let is_below =
            |of: &str| path.strip_prefix(of).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        PATHS.iter().find(|(of, _)| is_below(of)).map_or(GROUP, |&(_, dialect)| dialect)
    }

    /// The dialect that stands for all that share a broadcast group with this one, as those do that have no
    /// paths of their own: [`Raw`](DialectId::Raw) for raw, json and binary.
    pub fn group(self) -> DialectId {
        if self.facts().paths.is_empty() { GROUP } else { self }
    }
}
