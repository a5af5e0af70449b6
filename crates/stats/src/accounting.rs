//! Every message and every connection, accounted for exactly.
//!
//! The identities (METHODOLOGY "Accounting"): each expected delivery ends up received, missing or in flight; each
//! connection attempt ends up usable, timed out, failed or pending. Duplicates, strays and corrupt messages stand
//! beside: a duplicate never makes up for a missing one.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// What was sent, what was due, what came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Messages handed to the network by the generator.
    pub sent: u64,
    /// Messages of an open loop that waited because every connection they could go on was busy.
    pub waited: u64,
    /// Deliveries due: one per subscribed client for a broadcast, one per echo.
    pub expected: u64,
    /// Distinct expected deliveries seen, late ones included; second copies are not.
    pub received: u64,
    /// Expected deliveries not seen when the step had drained.
    pub missing: u64,
    /// Expected deliveries not seen when their receiver left, or when an interrupted step stopped without draining.
    pub in_flight: u64,
    /// Of the received, those that came after the step's window.
    pub late: u64,
    /// Second and further copies of a delivery.
    pub duplicate: u64,
    /// Of the received, those that came after a later message of the same sender at the same receiver.
    pub reordered: u64,
    /// Well-formed deliveries that were not due at the client that got them.
    pub unexpected: u64,
    /// Messages that are not what was sent.
    pub corrupt: u64,
    /// Connections begun.
    pub connects: u64,
    /// Of the begun, those that became usable.
    pub connected: u64,
    /// Of the begun, those not usable within the connect timeout.
    pub connect_timeouts: u64,
    /// Of the begun, those that failed otherwise; `errors` says how.
    pub connect_failures: u64,
    /// Of the begun, those neither usable nor failed when the step stopped.
    pub connecting: u64,
    /// Usable connections that the server or the network ended.
    pub disconnects: u64,
    /// Usable connections that clients ended because others take their place (churn).
    pub left: u64,
    /// Losses in a storm after which the client was not usable again by the end.
    pub not_back: u64,
    /// Clients that read slowly: they are load, and nothing is due to them.
    pub slow: u64,
    /// Deliveries seen by them, which are in no other count and no figure.
    pub slow_received: u64,
}

/// A broken identity: some message or connection was lost by the generator itself.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum Imbalance {
    /// expected ≠ received + missing + in flight
    #[error("{expected} deliveries were due, but {accounted} are accounted for")]
    Deliveries {
        /// Deliveries due.
        expected: u64,
        /// Received, missing and in flight together.
        accounted: u64,
    },
    /// connects ≠ connected + timeouts + failures + connecting
    #[error("{connects} connections were begun, but {accounted} are accounted for")]
    Connections {
        /// Connections begun.
        connects: u64,
        /// Usable, timed out, failed and connecting together.
        accounted: u64,
    },
    /// Late or reordered deliveries exceed the received ones they are part of.
    #[error("{part} deliveries were late or reordered, but only {received} were received")]
    Part {
        /// Late or reordered deliveries.
        part: u64,
        /// Deliveries received.
        received: u64,
    },
}

/// No worker counts as many of anything: what comes from another machine may claim anything.
const PLAUSIBLE_MAX: u64 = 1 << 44;

impl Counts {
    /// Whether the figures that workers count can be added up without a second thought. What only the crew can know a
    /// worker leaves at 0.
    pub fn is_plausible(&self) -> bool {
        let Counts {
            sent,
            waited,
            expected,
            received,
            missing,
            in_flight,
            late,
            duplicate,
            reordered,
            unexpected,
            corrupt,
            connects,
            connected,
            connect_timeouts,
            connect_failures,
            connecting,
            disconnects,
            left,
            not_back,
            slow,
            slow_received,
        } = *self;
        let of_messages = [
            sent,
            waited,
            received,
            in_flight,
            late,
            duplicate,
            reordered,
            unexpected,
            corrupt,
            slow_received,
        ];
        let of_connections = [
            connects,
            connected,
            connect_timeouts,
            connect_failures,
            connecting,
            disconnects,
            left,
            not_back,
            slow,
        ];
        of_messages.iter().chain(&of_connections).all(|&n| n <= PLAUSIBLE_MAX)
            && [expected, missing] == [0; 2]
    }

