//! Sockets, servers and processes of this machine: one program of tests. Those that need a process to
//! themselves are others.

mod service;
mod socket;
mod tree;
