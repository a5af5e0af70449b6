//! How agents and a coordinator meet: which agents are there, and which coordinator each works for.
//!
//! In JSON, because the two may be of different versions and must be able to find that out. Everything else
//! goes over [transports](crate::transport), in a form that both sides share.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use crew::ProcessCapacity;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The version that both ends must share: the program's version, and the version of the messages.
pub const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "/9");

/// The subject where all agents listen for calls.
pub(crate) const CALL: &str = "throng.call";

/// The most workers of an agent.
pub const WORKERS_MAX: u16 = 1_024;

/// The longest introduction that is read.
const INTRODUCTION_BYTES_MAX: usize = 16 << 10;
/// The longest name or label.
const NAME_BYTES_MAX: usize = 64;
/// The longest description of a machine.
const MACHINE_BYTES_MAX: usize = 256;
/// The most labels.
const LABELS_MAX: usize = 32;

/// `zone=a`: what an agent says of its machine.
pub type Labels = BTreeMap<String, String>;

/// Reads `key=value`.
///
/// # Errors
/// What is expected, for the user.
pub fn label(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("expected KEY=VALUE, such as zone=a")?;
    for part in [key, value] {
        name(part)?;
    }
    Ok((key.to_owned(), value.to_owned()))
}

/// Checks a name: it stands in subjects, tables and messages.
///
/// # Errors
/// What is expected, for the user.
pub fn name(text: &str) -> Result<String, String> {
    let fits = (1..=NAME_BYTES_MAX).contains(&text.len());
    let plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    match fits && plain {
        true => Ok(text.to_owned()),
        false => Err(format!("{text:?}: expected 1 to {NAME_BYTES_MAX} letters, digits, '-', '_' or '.'")),
    }
}

/// A message to all agents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Call {
    /// Asks which agents are there.
    Who,
    /// Leave the run that you work for.
    Stop,
    /// Leave this run: signed, for agents that obey one key alone.
    End { run: String, signature: Vec<u8> },
}

/// An agent's introduction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// The version of the agent and of its messages.
    pub version: String,
    /// The agent's id, made when it started: it names the subjects that the agent listens to.
    pub id: String,
    /// The agent's name.
    pub name: String,
    /// Its labels.
    #[serde(default)]
    pub labels: Labels,
    /// Worker threads it would have.
    pub threads: u16,
    /// Clients that one of its processes may have.
    pub clients_per_process: u32,
    /// The run that it works for.
    #[serde(default)]
    pub run: Option<String>,
    /// Its introduction as a target agent; `None` if it loads servers.
    #[serde(default)]
    pub host: Option<HostHello>,
    /// The public part of the key to which messages to it are sealed.
    pub sealed_to: String,
    /// The key that it obeys; `None` if it obeys any coordinator that reaches it.
    #[serde(default)]
    pub lock: Option<ClaimChallenge>,
}

/// The proof that a claim needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimChallenge {
    /// The key that has to sign it.
    pub key: String,
    /// The nonce to sign with it: good for one claim.
    pub word: String,
}

/// A target agent's machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostHello {
    /// The address of its servers.
    pub address: Ipv4Addr,
    /// CPU, cores, memory and kernel, in words.
    pub machine: String,
}

impl Hello {
    /// Returns whether an introduction can be true: it came over a network.
    fn is_sound(&self) -> bool {
        let lock_words = self.lock.iter().flat_map(|lock| [&lock.key, &lock.word]);
        let words = [&self.id, &self.name, &self.sealed_to].into_iter().chain(&self.run).chain(lock_words);
        let labels = self.labels.iter().flat_map(|(key, value)| [key, value]);
        self.labels.len() <= LABELS_MAX
            && words.chain(labels).all(|word| name(word).is_ok())
            && self.version.len() <= NAME_BYTES_MAX
            && self.version.chars().all(stats::is_shown)
            // In a subject, a dot would make several tokens of it, and a wildcard stands for one.
            && !self.id.contains('.')
            && (1..=WORKERS_MAX).contains(&self.threads)
            && self.clients_per_process > 0
            && self.host.iter().all(|host| {
                host.machine.len() <= MACHINE_BYTES_MAX && host.machine.chars().all(stats::is_shown)
            })
    }

    /// The capacity of each of its processes.
    pub(crate) fn capacity(&self) -> ProcessCapacity {
        ProcessCapacity::of(self.clients_per_process, self.threads)
    }

    /// Returns whether it has all of these labels.
    pub(crate) fn has(&self, labels: &Labels) -> bool {
        labels.iter().all(|(key, value)| self.labels.get(key) == Some(value))
    }
}

/// Claims one agent for a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Claim {
    pub(crate) version: String,
    pub(crate) run: String,
    /// The agent's number in the run.
    pub(crate) index: u16,
    /// Marks packets that belong to this claim.
    pub(crate) session: u64,
    /// The public part of the key with which what follows is sealed.
    #[serde(default)]
    pub(crate) sealed_by: String,
    /// The signature by the key that the agent obeys, if it obeys only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) signature: Option<Vec<u8>>,
}

