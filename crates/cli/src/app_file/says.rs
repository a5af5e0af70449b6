//! Messages of several kinds: which of them how often, and in which rooms: `[say.NAME]`.

use std::collections::BTreeMap;
use std::ops::Range;

use app::people::{Mix, RoleKind};
use load::{RoomKind, SayKind};
use results::units;
use toml::Spanned;

use super::defaults::RunDefaults;
use super::file::{self, To};
use super::rooms::check_name;
use super::source::Source;
use crate::exit::Failure;
use crate::flags::rates;

/// Shares are counted in millionths, and rates in thousandths of a message a second.
pub(super) const SHARE_WHOLE: f64 = 1e6;
pub(super) const RATE_UNIT: f64 = 1e3;
/// How far shares may be from their whole, by rounding: thirds are written as 33.33%.
const ROUNDING: f64 = 1e-3;

/// The kinds of messages that a file has, in the order of their names. If they have rates, the sum is what is
/// usual. Where there are roles, these say how often.
pub(super) fn kinds(
    source: &Source<'_>,
    says: &BTreeMap<String, Spanned<file::Say>>,
    rooms: &[RoomKind],
    roles: &[RoleKind],
    defaults: &mut RunDefaults,
) -> Result<Vec<SayKind>, Failure> {
    let Some(first) = says.values().next() else { return Ok(Vec::new()) };
    if says.len() > Mix::KINDS_MAX {
        let problem = format!("at most {} kinds of messages, not {}", Mix::KINDS_MAX, says.len());
        return Err(source.error(first.span(), problem));
    }
    let shares = match roles {
        [] => shares(source, says, defaults)?,
        // The roles were read before, and no sum of theirs is too large.
        _ => (0..says.len()).map(|kind| roles.iter().map(|role| role.says[kind]).sum()).collect(),
    };
    let mut kinds = Vec::new();
    for ((name, say), share) in says.iter().zip(shares) {
        check_name(name).map_err(|problem| source.error(say.span(), format!("[say.{name}]: {problem}")))?;
        let room = room(source, say, &say.get_ref().room, rooms)?;
        let to_others = say.get_ref().to == Some(To::Others);
        kinds.push(SayKind { name: name.clone(), room, to_others, share });
    }
    Ok(kinds)
}

/// The kind of rooms in which something is said: the one that is named, or the only one.
pub(super) fn room<T>(
    source: &Source<'_>,
    said: &Spanned<T>,
    named: &Option<Spanned<String>>,
    rooms: &[RoomKind],
) -> Result<u16, Failure> {
    let there_are = || {
        let names: Vec<&str> = rooms.iter().map(|room| room.name.as_str()).collect();
        names.join(", ")
    };
    match (named, rooms) {
        (None, [] | [_]) => Ok(0),
        (None, _) => {
            Err(source
                .error(said.span(), format!("expected `room`, one of {}: there are several", there_are())))
        }
        (Some(named), []) => {
            let problem = format!("there are no rooms: expected [room.{}]", named.get_ref());
            Err(source.error(named.span(), problem))
        }
        (Some(named), _) => {
            let place = rooms.iter().position(|room| room.name == *named.get_ref());
            let place = place.ok_or_else(|| {
                source.error(named.span(), format!("there is no such room, but there are {}", there_are()))
            })?;
            Ok(place as u16)
        }
    }
}