    /// Adds another worker's or agent's counts.
    pub fn merge(&mut self, other: &Counts) {
        let Counts {
            sent,
            waited,
            expected,
            received,
            missing,
            in_flight,
            late,
            duplicate,
            reordered,
            unexpected,
            corrupt,
            connects,
            connected,
            connect_timeouts,
            connect_failures,
            connecting,
            disconnects,
            left,
            not_back,
            slow,
            slow_received,
        } = other;
        self.sent += sent;
        self.waited += waited;
        self.expected += expected;
        self.received += received;
        self.missing += missing;
        self.in_flight += in_flight;
        self.late += late;
        self.duplicate += duplicate;
        self.reordered += reordered;
        self.unexpected += unexpected;
        self.corrupt += corrupt;
        self.connects += connects;
        self.connected += connected;
        self.connect_timeouts += connect_timeouts;
        self.connect_failures += connect_failures;
        self.connecting += connecting;
        self.disconnects += disconnects;
        self.left += left;
        self.not_back += not_back;
        self.slow += slow;
        self.slow_received += slow_received;
    }

    /// Checks the identities.
    ///
    /// # Errors
    /// The first one that does not hold.
    pub fn check(&self) -> Result<(), Imbalance> {
        let accounted = self.received + self.missing + self.in_flight;
        if self.expected != accounted {
            return Err(Imbalance::Deliveries { expected: self.expected, accounted });
        }
        let accounted = self.connected + self.connect_timeouts + self.connect_failures + self.connecting;
        if self.connects != accounted {
            return Err(Imbalance::Connections { connects: self.connects, accounted });
        }
        let part = self.late.max(self.reordered);
        if part > self.received {
            return Err(Imbalance::Part { part, received: self.received });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_and_duplicates_are_never_netted() {
        let dropped =
            Counts { expected: 20_000, received: 19_800, missing: 200, duplicate: 80, ..Counts::default() };
        assert_eq!(dropped.check(), Ok(()));
        let netted = Counts { expected: 20_000, received: 19_880, missing: 200, ..Counts::default() };
        assert_eq!(netted.check(), Err(Imbalance::Deliveries { expected: 20_000, accounted: 20_080 }));
    }

    #[test]
    fn every_connection_has_an_end() {
        let counts = Counts { connects: 100, connected: 75, connect_timeouts: 5, ..Counts::default() };
        assert_eq!(counts.check(), Err(Imbalance::Connections { connects: 100, accounted: 80 }));
        assert_eq!(Counts { connect_failures: 20, ..counts }.check(), Ok(()));
    }

    #[test]
    fn late_is_part_of_received() {
        let counts = Counts { expected: 3, received: 1, missing: 2, late: 2, ..Counts::default() };
        assert_eq!(counts.check(), Err(Imbalance::Part { part: 2, received: 1 }));
    }

    fn ones() -> Counts {
        Counts {
            sent: 1,
            waited: 1,
            expected: 1,
            received: 1,
            missing: 1,
            in_flight: 1,
            late: 1,
            duplicate: 1,
            reordered: 1,
            unexpected: 1,
            corrupt: 1,
            connects: 1,
            connected: 1,
            connect_timeouts: 1,
            connect_failures: 1,
            connecting: 1,
            disconnects: 1,
            left: 1,
            not_back: 1,
            slow: 1,
            slow_received: 1,
        }
    }

    #[test]
    fn a_claim_beyond_counting_is_not_plausible_whatever_it_is_of() {
        let of_a_worker = Counts { expected: 0, missing: 0, ..ones() };
        assert!(of_a_worker.is_plausible());
        let claims = postcard::to_stdvec(&of_a_worker).unwrap();
        let huge = postcard::to_stdvec(&(PLAUSIBLE_MAX + 1)).unwrap();
        for field in 0..claims.len() {
            let claim = [&claims[..field], &huge, &claims[field + 1..]].concat();
            let counts: Counts = postcard::from_bytes(&claim).unwrap();
            assert!(!counts.is_plausible(), "{counts:?}");
        }
    }

    #[test]
    fn merging_adds_every_field() {
        let mut sum = ones();
        sum.merge(&ones());
        // As bytes, so that a field added later and forgotten in `merge` fails here.
        assert_eq!(postcard::to_stdvec(&sum).unwrap(), [2; 21]);
    }
}
