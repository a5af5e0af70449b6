//! A user's own app, as an [`AppFile`](app::app_file::AppFile) describes it. There is a client's side only:
//! the server is theirs.
//!
//! ```text
//! opening --a step's turn: said, come in, waited for--> its next step
//! opening --no step is left--> usable
//! usable --every so often, each by itself--> a heartbeat
//! usable --is to visit a room--> its steps, one by one, in or out
//! ```
//!
//! A message that carries an id, or answers one that does, is classified by what the protocol knows of it and
//! by the conditions given for answers and copies. Every other message, and one that no such condition fits,
//! is in this order: a refusal, something to be answered, what the opening or a visit waits for, a push,
//! something to be ignored, and unrecognised. Values to be kept are taken from any but a refusal.

mod compiled;
mod keeps;
mod pushes;
mod script;
mod steps;
mod visited_rooms;

pub(crate) use compiled::CompiledApp;
pub(crate) use script::Script;
