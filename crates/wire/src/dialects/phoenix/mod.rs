//! Phoenix channels, with both serializers.
//!
//! ```text
//! v2: [join_ref,ref,topic,event,payload]          v1: {"topic":T,"event":E,"payload":P,"ref":R}
//! >> ["1","1","room:lobby","phx_join",{}]         << ["1","1","room:lobby","phx_reply",{"response":{},"status":"ok"}]
//! >> ["1","2","room:lobby","broadcast",{"body":P}]
//! << [null,null,"room:lobby","broadcast",{"body":P,"type":"broadcast"}], to every member of the topic
//! << ["1","2","room:lobby","phx_reply",{"response":{"body":P,"type":"broadcastResult"},"status":"ok"}], to the sender
//! >> [null,"0","phoenix","heartbeat",{}]          << [null,"0","phoenix","phx_reply",{"response":{},"status":"ok"}]
//! << phx_error and phx_close: the channel has crashed, or is left
//! ```
//!
//! P is the json dialect's payload; `echo` is answered with a reply alone. In v2 a push may be binary:
//!
//! ```text
//! push       00 len(join_ref) len(ref) len(topic) len(event)   the strings, data
//! reply      01 len(join_ref) len(ref) len(topic) len(status)  the strings, data
//! broadcast  02 len(topic) len(event)                          the strings, data
//! ```

mod binary;
mod client;
mod parts;
mod server;

pub(crate) use client::Client;
pub(crate) use parts::{complete, parts};
pub(crate) use server::Server;
