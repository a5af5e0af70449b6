//! Connections of plain requests: when one is replaced, which requests are sent again, and when a client is
//! lost.

use app::Kind;
use codec::{Error, HttpReason};
use wire::{Event, Failure, HttpOptions, RequestOutcome, Sending};

use super::{OK, REQUEST, World};
use crate::common::stamp;

#[test]
fn orderly_closes_repeat_the_rest() {
    let last = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    let mut world = World::new(HttpOptions { pipelining: 3, ..HttpOptions::default() });
    world.send(0..3);
    world.receive(last).unwrap();
    assert_eq!((world.io.closed, world.io.opened), (1, 1));
    world.io.out.clear();
    world.open();
    assert_eq!(world.requests(), 2, "those that were not answered");
    world.receive(&OK.repeat(2)).unwrap();
    assert_eq!(world.answered(), (vec![0, 1, 2], vec![]));

    // Between answers, and with nothing to ask: a new one is made when there is.
    world.eof().unwrap();
    assert_eq!(world.io.opened, 1);
    assert_eq!(world.send([3]), 0);
    assert_eq!(world.io.opened, 2);
    world.open();
    assert_eq!(world.requests(), 1);
}

#[test]
fn a_body_may_end_with_its_connection() {
    let mut world = World::new(HttpOptions { expect_body: Some(b"all".to_vec()), ..HttpOptions::default() });
    world.send(0..2);
    world.receive("HTTP/1.0 200 OK\r\n\r\nal").unwrap();
    world.receive("l").unwrap();
    assert!(world.events.is_empty());
    world.eof().unwrap();
    assert_eq!(world.answered(), (vec![0], vec![]));
    assert_eq!(world.io.opened, 1);
}

#[test]
fn without_keep_alive_each_request_has_its_connection() {
    let mut world = World::new(HttpOptions { keep_alive: false, ..HttpOptions::default() });
    assert_eq!(world.send(0..2), 1);
    assert!(world.io.out.ends_with(b"\r\nConnection: close\r\n\r\n"));
    // Even where the server would go on.
    world.receive(OK).unwrap();
    assert_eq!((world.io.closed, world.io.opened), (1, 1));
    world.io.out.clear();
    world.open();
    assert_eq!(world.requests(), 1);
    world.receive(OK).unwrap();
    assert_eq!((world.io.closed, world.io.opened), (2, 1), "nothing left to ask");
    assert_eq!(world.answered(), (vec![0, 1], vec![]));
}

#[test]
fn a_connection_that_never_answered_loses_the_client() {
    let bad_head = Failure::Codec(Error::BadHttp(HttpReason::FieldLine));
    let cut = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf";
    for (answer, failure) in [
        ("", Failure::Codec(Error::EofBeforeAnswer)),
        ("HTTP/1.", Failure::Codec(Error::EofBeforeAnswer)),
        (cut, Failure::Codec(Error::EofBeforeAnswer)),
        ("SSH-2.0-OpenSSH\r\n", Failure::Codec(Error::NotHttp)),
        ("HTTP/1.1 200 OK\r\nA : b\r\n\r\n", bad_head),
        ("HTTP/1.1 101 Switching Protocols\r\n\r\n", Failure::Codec(Error::HttpStatus(101))),
    ] {
        // At first, and after a connection that did well.
        for before in [0, 1] {
            let mut world = World::new(HttpOptions::default());
            for number in 0..before {
                world.send([number]);
                world.receive(OK).unwrap();
            }
            world.send([before]);
            let result = world.receive(answer).and_then(|()| world.eof());
            if before == 0 {
                assert_eq!(result, Err(failure), "{answer}");
                continue;
            }
            assert_eq!(result, Ok(()), "{answer}");
            let behind = match failure {
                Failure::Codec(Error::NotHttp) => Failure::Codec(Error::BadHttp(HttpReason::Surplus)),
                other => other,
            };
            let broken = if answer.is_empty() { vec![] } else { vec![Event::Broken(behind)] };
            assert_eq!(world.answered(), (vec![0], broken), "{answer}");
            world.open();
            let result = world.receive(answer).and_then(|()| world.eof());
            assert_eq!(result, Err(failure), "{answer}, again");
        }
    }
}

