//! Rooms that people come to and go from: `visit` and `rooms` of a `[[role]]`, and `visit` of `[people]`.

use load::{Plan, RoomKind, Rooms, Visit, VisitStep};
use results::{Scenario, units};
use toml::Spanned;

use super::file::{self, File};
use super::source::Source;
use crate::exit::Failure;

/// The steps there are.
const STEP: &str = "expected \"join NAME\", \"leave NAME\" or \"wait 10s\", which may be \"wait 5s..20s\"";

/// The steps of a round, as the file has them.
type Written = Spanned<Vec<Spanned<String>>>;

/// The visits of each role, or of everybody where there are no roles; empty: everybody is in all their rooms for good.
pub(super) fn visits(source: &Source<'_>, file: &File, kinds: &[RoomKind]) -> Result<Vec<Visit>, Failure> {
    let of_all = file.people.as_ref().and_then(|people| people.get_ref().visit.as_ref());
    let written: Vec<(Option<&Written>, Option<&Written>)> = match &file.role[..] {
        [] => vec![(of_all, None)],
        roles => {
            if let Some(visit) = of_all {
                let problem = "there are roles, which do different things: expected `visit` in a [[role]]";
                return Err(source.error(visit.span(), problem));
            }
            roles.iter().map(|role| (role.get_ref().visit.as_ref(), role.get_ref().rooms.as_ref())).collect()
        }
    };
    if written.iter().all(|(visit, rooms)| visit.is_none() && rooms.is_none()) {
        return Ok(Vec::new());
    }
    let mut visits = Vec::new();
    for (visit, rooms) in &written {
        let steps = match visit {
            Some(visit) => steps(source, visit, kinds)?,
            None => Vec::new(),
        };
        let joined = Visit { steps: steps.clone(), stays: 0 }.joined();
        let stays = match rooms {
            Some(rooms) => stays(source, rooms, kinds, joined)?,
            None => !joined & all_of(kinds),
        };
        visits.push(Visit { steps, stays });
    }
    let somewhere = visits.iter().fold(0, |all, visit| all | visit.joined());
    if let Some((name, room)) =
        file.room.iter().zip(0..).find(|(_, kind)| somewhere & 1 << kind == 0).map(|(room, _)| room)
    {
        let problem =
            format!("nobody is ever in [room.{name}]: expected it in `rooms` or `visit` of a [[role]]");
        return Err(source.error(room.span(), problem));
    }
    // Where everybody is for good, everybody is from the first.
    let for_good = visits.iter().fold(all_of(kinds), |common, visit| common & visit.stays);
    for visit in &mut visits {
        visit.stays &= !for_good;
    }
    Ok(if visits.iter().all(|visit| *visit == Visit::default()) && for_good == all_of(kinds) {
        Vec::new()
    } else {
        visits
    })
}

/// A bit for each kind.
fn all_of(kinds: &[RoomKind]) -> u8 {
    (0..kinds.len()).map(|kind| 1 << kind).sum()
}

/// The kind of rooms of this name.
fn kind_of(
    source: &Source<'_>,
    at: &Spanned<String>,
    name: &str,
    kinds: &[RoomKind],
) -> Result<u16, Failure> {
    let kind = kinds.iter().position(|kind| kind.name == name);
    let names: Vec<&str> = kinds.iter().map(|kind| kind.name.as_str()).collect();
    let problem = || match names.is_empty() {
        true => format!("there are no rooms: expected [room.{name}]"),
        false => format!("there is no [room.{name}]: expected one of {}", names.join(", ")),
    };
    kind.map(|kind| kind as u16).ok_or_else(|| source.error(at.span(), problem()))
}

/// The rooms in which the people of a role are for good: a bit each.
fn stays(source: &Source<'_>, rooms: &Written, kinds: &[RoomKind], joined: u8) -> Result<u8, Failure> {
    let mut stays = 0;
    for name in rooms.get_ref() {
        let kind = 1 << kind_of(source, name, name.get_ref(), kinds)?;
        if joined & kind != 0 {
            let problem =
                "they join it in their `visit`, too: expected it there, or here, where they are for good";
            return Err(source.error(name.span(), problem));
        }
        stays |= kind;
    }
    Ok(stays)
}

/// A round.
fn steps(source: &Source<'_>, visit: &Written, kinds: &[RoomKind]) -> Result<Vec<VisitStep>, Failure> {
    let written = visit.get_ref();
    if !(1..=Visit::STEPS_MAX).contains(&written.len()) {
        let problem = format!("expected 1 to {} steps, not {}", Visit::STEPS_MAX, written.len());
        return Err(source.error(visit.span(), problem));
    }
    let steps = written.iter().map(|step| self::step(source, step, kinds)).collect::<Result<Vec<_>, _>>()?;
    let visit_of = Visit { steps: steps.clone(), stays: 0 };
    match visit_of.first_wrong() {
        Some(at) if at < steps.len() => {
            let problem = match steps[at] {
                VisitStep::Join(kind) => format!("they are in {} already", kinds[usize::from(kind)].name),
                VisitStep::Leave(kind) => {
                    format!("they are not in {}: a round begins outside", kinds[usize::from(kind)].name)
                }
                VisitStep::Wait { .. } => unreachable!("anybody can wait"),
            };
            return Err(source.error(written[at].span(), problem));
        }
        Some(_) => {
            let problem =
                "a round ends as it begins, outside: expected a \"leave NAME\" for each \"join NAME\"";
            return Err(source.error(visit.span(), problem));
        }
        None => {}
    }
    if !visit_of.is_sound(Rooms::KINDS_MAX) {
        let problem = "expected waits of at least 100ms in a round, such as \"wait 30s..5m\"";
        return Err(source.error(visit.span(), problem));
    }
    Ok(steps)
}

