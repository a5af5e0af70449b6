//! The role of each person, by its number in the run alone: the same at every worker, in every step, and kept
//! nowhere.
//!
//! Roles follow one another in a pattern that is as long as their shares need (of 90% and 10%, ten people),
//! in which each is spread as evenly as can be. So any users with consecutive numbers, such as a room's, have
//! their share of each.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A role: a share of the users, who send the same kinds of messages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoleKind {
    /// The role's name.
    pub name: String,
    /// The role's share of the people: its part in the sum of all roles' shares.
    pub share: u32,
    /// How often its people together say a message of each kind, of whatever this adds up to over all roles;
    /// 0: never.
    pub says: Vec<u32>,
}

impl RoleKind {
    /// How often its people together say something.
    pub fn weight(&self) -> u64 {
        self.says.iter().map(|&often| u64::from(often)).sum()
    }
}

/// The roles of clients.
#[derive(Clone, Debug)]
pub struct RoleAssignment {
    pattern: Arc<[u8]>,
}

impl Default for RoleAssignment {
    /// The assignment of one role to all.
    fn default() -> RoleAssignment {
        RoleAssignment { pattern: Arc::new([0]) }
    }
}

impl RoleAssignment {
    /// The most roles there may be.
    pub const ROLES_MAX: usize = 16;
    /// The longest pattern: shares are counted in millionths.
    const PATTERN_MAX: u64 = 1_001_000;

    /// Returns whether roles are valid, wherever they come from, for users who send messages of `kinds`
    /// kinds.
    pub fn is_sound(roles: &[RoleKind], kinds: usize) -> bool {
        let whole: u64 = roles.iter().map(|role| u64::from(role.share)).sum();
        let is_role = |role: &RoleKind| role.share > 0 && role.says.len() == kinds;
        let is_said = |kind: usize| roles.iter().any(|role| role.says[kind] > 0);
        roles.is_empty()
            || roles.len() <= Self::ROLES_MAX
                && whole <= Self::PATTERN_MAX
                && roles.iter().all(is_role)
                && (0..kinds).all(is_said)
    }

    /// Assigns roles that are [sound](Self::is_sound); without roles, all clients have the same.
    pub fn new(roles: &[RoleKind]) -> RoleAssignment {
        // In their lowest terms, which make the shortest pattern: it is kept, and looked up for every client.
        let unit = roles.iter().fold(0, |unit, role| common_divisor(unit, role.share));
        let shares: Vec<i64> = roles.iter().map(|role| i64::from(role.share / unit)).collect();
        let whole: i64 = shares.iter().sum();
        // Each role is owed its share at each place; the role that is owed most gets the place.
        let mut owed = vec![0; shares.len()];
        let mut place = |_| {
            for (owed, share) in owed.iter_mut().zip(&shares) {
                *owed += share;
            }
            // Of equals, `max_by_key` takes the last: the first role, backwards.
            let role = (0..owed.len()).rev().max_by_key(|&role| owed[role]).expect("there are roles");
            // The role that got the place goes back by the whole: the debts always sum up to zero.
            owed[role] -= whole;
            role as u8
        };
        match roles {
            [] => RoleAssignment::default(),
            _ => RoleAssignment { pattern: (0..whole).map(&mut place).collect() },
        }
    }

    /// The role of a client, by its number in the run.
    #[inline]
    pub fn role(&self, number: u32) -> usize {
        usize::from(self.pattern[number as usize % self.pattern.len()])
    }

    /// How many of the first `people` have this role.
    pub fn people(&self, role: usize, people: u32) -> u32 {
        let (rounds, rest) = (people as usize / self.pattern.len(), people as usize % self.pattern.len());
        let of = |places: &[u8]| places.iter().filter(|&&of| usize::from(of) == role).count();
        (rounds * of(&self.pattern) + of(&self.pattern[..rest])) as u32
    }
}

/// The largest number that divides both; of 0 and another, the other.
fn common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn roles(shares: &[u32]) -> Vec<RoleKind> {
        let role = |&share: &u32| RoleKind { name: String::new(), share, says: vec![1] };
        shares.iter().map(role).collect()
    }

    fn cast(shares: &[u32], people: u32) -> Vec<usize> {
        let role_assignment = RoleAssignment::new(&roles(shares));
        (0..people).map(|number| role_assignment.role(number)).collect()
    }

    #[test]
    fn roles_that_are_known_stay_what_they_are() {
        // Written down, so that another machine or a later version cannot give people others unnoticed.
        assert_eq!(cast(&[900_000, 100_000], 12), [0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
        assert_eq!(cast(&[1, 2, 3], 6), [2, 1, 0, 2, 1, 2]);
        assert_eq!(cast(&[], 3), [0, 0, 0]);
    }

    #[test]
    fn mistakes_are_told() {
        assert!(RoleAssignment::is_sound(&[], 3) && RoleAssignment::is_sound(&roles(&[1, 1]), 1));
        for (shares, kinds) in [(&[1, 0][..], 1), (&[1], 2), (&[u32::MAX], 1), (&[1; 17], 1)] {
            assert!(!RoleAssignment::is_sound(&roles(shares), kinds), "{shares:?}");
        }
        let silent = RoleKind { name: String::new(), share: 1, says: vec![0] };
        assert!(!RoleAssignment::is_sound(&[silent], 1), "a kind that nobody says");
    }

    proptest! {
        /// Any users with consecutive numbers have nearly their share of each role, and any whole pattern
        /// exactly.
        #[test]
        fn each_role_is_spread_evenly(
            shares in proptest::collection::vec(1u32..100, 1..6), first in 0u32..1_000, people in 1u32..500,
        ) {
            let role_assignment = RoleAssignment::new(&roles(&shares));
            let whole: u32 = shares.iter().sum();
            for (role, &share) in shares.iter().enumerate() {
                let counted = (first..first + people).filter(|&n| role_assignment.role(n) == role).count() as f64;
                let expected = f64::from(people) * f64::from(share) / f64::from(whole);
                prop_assert!((counted - expected).abs() < 3.0, "{} of {}", counted, expected);
                prop_assert_eq!(role_assignment.people(role, whole), whole * share / whole);
                let all = (0..people).filter(|&n| role_assignment.role(n) == role).count() as u32;
                prop_assert_eq!(role_assignment.people(role, people), all);
            }
        }
    }
}
