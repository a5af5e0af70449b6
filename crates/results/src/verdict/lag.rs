//! What of a latency is the generator's own: how late it was, and whose fault that was.
//!
//! Lag makes a latency an upper bound. It holds a step back only where it is most of the latency, or half of that and the
//! server waited as well; below that it is said as what it is, in a mark.

use stats::{Histogram, Timed};

use super::machine;
use super::signs::{IDLE_CPU_PERCENT_MAX, server_left_out, waits_for_slots, worker_cpu};
use crate::finding::quantity::{Ns, Percent, Programs, Quantile};
use crate::finding::{Cause, Caveat};
use crate::step::Step;

/// Where lag and latency are compared, the deepest first that the samples of both show: a tail of a few samples is a
/// single hiccup, and accuses nobody.
const QUANTILES: [f64; 3] = [0.99, 0.95, 0.9];
/// Lag below which it never matters.
const LAG_NS_MIN: u64 = 1_000_000;
/// Lag, as a share of the latency, above which it is said.
const SHARE_SAID: f64 = 0.1;
/// Lag, as a share of the latency, above which it is what was measured.
const SHARE_DECIDES: f64 = 0.5;
/// The same where the server was kept waiting as the generator was: as much again is its part.
const SHARE_OF_BOTH_DECIDES: f64 = SHARE_DECIDES / 2.0;
/// CPU of a worker below which its own work delayed less than a hundredth of the events.
const OWN_CPU_PERCENT_MIN: f64 = 10.0;
/// A worker that waits for a CPU for more than this share of the time it has one is kept from it by others.
const WAITING_SHARE_MAX: f64 = 0.5;
/// CPU that a hypervisor took away, above which it is named.
const STEAL_PERCENT_MIN: f64 = 2.0;

/// How late the generator was, where that shows in what it measured.
pub(super) struct Lag {
    lag_ns: u64,
    latency_ns: u64,
    figure: Timed,
    quantile: f64,
    /// The longest that is waited for: of a broadcast, that is its copies.
    longest_ns: u64,
}

impl Lag {
    /// Of events that waited to be handled, or of messages that waited to be sent: whichever is more of the latency.
    pub(super) fn of(step: &Step) -> Option<Lag> {
        let figure = if step.figures.rtt.is_empty() { Timed::Handshake } else { Timed::Rtt };
        let loop_lag = step.generator.as_ref().map(|generator| &generator.loop_lag);
        let send_lag = (!waits_for_slots(step)).then_some(&step.figures.send_lag);
        let lags = loop_lag.into_iter().chain(send_lag);
        let lags = lags.map(|lag| Lag::between(lag, figure, step));
        let lag = lags.max_by(|a, b| a.share_of(a.latency_ns).total_cmp(&b.share_of(b.latency_ns)))?;
        (lag.lag_ns > LAG_NS_MIN && lag.share_of(lag.latency_ns) > SHARE_SAID).then_some(lag)
    }

    fn between(lag: &Histogram, figure: Timed, step: &Step) -> Lag {
        let latency = step.figures.get(figure);
        let is_shown = |&quantile: &f64| !latency.is_marked(quantile) && !lag.is_marked(quantile);
        let quantile = QUANTILES.into_iter().find(is_shown).unwrap_or(0.5);
        let latency_ns = latency.quantile_ns(quantile);
        let longest_ns = latency_ns.max(step.figures.delivery.quantile_ns(quantile));
        Lag { lag_ns: lag.quantile_ns(quantile), latency_ns, figure, quantile, longest_ns }
    }

    fn share_of(&self, latency_ns: u64) -> f64 {
        self.lag_ns as f64 / latency_ns.max(1) as f64
    }

    /// Whether it is most of what was measured.
    pub(super) fn decides(&self) -> bool {
        self.share_of(self.longest_ns) > SHARE_DECIDES
    }

    /// What it is a part of: the metric's latency.
    fn numbers(&self) -> (Ns, Ns, String, Quantile) {
        let lag_ns = self.lag_ns.min(self.latency_ns);
        (Ns(lag_ns), Ns(self.latency_ns), self.figure.to_string(), Quantile(self.quantile))
    }
}

