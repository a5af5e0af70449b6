//! Rooms: which clients get which clients' messages.
//!
//! Every client is in one room of each kind, and each message is for the rooms of one kind; its number and
//! its sender's role tell which ([`app::people::Mix`]). Where clients come and go ([`Visit`]), each has its
//! room all the same, and is in it or not. Everything about rooms of equal size is arithmetic, and nothing is
//! kept for it: the members, their number at one worker, and the place of each there. For rooms of unequal
//! size a worker keeps its clients' places.

mod census;
mod even;
mod hearing;
mod local;
mod local_kind;
mod unequal;
mod visit;

pub use census::Census;
pub use hearing::{RoomKind, Rooms, SayKind};
pub use local::LocalRooms;
pub use local_kind::{LocalMember, LocalRoomKind};
pub use visit::{Visit, VisitStep};
