//! Shares of the time of steps whose account is known.

use stats::{Account, Histogram, Reach};

use super::*;
use crate::resources::{GeneratorUse, MachineUse, ServerUse};

const MS: u64 = 1_000_000;

/// A second in which the server, of one thread, answered 100 messages of 100 ms each, half of which had
/// waited to be sent, and one more that was in nobody's way.
fn step(cpu_percent: f64, waiting_percent: f64) -> Step {
    let answered = Reach { received_ns: Some(MS), ..Reach::default() };
    let mut account = Account::default();
    account.add(200 * MS, 100 * MS, 50, answered);
    account.add(100 * MS, 100 * MS, 50, answered);
    let mut rtt = Histogram::new();
    rtt.record_n_ns(200 * MS, 50);
    rtt.record_n_ns(100 * MS, 50);
    let thread = ThreadUse { user_percent: cpu_percent, waiting_percent, ..ThreadUse::default() };
    let mut step =
        Step { duration_ns: 1_000 * MS, spent: TimeSpent::of(&account, &rtt, None), ..Step::default() };
    step.figures.service.record_ns(MS);
    step.rates.achieved_per_s = Some(100.0);
    step.server = Some(ServerUse {
        cpu_percent_mean: Some(cpu_percent),
        thread_use: vec![thread],
        ..ServerUse::default()
    });
    step.machine = Some(MachineUse { same_host: Some(true), ..MachineUse::default() });
    step.generator = Some(GeneratorUse {
        worker_cpu_percent_max: Some(10.0),
        worker_waiting_percent_max: Some(30.0),
        ..GeneratorUse::default()
    });
    step
}

fn shares(step: &Step) -> Vec<(Owner, u32)> {
    let owners = Owners::of_tail(step).unwrap();
    assert!((owners.0.iter().map(|(_, percent)| percent).sum::<f64>() - 100.0).abs() < 1e-6, "{owners:?}");
    owners.0.iter().map(|&(owner, percent)| (owner, percent.round() as u32)).collect()
}

#[test]
fn generator_lag_is_split_by_cpu() {
    let step = step(100.0, 0.0);
    let owners = Owners::of_tail(&step).unwrap();
    assert!((owners.percent(Owner::Contention) - 0.75 * 50.5).abs() < 1e-6, "{owners:?}");
    assert!((owners.percent(Owner::Generator) - 0.25 * 50.5).abs() < 1e-6, "{owners:?}");
    assert_eq!(Owners::of_all(&step).unwrap().percent(Owner::Generator).round(), 9.0);
}

#[test]
fn only_working_servers_have_queues() {
    let of = |cpu, waiting| shares(&step(cpu, waiting));
    assert_eq!(of(100.0, 0.0)[0], (Owner::ServerQueue, 49));
    assert_eq!(of(2.0, 0.0)[0], (Owner::ServerAsleep, 48));
    let starved = of(20.0, 80.0);
    assert_eq!(starved[0].0, Owner::Contention, "{starved:?}");
}

#[test]
fn servers_are_ready_while_they_have_messages() {
    let asleep = |change: &dyn Fn(&mut Step)| {
        let mut step = step(1.0, 30.0);
        change(&mut step);
        Owners::of_tail(&step).unwrap().percent(Owner::ServerAsleep).round()
    };
    let outstanding = |step: &mut Step| step.spent.as_mut().unwrap().outstanding_percent = Some(31.0);
    assert_eq!([asleep(&|_| ()), asleep(&outstanding)], [34.0, 0.0]);
    let two = |step: &mut Step| {
        let threads = &mut step.server.as_mut().unwrap().thread_use;
        threads.push(threads[0].clone());
    };
    assert_eq!(asleep(&two), 34.0, "each has messages of its own");
    let other = |step: &mut Step| {
        outstanding(step);
        step.server.as_mut().unwrap().thread_use.push(ThreadUse::default());
    };
    assert_eq!(asleep(&other), 0.0, "one that does nothing has none");
}

