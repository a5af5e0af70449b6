//! Failures, counted by kind: a failed client is a figure, never the end of a run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The longest example kept of a kind of error.
pub const EXAMPLE_BYTES_MAX: usize = 200;

/// The facts of one kind of error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorKind {
    /// The number of errors of this kind.
    pub count: u64,
    /// The time of the first error, from the start of the run.
    pub first_ns: u64,
    /// The time of the last error, from the start of the run.
    pub last_ns: u64,
    /// The first error's text, at most [`EXAMPLE_BYTES_MAX`] bytes.
    pub example: String,
    /// True if the errors are the generator's own: its machine lacked ports, files or memory.
    pub local: bool,
}

/// Errors by kind. A kind is a short lower-case name: `refused`, `reset`, `bad_status`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Errors {
    kinds: BTreeMap<String, ErrorKind>,
}

impl Errors {
    /// Counts one error at `at_ns` from the start of the run. `example` is kept if it is the earliest.
    pub fn add(&mut self, kind: &str, at_ns: u64, example: &str) {
        match self.kinds.get_mut(kind) {
            Some(known) => known.count_one(at_ns, example),
            None => {
                let example = cut(example).into();
                let first = ErrorKind { count: 1, first_ns: at_ns, last_ns: at_ns, example, local: false };
                self.kinds.insert(kind.into(), first);
            }
        }
    }

    /// Notes that a kind that was counted is the generator's own.
    pub fn set_local(&mut self, kind: &str) {
        if let Some(known) = self.kinds.get_mut(kind) {
            known.local = true;
        }
    }

    /// Adds a kind with its figures, as a file or a message carries them.
    pub fn add_kind(&mut self, kind: &str, mut seen: ErrorKind) {
        // From a file or another machine, which need not keep to the bound.
        seen.example.truncate(cut(&seen.example).len());
        match self.kinds.get_mut(kind) {
            Some(known) => known.merge(&seen),
            None => {
                self.kinds.insert(kind.into(), seen);
            }
        }
    }

    /// Adds all of `other`.
    pub fn merge(&mut self, other: &Errors) {
        for (kind, seen) in &other.kinds {
            match self.kinds.get_mut(kind) {
                Some(known) => known.merge(seen),
                None => {
                    self.kinds.insert(kind.clone(), seen.clone());
                }
            }
        }
    }

    /// The number of errors of all kinds.
    pub fn total(&self) -> u64 {
        self.kinds.values().map(|kind| kind.count).sum()
    }

    /// Returns whether no error was counted.
    pub fn is_empty(&self) -> bool {
        self.kinds.is_empty()
    }

    /// One kind by name.
    pub fn get(&self, kind: &str) -> Option<&ErrorKind> {
        self.kinds.get(kind)
    }

    /// All kinds, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &ErrorKind)> {
        self.kinds.iter().map(|(name, kind)| (name.as_str(), kind))
    }
}

impl ErrorKind {
    fn count_one(&mut self, at_ns: u64, example: &str) {
        self.count += 1;
        self.last_ns = self.last_ns.max(at_ns);
        if at_ns < self.first_ns {
            self.first_ns = at_ns;
            self.example = cut(example).into();
        }
    }

    fn merge(&mut self, other: &ErrorKind) {
        self.count += other.count;
        self.last_ns = self.last_ns.max(other.last_ns);
        self.local |= other.local;
        // Ties go to the smaller text, so that the order of merging does not show.
        if (other.first_ns, &other.example) < (self.first_ns, &self.example) {
            self.first_ns = other.first_ns;
            self.example.clone_from(&other.example);
        }
    }
}

fn cut(example: &str) -> &str {
    let mut end = example.len().min(EXAMPLE_BYTES_MAX);
    while !example.is_char_boundary(end) {
        end -= 1;
    }
    &example[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_first_last_and_the_earliest_example() {
        let mut errors = Errors::default();
        errors.add("reset", 20, "second");
        errors.add("reset", 10, "first");
        errors.add("reset", 30, "third");
        let reset = errors.get("reset").unwrap();
        assert_eq!((reset.count, reset.first_ns, reset.last_ns), (3, 10, 30));
        assert_eq!(reset.example, "first");
        assert_eq!(errors.total(), 3);
    }

    #[test]
    fn merging_does_not_depend_on_the_order() {
        let (mut a, mut b) = (Errors::default(), Errors::default());
        a.add("reset", 5, "x");
        a.add("refused", 7, "r");
        b.add("reset", 5, "w");
        b.add("too_many_files", 9, "f");
        b.set_local("too_many_files");
        a.add("too_many_files", 8, "f");
        let (mut ab, mut ba) = (a.clone(), b.clone());
        ab.merge(&b);
        ba.merge(&a);
        assert_eq!(ab, ba);
        assert_eq!(ab.total(), 5);
        let local = |kind| ab.get(kind).unwrap().local;
        assert!(local("too_many_files") && !local("reset"), "whoever has said so is right");
    }

    #[test]
    fn examples_are_cut_between_characters() {
        let mut errors = Errors::default();
        errors.add("odd", 0, &"é".repeat(150));
        assert_eq!(errors.get("odd").unwrap().example, "é".repeat(100));
        let seen = ErrorKind { example: "é".repeat(150), ..errors.get("odd").unwrap().clone() };
        errors.add_kind("even", seen);
        assert_eq!(errors.get("even").unwrap().example, "é".repeat(100));
    }
}
