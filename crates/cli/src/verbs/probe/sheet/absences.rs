//! Absences to try, up to the longest that clients resume from: pure, so that a test finds any limit.

use std::time::Duration;

/// The shortest absence.
const ABSENCE_MIN: Duration = Duration::from_millis(500);
/// Clients of the first search, each with an absence of its own, and of the second, between its bounds.
pub(super) const LADDER: usize = 24;
pub(super) const REFINED: usize = 8;
/// A share by which the bounds may differ: the middle is then within a twentieth of the limit.
const PRECISION: f64 = 0.1;

/// The outcome of a return.
pub(super) struct Return {
    pub(super) away: Duration,
    /// Messages of the time of the absence.
    pub(super) missed: usize,
    /// Messages that came of them.
    pub(super) came: usize,
    /// True if the first of them came.
    pub(super) is_whole: bool,
}

/// Absences around the limit.
#[derive(Debug, Default)]
pub(super) struct Bounds {
    pub(super) resumed: Option<Duration>,
    pub(super) lost: Option<Duration>,
    /// Messages missed at the longest absence that was resumed from.
    pub(super) missed: usize,
}

impl Bounds {
    /// Narrows the bounds by what came of a return.
    pub(super) fn note(&mut self, returned: &Return) {
        if returned.is_whole {
            self.missed = returned.missed;
            self.resumed = Some(returned.away);
        } else {
            self.lost = Some(returned.away);
        }
    }

    /// Absences between both, evenly; none if they are close together.
    pub(super) fn between(&self, clients: usize) -> Vec<Duration> {
        let (Some(resumed), Some(lost)) = (self.resumed, self.lost) else { return Vec::new() };
        if lost <= resumed.mul_f64(1.0 + PRECISION) {
            return Vec::new();
        }
        (1..=clients)
            .map(|part| resumed + (lost - resumed).mul_f64(part as f64 / (clients + 1) as f64))
            .collect()
    }
}

/// Absences up to `max`, each longer than the one before by the same factor.
pub(super) fn ladder(max: Duration, clients: usize) -> Vec<Duration> {
    let factor = (max.as_secs_f64() / ABSENCE_MIN.as_secs_f64()).powf(1.0 / (clients.max(2) - 1) as f64);
    (0..clients).map(|place| ABSENCE_MIN.mul_f64(factor.powi(place as i32)).min(max)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX: Duration = Duration::from_secs(40);

    #[test]
    fn two_rounds_find_any_horizon() {
        for limit_ms in [600, 1000, 2999, 3000, 10_000, 31_000, 39_999] {
            let limit = Duration::from_millis(limit_ms);
            let mut bounds = Bounds::default();
            for absences in [ladder(MAX, LADDER), Vec::new()] {
                let absences = if absences.is_empty() { bounds.between(REFINED) } else { absences };
                for away in absences {
                    let is_whole = away <= limit;
                    bounds.note(&Return { away, missed: 1, came: usize::from(is_whole), is_whole });
                    if !is_whole {
                        break;
                    }
                }
            }
            let (resumed, lost) = (bounds.resumed.unwrap(), bounds.lost.unwrap());
            assert!(resumed <= limit && limit < lost, "{limit:?}: {bounds:?}");
            assert!(lost <= resumed.mul_f64(1.0 + PRECISION), "{limit:?}: {bounds:?}");
        }
    }
}
