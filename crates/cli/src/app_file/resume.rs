//! How a client that lost its connection goes on, where the app has a way of its own: `[resume]`.

use std::collections::BTreeMap;

use app::app_file::{AppFile, Condition, JsonScalar, Resumed};
use app::template::{Names, Template};
use toml::{Spanned, Value};

use super::file::{self, File};
use super::keeps::{KEPT, KeptNames};
use super::source::Source;
use crate::exit::Failure;

/// Reads what says how far a client has come, and makes placeholders of it.
pub(super) fn keeps(
    source: &Source<'_>,
    file: &File,
    keeper: &mut KeptNames,
    names: &mut Names,
) -> Result<Vec<Resumed>, Failure> {
    let Some(resume) = &file.resume else { return Ok(Vec::new()) };
    if file.broadcast.is_none() && file.say.is_empty() && file.publish.is_none() {
        let problem =
            "is kept of the copies of broadcasts: there is none of [broadcast], [say.NAME] and [publish]";
        return Err(source.error(resume.keep.span(), problem));
    }
    let firsts = firsts(source, resume)?;
    let mut keeps = Vec::new();
    let places = places(source, resume)?;
    for (name, from) in &places {
        for pointer in from {
            let is_there = (pointer.clone(), JsonScalar::Bare("0".into()));
            let condition = Condition { json: vec![is_there], ..Condition::default() };
            app::conditions::check(&condition).map_err(|bad| source.error(resume.keep.span(), bad))?;
        }
        let value = keeper.number(source, name, &resume.keep)?;
        names.set(name.as_str(), Template::of_kept(value));
        let first = firsts.get(name).cloned().unwrap_or_default();
        keeps.push(Resumed { value, from: from.clone(), first });
    }
    let stranger = firsts.keys().find(|name| !places.iter().any(|(kept, _)| kept == *name));
    match stranger {
        Some(name) => {
            let at = resume.first.as_ref().map_or(0..0, Spanned::span);
            Err(source.error(at, format!("{name:?} is not kept: expected names that `keep` has")))
        }
        None => Ok(keeps),
    }
}

/// Refuses values that are kept and never said.
pub(super) fn check_said(source: &Source<'_>, file: &File, app: &AppFile) -> Result<(), Failure> {
    let Some(resume) = &file.resume else { return Ok(()) };
    let places = places(source, resume)?;
    let Some((name, _)) = places.iter().find(|(name, _)| !source.says(app, name)) else {
        return Ok(());
    };
    let problem =
        format!("is never said: {{{name}}} stands for it in `send`, in a step of [[open]], or in [connect]");
    Err(source.error(resume.keep.span(), problem))
}

/// The paths of each value, by its name: `"/n"`, or `{ offset = "/n", epoch = ["/e", "/reply/e"] }`.
fn places(source: &Source<'_>, resume: &file::Resume) -> Result<Vec<(String, Vec<String>)>, Failure> {
    let expected = || {
        let problem = "expected a JSON pointer, or a table of them by the names of placeholders: { offset = \"/offset\" }";
        source.error(resume.keep.span(), problem)
    };
    let text = |value: &Value| value.as_str().map(str::to_owned).ok_or_else(expected);
    match resume.keep.get_ref() {
        Value::String(pointer) => Ok(vec![(KEPT.to_owned(), vec![pointer.clone()])]),
        Value::Table(named) if !named.is_empty() => {
            let place = |(name, from): (&String, &Value)| {
                let from = match from {
                    Value::Array(pointers) if !pointers.is_empty() => {
                        pointers.iter().map(text).collect::<Result<_, _>>()?
                    }
                    pointer => vec![text(pointer)?],
                };
                Ok((name.clone(), from))
            };
            named.iter().map(place).collect()
        }
        _ => Err(expected()),
    }
}

/// The first value of each, by its name.
fn firsts(source: &Source<'_>, resume: &file::Resume) -> Result<BTreeMap<String, String>, Failure> {
    let Some(first) = &resume.first else { return Ok(BTreeMap::new()) };
    let is_sayable = |text: &str| !text.contains(|c: char| c.is_ascii_control());
    let named: BTreeMap<String, String> = match first.get_ref() {
        Value::String(text) => [(KEPT.to_owned(), text.clone())].into(),
        Value::Table(named) => {
            let texts =
                named.iter().filter_map(|(name, text)| Some((name.clone(), text.as_str()?.to_owned())));
            let texts: BTreeMap<String, String> = texts.collect();
            if texts.len() == named.len() { texts } else { BTreeMap::new() }
        }
        _ => BTreeMap::new(),
    };
    if named.is_empty() || !named.values().all(|text| is_sayable(text)) {
        let problem =
            "expected a text without line breaks, or a table of such texts by the names that `keep` has";
        return Err(source.error(first.span(), problem));
    }
    Ok(named)
}
