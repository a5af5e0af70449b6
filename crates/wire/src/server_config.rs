//! The configuration shared by a server's connections.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use codec::http::date::DateField;
use codec::{DeflateOptions, Limits};

use crate::dialect_id::DialectId;
use crate::gate::Gate;
use crate::history::History;
use crate::settings::Settings;

/// The configuration shared by a server's connections.
#[derive(Clone, Debug, Default)]
pub struct ServerConfig {
    /// Bounds on what a client may send.
    pub limits: Limits,
    /// Accept permessage-deflate when offered.
    pub deflate: Option<DeflateOptions>,
    /// Origins served; empty: all. A request without `Origin` is not from a browser and is served.
    pub origins: Vec<String>,
    /// The gate; by default open to all clients.
    pub gate: Gate,
    /// Subprotocols spoken; the client's first choice among them is taken. Empty: the dialect's.
    pub subprotocols: Vec<String>,
    /// The one dialect spoken besides streamed answers, which have their own paths; `None`: each at its own
    /// paths ([`DialectId::at`]); raw, json and binary, which share all others, are told apart by each message.
    pub dialect: Option<DialectId>,
    /// The history of broadcasts for clients that come back, by protocols that have a way to ask for it.
    pub history: Option<Arc<History>>,
    /// Streamed answers so far: each has its number.
    pub streamed: Arc<AtomicU64>,
    /// Settings of single protocols, by the names of their flags.
    pub settings: Settings,
    /// The offset from the sessions' clock to the wall clock, for dialects whose messages show it and for the
    /// date of answers, which have none while this is 0.
    pub unix_minus_now_ns: u64,
}

impl ServerConfig {
    /// Raises the limit of bodies to the largest that the server of any protocol was told to take.
    pub fn with_room_for_bodies(mut self) -> ServerConfig {
        let flags = DialectId::ALL.iter().filter_map(|dialect| dialect.facts().body_flag);
        let largest = flags.map(|flag| self.settings.amount(flag)).max();
        self.limits.body_bytes_max = self.limits.body_bytes_max.max(largest.unwrap_or(0));
        self
    }

    /// The second of the wall clock.
    pub(crate) fn unix_s(&self, now_ns: u64) -> u64 {
        now_ns.wrapping_add(self.unix_minus_now_ns) / 1_000_000_000
    }

    /// When an answer was made that is made now.
    pub(crate) fn date(&self, now_ns: u64) -> DateField {
        let is_known = self.unix_minus_now_ns != 0;
        DateField::new(is_known.then(|| now_ns.wrapping_add(self.unix_minus_now_ns)))
    }
}
