//! Servers under test and what is done with them: manifests, installation, supervision, conformance.
//!
//! A target is a folder with a `target.toml` ([`manifest`]). It is installed ([`setup`]), started and stopped by a
//! guard that lets nothing outlive it ([`guard`]), and checked before it is measured ([`mod@check`]).
//!
//! A [`suite`] says what is measured. Its [`schedule`] is a list of cells, as far as the [`rounds`] need
//! them; each is one process of throng against one fresh server ([`measure`](mod@measure)), kept in a folder
//! ([`record`]), ranked ([`standing`], [`section`]), answered ([`outcome`]) and printed ([`summary`]; several
//! in short: [`recap`]).

pub mod agreement;
mod archive;
mod catalog;
pub mod check;
mod ending;
mod figure;
pub mod guard;
pub mod layout;
pub mod manifest;
pub mod measure;
mod mistake;
mod msacc;
pub mod noise;
mod notes;
pub mod outcome;
mod place;
mod published;
pub mod recap;
pub mod record;
pub mod rounds;
mod said;
mod sandbox;
pub mod schedule;
mod scratch;
pub mod section;
mod server;
pub mod setup;
mod stage;
pub mod standing;
pub mod suite;
pub mod summary;
mod surroundings;
pub mod table;
mod tools;
pub mod trust;
mod visible;
mod visit;

pub use catalog::{SUITES_FOLDER, TargetCatalog, find_folder};
pub use figure::Figure;
pub use manifest::{Ability, Readers, Target};
pub use mistake::Mistake;
pub use place::Place;
pub use record::Record;
pub use server::Server;
pub use stage::{Stage, StageFailure};
pub use suite::{Scenario, Suite};
pub use tools::Tools;
