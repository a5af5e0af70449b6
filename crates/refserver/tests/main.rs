//! The server in a thread, as clients see it: one program of tests.

mod common;

mod bounds;
mod faults;
mod messages;
mod publishing;
mod sessions;
mod tls;
mod trouble;
