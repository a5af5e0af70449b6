//! An application as data: what its clients say, who they are, and how what comes back is recognised.
//!
//! Nothing here knows a protocol or a connection, does I/O or reads a clock. A user's file, once it has been
//! read and checked, is an [`AppFile`](app_file::AppFile). Its messages are [templates](template), which are
//! filled in for each client, one of the run's [people]; its [conditions] recognise what the server says, and
//! the values that clients keep stand at [places] in messages and answers. A [series] is many messages that
//! differ in their numbers alone.

pub mod app_file;
pub mod conditions;
mod identities;
mod measured;
pub mod people;
pub mod places;
pub mod series;
pub mod template;

pub use identities::Identities;
pub use measured::{Acks, Kind};
