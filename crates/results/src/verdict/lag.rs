//! What of a latency is the generator's own: how late it was, and whose fault that was.
//!
//! Lag makes a latency an upper bound. It holds a step back only where it is most of the latency, or half of that and the
//! server waited as well; below that it is said as what it is, in a mark.

use stats::{Histogram, Timed};

use super::machine;
use super::signs::{IDLE_CPU_PERCENT_MAX, percent, server_left_out, worker_cpu};
use crate::format::duration;
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
        let lags = loop_lag.into_iter().chain([&step.figures.send_lag]);
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

    /// `the rtt p99 of 8.80ms`.
    fn whole(&self) -> String {
        format!("the {} p{} of {}", self.figure, percent(self.quantile), duration(self.latency_ns))
    }

    /// `up to 1.20ms of the rtt p99 of 8.80ms`.
    fn text(&self) -> String {
        format!("up to {} of {}", duration(self.lag_ns.min(self.latency_ns)), self.whole())
    }
}

/// Others had the CPU, and that is most of the latency, as far as it can be told.
pub(super) fn of_others(step: &Step) -> Option<String> {
    let lag = Lag::of(step)?;
    let who = others(step)?;
    if lag.decides() {
        return Some(format!("{who}: {} is waiting for it", lag.text()));
    }
    let same_host = step.machine.as_ref()?.same_host == Some(true);
    // What the server left out, it would have left out all the same.
    let is_both = same_host && stolen_percent(step).is_some() && !server_left_out(step);
    (is_both && lag.share_of(lag.longest_ns) > SHARE_OF_BOTH_DECIDES).then(|| {
        format!(
            "{who}: {} is the generator's waiting for it, and the server will have waited as long",
            lag.text()
        )
    })
}

/// Its own work is most of the latency.
pub(super) fn of_its_own(step: &Step) -> Option<String> {
    let lag = Lag::of(step).filter(Lag::decides)?;
    let why =
        if is_own(step) { "it was busy with other messages" } else { "it was late for no visible reason" };
    Some(format!("{why}: {} is its own", lag.text()))
}

/// What lag makes of the step's latency: an upper bound.
pub(super) fn mark(step: &Step) -> Option<String> {
    let lag = Lag::of(step)?;
    let whose = match others(step) {
        Some(who) => format!("waiting for a CPU ({who})"),
        None => "the generator's own".into(),
    };
    let (of, ns) = (lag.whole(), lag.lag_ns.min(lag.latency_ns));
    Some(format!("latencies are upper bounds: of {of}, {} may be {whose}", duration(ns)))
}

/// Whether [`mark`] names others.
pub(super) fn names_others(step: &Step) -> bool {
    Lag::of(step).is_some() && others(step).is_some()
}

/// Who had the CPU that the generator waited for; `None`: it was its own work, or no other program is visible.
fn others(step: &Step) -> Option<String> {
    let machine = step.machine.as_ref()?;
    if is_own(step) {
        return None;
    }
    if let Some(steal) = stolen_percent(step) {
        return Some(format!("the hypervisor gave {steal:.0}% of the CPU to other machines"));
    }
    if machine::others_percent(step).is_none() && !waited(step) {
        return None;
    }
    let programs = machine::programs(machine);
    Some(programs.map_or("others had the CPU".into(), |names| format!("other programs had the CPU, {names}")))
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
