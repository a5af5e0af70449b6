//! The store of runs: their results in SQLite, and single events in Parquet ([`events`]).
//!
//! A [`Store`] is one file. It keeps each run's results file as it was written, and beside it columns to search and to
//! join: runs, steps, histograms, series, tags (`schema/1.sql` says what each holds; docs/STORE.md shows queries).
//! Several processes may read and write it at once.

mod entry;
mod error;
pub mod events;
mod rows;
mod schema;
mod store;

pub use entry::{Entry, Query};
pub use error::StoreError;
pub use store::{Store, command, data_dir, default_path};
