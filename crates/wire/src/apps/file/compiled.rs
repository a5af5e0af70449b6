//! A user's own app, ready for use over a protocol.

mod judging;

use std::sync::Arc;

use app::Kind;
use app::app_file::{
    AppFile, Broadcast, Condition, Exchange, Frames, Heartbeat, Note, OPEN_STEPS_MAX, OpenStep, Reaction,
    Refusal, Resume, Resumed, Say, VALUES_MAX,
};
use app::conditions::{BadCondition, Matcher, Received};
use app::people::Mix;
use app::places::Pointer;
use app::template::Values;
use codec::Stamp;
use codec::ws::MessageType;

use super::keeps::Keeps;
use super::pushes::Push;
use super::script::{Script, USABLE};
use super::steps::Step;
use super::visited_rooms::VisitedRooms;
use crate::carried::{AppMessage, MessageTemplate};
use crate::event::{Event, Rejection, Role};
use crate::options::{BadOption, Options};

/// An [`AppFile`], with the protocol's envelopes around its messages.
#[derive(Debug)]
pub(crate) struct CompiledApp {
    written: Arc<AppFile>,
    /// Over plain HTTP there is nothing to open, and so nothing to keep of a client.
    has_script: bool,
    /// Bytes of padding in a message.
    padding: usize,
    open: Vec<Step>,
    /// The rooms that clients visit.
    visited_rooms: VisitedRooms,
    answers: Vec<(Matcher, MessageTemplate)>,
    /// How long from one to the next of each, nanoseconds, and what is said then.
    heartbeats: Vec<(u64, MessageTemplate)>,
    /// The roles that a message with an id may have, by the kind of broadcasts that it is if it is one.
    roles: Vec<Roles>,
    /// The tests of the roles' conditions, in words.
    misses: Vec<String>,
    /// The kinds of broadcasts, each with its share of them.
    mix: Mix,
    refusals: Vec<(Matcher, Rejection)>,
    pushes: Vec<Push>,
    ignore: Vec<Matcher>,
    /// Places of the values that tell how far a receiver has come, and the message of a client that is back.
    resume: Option<(Vec<Vec<Pointer>>, Option<MessageTemplate>)>,
    /// Values to keep of messages, which are answered or ignored besides.
    notes: Vec<(Matcher, Keeps)>,
    /// Places of the numbers of messages in answers.
    keys: Vec<Pointer>,
    /// True if a condition has a value in it that a client was given.
    compares_kept: bool,
}

/// Roles that a message with an id may have.
#[derive(Debug)]
struct Roles {
    /// In the order in which that is found out.
    told: Vec<Told>,
    /// Conditions of answers that are known by the number of their message.
    keyed: Vec<Told>,
    /// The role when nothing else fits.
    other: Option<Role>,
}

/// A condition, and the role of the messages that it fits.
#[derive(Debug)]
struct Told {
    matcher: Matcher,
    role: Role,
    /// Values to keep of it.
    keeps: Keeps,
    /// The number of its first test among the app's [misses](CompiledApp::misses).
    misses_from: u16,
}

impl Roles {
    /// The roles of the echo, and of one kind of broadcasts.
    fn of(
        echo: Option<&Exchange>,
        broadcast: Option<&Broadcast>,
        matcher: &impl Fn(&Condition) -> Result<Matcher, BadOption>,
        misses: &mut Vec<String>,
    ) -> Result<Roles, BadOption> {
        let of_reply = echo.map_or(&[][..], |echo| &echo.keep);
        let of_answer = broadcast.map_or(&[][..], |broadcast| &broadcast.keep);
        let has_ack = broadcast.is_some_and(|broadcast| broadcast.ack.is_some());
        let of_own = if has_ack { &[] } else { of_answer };
        let conditions = [
            // From the narrowest to the widest: an acknowledgement often fits the condition of a copy, too.
            (broadcast.and_then(|b| b.ack.as_ref()), Role::Ack, "ack", of_answer),
            (echo.and_then(|e| e.reply.as_ref()), Role::Echo, "reply", of_reply),
            (broadcast.and_then(|b| b.own.as_ref()), Role::Copy, "own", of_own),
            (broadcast.and_then(|b| b.copy.as_ref()), Role::Copy, "copy", &[]),
        ];
        let (mut told_by_id, mut keyed) = (Vec::new(), Vec::new());
        for (condition, role, key, keep) in conditions {
            let Some(condition) = condition else { continue };
            let (matcher, keeps, misses_from) = (matcher(condition)?, Keeps::new(keep)?, misses.len() as u16);
            if condition.key.is_none() {
                let place = condition.place.iter().map(|place| format!(" ({place})")).collect::<String>();
                misses.extend(matcher.wants().map(|wants| format!("`{key}`{place} wants {wants}")));
            }
            let told = Told { matcher, role, keeps, misses_from };
            if condition.key.is_some() { keyed.push(told) } else { told_by_id.push(told) }
        }
        // At most one of the two decides: where both leave out their conditions, the protocol itself tells
        // replies apart.
        let any_reply = echo.is_some_and(|e| e.reply.is_none()).then_some(Role::Echo);
        let any_copy = broadcast.is_some_and(|b| b.copy.is_none()).then_some(Role::Copy);
        Ok(Roles { told: told_by_id, keyed, other: any_reply.or(any_copy) })
    }

