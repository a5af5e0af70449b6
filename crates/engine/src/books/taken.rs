//! Messages that rules of the app's file took for something else.
//!
//! One of them is known to be missing when the step is over: it may also come in the way that counts,
//! before the one that a rule takes or after it. A rule may take all that comes, so a sample of its messages
//! stands for the others: of the whole step, in which a server may change what it says.

use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

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
    /// The sample, and how often each message came.
    kept: HashMap<TakenMessage, u32>,
    /// The highest hash of messages in the sample.
    hash_max: u64,
    /// Number of messages, in the sample or not.
    all: u64,
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
            hash_max: u64::MAX,
            all: 0,
            first_ns: now_ns,
            last_ns: now_ns,
            example: example(),
        });
        of_rule.last_ns = now_ns;
        of_rule.add(taken);
    }

    /// The rules, each with its messages.
    pub(crate) fn into_rules(self) -> impl Iterator<Item = (Rule, OfRule)> {
        self.by_rule.into_iter()
    }
}

impl TakenMessage {
    /// The same for each time that the message comes, and at random for different ones.
    fn hash(&self) -> u64 {
        BuildHasherDefault::<DefaultHasher>::default().hash_one(self)
    }
}

impl OfRule {
    fn add(&mut self, taken: TakenMessage) {
        self.all += 1;
        if taken.hash() > self.hash_max {
            return;
        }
        *self.kept.entry(taken).or_default() += 1;
        while self.kept.len() > KEPT_MAX {
            // By hash, and not by age: what is left is a sample of the whole step, not of its beginning.
            self.hash_max /= 2;
            self.kept.retain(|taken, _| taken.hash() <= self.hash_max);
        }
    }

    /// The messages of the rule that are missing; `None` if there are none. `lacking` says how many messages
    /// with this stamp the client lacks.
    pub(crate) fn missing(self, mut lacking: impl FnMut(TakenMessage) -> u32) -> Option<ErrorKind> {
        let (mut kept, mut missing) = (0, 0);
        for (&taken, &came) in &self.kept {
            kept += u64::from(came);
            // What came twice may be missing once.
            missing += u64::from(came.min(lacking(taken)));
        }
        let Self { all, first_ns, last_ns, example, .. } = self;
        let count = (u128::from(all) * u128::from(missing) / u128::from(kept.max(1))) as u64;
        (count > 0).then_some(ErrorKind { count, first_ns, last_ns, example, local: false })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(number: u32) -> TakenMessage {
        TakenMessage { client: 0, stamp: Stamp::new(0, 0, number, 1, 1) }
    }

    /// The messages of the last quarter are lacking.
    #[test]
    fn samples_stand_for_the_whole_step() {
        let mut taken = TakenMessages::default();
        let all = 4 * KEPT_MAX as u32;
        for number in 0..all {
            taken.add(Rule::Ignore, message(number), number.into(), || format!("{number}"));
        }
        // It comes twice, and is lacking once.
        for at_ns in [7, 8] {
            taken.add(Rule::Push, message(all), at_ns, || "pushed".into());
        }
        let is_late = |taken: TakenMessage| u32::from(taken.stamp.seq >= all / 4 * 3);
        let mut missing: Vec<_> = taken
            .into_rules()
            .filter_map(|(rule, of_rule)| Some((rule.name(), of_rule.missing(is_late)?)))
            .collect();
        missing.sort_by_key(|(rule, _)| *rule);
        let [(_, ignored), (_, pushed)] = &missing[..] else { panic!("{missing:?}") };
        assert!(ignored.count.abs_diff(u64::from(all / 4)) <= u64::from(all / 40), "{ignored:?}");
        assert_eq!((ignored.first_ns, ignored.last_ns, &*ignored.example), (0, u64::from(all - 1), "0"));
        assert_eq!((pushed.count, pushed.first_ns, &*pushed.example), (1, 7, "pushed"));
    }

    #[test]
    fn rules_that_took_nothing_missing_are_silent() {
        let mut taken = TakenMessages::default();
        taken.add(Rule::Answer, message(3), 1, String::new);
        assert!(taken.into_rules().all(|(_, of_rule)| of_rule.missing(|_| 0).is_none()));
    }
}
