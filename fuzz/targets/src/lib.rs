//! Fuzz targets of throng's pure crates: each feeds any bytes to one part and holds it to a promise (fuzz/README.md).
//!
//! libFuzzer drives them for hours (`make fuzz`); the tests here replay the kept inputs and mutations of these.

pub mod custom_client;
pub mod deflate;
pub mod event_stream;
pub mod har;
pub mod http2_client;
pub mod http2_server;
pub mod http_request;
pub mod http_response;
pub mod login;
pub mod pieces;
pub mod socketio;
pub mod sockjs;
pub mod stamp;
pub mod tunnel_client;
pub mod ws_client;
pub mod ws_server;

pub mod support;
#[allow(dead_code, reason = "the tests of `wire` use more of it")]
#[path = "../../../crates/wire/tests/common/world.rs"]
mod world;

#[cfg(test)]
mod tests;
