//! `target.toml`: how a server under test is installed, started and stopped.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Deserializer, de};

/// A target's manifest. Unknown keys are errors, so that a misspelt one is not silently ignored.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    pub language: String,
    pub library: String,
    pub dialects: Vec<String>,
    pub supports: Vec<String>,
    /// The URL to load, with placeholders.
    pub endpoint: String,
    pub requires: Vec<Requirement>,
    pub install: Option<Step>,
    pub build: Option<Step>,
    pub version: Version,
    pub start: Step,
    pub ready: Ready,
    pub stop: Stop,
    pub metrics: Option<Metrics>,
    #[serde(default)]
    pub variants: BTreeMap<String, Variant>,
}

/// A program that has to be there; `missing` is what to tell people who lack it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Requirement {
    pub command: Vec<String>,
    pub missing: String,
}

/// A command, run in the target's folder; command and environment may hold placeholders.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    pub command: Vec<String>,
    #[serde(default)]
    pub env: BTreeMap<String, String>,
}

/// The receipt for what was measured: a command, and the expression whose first group is the version.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Version {
    pub command: Vec<String>,
    pub regex: String,
}

/// The server is ready when this URL answers 200.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ready {
    pub http: String,
    #[serde(deserialize_with = "seconds")]
    pub timeout: Duration,
}

/// Which signal ends the server, and how long it may take.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stop {
    pub signal: String,
    #[serde(deserialize_with = "seconds")]
    pub grace: Duration,
}

/// Figures of the server's own, at this URL, in Prometheus' text format.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Metrics {
    pub http: String,
}

/// The same target, started another way.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    pub start: Step,
    pub version: Option<Version>,
}

/// Reads the manifest in a target's folder; the error names the file and the key.
pub fn read(folder: &Path) -> Result<Manifest, String> {
    let path = folder.join("target.toml");
    let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    toml::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))
}

/// A duration such as `"10s"`.
fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(deserializer)?;
    let seconds = text.strip_suffix('s').and_then(|number| number.parse().ok());
    seconds.map(Duration::from_secs).ok_or_else(|| de::Error::custom(format!("{text:?} is not like \"10s\"")))
}
