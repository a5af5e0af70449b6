//! A step in the file.

use std::collections::BTreeMap;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::counts::FileCounts;
use super::figure::FileFigures;
use super::finding::{FileFinding, FileLoss, told};
use super::judgement::{FileBottleneck, FileLimit};
use super::mirror::{mirror, ms_from_ns, optional_ms, optional_seconds, seconds};
use super::parts::{FileRole, FileSay};
use super::resources::{FileGenerator, FileMachine, FileServer};
use super::spent::{self, FileAccount};
use crate::absences::{Absences, Ages};
use crate::conclusion;
use crate::rates::Rates;
use crate::resources::{GeneratorUse, MachineUse, ServerUse};
use crate::scenario::Scenario;
use crate::second::Second;
use crate::spent::TimeSpent;
use crate::step::{FleetAgent, Interrupted, RoleFigures, SayFigures, Step, Warmup};
use crate::verdict::Owners;

mirror!(FileWarmup of Warmup {
    clients: u64,
    #[serde(rename = "duration_s", with = "seconds")]
    duration_ns: u64,
    sent: u64,
    received: u64,
});

mirror!(FileFleetAgent of FleetAgent {
    name: String,
    workers: u32,
    ; optional
    clock_offset_ns: i64,
    clock_error_ns: u64,
    lost: String,
});

mirror!(FileAbsences of Absences {
    ended_by: String,
    count: u64,
    not_back: u64,
    due: u64,
    recovered: u64,
    due_squares: u64,
    recovered_squares: u64,
    due_by_recovered: u64,
    ; optional
    #[serde(rename = "up_to_s", with = "optional_seconds")]
    up_to_ns: u64,
});

mirror!(FileAges of Ages {
    due: u64,
    recovered: u64,
    ; optional
    #[serde(rename = "up_to_s", with = "optional_seconds")]
    up_to_ns: u64,
});

mirror!(FileRates of Rates {
    ; numbers
    asked_per_s,
    achieved_per_s,
    sent_per_s,
    sent_bytes_per_s,
    received_per_s,
    received_bytes_per_s,
    connects_per_s,
    events_per_s,
    tokens_per_s,
});

mirror!(FileSecond of Second {
    #[serde(rename = "t_s", with = "seconds")]
    t_ns: u64,
    clients: u64,
    sent: u64,
    received: u64,
    errors: u64,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    metrics: BTreeMap<String, f64>,
    #[serde(default, with = "density", skip_serializing_if = "Vec::is_empty")]
    density: Vec<(u8, u64)>,
    ; optional
    #[serde(rename = "p50_ms", with = "optional_ms")]
    p50_ns: u64,
    #[serde(rename = "p95_ms", with = "optional_ms")]
    p95_ns: u64,
    #[serde(rename = "p99_ms", with = "optional_ms")]
    p99_ns: u64,
    #[serde(rename = "max_ms", with = "optional_ms")]
    max_ns: u64,
    server_rss_bytes: u64,
    ; numbers
    server_cpu_percent,
    generator_cpu_percent,
});

/// `24:3 25:17`: on one line, because there is one per second.
mod density {
    use super::*;

    pub(super) fn serialize<S: Serializer>(cells: &[(u8, u64)], serializer: S) -> Result<S::Ok, S::Error> {
        let cells: Vec<String> = cells.iter().map(|(cell, n)| format!("{cell}:{n}")).collect();
        serializer.serialize_str(&cells.join(" "))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<(u8, u64)>, D::Error> {
        let text = String::deserialize(deserializer)?;
        let cell = |cell: &str| {
            let (at, n) = cell.split_once(':')?;
            Some((at.parse().ok()?, n.parse().ok()?))
        };
        let cells: Option<Vec<(u8, u64)>> = text.split_whitespace().map(cell).collect();
        cells.ok_or_else(|| D::Error::custom("a density is cell:samples, with spaces between them"))
    }
}

/// The phase of a step when the user ended it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum FileInterrupted {
    Connecting,
    Loading,
}

impl From<Interrupted> for FileInterrupted {
    fn from(at: Interrupted) -> Self {
        match at {
            Interrupted::Connecting => Self::Connecting,
            Interrupted::Loading => Self::Loading,
        }
    }
}

impl From<FileInterrupted> for Interrupted {
    fn from(at: FileInterrupted) -> Self {
        match at {
            FileInterrupted::Connecting => Self::Connecting,
            FileInterrupted::Loading => Self::Loading,
        }
    }
}

/// The 95% intervals of the per-second percentiles, derived from the series: low and high.
#[derive(Debug, Serialize, Deserialize)]
struct FileIntervals {
    p50_ms: [f64; 2],
    p95_ms: [f64; 2],
    p99_ms: [f64; 2],
}

/// One level of load.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct FileStep {
    clients: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    usable: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reached: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    interrupted: Option<FileInterrupted>,
    agents: u32,
    workers: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    fleet: Vec<FileFleetAgent>,
    #[serde(rename = "start_s", with = "seconds")]
    start_ns: u64,
    #[serde(rename = "duration_s", with = "seconds")]
    duration_ns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    warmup: Option<FileWarmup>,
    rates: FileRates,
    #[serde(flatten)]
    figures: FileFigures,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    account: Option<FileAccount>,
    /// Made of the rest, for who reads the file.
    #[serde(skip_deserializing, skip_serializing_if = "BTreeMap::is_empty")]
    stall_owners_percent: BTreeMap<&'static str, f64>,
    counts: FileCounts,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    statuses: BTreeMap<u16, u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    absences: Vec<FileAbsences>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    ages: Vec<FileAges>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    says: Vec<FileSay>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    roles: Vec<FileRole>,
    #[serde(skip_serializing_if = "Option::is_none")]
    intervals: Option<FileIntervals>,
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<FileServer>,
    #[serde(skip_serializing_if = "Option::is_none")]
    generator: Option<FileGenerator>,
    #[serde(skip_serializing_if = "Option::is_none")]
    machine: Option<FileMachine>,
    limits: Vec<FileLimit>,
    standing: Vec<FileLimit>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stop: Option<FileLimit>,
    #[serde(flatten)]
    bottleneck: FileBottleneck,
    marks: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    caveats: Vec<FileFinding>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    losses: Vec<FileLoss>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    connecting: Vec<FileSecond>,
    series: Vec<FileSecond>,
}

