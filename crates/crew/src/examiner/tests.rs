//! Reports as workers send them are accepted; changed in one detail that cannot be, they cost their worker
//! the run.

use engine::events::{Entry, Kind};
use engine::{Attendance, BroadcastTally, Departure, RoomPlace, SentBroadcast, Usage};
use net::clock;
use stats::Counts;

use super::*;
use crate::error::Error;
use crate::replay;
use crate::support::plan;

mod lies;

const SAMPLES: u64 = 20;
const CLIENTS: u32 = 4;

fn order() -> StepOrder {
    let load = Load::Closed { concurrency: 4, per_client: 1, until: Until::Samples(SAMPLES) };
    StepOrder { index: 0, clients: CLIENTS, load, warmup: false }
}

fn plan_of(workload: Workload) -> Plan {
    Plan { workload, epoch_ns: clock::monotonic_ns(), records_events: true, ..plan() }
}

/// A step of two workers with two clients each, of which each sends half of the messages.
fn honest(workload: Workload) -> Vec<Report> {
    let now_ns = clock::monotonic_ns();
    let half = SAMPLES / 2;
    let grown = |worker| {
        let counts = Counts { connects: 2, connected: 2, ..Counts::default() };
        let delta = Delta { worker, at_ns: now_ns, usable: 2, counts, ..Delta::default() };
        [Report::Delta(Box::new(delta)), Report::Grown { worker, usable: 2, slow: 0, reached: 2 }]
    };
    let loaded = |worker| {
        let received = if workload == Workload::Echo { half } else { 2 * SAMPLES };
        let counts = Counts { sent: half, received, ..Counts::default() };
        let usage = Usage { wall_ns: 1_000, cpu_ns: 1_000, ..Usage::default() };
        let acks = if workload == Workload::Echo { 0 } else { half };
        let (at_ns, last_arrival_ns) = (now_ns + 1, now_ns);
        let delta =
            Delta { worker, at_ns, usable: 2, last_arrival_ns, counts, usage, acks, ..Delta::default() };
        let entry = Entry::new(Kind::Send, 1, worker.into());
        let batch = Batch { entries: vec![entry], ..Batch::default() };
        let at_ns = now_ns;
        [Report::Events(batch), Report::Delta(Box::new(delta)), Report::Loaded { worker, sent: half, at_ns }]
    };
    let settled = |worker| {
        let delta = Delta { worker, at_ns: now_ns + 2, usable: 2, ..Delta::default() };
        let mut settled = Settled { worker, delta, ..Settled::default() };
        if workload == Workload::Broadcast {
            let sent = SentBroadcast {
                client: worker.into(),
                intended_ns: now_ns,
                sent_ns: now_ns,
                ..SentBroadcast::default()
            };
            settled.sent = vec![sent; half as usize];
            let copies =
                |of, number| BroadcastTally { worker: of, client: 0, number, received: 2, last_ns: now_ns };
            settled.tallies = (0..2).flat_map(|of| (0..half as u32).map(move |n| copies(of, n))).collect();
        }
        Report::Settled(Box::new(settled))
    };
    let mut reports: Vec<Report> = (0..2).flat_map(grown).collect();
    reports.extend((0..2).flat_map(loaded));
    reports.extend((0..2).map(settled));
    reports
}

/// Examines reports with this change.
fn outcome(workload: Workload, change: impl Fn(&mut Report)) -> Result<results::Step, Error> {
    let plan = plan_of(workload);
    let mut reports = honest(workload);
    for report in &mut reports {
        change(report);
    }
    replay(&plan, 2, order(), reports).map_err(|broken| broken.error)
}

#[test]
fn plausible_reports_are_believed() {
    for workload in [Workload::Echo, Workload::Broadcast] {
        let step = outcome(workload, |_| ()).unwrap();
        let received = if workload == Workload::Echo { SAMPLES } else { 4 * SAMPLES };
        assert_eq!((step.counts.sent, step.counts.received), (SAMPLES, received));
        assert_eq!((step.counts.expected, step.counts.missing), (received, 0));
    }
}

/// Changes the delta of worker 1 when it has sent everything.
fn in_load(change: impl Fn(&mut Delta)) -> impl Fn(&mut Report) {
    move |report| match report {
        Report::Delta(delta) if delta.worker == 1 && delta.counts.sent > 0 => change(delta),
        _ => {}
    }
}

/// Changes the books of worker 1.
fn in_books(change: impl Fn(&mut Settled)) -> impl Fn(&mut Report) {
    move |report| match report {
        Report::Settled(settled) if settled.worker == 1 => change(settled),
        _ => {}
    }
}

type Change = Box<dyn Fn(&mut Report)>;

/// Comings and goings: moments, rooms and how many.
fn attendance(changes: &[(u64, u32, i32)]) -> Change {
    let change = |&(at_ns, room, change): &(u64, u32, i32)| {
        let place = RoomPlace { room, ..RoomPlace::default() };
        Attendance { at_ns, place, change }
    };
    let attendance: Vec<Attendance> = changes.iter().map(change).collect();
    Box::new(in_books(move |settled| settled.attendance.clone_from(&attendance)))
}

