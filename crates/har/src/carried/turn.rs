//! Messages without their protocol.

use std::collections::BTreeMap;

use crate::recording::Text;

/// Messages that a protocol carried, and how it connected.
#[derive(Default)]
pub(crate) struct Carried {
    /// Its name in a file.
    pub(crate) protocol: &'static str,
    /// The name of what is spoken over it, where throng knows that as words of a file alone.
    pub(crate) speaks: Option<&'static str>,
    /// Options with which it connects and joins.
    pub(crate) flags: Vec<Flag>,
    /// The end of each record, where a frame has several.
    pub(crate) separator: Option<&'static str>,
    /// Parameters of the query that throng adds itself.
    pub(crate) own_query: &'static [&'static str],
    /// The path of the opening request, if it is not as recorded.
    pub(crate) path: Option<String>,
    /// True if the file says which subprotocols are offered.
    pub(crate) names_subprotocols: bool,
    /// The app's messages, by time.
    pub(crate) turns: Vec<Turn>,
    /// Remarks for the reader of the file.
    pub(crate) notes: Vec<String>,
}

impl Carried {
    /// The name of what is spoken, for the reader.
    pub(crate) fn name(&self) -> &'static str {
        self.speaks.unwrap_or(self.protocol)
    }
}

/// An option of the protocol.
pub(crate) struct Flag {
    pub(crate) name: &'static str,
    pub(crate) text: String,
}

impl Flag {
    pub(super) fn new(name: &'static str, text: impl Into<String>) -> Flag {
        Flag { name, text: text.into() }
    }
}

/// A message of the app.
#[derive(Clone, Debug, Default)]
pub(crate) struct Turn {
    pub(crate) at_s: f64,
    pub(crate) is_sent: bool,
    /// The name under which it went, where the protocol has such.
    pub(crate) event: Option<String>,
    /// The message, as a file has it and conditions look at it.
    pub(crate) body: String,
    /// The number by which it asks for a reply of the protocol.
    pub(crate) asks: Option<String>,
    /// The number of the message that it is the reply to.
    pub(crate) answers: Option<String>,
    /// The signs of its kind, where its protocol has others than apps have. A reply with such is told by the file.
    pub(crate) signs: Vec<Sign>,
    /// Values that a file has in place of those that were said.
    pub(crate) fixed: Vec<Sign>,
}

/// A text at a place of a message.
#[derive(Clone, Debug)]
pub(crate) struct Sign {
    pub(crate) pointer: &'static str,
    pub(crate) text: String,
}

impl Sign {
    pub(super) fn new(pointer: &'static str, text: &str) -> Sign {
        Sign { pointer, text: text.to_owned() }
    }
}

impl Turn {
    /// Returns whether the file has to recognise it as a reply.
    pub(crate) fn is_told_reply(&self) -> bool {
        self.answers.is_some() && !self.signs.is_empty()
    }

    /// Returns whether the protocol recognises it as a reply.
    pub(crate) fn is_reply(&self) -> bool {
        self.answers.is_some() && self.signs.is_empty()
    }

    pub(super) fn of(text: &Text, body: impl Into<String>) -> Turn {
        Turn { at_s: text.at_s, is_sent: text.is_sent, body: body.into(), ..Turn::default() }
    }
}

/// The name with most votes; of several, the first in the order of their names.
pub(super) fn most<'a>(votes: impl Iterator<Item = &'a str>) -> Option<String> {
    let counts = counted(votes);
    let most = counts.values().max().copied();
    counts.into_iter().find(|(_, count)| Some(*count) == most).map(|(name, _)| name.to_owned())
}

/// Remarks on what is left out, by names of the app's own: the rest of an address may be a token.
pub(super) fn left_out(names: impl Iterator<Item = String>) -> Vec<String> {
    counted(names).into_iter().map(|(name, count)| format!("left out: {name} ({count})")).collect()
}

fn counted<T: Ord>(names: impl Iterator<Item = T>) -> BTreeMap<T, usize> {
    let mut counts: BTreeMap<T, usize> = BTreeMap::new();
    for name in names {
        *counts.entry(name).or_default() += 1;
    }
    counts
}
