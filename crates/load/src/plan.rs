//! The plan: everything a worker must know before it starts, as data.

use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::client_shares::{Churn, Slow, Speakers, is_picked};
use crate::client_spec::{ClientSpec, Endpoint, LoginServer, TlsPlan};
use crate::flap::Flap;
use crate::publishing::Publishing;
use crate::rooms::Rooms;
use crate::schedule::Schedule;
use crate::segment::Segment;
use crate::senders::Senders;

/// The plan of a run, sent to every worker once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Endpoints to connect to; clients take the endpoints in turn.
    pub endpoints: Vec<Endpoint>,
    /// Present for `wss://` and `https://`.
    pub tls: Option<TlsPlan>,
    /// Servers at which clients log in, where they do not log in at the endpoints: numbered from 1 as in the
    /// app's file.
    pub login_servers: Vec<LoginServer>,
    /// The clients' protocol once they are connected.
    pub client_spec: ClientSpec,
    /// The receivers of each message: its sender, or its room.
    pub workload: Workload,
    /// The rooms, in which members hear each other.
    pub rooms: Arc<Rooms>,
    /// The clients that send, where others only listen.
    pub speakers: Option<Speakers>,
    /// The clients that read slowly, if any do.
    pub slow: Option<Slow>,
    /// The clients that leave and are replaced by others, if any are.
    pub churn: Option<Churn>,
    /// The loss of connections on purpose, if clients lose theirs and come back.
    pub flap: Option<Flap>,
    /// The number of answers after which a client ends its connection and connects again at once.
    pub messages_per_connection: Option<NonZeroU32>,
    /// The requests that bring messages to rooms from outside, if any do.
    pub publishing: Option<Box<Publishing>>,
    /// The pace, the timeout and the source addresses of connecting.
    pub connecting: Connecting,
    /// How long a step waits for what is still under way.
    pub draining: Draining,
    /// True if every event is noted for the event log.
    pub records_events: bool,
    /// The most clients that a step will have, over all workers, if that is known.
    pub clients_max: Option<u32>,
    /// The start of the run on the run's clock (ns): times in results count from here.
    pub epoch_ns: u64,
    /// The wall clock at the start of the run, in nanoseconds since 1970: nothing is measured by it, but
    /// messages show it, and all workers show the same.
    pub unix_epoch_ns: u64,
    /// The seed of every worker's random numbers (masks, keys, choice of senders).
    pub seed: u64,
}

impl Plan {
    /// The senders where there is no storm.
    pub fn senders(&self) -> Senders {
        Senders::new(self.speakers, self.slow).of_roles(self.rooms.roles())
    }

    /// The most connections of a client at once.
    pub fn links(&self) -> u64 {
        self.flap.as_ref().map_or(1, Flap::links)
    }

    /// Clients that share each connection; `None`: each has its own.
    pub fn shared_by(&self) -> Option<u32> {
        let is_shared = self.client_spec.carrier == wire::Carrier::Http2 && self.connecting.streams > 1;
        is_shared.then_some(self.connecting.streams)
    }

    /// The number that messages of this run carry, the same at all workers: of two runs at one server, each
    /// recognizes its own messages.
    pub fn run(&self) -> u16 {
        // The odd multiplier of SplitMix64 carries the lowest bits, which differ most, into the uppermost.
        let mixed = (self.unix_epoch_ns ^ self.epoch_ns.rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 48) as u16
    }

    /// Returns whether the same clients come back in a step of this load, and go on with their TLS sessions.
    pub fn resumes_tls(&self, load: Load) -> bool {
        let comes_back =
            self.flap.is_some() || self.messages_per_connection.is_some() || matches!(load, Load::Storm(_));
        comes_back && self.tls.as_ref().is_some_and(|tls| tls.resumes)
    }

    /// The plan of the connections over which messages are published to rooms from outside, if any are. They
    /// share the clients' people and addresses.
    pub fn of_publishers(&self) -> Option<Plan> {
        let Publishing { endpoints, tls, client_spec, .. } = &**self.publishing.as_ref()?;
        let people = Arc::clone(&self.client_spec.people);
        Some(Plan {
            endpoints: endpoints.clone(),
            tls: tls.clone(),
            login_servers: Vec::new(),
            client_spec: ClientSpec { people, ..client_spec.clone() },
            rooms: Arc::default(),
            // A publisher is not a client of the load: it neither reads slowly nor loses its connection on
            // purpose.
            slow: None,
            flap: None,
            messages_per_connection: None,
            publishing: None,
            ..self.clone()
        })
    }

    /// The plan for some workers with consecutive numbers: without the rows of users' data that their clients
    /// do not take.
    pub fn part(&self, segments: &[Segment]) -> Plan {
        let (Some(clients_max), Some(first), Some(last)) =
            (self.clients_max, segments.first(), segments.last())
        else {
            return self.clone();
        };
        // A run of neighbours: agents and processes get their workers side by side.
        let own = first.worker..last.worker.saturating_add(1);
        let rows = self.client_spec.people.rows.share(own, first.workers, clients_max);
        let people = Arc::new(self.client_spec.people.with_rows(rows));
        Plan { client_spec: ClientSpec { people, ..self.client_spec.clone() }, ..self.clone() }
    }
}

