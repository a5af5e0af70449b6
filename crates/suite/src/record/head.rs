//! The contents of a shootout's folder, beside results.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use results::format::counted;
use serde::{Deserialize, Serialize};

use crate::manifest::Target;
use crate::stage::StageFailure;

/// The suite and the machine of a shootout.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Head {
    /// The version of the folder's form, [`SCHEMA`](super::SCHEMA).
    pub schema: u32,
    /// The suite's name.
    pub suite: String,
    /// The text of the suite's file.
    pub text: String,
    /// The scenarios that were chosen; none: all of the suite.
    #[serde(default)]
    pub only: Vec<String>,
    /// The folder of the suite's file, in which published figures are.
    pub suites_folder: PathBuf,
    /// By how much everything was shortened.
    pub scale: f64,
    /// Rounds that every target has.
    pub repeats: u32,
    /// Rounds that those have at the most whose figures are not known well.
    pub repeats_max: u32,
    /// The time in which the measurements should be over, in seconds.
    pub budget_s: Option<f64>,
    /// True if the reference server also runs under a second name, as a control.
    pub has_control: bool,
    /// The seed of all random choices.
    pub seed: u64,
    /// True if targets that were not installed were left out.
    #[serde(default)]
    pub no_install: bool,
    /// The CPUs of the generator, if it was pinned.
    pub pin: Option<String>,
    /// The CPUs of the servers, if they were pinned.
    pub server_pin: Option<String>,
    /// The folder with the targets, if it was named.
    #[serde(default)]
    pub targets_dir: Option<PathBuf>,
    /// The source of the load; the repository's records do not have it.
    #[serde(default)]
    pub generator: Option<Generator>,
    /// How many measurements a round has that every target has; the repository's records do not have it.
    #[serde(default)]
    pub in_round: Option<usize>,
    /// The target agent that ran the servers, if they did not run on this machine.
    pub target_agent: Option<String>,
    /// The version of throng.
    pub throng: String,
    /// When it started.
    pub started: String,
    /// Facts about the machine, by name.
    pub machine: Vec<(String, String)>,
    /// The receipt of each target, in the order of their names.
    pub receipts: Vec<PreparedTarget>,
    /// The targets that the command line named.
    pub named: Vec<String>,
    /// Named targets without a part in some scenarios, and in which.
    pub left_out: Vec<LeftOut>,
}

#[cfg(test)]
impl Head {
    /// The head of a shootout of three rounds, with what every one has.
    pub(crate) fn blank() -> Head {
        let head = serde_json::json!({
            "schema": super::SCHEMA, "suite": "tiny", "text": "", "suites_folder": "", "scale": 1.0, "repeats": 3,
            "repeats_max": 3, "has_control": false, "seed": 7, "pin": null, "server_pin": null, "throng": "0.1.0",
            "started": "", "machine": [], "receipts": [], "named": [], "left_out": [],
        });
        serde_json::from_value(head).unwrap()
    }
}

/// Sources of load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Generator {
    /// The machine of the shootout.
    Here,
    /// The agents of a fleet.
    Fleet {
        /// How many, if it was said.
        agents: Option<u16>,
        /// Agents with these labels.
        labels: BTreeMap<String, String>,
    },
}

impl fmt::Display for Generator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Generator::Fleet { agents, labels } = self else { return f.write_str("this machine") };
        match agents {
            Some(agents) => write!(f, "a fleet of {}", counted(u64::from(*agents), "agent"))?,
            None => f.write_str("a fleet")?,
        }
        let labels: Vec<String> = labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
        if labels.is_empty() { Ok(()) } else { write!(f, " with {}", labels.join(", ")) }
    }
}

/// A target that was named, by the command line or by the suite, and cannot do a scenario.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Its name.
    pub target: String,
    /// The scenario's name.
    pub scenario: String,
    /// The lack, as a clause whose subject is the target.
    pub why: String,
}

/// A target before it was measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreparedTarget {
    /// Its name.
    pub target: String,
    /// Its version, if it told one.
    pub version: Option<String>,
    /// Why it was not measured.
    pub trouble: Option<StageFailure>,
    /// The description that its manifest gives.
    pub about: About,
}

/// A target's description, as its manifest says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// Its language.
    pub language: String,
    /// Its library.
    pub library: String,
    /// Its protocols.
    pub dialects: Vec<String>,
    /// How it is started, with placeholders.
    pub start: String,
}

impl About {
    /// Describes a target by its manifest; its start is one line with the environment before the command.
    pub fn of(target: &Target) -> About {
        let env = target.start.env.iter().map(|(name, value)| format!("{name}={value}"));
        About {
            language: target.language.clone(),
            library: target.library.clone(),
            dialects: target.speaks(),
            start: env.chain(target.start.command.iter().cloned()).collect::<Vec<_>>().join(" "),
        }
    }
}

/// One measurement, as it went.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The scenario's name.
    pub scenario: String,
    /// The target's name.
    pub target: String,
    /// The round, from 1.
    pub repeat: u32,
    /// The command line that measured.
    pub command: Vec<String>,
    /// Why there is no results file.
    pub trouble: Option<StageFailure>,
    /// How long it took with everything around it, in seconds.
    #[serde(default)]
    pub took_s: f64,
    /// CPU of the machine used by other programs, in percent: in this measurement last, and before it in those that it
    /// took the place of.
    #[serde(default)]
    pub noise_percent: Vec<f64>,
}

impl Entry {
    /// Returns whether its files are in the shootout's own folder.
    pub(super) fn is_within(&self) -> bool {
        // A record may be from anybody: no name in it may lead out of its folder.
        let is_name = |text: &str| Path::new(text).file_name().is_some_and(|name| name == text);
        is_name(&self.scenario) && is_name(&self.target)
    }
}
