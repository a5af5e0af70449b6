//! How much an app's clients do if nobody says anything else: `[load]`.

use std::fmt::Display;

use load::Rooms;
use results::{Scenario, units};
use toml::Spanned;

use super::file::{self, File};
use super::source::Source;
use crate::exit::Failure;
use crate::flags::limits;
use crate::flags::rates::{self, Rates};

/// Defaults of `throng run` for what its flags leave open.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RunDefaults {
    /// Clients.
    pub(crate) people: Option<u64>,
    /// Messages a second over all of them.
    pub(crate) rate: Option<Rates>,
    /// The time between two messages of each of them, where all say how often each does.
    pub(crate) interval_ns: Option<u64>,
    /// How long they go on.
    pub(crate) duration_ns: Option<u64>,
    /// Limits to keep.
    pub(crate) limits: Vec<String>,
}

/// Reads the defaults from the file.
pub(super) fn defaults(source: &Source<'_>, load: &file::Load) -> Result<RunDefaults, Failure> {
    fn read<T, E: Display>(
        source: &Source<'_>,
        key: Option<&Spanned<toml::Value>>,
        parse: fn(&str) -> Result<T, E>,
    ) -> Result<Option<T>, Failure> {
        let Some(key) = key else { return Ok(None) };
        let text = match key.get_ref() {
            toml::Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        parse(&text).map(Some).map_err(|problem| source.error(key.span(), problem))
    }
    Ok(RunDefaults {
        people: read(source, load.people.as_ref(), units::count)?,
        rate: read(source, load.rate.as_ref(), rates::rates)?,
        interval_ns: None,
        duration_ns: read(source, load.duration.as_ref(), units::time_ns)?,
        limits: load.limits.iter().map(|limit| limit.get_ref().clone()).collect(),
    })
}

/// Checks that the limits are on what `throng run` measures of the file, in these rooms.
pub(super) fn check_limits(source: &Source<'_>, file: &File, rooms: &Rooms) -> Result<(), Failure> {
    let is_broadcast = file.broadcast.is_some() || file.publish.is_some() || !file.say.is_empty();
    let scenario = match &file.echo {
        _ if file.stream.is_some() => Scenario::Stream,
        _ if is_broadcast => Scenario::Broadcast,
        Some(_) => Scenario::Echo,
        None => Scenario::Idle,
    };
    for limit in &file.load.limits {
        limits::read(limit.get_ref(), scenario, rooms)
            .map_err(|problem| source.error(limit.span(), problem))?;
    }
    Ok(())
}
