//! The rules of a file for what is not measured: heartbeats, answers, pushes, errors, and what to ignore.

use std::collections::HashSet;

use super::{PUSHES_MIN, RULES_MAX, Session, free_name, keep};
use crate::carried::stomp::heartbeat_ms;
use crate::json::Leaf;
use crate::kind::{BEAT, Kind};
use crate::talk::Talk;
use crate::talk::purposes::Purpose;
use crate::toml_text::{TomlText, plain, quoted, times};
use crate::writing::Writing;

/// Names of messages with which servers refuse something.
const ERRORS: [&str; 5] = ["error", "err", "denied", "reject", "forbidden"];

impl Session<'_> {
    /// Heartbeats, answers, and what the server says by itself.
    pub(super) fn rules(
        &self,
        writing: &mut Writing<'_, '_>,
        out: &mut TomlText,
        findings: &mut Vec<String>,
    ) {
        let (talk, kinds, mut explained) = (self.talk, self.talk.kinds(false), self.explained());
        for (kind, purpose) in &self.purposes {
            let Some((at, message)) = talk.of(true, kind).next_back() else { continue };
            let event = message.turn.event.as_ref().map(|event| format!("event = {}", quoted(&plain(event))));
            let end = |text: String| format!("{text}{}", self.carried.separator.unwrap_or_default());
            match purpose {
                Purpose::Heartbeat { every_s } => {
                    out.comment(&format!("{}: said every {every_s:.1} s.", kind.name()));
                    out.line("[[heartbeat]]");
                    out.text("every", &format!("{}ms", ((every_s * 10.0).round() * 100.0).max(100.0)));
                    if let Some(event) = &event {
                        out.line(event);
                    }
                    out.text("send", &end(writing.message(at, None, 0)));
                    findings.push(format!("heartbeat   {} every {every_s:.1} s", kind.name()));
                }
                Purpose::Answer { to } => {
                    let Some(condition) = to.condition(&kinds) else { continue };
                    // An answer explains its question, which needs no rule of its own.
                    explained.insert(to);
                    out.comment(&format!("{}: answered each {}.", kind.name(), to.name()));
                    out.line(&format!("[[answer]]\nwhen = {condition}"));
                    if let Some(event) = &event {
                        out.line(event);
                    }
                    let asked = talk.question(at, to);
                    // Its values are those of the message that it answers, and no older ones.
                    writing.asked = Some(asked);
                    let text = end(writing.message(at, None, at));
                    writing.asked = None;
                    let keep = keep(writing, asked);
                    out.line(&format!("send = {}{keep}", quoted(&text)));
                    findings.push(format!("answer      {} → {}", to.name(), kind.name()));
                }
                Purpose::Broadcast(_) | Purpose::Echo(_) | Purpose::Opening => {}
            }
        }
        self.agreed_heartbeat(out, findings);
        let own_words = |kind: &Kind| self.purposes.iter().any(|(other, _)| other == kind);
        let is_open = |kind: &&&Kind| !explained.contains(**kind) || self.is_of_others(kind);
        let rules =
            kinds.iter().filter(is_open).filter_map(|kind| Some((*kind, kind.unasked_condition(&kinds)?)));
        let rules: Vec<(&Kind, String)> = rules.collect();
        let mut names = HashSet::new();
        for (kind, condition) in rules.iter().take(RULES_MAX) {
            let count = times(talk.of(false, kind).count());
            let is_foreign = explained.contains(*kind);
            let name = kind.name();
            if kind.is_named(&ERRORS) {
                out.comment(&format!("{name}: came {count}."));
                out.line(&format!("[[error]]\nkind = \"refused\"\nwhen = {condition}"));
            } else if let Some((number, time)) =
                pushed(talk, kind).filter(|_| !own_words(kind) && !is_foreign)
            {
                out.comment(&format!("{name}: came {count}, numbered, by itself."));
                out.line(&format!("[push.{}]\nwhen = {condition}", free_name(&mut names, kind)));
                out.text("number", &format!("json:{number}"));
                if let Some(pointer) = time {
                    out.text("time", &format!("json:{pointer}"));
                }
                findings.push(format!("push        {name}"));
            } else {
                let what = if is_foreign { "also of others, or older" } else { "the server's own" };
                out.comment(&format!("{name}: came {count}, {what}."));
                out.line(&format!("[[ignore]]\nwhen = {condition}"));
            }
        }
        if rules.len() > RULES_MAX {
            out.comment(&format!("left out: {} further kinds of messages.", rules.len() - RULES_MAX));
        }
    }

    /// The heartbeat of STOMP, on which both sides agreed: a session may be too short for one.
    fn agreed_heartbeat(&self, out: &mut TomlText, findings: &mut Vec<String>) {
        let talk = self.talk;
        // One beat alone has no interval, and says nothing of how often it is due.
        let is_own =
            |(kind, purpose): &(Kind, Purpose)| kind.is_beat() && !matches!(purpose, Purpose::Opening);
        let has_own = self.purposes.iter().any(is_own);
        let texts = talk.messages.iter().map(|message| message.turn.body.as_str());
        let Some(ms) = heartbeat_ms(texts).filter(|_| !has_own) else { return };
        out.comment("A line break, as often as CONNECT and CONNECTED agreed.");
        out.line("[[heartbeat]]");
        out.text("every", &format!("{ms}ms"));
        out.text("send", "\n");
        findings.push(format!("heartbeat   a line break every {:.1} s", ms as f64 / 1e3));
        if !talk.kinds(false).iter().any(|kind| kind.is_beat()) {
            out.line(&format!("\n[[ignore]]\nwhen = {{ regex = {} }}", quoted(BEAT)));
        }
    }

    /// Returns whether copies were heard that this client did not send: they have no id.
    fn is_of_others(&self, kind: &Kind) -> bool {
        let sent: usize = self
            .purposes
            .iter()
            .filter_map(|(_, purpose)| match purpose {
                Purpose::Broadcast(said) | Purpose::Echo(said)
                    if said.copy.as_ref() == Some(kind) && !said.to_others
                        || said.ack.as_ref() == Some(kind) && said.number.is_some() =>
                {
                    Some(said.count)
                }
                _ => None,
            })
            .sum();
        let published = self.published.iter().filter(|published| published.copy == kind);
        let sent = sent + published.map(|published| published.count).sum::<usize>();
        self.talk.of(false, kind).count() > sent
    }
}

