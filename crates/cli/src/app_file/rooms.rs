//! Rooms of several kinds, and how they are joined: `[room.NAME]`.

use std::num::NonZero;

use app::app_file::{Join, OpenStep, VisitedRoom};
use app::people::{Division, People};
use app::template::{Names, Purpose, Quoting, Template};
use load::{RoomKind, Rooms};
use results::format::count;
use toml::Spanned;
use wire::{Facts, Joins};

use super::file::{self, File, NAME_BYTES_MAX};
use super::keeps;
use super::source::{Source, is_json};
use super::visits;
use crate::exit::Failure;
use crate::people;

/// The placeholder of the room that is meant, and what those of single kinds start with.
const ROOM: &str = "room";
const OF_KIND: &str = "room.";

/// The kinds of rooms, in the order of their names; empty: the file has none, and flags say who shares a
/// room. From now on people are in them. `clients_max`: the most clients that a step will have; `None`: not
/// known.
pub(super) fn kinds(
    source: &Source<'_>,
    file: &File,
    people: &mut People,
    clients_max: Option<u64>,
) -> Result<Vec<RoomKind>, Failure> {
    let Some(first) = file.room.values().next() else { return Ok(Vec::new()) };
    if people.rooms != [Division::ONE] {
        let problem =
            "the app's file says who shares a room: [room.NAME]; leave out --room-size and --room-count";
        return Err(Failure::usage("--room-size", problem));
    }
    if file.room.len() > Rooms::KINDS_MAX {
        let problem = format!("at most {} kinds of rooms, not {}", Rooms::KINDS_MAX, file.room.len());
        return Err(source.error(first.span(), problem));
    }
    let mut kinds = Vec::new();
    for (name, room) in &file.room {
        let is_sound = |problem| source.error(room.span(), format!("[room.{name}]: {problem}"));
        check_name(name).map_err(is_sound)?;
        let by_number = Template::of_room(kinds.len() as u16);
        let (division, called) = match &room.get_ref().of {
            Some(of) => of_data(source, room.get_ref(), of, people)?,
            None => (division(source, room, clients_max)?, by_number),
        };
        people.names.set(format!("{OF_KIND}{name}"), called);
        let joined_by = if room.get_ref().of.is_none() { joined_by(room.get_ref()) } else { None };
        kinds.push(RoomKind { name: name.clone(), division, joined_by });
    }
    people.rooms = kinds.iter().map(|kind| kind.division.clone()).collect();
    people.names = match &kinds[..] {
        [kind] => names_in(&people.names, &kind.name),
        _ => {
            people.names.unset(ROOM);
            std::mem::take(&mut people.names)
        }
    };
    Ok(kinds)
}

/// A name that people give to rooms and messages, which figures are called by.
pub(super) fn check_name(name: &str) -> Result<(), String> {
    let is_sound = (1..=NAME_BYTES_MAX).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-_".contains(&b));
    is_sound.then_some(()).ok_or_else(|| {
        format!("expected a name of lower-case letters, digits, - and _, at most {NAME_BYTES_MAX}")
    })
}

/// The column that a room is joined by, where its join does not name the room itself.
fn joined_by(room: &file::Room) -> Option<String> {
    // Rooms of one, and one room of all, need no name that is shared.
    room.size.as_ref().filter(|size| *size.get_ref() > 1)?;
    let file::Join { topic, channel, namespace, params, send, .. } = room.join.as_ref()?.get_ref();
    let texts =
        [topic, channel, namespace, params, send].into_iter().flatten().map(|text| text.get_ref().as_str());
    if texts.clone().any(|text| text.contains("{room")) {
        return None;
    }
    texts.into_iter().find_map(|text| {
        let (_, column) = text.split_once("{person.")?;
        Some(format!("{{person.{}}}", column.split_once('}')?.0))
    })
}

