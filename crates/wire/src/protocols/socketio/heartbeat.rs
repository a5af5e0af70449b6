//! Heartbeats, of either end. One side beats and the other listens: the server beats since version 4, and the
//! client did before.
//!
//! ```text
//! beating:   resting --after the interval: a ping goes--> waiting --a pong--> resting; --none for timeout--> dead
//! listening: resting --a ping, answered with a pong--> resting; --none for interval + timeout--> dead
//! ```

use codec::ws::End;

use super::version::Version;
use crate::failure::Failure;

const NS_PER_MS: u64 = 1_000_000;

/// How often a ping goes, and how long its pong may take: in milliseconds, to be small.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Pace {
    pub(crate) interval_ms: u32,
    pub(crate) timeout_ms: u32,
}

impl Pace {
    /// In whole milliseconds, of which there is one at the least.
    pub(crate) fn new(interval_ns: u64, timeout_ns: u64) -> Pace {
        let ms = |ns: u64| (ns / NS_PER_MS).clamp(1, u32::MAX.into()) as u32;
        Pace { interval_ms: ms(interval_ns), timeout_ms: ms(timeout_ns) }
    }
}

/// The next heartbeat, and when it is due.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Heartbeat {
    pace: Pace,
    due_ns: u64,
    is_beating: bool,
    is_waiting: bool,
}

impl Heartbeat {
    /// The heartbeat of one end of a session that begins.
    pub(crate) fn new(version: Version, end: End, pace: Pace, now_ns: u64) -> Heartbeat {
        // The server beats in version 4 and the client in version 3: so the two are equal in both cases, or
        // in neither.
        let is_beating = (version == Version::V4) == (end == End::Server);
        let mut heartbeat = Heartbeat { pace, due_ns: 0, is_beating, is_waiting: false };
        heartbeat.rest(now_ns);
        heartbeat
    }

    fn rest(&mut self, now_ns: u64) {
        // The listener allows for the other's whole interval, and for as long as a pong may take.
        // The side that beats is sent none: a ping is then from a peer of the other version.
        let listening_ms = if self.is_beating { 0 } else { self.pace.timeout_ms };
        let due_ms = u64::from(self.pace.interval_ms) + u64::from(listening_ms);
        self.is_waiting = false;
        self.due_ns = now_ns + due_ms * NS_PER_MS;
    }

    /// A ping came in, which is to be answered.
    pub(crate) fn handle_ping(&mut self, now_ns: u64) -> Result<(), Failure> {
        if self.is_beating {
            return Err(Failure::BadMessage);
        }
        self.rest(now_ns);
        Ok(())
    }

    /// A pong came in.
    pub(crate) fn handle_pong(&mut self, now_ns: u64) -> Result<(), Failure> {
        if !self.is_beating {
            return Err(Failure::BadMessage);
        }
        self.rest(now_ns);
        Ok(())
    }

    /// When to be woken.
    pub(crate) fn poll_timeout(&self) -> u64 {
        self.due_ns
    }

    /// The time until which the other side counts as alive, if nothing comes from it.
    pub(crate) fn alive_until_ns(&self) -> u64 {
        // The ping that is due then is answered within the timeout.
        let answer_ms = if self.is_beating && !self.is_waiting { self.pace.timeout_ms } else { 0 };
        self.due_ns + u64::from(answer_ms) * NS_PER_MS
    }

    /// Returns whether a ping is to be sent now, or `None` if the other side is dead.
    pub(crate) fn handle_timeout(&mut self, now_ns: u64) -> Option<bool> {
        if now_ns < self.due_ns {
            return Some(false);
        }
        if !self.is_beating || self.is_waiting {
            return None;
        }
        self.is_waiting = true;
        self.due_ns = now_ns + u64::from(self.pace.timeout_ms) * NS_PER_MS;
        Some(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACE: Pace = Pace { interval_ms: 3, timeout_ms: 2 };
    const MS: u64 = NS_PER_MS;

    #[test]
    fn one_side_listens() {
        for (version, end) in [(Version::V4, End::Client), (Version::V3, End::Server)] {
            let mut heartbeat = Heartbeat::new(version, end, PACE, 10 * MS);
            assert_eq!([heartbeat.poll_timeout(), heartbeat.alive_until_ns()], [15 * MS; 2]);
            assert_eq!(heartbeat.handle_timeout(15 * MS - 1), Some(false));
            assert_eq!(heartbeat.handle_ping(14 * MS), Ok(()));
            assert_eq!((heartbeat.poll_timeout(), heartbeat.handle_timeout(15 * MS)), (19 * MS, Some(false)));
            assert_eq!(heartbeat.handle_timeout(19 * MS), None);
            assert_eq!(heartbeat.handle_pong(1), Err(Failure::BadMessage));
        }
    }

    #[test]
    fn the_other_side_beats() {
        for (version, end) in [(Version::V3, End::Client), (Version::V4, End::Server)] {
            let mut heartbeat = Heartbeat::new(version, end, PACE, 10 * MS);
            assert_eq!(heartbeat.alive_until_ns(), 15 * MS);
            assert_eq!((heartbeat.poll_timeout(), heartbeat.handle_timeout(13 * MS)), (13 * MS, Some(true)));
            assert_eq!(heartbeat.alive_until_ns(), 15 * MS);
            assert_eq!((heartbeat.poll_timeout(), heartbeat.handle_timeout(14 * MS)), (15 * MS, Some(false)));
            assert_eq!(heartbeat.handle_pong(14 * MS), Ok(()));
            assert_eq!((heartbeat.poll_timeout(), heartbeat.handle_timeout(17 * MS)), (17 * MS, Some(true)));
            assert_eq!(heartbeat.handle_timeout(19 * MS), None);
            assert_eq!(heartbeat.handle_ping(1), Err(Failure::BadMessage));
        }
    }
}
