//! The measured messages of a file: broadcasts, and an echo.

use std::collections::HashSet;

use super::{Session, free_name};
use crate::kind::Kind;
use crate::talk::purposes::{Purpose, Said};
use crate::toml_text::{TomlText, plain, times};
use crate::writing::Writing;

/// Kinds of measured messages that a file may have.
const SAYS_MAX: usize = 16;

/// A kind of measured messages.
pub(super) type Measured<'a> = (&'a Kind, &'a Said);

impl Session<'_> {
    /// The broadcasts, the echo, and the echoes that are left out: a file has one, the most frequent, and none
    /// beside several broadcasts.
    pub(super) fn measured(&self) -> (Vec<Measured<'_>>, Option<Measured<'_>>, Vec<Measured<'_>>) {
        let said = |is_broadcast: bool| {
            let said = self.purposes.iter().filter_map(move |(kind, purpose)| match purpose {
                Purpose::Broadcast(said) if is_broadcast => Some((kind, said)),
                Purpose::Echo(said) if !is_broadcast => Some((kind, said)),
                _ => None,
            });
            said.collect::<Vec<_>>()
        };
        let (mut broadcasts, mut echoes) = (said(true), said(false));
        echoes.sort_by_key(|(_, said)| usize::MAX - said.count);
        broadcasts.truncate(SAYS_MAX);
        let left_out = echoes.split_off(echoes.len().min(usize::from(broadcasts.len() <= 1)));
        (broadcasts, echoes.pop(), left_out)
    }

    /// Writes the measured messages; returns whether there are any.
    pub(super) fn says(
        &self,
        writing: &mut Writing<'_, '_>,
        out: &mut TomlText,
        findings: &mut Vec<String>,
    ) -> bool {
        let (broadcasts, echo, left_out) = self.measured();
        if broadcasts.is_empty() && echo.is_none() {
            return false;
        }
        let all: usize = broadcasts.iter().map(|(_, said)| said.count).sum();
        let mut names = HashSet::new();
        for (kind, said) in &broadcasts {
            let (from, back) = described(kind, said);
            out.comment(&format!("{from}: sent {}, and came back {back}.", times(said.count)));
            if said.is_unsure {
                out.remark("One session cannot tell whether others hear it, too: if it is for its sender alone, make it an [echo] with `reply` in place of `copy`.");
            }
            if said.pointer.is_none() {
                out.remark(
                    "No text in it: `ref` is added, for an id that the server hands on with the rest.",
                );
            }
            let is_one = broadcasts.len() == 1;
            match is_one {
                true => out.line("[broadcast]"),
                false => {
                    out.line(&format!("[say.{}]", free_name(&mut names, kind)));
                    out.text("share", &format!("{:.2}%", 100.0 * said.count as f64 / all as f64));
                }
            }
            findings.push(format!("broadcast   {from} → {back}"));
            self.said(writing, kind, said, if is_one { "send" } else { "body" }, out);
        }
        if let Some((kind, said)) = echo {
            let (from, back) = described(kind, said);
            out.comment(&format!("{from}: sent {}, and answered {back}.", times(said.count)));
            out.line("[echo]");
            findings.push(format!("echo        {from} → {back}"));
            self.said(writing, kind, said, "send", out);
        }
        for (kind, said) in left_out {
            let (from, back) = described(kind, said);
            out.comment(&format!("left out: {from}, which was answered {back}."));
        }
        true
    }

    /// The keys of a measured message.
    fn said(&self, writing: &mut Writing<'_, '_>, kind: &Kind, said: &Said, key: &str, out: &mut TomlText) {
        let Some((at, _)) = self.talk.sample(kind, said) else { return };
        let is_echo = matches!(self.purpose(kind), Some(Purpose::Echo(_)));
        if said.to_others {
            out.text("to", "others");
        }
        if let Some(event) = &kind.event {
            out.text("event", &plain(event));
        }
        let end = self.first_said();
        let text = writing.message(at, Some(said), end);
        out.text(key, &format!("{text}{}", self.carried.separator.unwrap_or_default()));
        let kinds = self.talk.kinds(false);
        let names = if is_echo { ["reply", "own", "ack"] } else { ["copy", "own", "ack"] };
        for (name, kind) in names.into_iter().zip([&said.copy, &said.own, &said.ack]) {
            let number = said.number.as_ref().filter(|_| name == if is_echo { "reply" } else { "ack" });
            let condition = kind.as_ref().and_then(|kind| match number {
                Some(at) => Some(kind.numbered_condition(at, &kinds)),
                None => kind.condition(&kinds),
            });
            if let Some(condition) = condition {
                out.line(&format!("{name} = {condition}"));
            }
        }
        if said.is_replied {
            out.line("replied = true");
        }
    }
}

/// A measured message, and what comes back of it, for comments.
fn described(kind: &Kind, said: &Said) -> (String, String) {
    let back: Vec<String> =
        [&said.copy, &said.own, &said.ack].into_iter().flatten().map(Kind::name).collect();
    let mut back = if back.is_empty() { String::new() } else { format!("as {}", back.join(", ")) };
    if said.is_replied {
        back += if back.is_empty() { "by the protocol's reply" } else { ", with the protocol's reply" };
    }
    if said.to_others {
        back += " to the others";
    }
    (kind.name(), back)
}
