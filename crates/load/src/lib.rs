//! Plans of load, client by client: pure data and pure functions.
//!
//! A [`Plan`] says where to connect, how to speak and what to send; a [`StepOrder`] is one level of load of
//! it. Command line, suite files and agents all produce or carry the same values, so that a thread, a child
//! process and a machine far away run exactly the same thing. A [`Pacer`] says when the k-th message is due;
//! a [`Segment`] says which part of clients, slots and messages belongs to one worker.
//!
//! Nothing here reads a clock or touches a socket: time is an argument, in nanoseconds.

mod client_shares;
mod client_spec;
mod flap;
mod pacer;
mod plan;
mod publishing;
mod rooms;
mod rule;
mod schedule;
mod segment;
mod senders;
mod sizes;

pub use client_shares::{Churn, Slow, Speakers};
pub use client_spec::{BadClientSpec, ClientSpec, Endpoint, LoginServer, TlsIdentity, TlsPlan};
pub use flap::{Cut, Cuts, Flap};
pub use pacer::Pacer;
pub use plan::{Connecting, Draining, Load, Plan, StepOrder, Storm, Until, Workload};
pub use publishing::Publishing;
pub use rooms::{Census, LocalMember, LocalRoomKind, LocalRooms, RoomKind, Rooms, SayKind, Visit, VisitStep};
pub use rule::LoadRule;
pub use schedule::{PIECES_MAX, Piece, Schedule};
pub use segment::Segment;
pub use senders::{SenderGroup, Senders};
