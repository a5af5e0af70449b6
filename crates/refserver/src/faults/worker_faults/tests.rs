use super::*;
use crate::faults::{Delay, Ending, MessageSelector, Selector, Time, Wave};

const TOKEN: u64 = 5;

fn worker_faults(faults: Faults) -> WorkerFaults {
    WorkerFaults::new(Arc::new(Shared::new(faults, 0)))
}

fn one(number: u64) -> Option<MessageSelector> {
    Some(MessageSelector { selector: Selector::One(number), of_each_client: false })
}

fn all() -> MessageSelector {
    MessageSelector { selector: Selector::All, of_each_client: false }
}

/// Text frames of one letter each.
fn frames(letters: &str) -> Vec<u8> {
    letters.bytes().flat_map(|letter| [0x81, 1, letter]).collect()
}

fn letters(frames: &[u8]) -> String {
    frames.chunks(3).map(|frame| char::from(frame[2])).collect()
}

/// Gives the output that is sent at once for these messages together.
fn through(faults: Faults, messages: &str) -> String {
    let mut faults = worker_faults(faults);
    let mut client = faults.client();
    letters(faults.handle_messages(&mut client, TOKEN, &frames(messages), EVERYTHING, 0))
}

#[test]
fn messages_are_dropped_doubled_swapped_and_corrupted() {
    assert_eq!(through(Faults::default(), "abcd"), "abcd");
    assert_eq!(through(Faults { drop: one(1), ..Faults::default() }, "abcd"), "acd");
    assert_eq!(through(Faults { duplicate: one(1), ..Faults::default() }, "abcd"), "abbcd");
    assert_eq!(through(Faults { reorder: one(1), ..Faults::default() }, "abcd"), "acbd");
    assert_eq!(through(Faults { corrupt: one(1), ..Faults::default() }, "abcd"), "accd");
    let both = Faults { drop: one(1), duplicate: one(1), ..Faults::default() };
    assert_eq!(through(both, "abcd"), "acd", "what is dropped is not doubled");
}

#[test]
fn a_delayed_message_holds_nobody_up() {
    let delay = Delay { time: Time::Fixed(100), which: one(0).unwrap() };
    let mut faults = worker_faults(Faults { delays: vec![delay], ..Faults::default() });
    let mut client = faults.client();
    assert_eq!(letters(faults.handle_messages(&mut client, TOKEN, &frames("ab"), EVERYTHING, 7)), "b");
    assert_eq!(faults.poll_timeout(7), Some(107));
    assert_eq!(faults.poll_later(106), None);
    assert_eq!(faults.poll_later(107), Some((TOKEN, frames("a"))));
    assert_eq!(faults.poll_timeout(107), None);
}

#[test]
fn swapped_messages_keep_their_delays() {
    for (delayed, at_once) in [(0, "b"), (1, "")] {
        let delays = vec![Delay { time: Time::Fixed(100), which: one(delayed).unwrap() }];
        let mut faults = worker_faults(Faults { delays, reorder: one(0), ..Faults::default() });
        let mut client = faults.client();
        let sent = faults.handle_messages(&mut client, TOKEN, &frames("ab"), EVERYTHING, 7);
        assert_eq!(letters(sent), at_once);
        assert_eq!(faults.poll_later(106), None);
        let late = std::iter::from_fn(|| faults.poll_later(107)).map(|(_, bytes)| letters(&bytes));
        assert_eq!(at_once.to_owned() + &late.collect::<String>(), "ba");
    }
}

#[test]
fn each_message_without_room_is_counted() {
    let delays = vec![Delay { time: Time::Fixed(100), which: all() }];
    let mut faults =
        worker_faults(Faults { delays, duplicate: Some(all()), reorder: one(0), ..Faults::default() });
    let mut client = faults.client();
    faults.later_bytes = LATER_BYTES_MAX;
    faults.handle_messages(&mut client, TOKEN, &frames("ab"), EVERYTHING, 0);
    assert_eq!(faults.counts()["overflow"], 4);
}

#[test]
fn service_is_serial_and_ticks_follow() {
    let shared = Shared::new(Faults { service_ns: Some(10), ..Faults::default() }, 0);
    let served: Vec<u64> = [0, 0, 5, 100].map(|now_ns| shared.release_ns(now_ns, 0)).into();
    assert_eq!(served, [10, 20, 30, 110]);
    let ticking = Faults { service_ns: Some(10), tick_ns: Some(100), ..Faults::default() };
    let shared = Shared::new(ticking, 1_000);
    assert_eq!([1_000, 1_000, 1_085].map(|now_ns| shared.release_ns(now_ns, 75)), [1_100, 1_100, 1_200]);
}

#[test]
fn an_ended_client_gets_nothing_more() {
    for (how, number) in [(CloseMethod::Reset, 0), (CloseMethod::Mute, 1)] {
        let ending = Ending { how, who: Selector::One(number), at: 1 };
        let mut faults = worker_faults(Faults { endings: vec![ending], ..Faults::default() });
        let mut clients = [faults.client(), faults.client()];
        let ended = &mut clients[number as usize];
        assert_eq!(letters(faults.handle_messages(ended, TOKEN, &frames("abc"), EVERYTHING, 0)), "a");
        assert_eq!(letters(faults.handle_messages(ended, TOKEN, &frames("d"), EVERYTHING, 0)), "");
        assert!(faults.is_deaf(Some(ended), TOKEN, 0));
        assert_eq!(faults.poll_deferred(), Some(DeferredFault::End(TOKEN, how)));
        let other = &mut clients[1 - number as usize];
        assert_eq!(letters(faults.handle_messages(other, TOKEN, &frames("abc"), EVERYTHING, 0)), "abc");
    }
}

#[test]
fn stray_copies_are_sound() {
    let mut faults = worker_faults(Faults { stray: Some(all()), corrupt: Some(all()), ..Faults::default() });
    let mut client = faults.client();
    assert_eq!(letters(faults.handle_messages(&mut client, TOKEN, &frames("a"), EVERYTHING, 0)), "`");
    assert_eq!(faults.poll_deferred(), Some(DeferredFault::Stray(TOKEN, frames("a"))));
    assert_eq!(faults.counts().get("stray"), None, "nobody has got it yet");
}

#[test]
fn unread_input_comes_up_after_deafness() {
    let deaf = Some(Wave { length_ns: 10, period_ns: 100 });
    let mut faults = worker_faults(Faults { deaf, ..Faults::default() });
    assert!(!faults.is_deaf(None, TOKEN, 89));
    assert!(faults.is_deaf(None, TOKEN, 95));
    assert_eq!(faults.poll_timeout(95), Some(100));
    assert_eq!(faults.poll_unread(99), None);
    assert_eq!(faults.poll_unread(100), Some(TOKEN));
    assert_eq!(faults.poll_timeout(100), None);
}