#[test]
fn only_early_resets_fail_the_client() {
    let mut world = World::new(HttpOptions::default());
    world.send([0]);
    assert!(!world.client.handle_lost(&world.cfg, 0, 0, &mut world.io));

    let mut world = World::new(HttpOptions::default());
    world.send(0..2);
    world.receive(OK).unwrap();
    assert!(world.client.handle_lost(&world.cfg, 0, 0, &mut world.io));
    assert_eq!(world.io.opened, 1);
    world.io.out.clear();
    world.open();
    assert_eq!(world.requests(), 1);
}

#[test]
fn waiting_requests_are_told_once_when_sent() {
    let mut world = World::new(HttpOptions { pipelining: 2, ..HttpOptions::default() });
    let send = |world: &mut World, number| {
        world.client.send(&world.cfg, 9_000_000, 0, Kind::Echo, stamp(number), &mut world.io)
    };
    let busy = Sending::Waits { is_busy: true };
    assert_eq!([0, 1, 2, 3].map(|number| send(&mut world, number)), [Sending::Out, Sending::Out, busy, busy]);
    assert_eq!(world.io.request_outcomes, []);
    world.receive(OK).unwrap();
    let sent = |number| (number, RequestOutcome::Sent { bytes: REQUEST.len() as u32 });
    assert_eq!(world.io.request_outcomes, [sent(2)]);
    // What is sent again is no news.
    assert!(world.client.handle_lost(&world.cfg, 0, 0, &mut world.io));
    world.open();
    assert_eq!(world.io.request_outcomes, [sent(2)]);
    world.receive(&OK.repeat(2)).unwrap();
    assert_eq!(world.io.request_outcomes, [sent(2), sent(3)]);
    world.receive(OK).unwrap();
    // To wait for a connection is not to wait for an answer.
    world.eof().unwrap();
    assert_eq!([4, 5].map(|number| send(&mut world, number)), [Sending::Waits { is_busy: false }; 2]);
    assert_eq!(send(&mut world, 6), busy);
    world.open();
    assert_eq!(world.io.request_outcomes[2..], [sent(4), sent(5)]);
}

#[test]
fn only_idempotent_requests_are_sent_again() {
    type End = fn(&mut World);
    let ends: [(&str, End); 3] = [
        ("a reset", |world| assert!(world.client.handle_lost(&world.cfg, 0, 0, &mut world.io))),
        ("an end", |world| world.eof().unwrap()),
        ("rubbish", |world| world.receive("SSH-2.0-OpenSSH\r\n").unwrap()),
    ];
    for (method, again) in [("POST", 0), ("PATCH", 0), ("GET", 2), ("PUT", 2), ("DELETE", 2)] {
        for (name, end) in ends {
            let mut world =
                World::new(HttpOptions { method: method.into(), pipelining: 2, ..HttpOptions::default() });
            world.send(0..4);
            world.receive(OK).unwrap();
            end(&mut world);
            let dropped: Vec<u32> = world
                .io
                .request_outcomes
                .iter()
                .filter(|(_, outcome)| *outcome == RequestOutcome::Dropped)
                .map(|&(number, _)| number)
                .collect();
            assert_eq!(dropped, if again == 0 { vec![1, 2] } else { vec![] }, "{method}, {name}");
            world.io.out.clear();
            world.open();
            // What had not been sent yet is.
            assert_eq!(world.requests(), if again == 0 { 1 } else { 2 }, "{method}, {name}");
        }
    }
    // A server that has said which answer is its last has not done what follows.
    let mut world =
        World::new(HttpOptions { method: "POST".into(), pipelining: 2, ..HttpOptions::default() });
    world.send(0..2);
    world.receive("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n").unwrap();
    world.io.out.clear();
    world.open();
    assert_eq!((world.requests(), world.io.request_outcomes.len()), (1, 0));
}
