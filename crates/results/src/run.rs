//! One execution: what was run, against what, where, and what came of it.

use std::collections::BTreeMap;

use stats::Capacity;
use stats::fit::Line;

use crate::finding::RunCaveat;
use crate::judgement::Found;
use crate::levels::Level;
use crate::limit::LimitOutcome;
use crate::scenario::Scenario;
use crate::step::Step;

/// One execution of a scenario against one target.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// Unique and sortable by time (see [`crate::file::run_id`]).
    pub id: String,
    /// Its name: runs of one name are a series.
    pub name: Option<String>,
    /// A remark of whoever ran it.
    pub note: Option<String>,
    /// When it started, by the wall clock: nanoseconds since 1970 UTC. Nothing is measured by it.
    pub started_unix_ns: u64,
    /// The version of throng that ran.
    pub throng: String,
    /// The command line as the user gave it.
    pub command: Vec<String>,
    /// The scenario.
    pub scenario: Scenario,
    /// True if it looks for the capacity, which is known once it has ended.
    pub is_search: bool,
    /// The application protocol: `json`, `phoenix`, ….
    pub dialect: String,
    /// The seed of every random choice.
    pub seed: Option<u64>,
    /// The server under test.
    pub target: Target,
    /// The machine the generator ran on.
    pub environment: Environment,
    /// The SHA-256 of each file of messages or users that it read, by its path.
    pub inputs: BTreeMap<String, String>,
    /// One entry for each level of load, in the order they ran.
    pub steps: Vec<Step>,
    /// How many of the steps are whole, if the run was cut short, or is still under way: it can go on after them.
    /// `None`: it has come to its end.
    pub resume_after: Option<u32>,
    /// The verdict of all steps.
    pub verdict: Verdict,
}

impl Run {
    /// Returns whether it breaks limits to find where they break: a search, or a sweep of rates.
    pub fn is_looking(&self) -> bool {
        self.is_search || self.scenario.facts().sweeps
    }

    /// The verb as it was typed: an audit, or the run of an app, is a broadcast by its scenario.
    pub fn verb(&self) -> &str {
        // A URL or a flag may stand in a verb's place.
        let is_verb = |word: &&String| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase());
        self.command.get(1).filter(is_verb).map_or(self.scenario.name(), String::as_str)
    }
}

/// The server under test.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Target {
    /// Its name, if it has one beside its URL.
    pub name: Option<String>,
    /// The URL it was reached at.
    pub url: String,
    /// Its version, as it says itself.
    pub version: Option<String>,
}

/// The machine the generator ran on, as far as it is known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Environment {
    /// CPU model.
    pub cpu: Option<String>,
    /// Cores available to the process.
    pub cores: Option<u32>,
    /// Installed memory, in bytes.
    pub memory_bytes: Option<u64>,
    /// Kernel and its version.
    pub kernel: Option<String>,
    /// Distribution.
    pub os: Option<String>,
    /// Open files allowed to one process.
    pub fd_limit: Option<u64>,
    /// CPUs the generator was pinned to: `1-3`.
    pub generator_cpus: Option<String>,
    /// CPUs the server was pinned to.
    pub server_cpus: Option<String>,
    /// True if the server ran on the same machine.
    pub same_host: Option<bool>,
}

/// The verdict of a run's steps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdict {
    /// How much the server holds, when it was searched for.
    pub capacity: Option<Capacity>,
    /// The load that each number of clients could carry, when rates were swept.
    pub levels: Vec<Level>,
    /// Server memory against open connections, while they were made; the slope is bytes per connection.
    pub memory_per_client: Option<Line>,
    /// The same at the end of the load, in bytes per connection, where that is more than the line's interval allows.
    pub memory_later: Option<f64>,
    /// Each limit over the whole run: broken if any step broke it.
    pub limits: Vec<LimitOutcome>,
    /// The bottleneck at the lightest step that broke, or else at the last.
    pub bottleneck: Option<Found>,
    /// Caveats of the numbers.
    pub caveats: Vec<RunCaveat>,
}

/// Words on one line, as a shell reads them again. What needs no quotes has none: people read this first.
pub fn command_line(words: &[String]) -> String {
    let quoted = |word: &String| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@=,+%".contains(c);
        let needs_none = !word.is_empty() && word.chars().all(is_plain);
        if needs_none { word.clone() } else { format!("'{}'", word.replace('\'', r"'\''")) }
    };
    words.iter().map(quoted).collect::<Vec<_>>().join(" ").replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_what_was_given() {
        let line = |words: &[&str]| command_line(&words.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(line(&["throng", "echo", "ws://h:1/a", "--rate=5k"]), "throng echo ws://h:1/a --rate=5k");
        assert_eq!(line(&["--limit", "p99<250ms", "", "it's"]), r"--limit 'p99<250ms' '' 'it'\''s'");
    }
}
