//! Flags that several verbs have, each with what it means for a plan.

pub(crate) mod access;
pub(crate) mod args;
pub(crate) mod compression;
pub(crate) mod crowd;
pub(crate) mod dialect_args;
pub(crate) mod fault;
pub(crate) mod flap;
pub(crate) mod fleet_args;
pub(crate) mod limits;
pub(crate) mod payload;
pub(crate) mod rates;
pub(crate) mod scrape;
pub(crate) mod security;
pub(crate) mod streaming;
