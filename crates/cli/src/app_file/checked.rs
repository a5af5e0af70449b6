//! An app's file, checked piece by piece: what is said, and how what comes back is recognised.

use std::fmt::Display;

use app::app_file::{
    AppFile, Broadcast, Condition, Exchange, Frames, Heartbeat, LoginRequest, Note, OpenStep, Push, Reaction,
    Refusal, Resume, Resumed, Say,
};
use app::template::{Names, Purpose, Quoting, Template};
use load::{RoomKind, Rooms, SayKind};
use results::units;
use serde::de::IgnoredAny;
use toml::Spanned;
use wire::{AppRules, Body, Facts};

use super::conditions;
use super::file::{self, File, NAME_BYTES_MAX, When, Written};
use super::keeps::{self, KeptNames};
use super::publish;
use super::rooms::{self, Joining, Passage};
use super::says;
use super::source::{Source, is_json};
use crate::exit::Failure;

/// Turns the file's parts into the app's, or says what is wrong with them.
#[derive(Clone, Copy)]
pub(super) struct Checked<'a> {
    pub(super) source: &'a Source<'a>,
    pub(super) names: &'a Names,
    /// Names of people who have not logged in.
    pub(super) strangers: &'a Names,
    pub(super) quoting: Quoting,
    pub(super) facts: &'static Facts,
    pub(super) rules: AppRules,
    pub(super) frames: &'a Frames,
}

/// A client's way to the point where it may speak.
pub(super) struct Opening {
    pub(super) login: Vec<LoginRequest>,
    /// Servers of logins that are not the load's, in the order of their numbers.
    pub(super) login_servers: Vec<String>,
    pub(super) resumed: Vec<Resumed>,
    pub(super) steps: Vec<OpenStep>,
}

/// The rooms in which messages are said, and their kinds.
#[derive(Clone, Copy)]
pub(super) struct Conversation<'a> {
    pub(super) kinds: &'a [RoomKind],
    pub(super) says: &'a [SayKind],
    pub(super) rooms: Option<&'a Rooms>,
}

