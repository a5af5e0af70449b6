//! The machine that server and generator share, and the network between them.

use super::owners::{self, Owner};
use super::signs::{OWNED_PERCENT_MIN, SERVER_CPU_PERCENT_MAX};
use crate::finding::Cause;
use crate::finding::quantity::{Percent, Programs};
use crate::resources::{MachineUse, ThreadUse};
use crate::step::Step;

/// Idle CPU of a machine below which there is none left.
const IDLE_PERCENT_MIN: f64 = 5.0;
/// The server's part of a busy machine below which it is not the one that fills it.
const SERVER_PART_PERCENT_MIN: f64 = 10.0;
/// CPU of a machine that neither server nor generator accounts for, above which others are named. Interrupts of the
/// network, which belong to no program, stay below it.
const OTHERS_PERCENT_MAX: f64 = 25.0;
/// Time for which a thread was ready to run and had no CPU, above which that is what it waited for.
const WAITING_PERCENT_MAX: f64 = 10.0;
/// The most that a server misses of a rate, as a multiple of the share of the time that a thread of it waited for a
/// CPU, if that is why: a turn that comes late delays what queues behind it, too.
const MISSED_BY_WAITING_MAX: f64 = 10.0;
/// The percentage of the rate below which a server, without having waited, had another reason.
const KEPT_WITHOUT_PERCENT_MIN: f64 = 50.0;
/// A server none of whose threads was running or ready to run for this much of the time was asleep rather than starved.
const READY_PERCENT_MIN: f64 = 50.0;
/// Use of a network link that counts as all of it.
const LINK_PERCENT_MAX: f64 = 90.0;
/// Segments sent again, or come out of order, that make a network the suspect.
const RETRANSMIT_PERCENT_MAX: f64 = 1.0;

/// One host for both, its CPUs all but idle, and the server using its part of them.
pub(super) fn full(step: &Step) -> Option<Cause> {
    let machine = step.machine.as_ref()?;
    let idle = machine.idle_percent_mean.filter(|&idle| idle < IDLE_PERCENT_MIN)?;
    let all_percent = 100.0 * f64::from(machine.cores?);
    let server_part =
        step.server.as_ref().and_then(|server| server.cpu_percent_mean).map(|cpu| 100.0 * cpu / all_percent);
    // A server that hardly works is not what fills the machine.
    let shared = machine.same_host? && server_part.is_none_or(|part| part >= SERVER_PART_PERCENT_MIN);
    let others = others_percent(step).map(Percent);
    let programs = programs(machine).filter(|_| others.is_some());
    shared.then_some(Cause::MachineFull { idle: Percent(idle), others, programs })
}

/// A server that hardly worked and did not keep up, on a machine that others filled: it may have had no turn in time.
pub(super) fn crowded(step: &Step) -> Option<Cause> {
    let machine = step.machine.as_ref().filter(|_| is_filled_by_others(step))?;
    let missed_percent = step.missed_percent();
    let can_be = match (missed_percent, owners::of_late(step)) {
        (None, _) => false,
        (Some(_), Some(owners)) => owners.percent(Owner::Contention) >= OWNED_PERCENT_MIN,
        (Some(missed_percent), None) => can_be_for_waiting(step, missed_percent),
    };
    // How long who connects waited for a CPU, nobody has measured.
    let gave_up = step.counts.connect_timeouts > 0 && !step.has_passed();
    (can_be || gave_up).then_some(Cause::MachineCrowded {
        others: Percent(others_percent(step)?),
        programs: programs(machine),
        idle: Percent(machine.idle_percent_mean?),
    })
}

/// Returns whether server and generator share a machine whose CPUs others use, all but all of them.
pub(super) fn is_filled_by_others(step: &Step) -> bool {
    let has_none_left = |machine: &MachineUse| {
        machine.same_host == Some(true)
            && machine.idle_percent_mean.is_some_and(|idle| idle < IDLE_PERCENT_MIN)
    };
    step.machine.as_ref().is_some_and(has_none_left) && others_percent(step).is_some()
}

