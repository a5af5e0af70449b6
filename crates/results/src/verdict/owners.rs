//! Owners of the time of a step's round trips: the parts of [`TimeSpent`], each with its owner (METHODOLOGY "Account").

use std::fmt;

use stats::{Counts, Figures, LatencyParts, Timed};

use super::pool::needs_connections;
use crate::resources::ThreadUse;
use crate::spent::{TAIL_QUANTILE, TimeSpent};
use crate::step::Step;

/// Slow messages that are faster than this are slow for nobody, and a scheduler's turn is a part of each.
const TOLD_NS_MIN: u64 = 1_000_000;
/// A smaller share is not told in a line.
const TOLD_PERCENT_MIN: f64 = 5.0;
/// How many of the programs that had the CPU are named.
const TOLD_PROGRAMS_MAX: usize = 3;
/// How far a share may be from the truth: what `make owners` allows.
const ERROR_PERCENT: f64 = 15.0;
/// Share of the messages' time in which the server's threads waited for a CPU, from which on that is what slow ones
/// waited for. Less may have met messages that were waiting for a timer, or for another service.
const STARVED_SHARE_MIN: f64 = 0.3;
/// How many times as long as an acknowledgement a copy takes that waited for something else.
const LATER_COPIES_FACTOR_MIN: f64 = 4.0;
/// Share of its periods without quota from which on threads that are ready wait for that.
const THROTTLED_PERCENT_MIN: f64 = 10.0;

