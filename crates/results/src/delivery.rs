//! The verdict on delivery, where clients lose their connections and come back: how often does a message come, to those who are
//! away and to those who are here, and in which order?

use std::fmt;

use stats::Counts;

use crate::step::Step;

/// How often each message came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Promise {
    /// Never twice, but some did not come.
    AtMostOnce,
    /// Each, and none twice.
    ExactlyOnce,
    /// Each, and some twice.
    AtLeastOnce,
    /// Some did not come, and some came twice.
    Neither,
}

/// What a run says of delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    counts: Counts,
}

impl Promise {
    fn of(lost: u64, twice: u64) -> Promise {
        match (lost, twice) {
            (0, 0) => Promise::ExactlyOnce,
            (0, _) => Promise::AtLeastOnce,
            (_, 0) => Promise::AtMostOnce,
            (..) => Promise::Neither,
        }
    }

    /// Whether each message came.
    pub fn is_at_least_once(self) -> bool {
        matches!(self, Promise::ExactlyOnce | Promise::AtLeastOnce)
    }
}

impl Delivery {
    /// Of all steps together; `None`: nothing was due to anybody who was away.
    pub fn of(steps: &[Step]) -> Option<Delivery> {
        let mut counts = Counts::default();
        steps.iter().filter(|step| !step.absences.is_empty()).for_each(|step| counts.merge(&step.counts));
        (counts.offline_due > 0).then_some(Delivery { counts })
    }

    /// How often messages came that were due to clients that were away. Nobody can tell which copy of two came too many.
    pub fn away(&self) -> Promise {
        Promise::of(self.counts.lost_offline, self.counts.duplicate)
    }

    /// And to those who were here.
    pub fn here(&self) -> Promise {
        Promise::of(self.counts.missing, self.counts.duplicate)
    }
}

impl fmt::Display for Delivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Counts { offline_due, lost_offline, expected, missing, duplicate, reordered, .. } = self.counts;
        write!(f, "{} while clients are away: ", self.away())?;
        lost(f, lost_offline, offline_due, "what was sent in their absence")?;
        write!(f, "; {} while they are here", self.here())?;
        if missing > 0 {
            write!(f, ": ")?;
            lost(f, missing, expected, "what was sent then")?;
        }
        if duplicate > 0 {
            write!(f, "; {duplicate} came twice")?;
        }
        match reordered {
            0 => write!(f, "; order kept"),
            some => write!(f, "; {some} out of order"),
        }
    }
}

/// How much of it never came: no share is rounded to none, or to all.
fn lost(f: &mut fmt::Formatter<'_>, lost: u64, due: u64, what: &str) -> fmt::Result {
    let percent = 100.0 * lost as f64 / due.max(1) as f64;
    match lost {
        0 => write!(f, "all of {what} came after all"),
        _ if lost == due => write!(f, "none of {what} ever came"),
        _ if percent < 0.1 => write!(f, "{lost} of {due} of {what} never came"),
        _ => write!(f, "{:.1}% of {what} never came", percent.min(99.9)),
    }
}

impl fmt::Display for Promise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Promise::AtMostOnce => "at most once",
            Promise::ExactlyOnce => "exactly once",
            Promise::AtLeastOnce => "at least once",
            Promise::Neither => "neither at most nor at least once",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Absences;

    fn said(counts: Counts) -> String {
        let step = Step { counts, absences: vec![Absences::default()], ..Step::default() };
        Delivery::of(&[step]).map_or("nothing".into(), |delivery| delivery.to_string())
    }

    #[test]
    fn a_run_ends_in_a_sentence() {
        let due = Counts { expected: 9_000, received: 9_000, offline_due: 1_000, ..Counts::default() };
        assert_eq!(
            said(Counts { lost_offline: 129, recovered: 871, ..due }),
            "at most once while clients are away: 12.9% of what was sent in their absence never came; exactly once \
             while they are here; order kept"
        );
        assert_eq!(
            said(Counts { recovered: 1_000, ..due }),
            "exactly once while clients are away: all of what was sent in their absence came after all; exactly once \
             while they are here; order kept"
        );
        assert_eq!(
            said(Counts { lost_offline: 1_000, received: 8_991, missing: 9, ..due }),
            "at most once while clients are away: none of what was sent in their absence ever came; at most once while \
             they are here: 0.1% of what was sent then never came; order kept"
        );
        assert_eq!(
            said(Counts { recovered: 1_000, duplicate: 7, reordered: 2, ..due }),
            "at least once while clients are away: all of what was sent in their absence came after all; at least once \
             while they are here; 7 came twice; 2 out of order"
        );
        assert_eq!(
            said(Counts { lost_offline: 1, recovered: 999_999, offline_due: 1_000_000, ..due })
                .split(';')
                .next(),
            Some(
                "at most once while clients are away: 1 of 1000000 of what was sent in their absence never came"
            )
        );
        assert_eq!(said(Counts { offline_due: 0, ..due }), "nothing");
    }
}
