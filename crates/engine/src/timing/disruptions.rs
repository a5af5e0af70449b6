//! Disruptions of a step's connections: a storm, a churn or flapping, and reconnects.
//!
//! Rules. In a storm, a client that loses its connection, to the storm or to the server, comes back as its
//! protocol's clients do, or spread over a window. In a churn, a client that leaves is followed by a new one
//! as soon as its connection has ended, or after [`GOODBYE_NS_MAX`]; one that is lost is not. A client that
//! flaps stays away for as long as was asked, or as its protocol's clients do; one that is lost comes back as
//! they do. Where a connection takes a number of messages, the client that ends it is back as soon as it has
//! ended, or after [`GOODBYE_NS_MAX`], and so is one that is lost.

use load::{Cut, Load, Plan, Segment, StepOrder};
use wire::Reconnection;

use crate::timing::churn::Churn;
use crate::timing::flap::{Flap, Presence};
use crate::timing::reconnects::{ReconnectAction, Reconnects};
use crate::timing::renewal::Renewal;
use crate::timing::storm::Storm;

/// How long servers have to answer the goodbye of a client that leaves.
const GOODBYE_NS_MAX: u64 = 1_000_000_000;

/// Failed attempts after which a client that is to have its next connection is no longer waited for.
const TRIES_MAX: u32 = 5;

/// An action on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConnectionAction {
    /// The storm takes the connections of all clients that it [`takes`](Disruptions::takes), without a
    /// goodbye, as a network does.
    Storm,
    /// This client says goodbye.
    Leave(u32),
    /// This client says goodbye, to come back at once.
    Renew(u32),
    /// This client's connection ends in this way, and the client will be back.
    Cut(u32, Cut),
    /// This client connects.
    Connect(u32),
    /// This attempt of this client to connect has had its time, unless it has ended before.
    Expire { client: u32, attempt: u32 },
}

/// The disruptions of a step at one worker.
pub(crate) struct Disruptions {
    kind: Kind,
    reconnects: Reconnects,
}

enum Kind {
    Storm(Storm),
    Churn(Churn),
    Flap(Flap),
    Renewal(Renewal),
}

impl Disruptions {
    /// The disruptions of a step, if it has any, whose load begins at `start_ns` and has a window until
    /// `end_ns`. `clients` of the step's clients are here; the ones `present` are usable and read as fast as
    /// they can.
    pub(crate) fn of(
        plan: &Plan,
        order: &StepOrder,
        segment: Segment,
        clients: u32,
        present: &[u32],
        start_ns: u64,
        end_ns: u64,
    ) -> Option<Self> {
        let (kind, window_ns) = match (order.load, plan.churn, plan.flap) {
            (Load::Storm(storm), ..) => (Kind::Storm(Storm::new(storm, start_ns)), storm.window_ns),
            (_, Some(churn), _) => {
                let churn = Churn::new(churn, segment, order.clients, clients, start_ns, end_ns);
                (Kind::Churn(churn), Some(0))
            }
            (_, None, Some(flap)) => {
                (Kind::Flap(Flap::new(flap, segment, plan.seed, present, start_ns, end_ns)), None)
            }
            (_, None, None) => match plan.messages_per_connection {
                Some(limit) => (Kind::Renewal(Renewal::new(limit, clients)), Some(0)),
                None => return None,
            },
        };
        let seed = plan.seed ^ u64::from(segment.worker);
        let reconnects = Reconnects::new(
            window_ns,
            plan.client_spec.dialect.facts().backoff,
            plan.connecting.timeout_ns,
            seed,
        );
        Some(Self { kind, reconnects })
    }

    /// The action to take now. Each is given once.
    pub(crate) fn poll(
        &mut self,
        now_ns: u64,
        presence: impl Fn(u32) -> Presence,
    ) -> Option<ConnectionAction> {
        // Only flapping resumes sessions, and so only it cares whether a client has heard anything yet.
        let is_usable = |client| presence(client) != Presence::Gone;
        let turn = match &mut self.kind {
            Kind::Storm(storm) => storm.poll(now_ns).then_some(ConnectionAction::Storm),
            Kind::Churn(churn) => churn.poll(now_ns, is_usable).map(ConnectionAction::Leave),
            Kind::Flap(flap) => {
                flap.poll(now_ns, presence).map(|(client, cut)| ConnectionAction::Cut(client, cut))
            }
            Kind::Renewal(renewal) => renewal.poll(is_usable).map(ConnectionAction::Renew),
        };
        turn.or_else(|| {
            self.reconnects.poll(now_ns).map(|due| match due {
                ReconnectAction::Connect(client) => ConnectionAction::Connect(client),
                ReconnectAction::Expire { client, attempt } => ConnectionAction::Expire { client, attempt },
            })
        })
    }

