//! The backlog of a server's unix socket. A full one refuses at once, where TCP repeats its first packet: it
//! is left alone for a moment, and is no failure while the server makes room again.

/// How long a full backlog is left alone.
pub(super) const FULL_PAUSE_NS: u64 = 1_000_000;

/// Findings of the connects so far.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    /// The time since which it has had no room.
    full_ns: Option<u64>,
    /// The end of the pause.
    not_before_ns: u64,
}

impl Backlog {
    /// Notes that it had room.
    pub(super) fn handle_room(&mut self) {
        self.full_ns = None;
    }

    /// Notes that it was full.
    pub(super) fn handle_full(&mut self, now_ns: u64) {
        self.not_before_ns = now_ns + FULL_PAUSE_NS;
        self.full_ns.get_or_insert(now_ns);
    }

    /// When to connect at the earliest.
    pub(super) fn not_before_ns(&self) -> u64 {
        self.not_before_ns
    }

    /// Returns whether clients may still wait for room: not for a server that has made none for as long as a
    /// client has to connect.
    pub(super) fn may_wait(&self, timeout_ns: u64, now_ns: u64) -> bool {
        self.full_ns.is_none_or(|since_ns| now_ns.saturating_sub(since_ns) < timeout_ns)
    }
}
