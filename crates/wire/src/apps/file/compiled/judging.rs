//! Judges incoming messages of a user's own app.
//!
//! ```text
//! the protocol's answer to a measured message     --> that message's answer
//! the number of a measured message, and no refusal --> that message's answer or acknowledgement
//! an id, and a condition of its kind              --> its answer, acknowledgement or copy
//! a refusal, or something to answer               --> that
//! what the opening or a visit waits for           --> a step further; the ids in it are copies: the room's history
//! what the server says by itself                  --> pushed
//! something to ignore                             --> nothing
//! an id, where its kind has no condition          --> its answer or copy
//! an id, and no condition of its kind fits        --> unmatched: the file does not look for what came
//! an id, in what is answered, pushed or ignored   --> taken: the file may mistake it
//! anything else                                   --> unrecognised
//! ```
//!
//! A payload may hold any number of ids: servers collect what is new and send it as one frame. Each id
//! counts, once for each payload, because a payload may also repeat the id of its one message (as text and as
//! HTML).

use std::collections::HashSet;

use app::Kind;
use app::app_file::AppFile;
use app::conditions::{Opened, Received};
use app::template::{ClientContext, Values};
use codec::{Found, Stamp, stamp};

use super::{CompiledApp, Told};
use crate::apps::file::script::Script;
use crate::apps::file::steps;
use crate::carried::{Arrival, MessageHint};
use crate::event::{Event, Rejection, Role, Rule};

/// Kinds of payloads beside the messages in them.
#[derive(Clone, Copy, Debug)]
enum PayloadKind {
    /// A refusal.
    Event(Event),
    /// A message that a rule takes. One with a push's content is an event first.
    Taken(Rule),
    /// A message that has been reported already.
    Nothing,
    /// A message that the opening or a visit waited for.
    Awaited,
    /// A message of no known kind.
    Unknown,
}

/// A payload with its envelope off, and what is known of it so far: no condition is tried twice.
struct Payload<'a, 'b> {
    arrival: &'b Arrival<'a>,
    opened: Opened<'a>,
    client: &'b ClientContext<'b>,
    /// The role of its messages by their kind, where there are several messages.
    told: Vec<Option<Role>>,
    besides: Option<PayloadKind>,
    is_noted: bool,
}

impl Payload<'_, '_> {
    fn received(&self) -> Received<'_> {
        Received { opened: &self.opened, client: self.client }
    }
}

impl CompiledApp {
    /// Tells what a message that came in is. The script is told what is to be answered, and what the opening
    /// has waited for.
    // Never inlined: the benchmark's app, which is judged in the same place, would pay for it.
    #[inline(never)]
    pub(crate) fn judge(
        &self,
        arrival: &Arrival<'_>,
        client: &ClientContext<'_>,
        script: &mut Script,
        on: &mut impl FnMut(Event),
    ) {
        // What messages before it in its portion had to keep is not among the client's values yet.
        let newer = if self.compares_kept { script.kept_since(client.kept) } else { None };
        let with_newer;
        let client = match &newer {
            None => client,
            Some(kept) => {
                with_newer = ClientContext { kept, ..*client };
                &with_newer
            }
        };
        let bytes = arrival.bytes;
        let found = arrival.found.unwrap_or_else(|| stamp::find(arrival.text));
        let mut answered = None;
        if let (Found::At { stamp, offset }, MessageHint::Answer(kind)) = (found, arrival.hint)
            && stamp.announced().is_none()
            && let Some(role) = self.role_of_answer(kind, self.kind_of(stamp))
        {
            on(Event::Message { role, stamp, bytes });
            if !stamp::has_others(arrival.text, offset) {
                return;
            }
            answered = Some(stamp);
        }
        if found == Found::Corrupt {
            return on(Event::Corrupt { stamp: None, bytes });
        }
        let Some(opened) = (arrival.open)(arrival.text) else { return on(Event::Foreign { bytes }) };
        if let Some((told, stamp)) = self.answered(Received { opened: &opened, client }, script) {
            let message = Event::Message { role: told.role, stamp, bytes };
            return on(told.keeps.keep(&opened, script).map_or_else(Event::Rejected, |()| message));
        }
        let mut payload =
            Payload { arrival, opened, client, told: Vec::new(), besides: None, is_noted: false };
        let event = match found {
            Found::At { offset, .. } if stamp::has_others(arrival.text, offset) => {
                return self.judge_several(&mut payload, answered, script, on);
            }
            Found::At { stamp, .. } => {
                let event = self.judge_stamped(&mut payload, stamp, bytes, script);
                if let Some(event) = event {
                    tell(event, stamp, on);
                }
                return;
            }
            Found::None | Found::Corrupt => self.judge_unstamped(&mut payload, script),
        };
        if let Some(event) = event {
            on(event);
        }
    }