/// The pointers of a number that counts and of a time, in messages that the server says by itself.
fn pushed(talk: &Talk, kind: &Kind) -> Option<(String, Option<String>)> {
    let messages: Vec<_> = talk.of(false, kind).map(|(_, message)| message).collect();
    let (first, _) = messages.split_first().filter(|_| messages.len() >= PUSHES_MIN)?;
    let value = |at: usize, leaf: &Leaf| {
        let found = messages[at].leaves.iter().find(|other| other.pointer == leaf.pointer)?;
        found.value.parse::<i64>().ok().filter(|_| found.is_number())
    };
    let counts = |leaf: &&Leaf| {
        let is_next = |at: usize| {
            value(at, leaf).is_some()
                && value(at, leaf) == value(at - 1, leaf).and_then(|before| before.checked_add(1))
        };
        leaf.is_reachable() && (1..messages.len()).all(is_next)
    };
    let number = first.leaves.iter().find(counts)?;
    let at_ms = first.turn.at_s * 1e3;
    let is_time = |leaf: &&Leaf| {
        leaf.is_number()
            && leaf.is_reachable()
            && leaf
                .value
                .parse::<f64>()
                .is_ok_and(|value| (value - at_ms).abs() < 86_400e3 || (value * 1e3 - at_ms).abs() < 86_400e3)
    };
    Some((number.pointer.clone(), first.leaves.iter().find(is_time).map(|leaf| leaf.pointer.clone())))
}
