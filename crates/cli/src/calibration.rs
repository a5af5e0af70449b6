//! The ceilings of the generator on this machine, as `throng calibrate` found and kept it.
//!
//! One file for each user, `$XDG_DATA_HOME/throng/calibration.json` (XDG Base Directory Specification). It
//! holds for the machine and the program that it was measured with; on others it is passed over.

use std::fs;
use std::io;
use std::path::PathBuf;

use load::{Load, Plan, Workload};
use net::files::{self, Readers};
use net::machine::Machine;
use results::Step;
use serde::{Deserialize, Serialize};

use crate::exit::Failure;

/// The dialect whose messages are requests.
pub(crate) const HTTP: &str = "http";
/// A file of another form is passed over.
const SCHEMA: u32 = 1;

/// The ceilings, and what they hold for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Calibration {
    schema: u32,
    /// When, in UTC.
    pub(crate) measured: String,
    pub(crate) fingerprint: Fingerprint,
    /// Worker threads, each on a CPU of its own.
    pub(crate) workers: u32,
    pub(crate) connects: Ceiling,
    pub(crate) echoes: Ceiling,
    pub(crate) copies: Ceiling,
    pub(crate) requests: Ceiling,
}

/// Kinds of work, each with its ceiling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    Connects,
    Echoes,
    Copies,
    Requests,
}

impl Work {
    /// The work of a plan that exchanges messages.
    pub(crate) fn of(plan: &Plan) -> Self {
        match plan.workload {
            Workload::Echo if plan.client_spec.dialect.facts().asks => Work::Requests,
            Workload::Echo => Work::Echoes,
            Workload::Broadcast => Work::Copies,
        }
    }

    /// The work under a load, which may exchange no messages.
    pub(crate) fn under(self, load: Load) -> Self {
        match load {
            Load::Hold { .. } => Work::Connects,
            Load::Open { .. } | Load::Closed { .. } | Load::Storm(_) => self,
        }
    }

    /// The name that users read.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Work::Connects => "connects",
            Work::Echoes => "echoes",
            Work::Copies => "copies",
            Work::Requests => "requests",
        }
    }

    /// The amount of this work that a step did each second.
    pub(crate) fn per_s(self, step: &Step) -> Option<f64> {
        match self {
            Work::Connects => step.rates.connects_per_s,
            Work::Echoes | Work::Requests => step.rates.achieved_per_s,
            Work::Copies => step.rates.received_per_s,
        }
    }
}

/// Conditions that a ceiling depends on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Fingerprint {
    throng: String,
    /// Without optimisation everything is many times slower.
    optimised: bool,
    cpu: Option<String>,
    cores: usize,
    kernel: String,
}

/// The highest rate of some work that was reached.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Ceiling {
    pub(crate) per_s: f64,
    /// True if the generator had CPU left: its ceiling is higher.
    pub(crate) at_least: bool,
}

impl Fingerprint {
    /// Reads the identity of this program on this machine.
    pub(crate) fn read() -> Self {
        let machine = Machine::read();
        Self {
            throng: env!("CARGO_PKG_VERSION").into(),
            optimised: !cfg!(debug_assertions),
            cpu: machine.cpu_model,
            cores: machine.cores,
            kernel: machine.kernel,
        }
    }
}

impl Calibration {
    /// The ceilings found now, with this many workers.
    pub(crate) fn new(workers: u32, [connects, echoes, copies, requests]: [Ceiling; 4]) -> Self {
        let (measured, fingerprint) = (jiff::Timestamp::now().to_string(), Fingerprint::read());
        Self { schema: SCHEMA, measured, fingerprint, workers, connects, echoes, copies, requests }
    }

    /// Loads the ceilings that were kept, if they hold here. A file that cannot be read is as good as none.
    pub(crate) fn load() -> Option<Self> {
        let kept: Self = serde_json::from_str(&fs::read_to_string(path()?).ok()?).ok()?;
        (kept.schema == SCHEMA && kept.workers > 0 && kept.fingerprint == Fingerprint::read()).then_some(kept)
    }

    /// Keeps it, and says where.
    pub(crate) fn save(&self) -> Result<PathBuf, Failure> {
        let path = path().ok_or_else(|| {
            Failure::could_not("keep_calibration", "keep it", "neither XDG_DATA_HOME nor HOME is set")
        })?;
        let text = serde_json::to_string_pretty(self).expect("plain data") + "\n";
        let dir = path.parent().map_or(Ok(()), net::private::make_dir);
        let written: io::Result<()> = dir.and_then(|()| files::replace(&path, &text, Readers::Owner));
        written.map_err(|error| Failure::could_not("write", format!("write {}", path.display()), error))?;
        Ok(path)
    }

    /// Notes in a step how much of the ceiling for its kind of work it used (METHODOLOGY "Ceiling").
    pub(crate) fn note(&self, work: Work, step: &mut Step) {
        let ceiling = match work {
            Work::Connects => &self.connects,
            Work::Echoes => &self.echoes,
            Work::Copies => &self.copies,
            Work::Requests => &self.requests,
        };
        // In proportion: each worker has a CPU and clients of its own, and shares nothing with the others.
        let per_s = ceiling.per_s * f64::from(step.workers) / f64::from(self.workers);
        let Some(done) = work.per_s(step).filter(|_| per_s > 0.0) else { return };
        let Some(generator) = &mut step.generator else { return };
        generator.ceiling_per_s = Some(per_s);
        generator.ceiling_percent = Some(100.0 * done / per_s);
        generator.ceiling_at_least = Some(ceiling.at_least);
    }
}

fn path() -> Option<PathBuf> {
    Some(store::data_dir()?.join("calibration.json"))
}

#[cfg(test)]
mod tests {
    use results::{GeneratorUse, Rates};

    use super::*;

    #[test]
    fn a_share_is_of_the_workers_that_ran() {
        let ceiling = |per_s| Ceiling { per_s, at_least: false };
        let calibration = Calibration::new(2, [10_000.0, 200_000.0, 1e6, 50_000.0].map(ceiling));
        let rates = Rates {
            achieved_per_s: Some(100_000.0),
            received_per_s: Some(500_000.0),
            connects_per_s: Some(2_000.0),
            ..Rates::default()
        };
        let mut step =
            Step { workers: 4, rates, generator: Some(GeneratorUse::default()), ..Step::default() };
        let hold = Load::Hold { duration_ns: 1 };
        for (work, per_s, percent) in [
            (Work::Echoes, 400_000.0, 25.0),
            (Work::Copies, 2e6, 25.0),
            (Work::Requests, 100_000.0, 100.0),
            (Work::Copies.under(hold), 20_000.0, 10.0),
        ] {
            calibration.note(work, &mut step);
            let generator = step.generator.as_ref().unwrap();
            assert_eq!(generator.ceiling_per_s, Some(per_s));
            assert_eq!(generator.ceiling_percent, Some(percent));
        }
    }
}
