//! The opening of a file: what a client says and hears before it is ready.

use super::{PUSHES_MIN, Session, keep};
use crate::carried::Turn;
use crate::talk::purposes::Purpose;
use crate::toml_text::{TomlText, counted, plain, quoted};
use crate::writing::Writing;

/// Steps before the load.
const STEPS_MAX: usize = 32;

impl Session<'_> {
    /// Writes the steps until a client is ready; returns whether there are any.
    pub(super) fn open(
        &self,
        writing: &mut Writing<'_, '_>,
        out: &mut TomlText,
        findings: &mut Vec<String>,
    ) -> bool {
        let (talk, explained, end) = (self.talk, self.explained(), self.first_said());
        let is_said = |at: &usize| {
            let message = &talk.messages[*at];
            let is_opening = matches!(self.purpose(&message.kind), Some(Purpose::Opening));
            // A beat that was recorded once is no step: the interval has to be agreed on.
            message.turn.is_sent && is_opening && !message.kind.is_beat()
        };
        let sent: Vec<usize> = (0..end).filter(is_said).take(STEPS_MAX).collect();
        let reply = |at: usize| {
            let asks = talk.messages[at].turn.asks.as_ref()?;
            let is_reply = |turn: &Turn| turn.is_reply() && turn.answers.as_ref() == Some(asks);
            talk.messages.iter().position(|message| is_reply(&message.turn))
        };
        writing.replies = sent.iter().filter_map(|at| reply(*at)).collect();
        // Written first, so that it is known which answers have values to keep.
        let texts: Vec<String> = sent.iter().map(|at| writing.message(*at, None, end)).collect();
        let (broadcasts, echo, _) = self.measured();
        for (kind, said) in broadcasts.into_iter().chain(echo) {
            if let Some((at, _)) = talk.sample(kind, said) {
                writing.message(at, Some(said), end);
            }
        }
        writing.is_opened = true;
        let kinds = talk.kinds(false);
        let mut steps: Vec<(String, String)> = Vec::new();
        let mut from = 0;
        for place in 0..=sent.len() {
            let to = sent.get(place).copied().unwrap_or(end);
            let is_awaited = place == 0 || reply(sent[place - 1]).is_none();
            let mut is_first = is_awaited && (place > 0 || to < end || to == 1);
            for at in from..to {
                let message = &talk.messages[at];
                let keeps = writing.kept.contains_key(&at);
                let is_theirs = !message.turn.is_sent && !message.turn.is_reply();
                let is_usual =
                    explained.contains(&message.kind) || talk.of(false, &message.kind).count() > PUSHES_MIN;
                if !is_theirs || !keeps && (!is_first || is_usual) {
                    continue;
                }
                is_first = false;
                let Some(condition) = message.kind.condition(&kinds) else { continue };
                steps.push((format!("expect = {condition}"), keep(writing, at)));
            }
            if let (Some(at), Some(text)) = (sent.get(place), texts.get(place)) {
                let turn = &talk.messages[*at].turn;
                let event = turn
                    .event
                    .as_ref()
                    .map(|event| format!("event = {}\n", quoted(&plain(event))))
                    .unwrap_or_default();
                let (replied, keep) = match reply(*at) {
                    Some(reply) => ("\nreplied = true", keep(writing, reply)),
                    None => ("", String::new()),
                };
                let text = format!("{text}{}", self.carried.separator.unwrap_or_default());
                steps.push((format!("{event}send = {}{replied}", quoted(&text)), keep));
                from = *at + 1;
            }
        }
        let opens = !steps.is_empty();
        if opens {
            findings.push(format!("opening     {} until a client is ready", counted(steps.len(), "step")));
            out.comment("What a client says and hears before it is ready.");
        }
        for (number, (step, keep)) in steps.into_iter().enumerate() {
            out.line(&format!("{}[[open]]\n{step}{keep}", if number == 0 { "" } else { "\n" }));
        }
        opens
    }
}