/// The step of a server whose shortest answer, its others and its slow ones took so long, with how many of each.
fn step_of(thread_percent: [f64; 2], shortest_ms: u64, answers: [(u64, u64); 2]) -> Step {
    let (mut account, mut rtt) = (Account::default(), Histogram::new());
    for (ms, messages) in answers {
        account.add(ms * MS, ms * MS, messages, Reach::default());
        rtt.record_n_ns(ms * MS, messages);
    }
    let mut step = step(thread_percent[0], thread_percent[1]);
    step.spent = TimeSpent::of(&account, &rtt, None);
    step.figures.service.clear();
    step.figures.service.record_ns(shortest_ms * MS);
    step.rates.achieved_per_s = Some(account.from(0).messages as f64);
    step
}

#[test]
fn waits_for_a_cpu_lengthen_the_shortest_answer() {
    // One client after the other: 5 ms of a timer each, and 5 ms on average until the thread has a CPU.
    let owners = Owners::of_tail(&step_of([1.0, 50.0], 5, [(6, 90), (46, 10)])).unwrap();
    assert_eq!(owners.percent(Owner::Contention).round(), 89.0, "41 of 46 ms: {owners:?}");
}

#[test]
fn slow_timers_of_event_loops_are_no_contention() {
    // A thread with 105 messages under way, all but all of them at a timer; it waits for 12% of the time.
    let owners = Owners::of_tail(&step_of([10.0, 12.0], 94, [(95, 950), (300, 50)])).unwrap();
    assert!(owners.percent(Owner::Contention) < 15.0, "{owners:?}");
}

#[test]
fn timers_of_busy_servers_are_no_queues() {
    let mut step = step(20.0, 80.0);
    step.figures.service.clear();
    step.figures.service.record_ns(95 * MS);
    assert_eq!(shares(&step)[1].0, Owner::ServerAsleep, "most of what is the server's");
    assert!(Owners::of_tail(&step).unwrap().percent(Owner::ServerAsleep) > 40.0);
}

#[test]
fn unseen_servers_are_accused_of_little() {
    let mut step = step(100.0, 0.0);
    step.server = None;
    assert_eq!(shares(&step)[0], (Owner::Server, 50));
    step.machine = Some(MachineUse { same_host: Some(false), ..MachineUse::default() });
    step.figures.tcp.record_ns(80 * MS);
    assert_eq!(shares(&step)[0], (Owner::Network, 40));
}

#[test]
fn stalls_have_owners() {
    use Owner::{Contention, Generator, Server, ServerAsleep, ServerCpu};
    let mut step = step(10.0, 20.0);
    let of = |step: &Step| {
        let owners = Owners::of_stalls(step)?.0;
        Some(owners.iter().map(|&(owner, percent)| (owner, percent.round())).collect::<Vec<_>>())
    };
    assert_eq!(of(&step), None);
    (step.counts.stalls, step.counts.stalls_here, step.counts.stalls_starved) = (10, 4, 1);
    let all = [(ServerAsleep, 42.0), (Generator, 30.0), (Contention, 22.0), (ServerCpu, 6.0)];
    assert_eq!(of(&step).unwrap(), all);
    step.generator.as_mut().unwrap().throttled_percent = Some(50.0);
    assert_eq!(of(&step).unwrap()[1..3], [(Generator, 40.0), (Contention, 12.0)], "its own quota");
    step.server.as_mut().unwrap().throttled_percent = Some(50.0);
    assert_eq!(of(&step).unwrap(), [(ServerAsleep, 42.0), (Generator, 40.0), (ServerCpu, 18.0)]);
    step.server = None;
    assert_eq!(of(&step).unwrap(), [(Server, 60.0), (Generator, 40.0)]);
}

#[test]
fn connection_waits_belong_to_its_holder() {
    let mut step = step(100.0, 0.0);
    step.spent.as_mut().unwrap().waited_percent = 100.0;
    let owners = Owners::of_tail(&step).unwrap();
    assert!(owners.percent(Owner::ServerQueue) > 85.0, "{owners:?}");
}
