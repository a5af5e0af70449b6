//! The run's own command line with a flag more, or another value.

use std::sync::OnceLock;

use clap::{Arg, Command};
use results::{Run, units};

use super::failure::is_sender_left_out;
use crate::{look, processes};

/// The program's command line, whose flags and verbs are proposed.
static GRAMMAR: OnceLock<fn() -> Command> = OnceLock::new();
pub(super) const SECOND_NS: u64 = 1_000_000_000;
/// A wait for what is still on its way, at least.
pub(super) const DRAIN_TIMEOUT_NS: u64 = 60 * SECOND_NS;

/// A next step for the user, and the way to take it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Next {
    /// The stable name of the step.
    pub(super) key: &'static str,
    /// The purpose of the step: `find the limit`.
    pub(super) what: String,
    /// The words to type, where a command does it.
    pub(super) words: Option<Vec<String>>,
}

/// Names the program's command line, once.
pub(crate) fn begin(grammar: fn() -> Command) {
    GRAMMAR.get_or_init(|| grammar);
}

/// Returns whether the command line takes these words. Flags may exclude each other in ways that no rule
/// knows: a proposal that is refused is worse than none.
pub(super) fn is_taken(words: &[String]) -> bool {
    let words = look::spelled_out(words.iter().map(Into::into).collect());
    GRAMMAR.get().is_some_and(|grammar| grammar().try_get_matches_from(words).is_ok())
}

/// The run's command line, to be changed by the names that its verb's flags have.
pub(super) struct Line {
    verb: Command,
    words: Vec<String>,
}

impl Line {
    /// The run's command line; `None` where a secret is not written out, because the command would not work
    /// as printed.
    pub(super) fn of(run: &Run) -> Option<Line> {
        let line = Line::given_to(run).filter(|line| !line.words.iter().any(|word| word.contains("***")))?;
        // Without it, any other load would miss the senders' copies again. A file says it itself: beside its
        // [say.NAME] the flag is refused.
        if is_sender_left_out(run) && !line.is_of_file() && line.flag("to").is_some() {
            line.with("to", "others")
        } else {
            Some(line)
        }
    }

    /// The run's command line, as it was given.
    pub(super) fn given_to(run: &Run) -> Option<Line> {
        let verb = GRAMMAR.get()?().find_subcommand(run.command.get(1)?)?.clone();
        Some(Line { verb, words: run.command.clone() })
    }

    /// Returns whether an app file has the messages.
    pub(super) fn is_of_file(&self) -> bool {
        // A run whose message the flags say has no file.
        self.is_of_app() && !self.has("event") && !self.has("body")
    }

    /// Returns whether the messages are an app's own, by whatever they are said.
    pub(super) fn is_of_app(&self) -> bool {
        self.has("app") || self.verb.get_name() == "run"
    }

    fn flag(&self, long: &str) -> Option<Arg> {
        let is_it = |arg: &&Arg| arg.get_long() == Some(long) && !arg.is_hide_set();
        self.verb.get_arguments().find(is_it).cloned()
    }

    /// All spellings of a flag.
    fn names(flag: &Arg) -> Vec<String> {
        let aliases = flag.get_all_aliases().unwrap_or_default();
        let longs = flag.get_long().into_iter().chain(aliases).map(|long| format!("--{long}"));
        let short_aliases = flag.get_all_short_aliases().unwrap_or_default();
        let shorts = flag.get_short().into_iter().chain(short_aliases);
        longs.chain(shorts.map(|short| format!("-{short}"))).collect()
    }

    /// Returns whether the user gave a flag.
    pub(super) fn has(&self, long: &str) -> bool {
        self.flag(long).is_some_and(|flag| self.words.iter().any(|word| Line::given(&flag, word).is_some()))
    }

    /// The words of these flags as the user gave them, with their values.
    pub(super) fn words_of(&self, longs: &[&str]) -> Vec<String> {
        let flags: Vec<Arg> = longs.iter().filter_map(|long| self.flag(long)).collect();
        let mut kept = Vec::new();
        let mut words = self.words.iter();
        while let Some(word) = words.next() {
            let given = |flag: &Arg| Some((flag.get_action().takes_values(), Line::given(flag, word)?));
            let Some((takes_value, value)) = flags.iter().find_map(given) else { continue };
            kept.push(word.clone());
            if takes_value && value.is_none() {
                kept.extend(words.next().cloned());
            }
        }
        kept
    }

