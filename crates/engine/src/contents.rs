//! Contents of pushes, for the comparison between the receivers of a number.
//!
//! A worker collects what its clients had and reports that with each delta; nothing is kept that was
//! reported. The crew does the comparing, for a number's receivers may be at several workers.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use serde::{Deserialize, Serialize};

/// The most contents of a report.
pub const CONTENTS_MAX: usize = 1 << 14;

/// A push, by what all its receivers have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PushKey {
    /// Its number.
    pub number: u64,
    /// Its kind in the app's file.
    pub kind: u16,
    /// The room of its receivers.
    pub room: u32,
}

/// One content of a push, and the clients that had it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Content {
    /// The push.
    pub key: PushKey,
    /// A hash of the content.
    pub fingerprint: u64,
    /// When a client had it first, on the run's clock.
    pub at_ns: u64,
    /// Number of that client in the run.
    pub client: u32,
    /// How many clients had it.
    pub receivers: u32,
}

/// The contents of an interval.
#[derive(Clone, Debug, Default)]
pub(crate) struct Contents {
    all: HashMap<(PushKey, u64), Content>,
}

impl Contents {
    /// Adds what clients had. Returns false if there is no room for another content until these are reported.
    pub(crate) fn add(&mut self, content: Content) -> bool {
        // A server that says something else to each client would otherwise grow this by as many entries as it
        // has clients.
        let is_full = self.all.len() >= CONTENTS_MAX;
        match self.all.entry((content.key, content.fingerprint)) {
            Entry::Occupied(mut known) => {
                let known = known.get_mut();
                known.receivers = known.receivers.saturating_add(content.receivers);
            }
            Entry::Vacant(_) if is_full => return false,
            Entry::Vacant(new) => _ = new.insert(content),
        }
        true
    }

    /// Takes the contents, to begin anew.
    pub(crate) fn take(&mut self) -> Vec<Content> {
        self.all.drain().map(|(_, content)| content).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(number: u64, fingerprint: u64, client: u32) -> Content {
        Content { key: PushKey { number, kind: 0, room: 0 }, fingerprint, at_ns: 1, client, receivers: 1 }
    }

    #[test]
    fn receivers_of_one_content_add_up() {
        let mut contents = Contents::default();
        for (fingerprint, client) in [(7, 1), (7, 2), (8, 3)] {
            assert!(contents.add(content(1, fingerprint, client)));
        }
        let mut taken = contents.take();
        taken.sort_by_key(|content| content.client);
        assert_eq!(taken, [Content { receivers: 2, ..content(1, 7, 1) }, content(1, 8, 3)]);
        assert_eq!(contents.take(), []);
    }

    #[test]
    fn contents_of_a_report_are_bounded() {
        let mut contents = Contents::default();
        let added = (0..2 * CONTENTS_MAX as u64).filter(|&number| contents.add(content(number, 7, 0)));
        assert_eq!(added.count(), CONTENTS_MAX);
        assert!(contents.add(content(0, 7, 1)), "a further receiver takes no room");
    }
}
