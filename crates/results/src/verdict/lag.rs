//! The generator's part of a latency: how late it was, and whose fault that was.
//!
//! For round trips, the account says it ([`Owners`]): what is lacking of a CPU at either end is lag, too.
//! Where nobody is answered, or clients only connect, it is how late events were handled.
//!
//! Lag makes a latency an upper bound. It holds a step back only where it is most of the latency, or half of
//! that and the server waited as well; below that it is said as what it is, in a caveat.

use stats::{Histogram, Timed};

use super::machine;
use super::owners::{Owner, Owners};
use super::signs::{IDLE_CPU_PERCENT_MAX, OWNED_PERCENT_MIN, server_left_out, waits_for_slots, worker_cpu};
use crate::finding::quantity::{Ns, Percent, Programs, Quantile};
use crate::finding::{Cause, Caveat};
use crate::step::Step;

/// Quantiles at which lag and latency are compared, the deepest first that the samples of both show: a tail
/// of a few samples is a single hiccup, and accuses nobody.
const QUANTILES: [f64; 3] = [0.99, 0.95, 0.9];
/// The number of slow messages that is more than a single hiccup.
const SLOW_MESSAGES_MIN: u64 = 10;
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
    /// The share of that above which it is what was measured.
    decisive_share: f64,
    /// By the account: whether a CPU was lacking for more of it than the generator worked on others.
    is_contention: Option<bool>,
}

impl Lag {
    /// The lag of events that waited to be handled, or of messages that waited to be sent, if the latency
    /// contains that: whichever is more of it.
    pub(super) fn of(step: &Step) -> Option<Lag> {
        let lag = Lag::by_account(step).or_else(|| Lag::by_histograms(step, step.main_timed()))?;
        (lag.lag_ns > LAG_NS_MIN && lag.share_of(lag.latency_ns) > SHARE_SAID).then_some(lag)
    }

    /// Adds up what of the slow messages' time belongs to the generator, and to whoever had the CPU that
    /// either end lacked; or of the time of all, where the slow ones are too few to be more than a hiccup.
    fn by_account(step: &Step) -> Option<Lag> {
        let spent = step.spent.as_ref()?;
        let is_shown = spent.tail.messages >= SLOW_MESSAGES_MIN;
        let (owners, quantile) = if is_shown {
            (Owners::of_tail(step)?, spent.tail_quantile)
        } else {
            (Owners::of_all(step)?, 0.5)
        };
        // The account is of this figure alone, and its shares are true of no other.
        let figure = step.figures.accounted();
        let latency_ns = step.figures.get(figure).quantile_ns(quantile);
        let (own, contended) = (owners.percent(Owner::Generator), owners.percent(Owner::Contention));
        Some(Lag {
            lag_ns: (latency_ns as f64 * (own + contended) / 100.0) as u64,
            latency_ns,
            figure,
            quantile,
            longest_ns: latency_ns.max(step.figures.delivery.quantile_ns(quantile)),
            decisive_share: OWNED_PERCENT_MIN / 100.0,
            is_contention: Some(contended > own),
        })
    }

    fn by_histograms(step: &Step, figure: Timed) -> Option<Lag> {
        let loop_lag = step.generator.as_ref().map(|generator| &generator.loop_lag);
        let contains_it = counts_from_due(figure) && !waits_for_slots(step);
        let send_lag = contains_it.then_some(&step.figures.send_lag);
        let lags = loop_lag.into_iter().chain(send_lag).filter(|lag| !lag.is_empty());
        // The two need not be of the same messages, and so are not added up.
        let lags = lags.map(|lag| Lag::between(lag, figure, step));
        lags.max_by(|a, b| a.share_of(a.latency_ns).total_cmp(&b.share_of(b.latency_ns)))
    }

    fn between(lag: &Histogram, figure: Timed, step: &Step) -> Lag {
        let latency = step.figures.get(figure);
        let is_shown = |&quantile: &f64| !latency.is_marked(quantile) && !lag.is_marked(quantile);
        let quantile = QUANTILES.into_iter().find(is_shown).unwrap_or(0.5);
        let latency_ns = latency.quantile_ns(quantile);
        let longest_ns = latency_ns.max(step.figures.delivery.quantile_ns(quantile));
        let lag_ns = lag.quantile_ns(quantile);
        // One read in 61 is sampled, and pushes have no account: in doubt, a limit that they broke is not the server's.
        let is_doubtful = matches!(figure, Timed::PushAge | Timed::PushGap) && !step.has_passed();
        let decisive_share = if is_doubtful { SHARE_SAID } else { SHARE_DECIDES };
        Lag { lag_ns, latency_ns, figure, quantile, longest_ns, decisive_share, is_contention: None }
    }

    fn share_of(&self, latency_ns: u64) -> f64 {
        self.lag_ns as f64 / latency_ns.max(1) as f64
    }

    /// Returns whether it is most of what was measured.
    pub(super) fn decides(&self) -> bool {
        self.share_of(self.longest_ns) > self.decisive_share
    }