/// Rooms whose people have something in common in their data, which is what they are called.
fn of_data(
    source: &Source<'_>,
    room: &file::Room,
    of: &Spanned<String>,
    people: &People,
) -> Result<(Division, Template), Failure> {
    let file::Room { size, count: number, zipf, .. } = room;
    let others = [size.as_ref().map(Spanned::span), number.as_ref().map(Spanned::span)];
    if let Some(other) = others.into_iter().flatten().chain(zipf.as_ref().map(Spanned::span)).next() {
        return Err(source.error(other, "`of` says who shares a room: leave this out"));
    }
    let called = people::template(of.get_ref(), Purpose::Opening, &people.names, Quoting::Plain)
        .map_err(|problem| source.error(of.span(), problem))?;
    let division = people.rooms_by(&called).ok_or_else(|| {
        let problem = format!(
            "expected columns of the people's data, such as \"{{person.team}}\", and at most {} rooms",
            count(Division::ROOMS_MAX.into())
        );
        source.error(of.span(), problem)
    })?;
    Ok((division, called))
}

fn division(
    source: &Source<'_>,
    room: &Spanned<file::Room>,
    clients_max: Option<u64>,
) -> Result<Division, Failure> {
    let file::Room { size, count, zipf, .. } = room.get_ref();
    let whole = |number: &Spanned<i64>| {
        let n = u32::try_from(*number.get_ref()).ok().and_then(NonZero::new);
        n.ok_or_else(|| source.error(number.span(), "expected a whole number of at least 1"))
    };
    match (size, count, zipf) {
        (Some(size), None, None) => Ok(Division::of_size(whole(size)?)),
        (None, Some(count), None) => {
            let division = people::equal_rooms(whole(count)?, clients_max);
            division.map_err(|problem| source.error(count.span(), problem))
        }
        (None, Some(count), Some(zipf)) => {
            let exponent_milli = people::exponent_milli(&zipf.get_ref().to_string())
                .map_err(|problem| source.error(zipf.span(), problem))?;
            let division = people::unequal_rooms(whole(count)?, exponent_milli);
            division.map_err(|problem| source.error(count.span(), problem))
        }
        (_, _, Some(zipf)) if count.is_none() => {
            Err(source.error(zipf.span(), "says of how unequal a size the `count` rooms are: add `count`"))
        }
        _ => Err(source.error(
            room.span(),
            "expected one of `size`, how many people share a room, `count`, how many rooms there are, and `of`, the column that \
             says it",
        )),
    }
}

/// The names that text about the rooms of a kind may use: there, `{room}` is the one of that kind. Flags have
/// one kind, without a name.
pub(super) fn names_in(names: &Names, kind: &str) -> Names {
    let mut of_kind = names.clone();
    if let Some(called) = names.get(&format!("{OF_KIND}{kind}")) {
        of_kind.set(ROOM, called.clone());
    }
    of_kind
}

/// How rooms are joined.
#[derive(Debug, Default)]
pub(super) struct Joining {
    /// In the protocol's own terms.
    pub(super) joins: Vec<Join>,
    /// The place of each kind of rooms among these.
    pub(super) places: Vec<Option<u16>>,
    /// By messages, at the end of the opening.
    pub(super) steps: Vec<OpenStep>,
    /// Or while people are connected, where they come and go.
    pub(super) visited_rooms: Vec<VisitedRoom>,
}

/// Messages that join or leave a room.
pub(super) enum Passage<'a> {
    In {
        join: &'a Spanned<file::Join>,
        /// They come and go.
        is_visited: bool,
    },
    Out(&'a Spanned<file::Leave>),
}

impl Passage<'_> {
    /// The purpose of its templates. Whoever comes while others are there may be announced to them.
    pub(super) fn purpose(&self) -> Purpose {
        if let Passage::In { is_visited: true, .. } = self { Purpose::Joining } else { Purpose::Other }
    }
}

