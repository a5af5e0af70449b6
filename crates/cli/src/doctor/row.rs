//! One check: what there is, what there should be, and what mends it.

use std::fs;
use std::io;
use std::path::PathBuf;

use serde::Serialize;

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Verdict {
    /// The value is high enough.
    Ok,
    /// The value is too low: the requested clients do not fit.
    TooLow,
    /// The value is enough to run, but a better one would improve the figures.
    Advised,
    /// The value could not be found out.
    Unknown,
}

impl Verdict {
    /// The name that users read.
    pub(super) fn name(self) -> &'static str {
        match self {
            Verdict::Ok => "ok",
            Verdict::TooLow => "too low",
            Verdict::Advised => "advised",
            Verdict::Unknown => "unknown",
        }
    }
}

/// One check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    /// The check's name.
    pub(crate) check: &'static str,
    /// The value found.
    pub(crate) found: String,
    /// The value needed.
    pub(crate) needed: String,
    /// How the two compare.
    pub(crate) verdict: Verdict,
    /// The remedy.
    pub(crate) fix: Option<Fix>,
}

/// A remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fix {
    /// A file of the kernel, which `--fix` may write.
    Write { file: PathBuf, value: String, command: String },
    /// A command for the user alone.
    Tell(String),
}

impl Fix {
    /// A sysctl by its dotted name.
    pub(super) fn sysctl(name: &str, value: impl ToString) -> Self {
        let value = value.to_string();
        let quoted = if value.contains(' ') { format!("\"{value}\"") } else { value.clone() };
        let file = PathBuf::from("/proc/sys").join(name.replace('.', "/"));
        Fix::Write { file, value, command: format!("sysctl -w {name}={quoted}") }
    }

    /// The command to type.
    pub(crate) fn command(&self) -> &str {
        match self {
            Fix::Write { command, .. } | Fix::Tell(command) => command,
        }
    }

    /// Does it; `None` where that is the user's business. Returns what was there before.
    pub(crate) fn apply(&self) -> Option<io::Result<String>> {
        let Fix::Write { file, value, .. } = self else { return None };
        Some(fs::read_to_string(file).and_then(|before| {
            fs::write(file, value)?;
            Ok(before.split_ascii_whitespace().collect::<Vec<_>>().join(" "))
        }))
    }
}

impl Row {
    /// A row for `needed` of something of which there is `found`.
    pub(super) fn of(
        check: &'static str,
        found: Option<u64>,
        needed: u64,
        fix: impl FnOnce() -> Fix,
    ) -> Self {
        let verdict = match found {
            None => Verdict::Unknown,
            Some(found) if found >= needed => Verdict::Ok,
            Some(_) => Verdict::TooLow,
        };
        Row {
            check,
            found: found.map_or_else(|| "?".into(), limit),
            needed: report::count(needed),
            verdict,
            fix: (verdict == Verdict::TooLow).then(fix),
        }
    }
}

/// A limit, which may be none.
pub(super) fn limit(value: u64) -> String {
    // The kernel's "no limit" is one of several huge numbers.
    if value >= 1 << 62 { "no limit".into() } else { report::count(value) }
}