/// An agent's answer to a claim.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ClaimAnswer {
    /// Why the agent refuses; `None` if it accepts.
    #[serde(default)]
    pub(crate) refused: Option<String>,
}

/// Tells a coordinator which key an agent obeys.
pub(crate) fn wants_key(key: &str) -> String {
    format!("wants orders signed by the key {key}")
}

/// An introduction as bytes.
pub(crate) fn write(message: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(message).expect("our messages can be encoded")
}

/// Reads an introduction; `None` if it is malformed or too long.
pub(crate) fn read<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    (bytes.len() <= INTRODUCTION_BYTES_MAX).then(|| serde_json::from_slice(bytes).ok())?
}

/// Reads what an agent says of itself.
pub(crate) fn read_hello(bytes: &[u8]) -> Option<Hello> {
    read(bytes).filter(Hello::is_sound)
}

/// The subject of an agent's claims.
pub(crate) fn claim_subject(id: &str) -> String {
    format!("throng.agent.{id}.claim")
}

/// The subject of messages to an agent.
pub(crate) fn down_subject(id: &str) -> String {
    format!("throng.agent.{id}.down")
}

/// The subject of questions for a server's usage.
pub(crate) fn look_subject(id: &str) -> String {
    format!("throng.agent.{id}.look")
}

/// The subject of messages from agent number `index` of a run.
pub(crate) fn up_subject(run: &str, index: u16) -> String {
    format!("throng.run.{run}.{index}")
}

/// A unique name.
pub(crate) fn unique() -> String {
    format!("{:016x}", fastrand::u64(..))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello() -> Hello {
        Hello {
            version: VERSION.into(),
            id: unique(),
            name: "rack-7.b".into(),
            labels: [("zone".to_owned(), "a".to_owned())].into(),
            threads: 2,
            clients_per_process: 19_936,
            run: None,
            host: Some(HostHello { address: Ipv4Addr::LOCALHOST, machine: "2 cores".into() }),
            sealed_to: "X".repeat(56),
            lock: Some(ClaimChallenge { key: "U".repeat(56), word: unique() }),
        }
    }

    #[test]
    fn an_agent_is_known_by_what_it_says() {
        let hello = hello();
        assert_eq!(read_hello(&write(&hello)).as_ref(), Some(&hello));
        assert!(hello.has(&Labels::new()) && hello.has(&[label("zone=a").unwrap()].into()));
        assert!(
            !hello.has(&[label("zone=b").unwrap()].into()) && !hello.has(&[label("rack=a").unwrap()].into())
        );
    }

    #[test]
    fn later_additions_do_not_hide_the_version() {
        let text = String::from_utf8(write(&hello())).unwrap().replacen('{', "{\"colour\":\"red\",", 1);
        assert_eq!(read_hello(text.as_bytes()).map(|hello| hello.version), Some(VERSION.into()));
    }

    #[test]
    fn implausible_introductions_are_not_read() {
        let bad = |change: fn(&mut Hello)| {
            let mut hello = hello();
            change(&mut hello);
            write(&hello)
        };
        let cases = [
            bad(|hello| hello.id = "a.>".into()),
            bad(|hello| hello.id = "a.b".into()),
            bad(|hello| hello.name = String::new()),
            bad(|hello| hello.name = "\u{1b}[2J".into()),
            bad(|hello| hello.sealed_to = String::new()),
            bad(|hello| hello.labels = (0..99).map(|k| (format!("k{k}"), "v".into())).collect()),
            bad(|hello| hello.labels = [("k".into(), "v".repeat(999))].into()),
            bad(|hello| hello.threads = 0),
            bad(|hello| hello.host.as_mut().unwrap().machine = "\u{1b}[2J".into()),
            bad(|hello| hello.host.as_mut().unwrap().machine = "x".repeat(999)),
            bad(|hello| hello.clients_per_process = 0),
            bad(|hello| hello.lock.as_mut().unwrap().key = "\u{1b}[2J".into()),
            bad(|hello| hello.lock.as_mut().unwrap().word = "x".repeat(999)),
            bad(|hello| hello.version = "9".repeat(1 << 15)),
            bad(|hello| hello.version = "\u{1b}]0;9\u{7}".into()),
            b"[".repeat(9_999),
            b"null".to_vec(),
            Vec::new(),
        ];
        for bytes in cases {
            assert_eq!(
                read_hello(&bytes),
                None,
                "{}",
                String::from_utf8_lossy(&bytes[..bytes.len().min(200)])
            );
        }
    }

    #[test]
    fn labels_have_a_key_and_a_value() {
        assert_eq!(label("zone=a"), Ok(("zone".into(), "a".into())));
        for bad in ["zone", "=a", "zone=", "zo ne=a", "zone=a=b", "zone=a*"] {
            assert!(label(bad).is_err(), "{bad}");
        }
    }
}
