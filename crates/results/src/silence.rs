//! Finds out whether connections were lost to an idle timeout: of the server, or of a proxy before it, which
//! may be anywhere.
//!
//! Such a timeout ends each connection so long after its last message. A server that ends, or throws
//! everybody out, ends all at once: then the silences differ as the last messages do, and the ends do not.

use stats::error_kind;

use crate::step::Step;

/// A connection that ended sooner after its last message was in the middle of something.
const SILENCE_NS_MIN: u64 = 500_000_000;
/// How far the silences may differ, as a share of the longest, and of the time between the first end and the
/// last: where all connections are of one moment, nothing tells.
const DIFFERENCE_MAX: f64 = 0.1;
const OF_ENDS_MAX: f64 = 0.5;
/// Errors that end connections in silence.
const KINDS: [&str; 3] = [error_kind::CLOSED, error_kind::EOF, error_kind::RESET];

/// How long nothing had been said on each connection that was lost, in nanoseconds, where that is why.
pub(crate) fn idle_timeout_ns(step: &Step) -> Option<u64> {
    let silence = &step.figures.silence;
    let ends: Vec<_> =
        step.errors.iter().filter(|(kind, _)| KINDS.contains(kind)).map(|(_, end)| end).collect();
    let first_ns = ends.iter().map(|end| end.first_ns).min()?;
    let ends_ns = ends.iter().map(|end| end.last_ns).max()?.saturating_sub(first_ns);
    let differ_ns = silence.max_ns().saturating_sub(silence.min_ns()) as f64;
    // One connection's silence could be any; and each one that was lost has to have it.
    let is_of_all = silence.count() >= 2 && silence.count() == step.counts.disconnects;
    let is_alike =
        differ_ns <= DIFFERENCE_MAX * silence.max_ns() as f64 && differ_ns <= OF_ENDS_MAX * ends_ns as f64;
    (is_of_all && silence.min_ns() >= SILENCE_NS_MIN && is_alike).then(|| silence.quantile_ns(0.5))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Connections that ended so many milliseconds into the run, and what was last said on each.
    fn lost(ends_ms: &[(u64, u64)]) -> Step {
        let mut step = Step::default();
        step.counts.disconnects = ends_ms.len() as u64;
        for (end_ms, said_ms) in ends_ms {
            step.errors.add("eof", end_ms * MS, "");
            step.figures.silence.record_ns((end_ms - said_ms) * MS);
        }
        step
    }

    #[test]
    fn each_ends_so_long_after_its_last_message() {
        let found = idle_timeout_ns(&lost(&[(3_000, 0), (3_104, 100), (3_203, 200)])).unwrap();
        assert!(found.abs_diff(3_003 * MS) < 40 * MS, "{found}");
    }

    #[test]
    fn simultaneous_ends_show_no_timeout() {
        assert_eq!(idle_timeout_ns(&lost(&[(3_001, 0), (3_003, 4), (3_005, 8)])), None, "or who knows");
        assert_eq!(idle_timeout_ns(&lost(&[(60_000, 0), (60_000, 250), (60_001, 500)])), None);
    }

    #[test]
    fn losses_in_mid_exchange_are_no_timeout() {
        assert_eq!(idle_timeout_ns(&lost(&[(400, 0), (900, 500)])), None);
        let mut unseen = lost(&[(3_000, 0), (3_100, 100)]);
        unseen.counts.disconnects = 3;
        assert_eq!(idle_timeout_ns(&unseen), None);
        assert_eq!(idle_timeout_ns(&lost(&[(3_000, 0)])), None, "one connection tells nothing");
    }
}
