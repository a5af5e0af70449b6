//! Counting: every definition of METHODOLOGY "Figures" that a worker can apply alone.
//!
//! The [`Ledger`] is what a worker knows of the step and of its clients together, a [`Record`] what it knows
//! of one of them. A [`Booking`] is what one event changes in both. The [`Meter`] collects the figures until
//! they are reported. Nothing here says what happens next, or when: the pace is told what was answered
//! ([`Ledger::freed`]), and draws its own conclusions.

mod absences;
pub(crate) mod announcements;
mod awaiting;
mod booking;
mod broadcasts;
mod cause;
mod closing;
mod echoes;
mod excerpt;
mod held_writes;
mod late_joins;
mod ledger;
mod membership;
mod memberships;
mod meter;
mod outstanding;
mod pushes;
mod record;
mod recorder;
mod relayed;
mod step;
mod streamed;
mod taken;
mod waivers;

pub(crate) use booking::Booking;
pub use broadcasts::BROADCASTS_PER_WORKER_MAX;
pub(crate) use cause::Cause;
pub(crate) use closing::close;
pub(crate) use excerpt::excerpt;
pub(crate) use ledger::{Ledger, LedgerOptions};
pub(crate) use meter::{Meter, Secrets};
pub(crate) use pushes::Pushes;
pub(crate) use record::{Record, State};
pub(crate) use recorder::Recorder;
pub(crate) use relayed::Relayed;
pub(crate) use step::Terms;
pub(crate) use step::numbers_behind;
pub use step::seq;
