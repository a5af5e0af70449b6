//! Clients that are not like the others: those that only listen, those that read slowly, and those that leave while others come.

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
    /// Bytes each of them reads in a second; at least 1.
    pub bytes_per_s: u64,
}

/// How often a slow client reads per second, unless it would then read more than this at once: then more often.
const SIPS_PER_S: u64 = 10;
const SIP_BYTES_MAX: u64 = 64 << 10;

impl Slow {
    /// Whether a client, by its number in the run, is slow: evenly spread.
    pub fn is_slow(&self, client: u32) -> bool {
        is_picked(self.share, client)
    }

    /// The bytes a slow client reads at once, and how long it waits after that (ns).
    pub fn sip(&self) -> (usize, u64) {
        // One byte at least; the pause is then what makes up the rate, so that 3 bytes/s are a byte each
        // third of a second.
        let bytes = (self.bytes_per_s / SIPS_PER_S).clamp(1, SIP_BYTES_MAX);
        (bytes as usize, bytes * 1_000_000_000 / self.bytes_per_s.max(1))
    }
}

/// Churn: clients leave, and as many come.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Churn {
    /// Share of the clients that leaves in a second; positive.
    pub share_per_s: f64,
}

/// Whether `client` is one of those that a share of all clients is: of the first n there are ⌊n·share⌋.
pub(crate) fn is_picked(share: f64, client: u32) -> bool {
    // Without a draw: who is picked follows from the number alone, so every worker and the coordinator agree
    // on it.
    let before = (f64::from(client) * share).floor();
    (f64::from(client + 1) * share).floor() > before
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_spread_evenly() {
        let slow = Slow { share: 0.25, bytes_per_s: 1 };
        let picked: Vec<u32> = (0..12).filter(|&client| slow.is_slow(client)).collect();
        assert_eq!(picked, [3, 7, 11]);
    }

    #[test]
    fn sips_add_up_to_the_rate() {
        assert_eq!(Slow { share: 0.1, bytes_per_s: 1_000 }.sip(), (100, 100_000_000));
        assert_eq!(Slow { share: 0.1, bytes_per_s: 2 }.sip(), (1, 500_000_000));
        assert_eq!(Slow { share: 0.1, bytes_per_s: 64 << 20 }.sip(), (64 << 10, 1_000_000_000 / 1024));
        assert_eq!(Slow { share: 0.1, bytes_per_s: u64::MAX }.sip(), (64 << 10, 0));
    }
}
