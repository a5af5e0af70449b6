//! The bottleneck of a step: the server, the generator, the machine, the network, nothing, or something unknown.
//!
//! One table of rules, read from the top; the first that holds decides (METHODOLOGY "Verdict"). The end of
//! the server's process comes first, because nothing else explains it; then what the generator ran out of,
//! because the server never saw that load. A server that is gone, or has no CPU left, comes before whatever
//! made the generator late meanwhile: it can do no more. A generator at its limit comes before the softer
//! signs of a server's: in doubt, the figures are not the server's.

use crate::finding::Cause;
use crate::finding::quantity::{Ns, Percent};
use crate::judgement::Found;
use crate::step::Step;

mod app_file;
mod caveats;
mod conclude;
mod failed;
mod gathered;
mod generator;
mod lag;
mod machine;
mod owners;
mod pool;
mod server;
mod signs;
mod stalls;
#[cfg(test)]
mod tests;
mod undecided;

pub use caveats::caveats;
pub(crate) use conclude::folded;
pub(crate) use conclude::tries;
pub(crate) use conclude::whole;
pub use conclude::{conclude, held_back, is_refuted, lightest_broken, limits};
pub use generator::lost_agents;
pub(crate) use generator::without_agents;
pub(crate) use lag::counts_from_due;
pub use machine::others_percent;
pub use owners::{Owner, Owners, slow_time};
pub use signs::WORKER_CPU_PERCENT_MAX;
pub(crate) use stalls::{Stalls, stalls};
pub use undecided::weigh_broken;

/// A rule gives its evidence, if it holds.
enum Rule {
    Of(fn(&Step) -> Option<Cause>),
    /// Beside the step before, if there was one.
    Beside(fn(&Step, Option<&Step>) -> Option<Cause>),
}

impl Rule {
    fn evidence(&self, step: &Step, previous: Option<&Step>) -> Option<Cause> {
        match self {
            Rule::Of(rule) => rule(step),
            Rule::Beside(rule) => rule(step, previous),
        }
    }
}

const RULES: [Rule; 24] = [
    Rule::Of(server::ended),
    Rule::Of(app_file::missed),
    Rule::Of(generator::ran_out),
    Rule::Of(server::gone),
    Rule::Of(server::saturated),
    Rule::Of(failed::failed),
    Rule::Of(generator::without_agents),
    Rule::Of(generator::sent_nothing),
    Rule::Of(machine::full),
    Rule::Of(machine::starved),
    Rule::Of(generator::exhausted),
    Rule::Of(pool::short_of_connections),
    Rule::Of(lag::of_others),
    Rule::Of(lag::of_its_own),
    Rule::Of(machine::network),
    Rule::Of(generator::behind),
    Rule::Of(machine::crowded),
    Rule::Of(shared),
    Rule::Beside(server::fell_behind),
    Rule::Of(server::late_pushes),
    Rule::Of(server::waits),
    Rule::Of(server::short_queue),
    Rule::Of(server::far),
    Rule::Of(stalls::stalled),
];

/// Finds the bottleneck of a step; `previous` is the step before it: only a lighter
/// one says anything.
pub fn bottleneck(step: &Step, previous: Option<&Step>) -> Found {
    let cause = RULES.iter().find_map(|rule| rule.evidence(step, previous));
    cause.unwrap_or_else(|| nobody(step)).into()
}

/// A limit broke, and neither the server nor the generator's side has most of the slow messages' time: what
/// is lacking of a CPU counts for the latter, since the server may have kept the limit with it. Where each
/// broken limit would have been kept without that part, it is no server's fault either, whoever has most of
/// the time: the sentences would say that it is not known whether the server failed, and then blame it.
fn shared(step: &Step) -> Option<Cause> {
    let (latency_ns, owners) = slow_time(step).filter(|_| !step.has_passed() && step.counts.missing == 0)?;
    let not_the_servers = owners.percent(Owner::Generator) + owners.percent(Owner::Contention);
    let is_halved =
        not_the_servers > 100.0 - signs::OWNED_PERCENT_MIN && not_the_servers < signs::OWNED_PERCENT_MIN;
    let is_undecided = step.broken().all(|limit| limit.is_undecided());
    (is_halved || is_undecided).then(|| Cause::Shared { latency: Ns(latency_ns), owners: owners.told(step) })
}

/// Nothing gave out, as far as it can be seen.
fn nobody(step: &Step) -> Cause {
    // Before all else: nothing can be said to be idle that was not seen.
    if step.is_brief() {
        return Cause::TooBrief { duration: Ns(step.duration_ns) };
    }
    let generator = step.generator.as_ref();
    let worker = generator.and_then(|generator| generator.worker_cpu_percent_max).map(Percent);
    let used = server::cpu_share(step);
    match step.server {
        Some(_) => Cause::Nothing {
            server: used.map(|(share, _)| Percent(share)),
            cores: used.map(|(_, cores)| cores),
            worker,
        },
        None => Cause::ServerUnseen { worker },
    }
}
