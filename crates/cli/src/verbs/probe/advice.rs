//! The report of a probe: a line for each place, what is in the way, and the commands to type next.

use proxy::Upstream;
use results::format;
use secret::HIDDEN;
use url::Url;

use crate::flags::access::{self, AccessArgs, WAYS_TO_LOG_IN};
use crate::output::quoted;
use crate::verbs::probe::reply::{Barrier, Found};
use crate::verbs::probe::service::Service;

/// The outcome of one client that spoke the protocol and sent a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Trial {
    /// The message was answered.
    Echoes,
    /// The client is connected; the server did not answer the message.
    Connects,
    /// The server turned the client away, or said nothing.
    Fails(String),
}

/// The way to a WebSocket that was not found.
const PATH_ELSEWHERE: &str = "the browser's developer tools show its path: throng ws://HOST:PORT/PATH";

/// Paths without an answer that a line has room for.
const NAMED_MAX: usize = 3;

/// The way to a WebSocket that may be behind a refusal.
const ORIGIN_LEFT_OUT: &str = "\n  places that refused were asked without an Origin: try --origin URL";

/// A login that hides what is behind it.
const CLOSED: &str = "\n  every other path wants a login, so nothing is known behind it: log in\n  \
                      with -H 'Cookie: …' or -H 'Authorization: Bearer …', and look again";

/// A command to type, and what it is for.
#[derive(Debug, PartialEq, Eq)]
struct Command {
    words: String,
    purpose: &'static str,
}

/// The place that is tried and loaded: a WebSocket with a protocol, before a plain one, before requests.
pub(super) fn best(found: &[Found]) -> Option<&Found> {
    let by = |is: fn(&Found) -> bool| found.iter().find(|found| is(found));
    by(|found| found.service.dialect().is_some() && !found.is_plain())
        .or_else(|| by(|found| found.service.example().is_some()))
        .or_else(|| found.first())
}

/// All that a probe has to say.
pub(super) struct View<'a> {
    /// The URL that was asked for.
    pub(super) url: String,
    /// True if nothing follows.
    pub(super) is_short: bool,
    /// Connections that were made.
    pub(super) requests: usize,
    /// Usual paths that were left out, for want of connections or time.
    pub(super) left_out: &'a [String],
    /// Paths of places without an answer.
    pub(super) silent: &'a [String],
    /// True if a place refused a client without an origin, and was not asked with one.
    pub(super) is_origin_left_out: bool,
    /// The reason why the URL itself gave no answer.
    pub(super) unanswered: Option<&'a str>,
    /// True if usual places refuse clients as a path does that nobody has.
    pub(super) is_closed: bool,
    /// The flags by which the server lets clients in.
    pub(super) access: &'a AccessArgs,
    /// True if the URL has a user.
    pub(super) has_user: bool,
    pub(super) found: &'a [Found],
    /// The trial at the best of them.
    pub(super) trial: Option<&'a Trial>,
}

