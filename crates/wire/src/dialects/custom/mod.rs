//! A user's own dialect, as a [`CustomDialect`] describes it. There is a client's side only: the server is theirs.
//!
//! ```text
//! opening --a step's turn: said, come in, waited for--> its next step
//! opening --no step is left--> usable
//! usable --every so often--> a heartbeat
//! ```
//!
//! A message that carries an id is classified by the conditions given for answers and copies. Every other, and
//! those that none of them fits, is in this order: a refusal, something to be answered, what the opening waits for,
//! something to be ignored, and unrecognised.

mod client;
pub(crate) mod compiled;
mod matcher;
mod parts;
mod pointer;
pub(crate) mod spec;
mod table;
mod template;

pub use matcher::BadCondition;
pub use pointer::POINTER_DEPTH_MAX;
pub use spec::{
    Broadcast, Condition, CustomDialect, Exchange, Heartbeat, JsonScalar, OPEN_STEPS_MAX, OpenStep, Reaction,
    Refusal,
};
pub use table::Table;
pub use template::{BadTemplate, Purpose, Template};

pub(crate) use client::Client;
pub(crate) use parts::parts;