fn step(source: &Source<'_>, step: &Spanned<String>, kinds: &[RoomKind]) -> Result<VisitStep, Failure> {
    let (word, rest) = step.get_ref().trim().split_once(' ').unwrap_or_default();
    let rest = rest.trim();
    match word {
        "join" => Ok(VisitStep::Join(kind_of(source, step, rest, kinds)?)),
        "leave" => Ok(VisitStep::Leave(kind_of(source, step, rest, kinds)?)),
        "wait" => {
            let (least, most) = rest.split_once("..").unwrap_or((rest, rest));
            let time = |text| units::time_ns(text).map_err(|problem| source.error(step.span(), problem));
            let (ns_min, ns_max) = (time(least)?, time(most)?);
            if ns_min > ns_max {
                return Err(source.error(step.span(), "expected the shorter time first: \"wait 5s..20s\""));
            }
            if ns_max > Visit::WAIT_NS_MAX {
                return Err(source.error(step.span(), "expected at most 24h"));
            }
            Ok(VisitStep::Wait { ns_min, ns_max })
        }
        _ => Err(source.error(step.span(), STEP)),
    }
}

/// Checks that visitors may come and go in this run: their connections stay what they are.
pub(crate) fn check_run(plan: &Plan, scenario: Scenario) -> Result<(), Failure> {
    let flag = match plan {
        _ if plan.rooms.visits().is_empty() => return Ok(()),
        _ if scenario == Scenario::Storm => "storm",
        Plan { churn: Some(_), .. } => "--churn",
        Plan { flap: Some(_), .. } => "--flap",
        Plan { messages_per_connection: Some(_), .. } => "--messages-per-connection",
        _ => return Ok(()),
    };
    let problem = format!(
        "users of the app file join and leave rooms (`visit`, `rooms`), which takes connections that stay: leave out \
         {flag}, or these"
    );
    Err(Failure::usage(flag, problem))
}

/// Checks that every visitor that says something is, at some time, in all rooms where it does.
pub(super) fn check_spoken(source: &Source<'_>, file: &File, rooms: &Rooms) -> Result<(), Failure> {
    if file.publish.is_some() {
        return Ok(()); // nobody has to be anywhere for what is published
    }
    for (role, visit) in rooms.visits().iter().enumerate() {
        let said = rooms.says().iter().enumerate();
        let said = said.filter(|(kind, _)| rooms.roles().get(role).is_none_or(|role| role.says[*kind] > 0));
        let needed = said.fold(0, |needed, (_, say)| needed | 1 << say.room) & rooms.visited();
        if !visit.is_ever_in(needed) {
            let names = rooms.kinds().iter().enumerate().filter(|(kind, _)| needed & 1 << kind != 0);
            let names: Vec<&str> = names.map(|(_, kind)| kind.name.as_str()).collect();
            let problem = format!(
                "its people have something to say in {}, where they never are at the same time: expected `visit` or `rooms` that \
                 bring them there, or `says` without it",
                names.join(" and ")
            );
            let at = file.role.get(role).map(Spanned::span);
            let of_all = file.people.as_ref().and_then(|people| people.get_ref().visit.as_ref());
            return Err(source.error(at.or(of_all.map(Spanned::span)).unwrap_or(0..0), problem));
        }
    }
    Ok(())
}

/// Checks that the file says how a room is joined where people come and go, and how it is left, if it is.
pub(super) fn check_join(
    source: &Source<'_>,
    name: &str,
    room: &Spanned<file::Room>,
    is_left: bool,
) -> Result<(), Failure> {
    let file::Room { join, leave, .. } = room.get_ref();
    let Some(join) = join else {
        let problem = format!(
            "[room.{name}] is not everybody's for good: expected `join`, which says how it is joined"
        );
        return Err(source.error(room.span(), problem));
    };
    let file::Join { topic, channel, expect, replied, .. } = join.get_ref();
    // The protocol tells by itself when such a room lets a client in.
    if topic.is_some() || channel.is_some() {
        return match leave {
            Some(leave) => Err(source
                .error(leave.span(), "a topic or channel is left in the protocol's own way: leave it out")),
            None => Ok(()),
        };
    }
    if expect.is_none() && replied.as_ref().is_none_or(|replied| !*replied.get_ref()) {
        let problem = "people come and go here, and are due what is said while they are there: expected what lets them in, \
                       `expect` or `replied`";
        return Err(source.error(join.span(), problem));
    }
    match leave {
        None if is_left => {
            let problem =
                format!("users leave [room.{name}]: expected `leave = {{ send = … }}` beside `join`");
            Err(source.error(room.span(), problem))
        }
        _ => Ok(()),
    }
}
