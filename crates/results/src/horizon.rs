//! How far back a server's history reaches.

use crate::absences::Ages;

/// Fewer copies on a side of it show no horizon.
const COPIES_MIN: u64 = 20;
/// Copies on the wrong side of it: those under way when a connection ended, or when it came back.
const STRAY_SHARE: f64 = 0.05;

/// Messages sent up to a time before their receivers were back came, and those sent before a time did not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Horizon {
    /// The age up to which messages still came.
    pub kept_ns: u64,
    /// Older ones did not; in between is the horizon.
    pub lost_ns: u64,
}

impl Horizon {
    /// Finds it in copies by age, from the youngest on. `None` where there is no such time, or too little on
    /// one of its sides.
    pub(crate) fn of(ages: &[Ages]) -> Option<Horizon> {
        // From the youngest, as long as nearly all came; from the oldest, as long as nearly none did.
        let kept = strays(ages.iter().map(|row| (row.due.saturating_sub(row.recovered), row.due)));
        let lost = strays(ages.iter().rev().map(|row| (row.recovered, row.due)));
        let is_seen = |rows: &[Ages]| rows.iter().map(|row| row.due).sum::<u64>() >= COPIES_MIN;
        let first_lost = ages.len() - lost;
        // A row of few copies may pass for strays from either end: most of its own say which it belongs to.
        let both = ages.get(first_lost..kept).unwrap_or_default();
        let first_lost = first_lost + both.iter().take_while(|row| 2 * row.recovered > row.due).count();
        let kept = kept.min(first_lost);
        // One class may have the horizon in its midst.
        if first_lost > kept + 1 || !is_seen(&ages[..kept]) || !is_seen(&ages[first_lost..]) {
            return None;
        }
        let end_of = |rows: usize| ages.get(rows.checked_sub(1)?)?.up_to_ns;
        Some(Horizon { kept_ns: end_of(kept)?, lost_ns: end_of(first_lost)? })
    }
}

/// How many rows from the first on have, together, no more on the wrong side than strays.
fn strays(rows: impl Iterator<Item = (u64, u64)>) -> usize {
    let (mut wrong, mut all) = (0, 0);
    rows.take_while(|&(strays, due)| {
        (wrong, all) = (wrong + strays, all + due);
        wrong as f64 <= STRAY_SHARE * all as f64
    })
    .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    fn of(rows: &[(Option<u64>, u64, u64)]) -> Option<Horizon> {
        let row = |&(up_to_ns, due, recovered)| Ages { up_to_ns, due, recovered };
        Horizon::of(&rows.iter().map(row).collect::<Vec<_>>())
    }

    #[test]
    fn a_history_ends_between_two_ages() {
        let (young, old) = ((Some(S), 100, 99), (Some(3 * S), 100, 1));
        let sharp = Horizon { kept_ns: S, lost_ns: S };
        assert_eq!(of(&[young, old]), Some(sharp));
        let within = Horizon { kept_ns: S, lost_ns: 2 * S };
        assert_eq!(of(&[young, (Some(2 * S), 100, 40), old, (None, 7, 0)]), Some(within));
    }

    #[test]
    fn few_copies_are_on_one_side_alone() {
        let with = |recovered| of(&[(Some(S), 1_000, 1_000), (Some(2 * S), 10, recovered), (None, 1_000, 0)]);
        assert_eq!(with(0), Some(Horizon { kept_ns: S, lost_ns: S }));
        assert_eq!(with(10), Some(Horizon { kept_ns: 2 * S, lost_ns: 2 * S }));
    }

    #[test]
    fn ages_without_an_edge_have_no_horizon() {
        let (young, old) = ((Some(S), 100, 100), (Some(3 * S), 100, 0));
        assert_eq!(of(&[young]), None, "all came");
        assert_eq!(of(&[old]), None, "none came");
        assert_eq!(of(&[]), None);
        assert_eq!(
            of(&[(Some(S), 100, 60), (Some(2 * S), 100, 50), (Some(3 * S), 100, 55)]),
            None,
            "at random"
        );
        assert_eq!(of(&[young, (Some(2 * S), 50, 20), (Some(3 * S), 50, 30), old]), None, "blurred");
        assert_eq!(of(&[young, (Some(2 * S), 19, 0)]), None, "too few to tell");
    }
}
