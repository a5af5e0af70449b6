//! A step in the file.

use std::collections::BTreeMap;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use stats::errors::ErrorKind;
use stats::{Counts, Errors, Histogram};

use super::figure;
use super::judgement::{FileBottleneck, FileLimit};
use super::mirror::{mirror, ms_from_ns, optional_ms, seconds};
use super::resources::{FileGenerator, FileMachine, FileServer};
use crate::limit::Limit;
use crate::resources::{GeneratorUse, MachineUse, ServerUse};
use crate::standing;
use crate::step::{Figures, FleetAgent, HandshakeParts, Rates, Second, Step, Warmup};

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

mirror!(FileRates of Rates {
    ; numbers
    asked_per_s,
    achieved_per_s,
    sent_per_s,
    received_per_s,
    connects_per_s,
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

/// `24:3 25:17`: on one line, for there is one a second.
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

/// Counts and errors. Those of messages are left out where none was exchanged.
#[derive(Debug, Default, Serialize, Deserialize)]
struct FileCounts {
    #[serde(flatten)]
    messages: Option<FileMessages>,
    #[serde(default, skip_serializing_if = "is_zero")]
    waited: u64,
    connects: u64,
    connected: u64,
    connect_timeouts: u64,
    connect_failures: u64,
    connecting: u64,
    disconnects: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    left: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    not_back: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    slow: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    slow_received: u64,
    errors: BTreeMap<String, FileErrorKind>,
}

/// For counts of what most steps do not have.
fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[derive(Debug, Serialize, Deserialize)]
struct FileMessages {
    sent: u64,
    expected: u64,
    received: u64,
    missing: u64,
    in_flight: u64,
    late: u64,
    duplicate: u64,
    reordered: u64,
    unexpected: u64,
    corrupt: u64,
}

mirror!(FileErrorKind of ErrorKind {
    count: u64,
    #[serde(rename = "first_s", with = "seconds")]
    first_ns: u64,
    #[serde(rename = "last_s", with = "seconds")]
    last_ns: u64,
    example: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    local: bool,
});

mirror!(FileParts of HandshakeParts {
    ; figures
    tcp,
    tls,
    upgrade,
    ready,
});

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
    #[serde(default, with = "figure", skip_serializing_if = "Histogram::is_empty")]
    handshake: Histogram,
    #[serde(skip_serializing_if = "Option::is_none")]
    handshake_parts: Option<FileParts>,
    #[serde(default, with = "figure", skip_serializing_if = "Histogram::is_empty")]
    rtt: Histogram,
    #[serde(default, with = "figure", skip_serializing_if = "Histogram::is_empty")]
    service: Histogram,
    #[serde(default, with = "figure", skip_serializing_if = "Histogram::is_empty")]
    delivery: Histogram,
    #[serde(default, with = "figure", skip_serializing_if = "Histogram::is_empty")]
    completion: Histogram,
    #[serde(default, with = "figure", skip_serializing_if = "Histogram::is_empty")]
    send_lag: Histogram,
    #[serde(default, with = "figure", skip_serializing_if = "Histogram::is_empty")]
    recovery: Histogram,
    counts: FileCounts,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    statuses: BTreeMap<u16, u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    intervals: Option<FileIntervals>,
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<FileServer>,
    #[serde(skip_serializing_if = "Option::is_none")]
    generator: Option<FileGenerator>,
    #[serde(skip_serializing_if = "Option::is_none")]
    machine: Option<FileMachine>,
    limits: Vec<FileLimit>,
    /// Files from before there were standing limits have none; [`FileStep::into_memory`] makes them.
    standing: Option<Vec<FileLimit>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stop: Option<FileLimit>,
    #[serde(flatten)]
    bottleneck: FileBottleneck,
    marks: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    connecting: Vec<FileSecond>,
    series: Vec<FileSecond>,
}

impl From<&Step> for FileStep {
    fn from(step: &Step) -> Self {
        let Figures { handshake, handshake_parts, rtt, service, delivery, completion, send_lag, recovery } =
            step.figures.clone();
        FileStep {
            clients: step.clients,
            usable: step.usable,
            reached: step.reached,
            agents: step.agents,
            workers: step.workers,
            fleet: step.fleet.iter().map(FileFleetAgent::from).collect(),
            start_ns: step.start_ns,
            duration_ns: step.duration_ns,
            warmup: step.warmup.as_ref().map(FileWarmup::from),
            rates: FileRates::from(&step.rates),
            handshake,
            handshake_parts: (handshake_parts != HandshakeParts::default())
                .then(|| (&handshake_parts).into()),
            rtt,
            service,
            delivery,
            completion,
            send_lag,
            recovery,
            counts: FileCounts::of(&step.counts, &step.errors),
            statuses: step.statuses.clone(),
            intervals: FileIntervals::of(step),
            server: step.server.as_ref().map(FileServer::from),
            generator: step.generator.as_ref().map(FileGenerator::from),
            machine: step.machine.as_ref().map(FileMachine::from),
            limits: step.limits.iter().map(FileLimit::from).collect(),
            standing: Some(step.standing.iter().map(FileLimit::from).collect()),
            stop: step.stop.as_ref().map(FileLimit::from),
            bottleneck: FileBottleneck::of(step.bottleneck.as_ref()),
            marks: step.marks.clone(),
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
            agents: file.agents,
            workers: file.workers,
            fleet: file.fleet.into_iter().map(FleetAgent::from).collect(),
            start_ns: file.start_ns,
            duration_ns: file.duration_ns,
            warmup: file.warmup.map(Warmup::from),
            rates: Rates::from(file.rates),
            figures: Figures {
                handshake: file.handshake,
                handshake_parts: file.handshake_parts.map(HandshakeParts::from).unwrap_or_default(),
                rtt: file.rtt,
                service: file.service,
                delivery: file.delivery,
                completion: file.completion,
                send_lag: file.send_lag,
                recovery: file.recovery,
            },
            counts,
            errors,
            statuses: file.statuses,
            server: file.server.map(ServerUse::from),
            generator: file.generator.map(GeneratorUse::from),
            machine: file.machine.map(MachineUse::from),
            connecting: file.connecting.into_iter().map(Second::from).collect(),
            series: file.series.into_iter().map(Second::from).collect(),
            limits: file.limits.into_iter().map(Into::into).collect(),
            standing: file.standing.into_iter().flatten().map(Into::into).collect(),
            stop: file.stop.map(Into::into),
            bottleneck: file.bottleneck.into_memory(),
            marks: file.marks,
        }
    }
}

impl FileStep {
    /// The step of a run of `scenario`.
    pub(super) fn into_memory(self, scenario: &str) -> Step {
        let has_standing = self.standing.is_some();
        let mut step = Step::from(self);
        if !has_standing {
            let asked: Vec<Limit> =
                step.limits.iter().filter_map(|asked| Limit::parse(&asked.limit, scenario).ok()).collect();
            step.standing = standing::check(&standing::limits(scenario, &asked, 0.0), &step);
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

impl FileCounts {
    fn of(counts: &Counts, errors: &Errors) -> Self {
        let &Counts { sent, expected, received, missing, in_flight, late, duplicate, reordered, .. } = counts;
        let &Counts { unexpected, corrupt, connects, connected, connect_timeouts, connect_failures, .. } =
            counts;
        let exchanged = sent > 0 || expected > 0 || received > 0;
        let messages = exchanged.then_some(FileMessages {
            sent,
            expected,
            received,
            missing,
            in_flight,
            late,
            duplicate,
            reordered,
            unexpected,
            corrupt,
        });
        let errors = errors.iter().map(|(name, kind)| (name.into(), FileErrorKind::from(kind))).collect();
        FileCounts {
            messages,
            waited: counts.waited,
            connects,
            connected,
            connect_timeouts,
            connect_failures,
            connecting: counts.connecting,
            disconnects: counts.disconnects,
            left: counts.left,
            not_back: counts.not_back,
            slow: counts.slow,
            slow_received: counts.slow_received,
            errors,
        }
    }

    fn into_memory(self) -> (Counts, Errors) {
        let mut counts = Counts {
            waited: self.waited,
            connects: self.connects,
            connected: self.connected,
            connect_timeouts: self.connect_timeouts,
            connect_failures: self.connect_failures,
            connecting: self.connecting,
            disconnects: self.disconnects,
            left: self.left,
            not_back: self.not_back,
            slow: self.slow,
            slow_received: self.slow_received,
            ..Counts::default()
        };
        if let Some(messages) = self.messages {
            counts.sent = messages.sent;
            counts.expected = messages.expected;
            counts.received = messages.received;
            counts.missing = messages.missing;
            counts.in_flight = messages.in_flight;
            counts.late = messages.late;
            counts.duplicate = messages.duplicate;
            counts.reordered = messages.reordered;
            counts.unexpected = messages.unexpected;
            counts.corrupt = messages.corrupt;
        }
        let mut errors = Errors::default();
        for (name, kind) in self.errors {
            errors.add_kind(&name, kind.into());
        }
        (counts, errors)
    }
}
