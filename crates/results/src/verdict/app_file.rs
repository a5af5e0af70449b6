//! Messages that the app's file did not look for: no server is to blame for messages that came and were not recognised.

use stats::{Counts, error_kind};

use crate::finding::Cause;
use crate::step::Step;

/// Values to keep, without which most clients ended; or messages with throng's ids that no condition of the
/// file fits, or that a rule of the file took, or messages without ids in place of copies, where they are at
/// least half of what is missing. The rest may be the server's loss: one lost message does not make the others
/// so.
pub(super) fn missed(step: &Step) -> Option<Cause> {
    let Counts { missing, unacknowledged, unseen, join_failures, .. } = step.counts;
    let lacking = step.lacking();
    if let Some(cause) = not_kept(step) {
        return Some(cause);
    }
    if let Some(error) = step.errors.get(error_kind::JOINED_BY_COLUMN).filter(|error| error.count >= lacking)
    {
        return Some(Cause::FileRooms { leaked: error.count, example: error.example.clone() });
    }
    if lacking + unseen + join_failures == 0 {
        return None;
    }
    let is_most = |messages: u64| messages >= lacking.div_ceil(2);
    if let Some(error) = step.errors.get(error_kind::UNMATCHED).filter(|error| is_most(error.count)) {
        let (messages, example) = (error.count, error.example.clone());
        return Some(Cause::FileUnmatched { messages, lost: lacking.saturating_sub(messages), example });
    }
    if let Some(cause) = without_id(step) {
        return Some(cause);
    }
    // A rule takes acknowledgements beside copies, and each kind may be lost while it takes the other.
    let lacking = missing + unacknowledged;
    let taken = step.errors.iter().filter(|(kind, _)| error_kind::is_taken(kind));
    let (_, error) = taken.max_by_key(|(_, error)| error.count)?;
    let (messages, example) = (error.count, error.example.clone());
    let lost = lacking.saturating_sub(messages);
    (lost <= messages).then_some(Cause::FileTook { messages, lost, example })
}

/// Messages without ids, where no copy came with one: the server made them of what was said, and left out the
/// id. Answers say nothing of copies, and one copy with its id shows that the server hands ids on.
fn without_id(step: &Step) -> Option<Cause> {
    let Counts { sent, expected, .. } = step.counts;
    let error = step.errors.get(error_kind::UNRECOGNISED)?;
    let (messages, lacking) = (error.count, step.lacking());
    // Far more than there were copies are something else: who has come, what time it is.
    let is_of_copies = expected > sent && step.came() == 0 && messages <= 2 * lacking;
    (is_of_copies && messages >= lacking.div_ceil(2)).then(|| Cause::FileWithoutId {
        messages,
        lost: lacking.saturating_sub(messages),
        example: error.example.clone(),
    })
}

/// A value to keep, without which most clients of the step ended, and at least half of those that did: what
/// became of the others is not the file's.
fn not_kept(step: &Step) -> Option<Cause> {
    let Counts { connect_failures, connect_timeouts, disconnects, .. } = step.counts;
    let kinds = step.errors.iter().filter(|(kind, _)| kind.starts_with(error_kind::NOT_KEPT_PREFIX));
    let (_, error) = kinds.max_by_key(|(_, error)| error.count)?;
    let ended = connect_failures + connect_timeouts + disconnects;
    let clients = step.clients.max(step.connections());
    let is_of_most = 2 * error.count >= ended && 2 * error.count > clients;
    // A client that comes back ends once more.
    let clients = error.count.min(clients.max(1));
    is_of_most.then(|| Cause::FileKept { clients, example: error.example.clone() })
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
        for (missing, lost) in [(42, 0), (46, 4), (84, 42)] {
            step.counts.missing = missing;
            let cause = Cause::FileUnmatched { messages: 42, lost, example: "copy".into() };
            assert_eq!(missed(&step), Some(cause.clone()));
            assert_eq!(bottleneck(&step, None), cause.into());
        }
        step.counts.missing = 85;
        assert_eq!(missed(&step), None, "most of it never came");
    }

    #[test]
    fn copies_without_ids_are_the_files() {
        let mut step = Step::default();
        for at in 0..42 {
            step.errors.add("unrecognised", at, "move");
        }
        (step.counts.sent, step.counts.expected) = (10, 50);
        assert_eq!(missed(&step), None, "nothing is missing");
        for (missing, lost) in [(40, 0), (50, 8), (84, 42)] {
            step.counts.missing = missing;
            let cause = Cause::FileWithoutId { messages: 42, lost, example: "move".into() };
            assert_eq!(missed(&step), Some(cause.clone()));
            assert_eq!(bottleneck(&step, None), cause.into());
        }
        step.counts.missing = 85;
        assert_eq!(missed(&step), None, "most of it never came");
        (step.counts.missing, step.counts.received) = (49, 1);
        assert_eq!(missed(&step), None, "a copy came with its id");
        (step.counts.missing, step.counts.received, step.counts.expected) = (10, 0, 10);
        assert_eq!(missed(&step), None, "an answer is not a copy");
    }

    #[test]
    fn values_that_are_not_there_are_the_files() {
        let mut step = Step::default();
        step.errors.add("not_kept_nonce", 0, "nothing at json:/nonce");
        let cause = Cause::FileKept { clients: 1, example: "nothing at json:/nonce".into() };
        for connect_failures in [1, 2] {
            step.counts.connect_failures = connect_failures;
            assert_eq!(missed(&step), Some(cause.clone()));
            assert_eq!(bottleneck(&step, None), cause.clone().into());
        }
        step.counts.connect_failures = 3;
        assert_eq!(missed(&step), None, "most failed otherwise");
        (step.clients, step.counts.connect_failures) = (2, 1);
        assert_eq!(missed(&step), None, "half were served");
        for at in 1..5 {
            step.errors.add("not_kept_nonce", at, "");
        }
        assert_eq!(
            missed(&step),
            Some(Cause::FileKept { clients: 2, example: "nothing at json:/nonce".into() })
        );
        step.clients = 1_000;
        step.counts.missing = 5_000;
        assert_eq!(missed(&step), None, "most were served");
    }

    #[test]
    fn leaks_of_column_rooms_are_the_files() {
        let mut step = Step::default();
        step.counts.leaked = 1;
        assert_eq!(missed(&step), None);
        step.errors.add("joined_by_column", 0, "of");
        for missing in [0, 1] {
            step.counts.missing = missing;
            assert_eq!(missed(&step), Some(Cause::FileRooms { leaked: 1, example: "of".into() }));
        }
        step.counts.missing = 2;
        assert_eq!(missed(&step), None, "one of them is lost");
    }

    #[test]
    fn rules_take_what_is_missing() {
        let mut taken = stats::Errors::default();
        for at in 0..42 {
            taken.add("taken_by_ignore", at, "`[[ignore]]`: {}");
        }
        let cause = |missing, unacknowledged| {
            let mut step = Step::default();
            (step.counts.missing, step.counts.unacknowledged) = (missing, unacknowledged);
            step.explain_missing(&taken);
            missed(&step)
        };
        let took = |lost| Some(Cause::FileTook { messages: 42, lost, example: "`[[ignore]]`: {}".into() });
        assert_eq!(cause(0, 0), None, "they were under way to clients that left");
        assert_eq!((cause(42, 0), cause(46, 0), cause(84, 0)), (took(0), took(4), took(42)));
        assert_eq!(
            (cause(0, 42), cause(4, 42)),
            (took(0), took(4)),
            "acknowledgements, and four copies lost"
        );
        assert_eq!((cause(86, 0), cause(44, 42)), (None, None), "most of it never came");
    }
}
