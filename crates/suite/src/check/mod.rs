//! The gate before any timing: does the server do what its manifest says it does? A wrong answer means no number.

mod frames;
mod sessions;

use crate::manifest::{Ability, Target};
use crate::server::Server;
use crate::setup::{Stage, Tools, Trouble};
use crate::visit::{self, ANSWER_MAX};

/// Starts a prepared target, checks it, stops it, and makes sure that nothing of it is left.
///
/// # Errors
/// It does not start, gives a wrong answer, dies, does not stop within its grace, or leaves processes behind.
pub fn check(target: &Target, tools: &Tools<'_>) -> Result<(), Trouble> {
    let mut server = Server::start(target, None, &[], tools)?;
    let answers = answers(target, &server, tools);
    let death = server.poll_death();
    let end = server.stop();
    if let Some(death) = death {
        return Err(Trouble::new(Stage::Check, death));
    }
    answers?;
    if end.killed {
        let reason = format!("still running {:?} after SIG{}", target.stop.grace, target.stop.signal.name());
        return Err(Trouble::new(Stage::Stop, reason));
    }
    match end.left {
        0 => Ok(()),
        1 => Err(Trouble::new(Stage::Stop, "left a process behind, which was killed")),
        left => Err(Trouble::new(Stage::Stop, format!("left {left} processes behind, which were killed"))),
    }
}

/// Everything that the manifest promises, one after the other.
fn answers(target: &Target, server: &Server, tools: &Tools<'_>) -> Result<(), Trouble> {
    let place = server.place();
    let root = format!("http://{}/", place.address);
    let wrong = |what: &str, why: String| Trouble::new(Stage::Check, format!("{what}: {why}"));
    if target.can(Ability::Http) {
        visit::get(&root, None, ANSWER_MAX).map_err(|why| wrong("GET /", why))?;
    }
    if target.can(Ability::Unix) {
        visit::get(&root, Some(&place.socket), ANSWER_MAX)
            .map_err(|why| wrong("GET / at the unix socket", why))?;
    }
    for &dialect in target.dialects.iter().filter(|dialect| !dialect.facts().is_plain_http) {
        if (tools.is_interrupted)() {
            return Err(Trouble::new(Stage::Check, "interrupted"));
        }
        let url = place.url(target, dialect);
        let wrong = |why| wrong(dialect.name(), why);
        if dialect.facts().takes_anything && target.can(Ability::Echo) {
            frames::check(&url).map_err(wrong)?;
        }
        sessions::check(&url, dialect, target).map_err(wrong)?;
    }
    Ok(())
}
