//! Timing: values that know what is next, and when.
//!
//! Each is told the time and what has happened (`handle_*`), is asked what to do now (`poll`) and when to ask
//! again (`poll_timeout`), and touches nothing: the worker does what they say. [`Growth`] connects clients,
//! [`Pace`] has them send, a [`Batch`] at a time, [`Disruptions`] (a storm, a churn, flapping or connections
//! that end after a number of messages) takes their connections and brings them back, [`Visits`] sends them
//! into rooms and out again, and [`SlowReaders`] lets slow ones read.

mod backlog;
mod batch;
mod churn;
mod disruptions;
mod flap;
mod growth;
mod heard;
mod pace;
mod reconnects;
mod renewal;
mod senders;
mod slow_readers;
mod storm;
mod turns;
mod visits;

pub(crate) use batch::{Batch, BatchEnd, Due, Portion};
pub(crate) use disruptions::{ConnectionAction, Disruptions};
pub(crate) use flap::Presence;
pub(crate) use growth::Growth;
pub(crate) use heard::{EVENTS_PER_WAIT, Heard, ReadTurn};
pub(crate) use pace::Pace;
pub(crate) use senders::LocalSenders;
pub(crate) use slow_readers::SlowReaders;
pub(crate) use visits::Visits;
