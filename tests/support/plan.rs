//! The plan of unit tests that need one.

#![allow(unreachable_pub, reason = "unit tests of several crates take it as a module of theirs")]

use std::sync::Arc;

use load::{ClientSpec, Connecting, Draining, Endpoint, Plan, Workload};
use net::clock;

/// A plan of echoes, to an endpoint that is not there.
pub fn plan() -> Plan {
    let client_spec = ClientSpec {
        dialect: wire::DialectId::Raw,
        carrier: wire::Carrier::Http1,
        is_secure: false,
        host: "server".into(),
        path: "/".into(),
        origin: None,
        subprotocols: Vec::new(),
        headers: Vec::new(),
        userinfo: None,
        deflate: None,
        payload_bytes: None,
        payload_bytes_max: None,
        rows: Arc::default(),
        text: false,
        message_bytes_max: 1 << 20,
        of_dialect: wire::DialectOptions::default(),
        people: Arc::default(),
    };
    let connecting =
        Connecting { timeout_ns: 1, rate_per_s: None, parallel: 1, local_addrs: Vec::new(), streams: 1 };
    Plan {
        endpoints: vec![Endpoint::Unix("/nowhere".into())],
        tls: None,
        login_servers: Vec::new(),
        client_spec,
        workload: Workload::Echo,
        speakers: None,
        slow: None,
        rooms: Arc::default(),
        churn: None,
        messages_per_connection: None,
        flap: None,
        publishing: None,
        connecting,
        draining: Draining { quiet_ns: Some(2_000_000_000), timeout_ns: 5_000_000_000 },
        records_events: false,
        clients_max: None,
        epoch_ns: clock::monotonic_ns(),
        unix_epoch_ns: clock::realtime_ns(),
        seed: 1,
    }
}
