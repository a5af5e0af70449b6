//! Messages that come to rooms from outside, as most pushes of an application do: a request asks it to send
//! something to a room.

use serde::{Deserialize, Serialize};

use crate::client_spec::{ClientSpec, Endpoint, TlsPlan};
use crate::segment::Segment;

/// Requests that ask an application to send something to a room. Each stands for a message of one of the
/// room's clients, which sends nothing over its own connection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Publishing {
    /// Endpoints of the requests; connections take the endpoints in turn.
    pub endpoints: Vec<Endpoint>,
    /// Present for `https://`.
    pub tls: Option<TlsPlan>,
    /// The request: plain HTTP, whose body is the app's broadcast. Its users are the plan's.
    pub client_spec: ClientSpec,
    /// The number of connections over all workers, each of which has at least one.
    pub connections: u32,
}

impl Publishing {
    /// How many of the connections are at one worker.
    pub fn share(&self, segment: Segment) -> u32 {
        segment.share(self.connections).max(1)
    }
}
