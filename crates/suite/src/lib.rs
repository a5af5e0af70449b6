//! Servers under test and what is done with them: manifests, installation, supervision, conformance.
//!
//! A target is a folder with a `target.toml` ([`manifest`]). It is installed ([`setup`]), started and stopped by a
//! guard that lets nothing outlive it ([`guard`]), and checked before it is measured.

pub mod check;
pub mod guard;
pub mod manifest;
mod mistake;
mod place;
mod server;
pub mod setup;
mod shelf;
pub mod table;
mod visit;

pub use manifest::{Ability, ReadFlags, Target};
pub use mistake::Mistake;
pub use place::Place;
pub use server::Server;
pub use setup::{Stage, Tools, Trouble};
pub use shelf::{Shelf, find_folder};
