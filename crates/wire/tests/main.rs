//! The protocols, from outside, each end against the other or against what was recorded: one program of tests.

mod common;

mod actioncable;
mod actioncable_extended;
mod app_file;
mod client;
mod conformance;
mod deflate;
mod graphql;
mod http;
mod http2;
mod http2_recorded;
mod http2_streamed;
mod joined;
mod login;
mod people;
mod phoenix_client;
mod phoenix_server;
mod properties;
mod recorded;
mod server_frames;
mod server_http;
mod server_http2;
mod socketio_client;
mod socketio_recovery;
mod socketio_requests;
mod socketio_server;
mod socketio_sessions;
mod sockjs_client;
mod sockjs_joined;
mod sockjs_pages;
mod sockjs_server;
mod sockjs_sessions;
mod sse;
mod tunnel;
mod visits;
