//! Roles: shares of the people who say different things: `[[role]]`.

use std::collections::BTreeMap;

use app::people::{RoleAssignment, RoleKind};
use results::units;
use toml::Spanned;

use super::defaults::RunDefaults;
use super::file;
use super::rooms::check_name;
use super::says::{self, RATE_UNIT, SHARE_WHOLE};
use super::source::Source;
use crate::exit::Failure;

/// People whose number is not known, for how much more often some speak than others.
const NOTIONAL_PEOPLE: u64 = 1_000;

/// The roles that a file has, in its order. What they say in a second altogether is what is usual, of so many
/// people, if that is known; else how often each does, where that is all that the file says.
pub(super) fn kinds(
    source: &Source<'_>,
    roles: &[Spanned<file::Role>],
    says: &BTreeMap<String, Spanned<file::Say>>,
    people: Option<u64>,
    defaults: &mut RunDefaults,
) -> Result<Vec<RoleKind>, Failure> {
    let (Some(first), Some(last)) = (roles.first(), roles.last()) else { return Ok(Vec::new()) };
    if roles.len() > RoleAssignment::ROLES_MAX {
        let problem = format!("at most {} roles, not {}", RoleAssignment::ROLES_MAX, roles.len());
        return Err(source.error(first.span(), problem));
    }
    if says.is_empty() {
        let problem = "its users say nothing: expected [say.NAME], and [[role]] with what they say of these";
        return Err(source.error(first.span(), problem));
    }
    let mut messages = roles.iter().flat_map(|role| &role.get_ref().says);
    let is_of_each = messages.all(|message| message.get_ref().every.is_some());
    // In a walk there is no number of users. Where the file says how often each of them speaks, shares of any
    // number are the same, and the interval of each is what stays.
    let grows = people.is_none() && is_of_each;
    let people = people.or(grows.then_some(NOTIONAL_PEOPLE));
    let mut kinds: Vec<RoleKind> = Vec::new();
    let mut shares = 0.0;
    for role in roles {
        let file::Role { name, share, .. } = role.get_ref();
        check_name(name.get_ref()).map_err(|problem| source.error(name.span(), problem))?;
        if kinds.iter().any(|other| other.name == *name.get_ref()) {
            return Err(source.error(name.span(), "there is another [[role]] of that name"));
        }
        let read = units::share(share.get_ref()).map_err(|problem| source.error(share.span(), problem))?;
        if read <= 0.0 {
            return Err(source.error(share.span(), "expected more than 0%"));
        }
        shares += read;
        kinds.push(RoleKind {
            name: name.get_ref().clone(),
            // A share that rounds to nothing is a role all the same.
            share: ((read * SHARE_WHOLE).round() as u32).max(1),
            says: said(source, role.get_ref(), says, people.map(|people| people as f64 * read))?,
        });
    }
    says::check_whole(shares).map_err(|problem| source.error(last.get_ref().share.span(), problem))?;
    check_said(source, says, &kinds)?;
    check_sums(source, says, roles, &kinds)?;
    let rate: u64 = kinds.iter().map(RoleKind::weight).sum();
    let rate_per_s = rate as f64 / RATE_UNIT;
    if let (Some(people), true, None) = (people, is_of_each, defaults.rate) {
        defaults.interval_ns = Some((people as f64 / rate_per_s * 1e9) as u64);
    }
    if !grows || defaults.rate.is_some() {
        says::set_usual_rate(source, first.span(), rate_per_s, defaults)?;
    }
    Ok(kinds)
}

/// How often the people of a role say each kind of messages, of whom there are so many, if that is known.
fn said(
    source: &Source<'_>,
    role: &file::Role,
    says: &BTreeMap<String, Spanned<file::Say>>,
    people: Option<f64>,
) -> Result<Vec<u32>, Failure> {
    let mut often = vec![0; says.len()];
    for message in &role.says {
        let file::RoleMessage { say, rate, every } = message.get_ref();
        let kind = says.keys().position(|name| name == say.get_ref()).ok_or_else(|| {
            let names: Vec<&str> = says.keys().map(String::as_str).collect();
            let problem =
                format!("there is no [say.{}]: expected one of {}", say.get_ref(), names.join(", "));
            source.error(say.span(), problem)
        })?;
        if often[kind] > 0 {
            return Err(source.error(say.span(), "this role says it already"));
        }
        let rate_per_s = match (rate, every) {
            (Some(rate), None) => says::rate(source, rate)?,
            (None, Some(every)) => says::rate_of_each(source, every, people)?,
            _ => {
                let problem =
                    "expected either `rate`, over all users of the role, or `every`, of each of them";
                return Err(source.error(message.span(), problem));
            }
        };
        often[kind] = says::counted(rate_per_s, RATE_UNIT);
    }
    Ok(often)
}

/// Checks that all roles together say each kind as often as can be counted.
fn check_sums(
    source: &Source<'_>,
    says: &BTreeMap<String, Spanned<file::Say>>,
    roles: &[Spanned<file::Role>],
    kinds: &[RoleKind],
) -> Result<(), Failure> {
    for (kind, name) in says.keys().enumerate() {
        let sum: u64 = kinds.iter().map(|role| u64::from(role.says[kind])).sum();
        if sum > u64::from(u32::MAX) {
            let mut messages = roles.iter().rev().flat_map(|role| &role.get_ref().says);
            let last = messages.find(|message| message.get_ref().say.get_ref() == name).expect("it is said");
            let rate = results::format::rate(sum as f64 / RATE_UNIT, "");
            let problem =
                format!("all roles say {name} {rate}: expected less than four million a second of one kind");
            return Err(source.error(last.span(), problem));
        }
    }
    Ok(())
}

/// Checks that each kind of messages has a role that says it, and that how often is said there alone.
fn check_said(
    source: &Source<'_>,
    says: &BTreeMap<String, Spanned<file::Say>>,
    roles: &[RoleKind],
) -> Result<(), Failure> {
    for (kind, (name, say)) in says.iter().enumerate() {
        let file::Say { share, rate, .. } = say.get_ref();
        let at = share.as_ref().map(Spanned::span).or(rate.as_ref().map(Spanned::span));
        if let Some(at) = at {
            let problem = "there are roles, which say how often: expected `rate` in `says` of a [[role]]";
            return Err(source.error(at, problem));
        }
        if roles.iter().all(|role| role.says[kind] == 0) {
            let problem = format!(
                "nobody says it: expected {{ say = \"{name}\", rate = \"10/s\" }} in `says` of a [[role]]"
            );
            return Err(source.error(say.span(), problem));
        }
    }
    Ok(())
}