/// The receivers of each message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Workload {
    /// Each message comes back to its sender alone.
    Echo,
    /// Each message goes to every client of its sender's room.
    Broadcast,
}

/// The pace, the timeout and the source addresses of connecting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Connecting {
    /// The time after which a client that is not usable yet counts as a connection timeout.
    pub timeout_ns: u64,
    /// New connections per second over all workers; absent: as fast as the server allows.
    pub rate_per_s: Option<f64>,
    /// Most handshakes under way at once over all workers.
    pub parallel: u32,
    /// Source addresses, taken in turn; empty: the system chooses.
    pub local_addrs: Vec<IpAddr>,
    /// Clients that share each connection of HTTP/2, as its streams.
    pub streams: u32,
}

/// How long a step waits for what is still under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Draining {
    /// The silence after which a step is drained, if it also lasts three times as long as the longest answer
    /// took; `None`: only the timeout ends the wait.
    pub quiet_ns: Option<u64>,
    /// The time after which a step ends its wait, whatever still arrives.
    pub timeout_ns: u64,
}

/// One level of load, as the coordinator orders it of every worker.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepOrder {
    /// The step's number from 0; it goes into every sequence number, so that a message that arrives in a
    /// later step is recognized.
    pub index: u16,
    /// Clients over all workers.
    pub clients: u32,
    /// The schedule of messages, or the slots that answers free.
    pub load: Load,
    /// True if the step is measured, but not part of the result.
    pub warmup: bool,
}

impl StepOrder {
    /// The order of a worker that has none: nobody is there, and a loop of no messages is over at once.
    pub const IDLE: StepOrder = StepOrder {
        index: 0,
        clients: 0,
        load: Load::Closed { concurrency: 0, per_client: 1, until: Until::Samples(0) },
        warmup: true,
    };
}

/// The schedule of messages, or the slots that answers free, and when it ends.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Load {
    /// Open model: messages are due on a schedule, whatever the server does.
    Open {
        /// Messages per second over all clients.
        schedule: Schedule,
        /// The length of the window in which messages are due.
        duration_ns: u64,
    },
    /// Open model, and in its midst a share of the clients loses its connection and comes back. The clients
    /// that stay send.
    Storm(Storm),
    /// Nothing is sent: connections are held.
    Hold {
        /// How long connections are held.
        duration_ns: u64,
    },
    /// Closed model: this many messages are under way at once; an answer frees the slot for the next, from a
    /// client chosen at random among those that have room for another.
    Closed {
        /// Messages under way over all workers.
        concurrency: u32,
        /// The most messages under way at one client.
        per_client: u32,
        /// The condition that ends the step.
        until: Until,
    },
}

impl Load {
    /// The time that it lasts; `None`: until it has its samples.
    pub fn duration_ns(&self) -> Option<u64> {
        match *self {
            Load::Open { duration_ns, .. }
            | Load::Hold { duration_ns }
            | Load::Closed { until: Until::Elapsed { duration_ns }, .. } => Some(duration_ns),
            Load::Storm(storm) => Some(storm.whole_ns()),
            Load::Closed { until: Until::Samples(_), .. } => None,
        }
    }

    /// The plan's senders that send under this load: clients whose connections a storm drops do not.
    pub fn senders(&self, of_plan: Senders) -> Senders {
        if let Load::Storm(storm) = self { of_plan.without(storm.share) } else { of_plan }
    }
}

/// A reconnect storm: a share of the clients loses its connections at once, and comes back.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Storm {
    /// Messages per second of the clients that stay; `None` if they send nothing.
    pub rate_per_s: Option<f64>,
    /// The time from the start of the step to the storm.
    pub lead_ns: u64,
    /// The time from the storm to the end of the step.
    pub duration_ns: u64,
    /// The share of the clients that drop their connections: 0 to 1. With 0 the server is expected to drop
    /// them.
    pub share: f64,
    /// The time over which clients come back; `None`: they wait as their protocol's back-off demands.
    pub window_ns: Option<u64>,
}

impl Storm {
    /// The time from the start to the end of the step; no message of a network makes it overflow.
    pub fn whole_ns(&self) -> u64 {
        self.lead_ns.saturating_add(self.duration_ns)
    }
}

impl Storm {
    /// Returns whether a client, by its number in the run, drops its connection: evenly spread.
    pub fn drops(&self, client: u32) -> bool {
        is_picked(self.share, client)
    }
}

/// The condition that ends a closed loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Until {
    /// The loop ends after this many messages over all workers.
    Samples(u64),
    /// The loop ends after a time.
    Elapsed {
        /// Length of the step.
        duration_ns: u64,
    },
}
