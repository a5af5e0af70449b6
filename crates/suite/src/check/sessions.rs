//! Checks of a dialect by its own clients: echoes, small and large, and broadcasts that come exactly once.

use std::thread;
use std::time::{Duration, Instant};

use app::Kind;
use codec::Stamp;
use wire::{DialectId, Event, Payload, Role};

use super::streams;
use crate::manifest::{Ability, Target};
use crate::visit::{ANSWER_MAX, Route, Visitor};

/// How many clients hear a broadcast.
const CLIENTS: usize = 3;
/// How long is listened for what should not come: second copies.
const QUIET: Duration = Duration::from_millis(150);
/// A message that does not fit into one read, nor into a frame's 16-bit length.
const LARGE_BYTES: u32 = 64 << 10;

/// Checks one dialect at its URL.
pub(super) fn check(url: &str, dialect: DialectId, target: &Target) -> Result<(), String> {
    let can_echo = target.can(Ability::Echo) && !dialect.facts().only_receives;
    for padding in [None, Some(LARGE_BYTES)] {
        let payload = Payload { padding, text: false };
        let route = Route { url, socket: None, dialect, options: &target.speech, payload };
        let size = padding.map_or(String::new(), |_| " of 64 KiB".to_owned());
        if can_echo {
            echo(&route).map_err(|why| format!("echo{size}: {why}"))?;
        }
    }
    let route = Route { url, socket: None, dialect, options: &target.speech, payload: Payload::default() };
    if target.can(Ability::Broadcast) && dialect.can_broadcast() {
        broadcast(&route, can_echo).map_err(|why| format!("broadcast: {why}"))?;
    }
    Ok(())
}

fn echo(route: &Route<'_>) -> Result<(), String> {
    Visitor::arrive(route, 0, ANSWER_MAX).and_then(|mut visitor| hear_echo(&mut visitor, route))
}

/// Sends one message and waits until it is back.
fn hear_echo(visitor: &mut Visitor, route: &Route<'_>) -> Result<(), String> {
    visitor.send(Kind::Echo, 1);
    let deadline = Instant::now() + ANSWER_MAX;
    loop {
        visitor.look(route)?;
        for event in visitor.events.drain(..) {
            match event {
                Event::Message { role: Role::Echo, stamp, .. } if stamp.seq == 1 => return Ok(()),
                Event::Message { role, .. } => return Err(format!("came back as {role:?}")),
                other => harmless(other)?,
            }
        }
        if Instant::now() > deadline {
            return Err(format!("nothing came back within {ANSWER_MAX:?}"));
        }
    }
}

/// How often one client has heard each of the broadcasts, and had its result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Heard {
    copies: [u32; CLIENTS],
    results: [u32; CLIENTS],
}