impl From<&Step> for FileStep {
    fn from(step: &Step) -> Self {
        FileStep {
            clients: step.clients,
            usable: step.usable,
            reached: step.reached,
            interrupted: step.interrupted.map(FileInterrupted::from),
            agents: step.agents,
            workers: step.workers,
            fleet: step.fleet.iter().map(FileFleetAgent::from).collect(),
            start_ns: step.start_ns,
            duration_ns: step.duration_ns,
            warmup: step.warmup.as_ref().map(FileWarmup::from),
            rates: FileRates::from(&step.rates),
            figures: FileFigures(step.figures.clone()),
            account: FileAccount::of(step),
            stall_owners_percent: spent::by_key(Owners::of_stalls(step)),
            counts: FileCounts::of(&step.counts, &step.errors),
            statuses: step.statuses.clone(),
            absences: step.absences.iter().map(FileAbsences::from).collect(),
            ages: step.ages.iter().map(FileAges::from).collect(),
            says: step.says.iter().map(FileSay::from).collect(),
            roles: step.roles.iter().map(FileRole::from).collect(),
            intervals: FileIntervals::of(step),
            server: step.server.as_ref().map(FileServer::from),
            generator: step.generator.as_ref().map(FileGenerator::from),
            machine: step.machine.as_ref().map(FileMachine::from),
            limits: step.limits.iter().map(FileLimit::from).collect(),
            standing: step.standing.iter().map(FileLimit::from).collect(),
            stop: step.stop.as_ref().map(FileLimit::from),
            bottleneck: FileBottleneck::of(step.bottleneck.as_ref()),
            marks: step.caveats.iter().map(ToString::to_string).collect(),
            caveats: step.caveats.iter().map(FileFinding::of).collect(),
            losses: Vec::new(),
            connecting: step.connecting.iter().map(FileSecond::from).collect(),
            series: step.series.iter().map(FileSecond::from).collect(),
        }
    }
}

impl From<FileStep> for Step {
    fn from(file: FileStep) -> Self {
        let (counts, errors) = file.counts.into_memory();
        Step {
            clients: file.clients,
            usable: file.usable,
            reached: file.reached,
            interrupted: file.interrupted.map(Interrupted::from),
            agents: file.agents,
            workers: file.workers,
            fleet: file.fleet.into_iter().map(FleetAgent::from).collect(),
            start_ns: file.start_ns,
            duration_ns: file.duration_ns,
            warmup: file.warmup.map(Warmup::from),
            rates: Rates::from(file.rates),
            figures: file.figures.0,
            spent: file.account.map(TimeSpent::from),
            counts,
            errors,
            statuses: file.statuses,
            absences: file.absences.into_iter().map(Absences::from).collect(),
            ages: file.ages.into_iter().map(Ages::from).collect(),
            says: file.says.into_iter().map(SayFigures::from).collect(),
            roles: file.roles.into_iter().map(RoleFigures::from).collect(),
            server: file.server.map(ServerUse::from),
            generator: file.generator.map(GeneratorUse::from),
            machine: file.machine.map(MachineUse::from),
            connecting: file.connecting.into_iter().map(Second::from).collect(),
            series: file.series.into_iter().map(Second::from).collect(),
            limits: file.limits.into_iter().map(Into::into).collect(),
            standing: file.standing.into_iter().map(Into::into).collect(),
            stop: file.stop.map(Into::into),
            bottleneck: file.bottleneck.into_memory(),
            caveats: told(file.marks, file.caveats),
        }
    }
}

impl FileStep {
    /// The step of a run of `scenario`, with what was lost.
    pub(super) fn of(scenario: Scenario, step: &Step) -> Self {
        // Derived figures are written for other programs, and made anew when the file is read.
        let losses = conclusion::failings(scenario, step);
        FileStep { losses: losses.iter().map(FileLoss::from).collect(), ..FileStep::from(step) }
    }

    /// The step of a run of `scenario`.
    pub(super) fn into_memory(self, scenario: Scenario) -> Step {
        let mut step = Step::from(self);
        for outcome in step.limits.iter_mut().chain(&mut step.standing).chain(&mut step.stop) {
            outcome.of.settle(scenario);
        }
        step
    }
}

impl FileIntervals {
    fn of(step: &Step) -> Option<Self> {
        let of = |q, of_second: fn(&Second) -> Option<u64>| {
            let interval = step.interval_ns(q, of_second)?;
            Some([ms_from_ns(interval.low), ms_from_ns(interval.high)])
        };
        Some(FileIntervals {
            p50_ms: of(0.5, |second| second.p50_ns)?,
            p95_ms: of(0.95, |second| second.p95_ns)?,
            p99_ms: of(0.99, |second| second.p99_ns)?,
        })
    }
}
