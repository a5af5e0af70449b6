//! Stream sockets, TCP and unix, always non-blocking and closed on exec.
//!
//! A [`Socket`] is four bytes: an owned descriptor and nothing else. A program that keeps 100,000 of them
//! keeps the rest (state, address, buffers) where it is needed.

mod addr;
mod listener;
mod stream;

pub use addr::{Addr, resolve};
pub use listener::{Listener, Reservation, can_bind, has_address, is_local, listen, reserve};
pub use stream::{Socket, connect, connect_narrow, inherited, pair};
