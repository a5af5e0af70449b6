//! Scenarios of runs, and their facts: messages, timed figures, and what may be asked of them.

use std::fmt;
use std::str::FromStr;

use stats::Timed;
use thiserror::Error;

/// Scenarios of runs: the verb that was run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Scenario {
    /// Every message comes back to its sender.
    #[default]
    Echo,
    /// Every message goes to every client.
    Broadcast,
    /// The rate grows until the server is overloaded.
    Saturate,
    /// Connections that do nothing.
    Idle,
    /// Clients lose their connections and all come back.
    Storm,
    /// Requests of HTTP.
    Http,
    /// Requests of HTTP whose answers come in pieces.
    Stream,
}

/// Facts of a scenario, one value each.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// Its name: of the verb, in files and in reports.
    pub name: &'static str,
    /// The scenario in a line.
    pub about: &'static str,
    /// True if there is a choice of dialects: requests are what they are.
    pub has_dialects: bool,
    /// The noun of clients' messages.
    pub sends: &'static str,
    /// The figures timed, the main figure first.
    pub timed: &'static [&'static [Timed]],
    /// True if messages are exchanged, so that some can be missing or wrong.
    pub has_messages: bool,
    /// Deliveries due for a message.
    pub due: Due,
    /// True if a rate that was asked for must be kept: in a storm, clients that are away send nothing.
    pub has_rate: bool,
    /// True if connections are lost on purpose, so that the question is which clients are back, not which were lost.
    pub comes_back: bool,
    /// True if rates are swept: limits are broken on purpose, and each number of clients has a highest rate.
    pub sweeps: bool,
    /// True if clients whose answers come sooner ask for more, so that the load ends where something gives out.
    pub is_loop: bool,
}

/// Deliveries due for a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// Its answer.
    Answers,
    /// A copy to each client.
    Copies,
    /// One or the other, as the flags say.
    Either,
}

/// Why a text is no scenario.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("there is no scenario {0:?}; there are {names}", names = names())]
pub struct UnknownScenario(String);

const CONNECTION: &[Timed] = &[
    Timed::Handshake,
    Timed::Tcp,
    Timed::Tls,
    Timed::Login,
    Timed::Upgrade,
    Timed::Ready,
    Timed::Silence,
    Timed::PushGap,
    Timed::PushAge,
    Timed::PushAhead,
];
const EXCHANGE: &[Timed] = &[Timed::Rtt, Timed::Service, Timed::SendLag];
const STREAMED: &[Timed] = &[Timed::First, Timed::FirstToken, Timed::Gap];
const FAN_OUT: &[Timed] = &[Timed::Delivery, Timed::Completion];
const BY_ROOM_SIZE: &[Timed] = &Timed::BY_ROOM_SIZE;
const REPLAY: &[Timed] = &[Timed::Replay];
const VISITS: &[Timed] = &[Timed::Join, Timed::Leave, Timed::Presence];

const ECHO: Facts = Facts {
    name: "echo",
    about: "every message comes back to its sender",
    has_dialects: true,
    sends: "messages",
    timed: &[EXCHANGE, CONNECTION],
    has_messages: true,
    due: Due::Answers,
    has_rate: true,
    comes_back: false,
    sweeps: false,
    is_loop: true,
};
const BROADCAST: Facts = Facts {
    name: "broadcast",
    about: "every message goes to every client, step by step",
    timed: &[EXCHANGE, FAN_OUT, BY_ROOM_SIZE, REPLAY, VISITS, CONNECTION],
    due: Due::Copies,
    ..ECHO
};
const SATURATE: Facts = Facts {
    name: "saturate",
    about: "the rate doubles until the server is overloaded",
    due: Due::Either,
    sweeps: true,
    ..BROADCAST
};
const IDLE: Facts = Facts {
    name: "idle",
    about: "connections that do nothing: what do they cost?",
    timed: &[CONNECTION],
    has_messages: false,
    has_rate: false,
    is_loop: false,
    ..ECHO
};
const STORM: Facts = Facts {
    name: "storm",
    about: "clients lose their connections and all come back",
    timed: &[&[Timed::Recovery], EXCHANGE, CONNECTION],
    has_rate: false,
    comes_back: true,
    is_loop: false,
    ..ECHO
};
const HTTP: Facts =
    Facts { name: "http", about: "requests per second", has_dialects: false, sends: "requests", ..ECHO };

const STREAM: Facts = Facts {
    name: "stream",
    about: "answers that come in pieces",
    timed: &[STREAMED, EXCHANGE, CONNECTION],
    ..HTTP
};

impl Scenario {
    /// Each, in the order in which they are offered.
    pub const ALL: [Scenario; 7] = [
        Scenario::Echo,
        Scenario::Broadcast,
        Scenario::Saturate,
        Scenario::Idle,
        Scenario::Storm,
        Scenario::Http,
        Scenario::Stream,
    ];

    /// The row of the scenario: what it sends, what it times, and which limits it keeps.
    pub const fn facts(self) -> &'static Facts {
        match self {
            Scenario::Echo => &ECHO,
            Scenario::Broadcast => &BROADCAST,
            Scenario::Saturate => &SATURATE,
            Scenario::Idle => &IDLE,
            Scenario::Storm => &STORM,
            Scenario::Http => &HTTP,
            Scenario::Stream => &STREAM,
        }
    }

    /// Its name: of the verb, in files and in reports.
    pub const fn name(self) -> &'static str {
        self.facts().name
    }

    /// The figures it times, the main figure first.
    pub fn timed(self) -> impl Iterator<Item = Timed> {
        self.facts().timed.iter().copied().flatten().copied()
    }

    /// The figure of a bare percentile.
    pub const fn main_figure(self) -> Timed {
        self.facts().timed[0][0]
    }
}

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Scenario {
    type Err = UnknownScenario;

    fn from_str(text: &str) -> Result<Self, UnknownScenario> {
        let found = Scenario::ALL.into_iter().find(|scenario| scenario.name() == text);
        found.ok_or_else(|| UnknownScenario(text.into()))
    }
}

fn names() -> String {
    Scenario::ALL.map(Scenario::name).join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_read_as_it_is_written() {
        for scenario in Scenario::ALL {
            assert_eq!(scenario.to_string().parse(), Ok(scenario));
        }
        let error = "tea".parse::<Scenario>().unwrap_err().to_string();
        assert_eq!(
            error,
            "there is no scenario \"tea\"; there are echo, broadcast, saturate, idle, storm, http, stream"
        );
    }
}
