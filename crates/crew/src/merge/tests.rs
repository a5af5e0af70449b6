use super::*;
use engine::{Absence, BroadcastTally, SentBroadcast, Usage};
use load::{Load, Schedule, Until};
use stats::Packed;

fn participants(workload: Workload) -> Participants {
    Participants { workload, rooms: Arc::default(), workers: 2, away_ns: None }
}

fn merge(settled: Vec<Settled>) -> Merge {
    let load = Load::Closed { concurrency: 1, per_client: 1, until: Until::Samples(2) };
    let order = StepOrder { index: 0, clients: 5, load, warmup: false };
    let mut merge = Merge::new(participants(Workload::Broadcast), order, 0, 0);
    merge.start(0, 100);
    for s in settled {
        merge.close_books(s);
    }
    merge
}

#[test]
fn lost_agents_owe_and_hide_nothing() {
    let tally = |worker, received| BroadcastTally { worker, client: 0, number: 0, received, last_ns: 210 };
    let sent = vec![SentBroadcast { client: 0, intended_ns: 200, sent_ns: 200, ..SentBroadcast::default() }];
    let tallies = vec![tally(0, 2), tally(1, 3)];
    let delta = Delta { counts: Counts { received: 5, ..Counts::default() }, ..Delta::default() };
    let survivor = Settled { delta, sent, tallies, ..Settled::default() };
    let mut merge = merge(Vec::new());
    let counts = Counts { sent: 1, received: 4, connects: 2, connected: 1, ..Counts::default() };
    merge.add(&Delta { worker: 1, at_ns: 205, counts, usable: 2, ..Delta::default() });
    merge.lose(1..2);
    merge.close_books(survivor);
    let step = merge.finish(1_000, Ending::Complete);
    assert_eq!((step.counts.expected, step.counts.received, step.counts.missing), (10, 9, 1));
    assert_eq!(step.counts.check(), Ok(()));
}

#[test]
fn departures_at_a_lost_agent_hide_no_loss() {
    let load = Load::Closed { concurrency: 1, per_client: 1, until: Until::Samples(2) };
    let order = StepOrder { index: 0, clients: 5, load, warmup: false };
    let mut merge = Merge::new(participants(Workload::Echo), order, 0, 0);
    merge.start(0, 100);
    let delta = |worker, sent, received, in_flight| {
        let counts = Counts { sent, received, in_flight, ..Counts::default() };
        Delta { worker, at_ns: 205, counts, ..Delta::default() }
    };
    merge.add(&delta(1, 50, 30, 20));
    merge.lose(1..2);
    merge.close_books(Settled { delta: delta(0, 100, 87, 3), ..Settled::default() });
    let counts = merge.finish(1_000, Ending::Complete).counts;
    assert_eq!((counts.expected, counts.in_flight, counts.missing), (130, 3, 10));
    assert_eq!(counts.check(), Ok(()));
}

#[test]
fn recoveries_at_a_lost_agent_hide_no_loss() {
    let mut merge = merge(Vec::new());
    let delta = |worker, recovered| {
        let counts = Counts { recovered, ..Counts::default() };
        Delta { worker, at_ns: 205, counts, ..Delta::default() }
    };
    merge.add(&delta(1, 5));
    merge.lose(1..2);
    // Of three messages that were sent while a client of the other agent was away, it was sent one again.
    let said =
        |sent_ns| SentBroadcast { client: 0, intended_ns: sent_ns, sent_ns, ..SentBroadcast::default() };
    let absence = Absence {
        client: 2,
        from_ns: 150,
        cut_ns: 150,
        to_ns: 400,
        cut: None,
        had: 0,
        recovered: 1,
        is_under_load: true,
    };
    let (sent, absences) = ([200, 210, 220].map(said).to_vec(), vec![absence]);
    merge.close_books(Settled { delta: delta(0, 1), sent, absences, ..Settled::default() });
    let counts = merge.finish(1_000, Ending::Complete).counts;
    assert_eq!((counts.offline_due, counts.recovered, counts.lost_offline), (5 + 3, 5 + 1, 2));
    assert_eq!(counts.check(), Ok(()));
}

#[test]
fn connects_without_books_stay_under_way() {
    let counts = Counts { connects: 42, connected: 40, connect_failures: 1, ..Counts::default() };
    let mut merge = merge(Vec::new());
    merge.add(&Delta { worker: 1, at_ns: 205, counts, ..Delta::default() });
    let under_way = Counts { connects: 2, connecting: 2, ..Counts::default() };
    let delta = Delta { counts: under_way, ..Delta::default() };
    merge.close_books(Settled { delta, ..Settled::default() });
    let counts = merge.finish(1_000, Ending::CutShort).counts;
    assert_eq!((counts.connects, counts.connecting), (44, 1 + 2));
    assert_eq!(counts.check(), Ok(()));
}

/// The busiest worker's CPU in a step that loads for a second, and drains for two more, with arrivals at
/// these times.
fn worker_cpu_percent(load: Load, arrivals_ms: &[u64]) -> f64 {
    const MS: u64 = 1_000_000;
    let order = StepOrder { index: 0, clients: 5, load, warmup: false };
    let mut merge = Merge::new(participants(Workload::Echo), order, 0, 0);
    merge.start(0, 100 * MS);
    let mut at = |at_ms: u64, wall_ms: u64, cpu_ms: u64| {
        let last_arrival_ns = arrivals_ms.iter().rfind(|ms| **ms <= at_ms).map_or(0, |ms| ms * MS);
        let usage = Usage { wall_ns: wall_ms * MS, cpu_ns: cpu_ms * MS, ..Usage::default() };
        merge.add(&Delta { at_ns: at_ms * MS, last_arrival_ns, usage, ..Delta::default() });
        if at_ms == 1_100 {
            merge.end_load(at_ms * MS);
        }
    };
    at(600, 500, 450);
    at(1_100, 500, 450);
    for n in 1..=200 {
        at(1_100 + 10 * n, 10, 0);
    }
    merge.finish(3_100 * MS, Ending::Complete).generator.and_then(|used| used.worker_cpu_percent_max).unwrap()
}

