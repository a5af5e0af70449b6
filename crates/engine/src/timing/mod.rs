//! What is timed: values that know what is next, and when.
//!
//! Each is told the time and what has happened (`handle_*`), is asked what to do now (`poll`) and when to ask again
//! (`poll_timeout`), and touches nothing: the worker does what they say. [`Growth`] connects clients, [`Pace`] has them send, a
//! [`Batch`] at a time, [`Unrest`] (a storm, a churn, flapping or connections of so many messages) takes their connections and brings them back, [`Visits`] sends
//! them into rooms and out again, and [`Sips`] lets slow ones read.

mod batch;
mod churn;
mod flap;
mod growth;
mod pace;
mod renewal;
mod returns;
mod sips;
mod storm;
mod unrest;
mod visits;

pub(crate) use batch::{Batch, Due, Portion};
pub(crate) use flap::Presence;
pub(crate) use growth::Growth;
pub(crate) use pace::{Choir, Next, Pace};
pub(crate) use sips::Sips;
pub(crate) use unrest::{Turn, Unrest};
pub(crate) use visits::Visits;