    /// The first condition that the message fits.
    #[inline]
    fn told(&self, received: Received<'_>) -> Option<&Told> {
        self.told.iter().find(|told| told.matcher.matches(received))
    }

    /// The test of the nearest condition that a message which fits none fails, by number among the app's
    /// [misses](CompiledApp::misses); `None`: there is no condition.
    fn nearest(&self, received: Received<'_>) -> Option<u16> {
        // From behind: of two that are equally near, the wider one is meant.
        let nearest = self.told.iter().rev().min_by_key(|told| told.matcher.distance(received));
        nearest.map(|told| told.misses_from + told.matcher.first_miss(received) as u16)
    }
}

impl CompiledApp {
    /// Compiles the description; `envelope` puts the envelope around a message.
    pub(crate) fn new(
        written: Arc<AppFile>,
        options: &Options,
        envelope: &dyn Fn(&AppMessage<'_>) -> Result<MessageTemplate, BadOption>,
    ) -> Result<CompiledApp, BadOption> {
        let bad = |expected| BadOption::OfDialect { option: "app", expected };
        if written.open.len() > OPEN_STEPS_MAX {
            return Err(bad("fewer steps to open with"));
        }
        let padding = options.payload.padding.unwrap_or(0) as usize;
        let max = options.limits.message_bytes_max;
        let measured = Kind::ALL.iter().flat_map(|&kind| written.measured(kind));
        // Our own limit holds for what comes back: an echo above it could not be received.
        if measured.into_iter().any(|say| say.body.bytes_max(padding) > max) {
            return Err(BadOption::PayloadSize { min: 0, max: u32::try_from(max).unwrap_or(u32::MAX) });
        }
        let unusable = |_: BadCondition| bad("conditions that can be used");
        let matcher = |condition: &Condition| Matcher::new(condition).map_err(unusable);
        let refused = |refusal: &Refusal| {
            let name = format!("rejected_{}", refusal.kind);
            Ok::<_, BadOption>((matcher(&refusal.when)?, Rejection::named(&name)))
        };
        let said = |say: &Say| envelope(&message(&written, say, padding));
        let asked =
            |say: &Say| envelope(&AppMessage { wants_reply: true, ..message(&written, say, padding) });
        let steps = |written: &[OpenStep]| {
            let mut steps = Vec::with_capacity(written.len());
            for step in written {
                match step {
                    OpenStep::Send(say) => steps.push(Step::Send(said(say)?)),
                    OpenStep::Ask(say) => steps.extend([Step::Send(asked(say)?), Step::Reply]),
                    OpenStep::Expect(condition) => steps.push(Step::Expect(matcher(condition)?)),
                    OpenStep::Wait(ns) => steps.push(Step::Wait(*ns)),
                    OpenStep::Keep(keeps) => steps.push(Step::Keep(Keeps::new(keeps)?)),
                }
            }
            Ok::<_, BadOption>(steps)
        };
        let visited_rooms = VisitedRooms::new(&written.visited_rooms, steps)?;
        let answer = |answer: &Reaction| Ok((matcher(&answer.when)?, said(&answer.send)?));
        let heartbeat = |heartbeat: &Heartbeat| {
            let message = message(&written, &heartbeat.send, padding);
            Ok((heartbeat.every_ns, envelope(&AppMessage { room: heartbeat.room, ..message })?))
        };
        let note = |note: &Note| Ok((matcher(&note.when)?, Keeps::new(&note.keep)?));
        let echo = written.echo.as_ref();
        let mut misses = Vec::new();
        let mut of_kind = |kind| Roles::of(echo, kind, &matcher, &mut misses);
        let roles = match &written.broadcasts[..] {
            [] => vec![of_kind(None)?],
            kinds => kinds.iter().map(|kind| of_kind(Some(kind))).collect::<Result<_, _>>()?,
        };
        Ok(CompiledApp {
            has_script: !options.dialect.facts().asks,
            padding,
            open: steps(&written.open)?,
            visited_rooms,
            answers: written.answers.iter().map(answer).collect::<Result<_, BadOption>>()?,
            heartbeats: written.heartbeats.iter().map(heartbeat).collect::<Result<_, BadOption>>()?,
            roles,
            misses,
            mix: written.mix(),
            refusals: written.errors.iter().map(refused).collect::<Result<_, _>>()?,
            pushes: written.pushes.iter().map(|push| Push::new(push, matcher)).collect::<Result<_, _>>()?,
            ignore: written.ignore.iter().map(matcher).collect::<Result<_, BadOption>>()?,
            resume: written.resume.as_ref().map(|resume| resumed(resume, said)).transpose()?,
            keys: written.keys().filter_map(Pointer::parse).collect(),
            compares_kept: written.compares_kept(),
            notes: written.notes.iter().map(note).collect::<Result<_, BadOption>>()?,
            written,
        })
    }

    /// Returns whether its clients have a place in it.
    pub(crate) fn has_script(&self) -> bool {
        self.has_script
    }

    /// Sets the mix of kinds of broadcasts.
    pub(crate) fn with_mix(self, mix: Mix) -> CompiledApp {
        CompiledApp { mix, ..self }
    }

    /// The app's file it was made of.
    pub(crate) fn written(&self) -> &AppFile {
        &self.written
    }

    /// Tests of conditions on messages with ids, each in words.
    pub(crate) fn misses(&self) -> &[String] {
        &self.misses
    }

    /// The measured messages up to what varies: the echo, or each kind of broadcasts.
    pub(crate) fn utterances(&self, kind: Kind) -> Vec<AppMessage<'_>> {
        let written = &*self.written;
        let of = |say, wants_reply, room| AppMessage {
            kind: Some(kind),
            wants_reply,
            room,
            ..message(written, say, self.padding)
        };
        match kind {
            Kind::Echo => written.echo.iter().map(|echo| of(&echo.send, echo.is_replied, 0)).collect(),
            Kind::Broadcast => written.broadcasts.iter().map(|b| of(&b.send, b.is_replied, b.room)).collect(),
        }
    }