#[test]
fn workers_waiting_for_losses_were_busy() {
    let closed = Load::Closed { concurrency: 1, per_client: 1, until: Until::Samples(2) };
    let open = Load::Open { schedule: Schedule::constant(10.0), duration_ns: 1_000_000_000 };
    assert_eq!(worker_cpu_percent(open, &[1_100]), 90.0);
    assert_eq!(worker_cpu_percent(open, &[1_100, 1_600]), 90.0, "the schedule is the window");
    assert_eq!(worker_cpu_percent(closed, &[1_100]), 90.0);
    assert_eq!(worker_cpu_percent(closed, &[1_100, 1_600]), 60.0, "in a closed loop, until the last arrival");
}

#[test]
fn interrupted_messages_are_not_lost() {
    let sent = vec![SentBroadcast { client: 0, intended_ns: 200, sent_ns: 200, ..SentBroadcast::default() }];
    let books = || Settled { sent: sent.clone(), ..Settled::default() };
    let step = merge(vec![books()]).finish(1_000, Ending::CutShort);
    assert_eq!((step.counts.missing, step.counts.in_flight), (0, 3));
    let step = merge(vec![books()]).finish(1_000, Ending::Complete);
    assert_eq!((step.counts.missing, step.counts.in_flight), (3, 0));
}

#[test]
fn open_books_end_with_the_last_report() {
    const S: u64 = 1_000_000_000;
    let load = Load::Open { schedule: Schedule::constant(10.0), duration_ns: 60 * S };
    let order = StepOrder { index: 0, clients: 5, load, warmup: false };
    let mut merge = Merge::new(participants(Workload::Echo), order, 0, 0);
    merge.start(0, 0);
    let counts = Counts { sent: 30, received: 30, ..Counts::default() };
    merge.add(&Delta { at_ns: 3 * S, counts, ..Delta::default() });
    let step = merge.finish(3 * S + S / 2, Ending::CutShort);
    assert_eq!((step.duration_ns, step.rates.sent_per_s), (3 * S, Some(10.0)));
}

/// Twenty messages in two seconds, each answered `answered_after_ms` after it was due.
fn achieved_per_s(answered_after_ms: impl Fn(u64) -> u64) -> Option<f64> {
    const MS: u64 = 1_000_000;
    let load = Load::Open { schedule: Schedule::constant(10.0), duration_ns: 2_000 * MS };
    let order = StepOrder { index: 0, clients: 5, load, warmup: false };
    let mut merge = Merge::new(participants(Workload::Echo), order, 0, 0);
    merge.start(0, 0);
    let (mut answers, mut rtt) = (Delta { at_ns: 20_000 * MS, ..Delta::default() }, Histogram::new());
    for k in 0..20 {
        let latency_ns = answered_after_ms(k) * MS;
        let at_ns = k * 100 * MS + latency_ns;
        rtt.record_ns(latency_ns);
        answers.last_arrival_ns = answers.last_arrival_ns.max(at_ns);
        (answers.counts.sent, answers.counts.received) = (k + 1, k + 1);
        let is_late = u64::from(at_ns > 2_000 * MS);
        answers.counts.late += is_late;
        answers.tail.received += is_late;
    }
    answers.figures.rtt = Packed::from(&rtt);
    answers.figures.service = answers.figures.rtt.clone();
    merge.add(&answers);
    merge.end_load(2_000 * MS);
    merge.finish(20_000 * MS, Ending::Complete).rates.achieved_per_s
}

#[test]
fn kept_rates_are_achieved_at_any_latency() {
    assert_eq!(achieved_per_s(|_| 1), Some(10.0));
    assert_eq!(achieved_per_s(|_| 1_000), Some(10.0), "all by the same");
    assert_eq!(achieved_per_s(|k| 200 * k), Some(20.0 / 5.7), "a queue grows: until the last answer");
}

/// Eight seconds of ten messages each to a server of five a second, whose last answer gets stuck for a
/// minute.
#[test]
fn queues_achieve_the_servers_own_rate() {
    const S: u64 = 1_000_000_000;
    let load = Load::Open { schedule: Schedule::constant(10.0), duration_ns: 8 * S };
    let order = StepOrder { index: 0, clients: 5, load, warmup: false };
    let mut merge = Merge::new(Participants { workers: 1, ..participants(Workload::Echo) }, order, 0, 0);
    merge.start(0, 0);
    let mut second = |t: u64, sent, received| {
        let is_late = t > 8;
        let counts = Counts { sent, received, late: if is_late { received } else { 0 }, ..Counts::default() };
        let tail = engine::Tail { received: counts.late, ..engine::Tail::default() };
        let mut delta = Delta { at_ns: t * S, last_arrival_ns: t * S, counts, tail, ..Delta::default() };
        let mut rtt = Histogram::new();
        rtt.record_n_ns(t * S / 2, received);
        delta.figures.rtt = Packed::from(&rtt);
        delta.figures.service = delta.figures.rtt.clone();
        merge.add(&delta);
    };
    for t in 1..=8 {
        second(t, 10, 5);
    }
    for t in 9..=15 {
        second(t, 0, 5);
    }
    second(16, 0, 4);
    second(76, 0, 1);
    merge.end_load(8 * S);
    let step = merge.finish(80 * S, Ending::Complete);
    assert_eq!((step.counts.received, step.rates.achieved_per_s), (80, Some(5.0)));
}
