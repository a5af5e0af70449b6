//! Visits: people join rooms, stay for a while, leave them, and begin again.

use serde::{Deserialize, Serialize};

/// A round of joins and leaves that a user repeats. It begins and ends outside all rooms that it visits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Visit {
    /// The steps of a round; empty: the user visits no rooms.
    pub steps: Vec<VisitStep>,
    /// The kinds of rooms that the user joins once and for all, among the kinds that others visit: a bit
    /// each.
    pub stays: u8,
}

/// One step of a visiting user's round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum VisitStep {
    /// The user joins its room of this kind.
    Join(u16),
    /// The user leaves its room of this kind.
    Leave(u16),
    /// The user waits for a time that is drawn evenly from a range.
    Wait {
        /// The shortest wait.
        ns_min: u64,
        /// The longest wait.
        ns_max: u64,
    },
}

impl Visit {
    /// The largest number of steps in a round.
    pub const STEPS_MAX: usize = 64;
    /// The shortest round: a client that only joins and leaves does not visit, and its copies could not be
    /// counted.
    pub const ROUND_NS_MIN: u64 = 100_000_000;
    /// The longest wait: a day.
    pub const WAIT_NS_MAX: u64 = 86_400_000_000_000;

    /// Returns whether the round is valid, where there are `kinds` kinds of rooms.
    pub fn is_sound(&self, kinds: usize) -> bool {
        let is_step = |step: &VisitStep| match *step {
            VisitStep::Join(kind) | VisitStep::Leave(kind) => usize::from(kind) < kinds,
            VisitStep::Wait { ns_min, ns_max } => ns_min <= ns_max && ns_max <= Self::WAIT_NS_MAX,
        };
        self.steps.len() <= Self::STEPS_MAX
            && self.steps.iter().all(is_step)
            && (self.steps.is_empty() || self.round_ns_min() >= Self::ROUND_NS_MIN)
            // No bit beyond the kinds that there are: the plan may have come over a network.
            && self.stays.checked_shr(kinds as u32).unwrap_or(0) == 0
            && self.first_wrong().is_none()
    }

    /// The index of the first step that cannot be taken: a join of a room that the user is in, or a departure
    /// from one that it is not in. The index after the last step: the user is still in a room at the end.
    pub fn first_wrong(&self) -> Option<usize> {
        let mut inside = self.stays;
        for (place, step) in self.steps.iter().enumerate() {
            let (bit, is_join) = match *step {
                VisitStep::Join(kind) => (1 << kind, true),
                VisitStep::Leave(kind) => (1 << kind, false),
                VisitStep::Wait { .. } => continue,
            };
            // A room where they stay is joined once, outside of the round.
            if (inside & bit != 0) == is_join || self.stays & bit != 0 {
                return Some(place);
            }
            inside ^= bit;
        }
        (inside != self.stays).then_some(self.steps.len())
    }

    /// The kinds of rooms that the user joins: a bit each.
    pub fn joined(&self) -> u8 {
        let of = |step: &VisitStep| if let VisitStep::Join(kind) = step { 1 << kind } else { 0 };
        self.steps.iter().map(of).fold(self.stays, |joined, kind| joined | kind)
    }

    /// The kinds of rooms that the user leaves: a bit each.
    pub fn left(&self) -> u8 {
        self.joined() & !self.stays
    }

    /// Returns whether the user is, at some moment of a round, in rooms of all these kinds.
    pub fn is_ever_in(&self, kinds: u8) -> bool {
        let mut inside = self.stays;
        let mut is_in = inside & kinds == kinds;
        for step in &self.steps {
            match *step {
                VisitStep::Join(kind) => inside |= 1 << kind,
                VisitStep::Leave(kind) => inside &= !(1 << kind),
                // Only a wait takes time: rooms that are joined and left at one moment are no place to speak
                // in.
                VisitStep::Wait { ns_max, .. } => is_in |= ns_max > 0 && inside & kinds == kinds,
            }
        }
        is_in
    }

    /// How long a round takes on average.
    pub fn round_ns_mean(&self) -> u64 {
        self.steps.iter().map(|step| step.wait_ns_mean()).sum()
    }

    fn round_ns_min(&self) -> u64 {
        let of = |step: &VisitStep| if let VisitStep::Wait { ns_min, .. } = *step { ns_min } else { 0 };
        self.steps.iter().map(of).sum()
    }
}

impl VisitStep {
    /// How long the step takes on average.
    pub fn wait_ns_mean(&self) -> u64 {
        // Halved first, so that the sum cannot overflow.
        if let VisitStep::Wait { ns_min, ns_max } = *self { ns_min / 2 + ns_max / 2 } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;
    const WAIT: VisitStep = VisitStep::Wait { ns_min: S, ns_max: 3 * S };

    fn visit(steps: &[VisitStep]) -> Visit {
        Visit { steps: steps.to_vec(), stays: 0 }
    }

    #[test]
    fn a_round_ends_as_it_began() {
        use VisitStep::{Join, Leave};
        let sound = visit(&[Join(1), WAIT, Join(0), Leave(1), WAIT, Leave(0)]);
        assert!(sound.is_sound(2) && !sound.is_sound(1));
        assert_eq!((sound.round_ns_mean(), sound.joined()), (4 * S, 0b11));
        assert!(sound.is_ever_in(0b01) && sound.is_ever_in(0b10) && !sound.is_ever_in(0b11));
        for (steps, wrong) in [
            (&[Leave(0), WAIT][..], 0),
            (&[Join(0), WAIT, Join(0)], 2),
            (&[Join(0), WAIT], 2),
            (&[Join(0), WAIT, Leave(1)], 2),
        ] {
            assert_eq!(visit(steps).first_wrong(), Some(wrong), "{steps:?}");
        }
        assert!(!visit(&[Join(0), Leave(0)]).is_sound(1), "it takes no time");
        let at_home = Visit { stays: 1, ..visit(&[Join(0), WAIT, Leave(0)]) };
        assert_eq!(at_home.first_wrong(), Some(0), "they are there for good");
    }
}
