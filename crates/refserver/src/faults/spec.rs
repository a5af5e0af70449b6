//! The faults of a server.

/// All that a server is to do wrong; by default, nothing. Times are in nanoseconds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Faults {
    /// The seed of random choices, together with the number of the message or client.
    pub seed: u64,
    /// Messages that are not sent.
    pub drop: Option<MessageSelector>,
    /// Messages that are sent twice.
    pub duplicate: Option<MessageSelector>,
    /// Messages that change places with the next to the same client.
    pub reorder: Option<MessageSelector>,
    /// Messages of which a bit is turned over.
    pub corrupt: Option<MessageSelector>,
    /// Messages of which another client also gets a copy.
    pub stray: Option<MessageSelector>,
    /// Messages of which a client of another room gets a copy, too.
    pub leak: Option<MessageSelector>,
    /// Departures from rooms that are confirmed, but not carried out: clients that left go on to hear what is
    /// said there.
    pub linger: Option<Selector>,
    /// Messages that come later, without holding others up; several add up.
    pub delays: Vec<Delay>,
    /// Messages are served one at a time, each for this long: a queue with deterministic service (D/D/1).
    pub service_ns: Option<u64>,
    /// Messages leave only at multiples of this time.
    pub tick_ns: Option<u64>,
    /// The server does nothing at all.
    pub stall: Option<Wave>,
    /// The server does not read.
    pub deaf: Option<Wave>,
    /// Ends of connections.
    pub endings: Vec<Ending>,
    /// Connections that are left alone for a while after they were accepted.
    pub accept: Option<SlowAccept>,
    /// Connections that are reset when they were accepted.
    pub refuse: Option<Selector>,
    /// Messages that are not sent again, though they are kept …
    pub forget: Option<Selector>,
    /// … those that are sent again twice …
    pub again: Option<Selector>,
    /// … and those that change places with the next: by their number among all that are sent again.
    pub swap: Option<Selector>,
}

/// A choice among numbers, which start at 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Selector {
    /// All of them.
    All,
    /// This one.
    One(u64),
    /// Numbers that leave this residue.
    Residue {
        /// Less than the modulus.
        residue: u64,
        /// Not 0.
        modulus: u64,
    },
    /// Each with this probability.
    Share(f64),
}

/// A choice among messages.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MessageSelector {
    /// By number.
    pub selector: Selector,
    /// Each client's messages have numbers of their own; otherwise all messages are numbered together.
    pub of_each_client: bool,
}

/// Some messages come later.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Delay {
    /// By how much.
    pub time: Time,
    /// The messages that come later.
    pub which: MessageSelector,
}

/// A time, or the distribution that it is drawn from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Time {
    /// Always the same.
    Fixed(u64),
    /// Uniform, both ends included.
    Uniform(u64, u64),
    /// Exponential with this mean.
    Exponential(u64),
}

/// A state that lasts a part of every period: its last part, so that nothing is wrong at the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wave {
    /// How long it lasts: less than the period.
    pub length_ns: u64,
    /// The time from one beginning to the next.
    pub period_ns: u64,
}

/// The end of some clients' connections.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ending {
    /// How it ends.
    pub how: CloseMethod,
    /// Clients, numbered as they were upgraded.
    pub who: Selector,
    /// Instead of the client's message of this number.
    pub at: u64,
}

/// A way for a connection to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CloseMethod {
    /// A close frame (1001).
    Close,
    /// A TCP reset.
    Reset,
    /// Not at all: nothing is sent or read any more, as if the server's machine had gone.
    Mute,
}

/// Some connections are left alone at first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SlowAccept {
    /// For how long.
    pub delay_ns: u64,
    /// Connections, numbered as they were accepted.
    pub who: Selector,
}
