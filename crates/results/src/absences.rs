//! Copies due to clients while they were away, and their outcomes.

use stats::Share;

/// Absences that began alike and lasted about as long.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Absences {
    /// How the connections ended: by `close`, `reset` or `silence`, on purpose; or by a `loss`, which was not
    /// throng's doing.
    pub ended_by: String,
    /// They lasted at most so long, and longer than those of the row before; `None`: longer than those of any
    /// other row.
    pub up_to_ns: Option<u64>,
    /// The number of these absences.
    pub count: u64,
    /// The ones of these that lasted until the end of the step.
    pub not_back: u64,
    /// Copies due.
    pub due: u64,
    /// The ones of these that came later.
    pub recovered: u64,
    /// The sum of the squares of the copies due in each absence; from these three follows how far shares may be off.
    pub due_squares: u64,
    /// The same of those that came later.
    pub recovered_squares: u64,
    /// And the sum of what both make together.
    pub due_by_recovered: u64,
}

impl Absences {
    /// Counts an absence with so many copies due, of which so many came later.
    pub fn add(&mut self, is_back: bool, due: u64, recovered: u64) {
        let mut share = self.recovered();
        share.add(due, recovered);
        self.not_back += u64::from(!is_back);
        Share {
            units: self.count,
            whole: self.due,
            part: self.recovered,
            whole_squares: self.due_squares,
            part_squares: self.recovered_squares,
            products: self.due_by_recovered,
        } = share;
    }

    /// The share of the copies due that came later.
    pub fn recovered(&self) -> Share {
        Share {
            units: self.count,
            whole: self.due,
            part: self.recovered,
            whole_squares: self.due_squares,
            part_squares: self.recovered_squares,
            products: self.due_by_recovered,
        }
    }
}

/// Copies due to clients that were away and came back before the last message of the step was sent, whose
/// messages were about as old then.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ages {
    /// They had been sent at most so long before, and longer than those of the row before; `None`: longer
    /// than those of any other row.
    pub up_to_ns: Option<u64>,
    /// Copies due.
    pub due: u64,
    /// The ones of these that came.
    pub recovered: u64,
}
