//! Everything that is timed: the table that workers, results, files, limits and reports are made from.

use serde::{Deserialize, Serialize};

use crate::table::table;
use crate::{Histogram, Packed};

/// What is known of something timed, beside its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedFacts {
    /// The object of a results file that it stands in, where it is not the step itself.
    pub within: Option<&'static str>,
}

const OF_STEP: TimedFacts = TimedFacts { within: None };
const OF_HANDSHAKE: TimedFacts = TimedFacts { within: Some("handshake_parts") };

table! {
    /// Everything that was timed (METHODOLOGY "Figures"), as it is recorded, or packed while it travels. An empty histogram
    /// is a figure that does not apply.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    struct Figures<H = Histogram> of H;

    /// Something timed.
    enum Timed with TimedFacts;

    /// Start of the TCP connect → usable.
    handshake: Handshake = OF_STEP,
    /// The first part of the handshake: the TCP connect.
    tcp: Tcp = OF_HANDSHAKE,
    /// Its second part: the TLS handshake.
    tls: Tls = OF_HANDSHAKE,
    /// Its third part: the plain requests with which a client logs in.
    login: Login = OF_HANDSHAKE,
    /// Its fourth part: the HTTP upgrade.
    upgrade: Upgrade = OF_HANDSHAKE,
    /// Its last part: the dialect's own readiness.
    ready: Ready = OF_HANDSHAKE,
    /// Intended send → echo, acknowledgement or own copy.
    rtt: Rtt = OF_STEP,
    /// Actual send → the same.
    service: Service = OF_STEP,
    /// Intended send → a receiver has its copy; one sample a copy.
    delivery: Delivery = OF_STEP,
    /// Intended send → the last receiver has its copy. No worker knows it: receivers may be anywhere.
    completion: Completion = OF_STEP,
    /// Intended send → actual send.
    send_lag: SendLag = OF_STEP,
    /// Connection lost in a storm → usable again.
    recovery: Recovery = OF_STEP,
}

impl Figures {
    /// The same, small.
    pub fn pack(&self) -> Figures<Packed> {
        let mut packed = Figures::default();
        for (timed, samples) in self.iter() {
            *packed.get_mut(timed) = Packed::from(samples);
        }
        packed
    }

    /// Adds all samples of packed ones.
    pub fn add(&mut self, packed: &Figures<Packed>) {
        for (timed, samples) in packed.iter() {
            self.get_mut(timed).add(samples);
        }
    }
}

impl Figures<Packed> {
    /// Adds all samples of `other`.
    pub fn merge(&mut self, other: &Figures<Packed>) {
        for (timed, samples) in other.iter() {
            self.get_mut(timed).merge(samples);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One sample of each, no two alike.
    fn one_each() -> Figures {
        let mut figures: Figures = Figures::default();
        for (ms, timed) in (1..).zip(Timed::ALL) {
            figures.get_mut(timed).record_ns(ms * 1_000_000);
        }
        figures
    }

    #[test]
    fn each_is_packed_merged_and_added_to_its_like() {
        let mut twice = one_each().pack();
        twice.merge(&one_each().pack());
        let mut figures = one_each();
        figures.add(&twice);
        for ((timed, found), (_, one)) in figures.iter().zip(one_each().iter()) {
            assert_eq!(
                (found.count(), found.min_ns(), found.max_ns()),
                (3, one.min_ns(), one.max_ns()),
                "{timed}"
            );
        }
    }

    #[test]
    fn names_are_those_of_the_fields() {
        assert_eq!(Timed::SendLag.name(), "send_lag");
        assert!(Timed::ALL.into_iter().all(|timed| Timed::named(timed.name()) == Some(timed)));
        assert_eq!(Timed::named("sendlag"), None);
    }
}