    /// The message that an answer has the number of, where the app's answers have numbers, and the condition
    /// that it fits. An error of JSON-RPC has the number of its call as well, and is no answer.
    #[inline]
    fn answered(&self, received: Received<'_>, script: &mut Script) -> Option<(&Told, Stamp)> {
        if self.keys.is_empty() || self.refusals.iter().any(|(matcher, _)| matcher.matches(received)) {
            return None;
        }
        self.keys.iter().find_map(|key| {
            let told_of = |stamp: &Stamp| {
                let keyed = &self.roles[self.kind_of(*stamp)].keyed;
                keyed.iter().find(|told| told.matcher.matches(received))
            };
            // A call of the server's own may have the number of one of ours, and is no answer to it.
            let value = key.value(&received.opened.body)?;
            let stamp = script.take_numbered(&value, |stamp| told_of(stamp).is_some())?;
            Some((told_of(&stamp)?, stamp))
        })
    }

    /// Tells each message of a payload that holds several, in its order. The payload's bytes count for the
    /// first.
    #[cold]
    fn judge_several(
        &self,
        payload: &mut Payload<'_, '_>,
        answered: Option<Stamp>,
        script: &mut Script,
        on: &mut impl FnMut(Event),
    ) {
        let mut seen: HashSet<Stamp> = answered.into_iter().collect();
        let stamps: Vec<Stamp> =
            stamp::all(payload.arrival.text).filter(|&stamp| seen.insert(stamp)).collect();
        let told: Vec<Option<&Told>> =
            self.roles.iter().map(|roles| roles.told(payload.received())).collect();
        for (kind, told) in told.iter().enumerate() {
            let Some(told) = told else { continue };
            // A condition may fit messages of other kinds as well, which have nothing that this one's keeps.
            let is_said = |stamp: &Stamp| stamp.announced().is_none() && self.kind_of(*stamp) == kind;
            if stamps.iter().any(is_said)
                && let Err(lacking) = told.keeps.keep(&payload.opened, script)
            {
                return on(Event::Rejected(lacking));
            }
        }
        payload.told = told.into_iter().map(|told| told.map(|told| told.role)).collect();
        let mut bytes = if answered.is_some() { 0 } else { payload.arrival.bytes };
        for stamp in stamps {
            if let Some(event) = self.judge_stamped(payload, stamp, bytes, script) {
                tell(event, stamp, on);
                bytes = 0;
            }
        }
    }

    /// Judges a message with an id; `None` if it does not matter.
    fn judge_stamped(
        &self,
        payload: &mut Payload<'_, '_>,
        stamp: Stamp,
        bytes: u32,
        script: &mut Script,
    ) -> Option<Event> {
        let (announced, hint) = (stamp.announced(), payload.arrival.hint);
        let kind = if announced.is_some() { 0 } else { self.kind_of(stamp) };
        let told = match payload.told.get(kind) {
            _ if announced.is_some() => None,
            Some(&told) => told,
            None => match self.roles[kind].told(payload.received()) {
                Some(told) => match told.keeps.keep(&payload.opened, script) {
                    Ok(()) => Some(told.role),
                    Err(lacking) => return Some(Event::Rejected(lacking)),
                },
                None => None,
            },
        };
        let role = match (told, announced) {
            (Some(role), _) => role,
            (None, Some(stamp)) => {
                return match self.besides(payload, script) {
                    PayloadKind::Event(event) => Some(event),
                    PayloadKind::Taken(_) | PayloadKind::Nothing | PayloadKind::Awaited => None,
                    PayloadKind::Unknown => Some(Event::Announced { stamp, bytes }),
                };
            }
            (None, None) => match self.besides(payload, script) {
                PayloadKind::Event(event) => return Some(event),
                // The protocol's own answer to a message that is measured otherwise.
                PayloadKind::Taken(_) if matches!(hint, MessageHint::Answer(_)) => return None,
                PayloadKind::Taken(rule) => return Some(taken(stamp, rule)),
                PayloadKind::Nothing => return None,
                PayloadKind::Awaited if self.written.broadcasts.is_empty() => return None,
                PayloadKind::Awaited => Role::Copy,
                PayloadKind::Unknown => match hint {
                    // No client waits for it.
                    MessageHint::Answer(_) => return None,
                    MessageHint::Pushed if !self.written.broadcasts.is_empty() => Role::Copy,
                    _ => match self.roles[kind].other {
                        Some(role) => role,
                        None => {
                            let near = self.roles[kind].nearest(payload.received());
                            let (run, sent_ns) = (stamp.run, stamp.sent_ns());
                            return Some(Event::Unmatched { run, sent_ns, near });
                        }
                    },
                },
            },
        };
        if role == Role::Copy && !self.note(payload, script) {
            script.handle_unplaced();
        }
        Some(Event::Message { role, stamp, bytes })
    }

