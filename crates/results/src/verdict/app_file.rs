//! Messages that the app's file did not look for: no server is to blame for messages that came and were not recognised.

use stats::Counts;

use crate::finding::Cause;
use crate::step::Step;

/// Messages with throng's ids that no condition of the file fits, where something is missing, and all of it can
/// be among them.
pub(super) fn missed(step: &Step) -> Option<Cause> {
    let Counts { missing, unacknowledged, unseen, join_failures, .. } = step.counts;
    let is_short = missing + unacknowledged + unseen + join_failures > 0;
    let error = step.errors.get("unmatched").filter(|error| is_short && error.count >= missing)?;
    Some(Cause::FileUnmatched { messages: error.count, example: error.example.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::bottleneck;

    #[test]
    fn unrecognised_messages_are_not_the_servers_loss() {
        let mut step = Step::default();
        assert_eq!(missed(&step), None);
        for at in 0..42 {
            step.errors.add("unmatched", at, "copy");
        }
        assert_eq!(missed(&step), None, "all that was due has come: they are something else");
        step.counts.missing = 42;
        let cause = Cause::FileUnmatched { messages: 42, example: "copy".into() };
        assert_eq!(missed(&step), Some(cause.clone()));
        assert_eq!(bottleneck(&step, None), cause.into());
    }
}
