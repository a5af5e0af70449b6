//! Limits that are planted in servers, and the places of a sheet that have to tell them.

use std::any::Any;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::support::retry;
use crate::support::target::Unavailable;
use crate::support::throng::{Outcome, run, throng};

/// A sheet with a wait for silence of up to a minute, on a busy machine.
const SHEET_MAX: Duration = Duration::from_secs(180);
/// A machine that others use may be slow for a moment; what is false stays false.
const ATTEMPTS: usize = 3;
/// The share by which a number may differ from the truth.
const TOLERANCE: f64 = 0.1;
/// Bounds of a sheet whose flags name no others.
const BOUNDS: [(&str, &str); 3] = [("--idle", "4s"), ("--max", "60"), ("--max-message", "2MiB")];

/// A place of the sheet, `row/key`, and its truth as JSON, or one of the three words below.
pub(super) type Truth = (&'static str, &'static str);
/// The truth of a place that another limit hides.
pub(super) const ANY: &str = "*";
/// The truth of a row that cannot be filled.
pub(super) const NOT_TRIED: &str = "not tried";
/// The truth of a slow reader that loses nothing: neither behavior is a limit.
const NOTHING_LOST: &str = "waits or buffers";

/// Places that tell of a limit in every WebSocket's sheet, and what they hold where there is none.
pub(super) const OF_SOCKETS: &[Truth] = &[
    ("subprotocols/refuses_unknown", "false"),
    ("origin/foreign", "null"),
    ("origin/absent", "null"),
    ("idle/closed_after_s", "null"),
    ("ping_interval/kind", "null"),
    ("message_max/refused_bytes", "null"),
    ("delayed_ack/delayed", "false"),
    ("stickiness/cookie", "null"),
    ("connections/refusal", "null"),
    ("handshake_rate/refusal", "null"),
    ("message_rate/limit", "null"),
    ("close_codes/ended_by", "null"),
];
/// Further places of an echo server, and of a server from which clients resume.
const OF_ORDER: &[Truth] = &[("order/out_of_order", "0"), ("frames/messages_per_frame_max", "1")];
const OF_RESUMES: &[Truth] = &[("resume_time/limit_s", "null"), ("resume_messages/limit", "null")];
/// Places in every echo server's sheet.
pub(super) const OF_ECHOES: &[&[Truth]] = &[OF_SOCKETS, OF_ORDER];
/// Places that other limits leave without an answer.
const OF_SILENCE: &[Truth] =
    &[("slow_reader/behavior", NOTHING_LOST), ("pong_timeout/closed_after_s", "null")];
/// All places that tell of a limit; sheets of some protocols lack some.
const NO_LIMIT: &[&[Truth]] = &[OF_SOCKETS, OF_ORDER, OF_RESUMES, OF_SILENCE];

/// Servers of one kind.
pub(super) struct Kind {
    pub(super) name: &'static str,
    /// Starts one with the arguments of a row.
    pub(super) start: fn(&[&str]) -> Result<Running, Unavailable>,
    /// The truth of each without its limits.
    pub(super) usual: &'static [&'static [Truth]],
    pub(super) rows: &'static [Row],
}

/// A server's limits, and the truth about them.
pub(super) struct Row {
    pub(super) planted: &'static str,
    arguments: &'static [&'static str],
    /// Flags of the probe.
    flags: &'static [&'static str],
    truth: &'static [Truth],
    /// True if other rows plant the same kinds of limits: `make probe-truth` alone makes its sheet.
    pub(super) is_repeated: bool,
}

pub(super) const fn row(
    planted: &'static str,
    arguments: &'static [&'static str],
    truth: &'static [Truth],
) -> Row {
    Row { planted, arguments, flags: &[], truth, is_repeated: false }
}

impl Row {
    /// The same, probed with these flags.
    pub(super) const fn probed(self, flags: &'static [&'static str]) -> Row {
        Row { flags, ..self }
    }

    /// The same, for `make probe-truth` alone.
    pub(super) const fn repeated(self) -> Row {
        Row { is_repeated: true, ..self }
    }
}

/// A server, which ends with the value.
pub(super) struct Running {
    pub(super) url: String,
    _held: Box<dyn Any>,
}

impl Running {
    pub(super) fn new(url: String, held: impl Any) -> Running {
        Running { url, _held: Box::new(held) }
    }
}

/// Writes a certificate for 127.0.0.1 and its key there; returns the paths.
pub(super) fn certify(folder: &Path) -> [String; 2] {
    let simple = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
    let texts = [("cert.pem", simple.cert.pem()), ("key.pem", simple.signing_key.serialize_pem())];
    texts.map(|(name, text)| {
        let path = folder.join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    })
}

/// The sheet of a server.
pub(crate) fn sheet(url: &str, flags: &[&str]) -> Outcome {
    let mut command = throng(["probe", url, "--format", "json"]);
    for (flag, bound) in BOUNDS {
        if !flags.contains(&flag) {
            command.args([flag, bound]);
        }
    }
    run(command.args(flags), SHEET_MAX)
}

/// The value at a place of a sheet; `None`: its row was not tried, or has no such key.
pub(crate) fn found(sheet: &Value, place: &str) -> Option<Value> {
    let (row, key) = place.split_once('/').expect("a row and a key");
    sheet["rows"][row]["found"].pointer(&format!("/{key}")).cloned()
}

