//! What became of what was due to clients while they were away.

/// Absences that began alike and lasted about as long.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Absences {
    /// How the connections ended: by `close`, `reset` or `silence`, on purpose; or by a `loss`, which was not throng's doing.
    pub ended_by: String,
    /// They lasted at most so long, and longer than those of the row before; `None`: longer than those of any other row.
    pub up_to_ns: Option<u64>,
    /// How many.
    pub count: u64,
    /// Of these, the ones that lasted until the end of the step.
    pub not_back: u64,
    /// Copies due.
    pub due: u64,
    /// Of these, the ones that came later.
    pub recovered: u64,
}

/// Copies due to clients that were away and came back, whose messages were about as old then.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ages {
    /// They had been sent at most so long before, and longer than those of the row before; `None`: longer than those of any
    /// other row.
    pub up_to_ns: Option<u64>,
    /// Copies due.
    pub due: u64,
    /// Of these, the ones that came.
    pub recovered: u64,
}
