//! An answer that a server gives event by event: as many events as a query asks for, and what is to be wrong
//! with them.
//!
//! ```text
//! open --an event is due--> open: it goes out
//! open --the last one is out--> over: the end marks, and the end of the answer
//! open --the event to break at is due--> over: the answer breaks off instead
//! open --the event to hang at is due--> hanging: nothing follows
//! ```

use std::sync::atomic::Ordering;

use super::streaming::StreamForm;
use crate::http::query;
use crate::server_config::ServerConfig;

/// The most events of an answer, and the most bytes of the text in each.
const EVENTS_MAX: u64 = 1 << 32;
const BYTES_MAX: u64 = 1 << 20;

/// The course of one answer: its events, their times, and its faults.
#[derive(Clone, Debug)]
struct Script {
    form: StreamForm,
    events: u64,
    /// Bytes of the text in each.
    bytes: usize,
    first_ns: u64,
    gap_ns: u64,
    /// The event before which there is a longer gap, and by how much.
    stall: Option<(u64, u64)>,
    /// The event in whose place the connection ends.
    break_at: Option<u64>,
    /// The event from which on nothing comes.
    hang_at: Option<u64>,
    /// The event that changes places with the next.
    swap_at: Option<u64>,
    /// End marks of an answer: 0, 1 or 2.
    marks: u32,
}

/// An answer under way, or about to be.
#[derive(Clone, Debug)]
pub(crate) struct ScriptedAnswer {
    script: Script,
    next: u64,
    start_ns: u64,
    is_over: bool,
}

/// A part of an answer that is due.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum ScriptedPart {
    /// An event with this text.
    Event(String),
    /// The answer breaks off.
    Break,
    /// The answer ends, behind this many marks.
    End {
        /// 0, 1 or 2.
        marks: u32,
    },
}

impl ScriptedAnswer {
    /// The server's next answer, as the query of `target` asks for it; `None` if a value makes no sense.
    pub(crate) fn next_of(cfg: &ServerConfig, target: &str) -> Option<ScriptedAnswer> {
        let number = cfg.streamed.fetch_add(1, Ordering::Relaxed);
        let script = Script::parse(target, number)?;
        Some(ScriptedAnswer { script, next: 0, start_ns: 0, is_over: false })
    }

    /// Returns whether a query makes sense.
    pub(crate) fn is_sound(target: &str) -> bool {
        Script::parse(target, 0).is_some()
    }

    /// The form of its events.
    pub(crate) fn form(&self) -> StreamForm {
        self.script.form
    }

    /// Returns whether it breaks off.
    pub(crate) fn breaks_off(&self) -> bool {
        self.script.break_at.is_some()
    }

    /// The text of an end mark.
    pub(crate) fn mark(&self) -> &'static str {
        match self.script.form {
            StreamForm::Events | StreamForm::Chunks => "[DONE]",
            StreamForm::Lines => r#"{"done":true}"#,
        }
    }

    /// Begins it now.
    pub(crate) fn start(&mut self, now_ns: u64) {
        self.start_ns = now_ns;
    }

    /// Gives it up.
    pub(crate) fn stop(&mut self) {
        self.is_over = true;
    }

    /// Returns whether nothing follows.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    /// When its next part is due; `None`: it is over, or hangs.
    pub(crate) fn poll_timeout(&self) -> Option<u64> {
        let is_hanging = self.script.hang_at.is_some_and(|at| self.next >= at);
        let due_ns = self.script.due_ns(self.next);
        (!self.is_over && !is_hanging).then(|| self.start_ns.saturating_add(due_ns))
    }

    /// The next part, if it is due.
    pub(crate) fn poll_part(&mut self, now_ns: u64) -> Option<ScriptedPart> {
        self.poll_timeout().filter(|&due_ns| due_ns <= now_ns)?;
        let ScriptedAnswer { script, next, is_over, .. } = self;
        *is_over = script.break_at == Some(*next) || *next >= script.events;
        if script.break_at == Some(*next) {
            return Some(ScriptedPart::Break);
        }
        if *is_over {
            return Some(ScriptedPart::End { marks: script.marks });
        }
        *next += 1;
        Some(ScriptedPart::Event(script.event(*next - 1)))
    }
}

