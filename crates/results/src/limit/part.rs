//! Parts of a step that figures are of: the whole, the messages of one kind, or the people of one role.

use std::fmt;

use stats::{Count, CountOf, Timed};

use super::figure::{Counted, Figure};
use crate::scenario::Scenario;

/// Parts of a step that figures are of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// All of it.
    Whole,
    /// The messages of one kind, where there are several.
    Say(String),
    /// The people of one role.
    Role(String),
}

/// Both kinds of parts, for an error message.
const KNOWN: &str = "; rtt, delivery and counts of one kind of messages, as in say.NAME.delivery.p99, and these and handshake of \
                     one role, as in role.NAME.handshake.p99";

impl Part {
    /// The part that a figure's name begins with, `say.NAME.` or `role.NAME.`, and the name in it.
    pub(crate) fn split(name: &str) -> (Part, &str) {
        let words: Vec<&str> = name.splitn(3, '.').collect();
        match words[..] {
            ["say", say, figure] => (Part::Say(say.into()), figure),
            ["role", role, figure] => (Part::Role(role.into()), figure),
            _ => (Part::Whole, name),
        }
    }

    /// The parts' figures for an error message, behind those of the whole.
    pub(crate) fn known(scenario: Scenario) -> &'static str {
        if is_parted(scenario) { KNOWN } else { "" }
    }

    /// Returns whether a figure of the scenario is told of such a part.
    pub(crate) fn has(&self, figure: Figure, scenario: Scenario) -> bool {
        match (self, figure) {
            (Part::Whole, _) => true,
            _ if !is_parted(scenario) => false,
            (_, Figure::Timed(Timed::Rtt | Timed::Delivery, _)) => true,
            (Part::Role(_), Figure::Timed(Timed::Handshake, _)) => true,
            // What a message was of which not even the stamp can be read, nobody knows.
            (_, Figure::Counted(Counted::Count(Count::Corrupt))) => false,
            (_, Figure::Counted(Counted::Count(count))) if count.facts().of == CountOf::Messages => true,
            (
                Part::Role(_),
                Figure::Counted(Counted::Count(
                    Count::ConnectTimeouts | Count::ConnectFailures | Count::Disconnects,
                )),
            ) => true,
            _ => false,
        }
    }
}

/// How it stands before a figure's name.
impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Part::Whole => Ok(()),
            Part::Say(name) => write!(f, "say.{name}."),
            Part::Role(name) => write!(f, "role.{name}."),
        }
    }
}

/// Returns whether there may be several kinds of messages, and roles.
fn is_parted(scenario: Scenario) -> bool {
    scenario.timed().any(|timed| timed == Timed::Delivery)
}
