//! Messages that rules of the app's file took for something else.
//!
//! Whether one of them is missing is known when the step is over: it may also come in the way that counts,
//! before the one that a rule takes or after it. A rule may take all that comes, so the first messages of
//! each rule stand for the others.

use std::collections::HashMap;

use codec::Stamp;
use stats::errors::ErrorKind;
use wire::Rule;

/// Most messages of one rule that are kept: at most three rules, with some megabytes each.
const KEPT_MAX: usize = 1 << 15;

/// A message of ours, as it came to a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TakenMessage {
    /// The client to which it came, by its number at this worker.
    pub(crate) client: u32,
    pub(crate) stamp: Stamp,
}

/// Messages of a step that rules took, by rule.
#[derive(Debug, Default)]
pub(crate) struct TakenMessages {
    by_rule: HashMap<Rule, OfRule>,
}

/// Messages that one rule took.
#[derive(Debug)]
pub(crate) struct OfRule {
    /// The first of them, and how often each came.
    kept: HashMap<TakenMessage, u32>,
    /// Messages beyond those.
    beyond: u64,
    first_ns: u64,
    last_ns: u64,
    /// The rule's key, and the first message.
    example: String,
}

impl TakenMessages {
    /// Notes that a rule took a message; `example` is asked for once.
    pub(crate) fn add(
        &mut self,
        rule: Rule,
        taken: TakenMessage,
        now_ns: u64,
        example: impl FnOnce() -> String,
    ) {
        let of_rule = self.by_rule.entry(rule).or_insert_with(|| OfRule {
            kept: HashMap::new(),
            beyond: 0,
            first_ns: now_ns,
            last_ns: now_ns,
            example: example(),
        });
        of_rule.last_ns = now_ns;
        if of_rule.kept.len() < KEPT_MAX || of_rule.kept.contains_key(&taken) {
            *of_rule.kept.entry(taken).or_default() += 1;
        } else {
            of_rule.beyond += 1;
        }
    }

    /// The rules, each with its messages.
    pub(crate) fn into_rules(self) -> impl Iterator<Item = (Rule, OfRule)> {
        self.by_rule.into_iter()
    }
}

impl OfRule {
    /// The messages of the rule that are missing; `None` if there are none. `lacking` says how many messages
    /// with this stamp the client lacks.
    pub(crate) fn missing(self, mut lacking: impl FnMut(TakenMessage) -> u32) -> Option<ErrorKind> {
        let (mut all, mut missing) = (0, 0);
        for (&taken, &came) in &self.kept {
            all += u64::from(came);
            missing += u64::from(came.min(lacking(taken)));
        }
        // Not divided by zero: a rule is here from its first message on.
        let count = missing + (u128::from(self.beyond) * u128::from(missing) / u128::from(all)) as u64;
        let Self { first_ns, last_ns, example, .. } = self;
        (count > 0).then_some(ErrorKind { count, first_ns, last_ns, example, local: false })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(number: u32) -> TakenMessage {
        TakenMessage { client: 0, stamp: Stamp::new(0, 0, number, 1, 1) }
    }

    #[test]
    fn first_messages_stand_for_all() {
        let mut taken = TakenMessages::default();
        let all = 4 * KEPT_MAX as u32;
        for number in (0..all).chain([0]) {
            taken.add(Rule::Ignore, message(number), number.into(), || format!("{number}"));
        }
        taken.add(Rule::Push, message(0), 7, || "pushed".into());
        let is_even = |taken: TakenMessage| 1 - taken.stamp.seq % 2;
        let mut missing: Vec<_> = taken
            .into_rules()
            .filter_map(|(rule, of_rule)| Some((rule.name(), of_rule.missing(is_even)?)))
            .collect();
        missing.sort_by_key(|(rule, _)| *rule);
        let [(_, ignored), (_, pushed)] = &missing[..] else { panic!("{missing:?}") };
        // The message that came twice is lacking once.
        assert!(ignored.count.abs_diff(u64::from(all / 2)) <= 4, "{ignored:?}");
        assert_eq!((ignored.first_ns, ignored.last_ns, &*ignored.example), (0, 0, "0"));
        assert_eq!((pushed.count, pushed.first_ns, &*pushed.example), (1, 7, "pushed"));
    }

    #[test]
    fn rules_that_took_nothing_missing_are_silent() {
        let mut taken = TakenMessages::default();
        taken.add(Rule::Answer, message(3), 1, String::new);
        assert!(taken.into_rules().all(|(_, of_rule)| of_rule.missing(|_| 0).is_none()));
    }
}