    /// Notes the moment until which everything that arrived has been read.
    pub(crate) fn handle_heard(&mut self, until_ns: u64) {
        self.reconnects.handle_heard(until_ns);
    }

    /// When to ask again, if nothing else happens.
    pub(crate) fn poll_timeout(&self) -> Option<u64> {
        let own_ns = match &self.kind {
            Kind::Storm(storm) => storm.poll_timeout(),
            Kind::Churn(churn) => churn.poll_timeout(),
            Kind::Flap(flap) => flap.poll_timeout(),
            // It waits for answers, and not for a time.
            Kind::Renewal(_) => None,
        };
        own_ns.into_iter().chain(self.reconnects.poll_timeout()).min()
    }

    /// When the storm begins or began, if this is a storm.
    pub(crate) fn storm_ns(&self) -> Option<u64> {
        let Kind::Storm(storm) = &self.kind else { return None };
        Some(storm.start_ns())
    }

    /// Returns whether clients lose their connections on purpose, and come back.
    pub(crate) fn is_flapping(&self) -> bool {
        matches!(self.kind, Kind::Flap(_))
    }

    /// Returns whether clients leave, and others come in their place.
    pub(crate) fn is_churn(&self) -> bool {
        matches!(self.kind, Kind::Churn(_))
    }

    /// The count of messages that each connection takes, if there is one.
    pub(crate) fn renewal(&mut self) -> Option<&mut Renewal> {
        let Kind::Renewal(renewal) = &mut self.kind else { return None };
        Some(renewal)
    }

    /// Returns whether clients end their connection after a number of messages.
    pub(crate) fn is_renewal(&self) -> bool {
        matches!(self.kind, Kind::Renewal(_))
    }

    /// Returns whether the storm takes the connection of a client, by its number in the run.
    pub(crate) fn takes(&self, number: u32) -> bool {
        matches!(&self.kind, Kind::Storm(storm) if storm.takes(number))
    }

    /// Returns whether a client is still to come back and has not failed too often.
    pub(crate) fn has_hope(&self) -> bool {
        match &self.kind {
            Kind::Renewal(renewal) => renewal.is_due() || self.reconnects.has_tries(TRIES_MAX),
            Kind::Storm(_) | Kind::Churn(_) | Kind::Flap(_) => self.reconnects.has_hope(),
        }
    }

    /// Returns whether a client is away on purpose: it is still to come back, and has not failed to.
    pub(crate) fn is_away(&self, client: u32) -> bool {
        matches!(self.kind, Kind::Churn(_) | Kind::Flap(_)) && self.reconnects.is_hoped_for(client)
    }

    /// Ends the disruptions once everything is sent: no more clients leave, but absent ones come back.
    pub(crate) fn handle_loaded(&mut self) {
        match &mut self.kind {
            Kind::Churn(churn) => churn.handle_loaded(),
            Kind::Flap(flap) => flap.handle_loaded(),
            Kind::Renewal(renewal) => renewal.handle_loaded(),
            Kind::Storm(_) => {}
        }
    }

    /// Handles the loss of a usable client's connection. `reconnection` is what the server said about the
    /// next.
    pub(crate) fn handle_loss(&mut self, client: u32, reconnection: Reconnection, now_ns: u64) {
        if let Kind::Storm(_) | Kind::Flap(_) | Kind::Renewal(_) = self.kind {
            self.reconnects.handle_loss(client, reconnection, now_ns);
        }
    }

    /// Handles the cut of a flapping client's connection. `reconnection` is what the server said about the
    /// next.
    pub(crate) fn handle_cut(&mut self, client: u32, reconnection: Reconnection, now_ns: u64) {
        let Kind::Flap(flap) = &self.kind else { return };
        match flap.away_ns() {
            Some(away_ns) => self.reconnects.handle_departure(client, now_ns + away_ns),
            None => self.reconnects.handle_loss(client, reconnection, now_ns),
        }
    }

    /// Handles a client's goodbye; `is_over` if its connection has ended with that.
    pub(crate) fn handle_goodbye(&mut self, client: u32, is_over: bool, now_ns: u64) {
        // Replaced by an earlier moment if the server answers the goodbye before (`handle_parted`).
        let wait_ns = if is_over { 0 } else { GOODBYE_NS_MAX };
        self.reconnects.handle_departure(client, now_ns + wait_ns);
    }

    /// Handles the end of a connection after a goodbye: another client comes in its place, unless the step
    /// has one too many.
    pub(crate) fn handle_parted(&mut self, client: u32, now_ns: u64) {
        if matches!(self.kind, Kind::Churn(_) | Kind::Renewal(_)) && self.reconnects.expects(client) {
            self.reconnects.handle_departure(client, now_ns);
        }
    }

