//! The faults of a server.

/// All faults that a server is to commit; by default, none. Times are in nanoseconds.
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
    /// Messages of which a bit is flipped.
    pub corrupt: Option<MessageSelector>,
    /// Messages of which another client also gets a copy.
    pub stray: Option<MessageSelector>,
    /// Messages of which a client of another room gets a copy, too.
    pub leak: Option<MessageSelector>,
    /// Departures from rooms that are confirmed, but not carried out: clients that left still get the
    /// messages of the room.
    pub linger: Option<Selector>,
    /// Messages that are delayed, without holding others up; several delays add up.
    pub delays: Vec<Delay>,
    /// Messages are served one at a time, each for this long: a queue with deterministic service (D/D/1).
    pub service_ns: Option<u64>,
    /// Messages leave only at multiples of this time.
    pub tick_ns: Option<u64>,
    /// The times when the server does nothing at all.
    pub stall: Option<Wave>,
    /// The times when the server does not read.
    pub deaf: Option<Wave>,
    /// Ends of connections.
    pub endings: Vec<Ending>,
    /// Connections that are left alone for a while after they were accepted.
    pub accept: Option<SlowAccept>,
    /// Connections that are reset when they were accepted.
    pub refuse: Option<Selector>,
    /// Messages that are not sent again, though they are kept: by their numbers among all messages that are
    /// sent again.
    pub forget: Option<Selector>,
    /// Messages that are sent again twice; numbered as for `forget`.
    pub again: Option<Selector>,
    /// Messages that are sent again after the next one, in its place; numbered as for `forget`.
    pub swap: Option<Selector>,
}

/// A choice among numbers, which start at 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Selector {
    /// All numbers are chosen.
    All,
    /// One number is chosen.
    One(u64),
    /// Numbers that leave a residue are chosen.
    Residue {
        /// The residue; less than the modulus.
        residue: u64,
        /// The modulus; not 0.
        modulus: u64,
    },
    /// Each number is chosen with this probability.
    Share(f64),
}

/// A choice among messages.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MessageSelector {
    /// The choice among the messages' numbers.
    pub selector: Selector,
    /// True if each client's messages have numbers of their own; otherwise all messages are numbered
    /// together.
    pub of_each_client: bool,
}

/// A delay of some messages.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Delay {
    /// The time by which the messages are delayed.
    pub time: Time,
    /// The messages that are delayed.
    pub which: MessageSelector,
}

/// A time, or the distribution that it is drawn from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Time {
    /// The time is always this one.
    Fixed(u64),
    /// The time is uniform between two ends, both included.
    Uniform(u64, u64),
    /// The time is exponential with this mean.
    Exponential(u64),
}

/// A state that lasts a part of every period: its last part, so that nothing is wrong at the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wave {
    /// The time for which the state lasts: less than the period.
    pub length_ns: u64,
    /// The time from one beginning to the next.
    pub period_ns: u64,
}

/// The end of some clients' connections.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ending {
    /// The way in which the connections end.
    pub how: CloseMethod,
    /// The clients, numbered in the order of their upgrades.
    pub who: Selector,
    /// The number of the client's message in whose place the connection ends.
    pub at: u64,
}

/// A way for a connection to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CloseMethod {
    /// The server sends a close frame (1001).
    Close,
    /// The server resets the TCP connection.
    Reset,
    /// The connection stays open, but nothing is sent or read any more, as if the server's machine had gone.
    Mute,
}

/// A delay after the accept of some connections.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SlowAccept {
    /// The time for which the connections are left alone.
    pub delay_ns: u64,
    /// The connections, numbered in the order of their accepts.
    pub who: Selector,
}
