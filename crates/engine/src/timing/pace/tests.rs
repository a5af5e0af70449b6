//! Both models step by step: who sends, when, and how many.

use load::{Segment, Until};

use super::*;

fn always(_: u32, messages: u32) -> u32 {
    messages
}

/// A message that is due of this client, at this moment.
fn one(client: u32, intended_ns: u64) -> Next {
    Next::Send { client, intended_ns, messages: 1 }
}

const ALONE: Segment = Segment { worker: 0, workers: 1 };

fn paced(order: &StepOrder, start_ns: u64, clients: &[u32], seed: u64) -> Pace {
    let all = LocalSenders { share: 1.0, part: ALONE, clients: clients.to_vec() };
    Pace::new(order, all.clone(), vec![all], start_ns, seed)
}

fn order(load: Load) -> StepOrder {
    StepOrder { index: 0, clients: 3, load, warmup: false }
}

#[test]
fn open_goes_round_on_time_and_catches_up() {
    let order = order(Load::Open { schedule: Schedule::constant(10.0), duration_ns: 400_000_000 });
    let mut pace = paced(&order, 1_000, &[7, 8, 9], 0);
    assert_eq!(pace.poll(999, 1, always), Next::At(1_000));
    assert_eq!(pace.poll(1_000, 1, always), one(7, 1_000));
    assert_eq!(pace.poll(1_000, 1, always), Next::At(100_001_000));
    let late = 250_000_000;
    assert_eq!(pace.poll(late, 1, always), one(8, 100_001_000));
    assert_eq!(pace.poll(late, 1, always), one(9, 200_001_000));
    assert_eq!(pace.poll(late, 1, always), Next::At(300_001_000));
    assert_eq!(pace.poll(u64::MAX, 1, always), one(7, 300_001_000));
    assert_eq!(pace.poll(u64::MAX, 1, always), Next::Over);
    assert_eq!(pace.due_ns(0, 1), Some(300_001_000), "the second message of the first client");
}

#[test]
fn each_group_has_its_own_rate_and_turns() {
    let order = order(Load::Open { schedule: Schedule::constant(100.0), duration_ns: 1_000_000_000 });
    let group = |share, clients: &[u32]| LocalSenders { share, part: ALONE, clients: clients.to_vec() };
    let groups = vec![group(0.75, &[7, 8]), group(0.25, &[9])];
    let mut pace = Pace::new(&order, group(1.0, &[7, 8, 9]), groups, 0, 0);
    let (mut counts, mut last_ns) = ([0; 3], 0);
    while let Next::Send { client, intended_ns, .. } = pace.poll(u64::MAX, 1, always) {
        counts[client as usize - 7] += 1;
        assert!(intended_ns >= last_ns, "in the order in which they are due");
        last_ns = intended_ns;
    }
    assert_eq!(counts, [38, 37, 25]);
    assert_eq!(pace.poll(u64::MAX, 1, always), Next::Over);
    assert_eq!(pace.due_ns(0, 0), None, "whose it is is not known by its number");
}

#[test]
fn closed_loops_keep_their_slots_full() {
    let order = order(Load::Closed { concurrency: 2, per_client: 1, until: Until::Samples(3) });
    let mut pace = paced(&order, 0, &[7, 8, 9], 1);
    let Next::Send { client: first, .. } = pace.poll(5, 1, always) else { panic!("a slot is free") };
    let Next::Send { client: second, intended_ns: 6, .. } = pace.poll(6, 1, always) else {
        panic!("a slot is free")
    };
    assert_ne!(first, second);
    assert_eq!(pace.poll(7, 1, always), Next::Wait);
    pace.handle_answers(first, 1);
    assert!(matches!(pace.poll(8, 1, always), Next::Send { .. }));
    pace.handle_unsent(second, 1);
    let Next::Send { client: third, .. } = pace.poll(9, 1, always) else { panic!("it is to be sent again") };
    pace.handle_answers(third, 1);
    assert_eq!(pace.poll(9, 1, always), Next::Over);
}

#[test]
fn a_client_may_have_several_under_way() {
    let order = order(Load::Closed { concurrency: 9, per_client: 2, until: Until::Samples(9) });
    let mut pace = paced(&order, 0, &[7, 8], 1);
    let mut sent = Vec::new();
    while let Next::Send { client, .. } = pace.poll(5, 1, always) {
        sent.push(client);
    }
    sent.sort_unstable();
    assert_eq!(sent, [7, 7, 8, 8]);
    pace.handle_answers(8, 1);
    assert_eq!(pace.poll(6, 1, always), one(8, 6));
    assert_eq!(pace.poll(6, 1, always), Next::Wait);
}

#[test]
fn clients_send_their_room_at_once() {
    let order = order(Load::Closed { concurrency: 9, per_client: 3, until: Until::Samples(7) });
    let mut pace = paced(&order, 0, &[7, 8], 1);
    let sent = |messages, client| Next::Send { client, intended_ns: 5, messages };
    assert_eq!(pace.poll(5, 2, always), sent(2, 8), "no more than are asked for");
    assert_eq!([pace.poll(5, 9, always), pace.poll(5, 9, always)], [sent(1, 8), sent(3, 7)]);
    pace.handle_answers(8, 2);
    pace.handle_answers(7, 1);
    let Next::Send { messages: 1, .. } = pace.poll(6, 9, always) else { panic!("one is left") };
    assert_eq!(pace.poll(6, 9, always), Next::Over);
}