impl Script {
    /// Reads the query of the answer with this number; `None` if a value makes no sense.
    fn parse(target: &str, number: u64) -> Option<Script> {
        let text = |name: &str| query::param(target, name);
        let count = |name: &str, usual: u64, most: u64| match text(name) {
            None => Some(usual),
            Some(text) => text.parse().ok().filter(|&count: &u64| count <= most),
        };
        let time = |name: &str, usual_ns: u64| text(name).map_or(Some(usual_ns), time_ns);
        // The answers that it is planted in: all, or as `5:3%10` those whose number leaves 3 by 10.
        let planted = |name: &str| match text(name).map(|text| text.split_once(':').unwrap_or((text, "0%1")))
        {
            None => Some(None),
            Some((fault, which)) => {
                let (residue, modulus) = which.split_once('%')?;
                let (residue, modulus): (u64, u64) = (residue.parse().ok()?, modulus.parse().ok()?);
                Some((number.checked_rem(modulus)? == residue).then_some(fault))
            }
        };
        let event = |name: &str| match planted(name)? {
            None => Some(None),
            Some(at) => at.parse().ok().map(Some),
        };
        let stall = match planted("stall")? {
            None => None,
            Some(stall) => {
                let (time, at) = stall.split_once('@')?;
                Some((at.parse().ok()?, time_ns(time)?))
            }
        };
        Some(Script {
            form: text("as").map_or(Some(StreamForm::Events), StreamForm::named)?,
            events: count("events", 100, EVENTS_MAX)?,
            bytes: count("bytes", 5, BYTES_MAX)? as usize,
            first_ns: time("first", 0)?,
            gap_ns: time("gap", 10_000_000)?,
            stall,
            break_at: event("break")?,
            hang_at: event("hang")?,
            swap_at: event("swap")?,
            marks: match planted("end")? {
                None => 1,
                Some("missing") => 0,
                Some("doubled") => 2,
                Some(_) => return None,
            },
        })
    }

    /// Time from the request until an event is due; the one behind the last is the end.
    fn due_ns(&self, event: u64) -> u64 {
        let stalled_ns = self.stall.filter(|&(at, _)| event >= at).map_or(0, |(_, ns)| ns);
        // The end is due with the last event.
        let gaps = event.min(self.events.saturating_sub(1));
        self.first_ns.saturating_add(gaps.saturating_mul(self.gap_ns)).saturating_add(stalled_ns)
    }

    /// The number that an event carries.
    fn number(&self, event: u64) -> u64 {
        match self.swap_at {
            Some(at) if event == at => event + 1,
            Some(at) if event.checked_sub(1) == Some(at) => at,
            _ => event,
        }
    }

    /// The text of an event, in the form of OpenAI's chunks unless it is text alone.
    fn event(&self, event: u64) -> String {
        let (number, text) = (self.number(event), "x".repeat(self.bytes));
        match self.form {
            StreamForm::Events | StreamForm::Lines => {
                format!(r#"{{"n":{number},"choices":[{{"index":0,"delta":{{"content":"{text}"}}}}]}}"#)
            }
            StreamForm::Chunks => text,
        }
    }
}

/// A time such as `10ms`; `None` if it is none.
fn time_ns(text: &str) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit_ns = match unit {
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(unit_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_planted_by_number() {
        let at = |number| {
            Script::parse("/stream?events=20&gap=5ms&break=7:3%10&stall=1s@4:1%2&end=missing", number)
        };
        let script = at(13).unwrap();
        assert_eq!((script.events, script.break_at, script.stall), (20, Some(7), Some((4, 1_000_000_000))));
        assert_eq!((at(14).unwrap().break_at, at(14).unwrap().stall), (None, None));
        assert_eq!(script.marks, 0);
        assert_eq!([3, 4, 20].map(|event| script.due_ns(event) / 1_000_000), [15, 1_020, 1_095]);
        for bad in ["events=x", "gap=5", "break=7:3%0", "stall=4", "end=late", "as=xml"] {
            assert!(Script::parse(&format!("/stream?{bad}"), 0).is_none(), "{bad}");
        }
    }
}