    /// Prepares a client that is about to connect: adds how far it has come, or what stands for that, to the
    /// values it was given. `heard` is `None` for its first connection.
    pub(crate) fn go_on(&self, heard: Option<Values>, script: &mut Script, kept: &mut Values) {
        let Some(Resume { keeps, .. }) = &self.written.resume else { return };
        // A client that has heard nothing yet begins where the file says.
        for (n, Resumed { value, first, .. }) in (0..).zip(keeps) {
            let heard = heard.as_ref().map(|heard| heard.get(n)).filter(|heard| !heard.is_empty());
            kept.set(*value, heard.unwrap_or(first));
        }
        if let Some(heard) = heard {
            script.go_on(heard);
        }
    }

    /// A measured message goes out under this number of its connection.
    #[inline]
    pub(crate) fn handle_sending(&self, script: &mut Script, number: u32, kind: Kind, stamp: Stamp) {
        // Only where answers are known by numbers: it takes memory for each message under way.
        if !self.keys.is_empty() {
            script.handle_numbered(number, kind, stamp);
        }
    }

    /// Returns whether its clients say how far they have come.
    pub(crate) fn is_resumed(&self) -> bool {
        self.resume.is_some()
    }

    /// The message to send now, if any: to be asked for until there is nothing.
    pub(crate) fn poll(
        &self,
        script: &mut Script,
        now_ns: u64,
        on: &mut impl FnMut(Event),
    ) -> Option<&MessageTemplate> {
        if !script.is_ready {
            return None;
        }
        // Answers go before the next step: a server that waits for one, such as for a ping, may not wait
        // long.
        if let Some(answer) = script.next_answer() {
            return Some(&self.answers[answer].1);
        }
        while script.step != USABLE {
            match self.open.get(usize::from(script.step)) {
                Some(Step::Send(message_template)) => {
                    script.step += 1;
                    return Some(message_template);
                }
                Some(Step::Wait(ns)) if script.wake_ns == 0 => {
                    script.wake_ns = now_ns + ns;
                    return None;
                }
                Some(Step::Wait(_)) if now_ns >= script.wake_ns => {
                    script.wake_ns = 0;
                    script.step += 1;
                }
                Some(Step::Wait(_) | Step::Expect(_) | Step::Reply | Step::Keep(_)) => return None,
                None => {
                    // Behind the opening of the new connection, and before anything is measured.
                    let is_back = script.take_is_back();
                    if let Some((_, Some(message_template))) = self.resume.as_ref().filter(|_| is_back) {
                        return Some(message_template);
                    }
                    script.step = USABLE;
                    script.start_heartbeats(now_ns, self.heartbeats.iter().map(|(every_ns, _)| *every_ns));
                    on(Event::Usable);
                }
            }
        }
        if let Some(message_template) = self.visited_rooms.poll(script, on) {
            return Some(message_template);
        }
        let due = script.next_heartbeat(now_ns, |heartbeat| self.heartbeats[heartbeat].0)?;
        Some(&self.heartbeats[due].1)
    }