/// A second worker that claims these numbers of clients.
fn grown(usable: u32, slow: u32, reached: u32) -> Change {
    Box::new(move |report| {
        if let Report::Grown { worker: worker @ 1, .. } = report {
            *report = Report::Grown { worker: *worker, usable, slow, reached };
        }
    })
}

/// Announcements, 99 of them, of one client that never joined a room.
fn newcomers(client: u32, kind: u16) -> Change {
    let newcomer = engine::Announced { client, kind, sent_ns: 0, is_void: false };
    Box::new(in_books(move |settled| settled.announced = vec![newcomer; 99]))
}

fn lies() -> Vec<(Fault, Change)> {
    let later_ns = || clock::monotonic_ns() + 2 * AHEAD_NS_MAX;
    let departure = |from_ns, to_ns| Departure { client: 1, from_ns, to_ns, received: 0 };
    let error = |kind: &str, count| {
        let mut errors = Errors::default();
        let example = String::new();
        errors.add_kind(kind, ErrorKind { count, first_ns: 0, last_ns: 0, example, local: false });
        errors
    };
    let (odd, many) = (error("\u{1b}[2J", 1), error("reset", u64::MAX));
    let mut lies: Vec<(Fault, Change)> = Vec::new();
    let mut add = |lie, change: Change| lies.push((lie, change));
    add(Fault::Share, grown(3, 0, 3));
    add(Fault::Share, grown(1, 2, 2));
    add(Fault::Share, grown(2, 0, u32::MAX));
    add(Fault::Share, Box::new(in_load(|delta| delta.usable = 3)));
    add(Fault::Connections, Box::new(in_load(|delta| delta.counts.connects = 1)));
    add(Fault::Connections, Box::new(in_load(|delta| delta.counts.connected = 1 << 44)));
    add(Fault::Counts, Box::new(in_load(|delta| delta.counts.received = u64::MAX)));
    add(Fault::Clients, Box::new(in_load(|delta| delta.counts.disconnects = 5)));
    add(Fault::Sent, Box::new(in_load(|delta| delta.counts.sent = SAMPLES + 1)));
    add(Fault::Pace, Box::new(in_load(|delta| delta.counts.duplicate = 1 << 40)));
    add(Fault::Pace, Box::new(in_load(|delta| delta.abandoned.receivers = u64::MAX)));
    add(Fault::Pace, Box::new(in_load(|delta| delta.usage.wall_ns = u64::MAX)));
    add(Fault::Pace, Box::new(in_load(|delta| delta.sent_bytes = u64::MAX)));
    add(Fault::Pace, Box::new(in_load(|delta| delta.received_bytes = u64::MAX)));
    add(Fault::Pace, Box::new(in_load(move |delta| delta.errors = many.clone())));
    add(Fault::ErrorWords, Box::new(in_load(move |delta| delta.errors = odd.clone())));
    add(Fault::Statuses, Box::new(in_load(|delta| _ = delta.statuses.insert(7, 1))));
    add(Fault::Answers, Box::new(in_load(|delta| _ = delta.statuses.insert(200, 1 << 40))));
    add(Fault::Time, Box::new(in_load(move |delta| delta.at_ns = later_ns())));
    add(Fault::Time, Box::new(in_load(move |delta| delta.last_arrival_ns = u64::MAX)));
    add(Fault::Departure, Box::new(in_books(move |settled| settled.departures = vec![departure(9, 3)])));
    add(Fault::Departure, Box::new(in_books(move |settled| settled.departures = vec![departure(3, 9)])));
    add(Fault::Books, Box::new(in_books(|settled| settled.delta.worker = 0)));
    add(
        Fault::Broadcasts,
        Box::new(in_books(|settled| {
            let sent = SentBroadcast { client: 1, intended_ns: 0, sent_ns: 0, ..SentBroadcast::default() };
            settled.sent = vec![sent; SAMPLES as usize];
        })),
    );
    add(Fault::Attendance, attendance(&[(9, 0, -1), (3, 0, 1)]));
    add(Fault::Attendance, attendance(&[(0, 0, 1)]));
    add(Fault::Attendance, attendance(&[(0, 0, -1), (3, 0, i32::MIN)]));
    add(Fault::Attendance, attendance(&[(0, 1, -1)]));
    add(Fault::Pace, Box::new(in_load(|delta| delta.due = u64::MAX)));
    for (worker, number, received) in [(2, 0, 1), (0, BROADCASTS_PER_WORKER_MAX, 1), (0, 0, u32::MAX)] {
        let tally = BroadcastTally { worker, client: 0, number, received, last_ns: 0 };
        add(Fault::Copies, Box::new(in_books(move |settled| settled.tallies = vec![tally])));
        add(Fault::Copies, Box::new(in_books(move |settled| settled.heard = vec![tally])));
    }
    for (client, kind) in [(1, 0), (0, 0), (1, 1)] {
        add(Fault::Newcomers, newcomers(client, kind));
    }
    let twice = vec![BroadcastTally { worker: 0, client: 0, number: 0, received: 2, last_ns: 0 }; 2];
    add(Fault::Copies, Box::new(in_books(move |settled| settled.tallies = twice.clone())));
    add(
        Fault::Sent,
        Box::new(|report| {
            if let Report::Loaded { worker: 1, sent, .. } = report {
                *sent = u64::MAX;
            }
        }),
    );
    lies
}

