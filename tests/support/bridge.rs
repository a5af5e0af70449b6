//! A liar at the bus: everything between a coordinator and an agent goes through it, and it alters what it likes.
//!
//! The agent is at a NATS of its own. What it is asked and what it says is carried over as it is, so that all
//! that is altered was genuine: who is there, claims and their answers, and packets. Only their keys the
//! bridge replaces by its own, as whoever can answer in an agent's place can: so it reads what is sealed, and
//! seals what it altered.

use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use nkeys::XKey;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::peer::{Content, Down, Heard, Packet, Peer, Up, publish};

/// NATS cuts off who publishes much more.
const BYTES_MAX: usize = 1_000_000;

/// The way that a packet goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// A packet from the coordinator.
    Down,
    /// A packet from the agent.
    Up,
}

/// Makes other packets of one.
pub trait Alter: FnMut(Way, &[u8]) -> Option<Vec<Vec<u8>>> + Send + 'static {}

impl<F: FnMut(Way, &[u8]) -> Option<Vec<Vec<u8>>> + Send + 'static> Alter for F {}

/// A bridge between two NATS. Dropped, it is gone.
pub struct Bridge {
    streams: [TcpStream; 2],
    lies: Arc<AtomicUsize>,
}

impl Bridge {
    /// Carries what goes between the coordinators at one NATS and the agents at the other. In the place of a
    /// packet goes what `alter` makes of it; `None`: it goes as it is.
    pub fn between(coordinators: SocketAddr, agents: SocketAddr, mut alter: impl Alter) -> Bridge {
        let (sender, heard) = mpsc::channel();
        let asked = ["throng.call", "throng.agent.>"];
        let front = Peer::join(coordinators, &asked, sender.clone(), |heard| (Way::Down, heard));
        let said = ["throng.run.>", "_INBOX.>"];
        let back = Peer::join(agents, &said, sender, |heard| (Way::Up, heard));
        let lies = Arc::new(AtomicUsize::new(0));
        let bridge = Bridge {
            streams: [front.try_clone().unwrap(), back.try_clone().unwrap()],
            lies: Arc::clone(&lies),
        };
        thread::spawn(move || {
            let mut keys = Keys { own: XKey::new(), agent: None, coordinator: None };
            for (way, Heard { subject, reply, bytes }) in heard {
                let is_packet = subject.ends_with(".down") || subject.starts_with("throng.run.");
                let bytes = if is_packet { keys.opened(way, bytes) } else { keys.exchanged(way, bytes) };
                let altered = if is_packet { alter(way, &bytes) } else { None };
                lies.fetch_add(altered.is_some().into(), Ordering::Relaxed);
                let stream = if way == Way::Down { &back } else { &front };
                for bytes in altered.unwrap_or_else(|| vec![bytes]) {
                    let bytes = if is_packet { keys.sealed(way, bytes) } else { bytes };
                    if !publish(stream, &subject, reply.as_deref(), &bytes) {
                        return;
                    }
                }
            }
        });
        bridge
    }

