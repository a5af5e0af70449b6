//! Clients that are not like the others: those that only listen, those that read slowly, and those that leave
//! while others come.

use serde::{Deserialize, Serialize};

/// Speakers: a share of the clients sends, and the others listen.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Speakers {
    /// Share of the clients: above 0, at most 1.
    pub share: f64,
}

/// Slow consumers: a share of the clients reads no faster than this.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Slow {
    /// Share of the clients: 0 to 1.
    pub share: f64,
    /// The bytes that each slow client reads in a second; at least 1.
    pub bytes_per_s: u64,
}

/// How often a slow client reads per second; a client whose reads would then be too large reads more often.
const READS_PER_S: u64 = 10;
const READ_BYTES_MAX: u64 = 64 << 10;

impl Slow {
    /// Returns whether a client, by its number in the run, is slow: evenly spread.
    pub fn is_slow(&self, client: u32) -> bool {
        is_picked(self.share, client)
    }

    /// Bytes of one read of a slow client: one at least, so that the pause alone makes up the lowest rates.
    pub fn read_bytes(&self) -> usize {
        (self.bytes_per_s / READS_PER_S).clamp(1, READ_BYTES_MAX) as usize
    }

    /// The pause after each read (ns), with which the reads add up to the rate.
    pub fn pause_ns(&self) -> u64 {
        self.read_bytes() as u64 * 1_000_000_000 / self.bytes_per_s.max(1)
    }
}

/// Churn: clients leave, and as many others come.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Churn {
    /// The share of the clients that leaves in a second; positive.
    pub share_per_s: f64,
}

/// Returns whether `client` belongs to a share of all clients: ⌊n·share⌋ of the first n clients do.
pub(crate) fn is_picked(share: f64, client: u32) -> bool {
    // Without a draw: which clients are picked follows from the number alone, so every worker and the
    // coordinator agree on it. 1 − 0.9 is 0.09999999999999998 in binary, and a tenth of ten is one.
    let picked_of = |clients: f64| (clients * share + 1e-9).floor();
    picked_of(f64::from(client) + 1.0) > picked_of(f64::from(client))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_spread_evenly() {
        let slow = Slow { share: 0.25, bytes_per_s: 1 };
        let picked: Vec<u32> = (0..12).filter(|&client| slow.is_slow(client)).collect();
        assert_eq!(picked, [3, 7, 11]);
        for (share, clients, of_them) in [(0.29, 100, 29), (0.57, 100, 57), (1.0 - 0.9, 1_000, 100)] {
            assert_eq!((0..clients).filter(|&client| is_picked(share, client)).count(), of_them, "{share}");
        }
    }

    #[test]
    fn reads_add_up_to_the_rate() {
        for (bytes_per_s, read_bytes, pause_ns) in [
            (1_000, 100, 100_000_000),
            (2, 1, 500_000_000),
            (64 << 20, 64 << 10, 1_000_000_000 / 1024),
            (u64::MAX, 64 << 10, 0),
        ] {
            let slow = Slow { share: 0.1, bytes_per_s };
            assert_eq!((slow.read_bytes(), slow.pause_ns()), (read_bytes, pause_ns), "{bytes_per_s}");
        }
    }
}