/// How the rooms of a file are joined over a protocol, and left where people come and go (`rooms`). `step`
/// reads what is done by a message, with its own names.
pub(super) fn joining(
    source: &Source<'_>,
    file: &File,
    facts: &Facts,
    names: &Names,
    rooms: Option<&Rooms>,
    mut step: impl FnMut(Passage<'_>, &Names) -> Result<Vec<OpenStep>, Failure>,
) -> Result<Joining, Failure> {
    let mut joining = Joining::default();
    let rules = facts.app.expect("an app goes over it");
    let visited = rooms.map_or(0, Rooms::visited);
    let left = rooms.map_or(0, Rooms::left);
    for (kind, (called, room)) in (0..).zip(&file.room) {
        joining.places.push(None);
        let is_visited = visited & 1 << kind != 0;
        match &room.get_ref().leave {
            _ if is_visited => visits::check_join(source, called, room, left & 1 << kind != 0)?,
            Some(leave) => {
                let problem = "nobody leaves it: expected a `visit` that does, in [people] or a [[role]]";
                return Err(source.error(leave.span(), problem));
            }
            None => {}
        }
        let Some(join) = &room.get_ref().join else { continue };
        let names = names_in(names, called);
        let file::Join { namespace, replied, expect, keep, .. } = join.get_ref();
        let is_replied = replied.as_ref().is_some_and(|replied| *replied.get_ref());
        keeps::check_waits(source, keep, expect.is_some() || is_replied)?;
        if let (Some(namespace), true) = (namespace, is_visited) {
            let problem = "a namespace is connected to for good: nobody can come and go there";
            return Err(source.error(namespace.span(), problem));
        }
        let place = place(rules.joins, join.get_ref());
        let place = place
            .map_err(|how| source.error(join.span(), format!("{} joins a room by {how}", facts.protocol)))?;
        let Some(name) = place else {
            let join = step(Passage::In { join, is_visited }, &names)?;
            if !is_visited {
                joining.steps.extend(join);
                continue;
            }
            let leave = room.get_ref().leave.as_ref();
            let leave = leave.map(|leave| step(Passage::Out(leave), &names)).transpose()?;
            joining.visited_rooms.push(VisitedRoom {
                kind,
                place: None,
                join,
                leave: leave.unwrap_or_default(),
            });
            continue;
        };
        let place = joining.joins.len() as u16;
        *joining.places.last_mut().expect("just pushed") = Some(place);
        let visited = is_visited.then_some(kind);
        joining.joins.push(named(source, join, name, visited, rules.joins, &names)?);
        if is_visited {
            let (join, leave) = Default::default();
            joining.visited_rooms.push(VisitedRoom { kind, place: Some(place), join, leave });
        }
    }
    Ok(joining)
}

/// A join in the protocol's own terms, by the room's name; `visited`: the kind of a room whose members come and go.
fn named(
    source: &Source<'_>,
    join: &Spanned<file::Join>,
    name: &Spanned<String>,
    visited: Option<u16>,
    joins: Joins,
    names: &Names,
) -> Result<Join, Failure> {
    let template = |text: &Spanned<String>, purpose, quoting| {
        people::template(text.get_ref(), purpose, names, quoting)
            .map_err(|problem| source.error(text.span(), problem))
    };
    // A subscription of Action Cable goes by its parameters: they are the same when it ends.
    let announces = visited.is_some() && joins == Joins::Topic;
    let purpose = if announces { Purpose::Joining } else { Purpose::Opening };
    let params = join.get_ref().params.as_ref();
    let params =
        params.map_or(Ok(Template::literal("{}")), |params| template(params, purpose, Quoting::JSON))?;
    if !is_json::<serde_json::Map<String, serde_json::Value>>(&params.sample()) {
        return Err(source.error(join.span(), "expected `params` to be a JSON object, as text"));
    }
    Ok(Join { name: template(name, Purpose::Opening, Quoting::Plain)?, params, visited })
}

/// The room's name in the protocol's own terms; `None`: a message joins it.
///
/// # Errors
/// How the protocol joins rooms, to go into a sentence, where the file has it otherwise.
fn place(joins: Joins, join: &file::Join) -> Result<Option<&Spanned<String>>, &'static str> {
    let file::Join { topic, channel, namespace, params, event, send, replied, expect, .. } = join;
    let says = event.is_some() || send.is_some() || replied.is_some() || expect.is_some();
    let is_message = params.is_none() && (send.is_some() || expect.is_some());
    match (joins, topic, channel, namespace) {
        (Joins::Topic, Some(name), None, None)
        | (Joins::Channel, None, Some(name), None)
        | (Joins::Namespace, None, None, Some(name))
            if !says =>
        {
            Ok(Some(name))
        }
        (Joins::Message | Joins::Namespace, None, None, None) if is_message => Ok(None),
        (Joins::Topic, ..) => Err("its topic: `topic`, and `params` if it has any"),
        (Joins::Channel, ..) => Err("subscribing: `channel`, and `params` if it has any"),
        (Joins::Message, ..) => Err("a message: `send`, and what it waits for, `expect` or `replied`"),
        (Joins::Namespace, ..) => {
            Err("connecting: `namespace`, and `params` if it asks for any; or by a message: `send`")
        }
    }
}