/// Declares [`Owner`] with its names.
macro_rules! owners {
    ($($(#[$doc:meta])* $owner:ident $key:literal $words:literal,)*) => {
        /// The owner of a part of the time.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Owner {
            $($(#[$doc])* $owner,)*
        }

        impl Owner {
            /// All of them.
            pub const ALL: [Owner; [$($key),*].len()] = [$(Owner::$owner),*];

            /// Its name in files.
            pub fn key(self) -> &'static str {
                match self {
                    $(Owner::$owner => $key,)*
                }
            }
        }

        /// As people read it.
        impl fmt::Display for Owner {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(match self {
                    $(Owner::$owner => $words,)*
                })
            }
        }
    };
}

owners! {
    /// A thread of the server worked on it, or its quota of CPU was used up.
    ServerCpu "server_cpu" "server CPU",
    /// It waited while the server worked on others.
    ServerQueue "server_queue" "server queue",
    /// The server had it, and slept: a lock, a timer, another service.
    ServerAsleep "server_asleep" "server asleep",
    /// The server, which is out of sight, or the network before it.
    Server "server" "server or its network",
    /// The way there and back.
    Network "network" "network",
    /// Somebody else had the CPU that the server or the generator was ready for.
    Contention "cpu_contention" "CPU contention",
    /// The generator worked on others.
    Generator "generator" "generator",
    /// The generator has fewer connections than the rate needs.
    Connections "connections" "too few connections",
    /// No answer came in time.
    Unanswered "unanswered" "no answer",
}

/// Shares of some messages' time, in percent, the largest first; they add up to 100.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Owners(pub Vec<(Owner, f64)>);

impl Owners {
    /// Shares of all round trips of a step.
    pub fn of_all(step: &Step) -> Option<Owners> {
        let spent = step.spent.as_ref()?;
        Owners::of(step, spent, &spent.all)
    }

    /// Shares of its slow ones.
    pub(crate) fn of_tail(step: &Step) -> Option<Owners> {
        let spent = step.spent.as_ref()?;
        Owners::of(step, spent, &spent.tail)
    }

    fn of(step: &Step, account: &TimeSpent, spent: &LatencyParts) -> Option<Owners> {
        let whole_ns = spent.sum_ns() as f64;
        if whole_ns == 0.0 {
            return None;
        }
        let waited_ns = spent.unsent_ns as f64 * account.waited_percent / 100.0;
        let handled_ns = spent.service_ns as f64 * account.handled_share(spent);
        let (own, serving) = (generator(step), server(step, account, spent));
        let way_ns = way_ns(step) * spent.messages as f64;
        let served_ns = spent.service_ns as f64 - handled_ns;
        // The way is that of the TCP connect, which may have been a slow one: no part is more than the whole.
        let network_ns = way_ns.min(served_ns);
        let held_by = match needs_connections(step) {
            true => vec![(Owner::Connections, 1.0)],
            false => serving.clone(),
        };
        let parts = [
            (spent.unsent_ns as f64 - waited_ns + handled_ns, own),
            (waited_ns, held_by),
            (network_ns, vec![(Owner::Network, 1.0)]),
            (served_ns - network_ns, serving),
            (spent.unanswered_ns as f64, vec![(Owner::Unanswered, 1.0)]),
        ];
        Some(Owners::of_parts(&parts, whole_ns))
    }

    /// Shares of the stalls of its streamed answers, by their number; `None` without any.
    pub(crate) fn of_stalls(step: &Step) -> Option<Owners> {
        let Counts { stalls, stalls_here, stalls_starved, .. } = step.counts;
        if stalls == 0 {
            return None;
        }
        let throttled_percent = step.generator.as_ref().and_then(|generator| generator.throttled_percent);
        // Its own quota is what it was ready to run without.
        let starved = if is_throttled(throttled_percent) { 0 } else { stalls_starved };
        let parts = [
            (stalls_here.saturating_sub(starved) as f64, vec![(Owner::Generator, 1.0)]),
            (starved as f64, vec![(Owner::Contention, 1.0)]),
            (stalls.saturating_sub(stalls_here) as f64, in_stalls(step)),
        ];
        Some(Owners::of_parts(&parts, stalls as f64))
    }

    /// Shares of the whole that these are parts of.
    fn of_parts(parts: &[(f64, Shares)], whole: f64) -> Owners {
        let percent = |owner: Owner| {
            let of_part = |(part, shares): &(f64, Shares)| {
                part * shares.iter().filter(|(whose, _)| *whose == owner).map(|(_, share)| share).sum::<f64>()
            };
            100.0 * parts.iter().map(of_part).sum::<f64>() / whole
        };
        let mut owners: Vec<(Owner, f64)> = Owner::ALL
            .map(|owner| (owner, percent(owner)))
            .into_iter()
            .filter(|(_, percent)| *percent > 0.0)
            .collect();
        owners.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        Owners(owners)
    }

    /// The shares as a line has them, with the programs that had the CPU that was waited for.
    pub fn told(&self, step: &Step) -> String {
        let told = self.0.iter().filter(|(_, percent)| *percent >= TOLD_PERCENT_MIN);
        let others = step.machine.iter().flat_map(|machine| &machine.others).take(TOLD_PROGRAMS_MAX);
        let names: Vec<&str> = others.map(|program| program.name.as_str()).collect();
        let share = |&(owner, percent): &(Owner, f64)| match owner {
            Owner::Contention if !names.is_empty() => format!("{owner} {percent:.0}% ({})", names.join(", ")),
            _ => format!("{owner} {percent:.0}%"),
        };
        told.map(share).collect::<Vec<_>>().join(", ")
    }

    /// The server's share, whatever it did meanwhile: 0 to 100.
    pub fn of_server(&self) -> f64 {
        [Owner::ServerCpu, Owner::ServerQueue, Owner::ServerAsleep]
            .map(|owner| self.percent(owner))
            .iter()
            .sum()
    }

    /// The least that may be left without the generator's and CPU contention's part, as a share: 0 to 1.
    pub(super) fn share_without_lag(&self) -> f64 {
        let lag: f64 = [Owner::Generator, Owner::Connections, Owner::Contention]
            .map(|owner| self.percent(owner))
            .iter()
            .sum();
        // Lag may be more than it seems by the error of the account, but not where there is none at all.
        (1.0 - (lag + lag.min(ERROR_PERCENT)) / 100.0).max(0.0)
    }

    /// An owner's share: 0 to 100.
    pub fn percent(&self, owner: Owner) -> f64 {
        self.0.iter().find(|(whose, _)| *whose == owner).map_or(0.0, |(_, percent)| *percent)
    }
}

/// The latency from which a step's messages were slow, and the owners of their time; `None` where none was,
/// and where what was late is not in the account.
pub fn slow_time(step: &Step) -> Option<(u64, Owners)> {
    let from_ns = step.spent.as_ref()?.tail_from_ns;
    let owners = of_late(step).filter(|_| from_ns >= TOLD_NS_MIN)?;
    Some((from_ns, owners))
}

/// The owners of the slow messages' time, unless the copies of broadcasts were late: a server may acknowledge at
/// once what it delivers later, and the account is of the acknowledgements.
pub(super) fn of_late(step: &Step) -> Option<Owners> {
    let Figures { rtt, delivery, .. } = &step.figures;
    let is_of_copies = delivery.quantile_ns(TAIL_QUANTILE) as f64
        > LATER_COPIES_FACTOR_MIN * rtt.quantile_ns(TAIL_QUANTILE) as f64;
    Owners::of_tail(step).filter(|_| !is_of_copies)
}

/// The owners of a part: shares that add up to 1.
type Shares = Vec<(Owner, f64)>;

/// Splits what the generator was late: its worker was at other work, or ready and without a CPU. The busiest
/// worker stands for all, because a message that is late most likely waited for that one.
fn generator(step: &Step) -> Shares {
    let generator = step.generator.as_ref();
    let cpu = generator.and_then(|generator| generator.worker_cpu_percent_max).unwrap_or(0.0);
    let waiting = generator.and_then(|generator| generator.worker_waiting_percent_max).unwrap_or(0.0);
    let share = if cpu + waiting > 0.0 { waiting / (cpu + waiting) } else { 0.0 };
    vec![(Owner::Contention, share), (Owner::Generator, 1.0 - share)]
}

/// Splits what the server had these messages for. The shortest of all answers was in nobody's way: as much of
/// each is work, or else a timer or another service. What takes longer waits behind others, as far as the
/// threads that have messages are at work (or ready for it), or for something that is no CPU.
fn server(step: &Step, account: &TimeSpent, spent: &LatencyParts) -> Shares {
    let Some(Threads { at_work, waiting, ready, effective }) = Threads::of(step) else {
        return vec![(Owner::Server, 1.0)];
    };
    let way_ns = way_ns(step);
    let served_ns = |of| (account.served_ns(of) - way_ns).max(0.0);
    let (mean_ns, mean_of_all_ns) = (served_ns(spent), served_ns(&account.all));
    let answered_per_s = account.all.messages as f64 * 1e9 / step.duration_ns.max(1) as f64;
    let rate_per_s =
        step.rates.achieved_per_s.filter(|per_s| *per_s > 0.0).unwrap_or(answered_per_s).max(f64::EPSILON);
    // The way there and back, which is not the server's, is in every answer, and so in the shortest.
    let shortest = match step.figures.accounted() {
        Timed::Rtt => &step.figures.service,
        timed => step.figures.get(timed),
    };
    let unhindered_ns = (shortest.min_ns() as f64 - way_ns).clamp(0.0, mean_ns);
    // The threads' time in a second, divided among the messages of that second.
    let of_each_ns = |threads: f64| threads * 1e9 / rate_per_s;
    let cpu_ns = of_each_ns(at_work).min(unhindered_ns);
    let behind_ns = mean_ns - unhindered_ns;
    // How many threads had a message, on average. Little's law is a bound: there are no more than messages.
    // The other: of `effective` threads, each with a message for a share p of the time, none has one for (1 −
    // p)^effective of it, which is the time in which nothing was outstanding. What threads do in between is
    // nobody's delay.
    let held = rate_per_s * mean_of_all_ns / 1e9;
    let idle_share = 1.0 - account.outstanding_percent.unwrap_or(100.0) / 100.0;
    let with_messages = effective * (1.0 - idle_share.powf(1.0 / effective));
    let is_busy = (ready / held.min(with_messages).max(f64::EPSILON)).min(1.0);
    let of_waiting = waiting / ready.max(f64::EPSILON);
    // For as long as a thread waits for a CPU, each of its messages does. The shortest answer had least of
    // that: it is first what the longer ones waited for.
    let messages_of_each = (held / with_messages.max(f64::EPSILON)).max(1.0);
    let starved_ns = of_each_ns(waiting) * messages_of_each;
    let behind_of_all_ns = (mean_of_all_ns - unhindered_ns).max(f64::EPSILON);
    let in_turn = is_busy * of_waiting;
    let (ready_ns, is_starved) = match starved_ns >= STARVED_SHARE_MIN * mean_of_all_ns {
        true => (starved_ns - behind_of_all_ns, in_turn.max(starved_ns / behind_of_all_ns).min(1.0)),
        false => (of_each_ns(waiting), in_turn),
    };
    let ready_ns = ready_ns.min(of_each_ns(waiting)).clamp(0.0, unhindered_ns - cpu_ns);
    let is_at_work = (is_busy * (1.0 - of_waiting)).min(1.0 - is_starved);
    let contention = contention_owner(step);
    let parts = [
        (Owner::ServerCpu, cpu_ns),
        (Owner::ServerQueue, behind_ns * is_at_work),
        (
            Owner::ServerAsleep,
            unhindered_ns - cpu_ns - ready_ns + behind_ns * (1.0 - is_at_work - is_starved),
        ),
        (contention, ready_ns + behind_ns * is_starved),
    ];
    parts.map(|(owner, ns)| (owner, ns / mean_ns.max(f64::EPSILON))).to_vec()
}

/// Splits stalls that were read in time, by what the server's busiest thread did in the step on average. On
/// the way from another machine, the network may as well have held the events back.
fn in_stalls(step: &Step) -> Shares {
    let threads = step.server.iter().filter(|_| is_here(step)).flat_map(|server| &server.thread_use);
    let ready = |thread: &ThreadUse| thread.cpu_percent() + thread.waiting_percent;
    let Some(busiest) = threads.max_by(|a, b| ready(a).total_cmp(&ready(b))) else {
        return vec![(Owner::Server, 1.0)];
    };
    // The kernel counts CPU time in ticks: the parts may be more than the whole.
    let whole = ready(busiest).max(100.0);
    vec![
        (Owner::ServerCpu, busiest.cpu_percent() / whole),
        (contention_owner(step), busiest.waiting_percent / whole),
        (Owner::ServerAsleep, 1.0 - ready(busiest) / whole),
    ]
}

/// The owner of the time in which the server was ready to run and had no CPU.
fn contention_owner(step: &Step) -> Owner {
    let throttled_percent = step.server.as_ref().and_then(|server| server.throttled_percent);
    if is_throttled(throttled_percent) { Owner::ServerCpu } else { Owner::Contention }
}

/// Returns whether a quota of CPU was used up so often that it is what threads that are ready wait for.
fn is_throttled(throttled_percent: Option<f64>) -> bool {
    throttled_percent.is_some_and(|percent| percent >= THROTTLED_PERCENT_MIN)
}

/// Returns whether the server is on this machine, as far as it is known.
fn is_here(step: &Step) -> bool {
    step.machine.as_ref().and_then(|machine| machine.same_host) != Some(false)
}

/// The server's threads, on average.
struct Threads {
    /// Threads at work, those that have ended included.
    at_work: f64,
    /// Threads that were ready without a CPU.
    waiting: f64,
    /// Threads that were either.
    ready: f64,
    /// The effective number of them, `(Σ ready)² / Σ ready²` (Kish): one, where one did all; all, where each
    /// did as much.
    effective: f64,
}

impl Threads {
    fn of(step: &Step) -> Option<Threads> {
        let server = step.server.as_ref()?;
        let threads = &server.thread_use;
        let ready_of = |thread: &ThreadUse| (thread.cpu_percent() + thread.waiting_percent) / 100.0;
        let ready: f64 = threads.iter().map(ready_of).sum();
        let squares: f64 = threads.iter().map(|thread| ready_of(thread).powi(2)).sum();
        let waiting: f64 = threads.iter().map(|thread| thread.waiting_percent / 100.0).sum();
        let effective = if squares > 0.0 { ready * ready / squares } else { 1.0 };
        (!threads.is_empty()).then_some(Threads {
            at_work: server.cpu_percent_mean? / 100.0,
            waiting,
            ready,
            effective,
        })
    }
}

/// The way to another machine and back: that of its TCP connects.
fn way_ns(step: &Step) -> f64 {
    if is_here(step) || step.figures.tcp.is_empty() { 0.0 } else { step.figures.tcp.quantile_ns(0.5) as f64 }
}

#[cfg(test)]
mod tests;