/// Each kind's share of all messages: its share or rate, or as much as any other.
fn shares(
    source: &Source<'_>,
    says: &BTreeMap<String, Spanned<file::Say>>,
    defaults: &mut RunDefaults,
) -> Result<Vec<u32>, Failure> {
    let with_share = says.values().filter(|say| say.get_ref().share.is_some()).count();
    let with_rate = says.values().filter(|say| say.get_ref().rate.is_some()).count();
    if with_share + with_rate == 0 {
        return Ok(vec![1; says.len()]);
    }
    let odd = says.values().find(|say| {
        let file::Say { share, rate, .. } = say.get_ref();
        (share.is_some(), rate.is_some()) != (with_share > 0, with_share == 0)
    });
    if let Some(odd) = odd {
        return Err(
            source.error(odd.span(), "expected a `share` of each kind of messages, or a `rate` of each")
        );
    }
    let amounts: Vec<f64> =
        says.values().map(|say| amount(source, say.get_ref())).collect::<Result<_, _>>()?;
    let whole: f64 = amounts.iter().sum();
    if with_share > 0 {
        let last = says.values().next_back().and_then(|say| say.get_ref().share.as_ref());
        let last = last.expect("each has a share");
        check_whole(whole).map_err(|problem| source.error(last.span(), problem))?;
        return Ok(amounts.iter().map(|&share| counted(share, SHARE_WHOLE)).collect());
    }
    let at = says.values().find_map(|say| say.get_ref().rate.as_ref()).expect("there are rates");
    set_usual_rate(source, at.span(), whole, defaults)?;
    Ok(amounts.iter().map(|&rate| counted(rate, RATE_UNIT)).collect())
}

/// Checks that shares come to a whole.
pub(super) fn check_whole(shares: f64) -> Result<(), String> {
    let percent = (shares * 1e5).round() / 1e3;
    let is_whole = (shares - 1.0).abs() <= ROUNDING;
    is_whole.then_some(()).ok_or_else(|| format!("the shares add up to {percent}%, not 100%"))
}

/// Converts `amount` to `units` per one; rounds a positive amount up to at least 1.
pub(super) fn counted(amount: f64, units: f64) -> u32 {
    ((amount * units).round() as u32).max(1)
}

/// Makes the file's messages per second the default rate.
pub(super) fn set_usual_rate(
    source: &Source<'_>,
    at: Range<usize>,
    rate_per_s: f64,
    defaults: &mut RunDefaults,
) -> Result<(), Failure> {
    if defaults.rate.is_some() {
        return Err(source.error(at, "[load] has a rate, too: expected it there, or with each kind"));
    }
    defaults.rate = Some(rates::constant(rate_per_s));
    Ok(())
}

fn amount(source: &Source<'_>, say: &file::Say) -> Result<f64, Failure> {
    match (&say.share, &say.rate) {
        (Some(share), _) => {
            let read =
                units::share(share.get_ref()).map_err(|problem| source.error(share.span(), problem))?;
            let is_some = read > 0.0;
            is_some.then_some(read).ok_or_else(|| source.error(share.span(), "expected more than 0%"))
        }
        (None, Some(rate)) => self::rate(source, rate),
        (None, None) => unreachable!("each has one of them"),
    }
}

/// Messages a second.
pub(super) fn rate(source: &Source<'_>, rate: &Spanned<toml::Value>) -> Result<f64, Failure> {
    let text = match rate.get_ref() {
        toml::Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let read = units::rate_per_s(&text).map_err(|problem| source.error(rate.span(), problem))?;
    within(source, rate, read)
}

/// Messages a second of so many people, of whom each says one after this time, again and again.
pub(super) fn rate_of_each(
    source: &Source<'_>,
    every: &Spanned<String>,
    people: Option<f64>,
) -> Result<f64, Failure> {
    let wrong = |problem: &str| source.error(every.span(), problem);
    let text = every.get_ref();
    if text.contains("..") {
        return Err(wrong(
            "users take turns, and so speak as often as each other: expected one time, such as \"12s\"",
        ));
    }
    let ns = units::time_ns(text).map_err(|problem| source.error(every.span(), problem))?;
    let people = people.ok_or_else(|| {
        wrong("of how many users, is not known: expected `people` in [load], or --clients with one number")
    })?;
    within(source, every, people * 1e9 / ns as f64)
}

/// A rate that can be counted.
fn within<T>(source: &Source<'_>, at: &Spanned<T>, rate_per_s: f64) -> Result<f64, Failure> {
    let is_within = rate_per_s > 0.0 && rate_per_s <= f64::from(u32::MAX) / RATE_UNIT;
    is_within
        .then_some(rate_per_s)
        .ok_or_else(|| source.error(at.span(), "expected more than 0 and less than four million a second"))
}
