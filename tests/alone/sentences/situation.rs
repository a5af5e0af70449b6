//! Situations: a server with a trouble, a command line, and what is then to be said.

use std::fmt;

use serde_json::Value;

/// One line of docs/logs/SENTENCES.md.
pub(crate) struct Situation {
    pub(crate) name: &'static str,
    pub(crate) host: Host,
    /// The command without `throng`; `{ws}`, `{http}`, `{wss}`, `{https}`, `{socket}`, `{folder}` and `{pid}`
    /// are the host's.
    pub(crate) line: &'static str,
    /// Runs that are made before, each with a host of its own: what `compare` compares.
    pub(crate) before: Vec<(Host, &'static str)>,
    /// True if its own run has been made once before, against the same server.
    pub(crate) is_warm: bool,
    pub(crate) place: Place,
    /// Acts in the course of it, this long (ms) after the first second was measured.
    pub(crate) acts: Vec<(u64, Act)>,
    /// True if it takes less than three seconds and no whole machine: then CI has it, too.
    pub(crate) is_short: bool,
    pub(crate) must: Must,
}

/// Sentences due. Of several patterns for one sentence, any will do.
#[derive(Default)]
pub(crate) struct Must {
    pub(crate) how_much: &'static [&'static str],
    pub(crate) breaks: &'static [&'static str],
    /// Losses of any step, each of them: the key and the numbers, as `Finding::terse` has them.
    pub(crate) loses: &'static [&'static str],
    /// One note among others.
    pub(crate) trust: &'static [&'static str],
    /// A part of the text, each of them.
    pub(crate) says: &'static [&'static str],
    /// No part of the text.
    pub(crate) never: &'static [&'static str],
    /// No latency, but of connecting: nothing was answered.
    pub(crate) is_untimed: bool,
    pub(crate) bottleneck: &'static [&'static str],
    /// A line of stderr: there is no run, and none is kept.
    pub(crate) refused: &'static [&'static str],
    pub(crate) exit: i32,
    /// Another that is as right where the machine is too busy to tell.
    pub(crate) exit_if_busy: Option<i32>,
    /// A condition on the results, and its description.
    pub(crate) figures: Option<Figures>,
}

/// Something that is true of the results, in words and in figures.
pub(crate) type Figures = (&'static str, fn(&Value) -> bool);

/// Servers.
#[derive(Clone, Copy)]
pub(crate) enum Host {
    /// Throng, its own.
    Own,
    /// Nobody: a port that nobody listens on.
    Nobody,
    /// `throng serve` with these flags, but on a free port and with a unix socket.
    Reference(&'static str),
    /// The same with a certificate for 127.0.0.1.
    Tls,
    /// The same with so many percent of a core.
    Quota(u32),
    /// The same with so many open files.
    Files(u32),
    /// The same in another network, behind a link that loses packets or is slow (0: as fast as it can be).
    Elsewhere { loss_percent: u32, mbits_per_s: u32 },
    /// `servers/server.js`, in this mode.
    Node(&'static str),
    /// `servers/locked.py`: one request at a time, and 10 ms of sleep in each.
    Python,
    /// A folder with a suite `tiny` and a target `sh-copy`, which this script starts; there is no server before.
    Arena(&'static str),
    /// nginx with this inside `server {}`.
    Nginx(&'static str),
}

/// Places of the generator.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Here,
    /// Beside so many busy loops.
    Crowd(usize),
    /// A quota of so many percent of a core.
    Quota(u32),
    /// A limit of open files.
    Files(u32),
    /// A limit of memory (MiB).
    Memory(u32),
    /// In a network of its own with ten ports.
    TenPorts,
}

/// Acts, and on whom.
#[derive(Clone, Copy)]
pub(crate) enum Act {
    KillServer,
    RestartServer,
    FreezeServer,
    ThawServer,
    /// As Ctrl-C does.
    Interrupt,
}

/// A situation without anything expected yet: a run that ends well.
pub(crate) fn situation(name: &'static str, host: Host, line: &'static str) -> Situation {
    let (before, acts, must) = (Vec::new(), Vec::new(), Must::default());
    Situation { name, host, line, before, is_warm: false, place: Place::Here, acts, is_short: false, must }
}

impl Situation {
    pub(crate) fn short(self) -> Self {
        Self { is_short: true, ..self }
    }

    pub(crate) fn at(self, place: Place) -> Self {
        Self { place, ..self }
    }

    pub(crate) fn after(mut self, ms: u64, act: Act) -> Self {
        self.acts.push((ms, act));
        self
    }

    pub(crate) fn first(mut self, host: Host, line: &'static str) -> Self {
        self.before.push((host, line));
        self
    }

    pub(crate) fn for_the_second_time(self) -> Self {
        Self { is_warm: true, ..self }
    }

    pub(crate) fn how_much(mut self, patterns: &'static [&'static str]) -> Self {
        self.must.how_much = patterns;
        self
    }

    pub(crate) fn breaks(mut self, patterns: &'static [&'static str]) -> Self {
        self.must.breaks = patterns;
        self
    }

    pub(crate) fn loses(mut self, findings: &'static [&'static str]) -> Self {
        self.must.loses = findings;
        self
    }

    pub(crate) fn trust(mut self, patterns: &'static [&'static str]) -> Self {
        self.must.trust = patterns;
        self
    }

    pub(crate) fn says(mut self, parts: &'static [&'static str]) -> Self {
        self.must.says = parts;
        self
    }

    pub(crate) fn never(mut self, parts: &'static [&'static str]) -> Self {
        self.must.never = parts;
        self
    }

    pub(crate) fn untimed(mut self) -> Self {
        self.must.is_untimed = true;
        self
    }

    pub(crate) fn by(mut self, bottleneck: &'static [&'static str]) -> Self {
        self.must.bottleneck = bottleneck;
        self
    }

    pub(crate) fn refused(mut self, patterns: &'static [&'static str]) -> Self {
        self.must.refused = patterns;
        self.exits(1)
    }

    pub(crate) fn exits(mut self, code: i32) -> Self {
        self.must.exit = code;
        self
    }

    pub(crate) fn or_exits(mut self, code: i32) -> Self {
        self.must.exit_if_busy = Some(code);
        self
    }

    pub(crate) fn figures(mut self, words: &'static str, are: fn(&Value) -> bool) -> Self {
        self.must.figures = Some((words, are));
        self
    }
}

