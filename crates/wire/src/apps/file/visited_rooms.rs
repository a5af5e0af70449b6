//! The rooms that clients of a user's app visit: what they say there on their way in and out, and what they
//! wait for.

use app::app_file::{OpenStep, VisitedRoom};
use app::conditions::Received;

use super::script::Script;
use super::steps::{self, Step};
use crate::carried::{Arrival, MessageTemplate};
use crate::event::{Direction, Event, Rejection, RoomChange};
use crate::options::BadOption;

/// The rooms that an app's clients visit, in the order of its file.
#[derive(Debug)]
pub(super) struct VisitedRooms {
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

impl VisitedRooms {
    /// `steps` compiles what is said and waited for. A pause is refused: the client's one time to wake is for
    /// heartbeats then.
    pub(super) fn new(
        visited_rooms: &[VisitedRoom],
        steps: impl Fn(&[OpenStep]) -> Result<Vec<Step>, BadOption>,
    ) -> Result<VisitedRooms, BadOption> {
        let ways = |visited: &VisitedRoom| {
            if visited.join.iter().chain(&visited.leave).any(|step| matches!(step, OpenStep::Wait(_))) {
                return Err(BadOption::OfDialect { option: "app", expected: "visits without pauses" });
            }
            Ok(Ways { kind: visited.kind, join: steps(&visited.join)?, leave: steps(&visited.leave)? })
        };
        Ok(VisitedRooms { all: visited_rooms.iter().map(ways).collect::<Result<_, _>>()? })
    }

    fn steps(&self, visited: u8, way: Direction) -> &[Step] {
        let ways = &self.all[usize::from(visited)];
        match way {
            Direction::In => &ways.join,
            Direction::Out => &ways.leave,
        }
    }

    /// Returns whether a client waits for this message on its way into or out of a visited room. If so, keeps
    /// what the app's file keeps of the message.
    ///
    /// # Errors
    /// It lacks what is to be kept of it.
    pub(super) fn opens(
        &self,
        script: &mut Script,
        arrival: &Arrival<'_>,
        received: Received<'_>,
    ) -> Result<bool, Rejection> {
        let Some((visited, way, at)) = script.passage() else { return Ok(false) };
        let taken = steps::take(self.steps(visited, way), at, arrival, received, script)?;
        if taken > 0 {
            script.advance(taken);
        }
        Ok(taken > 0)
    }

    /// The next message of a client on its way into or out of a room. Reports that the client is done, unless
    /// there was nothing to wait for: then that is unknown.
    pub(super) fn poll(&self, script: &mut Script, on: &mut impl FnMut(Event)) -> Option<&MessageTemplate> {
        while let Some((visited, way, at)) = script.passage() {
            let steps = self.steps(visited, way);
            match steps.get(usize::from(at)) {
                Some(Step::Send(message_template)) => {
                    script.advance(1);
                    return Some(message_template);
                }
                Some(_) => return None,
                None => {
                    script.pass();
                    if steps.iter().any(|step| !matches!(step, Step::Send(_))) {
                        let passed = match way {
                            Direction::In if script.is_to_leave(visited) => RoomChange::Late,
                            Direction::In => RoomChange::In,
                            Direction::Out => RoomChange::Out,
                        };
                        on(Event::RoomChange { kind: self.all[usize::from(visited)].kind, passed });
                    }
                }
            }
        }
        None
    }
}
