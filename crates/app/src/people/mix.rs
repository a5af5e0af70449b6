//! The kind of each broadcast, by its number alone, or by its number and its sender's role: the same for its
//! sender, its receivers and the crew, and stored nowhere.
//!
//! The numbers of a worker are taken sixty-four at a time. Within those, the golden ratio spreads the kinds
//! evenly, and each sixty-four start somewhere else: clients that send in turn would otherwise always be
//! given the same kind, if there is a multiple of sixty-four of them.

use std::sync::Arc;

use super::arcs::{Arcs, GOLDEN};
use super::role_assignment::{RoleAssignment, RoleKind};

/// How many numbers are spread evenly by themselves, as a power of two.
const BLOCK_BITS: u32 = 6;

/// The kinds of messages that are broadcast, each with its share of them.
#[derive(Clone, Debug, Default)]
pub struct Mix {
    /// The arcs of senders that send every kind.
    arcs: Arcs,
    /// The mixes by role, where roles differ.
    roles: Option<Arc<ByRole>>,
}

/// The mix of each role.
#[derive(Debug)]
struct ByRole {
    role_assignment: RoleAssignment,
    /// Workers of the run, which a client's number in it follows from.
    workers: u32,
    /// The kinds of messages that each role sends, and the share of each kind.
    says: Vec<(Vec<usize>, Arcs)>,
}

impl Mix {
    /// The most kinds there may be.
    pub const KINDS_MAX: usize = 16;

    /// Kinds with these shares, of a whole that is whatever they add up to. Without any, all messages are of
    /// kind 0.
    pub fn new(shares: impl IntoIterator<Item = u32>) -> Mix {
        let shares: Vec<f64> = shares.into_iter().map(f64::from).collect();
        Mix { arcs: Arcs::new(&shares), roles: None }
    }

    /// Gives each of these roles its own kinds, in a run of `workers` workers. Without roles, every client
    /// sends all kinds.
    pub fn of_roles(self, roles: &[RoleKind], workers: u16) -> Mix {
        let says = |role: &RoleKind| {
            let said = role.says.iter().enumerate().filter(|(_, often)| **often > 0);
            let (kinds, shares): (Vec<usize>, Vec<f64>) =
                said.map(|(kind, &often)| (kind, f64::from(often))).unzip();
            (kinds, Arcs::new(&shares))
        };
        let by_role = || ByRole {
            role_assignment: RoleAssignment::new(roles),
            workers: workers.into(),
            says: roles.iter().map(says).collect(),
        };
        Mix { roles: (!roles.is_empty()).then(|| Arc::new(by_role())), ..self }
    }

    /// The kind of the message with this sequence number, sent by this client of this worker, by its number
    /// there.
    #[inline]
    pub fn kind(&self, worker: u16, client: u32, seq: u32) -> usize {
        match &self.roles {
            None if self.arcs.count() < 2 => 0,
            None => self.arcs.at(position(worker, seq)) as usize,
            Some(roles) => roles.kind(worker, client, seq),
        }
    }
}

impl ByRole {
    fn kind(&self, worker: u16, client: u32, seq: u32) -> usize {
        let sender = client.wrapping_mul(self.workers).wrapping_add(worker.into());
        match &self.says[self.role_assignment.role(sender)] {
            (kinds, arcs) if kinds.len() > 1 => kinds[arcs.at(position(worker, seq)) as usize],
            // A role without messages sends none: for one that a server makes up, any kind will do.
            (kinds, _) => kinds.first().copied().unwrap_or(0),
        }
    }
}

/// One of `count` for each message, by its numbers alone: evenly over the messages of a client, over those of
/// a worker, whose clients send in turn, and over those that clients send at once.
#[inline]
pub fn one_of(count: usize, worker: u16, client: u32, seq: u32) -> usize {
    let position = position(worker, seq).wrapping_add(client.wrapping_mul(GOLDEN));
    ((u64::from(position) * count as u64) >> u32::BITS) as usize
}

/// The position of a message on the circle.
#[inline]
fn position(worker: u16, seq: u32) -> u32 {
    // With the worker in it: all workers number their messages alike.
    let block = u64::from(seq >> BLOCK_BITS) << 16 | u64::from(worker);
    seq.wrapping_mul(GOLDEN).wrapping_add(scattered(block))
}

/// Numbers that look like chance, from ones that follow each other (SplitMix64's finaliser).
#[inline]
fn scattered(number: u64) -> u32 {
    let mut mixed = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    (mixed >> 32) as u32 ^ mixed as u32
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn one_kind_is_all_there_is() {
        for mix in [Mix::default(), Mix::new([]), Mix::new([7])] {
            assert!((0..1_000).all(|seq| mix.kind(3, 9, seq) == 0));
        }
    }

    #[test]
    fn kinds_that_are_known_stay_what_they_are() {
        // Written down, so that another machine or a later version cannot say something else unnoticed.
        let mix = Mix::new([1, 2, 3]);
        let kinds: Vec<usize> = (0..12).map(|n| mix.kind(5, 9, n * 7_919)).collect();
        assert_eq!(kinds, [0, 0, 0, 1, 2, 0, 1, 0, 2, 0, 0, 2]);
    }

    #[test]
    fn senders_in_turn_say_every_kind() {
        let mix = Mix::new([1, 1]);
        for senders in [1, 2, 64, 128, 610, 987, 1_000] {
            let said = (0..100).map(|turn| mix.kind(0, turn, turn * senders)).sum::<usize>();
            assert!((25..75).contains(&said), "{senders} senders: {said} of 100");
        }
    }

    #[test]
    fn roles_say_their_kinds_by_share() {
        let role = |share, says: [u32; 3]| RoleKind { name: String::new(), share, says: says.into() };
        let roles = [role(1, [0, 3, 1]), role(2, [0, 0, 0]), role(1, [5, 0, 0])];
        let role_assignment = RoleAssignment::new(&roles);
        let mix = Mix::new([5, 3, 1]).of_roles(&roles, 3);
        for sender in 0..40 {
            let (worker, client) = ((sender % 3) as u16, sender / 3);
            let mut counts = [0; 3];
            for turn in 0..640 {
                counts[mix.kind(worker, client, turn * 7)] += 1;
            }
            match role_assignment.role(sender) {
                0 => assert!(counts[0] == 0 && (470..=490).contains(&counts[1]), "{sender}: {counts:?}"),
                _ => assert_eq!(counts, [640, 0, 0], "{sender}"),
            }
        }
    }

    proptest! {
        #[test]
        fn consecutive_messages_keep_the_shares(
            shares in proptest::collection::vec(1u32..1_000, 1..6), worker in 0u16..100, first in 0u32..1 << 30,
        ) {
            let mix = Mix::new(shares.iter().copied());
            let first = first & !63;
            let mut counts = vec![0u32; shares.len()];
            for seq in first..first + 64 * 50 {
                counts[mix.kind(worker, 0, seq)] += 1;
            }
            let whole: u32 = shares.iter().sum();
            for (&count, &share) in counts.iter().zip(&shares) {
                let expected = f64::from(64 * 50 * share) / f64::from(whole);
                // Three in each sixty-four at most, and they make up for each other.
                prop_assert!((f64::from(count) - expected).abs() < 60.0, "{count} of {expected}");
            }
        }
    }
}
