//! The record of one client.

use crate::books::awaiting::Awaiting;
use crate::books::echoes::Echoes;

/// How far a client has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum State {
    /// No connection.
    #[default]
    Vacant,
    /// TCP connect under way.
    Connecting,
    /// Connected; TLS, upgrade or the dialect's readiness under way.
    Opening,
    /// Takes part in the load.
    Usable,
    /// We have said goodbye.
    Closing,
}

/// The record of one client.
#[derive(Debug, Default)]
pub(crate) struct Record {
    pub(crate) state: State,
    /// When the TCP connect began.
    pub(crate) started_ns: u64,
    /// When the current part of the handshake began.
    pub(crate) since_ns: u64,
    pub(crate) echoes: Echoes,
    /// When it lost its connection in a storm; 0: it has not, or is back.
    pub(crate) lost_ns: u64,
    /// Its latest absence of the step, counted from 1, or 0 without one; and whether that lasts.
    pub(crate) absence: u32,
    pub(crate) is_away: bool,
    /// When the latest message was sent that came over its present connection.
    pub(crate) latest_ns: u64,
    /// The messages under way, where the step's terms say that they are awaited.
    pub(crate) awaiting: Awaiting,
    /// Broadcasts received since it was usable.
    pub(crate) copies: u32,
    /// Broadcasts of its own that have not been acknowledged yet.
    pub(crate) unacknowledged: u32,
    /// Echoes that will not come: their connections broke, and others took their place.
    pub(crate) dropped: u32,
    /// True if it has been usable: its next connection is not a newcomer's.
    pub(crate) was_usable: bool,
    /// True if it reads slowly; has just done so; and waits before it reads again.
    pub(crate) is_slow: bool,
    pub(crate) has_paused: bool,
    pub(crate) is_waiting: bool,
}

impl Record {
    /// Begins a step: what was under way in the last one stays in that one's books.
    pub(crate) fn start_step(&mut self) {
        self.echoes = Echoes::default();
        self.awaiting = Awaiting::default();
        self.copies = 0;
        (self.absence, self.is_away, self.latest_ns) = (0, false, 0);
        self.unacknowledged = 0;
        self.dropped = 0;
    }

    /// Returns whether its connection is on its way to be usable.
    pub(crate) fn is_opening(&self) -> bool {
        matches!(self.state, State::Connecting | State::Opening)
    }
}
