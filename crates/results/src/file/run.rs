//! A run in the file, its id, and when it started.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use stats::Capacity;
use stats::fit::Line;
use stats::knee::Knee;

use super::finding::{FileRunCaveat, told_of_run};
use super::judgement::{FileBottleneck, FileLimit};
use super::mirror::{mirror, ms_from_ns, rounded};
use super::step::FileStep;
use crate::conclusion::{self, Conclusion};
use crate::levels::Level;
use crate::run::{Environment, Run, Target, Verdict};
use crate::scenario::Scenario;

/// The schema this version writes, and the newest it reads.
pub const SCHEMA: u64 = 1;

mirror!(FileTarget of Target {
    url: String,
    ; optional
    name: String,
    version: String,
});

mirror!(FileEnvironment of Environment {
    ; optional
    cpu: String,
    cores: u32,
    memory_bytes: u64,
    kernel: String,
    os: String,
    fd_limit: u64,
    generator_cpus: String,
    server_cpus: String,
    same_host: bool,
});

/// A capacity; without `high` it is at least that many clients. `decided` follows from the rest.
#[derive(Debug, Serialize, Deserialize)]
struct FileCapacity {
    clients: u64,
    low: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    high: Option<u64>,
    confidence: f64,
    #[serde(default)]
    decided: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    contradicted_by: Option<u64>,
}

#[derive(Debug, Serialize, Deserialize)]
struct FileKnee {
    load_per_s: f64,
    latency_ms: f64,
}

/// Server memory per open connection: the slope of a straight line.
#[derive(Debug, Serialize, Deserialize)]
struct FileMemory {
    bytes: f64,
    standard_error_bytes: f64,
    base_bytes: f64,
    points: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    later_bytes: Option<f64>,
}

/// One number of clients of a sweep, rates per second.
#[derive(Debug, Serialize, Deserialize)]
struct FileLevel {
    clients: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    safe_per_s: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    received_per_s: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    overload_per_s: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fatal_per_s: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    knee: Option<FileKnee>,
}

/// The run's sentences, for readers of the file; throng composes the sentences anew when it reads the file back.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct FileSentences {
    outcome: String,
    result: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    how_much: String,
    breaks: String,
    claims: FileClaims,
}

/// The keys of the two claims.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct FileClaims {
    how_much: String,
    breaks: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct FileVerdict {
    #[serde(flatten)]
    sentences: FileSentences,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    capacity: Option<FileCapacity>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    levels: Vec<FileLevel>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    memory_per_client: Option<FileMemory>,
    limits: Vec<FileLimit>,
    #[serde(flatten)]
    bottleneck: FileBottleneck,
    trust: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    caveats: Vec<FileRunCaveat>,
}

mod scenario {
    use super::*;

    pub(super) fn serialize<S: Serializer>(scenario: &Scenario, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(scenario.name())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Scenario, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// The whole file.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct FileRun {
    schema: u64,
    id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    started: Timestamp,
    throng: String,
    command: Vec<String>,
    #[serde(with = "scenario")]
    scenario: Scenario,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    search: bool,
    dialect: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    seed: Option<u64>,
    target: FileTarget,
    environment: FileEnvironment,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    inputs: BTreeMap<String, String>,
    steps: Vec<FileStep>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    resume_after: Option<u32>,
    verdict: FileVerdict,
}

impl FileRun {
    /// All of a run.
    pub(super) fn of(run: &Run) -> Self {
        let steps = run.steps.iter().map(|step| FileStep::of(run.scenario, step)).collect();
        FileRun { steps, ..FileRun::without_steps(run) }
    }