/// Each client sends one message; each of them comes to every client exactly once, its result to the sender alone.
fn broadcast(route: &Route<'_>, can_echo: bool) -> Result<(), String> {
    let arrive = |number| Visitor::arrive(route, number as u32, ANSWER_MAX);
    let mut visitors = (0..CLIENTS).map(arrive).collect::<Result<Vec<_>, _>>()?;
    if can_echo {
        // A server may count a client among all only after it has said that the connection is open. One that
        // has answered a message knows its sender.
        visitors.iter_mut().try_for_each(|visitor| hear_echo(visitor, route))?;
    }
    let only_receives = route.dialect.facts().only_receives;
    let expected: Vec<Heard> = (0..CLIENTS)
        .map(|number| {
            let mut results = [0; CLIENTS];
            // Some dialects have no result apart from the copy; clients that only receive have none.
            results[number] = u32::from(visitors[number].has_ack() && !only_receives);
            Heard { copies: [1; CLIENTS], results }
        })
        .collect();
    for (number, visitor) in visitors.iter_mut().enumerate() {
        if only_receives {
            let stamp = Stamp::new(0, 0, number as u32, 1, 1).to_text();
            let text = format!(r#"{{"id":"{}"}}"#, String::from_utf8_lossy(&stamp));
            streams::publish(route.url, &text)?;
        } else {
            visitor.send(Kind::Broadcast, number as u32);
        }
    }
    let mut heard = vec![Heard::default(); CLIENTS];
    let deadline = Instant::now() + ANSWER_MAX;
    let mut complete_since = None;
    while Instant::now() < deadline {
        for (visitor, heard) in visitors.iter_mut().zip(&mut heard) {
            listen(visitor, route, heard)?;
        }
        if heard == expected {
            let since = *complete_since.get_or_insert_with(Instant::now);
            // A second copy would come right behind the first: a moment is enough to see it.
            if since.elapsed() > QUIET {
                return Ok(());
            }
        } else if complete_since.is_some() {
            break; // something came twice
        }
        thread::yield_now();
    }
    Err(explain(&heard, &expected).to_string())
}

fn listen(visitor: &mut Visitor, route: &Route<'_>, heard: &mut Heard) -> Result<(), String> {
    visitor.look(route)?;
    for event in visitor.events.drain(..) {
        match event {
            Event::Message { role, stamp, .. } if (stamp.seq as usize) < CLIENTS => {
                let sender = stamp.seq as usize;
                match role {
                    Role::Copy => heard.copies[sender] += 1,
                    Role::Ack => heard.results[sender] += 1,
                    Role::Echo | Role::Answer { .. } => {
                        return Err("a broadcast came back as an echo".to_owned());
                    }
                }
            }
            other => harmless(other)?,
        }
    }
    Ok(())
}

/// Faults of a broadcast.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
enum BroadcastFault {
    #[error("client {client} got {got} copies of the message of client {sender}, not {due}")]
    Copies { client: usize, sender: usize, got: u32, due: u32 },
    #[error("client {client} got {got} results for the message of client {sender}, not {due}")]
    Results { client: usize, sender: usize, got: u32, due: u32 },
    #[error("something came after everything was there")]
    Late,
}

/// The first client and message that are not as they should be.
fn explain(heard: &[Heard], expected: &[Heard]) -> BroadcastFault {
    for (client, (heard, expected)) in heard.iter().zip(expected).enumerate() {
        for sender in 0..CLIENTS {
            let (copies, due) = (heard.copies[sender], expected.copies[sender]);
            if copies != due {
                return BroadcastFault::Copies { client, sender, got: copies, due };
            }
            let (results, due) = (heard.results[sender], expected.results[sender]);
            if results != due {
                return BroadcastFault::Results { client, sender, got: results, due };
            }
        }
    }
    BroadcastFault::Late
}

fn harmless(event: Event) -> Result<(), String> {
    match event {
        Event::Corrupt { .. } => Err("a message was changed on its way".to_owned()),
        Event::Rejected(rejection) => Err(rejection.to_string()),
        Event::Broken(failure) => Err(failure.to_string()),
        Event::WrongResponse(wrong) => Err(wrong.to_string()),
        Event::Closed { code } => Err(format!("the server closed with code {code}")),
        Event::LoggedIn
        | Event::Upgraded
        | Event::Usable
        | Event::Foreign { .. }
        | Event::Beside
        | Event::Pushed(_)
        | Event::Progress { .. }
        | Event::SameFrame
        | Event::Unmatched { .. }
        | Event::Taken { .. }
        | Event::Announced { .. }
        | Event::RoomChange { .. }
        | Event::Message { .. }
        | Event::Series { .. } => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_wrong_count_is_found() {
        let right = Heard { copies: [1; 3], results: [1, 0, 0] };
        let twice = Heard { copies: [1, 2, 1], ..right };
        let copies = BroadcastFault::Copies { client: 0, sender: 1, got: 2, due: 1 };
        assert_eq!(explain(&[twice], &[right]), copies);
        let silent = Heard { results: [0; 3], ..right };
        let results = BroadcastFault::Results { client: 0, sender: 0, got: 0, due: 1 };
        assert_eq!(explain(&[silent], &[right]), results);
        assert_eq!(explain(&[right], &[right]), BroadcastFault::Late);
    }
}
