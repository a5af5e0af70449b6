//! Rooms: who hears whom.
//!
//! Everything about rooms of equal size is arithmetic, and nothing is kept for it: who is in one, how many of them at one
//! worker, and which place each has there. For rooms of unequal size a worker keeps its clients' places.

mod census;
mod crowd;
mod even;
mod hearing;
mod seating;

pub use census::Census;
pub use hearing::Rooms;
pub use seating::{Seat, Seating};