impl View<'_> {
    /// The lines that are printed.
    pub(super) fn text(&self) -> String {
        let View { url, requests, access, found, trial, .. } = self;
        let mut text = format!("{url}: {}\n\n", format::counted(*requests as u64, "request"));
        let width = found.iter().map(|found| found.url.chars().count()).max().unwrap_or_default();
        for place in *found {
            text.push_str(&format!("  {:width$}  {}\n", place.url, line(place)));
        }
        if let Some(why) = self.unanswered.filter(|_| found.is_empty()) {
            text.push_str(&format!("  {why}\n"));
        }
        if !found.iter().any(|found| found.service.example().is_some()) {
            let left_out = match self.left_out {
                [] => String::new(),
                paths => format!("\n  not asked: {}", paths.join(", ")),
            };
            let silent = match self.silent {
                [] => String::new(),
                paths if paths.len() <= NAMED_MAX => format!("\n  no answer in time: {}", paths.join(", ")),
                paths => format!("\n  no answer in time at {} paths; is the server busy?", paths.len()),
            };
            let closed = if self.is_closed { CLOSED } else { "" };
            let origin = if self.is_origin_left_out { ORIGIN_LEFT_OUT } else { "" };
            text.push_str(&format!(
                "  no WebSocket found{left_out}{silent}{closed}{origin}\n  {PATH_ELSEWHERE}\n"
            ));
        }
        if let Some((place, said)) = barrier(found, *trial) {
            text.push_str(&format!("\nIn the way at {place}: {said}\n"));
        }
        let commands = commands(found, *trial, access);
        if !commands.is_empty() {
            text.push_str(&format!("\nNext{}:\n", self.lacking()));
        }
        for Command { words, purpose } in commands {
            text.push_str(&format!("  {words}\n      {purpose}\n"));
        }
        if self.is_short && found.iter().any(Found::is_websocket) {
            let command = format!("throng probe {}{}", typed(url), access.flags());
            text.push_str(&format!("\nIts limits and timeouts: {command}\n"));
        }
        text
    }

    /// Parts of the user's command that the proposals lack.
    fn lacking(&self) -> &'static str {
        let has_secret = self.has_user || without_secrets(&self.url) != self.url;
        match (!self.access.headers.is_empty(), has_secret) {
            (false, false) => "",
            (true, false) => ", with the same -H",
            (false, true) => ", with the URL's credentials, which are left out",
            (true, true) => ", with the same -H and the URL's credentials, which are left out",
        }
    }
}

/// The barrier that turns clients away, and its words.
fn barrier(found: &[Found], trial: Option<&Trial>) -> Option<(String, String)> {
    let best = best(found)?;
    let of_trial = match trial {
        Some(Trial::Fails(why)) if access::is_refusal(why) => Some(Barrier::Login(why.clone())),
        _ => None,
    };
    let barrier = of_trial.or_else(|| best.barrier.clone())?;
    let said = match barrier {
        Barrier::Login(said) => {
            let ways = WAYS_TO_LOG_IN.map(|way| format!("\n  {way}"));
            format!("{said}\nLog in in one of three ways:{}", ways.concat())
        }
        Barrier::Redirect(location) => format!("it leads to {location}"),
        Barrier::Elsewhere => "its WebSocket is at another path".to_owned(),
        Barrier::Fault(said) => format!("{said}\nThe server's own log may say why."),
    };
    Some((best.url.clone(), said))
}

/// Describes a place on one line.
fn line(found: &Found) -> String {
    let mut parts = vec![found.service.name().to_owned()];
    parts.extend(found.details.iter().cloned());
    parts.extend(found.origin.as_ref().map(|origin| format!("with --origin {origin}")));
    parts.join(", ")
}

