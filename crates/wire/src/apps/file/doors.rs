//! The rooms that clients of a user's app visit: what they say there on their way in and out, and what they wait for.

use super::script::Script;
use super::steps::{Step, is_reply};
use crate::app_file::{Door, OpenStep};
use crate::carried::{Arrival, Letter, Opened};
use crate::event::{Event, Passed, Rejection, Way};
use crate::options::BadOption;

/// The doors of an app, in the order of its file.
#[derive(Debug)]
pub(super) struct Doors {
    all: Vec<Ways>,
}

/// The ways through one of them.
#[derive(Debug)]
struct Ways {
    /// The kind of rooms behind it.
    kind: u16,
    join: Vec<Step>,
    leave: Vec<Step>,
}

impl Doors {
    /// `steps` compiles what is said and waited for.
    pub(super) fn new(
        doors: &[Door],
        steps: impl Fn(&[OpenStep]) -> Result<Vec<Step>, BadOption>,
    ) -> Result<Doors, BadOption> {
        let ways =
            |door: &Door| Ok(Ways { kind: door.kind, join: steps(&door.join)?, leave: steps(&door.leave)? });
        Ok(Doors { all: doors.iter().map(ways).collect::<Result<_, _>>()? })
    }

    fn steps(&self, door: u8, way: Way) -> &[Step] {
        let ways = &self.all[usize::from(door)];
        match way {
            Way::In => &ways.join,
            Way::Out => &ways.leave,
        }
    }

    /// Whether a message is what a client waits for at a door. What is to be kept of it is.
    ///
    /// # Errors
    /// It lacks what is to be kept of it.
    pub(super) fn opens(
        &self,
        script: &mut Script,
        arrival: &Arrival<'_>,
        opened: &Opened<'_>,
    ) -> Result<bool, Rejection> {
        let Some((door, way, at)) = script.passage() else { return Ok(false) };
        let steps = self.steps(door, way);
        let is_awaited = match steps.get(usize::from(at)) {
            Some(Step::Expect(expected)) => expected.matches(opened),
            Some(Step::Reply) => is_reply(arrival),
            _ => false,
        };
        if !is_awaited {
            return Ok(false);
        }
        if let Some(Step::Keep(keeps)) = steps.get(usize::from(at) + 1) {
            keeps.keep(opened, script)?;
            script.advance();
        }
        script.advance();
        Ok(true)
    }

    /// What a usable client has to say at the doors that it is to go through. Who is through is told, unless there was nothing to
    /// wait for: then nobody knows.
    pub(super) fn poll(&self, script: &mut Script, on: &mut impl FnMut(Event)) -> Option<&Letter> {
        while let Some((door, way, at)) = script.passage() {
            let steps = self.steps(door, way);
            match steps.get(usize::from(at)) {
                Some(Step::Send(letter)) => {
                    script.advance();
                    return Some(letter);
                }
                Some(_) => return None,
                None => {
                    script.pass();
                    if steps.iter().any(|step| !matches!(step, Step::Send(_))) {
                        let passed = if way == Way::In { Passed::In } else { Passed::Out };
                        on(Event::Passed { kind: self.all[usize::from(door)].kind, passed });
                    }
                }
            }
        }
        None
    }
}
