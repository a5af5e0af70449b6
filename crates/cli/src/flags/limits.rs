//! Limits, as users write them: on figures that the scenario has, of parts of the load that there will be.

use load::{Plan, Rooms};
use results::Scenario;
use results::limit::{Limit, Part};

use crate::flags::crowd;

/// Reads a limit on a run of that scenario by this plan. A percentile without a metric is of the deliveries
/// if senders get no answers.
pub(crate) fn of_plan(text: &str, scenario: Scenario, plan: &Plan) -> Result<Limit, String> {
    let limit = read(text, scenario, &plan.rooms)?;
    if !limit.is_of_round_trip() || !crowd::is_unanswered(plan) {
        return Ok(limit);
    }
    read(&format!("delivery.{text}"), scenario, &plan.rooms).map_err(|_| {
        format!("senders get no answer here, so {text:?} would limit nothing; limit the delivery: delivery.p95<=250ms")
    })
}

/// Reads a limit on a run of that scenario, in which there are these rooms.
pub(crate) fn read(text: &str, scenario: Scenario, rooms: &Rooms) -> Result<Limit, String> {
    let limit = Limit::parse(text, scenario).map_err(|error| error.to_string())?;
    check_part(limit.part(), rooms)?;
    Ok(limit)
}

/// Refuses a kind of message or a role that the run does not have.
fn check_part(part: &Part, rooms: &Rooms) -> Result<(), String> {
    let (what, name, there, why) = match part {
        Part::Whole => return Ok(()),
        Part::Say(name) => {
            let kinds = rooms.says().iter().map(|say| say.name.as_str());
            // A single kind is the whole, and has no figures of its own.
            let kinds: Vec<&str> = kinds.filter(|_| rooms.says().len() > 1).collect();
            let why = "kinds are told apart where an app's file (--app) has several [say.NAME]";
            ("messages of a kind", name, kinds, why)
        }
        Part::Role(name) => {
            let roles = rooms.roles().iter().map(|role| role.name.as_str()).collect();
            ("users of a role", name, roles, "roles are the [[role]] of an app's file (--app)")
        }
    };
    if there.contains(&name.as_str()) {
        return Ok(());
    }
    let why = match &there[..] {
        [] => format!(": {why}"),
        there => format!("; there are {}", there.join(", ")),
    };
    Err(format!("there are no {what} {name:?}{why}"))
}
