//! Histograms, quantiles, intervals, accounting and the capacity search.
//!
//! Pure: no I/O, no clock. Durations are nanoseconds in `u64` (`*_ns`), averages of them `f64`. Every formula
//! is stated in METHODOLOGY and has one place here.

pub mod account;
pub mod accounting;
pub mod capacity;
pub mod compare;
pub mod density;
pub mod error_kind;
pub mod errors;
pub mod explicit_buckets;
mod figures;
pub mod fit;
pub mod histogram;
pub mod interval;
pub mod kendall;
pub mod knee;
pub mod share;
mod shown;
pub mod steady;
mod student;
mod summary;
mod table;

pub use account::{Account, LatencyParts, Reach};
pub use accounting::{Count, CountOf, Counts, Whole};
pub use capacity::Capacity;
pub use errors::Errors;
pub use figures::{Figures, Timed, TimedFacts};
pub use histogram::packed::Packed;
pub use histogram::{Histogram, is_marked, rank};
pub use interval::Interval;
pub use share::Share;
pub use shown::is_shown;
pub use summary::{QUANTILES, Summary};