    /// The step of the opening at which a client is, as it was written, from 1; `None`: at none.
    pub(crate) fn opening_step(&self, script: &Script) -> Option<usize> {
        let so_far = self.open.get(..=usize::from(script.step)).filter(|_| script.is_ready)?;
        Some(so_far.iter().filter(|step| !matches!(step, Step::Reply | Step::Keep(_))).count())
    }

    /// Returns whether a newcomer to a room of this kind is announced to the other members.
    pub(crate) fn announces(&self, kind: u16) -> bool {
        self.written.announces(kind)
    }

    /// The number of the visited rooms of this kind, and their place among the rooms that the protocol joins
    /// itself, if it does; `None` if rooms of this kind are not visited.
    pub(crate) fn visited(&self, kind: u16) -> Option<(u8, Option<usize>)> {
        let visited = self.written.visited_rooms.iter().position(|visited| visited.kind == kind)?;
        Some((visited as u8, self.written.visited_rooms[visited].place.map(usize::from)))
    }
}

/// The places that tell how far a receiver has come, and the message about it.
fn resumed(
    Resume { keeps, send }: &Resume,
    said: impl Fn(&Say) -> Result<MessageTemplate, BadOption>,
) -> Result<(Vec<Vec<Pointer>>, Option<MessageTemplate>), BadOption> {
    let bad = |expected| BadOption::OfDialect { option: "app", expected };
    if keeps.iter().any(|keep| keep.value >= VALUES_MAX || !Values::can_hold(&keep.first)) {
        return Err(bad("values to go on from that can be said"));
    }
    let pointers = |keep: &Resumed| keep.from.iter().map(|from| Pointer::parse(from)).collect();
    let places: Option<Vec<Vec<Pointer>>> = keeps.iter().map(pointers).collect();
    Ok((places.ok_or_else(|| bad("JSON pointers to keep"))?, send.as_ref().map(said).transpose()?))
}

/// An unmeasured message.
fn message<'a>(written: &AppFile, say: &'a Say, padding: usize) -> AppMessage<'a> {
    let is_packed = matches!(written.frames, Frames::MessagePack { .. }) && !say.as_text;
    AppMessage {
        event: &say.event,
        body: say.body.padded(padding),
        message_type: if written.frames == Frames::Binary { MessageType::Binary } else { MessageType::Text },
        is_packed,
        kind: None,
        wants_reply: false,
        room: 0,
    }
}
