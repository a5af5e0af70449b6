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

use codec::http::query;

use super::streaming::StreamForm;
use crate::gate;
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
    /// The event in whose place an error is told.
    error_at: Option<u64>,
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
    /// The server's next answer, as the query of `target` asks for it; an error says what of it makes no sense.
    pub(crate) fn next_of(cfg: &ServerConfig, target: &str) -> Result<ScriptedAnswer, String> {
        let number = cfg.streamed.fetch_add(1, Ordering::Relaxed);
        let script = Script::parse(target, number)?;
        Ok(ScriptedAnswer { script, next: 0, start_ns: 0, is_over: false })
    }

    /// Returns whether a query makes sense.
    pub(crate) fn is_sound(target: &str) -> bool {
        Script::parse(target, 0).is_ok()
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

/// Parameters, each with what it takes.
const PARAMETERS: [(&str, &str); 11] = [
    ("as", "sse, ndjson or text"),
    ("events", "a number"),
    ("bytes", "a number up to 1048576"),
    ("first", "a time such as 10ms"),
    ("gap", "a time such as 10ms"),
    ("stall", "TIME@EVENT"),
    ("break", "an event's number"),
    ("hang", "an event's number"),
    ("swap", "an event's number"),
    ("error", "an event's number"),
    ("end", "missing or doubled"),
];
/// The parameter that may be there several times: no answer can have both of its faults.
const END: &str = "end";

/// The query of the answer with this number.
struct Query<'a> {
    pairs: Vec<(&'a str, &'a str)>,
    number: u64,
}

impl<'a> Query<'a> {
    /// Reads the query of a target. A parameter that is not known, or is there twice, would plant nothing
    /// without a word.
    fn read(target: &'a str, number: u64) -> Result<Query<'a>, String> {
        let is_token = |name: &str| gate::token_names().any(|known| known == name);
        let pairs: Vec<_> = query::params(target).filter(|(name, _)| !is_token(name)).collect();
        for (place, (name, _)) in pairs.iter().enumerate() {
            if PARAMETERS.iter().all(|(known, _)| known != name) {
                let known = PARAMETERS.map(|(known, _)| known).join(", ");
                return Err(format!("{name} is no parameter of a stream: expected one of {known}\n"));
            }
            if *name != END && pairs[..place].iter().any(|(before, _)| before == name) {
                return Err(format!("{name} is there twice: expected it once\n"));
            }
        }
        Ok(Query { pairs, number })
    }

    /// The value of a parameter, or the usual one.
    fn value<T>(&self, name: &str, usual: T, read: impl Fn(&'a str) -> Option<T>) -> Result<T, String> {
        let given = self.pairs.iter().find(|(known, _)| *known == name);
        given.map_or(Ok(usual), |&(_, text)| read(text).ok_or_else(|| bad(name, text)))
    }

    /// The fault of this kind that is planted in the answer, if one is: a fault is in all answers, or as
    /// `5:3%10` in those whose number leaves 3 by 10.
    fn planted<T>(&self, name: &str, read: impl Fn(&'a str) -> Option<T>) -> Result<Option<T>, String> {
        let mut planted = None;
        for &(_, text) in self.pairs.iter().filter(|(known, _)| *known == name) {
            let (fault, which) = text.split_once(':').unwrap_or((text, "0%1"));
            let is_here = is_among(which, self.number).ok_or_else(|| bad(name, text))?;
            let fault = read(fault).ok_or_else(|| bad(name, text))?;
            if is_here {
                planted = Some(fault);
            }
        }
        Ok(planted)
    }
}

/// Returns whether a number leaves a residue, as `3%10` says; `None` if that makes no sense.
fn is_among(which: &str, number: u64) -> Option<bool> {
    let (residue, modulus) = which.split_once('%')?;
    let (residue, modulus): (u64, u64) = (residue.parse().ok()?, modulus.parse().ok()?);
    Some(number.checked_rem(modulus)? == residue)
}

/// The error of a value that makes no sense.
fn bad(name: &str, text: &str) -> String {
    let expected = PARAMETERS.iter().find(|(known, _)| *known == name).map_or("", |(_, expected)| expected);
    format!("{name}={text} makes no sense: expected {expected}; of a fault, perhaps with :3%10 behind it\n")
}

/// A number up to this one.
fn count(most: u64) -> impl Fn(&str) -> Option<u64> {
    move |text| text.parse().ok().filter(|&count| count <= most)
}

impl Script {
    /// Reads the query of the answer with this number.
    fn parse(target: &str, number: u64) -> Result<Script, String> {
        let query = Query::read(target, number)?;
        let event = |name: &str| query.planted(name, |text| text.parse().ok());
        Ok(Script {
            form: query.value("as", StreamForm::Events, StreamForm::named)?,
            events: query.value("events", 100, count(EVENTS_MAX))?,
            bytes: query.value("bytes", 5, count(BYTES_MAX))? as usize,
            first_ns: query.value("first", 0, time_ns)?,
            gap_ns: query.value("gap", 10_000_000, time_ns)?,
            stall: query.planted("stall", |stall| {
                let (time, at) = stall.split_once('@')?;
                Some((at.parse().ok()?, time_ns(time)?))
            })?,
            break_at: event("break")?,
            hang_at: event("hang")?,
            swap_at: event("swap")?,
            error_at: event("error")?,
            marks: query.planted(END, marks)?.unwrap_or(1),
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
        if self.error_at == Some(event) {
            return r#"{"error":{"message":"planted"}}"#.to_owned();
        }
        let (number, text) = (self.number(event), "x".repeat(self.bytes));
        match self.form {
            StreamForm::Events | StreamForm::Lines => {
                format!(r#"{{"n":{number},"choices":[{{"index":0,"delta":{{"content":"{text}"}}}}]}}"#)
            }
            StreamForm::Chunks => text,
        }
    }
}

/// The end marks of a faulty end.
fn marks(fault: &str) -> Option<u32> {
    match fault {
        "missing" => Some(0),
        "doubled" => Some(2),
        _ => None,
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
        let both = |number| Script::parse("/stream?end=missing:1%4&end=doubled:3%4&error=2", number).unwrap();
        assert_eq!([0, 1, 3].map(|number| both(number).marks), [1, 0, 2]);
        assert!(both(0).event(2).contains("error") && !both(0).event(3).contains("error"));
        for (bad, name) in [
            ("events=x", "a number"),
            ("gap=5", "a time"),
            ("break=7:3%0", "break"),
            ("stall=4", "TIME@EVENT"),
            ("end=late", "missing"),
            ("as=xml", "ndjson"),
            ("stal=1s@4", "stall"),
            ("gap=1ms&gap=2ms", "twice"),
        ] {
            let why = Script::parse(&format!("/stream?{bad}"), 0).unwrap_err();
            assert!(why.contains(name), "{bad}: {why}");
        }
        assert!(Script::parse("/stream?token=abc", 0).is_ok());
    }
}
