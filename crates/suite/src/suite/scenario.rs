//! Scenarios of a suite, and targets that can do them.

use std::path::PathBuf;
use std::time::Duration;

use wire::DialectId;

use super::shorten::Shortened;
use crate::figure::Figure;
use crate::manifest::{Ability, Target};

/// Scenarios that are run together.
#[derive(Clone, Debug)]
pub struct Suite {
    /// The file's name, without its ending.
    pub name: String,
    /// Its title, in a line.
    pub title: String,
    /// How often each target runs each scenario.
    pub repeats: u32,
    /// How often those do at the most whose figures are not known well by then.
    pub repeats_max: u32,
    /// How often a measurement is made again in which other programs had too much of the CPU.
    pub busy_retries: u32,
    /// True if the reference server takes part under a second name, too: whoever tells the two apart sees differences
    /// where there are none.
    pub control: bool,
    /// The pause after each measurement, for the machine to settle.
    pub cooldown: Duration,
    /// The only targets, where the suite is not for all that can do it.
    pub targets: Option<Vec<String>>,
    /// The scenarios, in the order of the file.
    pub scenarios: Vec<Scenario>,
    /// The text of the file.
    pub text: String,
}

/// One verb with its flags.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Its name in tables and files.
    pub name: String,
    /// The question that it answers, as a sentence; may be empty.
    pub asks: String,
    /// The verb of its runs.
    pub verb: results::Scenario,
    /// The dialects it is for, the one to prefer first; none for `http`.
    pub dialects: Vec<DialectId>,
    /// Abilities a target must have.
    pub supports: Vec<Ability>,
    /// Connect to the target's unix socket.
    pub unix: bool,
    /// Load the target over TLS.
    pub tls: bool,
    /// The verb's long flags, without dashes; a flag without a value has an empty one.
    pub flags: Vec<(String, String)>,
    /// Flags that are not as the suite asks for them.
    pub shortened: Vec<Shortened>,
    /// The figures shown, the one that servers are ranked by first.
    pub figures: Vec<Figure>,
    /// Figures that somebody has published, to stand beside the measured ones.
    pub published: Option<Published>,
}

impl Suite {
    /// The scenario of that name.
    pub fn scenario(&self, name: &str) -> Option<&Scenario> {
        self.scenarios.iter().find(|scenario| scenario.name == name)
    }
}

#[cfg(test)]
impl Suite {
    /// A suite whose one scenario echoes.
    pub(crate) fn blank() -> Suite {
        let text = r#"
title = "Blank"
cooldown = "1s"
[[scenario]]
name = "echo"
verb = "echo"
dialects = ["raw"]
supports = ["echo"]
flags = {}
figures = ["rate"]
"#;
        Suite::parse(std::path::Path::new("blank.toml"), text, 1.0, &|_: &str, _: &[_]| Ok(())).unwrap()
    }
}

/// A table of figures that somebody has published.
#[derive(Clone, Debug)]
pub struct Published {
    /// The file, CSV with a head.
    pub file: PathBuf,
    /// Only rows with these values.
    pub rows: Vec<(String, String)>,
    /// The column of the figure; of several rows of a target the last counts, the published test's heaviest.
    pub column: String,
    /// Targets that have another name there.
    pub names: Vec<(String, String)>,
    /// Why what is measured here differs from it; may be empty.
    pub differs: String,
}

/// Checks a verb and its flags as the command line would: what is wrong, and with which flag.
pub type CheckFlags<'a> = &'a dyn Fn(&str, &[(String, String)]) -> Result<(), FlagMistake>;

/// Why the command line would refuse a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlagMistake {
    /// The flag at fault, without dashes; `None`: the verb.
    pub flag: Option<String>,
    /// The error, as the command line would print it.
    pub message: String,
    /// The remedy, if one is known.
    pub help: Option<String>,
}

/// Why a target has no part in a scenario, as a clause whose subject is the target.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum Unfit {
    /// It cannot do this.
    #[error("does not support {}", .0.name())]
    Ability(Ability),
    /// Each has an app.
    #[error("speaks an app of its own, and the scenario another")]
    App,
    /// It speaks none of the scenario's dialects.
    #[error("speaks {spoken}, and the scenario {wanted}")]
    Dialect {
        /// Its protocols.
        spoken: String,
        /// The value the scenario asks for.
        wanted: String,
    },
}

impl Scenario {
    /// The path that is loaded where there is no dialect to choose.
    pub fn path(&self) -> &'static str {
        if self.verb == results::Scenario::Stream { "/stream" } else { "/" }
    }

    /// The dialect in which a target would be measured: the first of the scenario's that it speaks. `None` if
    /// the target cannot do it; `Some(None)` if it can, and there is nothing to choose.
    pub fn dialect_for(&self, target: &Target) -> Option<Option<DialectId>> {
        self.fit(target).ok()
    }

    /// The same, or why the target cannot do it.
    ///
    /// # Errors
    /// What it lacks, as a clause whose subject is the target.
    pub fn fit(&self, target: &Target) -> Result<Option<DialectId>, Unfit> {
        if let Some(lacking) = self.supports.iter().find(|ability| !target.can(**ability)) {
            return Err(Unfit::Ability(*lacking));
        }
        if self.dialects.is_empty() {
            return Ok(None);
        }
        // One run has one app's file, which would have to be both.
        if target.app.is_some() && self.flags.iter().any(|(name, _)| name == "app") {
            return Err(Unfit::App);
        }
        let spoken = self.dialects.iter().find(|dialect| target.dialects.contains(dialect));
        spoken.copied().map(Some).ok_or_else(|| {
            let wanted = self.dialects.iter().map(|id| id.name()).collect::<Vec<_>>().join(", ");
            Unfit::Dialect { spoken: target.speaks().join(", "), wanted }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wording() {
        let dialect = Unfit::Dialect { spoken: "raw".into(), wanted: "actioncable, json".into() };
        let said = [Unfit::Ability(Ability::Unix), Unfit::App, dialect].map(|unfit| unfit.to_string());
        let expected = [
            "does not support unix",
            "speaks an app of its own, and the scenario another",
            "speaks raw, and the scenario actioncable, json",
        ];
        assert_eq!(said, expected);
    }
}