#[test]
fn implausible_reports_fail_their_worker() {
    for workload in [Workload::Echo, Workload::Broadcast] {
        for (lie, change) in lies() {
            let Err(Error::Worker { worker: 1, message }) = outcome(workload, change) else {
                panic!("{workload:?}: {lie:?} is believed");
            };
            assert!(message.ends_with(&format!(": {lie}")), "{lie:?}: {message}");
        }
    }
}

#[test]
fn small_implausible_reports_add_up() {
    let plan = plan_of(Workload::Echo);
    let mut twice = honest(Workload::Echo);
    let last = twice.pop().expect("books");
    twice.insert(twice.len() - 1, last.clone());
    twice.insert(twice.len() - 1, last);
    let error = replay(&plan, 2, order(), twice).map_err(|broken| broken.error.to_string()).err();
    assert!(error.is_some_and(|error| error.ends_with(&Fault::Closed.to_string())));
    let mut examiner = Examiner::new(&plan, 2);
    let began_ns = clock::monotonic_ns();
    examiner.begin(order(), began_ns);
    let counts = Counts { sent: 1, ..Counts::default() };
    let delta = Delta { worker: 1, at_ns: began_ns, usable: 2, counts, ..Delta::default() };
    let is_believed = |_: &u64| {
        let report = examiner.examine(Report::Delta(Box::new(delta.clone())), began_ns);
        matches!(report, Report::Delta(_))
    };
    assert_eq!((0..100).take_while(is_believed).count() as u64, SAMPLES / 2);
}

#[test]
fn forged_copies_end_no_run_of_own_workers() {
    let plan = plan_of(Workload::Broadcast);
    let now_ns = clock::monotonic_ns();
    let counts = Counts { connects: 2, connected: 2, received: 1_000_000, ..Counts::default() };
    let delta = Delta { worker: 1, at_ns: now_ns, usable: 2, counts, ..Delta::default() };
    let is_believed = |are_own| {
        let mut examiner = Examiner::new(&plan, 2).of_own(are_own);
        examiner.begin(order(), now_ns);
        matches!(examiner.examine(Report::Delta(Box::new(delta.clone())), now_ns), Report::Delta(_))
    };
    assert_eq!([true, false].map(is_believed), [true, false]);
}

#[test]
fn messages_of_workers_lose_control_characters() {
    let mut examiner = Examiner::new(&plan_of(Workload::Echo), 2);
    let now_ns = clock::monotonic_ns();
    examiner.begin(order(), now_ns);
    let mut errors = Errors::default();
    errors.add("reset", 1, "by \u{1b}]0;peer\u{7}");
    let delta = Delta { worker: 1, at_ns: now_ns, errors, ..Delta::default() };
    let Report::Delta(delta) = examiner.examine(Report::Delta(Box::new(delta)), now_ns) else { panic!() };
    assert_eq!(delta.errors.get("reset").unwrap().example, "by ]0;peer");
    let failed = Report::Failed { worker: 1, message: "\u{1b}[2Jgone".into() };
    let Report::Failed { message, .. } = examiner.examine(failed, now_ns) else { panic!() };
    assert_eq!(message, "[2Jgone");
}

#[test]
fn events_are_of_clients_that_there_are() {
    let plan = plan_of(Workload::Echo);
    let now_ns = clock::monotonic_ns();
    let examine = |plan: &Plan, batch: Batch| {
        let mut examiner = Examiner::new(plan, 2);
        examiner.begin(order(), now_ns);
        examiner.examine(Report::Events(batch), now_ns)
    };
    let of = |entry: Entry| Batch { entries: vec![entry], ..Batch::default() };
    let sound = of(Entry::new(Kind::Send, 1, 3));
    assert!(matches!(examine(&plan, sound.clone()), Report::Events(_)));
    let unasked = Plan { records_events: false, ..plan.clone() };
    assert!(matches!(examine(&unasked, sound.clone()), Report::Failed { worker: 1, .. }));
    for bad in [
        of(Entry::new(Kind::Send, 1, 5)),
        of(Entry::new(Kind::Send, u64::MAX, 3)),
        Batch { names: vec!["\u{1b}[2J".into()], ..sound.clone() },
        Batch { entries: vec![sound.entries[0]; BATCH_ENTRIES + 1], ..Batch::default() },
    ] {
        assert!(matches!(examine(&plan, bad), Report::Failed { worker: 1, .. }));
    }
    // No other worker is charged for names whose worker is not known.
    let words = Batch { names: vec!["bad name".into()], lost: 3, ..Batch::default() };
    let Report::Events(batch) = examine(&plan, words) else { panic!("somebody was blamed") };
    assert_eq!((batch.names.len(), batch.lost), (0, 3));
    let Report::Events(batch) = examine(&plan, Batch { lost: u64::MAX, ..sound }) else { panic!() };
    assert!(batch.lost < u64::MAX / 2, "as many as there can have been");
}
