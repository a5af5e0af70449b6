//! What held a step back: the server, the generator, the machine, the network, nothing, or something unknown.
//!
//! One table of rules, read from the top; the first that holds decides (METHODOLOGY "Verdict"). What the generator ran
//! out of comes first, because the server never saw that load. A server that is gone, or has no CPU left, comes before
//! whatever made the generator late meanwhile: it can do no more. A generator at its limit comes before the softer signs
//! of a server's: in doubt, the figures are not the server's.

use crate::format::duration;
use crate::judgement::{Bottleneck, Finding};
use crate::step::Step;

mod conclude;
mod doubts;
mod failed;
mod generator;
mod lag;
mod machine;
mod marks;
mod server;
mod signs;
#[cfg(test)]
mod tests;

pub(crate) use conclude::whole;
pub use conclude::{conclude, held_back, lightest_broken};
pub use generator::lost_agents;
pub use machine::others_percent;
pub use marks::marks;
pub use signs::WORKER_CPU_PERCENT_MAX;

type Rule = fn(&Step, Option<&Step>) -> Option<String>;

/// Each gives its evidence, if it holds. They see the step, and the one before it.
const RULES: [(Bottleneck, Rule); 18] = [
    (Bottleneck::Generator, |step, _| generator::ran_out(step)),
    (Bottleneck::Server, |step, _| server::gone(step)),
    (Bottleneck::Server, |step, _| server::saturated(step)),
    (Bottleneck::Server, |step, _| failed::failed(step)),
    (Bottleneck::Generator, |step, _| generator::lost_agents(step).map(|lost| format!("it lost {lost}"))),
    (Bottleneck::Machine, |step, _| machine::full(step)),
    (Bottleneck::Machine, |step, _| machine::starved(step)),
    (Bottleneck::Generator, |step, _| generator::exhausted(step)),
    (Bottleneck::Generator, |step, _| generator::short_of_connections(step)),
    (Bottleneck::Machine, |step, _| lag::of_others(step)),
    (Bottleneck::Generator, |step, _| lag::of_its_own(step)),
    (Bottleneck::Network, |step, _| machine::network(step)),
    (Bottleneck::Generator, |step, _| generator::behind(step)),
    (Bottleneck::Machine, |step, _| machine::crowded(step)),
    (Bottleneck::Server, server::fell_behind),
    (Bottleneck::Server, |step, _| server::waits(step)),
    (Bottleneck::Server, |step, _| server::has_short_queue(step)),
    (Bottleneck::Network, |step, _| server::is_far(step)),
];

/// Who held a step back, by what was used during it; `previous` is the step before it: only a lighter
/// one says anything.
pub fn bottleneck(step: &Step, previous: Option<&Step>) -> Finding {
    let found = RULES
        .into_iter()
        .find_map(|(bottleneck, rule)| Some(Finding { bottleneck, reason: rule(step, previous)? }));
    found.unwrap_or_else(|| nobody(step))
}

/// Nothing gave out, as far as it can be seen.
fn nobody(step: &Step) -> Finding {
    if step.is_brief() {
        let reason = format!(
            "the load took {}, too short to see who was at a limit: send more (--sample-size), or for a time (--duration)",
            duration(step.duration_ns)
        );
        return Finding { bottleneck: Bottleneck::Unknown, reason };
    }
    let server = server::cpu_share(step).map(|(share, cores)| format!("server CPU {share:.0}% of {cores}"));
    let generator = step.generator.as_ref();
    let worker = generator.and_then(|generator| generator.worker_cpu_percent_max);
    let worker = worker.map(|cpu| format!("busiest worker {cpu:.0}% of a core"));
    let used: Vec<String> = server.into_iter().chain(worker).collect();
    let used = if used.is_empty() { String::new() } else { format!(": {}", used.join(", ")) };
    match step.server {
        Some(_) => {
            Finding { bottleneck: Bottleneck::None, reason: format!("nothing reached its limit{used}") }
        }
        None => Finding {
            bottleneck: Bottleneck::Unknown,
            reason: format!("the server cannot be seen from here, and nothing here reached its limit{used}"),
        },
    }
}