    /// Notes that the attempt of a client to come back has begun.
    pub(crate) fn handle_begun(&mut self, client: u32, attempt: u32, now_ns: u64) {
        self.reconnects.handle_begun(client, attempt, now_ns);
    }

    /// Handles an attempt to come back that could not begin, because a unix socket's backlog is full.
    pub(crate) fn handle_full(&mut self, client: u32, now_ns: u64) {
        self.reconnects.handle_full(client, now_ns);
    }

    /// Returns whether clients may still wait for room in a unix socket's backlog.
    pub(crate) fn may_wait_for_room(&self, now_ns: u64) -> bool {
        self.reconnects.may_wait_for_room(now_ns)
    }

    /// Handles an attempt to come back that has failed.
    pub(crate) fn handle_failure(&mut self, client: u32, reconnection: Reconnection, now_ns: u64) {
        self.reconnects.handle_failure(client, reconnection, now_ns);
    }

    /// Notes that a client is back.
    pub(crate) fn handle_back(&mut self, client: u32, now_ns: u64) {
        self.reconnects.handle_back(client);
        match &mut self.kind {
            Kind::Flap(flap) => flap.handle_back(client, now_ns),
            Kind::Renewal(renewal) => renewal.handle_back(client),
            Kind::Churn(churn) => churn.handle_back(),
            Kind::Storm(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;
    const ALONE: Segment = Segment { worker: 0, workers: 1 };

    fn reconnects() -> Reconnects {
        Reconnects::new(Some(0), wire::Backoff::USUAL, 5 * S, 1)
    }

    fn storm() -> Disruptions {
        let storm =
            load::Storm { rate_per_s: Some(1.0), lead_ns: S, duration_ns: S, share: 1.0, window_ns: None };
        Disruptions { kind: Kind::Storm(Storm::new(storm, 0)), reconnects: reconnects() }
    }

    fn churn() -> Disruptions {
        let churn = load::Churn { share_per_s: 0.5 };
        Disruptions { kind: Kind::Churn(Churn::new(churn, ALONE, 2, 2, 0, 10 * S)), reconnects: reconnects() }
    }

    #[test]
    fn clients_lost_in_a_storm_come_back() {
        let mut disruptions = storm();
        assert_eq!((disruptions.poll(0, |_| Presence::Here), disruptions.poll_timeout()), (None, Some(S)));
        assert_eq!(disruptions.poll(S, |_| Presence::Here), Some(ConnectionAction::Storm));
        disruptions.handle_loss(4, Reconnection::Usual, S);
        assert_eq!(disruptions.poll(S, |_| Presence::Here), Some(ConnectionAction::Connect(4)));
        disruptions.handle_begun(4, 2, S);
        assert_eq!(
            (disruptions.poll(S, |_| Presence::Here), disruptions.poll_timeout()),
            (None, Some(6 * S))
        );
        assert_eq!(
            disruptions.poll(6 * S, |_| Presence::Here),
            Some(ConnectionAction::Expire { client: 4, attempt: 2 })
        );
        disruptions.handle_back(4, 6 * S);
        assert_eq!((disruptions.poll(9 * S, |_| Presence::Here), disruptions.poll_timeout()), (None, None));
    }

    #[test]
    fn churned_clients_are_followed_after_their_close() {
        let mut disruptions = churn();
        assert_eq!(disruptions.poll(0, |_| Presence::Here), Some(ConnectionAction::Leave(0)));
        disruptions.handle_goodbye(0, false, 0);
        assert_eq!(disruptions.poll(S / 2, |_| Presence::Here), None);
        disruptions.handle_parted(0, S / 2);
        assert_eq!(disruptions.poll(S / 2, |_| Presence::Here), Some(ConnectionAction::Connect(0)));
        disruptions.handle_parted(1, S / 2);
        disruptions.handle_loss(1, Reconnection::Usual, S / 2);
        disruptions.handle_loaded();
        assert_eq!(
            disruptions.poll(9 * S, |_| Presence::Here),
            None,
            "nobody comes twice, or waits for a client that was lost, or leaves any more"
        );
    }

    #[test]
    fn a_goodbye_has_its_time() {
        let mut disruptions = churn();
        assert_eq!(disruptions.poll(0, |_| Presence::Here), Some(ConnectionAction::Leave(0)));
        disruptions.handle_goodbye(0, false, 0);
        disruptions.handle_loaded();
        assert_eq!(disruptions.poll(S - 1, |_| Presence::Here), None);
        assert_eq!(disruptions.poll(S, |_| Presence::Here), Some(ConnectionAction::Connect(0)));
    }
}