    /// The numbers of a finding: lag, and the metric's latency.
    fn numbers(&self) -> (Ns, Ns, String, Quantile) {
        // The two quantiles need not be of the same messages, and a part is no more than the whole.
        let lag_ns = self.lag_ns.min(self.latency_ns);
        (Ns(lag_ns), Ns(self.latency_ns), self.figure.to_string(), Quantile(self.quantile))
    }

    /// Returns whether the generator's own work can have made it late: it had a worker that worked, and was
    /// not kept from it. What a hypervisor takes from a worker shows nowhere in its own times: one with much
    /// time to spare was late because of that.
    fn is_own(&self, step: &Step) -> bool {
        let cpu = worker_cpu(step).unwrap_or(0.0);
        let is_robbed = cpu < IDLE_CPU_PERCENT_MAX && stolen_percent(step).is_some();
        match self.is_contention {
            Some(is_contention) => !is_contention && !is_robbed,
            None => {
                let is_left_alone = !is_robbed && !waited(step) && machine::others_percent(step).is_none();
                cpu >= OWN_CPU_PERCENT_MIN && is_left_alone
            }
        }
    }
}

/// Returns whether a time counts from when a message was due, and so contains how late it was sent.
pub(crate) fn counts_from_due(figure: Timed) -> bool {
    let is_whole =
        matches!(figure, Timed::Rtt | Timed::First | Timed::FirstToken | Timed::Delivery | Timed::Completion);
    is_whole || figure.facts().rooms.is_some()
}

/// The share that is left without lag of anything timed but round trips; `None` if lag was not measured.
pub(super) fn share_without(step: &Step, figure: Timed) -> Option<f64> {
    let lag = Lag::by_histograms(step, figure)?;
    Some((1.0 - lag.share_of(lag.latency_ns)).max(0.0))
}

/// Others had the CPU, and that is most of the latency, as far as it can be told.
pub(super) fn of_others(step: &Step) -> Option<Cause> {
    let lag = Lag::of(step)?;
    let Others { stolen, programs } = others(step, &lag)?;
    let share = lag.share_of(lag.longest_ns);
    let same_host = step.machine.as_ref().is_some_and(|machine| machine.same_host == Some(true));
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
    let lag = Lag::of(step).filter(Lag::decides)?;
    let is_busy = lag.is_own(step) && worker_cpu(step).unwrap_or(0.0) >= OWN_CPU_PERCENT_MIN;
    let (lag, latency, metric, quantile) = lag.numbers();
    Some(match is_busy {
        true => Cause::GeneratorBusy { lag, latency, metric, quantile },
        false => Cause::GeneratorLate { lag, latency, metric, quantile },
    })
}

/// The caveat that the step's latency is an upper bound.
pub(super) fn caveat(step: &Step) -> Option<Caveat> {
    let lag = Lag::of(step)?;
    let others = others(step, &lag);
    let (lag, latency, metric, quantile) = lag.numbers();
    Some(match others {
        Some(Others { stolen, programs }) => {
            Caveat::Contention { latency, metric, quantile, lag, stolen, programs }
        }
        None => Caveat::GeneratorLag { latency, metric, quantile, lag },
    })
}

/// Returns whether [`caveat`] names others.
pub(super) fn names_others(step: &Step) -> bool {
    Lag::of(step).is_some_and(|lag| others(step, &lag).is_some())
}

/// Others that had the CPU that the generator waited for: a hypervisor's other machines, or these programs,
/// if they are known.
struct Others {
    stolen: Option<Percent>,
    programs: Option<Programs>,
}

/// `None`: it was the generator's own work, or no other program is visible.
fn others(step: &Step, lag: &Lag) -> Option<Others> {
    if lag.is_own(step) {
        return None;
    }
    // A fleet has several machines, of none of which all is known.
    let Some(machine) = step.machine.as_ref().filter(|_| step.fleet.is_empty()) else {
        return (lag.is_contention == Some(true)).then_some(Others { stolen: None, programs: None });
    };
    if let Some(stolen) = stolen_percent(step) {
        return Some(Others { stolen: Some(Percent(stolen)), programs: None });
    }
    let is_visible =
        lag.is_contention.unwrap_or_else(|| machine::others_percent(step).is_some() || waited(step));
    is_visible.then(|| Others { stolen: None, programs: machine::programs(machine) })
}

/// CPU that a hypervisor gave to other machines, when it is enough to be named, and more than programs had
/// that are seen.
fn stolen_percent(step: &Step) -> Option<f64> {
    let stolen = step.machine.as_ref()?.steal_percent.filter(|&steal| steal > STEAL_PERCENT_MIN)?;
    machine::others_percent(step).is_none_or(|others| others < stolen).then_some(stolen)
}

/// Returns whether a worker was ready to run for long and had no CPU.
fn waited(step: &Step) -> bool {
    let Some(generator) = &step.generator else { return false };
    let waiting = generator.worker_waiting_percent_max.or(generator.waiting_percent);
    let cpu = generator.worker_cpu_percent_max.unwrap_or(0.0);
    waiting.is_some_and(|waiting| waiting > WAITING_SHARE_MAX * cpu)
}