    /// The value that the user gave a flag.
    fn value(&self, long: &str) -> Option<&str> {
        let flag = self.flag(long)?;
        let mut words = self.words.iter().enumerate();
        let (at, value) = words.find_map(|(at, word)| Some((at, Line::given(&flag, word)?)))?;
        value.or(self.words.get(at + 1).map(String::as_str))
    }

    /// The time that the user gave with a flag.
    fn time_ns(&self, long: &str) -> Option<u64> {
        units::time_ns(self.value(long)?).ok()
    }

    /// The number that the user gave with a flag.
    pub(super) fn count(&self, long: &str) -> Option<u64> {
        units::count(self.value(long)?).ok()
    }

    /// Gives a flag a longer time than the user did, and at least this.
    pub(super) fn with_longer(self, long: &str, least_ns: u64) -> Option<Self> {
        let longer_ns = self.time_ns(long).map_or(0, |given_ns| given_ns.saturating_mul(2)).max(least_ns);
        self.with(long, format!("{}s", longer_ns.div_ceil(SECOND_NS)))
    }

    /// The value within a word that is this flag: `--rate=5`, `-R5`; `Some(None)` if it is the next word, or
    /// there is none.
    fn given<'w>(flag: &Arg, word: &'w str) -> Option<Option<&'w str>> {
        Line::names(flag).iter().find_map(|name| {
            let rest = word.strip_prefix(name.as_str())?;
            let joins = !name.starts_with("--") && flag.get_action().takes_values();
            match rest.strip_prefix('=') {
                None if rest.is_empty() => Some(None),
                None => joins.then_some(Some(rest)),
                value => Some(value),
            }
        })
    }

    /// Takes a flag out, with its value; no matter if it is not there.
    pub(super) fn without(mut self, long: &str) -> Self {
        let Some(flag) = self.flag(long) else { return self };
        let takes_value = flag.get_action().takes_values();
        let mut words = std::mem::take(&mut self.words).into_iter();
        while let Some(word) = words.next() {
            match Line::given(&flag, &word) {
                None => self.words.push(word),
                Some(None) if takes_value => drop(words.next()),
                Some(_) => {}
            }
        }
        self
    }

    /// Gives a flag this value; `None` where the verb has no such flag.
    pub(super) fn with(self, long: &str, value: impl ToString) -> Option<Self> {
        self.flag(long)?;
        // At the end, and never twice, which clap refuses.
        let mut line = self.without(long);
        line.words.extend([format!("--{long}"), value.to_string()]);
        Some(line)
    }

    /// Adds a flag that has no value.
    pub(super) fn switched(self, long: &str) -> Option<Self> {
        self.flag(long)?;
        let mut line = self.without(long);
        line.words.push(format!("--{long}"));
        Some(line)
    }

    /// Gives the number of clients, by whichever name the verb has for them.
    pub(super) fn with_clients(self, clients: u64) -> Option<Self> {
        let long = ["clients", "connections"].into_iter().find(|long| self.flag(long).is_some())?;
        self.with(long, clients)
    }

    /// Leaves the number of processes to throng where one has no room for these clients: the user's was for
    /// fewer.
    pub(super) fn with_room_for(self, clients: u64) -> Self {
        if self.needs_processes(clients) { self.without("processes") } else { self }
    }

    /// Returns whether one process has no room for the connections of these clients: of one that may fall
    /// silent, the old one stays beside the new one.
    pub(super) fn needs_processes(&self, clients: u64) -> bool {
        let links = if self.has("flap") { 2 } else { 1 };
        processes::clients_of_one_process().is_ok_and(|most| clients.saturating_mul(links) > most)
    }

    pub(super) fn to(self, key: &'static str, what: impl Into<String>) -> Next {
        Next { key, what: what.into(), words: Some(self.words) }
    }
}
