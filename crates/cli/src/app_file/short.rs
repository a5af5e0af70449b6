//! An app in a few words: what it calls its message, and what goes with it, as flags. They stand for the few
//! lines of a file, and what is made of them is what is made of a file.

use std::collections::BTreeMap;
use std::ops::Range;

use clap::Args;
use load::Workload;
use toml::Spanned;
use wire::{Body, DialectId};

use super::file::{self, Broadcast, Echo, File, NAME_BYTES_MAX, Written};
use super::publish::{Publish, PublishArgs};
use crate::exit::Failure;
use crate::flags::dialect_args::listed;

/// Messages of an app that needs no more than a name and a body.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Messages")]
pub(crate) struct SayArgs {
    /// What your app calls its message: an event of Socket.IO or Phoenix, an action of Action Cable. For more
    /// than that, describe it in a file: --app
    #[arg(long, visible_alias = "action", value_name = "NAME", conflicts_with = "app")]
    event: Option<String>,
    /// What goes with it, or without --event the whole message; {id} must be somewhere in it [default with
    /// --event: what the protocol's guide has its chat send, such as {"body":"{id}"}]
    #[arg(long, value_name = "TEMPLATE", conflicts_with = "app")]
    body: Option<String>,
}

/// The same of what a room is told.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct BroadcastArgs {
    #[command(flatten)]
    say: SayArgs,
    #[command(flatten)]
    publish: PublishArgs,
}

/// The message of the protocols' own chat guides, with an id in it.
const OBJECT: &str = r#"{"body":"{id} {padding}"}"#;
const VALUES: &str = r#""{id} {padding}""#;

impl SayArgs {
    /// These.
    #[cfg(test)]
    pub(super) fn of(event: Option<&str>, body: Option<&str>) -> SayArgs {
        SayArgs { event: event.map(Into::into), body: body.map(Into::into) }
    }

    /// Returns whether there is anything to be said.
    pub(crate) fn is_given(&self) -> bool {
        self.event.is_some() || self.body.is_some()
    }
}

impl From<SayArgs> for BroadcastArgs {
    fn from(say: SayArgs) -> BroadcastArgs {
        BroadcastArgs { say, ..BroadcastArgs::default() }
    }
}

impl From<PublishArgs> for BroadcastArgs {
    fn from(publish: PublishArgs) -> BroadcastArgs {
        BroadcastArgs { publish, ..BroadcastArgs::default() }
    }
}

impl BroadcastArgs {
    /// Returns whether there is anything to be said.
    pub(crate) fn is_given(&self) -> bool {
        self.say.is_given()
    }

    /// How messages are published, if they are.
    pub(crate) fn publish(&self) -> Option<Publish> {
        self.publish.publish()
    }

    /// The same as a file would say it, and the text in which its places are those of the flags, to which
    /// mistakes are laid. `asks_reply`: an answer of the protocol's own is asked for.
    pub(super) fn file(
        &self,
        protocol: DialectId,
        workload: Workload,
        asks_reply: bool,
    ) -> Result<(String, File), Failure> {
        let rules = protocol.facts().app.expect("an app goes over it");
        let name = protocol.facts().protocol;
        let SayArgs { event, body } = &self.say;
        let is_published = self.publish.is_given() && workload == Workload::Broadcast;
        let body = match (body, rules.body) {
            (Some(body), _) if is_published => body.as_str(),
            (Some(_), _) if rules.has_events && event.is_none() => {
                let problem = format!("{name} needs a name for the message, too: --event");
                return Err(Failure::usage("--body", problem));
            }
            (None, _) if !rules.has_events => {
                let with_events =
                    DialectId::carriers().filter(|id| id.facts().app.is_some_and(|r| r.has_events));
                let problem = format!(
                    "{name} has no names for messages, only the message itself: --body; those with names are --protocol {}",
                    listed(with_events)
                );
                return Err(Failure::usage("--event", problem));
            }
            (Some(body), _) => body.as_str(),
            (None, Body::Values(_)) => VALUES,
            (None, _) => OBJECT,
        };
        // Mistakes are shown at their place in a text: where there is no file, in one of the flags.
        let text = format!("--event --body --ack {body}");
        let at = |flag: &str| -> Range<usize> {
            let start = text.find(flag).expect("it is there");
            start..start + flag.len()
        };
        let called = event.as_deref().unwrap_or(name);
        let event = event.clone().map(|event| Spanned::new(at("--event"), event));
        let send = Spanned::new(at("--body"), body.to_owned());
        let replied = asks_reply.then(|| Spanned::new(at("--ack"), true));
        let mut file = File {
            name: Some(Spanned::new(at("--event"), name_of(called))),
            protocol: Some(Spanned::new(at("--event"), name.to_owned())),
            ..File::default()
        };
        match workload {
            Workload::Broadcast if is_published => {
                let post = Some(Spanned::new(at("--body"), String::new()));
                let send = Some(send);
                let (headers, expect, connections, copy) = (BTreeMap::new(), None, None, None);
                let publish = file::Publish { post, headers, body: send, expect, connections, copy };
                file.publish = Some(Spanned::new(at("--body"), publish));
            }
            Workload::Echo => {
                let echo = Echo { event, send, reply: None, replied, keep: Written::new() };
                file.echo = Some(Spanned::new(at("--body"), echo));
            }
            Workload::Broadcast => {
                let broadcast = Broadcast {
                    to: None,
                    event,
                    send,
                    copy: None,
                    own: None,
                    ack: None,
                    replied,
                    keep: Written::new(),
                };
                file.broadcast = Some(Spanned::new(at("--body"), broadcast));
            }
        }
        Ok((text, file))
    }
}

/// A name for results: what of the event's is sound in a name.
fn name_of(event: &str) -> String {
    let words = event.split(|c: char| !c.is_ascii_alphanumeric() && !"_.".contains(c));
    let name = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-");
    let name: String = name.chars().take(NAME_BYTES_MAX).collect();
    if name.is_empty() { "app".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_their_sound_characters() {
        assert_eq!(name_of("chat message"), "chat-message");
        assert_eq!(name_of("message:new"), "message-new");
        assert_eq!(name_of("…"), "app");
        assert_eq!(name_of(&"x".repeat(99)).len(), NAME_BYTES_MAX);
    }
}
