//! One file per verb.

pub(crate) mod agent;
pub(crate) mod audit;
pub(crate) mod broadcast;
pub(crate) mod calibrate;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod doctor;
pub(crate) mod echo;
pub(crate) mod events;
pub(crate) mod fleet;
pub(crate) mod http;
pub(crate) mod idle;
pub(crate) mod init;
pub(crate) mod loads;
pub(crate) mod probe;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod runs;
pub(crate) mod saturate;
pub(crate) mod serve;
pub(crate) mod shootout;
pub(crate) mod steps;
pub(crate) mod storm;
pub(crate) mod targets;
pub(crate) mod ui;