/// Others had the CPU, and that is most of the latency, as far as it can be told.
pub(super) fn of_others(step: &Step) -> Option<Cause> {
    let lag = Lag::of(step)?;
    let Others { stolen, programs } = others(step)?;
    let (share, same_host) = (lag.share_of(lag.longest_ns), step.machine.as_ref()?.same_host == Some(true));
    // What the server left out, it would have left out all the same.
    let is_both = same_host && stolen.is_some() && !server_left_out(step) && share > SHARE_OF_BOTH_DECIDES;
    let decides = lag.decides();
    let (lag, latency, metric, quantile) = lag.numbers();
    match (decides, is_both) {
        (true, _) => Some(Cause::MachineLate { stolen, programs, lag, latency, metric, quantile }),
        (false, true) => Some(Cause::MachineLateBoth { stolen, programs, lag, latency, metric, quantile }),
        (false, false) => None,
    }
}

/// Its own work is most of the latency.
pub(super) fn of_its_own(step: &Step) -> Option<Cause> {
    let (lag, latency, metric, quantile) = Lag::of(step).filter(Lag::decides)?.numbers();
    Some(match is_own(step) {
        true => Cause::GeneratorBusy { lag, latency, metric, quantile },
        false => Cause::GeneratorLate { lag, latency, metric, quantile },
    })
}

/// What lag makes of the step's latency: an upper bound.
pub(super) fn caveat(step: &Step) -> Option<Caveat> {
    let (lag, latency, metric, quantile) = Lag::of(step)?.numbers();
    Some(match others(step) {
        Some(Others { stolen, programs }) => {
            Caveat::Contention { latency, metric, quantile, lag, stolen, programs }
        }
        None => Caveat::GeneratorLag { latency, metric, quantile, lag },
    })
}

/// Whether [`caveat`] names others.
pub(super) fn names_others(step: &Step) -> bool {
    Lag::of(step).is_some() && others(step).is_some()
}

/// Who had the CPU that the generator waited for: a hypervisor's other machines, or these programs, if they are known.
struct Others {
    stolen: Option<Percent>,
    programs: Option<Programs>,
}

/// `None`: it was the generator's own work, or no other program is visible.
fn others(step: &Step) -> Option<Others> {
    let machine = step.machine.as_ref()?;
    if is_own(step) {
        return None;
    }
    if let Some(stolen) = stolen_percent(step) {
        return Some(Others { stolen: Some(Percent(stolen)), programs: None });
    }
    let is_visible = machine::others_percent(step).is_some() || waited(step);
    is_visible.then(|| Others { stolen: None, programs: machine::programs(machine) })
}

/// CPU that a hypervisor gave to other machines, when it is enough to be named.
fn stolen_percent(step: &Step) -> Option<f64> {
    step.machine.as_ref()?.steal_percent.filter(|&steal| steal > STEAL_PERCENT_MIN)
}

/// Whether the generator's own work can have made it late: it had a worker that worked, and was not kept from it. What a
/// hypervisor takes from a worker shows nowhere in its own times: one with much time to spare was late because of that.
fn is_own(step: &Step) -> bool {
    let cpu = worker_cpu(step).unwrap_or(0.0);
    let is_robbed = cpu < IDLE_CPU_PERCENT_MAX && stolen_percent(step).is_some();
    cpu >= OWN_CPU_PERCENT_MIN && !is_robbed && !waited(step) && machine::others_percent(step).is_none()
}

/// Whether a worker was ready to run for long and had no CPU.
fn waited(step: &Step) -> bool {
    let Some(generator) = &step.generator else { return false };
    let waiting = generator.worker_waiting_percent_max.or(generator.waiting_percent);
    let cpu = generator.worker_cpu_percent_max.unwrap_or(0.0);
    waiting.is_some_and(|waiting| waiting > WAITING_SHARE_MAX * cpu)
}
