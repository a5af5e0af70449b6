//! The caveats of a run, as the end of a report says them: what WHY has said stands there once.

use super::conclude;
use crate::finding::quantity::Ns;
use crate::finding::{Cause, Caveat, RunCaveat};
use crate::run::Run;

/// In the place of a caveat that would repeat WHY.
const UPPER_BOUNDS: &str = "latencies are upper bounds, by as much as WHY says";

/// The sentences of a run's caveats, in their order.
pub fn caveats(run: &Run) -> Vec<String> {
    let conclusion = conclude(run);
    let found = conclusion.cause();
    let is_said = |caveat: &RunCaveat| found.is_some_and(|found| delay_of(&found.cause) == delay(caveat));
    run.verdict
        .trust
        .iter()
        .map(|caveat| match delay(caveat) {
            Some(_) if is_said(caveat) => UPPER_BOUNDS.to_owned(),
            _ => caveat.to_string(),
        })
        .collect()
}

/// The part of a latency that is no server's, and the latency.
type Delay = (Ns, Ns);

/// The delay that a caveat is about, if it is the same at all of its steps.
fn delay(caveat: &RunCaveat) -> Option<Delay> {
    let delay = |caveat: &Caveat| match *caveat {
        Caveat::Contention { lag, latency, .. } | Caveat::GeneratorLag { lag, latency, .. } => {
            Some((lag, latency))
        }
        _ => None,
    };
    delay(&caveat.low).filter(|low| delay(&caveat.high).as_ref() == Some(low))
}

/// The delay that a cause names.
fn delay_of(cause: &Cause) -> Option<Delay> {
    match *cause {
        Cause::MachineLate { lag, latency, .. }
        | Cause::MachineLateBoth { lag, latency, .. }
        | Cause::GeneratorBusy { lag, latency, .. }
        | Cause::GeneratorLate { lag, latency, .. } => Some((lag, latency)),
        _ => None,
    }
}
