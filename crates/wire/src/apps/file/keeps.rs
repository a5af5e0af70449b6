//! Values that clients keep of messages, for what they say later.

use app::app_file::{KEEPS_MAX, Keep, VALUES_MAX};
use app::conditions::Opened;
use app::places::InBody;
use app::template::Values;

use super::script::Script;
use crate::event::Rejection;
use crate::options::BadOption;

/// Values to keep of a message.
#[derive(Debug)]
pub(super) struct Keeps {
    all: Vec<(u16, InBody, Rejection)>,
}

impl Keeps {
    /// Ready to be looked for.
    pub(super) fn new(keeps: &[Keep]) -> Result<Keeps, BadOption> {
        let bad = BadOption::OfDialect { option: "app", expected: "values to keep that can be looked for" };
        if keeps.len() > KEEPS_MAX || keeps.iter().any(|keep| keep.value >= VALUES_MAX) {
            return Err(bad);
        }
        let compiled = |keep: &Keep| {
            let place = InBody::written(&keep.from).ok_or(bad)?;
            let line = keep.place.iter().map(|line| format!(" ({line})")).collect::<String>();
            Ok((keep.value, place, Rejection::lacking(&keep.name, &format!("{}{line}", keep.from))))
        };
        Ok(Keeps { all: keeps.iter().map(compiled).collect::<Result<_, _>>()? })
    }

    /// Keeps what is there.
    ///
    /// # Errors
    /// What is told of the first value that is not there.
    pub(super) fn keep(&self, message: &Opened<'_>, script: &mut Script) -> Result<(), Rejection> {
        for (value, place, lacking) in &self.all {
            // Servers say what they like: each client's values have their bounds.
            let found = place.find(&message.body).filter(|found| Values::can_hold(found));
            script.handle_kept(*value, &found.ok_or(*lacking)?);
        }
        Ok(())
    }
}