    /// Judges a message without an id; `None` if it does not matter.
    fn judge_unstamped(&self, payload: &mut Payload<'_, '_>, script: &mut Script) -> Option<Event> {
        match (self.besides(payload, script), payload.arrival.hint) {
            (PayloadKind::Event(event), _) => Some(event),
            (PayloadKind::Taken(_) | PayloadKind::Nothing, _) => None,
            (PayloadKind::Awaited, _) => {
                self.note(payload, script);
                None
            }
            // No client waits for it, or it does not concern clients.
            (PayloadKind::Unknown, MessageHint::Answer(_) | MessageHint::NamedAmongOthers(_)) => None,
            (PayloadKind::Unknown, _) => Some(Event::Foreign { bytes: payload.arrival.bytes }),
        }
    }

    /// The kind of a payload beside its messages. An event is told once.
    fn besides(&self, payload: &mut Payload<'_, '_>, script: &mut Script) -> PayloadKind {
        let besides = payload
            .besides
            .unwrap_or_else(|| self.judge_besides(payload.arrival, payload.received(), script));
        payload.besides = Some(match besides {
            PayloadKind::Event(Event::Pushed(_)) => PayloadKind::Taken(Rule::Push),
            PayloadKind::Event(_) => PayloadKind::Nothing,
            other => other,
        });
        besides
    }

    /// Judges a message that is not measured: refused, to be answered, waited for or ignored.
    fn judge_besides(
        &self,
        arrival: &Arrival<'_>,
        received: Received<'_>,
        script: &mut Script,
    ) -> PayloadKind {
        let opened = received.opened;
        let refused = |rejection| PayloadKind::Event(Event::Rejected(rejection));
        if let Some(&(_, rejection)) = self.refusals.iter().find(|(m, _)| m.matches(received)) {
            return refused(rejection);
        }
        for (_, keeps) in self.notes.iter().filter(|(m, _)| m.matches(received)) {
            if let Err(lacking) = keeps.keep(opened, script) {
                return refused(lacking);
            }
        }
        if let Some(answer) = self.answers.iter().position(|(m, _)| m.matches(received)) {
            script.handle_question(answer);
            return PayloadKind::Taken(Rule::Answer);
        }
        match self.is_awaited(arrival, received, script) {
            Ok(true) => return PayloadKind::Awaited,
            Ok(false) => {}
            Err(lacking) => return refused(lacking),
        }
        let pushed = self.pushes.iter().enumerate().find(|(_, push)| push.when.matches(received));
        if let Some((kind, push)) = pushed {
            return PayloadKind::Event(push.told(kind, opened));
        }
        if self.ignore.iter().any(|m| m.matches(received)) {
            return PayloadKind::Taken(Rule::Ignore);
        }
        PayloadKind::Unknown
    }

    /// Returns whether the opening or a visit waits for this message. If so, goes a step further, and keeps
    /// what the app's file keeps of the message.
    ///
    /// # Errors
    /// It lacks what is to be kept of it.
    fn is_awaited(
        &self,
        arrival: &Arrival<'_>,
        received: Received<'_>,
        script: &mut Script,
    ) -> Result<bool, Rejection> {
        let taken = steps::take(&self.open, script.step, arrival, received, script)?;
        script.step += taken;
        Ok(taken > 0 || self.visited_rooms.opens(script, arrival, received)?)
    }

    /// Keeps how far the client has come, if a payload tells that: once for each. Returns false if it does not
    /// tell.
    #[inline]
    fn note(&self, payload: &mut Payload<'_, '_>, script: &mut Script) -> bool {
        let Some((places, message)) = &self.resume else { return true };
        // What comes before it has asked for what it missed is newer than that: if it noted this and was cut
        // once more, it would never ask.
        if message.is_some() && script.is_back() || std::mem::replace(&mut payload.is_noted, true) {
            return true;
        }
        let mut is_placed = false;
        for (n, pointers) in (0..).zip(places) {
            let heard = pointers.iter().find_map(|pointer| pointer.value(&payload.opened.body));
            if let Some(heard) = heard.filter(|heard| Values::can_hold(heard)) {
                script.note(n, &heard);
                is_placed = true;
            }
        }
        is_placed
    }

    /// The kind of broadcasts that the message with this stamp is, if it is one.
    #[inline]
    fn kind_of(&self, stamp: Stamp) -> usize {
        self.mix.kind(stamp.worker, stamp.client, stamp.seq)
    }

    /// The role of an answer that a protocol knows, unless conditions say what to wait for.
    fn role_of_answer(&self, kind: Kind, broadcast: usize) -> Option<Role> {
        let AppFile { echo, broadcasts, .. } = &*self.written;
        match kind {
            Kind::Echo => echo.as_ref().filter(|echo| echo.reply.is_none()).map(|_| Role::Echo),
            Kind::Broadcast => broadcasts.get(broadcast).filter(|b| b.is_replied).map(|_| Role::Ack),
        }
    }
}

/// Tells the event of a message with this stamp. A push with it may be a message that the file mistakes.
fn tell(event: Event, stamp: Stamp, on: &mut impl FnMut(Event)) {
    on(event);
    if let Event::Pushed(_) = event {
        on(taken(stamp, Rule::Push));
    }
}

fn taken(stamp: Stamp, rule: Rule) -> Event {
    Event::Taken { stamp, rule }
}
