//! The results model, its verdicts and limits, and its versioned file format.
//!
//! The types here are the ones in memory: histograms rather than figures, nanoseconds rather than milliseconds,
//! `Option` for what does not apply. [`mod@file`] holds their form on disk.

mod absences;
pub mod columns;
pub mod compare;
pub mod conclusion;
mod delivery;
pub mod file;
pub mod finding;
pub mod format;
mod horizon;
mod judgement;
pub mod levels;
pub mod limit;
mod measured;
pub mod rates;
mod resources;
mod run;
mod run_limit;
pub mod scenario;
mod second;
mod silence;
mod spent;
pub mod standing;
mod step;
mod unit;
pub mod units;
pub mod verdict;

pub use absences::{Absences, Ages};
pub use delivery::{Delivery, DeliveryGuarantee};
pub use horizon::Horizon;
pub use judgement::{Bottleneck, Found};
pub use levels::Level;
pub use limit::{Limit, LimitOutcome, LimitStatus, Requirement};
pub use rates::{Rate, Rates};
pub use resources::{GeneratorUse, MachineUse, ProgramUse, ServerUse, ThreadUse};
pub use run::{Environment, Run, Target, Verdict, command_line};
pub use run_limit::RunLimit;
pub use scenario::Scenario;
pub use second::{Second, with_lengths};
pub use spent::TimeSpent;
pub use step::{CPU_WINDOW_NS_MIN, FleetAgent, Interrupted, RoleFigures, SayFigures, Step, Warmup};
pub use unit::Unit;