    /// How many packets were altered.
    pub fn lies(&self) -> usize {
        self.lies.load(Ordering::Relaxed)
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        for stream in &self.streams {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

/// Keys with which a bridge reads orders, and to pass for whoever gave them.
struct Keys {
    own: XKey,
    agent: Option<XKey>,
    coordinator: Option<XKey>,
}

impl Keys {
    /// An agent's introduction, or a claim, with the bridge's key in the place of theirs.
    fn exchanged(&mut self, way: Way, bytes: Vec<u8>) -> Vec<u8> {
        let (name, theirs) = match way {
            Way::Up => ("sealed_to", &mut self.agent),
            Way::Down => ("sealed_by", &mut self.coordinator),
        };
        let Ok(mut said) = serde_json::from_slice::<Value>(&bytes) else { return bytes };
        let Some(key) = said.get_mut(name) else { return bytes };
        *theirs = XKey::from_public_key(key.as_str().unwrap_or_default()).ok();
        *key = self.own.public_key().into();
        serde_json::to_vec(&said).unwrap()
    }

    /// An order as it was before it was sealed; anything else as it is.
    fn opened(&self, way: Way, bytes: Vec<u8>) -> Vec<u8> {
        self.changed(way, bytes, |sealed| self.own.open(sealed, self.coordinator.as_ref()?).ok())
    }

    /// The same, sealed for the agent.
    fn sealed(&self, way: Way, bytes: Vec<u8>) -> Vec<u8> {
        self.changed(way, bytes, |order| self.own.seal(order, self.agent.as_ref()?).ok())
    }

    /// Alters an order that fits into one part.
    fn changed(&self, way: Way, bytes: Vec<u8>, of: impl FnOnce(&[u8]) -> Option<Vec<u8>>) -> Vec<u8> {
        let packet = if way == Way::Down { Packet::read(&bytes) } else { None };
        let Some(Packet { content: Content::Part { number, last: true, bytes: part }, session, ack }) =
            packet
        else {
            return bytes;
        };
        match of(&part) {
            Some(bytes) => {
                Packet { content: Content::Part { number, last: true, bytes }, session, ack }.write()
            }
            None => bytes,
        }
    }
}

/// The packet with its bytes damaged: some turned around, cut off, doubled, or others in their place.
pub fn damaged(bytes: &[u8], rng: &mut fastrand::Rng) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..rng.usize(1..4) {
        let place = rng.usize(..bytes.len().max(1));
        match rng.u8(..6) {
            0 => bytes.truncate(place),
            1 => bytes.extend_from_within(place.min(bytes.len())..),
            2 => {
                for byte in bytes.iter_mut().skip(place).take(4) {
                    *byte = 0xff;
                }
            }
            3 => bytes.insert(place.min(bytes.len()), rng.u8(..)),
            _ => {
                if let Some(byte) = bytes.get_mut(place) {
                    *byte ^= 1 << rng.u8(..8);
                }
            }
        }
    }
    bytes.truncate(BYTES_MAX);
    bytes
}

/// The packet with its message changed, as one who knows the protocol changes it; `None`: it carries no whole
/// message, or the message stays as it is.
pub fn retold<T: Serialize + DeserializeOwned>(
    bytes: &[u8],
    tell: impl FnOnce(T) -> Option<T>,
) -> Option<Vec<u8>> {
    let packet = Packet::read(bytes)?;
    let Content::Part { number, last: true, bytes } = packet.content else { return None };
    let told = tell(postcard::from_bytes(&bytes).ok()?)?;
    let bytes = postcard::to_stdvec(&told).unwrap();
    Some(Packet { content: Content::Part { number, last: true, bytes }, ..packet }.write())
}

/// Withholds the message that is `withheld`, and all that follows; says something else in its place, and
/// again with every answer to a beat: one who is there, and does not come to the point.
pub fn chatter(
    withheld: impl Fn(&Up) -> bool + Send + 'static,
    instead: impl Fn() -> Up + Send + 'static,
) -> impl Alter {
    let (mut is_withheld, mut next_number, mut added) = (false, 0, 0);
    move |way, bytes| {
        let mut packet = Packet::read(bytes)?;
        if way == Way::Down {
            packet.ack -= added.min(packet.ack);
            return Some(vec![packet.write()]);
        }
        let said = |number| {
            let bytes = postcard::to_stdvec(&instead()).unwrap();
            Packet { content: Content::Part { number, last: true, bytes }, ..packet.clone() }.write()
        };
        match &packet.content {
            Content::Part { number, bytes, .. } => {
                next_number = number + added + 1;
                is_withheld |= postcard::from_bytes(bytes).is_ok_and(|up| withheld(&up));
                is_withheld.then(|| vec![said(next_number - 1)])
            }
            _ if is_withheld => {
                (next_number, added) = (next_number + 1, added + 1);
                Some(vec![bytes.to_vec(), said(next_number - 1)])
            }
            _ => None,
        }
    }
}

/// The packet with one of its figures, words or lists another, wherever that is.
pub fn reworded(way: Way, bytes: &[u8], rng: &mut fastrand::Rng) -> Option<Vec<u8>> {
    let packet = Packet::read(bytes)?;
    match (way, &packet.content) {
        (Way::Down, Content::Part { last: true, .. }) => retold::<Down>(bytes, |down| another(&down, rng)),
        (Way::Up, Content::Part { last: true, .. }) => retold::<Up>(bytes, |up| another(&up, rng)),
        _ => another(&packet, rng).map(|packet| packet.write()),
    }
}

/// The same with one thing changed; `None`: nothing that was tried is of its type.
fn another<T: Serialize + DeserializeOwned>(message: &T, rng: &mut fastrand::Rng) -> Option<T> {
    let value = serde_json::to_value(message).ok()?;
    let places = leaves(&value);
    (0..20).find_map(|_| {
        let (mut value, place) = (value.clone(), rng.usize(..places.max(1)));
        change(&mut value, &mut { place }, rng);
        serde_json::from_value(value).ok()
    })
}

/// How many things there are that can be changed.
fn leaves(value: &Value) -> usize {
    match value {
        Value::Array(all) => 1 + all.iter().map(leaves).sum::<usize>(),
        Value::Object(all) => all.values().map(leaves).sum(),
        _ => 1,
    }
}

/// Changes the one at this place. True: done.
fn change(value: &mut Value, place: &mut usize, rng: &mut fastrand::Rng) -> bool {
    if let Value::Object(all) = value {
        return all.values_mut().any(|value| change(value, place, rng));
    }
    if *place == 0 {
        *value = otherwise(value, rng);
        return true;
    }
    *place -= 1;
    let inner = value.as_array_mut();
    inner.is_some_and(|all| all.iter_mut().any(|value| change(value, place, rng)))
}

fn otherwise(value: &Value, rng: &mut fastrand::Rng) -> Value {
    match value {
        Value::Bool(is) => Value::Bool(!is),
        Value::Number(number) if number.is_f64() => {
            let was = number.as_f64().unwrap_or(0.0);
            [0.0, -was, was * 1e6, was / 1e6, f64::MAX, f64::MIN_POSITIVE][rng.usize(..6)].into()
        }
        Value::Number(number) => {
            let was = number.as_i64().unwrap_or(0);
            let bounds = [u64::MAX, u64::MAX >> 1, u32::MAX.into(), u16::MAX.into(), 255, 1, 0];
            match rng.u8(..5) {
                0 => was.wrapping_add(1).into(),
                1 => was.wrapping_sub(1).into(),
                2 => was.wrapping_mul(1 << rng.u8(1..20)).into(),
                3 => (rng.u64(..) >> rng.u8(..64)).into(),
                _ => bounds[rng.usize(..bounds.len())].into(),
            }
        }
        Value::String(text) => {
            let words = ["", "\u{1b}[2J\u{1b}]0;x\u{7}", "../../etc/passwd", "ping", "Ready"];
            match rng.usize(..words.len() + 2) {
                k if k < words.len() => words[k].into(),
                _ => format!("{text}{}", "x".repeat(rng.usize(..4_000))).into(),
            }
        }
        Value::Array(all) => {
            let mut all = all.clone();
            match rng.u8(..4) {
                0 => all.clear(),
                1 => _ = all.pop(),
                2 => all.reverse(),
                _ => all.extend(all.clone()),
            }
            all.into()
        }
        Value::Null => [Value::from(0), Value::from("x"), Value::from(true)][rng.usize(..3)].clone(),
        Value::Object(_) => value.clone(),
    }
}
