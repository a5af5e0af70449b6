//! The caveats of a run, as the end of a report says them: what WHY has said stands there once.

use super::Conclusion;
use crate::finding::quantity::{Ns, Percent};
use crate::finding::{Cause, Caveat, RunCaveat};
use crate::run::Run;

/// In the place of a caveat that would repeat WHY.
pub(super) const UPPER_BOUNDS: &str = "latencies are upper bounds, by as much as WHY says";

impl Conclusion {
    /// The sentences of its run's caveats, in their order.
    pub fn caveats(&self, run: &Run) -> Vec<String> {
        let said = self.cause().and_then(|found| of_cause(&found.cause));
        let repeated = |caveat: &RunCaveat| said.filter(|_| numbers(caveat) == said);
        let told = run.verdict.caveats.iter().filter_map(|caveat| match repeated(caveat) {
            None => Some(caveat.to_string()),
            Some(Numbers::Delay(..)) => Some(UPPER_BOUNDS.to_owned()),
            // Whatever this means for the server or for a latency, another caveat says.
            Some(Numbers::Others(_)) => None,
        });
        told.collect()
    }
}

/// The numbers that a caveat and a cause may share.
#[derive(Clone, Copy, PartialEq)]
enum Numbers {
    /// The part of a latency that is no server's, and the latency.
    Delay(Ns, Ns),
    /// CPU of other programs.
    Others(Percent),
}

/// The numbers of a caveat that has the same at all of its steps.
fn numbers(caveat: &RunCaveat) -> Option<Numbers> {
    let [low, high] = [&caveat.low, &caveat.high].map(|caveat| match *caveat {
        Caveat::Contention { lag, latency, .. } | Caveat::GeneratorLag { lag, latency, .. } => {
            Some(Numbers::Delay(lag, latency))
        }
        Caveat::Others { others, .. } => Some(Numbers::Others(others)),
        _ => None,
    });
    low.filter(|_| low == high)
}

fn of_cause(cause: &Cause) -> Option<Numbers> {
    match *cause {
        Cause::MachineLate { lag, latency, .. }
        | Cause::MachineLateBoth { lag, latency, .. }
        | Cause::GeneratorBusy { lag, latency, .. }
        | Cause::GeneratorLate { lag, latency, .. } => Some(Numbers::Delay(lag, latency)),
        Cause::MachineFull { others: Some(others), .. } | Cause::MachineCrowded { others, .. } => {
            Some(Numbers::Others(others))
        }
        _ => None,
    }
}
