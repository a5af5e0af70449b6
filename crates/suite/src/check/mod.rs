//! The gate before any timing: does the server do what its manifest says it does? A wrong answer means no number.

mod frames;
mod sessions;
mod streams;

use crate::manifest::{Ability, Target};
use crate::server::Server;
use crate::stage::{Stage, StageFailure};
use crate::tools::Tools;
use crate::visit::{self, ANSWER_MAX};

/// Starts a prepared target, checks it, stops it, and makes sure that nothing of it is left.
///
/// # Errors
/// It does not start, gives a wrong answer, dies, does not stop within its grace, or leaves processes behind.
pub fn check(target: &Target, tools: &Tools<'_>) -> Result<(), StageFailure> {
    check_as_it_is(target, tools)?;
    target.over_tls().map_or(Ok(()), |secure| check_as_it_is(&secure, tools).map_err(over_tls))
}

/// Says of what went wrong that it did so over TLS.
fn over_tls(trouble: StageFailure) -> StageFailure {
    StageFailure { reason: format!("over TLS: {}", trouble.reason), ..trouble }
}

/// The same of a server in the clear, or of one that speaks TLS.
fn check_as_it_is(target: &Target, tools: &Tools<'_>) -> Result<(), StageFailure> {
    let mut server = Server::start(target, None, &[], tools)?;
    let answers = if target.is_over_tls() {
        sessions_of(target, &server, tools)
    } else {
        in_the_clear(target, &server, tools).and_then(|()| sessions_of(target, &server, tools))
    };
    // Before it is asked to stop: an end after that is in order.
    let death = server.poll_death();
    let end = server.stop();
    // It explains whatever answer did not come.
    if let Some(death) = death {
        return Err(StageFailure::new(Stage::Check, death));
    }
    answers?;
    if end.killed {
        let reason = format!("still running {:?} after SIG{}", target.stop.grace, target.stop.signal.name());
        return Err(StageFailure::new(Stage::Stop, reason));
    }
    match end.left {
        0 => Ok(()),
        1 => Err(StageFailure::new(Stage::Stop, "left a process behind, which was killed")),
        left => {
            Err(StageFailure::new(Stage::Stop, format!("left {left} processes behind, which were killed")))
        }
    }
}

/// Checks plain requests that the manifest promises, and that frames are well-formed.
fn in_the_clear(target: &Target, server: &Server, tools: &Tools<'_>) -> Result<(), StageFailure> {
    let place = server.place();
    let root = format!("http://{}/", place.address);
    if target.can(Ability::Http) {
        visit::get(&root, None, ANSWER_MAX).map_err(|why| wrong("GET /", why))?;
    }
    if target.can(Ability::Stream) {
        streams::answer(&format!("{root}stream")).map_err(|why| wrong("GET /stream", why))?;
    }
    // The same server twice: what is measured at the socket has to be what was checked.
    if target.can(Ability::Unix) {
        visit::get(&root, Some(&place.socket), ANSWER_MAX)
            .map_err(|why| wrong("GET / at the unix socket", why))?;
    }
    for &dialect in target.dialects.iter().filter(|dialect| dialect.facts().takes_anything) {
        if target.can(Ability::Echo) {
            let url = place.url(target, dialect);
            frames::check(&url, tools.is_interrupted).map_err(|why| wrong(dialect.name(), why))?;
        }
    }
    Ok(())
}

/// Everything that it promises of its dialects, one after the other.
fn sessions_of(target: &Target, server: &Server, tools: &Tools<'_>) -> Result<(), StageFailure> {
    for &dialect in target.dialects.iter().filter(|dialect| !dialect.facts().asks) {
        if (tools.is_interrupted)() {
            return Err(StageFailure::new(Stage::Check, "interrupted"));
        }
        let url = server.place().url(target, dialect);
        sessions::check(&url, dialect, target).map_err(|why| wrong(target.name_of(dialect), why))?;
    }
    Ok(())
}

fn wrong(what: &str, why: String) -> StageFailure {
    StageFailure::new(Stage::Check, format!("{what}: {why}"))
}