/// Returns whether the server can have missed so much of the rate because it waited for a CPU; not known
/// counts as yes. Without the waiting it would have answered as much more as it had more time, at both ends
/// of a message.
fn can_be_for_waiting(step: &Step, missed_percent: f64) -> bool {
    let threads = || step.server.iter().flat_map(|server| &server.thread_use);
    // A queue that nobody works at, though there is a CPU for it, waits for something else: whoever lacks CPU is ready.
    let ready_percent =
        threads().map(|thread| thread.cpu_percent() + thread.waiting_percent).reduce(f64::max);
    if ready_percent.is_some_and(|ready| ready < READY_PERCENT_MIN) {
        return false;
    }
    let waited_percent = threads().map(|thread| thread.waiting_percent).reduce(f64::max);
    waited_percent.is_none_or(|waited| {
        let share = (waited / 100.0).min(1.0);
        let kept_without_percent = (100.0 - missed_percent) / (1.0 - share).powi(2);
        missed_percent <= MISSED_BY_WAITING_MAX * waited && kept_without_percent >= KEPT_WITHOUT_PERCENT_MIN
    })
}

/// A thread of the server that was ready to run all the time, and had a CPU for a part of it: it did not wait for
/// anything else.
pub(super) fn starved(step: &Step) -> Option<Cause> {
    let ready = |thread: &ThreadUse| thread.cpu_percent() + thread.waiting_percent;
    let threads = &step.server.as_ref()?.thread_use;
    let thread = threads.iter().max_by(|a, b| ready(a).total_cmp(&ready(b)))?;
    let is_starved = ready(thread) >= SERVER_CPU_PERCENT_MAX && thread.waiting_percent > WAITING_PERCENT_MAX;
    is_starved.then(|| Cause::MachineStarved {
        thread: thread.name.clone(),
        cpu: Percent(thread.cpu_percent()),
        programs: step.machine.as_ref().and_then(programs),
    })
}

/// CPU of the generator's machine used by neither server nor generator, when it is much: 0 to 100.
pub fn others_percent(step: &Step) -> Option<f64> {
    let machine = step.machine.as_ref()?;
    let all = 100.0 * f64::from(machine.cores?);
    let busy = all * (1.0 - machine.idle_percent_mean? / 100.0);
    let generator = step.generator.as_ref()?.cpu_percent_mean?;
    let server = if machine.same_host? { step.server.as_ref()?.cpu_percent_mean? } else { 0.0 };
    let others = 100.0 * (busy - generator - server) / all;
    (others > OTHERS_PERCENT_MAX).then_some(others)
}

/// The other programs that used it most, if any are known.
pub(super) fn programs(machine: &MachineUse) -> Option<Programs> {
    (!machine.others.is_empty()).then(|| Programs(machine.others.clone()))
}

/// A link at its speed, or segments sent again. Between two ends on one machine nothing gets lost on the way: what is
/// sent again there was dropped by a receiver whose buffer was full, as with messages of many MiB.
pub(super) fn network(step: &Step) -> Option<Cause> {
    let machine = step.machine.as_ref()?;
    if let Some(used) = machine.network_percent.filter(|&used| used >= LINK_PERCENT_MAX) {
        return Some(Cause::NetworkLink { used: Percent(used) });
    }
    if machine.same_host == Some(true) {
        return None;
    }
    if let Some(again) = machine.retransmit_percent.filter(|&again| again >= RETRANSMIT_PERCENT_MAX) {
        return Some(Cause::NetworkResent { resent: Percent(again) });
    }
    let gaps = machine.out_of_order_percent.filter(|&gaps| gaps >= RETRANSMIT_PERCENT_MAX)?;
    Some(Cause::NetworkOutOfOrder { gaps: Percent(gaps) })
}