impl Checked<'_> {
    pub(super) fn app(
        &self,
        file: &File,
        Opening { login, login_servers, resumed, steps: mut open }: Opening,
        keeper: &mut KeptNames,
        Conversation { kinds, says, rooms }: Conversation<'_>,
    ) -> Result<AppFile, Failure> {
        let echo = file.echo.as_ref().map(|echo| self.echo(echo.get_ref(), keeper)).transpose()?;
        let Joining { joins, places, steps, visited_rooms } =
            rooms::joining(self.source, file, self.facts, self.names, rooms, |passage, names| {
                Checked { names, ..*self }.passage_steps(passage, keeper)
            })?;
        let broadcasts = self.broadcasts(file, kinds, says, &places, keeper)?;
        let heartbeats = file.heartbeat.0.iter().map(|each| self.heartbeat(each, kinds, &places));
        let heartbeats = heartbeats.collect::<Result<_, _>>()?;
        self.check_told_apart(file, echo.as_ref(), &broadcasts)?;
        let resume = file.resume.as_ref().map(|resume| self.resume(resume, resumed)).transpose()?;
        open.extend(steps);
        Ok(AppFile {
            name: self.source.name(file.name.as_ref())?,
            resume,
            frames: self.frames.clone(),
            login,
            login_servers,
            open,
            echo,
            joins,
            visited_rooms,
            broadcasts,
            errors: file.error.iter().map(|rule| self.refusal(rule)).collect::<Result<_, _>>()?,
            answers: file.answer.iter().map(|rule| self.reaction(rule)).collect::<Result<_, _>>()?,
            notes: self.notes(file, keeper)?,
            pushes: file
                .push
                .iter()
                .map(|(name, rule)| self.push(name, rule, kinds))
                .collect::<Result<_, _>>()?,
            ignore: file.ignore.iter().map(|rule| self.condition(&rule.when)).collect::<Result<_, _>>()?,
            heartbeats,
        })
    }

    fn echo(&self, echo: &file::Echo, keeper: &mut KeptNames) -> Result<Exchange, Failure> {
        let reply = self.answer(&echo.reply)?;
        let is_numbered = reply.as_ref().is_some_and(|reply| reply.key.is_some());
        // The number tells answers apart, so that the text needs no id beside it.
        let purpose = if is_numbered { Purpose::Numbered } else { Purpose::Measured };
        let send = self.say(&echo.event, &echo.send, purpose)?;
        self.check_numbered(&send, &echo.send, reply.as_ref())?;
        keeps::check_answered(self.source, &echo.keep, [&echo.reply, &None])?;
        let keep = keeper.of_message(self.source, &echo.keep)?;
        Ok(Exchange { send, reply, keep, is_replied: self.replied(&echo.replied)? })
    }

    /// The messages that everyone in a room gets.
    fn broadcasts(
        &self,
        file: &File,
        kinds: &[RoomKind],
        says: &[SayKind],
        places: &[Option<u16>],
        keeper: &mut KeptNames,
    ) -> Result<Vec<Broadcast>, Failure> {
        if let Some(broadcast) = file.broadcast.as_ref().filter(|_| !file.say.is_empty()) {
            let problem =
                "[broadcast] is one kind of messages, and [say.NAME] are others: expected all as [say.NAME]";
            return Err(self.wrong(broadcast, problem));
        }
        let others = [
            file.broadcast.as_ref().map(|broadcast| (broadcast.span(), "[broadcast]")),
            file.publish.as_ref().map(|publish| (publish.span(), "[publish]")),
        ];
        if let (Some((at, name)), true, true) =
            (others.into_iter().flatten().next(), kinds.len() > 1, file.say.is_empty())
        {
            let problem =
                format!("{name} does not say in which of the rooms: expected [say.NAME] with `room`");
            return Err(self.source.error(at, problem));
        }
        match (&file.broadcast, &file.publish) {
            (Some(broadcast), Some(_)) => {
                let problem = "[publish] takes its place: what is published is what everyone gets";
                Err(self.wrong(broadcast, problem))
            }
            (Some(broadcast), None) => Ok(vec![self.broadcast(broadcast.get_ref(), keeper)?]),
            (None, Some(publish)) if file.say.is_empty() => Ok(vec![self.published(publish)?]),
            (None, publish) => {
                let publish = publish.as_ref().map(Spanned::get_ref);
                let said = file.say.values().zip(says);
                said.map(|(say, kind)| self.said(publish, say, kind, kinds, places, keeper)).collect()
            }
        }
    }

    /// Checks that echoes and broadcasts can be told apart.
    fn check_told_apart(
        &self,
        file: &File,
        echo: Option<&Exchange>,
        broadcasts: &[Broadcast],
    ) -> Result<(), Failure> {
        let is_told = echo.is_some_and(|echo| echo.is_replied) || self.rules.tells_replies;
        let says = file.say.values().map(Spanned::span);
        let at = file.broadcast.as_ref().map(Spanned::span).or(file.publish.as_ref().map(Spanned::span));
        let untold = broadcasts.iter().any(|broadcast| broadcast.copy.is_none());
        if let (Some(Exchange { reply: None, .. }), true, Some(at), false) =
            (echo, untold, at.or(says.into_iter().next()), is_told)
        {
            let problem = "with both [echo] and [broadcast], [say.NAME] or [publish], `reply` of the one or `copy` of the other \
                           is needed to tell their messages apart";
            return Err(self.source.error(at, problem));
        }
        Ok(())
    }

    /// Messages that join or leave a room, and the answers they wait for.
    fn passage_steps(&self, passage: Passage<'_>, keeper: &mut KeptNames) -> Result<Vec<OpenStep>, Failure> {
        let purpose = passage.purpose();
        let nothing = Written::new();
        let (event, send, replied, expect, keep) = match passage {
            Passage::In { join, .. } => {
                let file::Join { event, send, replied, expect, keep, .. } = join.get_ref();
                (event, send.as_ref(), replied, expect, keep)
            }
            Passage::Out(leave) => {
                let file::Leave { event, send, replied, expect } = leave.get_ref();
                (event, Some(send), replied, expect, &nothing)
            }
        };
        let mut steps = Vec::new();
        if let Some(text) = send {
            let say = self.say(event, text, purpose)?;
            steps.push(if self.replied(replied)? { OpenStep::Ask(say) } else { OpenStep::Send(say) });
        }
        if let Some(when) = expect {
            steps.push(OpenStep::Expect(self.condition(when)?));
        }
        steps.extend(self.kept(keep, keeper)?);
        Ok(steps)
    }

    /// Messages of one kind, which may be published.
    fn said(
        &self,
        publish: Option<&file::Publish>,
        say: &Spanned<file::Say>,
        kind: &SayKind,
        kinds: &[RoomKind],
        places: &[Option<u16>],
        keeper: &mut KeptNames,
    ) -> Result<Broadcast, Failure> {
        let file::Say { event, body, copy, own, ack, replied, keep, .. } = say.get_ref();
        let has_joins = places.iter().any(Option::is_some);
        let place = places.get(usize::from(kind.room)).copied().flatten();
        if has_joins && place.is_none() {
            let problem = format!(
                "[say.{}] is said in rooms that nobody joins: expected `join` in their [room.NAME]",
                kind.name
            );
            return Err(self.wrong(say, problem));
        }
        // A request to publish comes from nobody who has logged in, so that no value kept from a login is
        // known to it.
        let known = if publish.is_some() { self.strangers } else { self.names };
        let room = kinds.get(usize::from(kind.room)).map_or("", |room| &room.name);
        let names = rooms::names_in(known, room);
        let of_room = Checked { names: &names, ..*self };
        let target = publish::target(self.source, publish, say, &names)?;
        let send = match publish {
            Some(_) => of_room.say_in_request(body)?,
            None => of_room.say(event, body, Purpose::Measured)?,
        };
        keeps::check_answered(self.source, keep, [ack, own])?;
        // Receivers have logged in, also where what they receive is published.
        let names = rooms::names_in(self.names, room);
        let to_room = Checked { names: &names, ..*self };
        let ack = to_room.answer(ack)?;
        self.check_numbered(&send, body, ack.as_ref())?;
        Ok(Broadcast {
            keep: keeper.of_message(self.source, keep)?,
            room: place.unwrap_or(0),
            share: kind.share,
            target,
            send,
            copy: to_room.optional(copy)?,
            own: to_room.optional(own)?,
            ack,
            is_replied: self.replied(replied)?,
        })
    }

    fn broadcast(&self, broadcast: &file::Broadcast, keeper: &mut KeptNames) -> Result<Broadcast, Failure> {
        let send = self.say(&broadcast.event, &broadcast.send, Purpose::Measured)?;
        let ack = self.answer(&broadcast.ack)?;
        self.check_numbered(&send, &broadcast.send, ack.as_ref())?;
        keeps::check_answered(self.source, &broadcast.keep, [&broadcast.ack, &broadcast.own])?;
        Ok(Broadcast {
            keep: keeper.of_message(self.source, &broadcast.keep)?,
            copy: self.optional(&broadcast.copy)?,
            own: self.optional(&broadcast.own)?,
            ack,
            is_replied: self.replied(&broadcast.replied)?,
            ..Broadcast::of(send)
        })
    }

    /// Checks that a message says the number that its answer is recognised by.
    fn check_numbered(
        &self,
        say: &Say,
        at: &Spanned<String>,
        answer: Option<&Condition>,
    ) -> Result<(), Failure> {
        let Some(key) = answer.and_then(|answer| answer.key.as_ref()) else { return Ok(()) };
        if say.body.has_key(key.form) {
            return Ok(());
        }
        let placeholder = key.form.placeholder();
        Err(self
            .wrong(at, format!("its answer is recognised by {placeholder}: expected {placeholder} in it")))
    }

    /// The one kind of messages that is published.
    fn published(&self, publish: &Spanned<file::Publish>) -> Result<Broadcast, Failure> {
        let file::Publish { post, body, copy, .. } = publish.get_ref();
        let body = body.as_ref().ok_or_else(|| self.wrong(publish, "missing key `body`"))?;
        let send = Checked { names: self.strangers, ..*self }.say_in_request(body)?;
        let target = post.as_ref().map(|post| publish::signed_path(self.source, post, self.strangers));
        let target = target.transpose()?.flatten();
        Ok(Broadcast { target, copy: self.optional(copy)?, ..Broadcast::of(send) })
    }

    /// Message published in a request, and so without an event's name.
    fn say_in_request(&self, body: &Spanned<String>) -> Result<Say, Failure> {
        Ok(Say { body: self.template(body, Purpose::Measured)?, ..Say::default() })
    }

    fn resume(&self, resume: &file::Resume, keeps: Vec<Resumed>) -> Result<Resume, Failure> {
        let send = resume.send.as_ref().map(|send| self.say(&resume.event, send, Purpose::Other));
        Ok(Resume { keeps, send: send.transpose()? })
    }

    /// The values kept of messages that are answered, ignored or counted as pushes besides.
    fn notes(&self, file: &File, keeper: &mut KeptNames) -> Result<Vec<Note>, Failure> {
        let answers = file.answer.iter().map(|rule| (&rule.when, &rule.keep));
        let ignored = file.ignore.iter().map(|rule| (&rule.when, &rule.keep));
        let pushed = file.push.values().map(Spanned::get_ref).map(|rule| (&rule.when, &rule.keep));
        let keeping = answers.chain(ignored).chain(pushed).filter(|(_, keep)| !keep.is_empty());
        let note = |(when, keep): (&Spanned<When>, &Written)| {
            Ok(Note { when: self.condition(when)?, keep: keeper.of_message(self.source, keep)? })
        };
        keeping.map(note).collect()
    }

    /// Returns whether a message is answered by the protocol's own reply, if the protocol has any.
    pub(super) fn replied(&self, replied: &Option<Spanned<bool>>) -> Result<bool, Failure> {
        let Some(replied) = replied else { return Ok(false) };
        if self.rules.has_replies {
            return Ok(*replied.get_ref());
        }
        let name = self.facts.protocol;
        Err(self.wrong(replied, format!("{name} has no replies of its own; say how they look: `reply`")))
    }

    /// A message, and whether the protocol can carry it.
    pub(super) fn say(
        &self,
        event: &Option<Spanned<String>>,
        text: &Spanned<String>,
        purpose: Purpose,
    ) -> Result<Say, Failure> {
        let body = self.template(text, purpose)?;
        let name = self.facts.protocol;
        match event {
            Some(event) if !self.rules.has_events => {
                let problem = format!("{name} has no names for events: the message is all there is");
                return Err(self.wrong(event, problem));
            }
            None if self.rules.has_events => {
                return Err(self.wrong(text, format!("{name} needs the name of an event beside it: `event`")));
            }
            _ => {}
        }
        // The template may be sound and its text not; only a message made of it shows whether the protocol
        // can carry it.
        let sample = body.sample();
        let (is_carried, expected) = match self.rules.body {
            Body::Any => match self.frames {
                Frames::Binary => (true, String::new()),
                Frames::MessagePack { .. } => {
                    (is_json::<IgnoredAny>(&sample), "a JSON value, which MessagePack can say".to_owned())
                }
                Frames::Text | Frames::Records(_) => {
                    (std::str::from_utf8(&sample).is_ok(), "text, or frames = \"binary\"".to_owned())
                }
            },
            Body::Object(what) => (
                is_json::<serde_json::Map<String, serde_json::Value>>(&sample),
                format!("a JSON object: {what}"),
            ),
            Body::Value(what) => (is_json::<IgnoredAny>(&sample), format!("a JSON value: {what}")),
            Body::Values(what) => {
                let values = [b"[", &sample[..], b"]"].concat();
                let expected = format!("JSON values with commas between them: {what}");
                (is_json::<IgnoredAny>(&values), expected)
            }
        };
        if !is_carried {
            return Err(self.wrong(text, format!("expected {expected}")));
        }
        let event = event.as_ref().map(|event| event.get_ref().clone()).unwrap_or_default();
        Ok(Say { event, body, as_text: false })
    }

    fn refusal(&self, rule: &file::ErrorRule) -> Result<Refusal, Failure> {
        let kind = rule.kind.get_ref();
        let is_sound = (1..=NAME_BYTES_MAX).contains(&kind.len())
            && kind.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
        if !is_sound {
            let problem = format!("expected lower-case letters, digits and _, at most {NAME_BYTES_MAX}");
            return Err(self.wrong(&rule.kind, problem));
        }
        Ok(Refusal { kind: kind.clone(), when: self.condition(&rule.when)? })
    }

    fn push(
        &self,
        name: &str,
        spanned: &Spanned<file::PushRule>,
        kinds: &[RoomKind],
    ) -> Result<Push, Failure> {
        rooms::check_name(name).map_err(|problem| self.wrong(spanned, problem))?;
        let rule = spanned.get_ref();
        if let (Some(same), None) = (&rule.same, &rule.number) {
            return Err(self.wrong(same, "is compared by number: expected `number` beside it"));
        }
        let room = match (&rule.same, &rule.room) {
            (None, Some(room)) => return Err(self.wrong(room, "is of `same`: expected `same` beside it")),
            (None, None) => 0,
            (Some(_), room) => says::room(self.source, spanned, room, kinds)?,
        };
        let place = |from: &Option<Spanned<String>>| {
            let Some(from) = from else { return Ok(None) };
            keeps::check_in_message(self.source, from)?;
            Ok(Some(from.get_ref().clone()))
        };
        let when = self.condition(&rule.when)?;
        let (number, time, same) = (place(&rule.number)?, place(&rule.time)?, place(&rule.same)?);
        Ok(Push { when, number, time, same, room })
    }

    fn reaction(&self, rule: &file::AnswerRule) -> Result<Reaction, Failure> {
        let send = self.say(&rule.event, &rule.send, Purpose::Other)?;
        Ok(Reaction { when: self.condition(&rule.when)?, send })
    }

    fn heartbeat(
        &self,
        heartbeat: &file::Heartbeat,
        kinds: &[RoomKind],
        places: &[Option<u16>],
    ) -> Result<Heartbeat, Failure> {
        let file::Heartbeat { every, room, event, send } = heartbeat;
        // Elsewhere a message says itself where it goes.
        let needs_room = places.iter().flatten().count() > 1;
        let kind = match needs_room || room.is_some() {
            true => Some(usize::from(says::room(self.source, send, room, kinds)?)),
            false => None,
        };
        let names =
            kind.map_or_else(|| self.names.clone(), |kind| rooms::names_in(self.names, &kinds[kind].name));
        let send = Checked { names: &names, ..*self }.say(event, send, Purpose::Other)?;
        let room = kind.and_then(|kind| places[kind]).unwrap_or(0);
        Ok(Heartbeat { every_ns: self.duration(every)?, room, send })
    }

    /// The answer to a message, which may have its number: `{seq}`.
    fn answer(&self, when: &Option<Spanned<When>>) -> Result<Option<Condition>, Failure> {
        when.as_ref().map(|when| conditions::read(self.source, self.names, when, true)).transpose()
    }

    fn optional(&self, when: &Option<Spanned<When>>) -> Result<Option<Condition>, Failure> {
        when.as_ref().map(|when| self.condition(when)).transpose()
    }

    pub(super) fn condition(&self, when: &Spanned<When>) -> Result<Condition, Failure> {
        conditions::read(self.source, self.names, when, false)
    }

    fn template(&self, text: &Spanned<String>, purpose: Purpose) -> Result<Template, Failure> {
        crate::people::template(text.get_ref(), purpose, self.names, self.quoting)
            .map_err(|problem| self.wrong(text, problem))
    }

    /// A time that is not nothing.
    pub(super) fn duration(&self, text: &Spanned<String>) -> Result<u64, Failure> {
        match units::time_ns(text.get_ref()) {
            Ok(0) => Err(self.wrong(text, "must be longer than 0")),
            Ok(ns) => Ok(ns),
            Err(error) => Err(self.wrong(text, error)),
        }
    }

    pub(super) fn wrong<T>(&self, at: &Spanned<T>, problem: impl Display) -> Failure {
        self.source.error(at.span(), problem)
    }
}
