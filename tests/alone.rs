//! Tests that measure the machine or need its CPUs: one at a time, and nothing beside them.

mod support;

mod dialect_socketio;
mod dialect_sockjs;
mod doctor;
mod memory;
mod real_servers;
mod sentences;
mod truth;
