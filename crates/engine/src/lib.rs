//! The thread-per-core loop that joins net, wire and load.