/// The commands that work as they stand, and the one for which a file has to be edited.
fn commands(found: &[Found], trial: Option<&Trial>, access: &AccessArgs) -> Vec<Command> {
    let Some(best) = best(found) else { return Vec::new() };
    let given = access.flags();
    // The user's own origin comes first.
    let origin = access.origin.clone().or_else(|| best.origin.clone());
    let flags = AccessArgs { origin, ..access.clone() }.flags();
    let mut commands = Vec::new();
    match &best.barrier {
        Some(Barrier::Redirect(location)) if best.service == Service::Http => {
            return vec![Command {
                words: format!("throng {}{given}", typed(location)),
                purpose: "look there",
            }];
        }
        Some(Barrier::Fault(_)) => {
            return vec![Command {
                words: format!("throng {}{given}", typed(&best.url)),
                purpose: "look again, once it answers",
            }];
        }
        Some(Barrier::Login(_)) => commands.extend([
            Command {
                words: format!("throng {} -H 'Cookie: NAME=VALUE'{flags}", typed(&best.url)),
                purpose: "look again, logged in",
            },
            record(best, access),
        ]),
        _ => commands.extend(load(best, trial, &flags)),
    }
    let page = found.iter().find(|found| found.service == Service::Http && found.is_good);
    // An echo says all that there is to know of its messages.
    if let Some(page) = page.filter(|_| best.barrier.is_none() && trial != Some(&Trial::Echoes)) {
        commands.push(record(page, access));
    }
    if best.service == Service::EventStream && trial == Some(&Trial::Connects) {
        commands.push(Command {
            words: format!(
                "throng broadcast {} --protocol sse --publish-url /PATH --clients 100{flags}",
                typed(&best.url)
            ),
            purpose: "measure delivery: POST /PATH has your application tell them each message",
        });
    }
    commands.extend(ask(best, trial, &flags));
    if let Some(example) = best.service.example().filter(|_| trial != Some(&Trial::Echoes)) {
        commands.push(Command {
            words: format!("throng init --from {example}"),
            purpose: match best.service {
                Service::Plain => "write app.toml, to make its messages yours (a game: --from game)",
                _ => "write app.toml, to make its messages yours",
            },
        });
        commands.push(Command {
            words: format!("throng run app.toml {} --clients 50{flags}", typed(&best.url)),
            purpose: "load your app",
        });
    }
    if commands.is_empty() && !best.is_good {
        commands.push(record(best, access));
    }
    commands.extend(page.map(|page| Command {
        words: format!("throng http {} -c 50 -d 10s{given}", typed(&page.url)),
        purpose: "load the page: requests per second",
    }));
    commands
}

/// The command that records a session with what is found here.
fn record(found: &Found, access: &AccessArgs) -> Command {
    let trust = access::trust_flags(access.ca.as_deref(), access.insecure);
    Command {
        words: format!("throng record {}{trust}", quoted(&origin_of(&found.url))),
        purpose: "write app.toml from a session in your browser",
    }
}

/// The command that loads a WebSocket without a file; `flags`: those that let its clients in.
fn load(best: &Found, trial: Option<&Trial>, flags: &str) -> Option<Command> {
    let dialect = match best.service.dialect()? {
        _ if best.is_plain() => String::new(),
        dialect => format!(" --protocol {}", dialect.name()),
    };
    let (verb, purpose) = match trial? {
        Trial::Echoes => ("echo", "load it: each client sends once a second"),
        Trial::Connects => ("idle", "open connections and hold them"),
        Trial::Fails(_) => return None,
    };
    let words = format!("throng {verb} {}{dialect} --clients 100 -d 10s{flags}", typed(&best.url));
    Some(Command { words, purpose })
}

/// The command that asks, and measures the answer event by event.
fn ask(best: &Found, trial: Option<&Trial>, flags: &str) -> Option<Command> {
    let (how, purpose) = match best.service {
        Service::Answer(Some(api)) => (format!(" --api {api}"), "ask, and time each event of the answers"),
        Service::Answer(None) => (String::new(), "ask, and time each event of the answers"),
        Service::Plain if trial == Some(&Trial::Connects) && best.path.contains("/stream") => {
            (" --body TEXT --end MARK".to_owned(), "if it answers in pieces: ask, and time each")
        }
        _ => return None,
    };
    let words = format!("throng stream {}{how} -c 10 -d 10s{flags}", typed(&best.url));
    Some(Command { words, purpose })
}

/// A URL as a word of a command. What is hidden in the one that is shown would be sent as it is.
fn typed(shown: &str) -> String {
    quoted(&without_secrets(shown))
}

fn without_secrets(shown: &str) -> String {
    let parts = shown.split_inclusive(['?', '&']).filter(|part| !part.contains(HIDDEN));
    parts.collect::<String>().trim_end_matches(['?', '&']).to_owned()
}

/// The origin of a server's pages.
fn origin_of(url: &str) -> String {
    let upstream = Url::parse(url).ok().as_ref().and_then(Upstream::of);
    upstream.map_or_else(|| url.to_owned(), |upstream| upstream.origin())
}

#[cfg(test)]
mod tests;
