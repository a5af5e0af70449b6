//! Action Cable: `actioncable-v1-json`, and AnyCable's `actioncable-v1-ext-json`.
//!
//! ```text
//! << {"type":"welcome"}
//! >> {"command":"subscribe","identifier":"{\"channel\":\"BenchmarkChannel\"}"}
//! << {"identifier":I,"type":"confirm_subscription"}, or reject_subscription; I is the identifier as it was sent
//! >> {"command":"message","identifier":I,"data":"{\"action\":\"broadcast\",\"payload\":P}"}
//! << {"identifier":I,"message":{"action":"broadcast","payload":P}}, to every subscriber
//! << {"identifier":I,"message":{"action":"broadcastResult","payload":P}}, to the sender, before or after its copy
//! << {"type":"ping","message":<unix s>} now and then; {"type":"disconnect","reason":R,"reconnect":B} at the end
//! ```
//!
//! P is the json dialect's payload, and `echo` is as there. What a server does not understand it ignores in silence,
//! so that a client needs a deadline of its own: the connect timeout.

mod client;
mod parts;
mod server;

pub(crate) use client::Client;
pub(crate) use parts::{PLAIN, SPOKEN, parts};
pub(crate) use server::Server;