    /// All but the steps, which are written one by one: in the file's form they take as much memory again.
    pub(super) fn without_steps(run: &Run) -> Self {
        FileRun {
            schema: SCHEMA,
            id: run.id.clone(),
            name: run.name.clone(),
            note: run.note.clone(),
            started: timestamp(run.started_unix_ns),
            throng: run.throng.clone(),
            command: run.command.clone(),
            scenario: run.scenario,
            search: run.is_search,
            dialect: run.dialect.clone(),
            seed: run.seed,
            target: FileTarget::from(&run.target),
            environment: FileEnvironment::from(&run.environment),
            inputs: run.inputs.clone(),
            steps: Vec::new(),
            resume_after: run.resume_after,
            verdict: FileVerdict { sentences: FileSentences::of(run), ..FileVerdict::from(&run.verdict) },
        }
    }
}

impl From<FileRun> for Run {
    fn from(file: FileRun) -> Self {
        let steps = file.steps.into_iter().map(|step| step.into_memory(file.scenario)).collect();
        let mut verdict = Verdict::from(file.verdict);
        for outcome in &mut verdict.limits {
            outcome.of.settle(file.scenario);
        }
        Run {
            id: file.id,
            name: file.name,
            note: file.note,
            started_unix_ns: u64::try_from(file.started.as_nanosecond()).unwrap_or(0),
            throng: file.throng,
            command: file.command,
            scenario: file.scenario,
            is_search: file.search,
            dialect: file.dialect,
            seed: file.seed,
            target: file.target.into(),
            environment: file.environment.into(),
            inputs: file.inputs,
            steps,
            resume_after: file.resume_after,
            verdict,
        }
    }
}

impl FileSentences {
    fn of(run: &Run) -> Self {
        let conclusion = conclusion::conclude(run);
        let Conclusion { outcome, how_much, breaks, .. } = &conclusion;
        let claims = FileClaims { how_much: how_much.key.into(), breaks: breaks.key.into() };
        Self {
            outcome: outcome.name().into(),
            result: conclusion.result(),
            why: conclusion.why(),
            how_much: how_much.to_string(),
            breaks: breaks.to_string(),
            claims,
        }
    }
}

impl From<&Verdict> for FileVerdict {
    fn from(verdict: &Verdict) -> Self {
        let Verdict { capacity, levels, memory_per_client, memory_later, limits, bottleneck, caveats } =
            verdict;
        FileVerdict {
            sentences: FileSentences::default(),
            capacity: capacity.as_ref().map(FileCapacity::from),
            levels: levels.iter().map(FileLevel::from).collect(),
            memory_per_client: memory_per_client.and_then(|line| {
                Some(FileMemory {
                    bytes: rounded(line.slope)?,
                    standard_error_bytes: rounded(line.slope_se)?,
                    base_bytes: rounded(line.intercept)?,
                    points: line.points,
                    later_bytes: memory_later.and_then(rounded),
                })
            }),
            limits: limits.iter().map(FileLimit::from).collect(),
            bottleneck: FileBottleneck::of(bottleneck.as_ref()),
            trust: caveats.iter().map(ToString::to_string).collect(),
            caveats: caveats.iter().map(FileRunCaveat::from).collect(),
        }
    }
}

impl From<FileVerdict> for Verdict {
    fn from(file: FileVerdict) -> Self {
        Verdict {
            capacity: file.capacity.map(Capacity::from),
            levels: file.levels.into_iter().map(Level::from).collect(),
            memory_later: file.memory_per_client.as_ref().and_then(|memory| memory.later_bytes),
            memory_per_client: file.memory_per_client.map(|memory| Line {
                slope: memory.bytes,
                intercept: memory.base_bytes,
                slope_se: memory.standard_error_bytes,
                points: memory.points,
            }),
            limits: file.limits.into_iter().map(Into::into).collect(),
            bottleneck: file.bottleneck.into_memory(),
            caveats: told_of_run(file.trust, file.caveats),
        }
    }
}

impl From<&Capacity> for FileCapacity {
    fn from(capacity: &Capacity) -> Self {
        let &Capacity { clients, low, high, confidence, at_least, contradicted_by } = capacity;
        let (high, decided) = ((!at_least).then_some(high), capacity.is_decided());
        FileCapacity { clients, low, high, confidence, decided, contradicted_by }
    }
}

impl From<FileCapacity> for Capacity {
    fn from(file: FileCapacity) -> Self {
        let FileCapacity { clients, low, high, confidence, contradicted_by, .. } = file;
        let at_least = high.is_none();
        // Files come from anybody, and comparisons assume a value within its interval.
        let (low, high) = (low.min(clients), high.map_or(clients, |high| high.max(clients)));
        Capacity { clients, low, high, confidence, at_least, contradicted_by }
    }
}

impl FileKnee {
    fn of(knee: &Knee) -> Option<Self> {
        Some(FileKnee { load_per_s: rounded(knee.load)?, latency_ms: ms_from_ns(knee.latency) })
    }
}

impl From<FileKnee> for Knee {
    fn from(file: FileKnee) -> Self {
        Knee { load: file.load_per_s, latency: file.latency_ms * 1e6 }
    }
}

impl From<&Level> for FileLevel {
    fn from(level: &Level) -> Self {
        FileLevel {
            clients: level.clients,
            safe_per_s: level.safe_per_s.and_then(rounded),
            received_per_s: level.received_per_s.and_then(rounded),
            overload_per_s: level.overload_per_s.and_then(rounded),
            fatal_per_s: level.fatal_per_s.and_then(rounded),
            knee: level.knee.as_ref().and_then(FileKnee::of),
        }
    }
}

impl From<FileLevel> for Level {
    fn from(file: FileLevel) -> Self {
        Level {
            clients: file.clients,
            safe_per_s: file.safe_per_s,
            received_per_s: file.received_per_s,
            overload_per_s: file.overload_per_s,
            fatal_per_s: file.fatal_per_s,
            knee: file.knee.map(Knee::from),
        }
    }
}

/// A run's id: its start to the second, and six random hexadecimal digits. Sorts by time.
pub fn run_id(started_unix_ns: u64, random: u64) -> String {
    let started = timestamp(started_unix_ns).to_zoned(TimeZone::UTC).strftime("%Y%m%d-%H%M%S");
    format!("{started}-{:06x}", random & 0xff_ffff)
}

/// Returns whether a text has the form of a run's id.
pub fn is_run_id(text: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_digit();
    let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let parts: Vec<&[u8]> = text.as_bytes().split(|byte| *byte == b'-').collect();
    let is_of = |part: &[u8], length, is_in: fn(u8) -> bool| {
        part.len() == length && part.iter().all(|byte| is_in(*byte))
    };
    matches!(parts[..], [day, time, random] if is_of(day, 8, is_digit) && is_of(time, 6, is_digit) && is_of(random, 6, is_hex))
}

/// When a run started, for people: `2026-11-20 18:30:00`, UTC.
pub fn started(unix_ns: u64) -> String {
    timestamp(unix_ns).to_zoned(TimeZone::UTC).strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// The time since 1970 as a UTC timestamp; 64 bits of nanoseconds last until 2554.
fn timestamp(unix_ns: u64) -> Timestamp {
    Timestamp::from_nanosecond(i128::from(unix_ns)).expect("64 bits of nanoseconds are within jiff's range")
}
