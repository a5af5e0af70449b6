//! Everything that talks to the kernel: sockets, epoll, TLS, clocks, CPU affinity, `/proc`, Landlock.
//!
//! Linux only. This is the only crate with `unsafe` in it, and each use says why it is sound. Nothing here
//! knows a protocol or a plan: the engine and the reference server bring those.

pub mod affinity;
pub mod cgroup;
pub mod clock;
pub mod errors;
pub mod files;
pub mod limits;
pub mod machine;
pub mod memory;
pub mod namespaces;
pub mod network;
pub mod pipe;
pub mod poll;
pub mod private;
pub mod proc;
pub mod reserve;
pub mod rights;
pub mod signals;
pub mod socket;
pub mod tls;
pub mod walls;

mod sys;