/// The command line, and what is done meanwhile.
impl fmt::Display for Situation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = ["{ws}", "{wss}", "{http}", "{https}"]
            .iter()
            .fold(self.line.to_owned(), |line, hole| line.replace(hole, "URL"));
        f.write_str(&line.replace("{folder}/", "").replace("{socket}", "SOCKET"))?;
        match self.place {
            Place::Here => {}
            Place::Crowd(n) => write!(f, "; beside {n} busy loops")?,
            Place::Quota(percent) => write!(f, "; with {percent}% of a core")?,
            Place::Files(n) => write!(f, "; with {n} open files")?,
            Place::Memory(mebibytes) => write!(f, "; with {mebibytes} MiB")?,
            Place::TenPorts => write!(f, "; with ten local ports")?,
        }
        if self.is_warm {
            write!(f, "; for the second time")?;
        }
        for (ms, act) in &self.acts {
            let what = match act {
                Act::KillServer => "the server is killed",
                Act::RestartServer => "the server is started again",
                Act::FreezeServer => "the server stands still",
                Act::ThawServer => "the server goes on",
                Act::Interrupt => "Ctrl-C",
            };
            write!(f, "; at {:.1} s {what}", 1.0 + *ms as f64 / 1e3)?;
        }
        Ok(())
    }
}

/// In one cell.
impl fmt::Display for Must {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let other = self.exit_if_busy.map(|code| format!(" *or* {code}")).unwrap_or_default();
        let mut parts = vec![format!("exit code {}{other}", self.exit)];
        let labels = ["**how much**", "**breaks**", "**trust**", "bottleneck", "error"];
        let sets = [self.how_much, self.breaks, self.trust, self.bottleneck, self.refused];
        for (label, patterns) in labels.into_iter().zip(sets).filter(|(_, patterns)| !patterns.is_empty()) {
            parts.push(format!("{label} {}", patterns.join(" *or* ")));
        }
        parts.extend(self.says.iter().map(|part| format!("“{part}”")));
        parts.extend(self.never.iter().map(|part| format!("never “{part}”")));
        parts.extend(self.is_untimed.then(|| "no latency, but of connecting".to_owned()));
        parts.extend(self.figures.map(|(words, _)| words.to_owned()));
        let text = parts.join("<br>");
        f.write_str(&text.replace("{number}", "…").replace("{time}", "…").replace("{any}", "…"))
    }
}