#[test]
fn few_senders_are_drawn_by_chance() {
    let clients: Vec<u32> = (0..100).collect();
    let order = order(Load::Closed { concurrency: 100, per_client: 1, until: Until::Samples(10) });
    let mut pace = paced(&order, 0, &clients, 1);
    let mut sent = Vec::new();
    while let Next::Send { client, .. } = pace.poll(5, 99, always) {
        sent.push(client);
    }
    assert!(sent.len() == 10 && sent.iter().any(|&client| client < 50), "{sent:?}");
}

#[test]
fn closed_ends_on_time() {
    let order =
        order(Load::Closed { concurrency: 1, per_client: 1, until: Until::Elapsed { duration_ns: 100 } });
    let mut pace = paced(&order, 1_000, &[7], 0);
    assert!(matches!(pace.poll(1_000, 1, always), Next::Send { .. }));
    assert_eq!(pace.poll(1_050, 1, always), Next::At(1_100));
    pace.handle_answers(7, 1);
    assert_eq!(pace.poll(1_100, 1, always), Next::Over);
}

#[test]
fn absent_clients_are_passed_over_until_back() {
    let open = order(Load::Open { schedule: Schedule::constant(10.0), duration_ns: 400_000_000 });
    let mut pace = paced(&open, 0, &[7, 8, 9], 0);
    pace.pass_over_absent();
    let now_ns = 300_000_000;
    let without_8 = |client, messages| if client == 8 { 0 } else { messages };
    assert_eq!(pace.poll(now_ns, 1, without_8), one(7, 0));
    assert_eq!(pace.poll(now_ns, 1, without_8), one(9, 100_000_000));
    assert_eq!(pace.poll(now_ns, 1, always), one(7, 200_000_000));
    pace.handle_return(8);
    assert_eq!(pace.poll(now_ns, 1, always), one(8, now_ns));

    let closed = order(Load::Closed { concurrency: 3, per_client: 1, until: Until::Samples(9) });
    let mut pace = paced(&closed, 0, &[7, 8], 0);
    assert_eq!(pace.poll(0, 1, without_8), one(7, 0));
    assert_eq!(pace.poll(0, 1, without_8), Next::Wait);
    pace.handle_return(8);
    assert_eq!(pace.poll(1, 1, always), one(8, 1));
}

#[test]
fn absent_clients_are_asked_once() {
    let order = order(Load::Open { schedule: Schedule::constant(1_000.0), duration_ns: 1_000_000_000 });
    let mut pace = paced(&order, 0, &[7, 8, 9], 0);
    pace.pass_over_absent();
    let asked = std::cell::Cell::new(0);
    let nobody = |_: u32, _: u32| {
        asked.set(asked.get() + 1);
        0
    };
    for _ in 0..100 {
        assert!(matches!(pace.poll(500_000_000, 1, nobody), Next::Send { .. }));
    }
    assert_eq!(asked.get(), 3);
    pace.handle_return(8);
    let only_8 = |client, messages| if client == 8 { messages } else { 0 };
    assert_eq!(pace.poll(500_000_000, 1, only_8), one(8, 100_000_000));
}

#[test]
fn a_lost_client_sends_nothing_more() {
    let order = order(Load::Closed { concurrency: 3, per_client: 1, until: Until::Samples(9) });
    let mut pace = paced(&order, 0, &[7, 8], 0);
    let without_8 = |client, messages| if client == 8 { 0 } else { messages };
    assert_eq!(pace.poll(0, 1, without_8), one(7, 0));
    assert_eq!(pace.poll(0, 1, without_8), Next::Wait);
    assert!(!pace.is_stranded(), "an answer may come");
    pace.handle_answers(7, 1);
    assert_eq!(pace.poll(0, 1, |_, _| 0), Next::Wait);
    assert!(pace.is_stranded(), "both are gone");
}

#[test]
fn in_a_storm_turns_are_no_numbers() {
    let storm =
        load::Storm { rate_per_s: Some(10.0), lead_ns: 0, duration_ns: 1, share: 0.0, window_ns: None };
    let pace = paced(&order(Load::Storm(storm)), 0, &[7, 8], 0);
    assert!(pace.awaits() && pace.due_ns(0, 0).is_none());
}

#[test]
fn storms_outlast_their_last_message() {
    let storm =
        load::Storm { rate_per_s: Some(1.0), lead_ns: 20, duration_ns: 100, share: 0.5, window_ns: None };
    let mut pace = paced(&order(Load::Storm(storm)), 5, &[7, 8], 0);
    let seen = [5, 5, 124, 125].map(|now_ns| pace.poll(now_ns, 1, always));
    assert_eq!(seen, [one(7, 5), Next::At(125), Next::At(125), Next::Over]);
}

#[test]
fn storms_without_senders_last_as_long() {
    let storm =
        load::Storm { rate_per_s: Some(1e9), lead_ns: 0, duration_ns: 100, share: 0.5, window_ns: None };
    let mut pace = paced(&order(Load::Storm(storm)), 5, &[], 0);
    assert_eq!((pace.poll(5, 1, always), pace.poll(105, 1, always)), (Next::At(105), Next::Over));
    let silent = load::Storm { rate_per_s: None, ..storm };
    let mut pace = paced(&order(Load::Storm(silent)), 5, &[7, 8], 0);
    assert_eq!((pace.poll(5, 1, always), pace.poll(105, 1, always)), (Next::At(105), Next::Over));
}
