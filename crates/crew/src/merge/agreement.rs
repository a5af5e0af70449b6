//! Comparison of pushes between their receivers, at whichever worker they are.
//!
//! Rules. The content that most receivers had is right, and a receiver of another differs. Workers report
//! what their clients had within seconds of each other, so a push is kept until [`RECENT_MAX`] others have
//! begun since, twice over at most, and decided then: a run of days takes no more memory than one of minutes.

use std::cmp::Reverse;
use std::collections::HashMap;

use engine::{Content, PushKey};
use stats::errors::ErrorKind;

/// Pushes that are kept before the older half is decided.
const RECENT_MAX: usize = 1 << 16;

/// Most contents of a push that are told apart. Otherwise a server that sends each client something of its
/// own, where the file says that all get the same, would cost memory for every copy.
const VERSIONS_MAX: usize = 64;

/// The pushes that are still compared, and the outcomes of the others.
#[derive(Default)]
pub(super) struct Agreement {
    recent: HashMap<PushKey, Versions>,
    older: HashMap<PushKey, Versions>,
    differing: u64,
    /// When a client first and last had another content.
    times_ns: Option<(u64, u64)>,
    /// The first such client, with the number of the push.
    example: String,
}

/// The contents of a push, the first apart: there is seldom another.
struct Versions {
    first: Content,
    others: Vec<Content>,
    /// Receivers of contents beyond [`VERSIONS_MAX`].
    further: u64,
}

impl Versions {
    fn add(&mut self, content: &Content) {
        let has_room = self.others.len() < VERSIONS_MAX;
        let mut all = std::iter::once(&mut self.first).chain(&mut self.others);
        match all.find(|known| known.fingerprint == content.fingerprint) {
            Some(known) => {
                known.receivers = known.receivers.saturating_add(content.receivers);
                // The earliest receiver stands for the content, whichever worker reports first: the example
                // is the same in each run.
                let earliest = (known.at_ns, known.client).min((content.at_ns, content.client));
                (known.at_ns, known.client) = earliest;
            }
            None if has_room => self.others.push(*content),
            None => self.further += u64::from(content.receivers),
        }
    }
}

impl Agreement {
    /// Adds what some receivers had.
    pub(super) fn add(&mut self, content: &Content) {
        // The older half first: a push that is there must not begin anew among the recent ones.
        if let Some(versions) = self.older.get_mut(&content.key) {
            return versions.add(content);
        }
        match self.recent.get_mut(&content.key) {
            Some(versions) => versions.add(content),
            None => {
                let versions = Versions { first: *content, others: Vec::new(), further: 0 };
                self.recent.insert(content.key, versions);
            }
        }
        if self.recent.len() >= RECENT_MAX {
            let older = std::mem::replace(&mut self.older, std::mem::take(&mut self.recent));
            self.decide(older);
        }
    }

    /// The receivers that had another content, as an error with the first of them; `None` without any.
    pub(super) fn finish(mut self, epoch_ns: u64) -> Option<ErrorKind> {
        for pushes in [std::mem::take(&mut self.older), std::mem::take(&mut self.recent)] {
            self.decide(pushes);
        }
        let (first_ns, last_ns) = self.times_ns?;
        Some(ErrorKind {
            count: self.differing,
            first_ns: first_ns.saturating_sub(epoch_ns),
            last_ns: last_ns.saturating_sub(epoch_ns),
            example: self.example,
            local: false,
        })
    }

    fn decide(&mut self, pushes: HashMap<PushKey, Versions>) {
        for Versions { first, others, further } in pushes.into_values().filter(|all| !all.others.is_empty()) {
            self.differing += further;
            let all = || others.iter().chain([&first]);
            // Of two that as many had, the one that came first.
            let by_receivers = |content: &&Content| (content.receivers, Reverse(content.at_ns));
            let right = all().max_by_key(by_receivers).expect("there is the first");
            for wrong in all().filter(|content| content.fingerprint != right.fingerprint) {
                self.book(wrong, right.receivers);
            }
        }
    }

    fn book(&mut self, wrong: &Content, others: u32) {
        let Content { at_ns, client, receivers, key, .. } = *wrong;
        self.differing += u64::from(receivers);
        let (first_ns, last_ns) = self.times_ns.unwrap_or((u64::MAX, 0));
        if at_ns < first_ns {
            let number = key.number;
            let plural = if others == 1 { "" } else { "s" };
            self.example = format!(
                "client {client} received other content under number {number} than {others} other{plural}"
            );
        }
        self.times_ns = Some((first_ns.min(at_ns), last_ns.max(at_ns)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(number: u64, room: u32, fingerprint: u64, client: u32) -> Content {
        let at_ns = 1_000 * number + u64::from(client);
        Content { key: PushKey { number, kind: 0, room }, fingerprint, at_ns, client, receivers: 1 }
    }

    /// How many differ, and the numbers in the example of the first: its client, its push, and how many
    /// others there are.
    fn differing(contents: impl IntoIterator<Item = Content>) -> Option<(u64, Vec<u64>)> {
        let mut agreement = Agreement::default();
        for content in contents {
            agreement.add(&content);
        }
        let error = agreement.finish(0)?;
        Some((error.count, error.example.split(' ').filter_map(|word| word.parse().ok()).collect()))
    }

    #[test]
    fn minority_content_differs() {
        let many = Content { receivers: 17, ..content(4, 0, 7, 0) };
        let of_workers =
            [content(3, 0, 7, 1), content(4, 0, 9, 8), many, content(4, 0, 8, 5), content(4, 0, 7, 2)];
        assert_eq!(differing(of_workers), Some((2, vec![5, 4, 18])), "whichever worker reports first");
        assert_eq!(differing([many, content(4, 0, 7, 9)]), None);
    }

    #[test]
    fn rooms_are_compared_apart() {
        assert_eq!(differing([content(1, 0, 7, 0), content(1, 1, 8, 1)]), None);
    }

    #[test]
    fn contents_of_each_client_are_bounded() {
        let clients = 10 * VERSIONS_MAX as u32;
        let own = |client| content(1, 0, 100 + u64::from(client), client);
        let mut agreement = Agreement::default();
        for client in 0..clients {
            agreement.add(&own(client));
        }
        assert_eq!(agreement.recent.values().next().unwrap().others.len(), VERSIONS_MAX);
        assert_eq!(agreement.finish(0).unwrap().count, u64::from(clients) - 1, "all but the first");
    }

    #[test]
    fn decided_pushes_stay_counted() {
        let pushes = (0..3 * RECENT_MAX as u64).flat_map(|number| {
            let last = if number == 5 { 8 } else { 7 };
            [content(number, 0, 7, 0), content(number, 0, 7, 1), content(number, 0, last, 2)]
        });
        assert_eq!(differing(pushes), Some((1, vec![2, 5, 2])));
    }
}
