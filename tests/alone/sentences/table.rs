//! The situations, group by group.

use crate::alone::sentences::situation::Situation;

mod beside;
mod limits;
mod losses;
mod refused;
mod stay;
mod well;

/// Situations of one kind.
pub(crate) struct Group {
    pub(crate) title: &'static str,
    pub(crate) situations: Vec<Situation>,
}

/// All of them.
pub(crate) fn groups() -> Vec<Group> {
    let group = |title, situations| Group { title, situations };
    vec![
        group("When all is well", well::situations()),
        group("Answers that are missing, wrong or late", losses::situations()),
        group("Servers that do not stay", stay::situations()),
        group("Who is at its limit", limits::situations()),
        group("What is said before a run", refused::situations()),
        group("Runs beside each other", beside::situations()),
    ]
}
