//! The description among the options, compiled.

use super::compiled::compile;
use super::spec::OPEN_STEPS_MAX;
use crate::dialects::parts::Parts;
use crate::options::{BadOption, Options};

/// Compiles the description among the options.
pub(crate) fn parts(options: &Options) -> Result<Parts, BadOption> {
    let bad = |expected| BadOption::OfDialect { option: "custom", expected };
    let dialect = options.of_dialect.custom.as_deref();
    let dialect = dialect.ok_or(bad("the TOML file that describes the dialect"))?;
    if dialect.open.len() > OPEN_STEPS_MAX {
        return Err(bad("fewer steps to open with"));
    }
    let padding = options.payload.padding.unwrap_or(0) as usize;
    let max = options.limits.message_bytes_max;
    let echo = dialect.echo.as_ref().map(|echo| &echo.send);
    let broadcast = dialect.broadcast.as_ref().map(|broadcast| &broadcast.send);
    if echo.into_iter().chain(broadcast).any(|message| message.bytes_max(padding) > max) {
        return Err(BadOption::PayloadSize { min: 0, max: u32::try_from(max).unwrap_or(u32::MAX) });
    }
    let compiled = compile(dialect, padding).map_err(|_| bad("conditions that can be used"))?;
    Ok(Parts { custom: Some(Box::new(compiled)), ..Parts::default() })
}
