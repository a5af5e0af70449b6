//! Messages that the app's file did not look for: no server is to blame for messages that came and were not recognised.

use crate::finding::Cause;
use crate::step::Step;

/// Messages with throng's ids that no condition of the file fits, where all that is missing can be among them.
pub(super) fn missed(step: &Step) -> Option<Cause> {
    let error = step.errors.get("unmatched").filter(|error| error.count >= step.counts.missing)?;
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
        let cause = Cause::FileUnmatched { messages: 42, example: "copy".into() };
        assert_eq!(missed(&step), Some(cause.clone()));
        assert_eq!(bottleneck(&step, None), cause.into());
    }
}
