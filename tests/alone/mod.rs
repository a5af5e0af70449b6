//! Tests that measure the machine or need its CPUs: one at a time ([`alone`](crate::support::alone)).

mod doctor;
mod memory;
mod real_servers;
mod sentences;
mod truth;