impl Kind {
    /// Makes the sheet of a server with a row's limits, again where it is false.
    pub(super) fn prove(&self, row: &Row) -> Result<Proof, Unavailable> {
        let mut proof = self.attempt(row, 1)?;
        while !proof.holds() && proof.tries < ATTEMPTS {
            retry("times", &proof.in_table(self, row));
            proof = self.attempt(row, proof.tries + 1)?;
        }
        Ok(proof)
    }

    fn attempt(&self, row: &Row, tries: usize) -> Result<Proof, Unavailable> {
        let server = (self.start)(row.arguments)?;
        let outcome = sheet(&server.url, &[&["--yes"][..], row.flags].concat());
        let mut lines: Vec<Line> = Vec::new();
        if outcome.code != Some(0) {
            return Ok(Proof { lines, tries, outcome });
        }
        let sheet = outcome.json();
        let planted = [row.truth];
        for (reason, truths) in
            [(Reason::Planted, planted.as_slice()), (Reason::Usual, self.usual), (Reason::NoLimit, NO_LIMIT)]
        {
            for &(place, truth) in truths.iter().copied().flatten() {
                // The first reason is the nearest.
                if !lines.iter().any(|line| line.place == place) {
                    let (row, _) = place.split_once('/').expect("a row and a key");
                    let is_not_tried = sheet["rows"][row]["not_tried"].is_string();
                    lines.push(Line { place, truth, found: found(&sheet, place), is_not_tried, reason });
                }
            }
        }
        Ok(Proof { lines, tries, outcome })
    }
}

/// The reason to look at a place.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reason {
    Planted,
    Usual,
    /// Nothing is planted: no limit may be found.
    NoLimit,
}

/// A place of a sheet beside the truth.
struct Line {
    place: &'static str,
    truth: &'static str,
    found: Option<Value>,
    /// True if the sheet says why its row was not tried.
    is_not_tried: bool,
    reason: Reason,
}

impl Line {
    fn expected(&self) -> Option<Value> {
        serde_json::from_str(self.truth).ok()
    }

    /// The share by which a number differs from the truth; codes and statuses differ or do not.
    fn off(&self) -> Option<f64> {
        let (row, key) = self.place.split_once('/')?;
        if ["origin", "close_codes"].contains(&row) || key == "refusal" || key.ends_with("code") {
            return None;
        }
        let expected = self.expected()?.as_f64().filter(|expected| *expected != 0.0)?;
        Some(self.found.as_ref()?.as_f64()? / expected - 1.0)
    }

    fn holds(&self) -> bool {
        match (self.truth, &self.found) {
            (ANY, _) => true,
            (NOT_TRIED, _) => self.is_not_tried,
            // A protocol has not every row.
            (_, None) => self.reason == Reason::NoLimit,
            (NOTHING_LOST, Some(found)) => found == "waits" || found == "buffers",
            (_, Some(found)) => match self.off() {
                Some(off) => off.abs() <= TOLERANCE,
                None => self.expected().as_ref() == Some(found),
            },
        }
    }

    /// Its truth, what was found, and by how much that is off, as cells of a table.
    fn cells(&self) -> String {
        let truth = self.expected().as_ref().map_or_else(|| self.truth.to_owned(), told);
        let found = self.found.as_ref().map_or_else(|| NOT_TRIED.to_owned(), told);
        let off = self.off().map(|off| format!("{:+.1}%", 100.0 * off)).unwrap_or_default();
        format!("{truth} | {found} | {off}")
    }
}

/// Places of a sheet beside the truth; none, if the probe ended without a sheet.
pub(super) struct Proof {
    lines: Vec<Line>,
    /// Sheets made until one was true.
    tries: usize,
    pub(super) outcome: Outcome,
}

impl Proof {
    pub(super) fn holds(&self) -> bool {
        !self.lines.is_empty() && self.lines.iter().all(Line::holds)
    }

    /// A row for each limit that was planted, each that is false, and one for all others.
    pub(super) fn in_table(&self, kind: &Kind, row: &Row) -> String {
        let mut text = String::new();
        let (mut name, mut planted, mut tries) = (kind.name, row.planted, self.tries.to_string());
        if self.lines.is_empty() {
            let code = self.outcome.code;
            return format!(
                "| {name} | {planted} | exit code | 0 | {code:?} |  | {tries} | {} |\n",
                mark(false)
            );
        }
        let is_planted = |line: &&Line| line.reason == Reason::Planted && line.truth != ANY;
        let others = || self.lines.iter().filter(|line| line.reason != Reason::Planted);
        for line in self.lines.iter().filter(is_planted).chain(others().filter(|line| !line.holds())) {
            writeln!(
                text,
                "| {name} | {planted} | {} | {} | {tries} | {} |",
                line.place,
                line.cells(),
                mark(line.holds())
            )
            .unwrap();
            (name, planted, tries) = ("", "", String::new());
        }
        let tried = others().filter(|line| line.found.is_some()).count();
        let wrong = others().filter(|line| !line.holds()).count();
        // Nothing to look for is nothing found.
        let is_true = if tried + wrong == 0 { "" } else { mark(wrong == 0) };
        writeln!(
            text,
            "| {name} | {planted} | no other limit | 0 | {wrong} of {tried} |  | {tries} | {is_true} |"
        )
        .unwrap();
        text
    }
}

fn mark(is_true: bool) -> &'static str {
    if is_true { "✓" } else { "✗" }
}

/// A value without its quotes, and with the digits that matter.
fn told(value: &Value) -> String {
    match (value.as_str(), value.as_f64()) {
        (Some(text), _) => text.to_owned(),
        (None, Some(number)) if value.is_f64() => format!("{number:.2}"),
        _ => value.to_string(),
    }
}
