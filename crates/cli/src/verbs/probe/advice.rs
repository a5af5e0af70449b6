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
            let origin = if self.is_origin_left_out { ORIGIN_LEFT_OUT } else { "" };
            text.push_str(&format!("  no WebSocket found{left_out}{silent}{origin}\n  {PATH_ELSEWHERE}\n"));
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
mod tests {
    use super::*;

    const URL: &str = "ws://h:1/";

    fn at(service: Service, url: &str) -> Found {
        let (path, details) = ("/".to_owned(), Vec::new());
        Found { url: url.to_owned(), path, service, is_good: true, details, origin: None, barrier: None }
    }

    fn typed(found: &[Found], trial: Option<&Trial>) -> Vec<String> {
        let words = |access: &AccessArgs| -> Vec<String> {
            commands(found, trial, access).into_iter().map(|command| command.words).collect()
        };
        let insecure = words(&AccessArgs { insecure: true, ..AccessArgs::default() });
        let has_flag = |words: &String| words.ends_with(" --insecure") != words.starts_with("throng init ");
        assert!(insecure.iter().all(has_flag), "{insecure:?}");
        words(&AccessArgs::default())
    }

    /// A view of nothing yet.
    fn view(access: &AccessArgs) -> View<'_> {
        View {
            url: URL.to_owned(),
            is_short: true,
            requests: 3,
            left_out: &[],
            silent: &[],
            is_origin_left_out: false,
            access,
            has_user: false,
            found: &[],
            trial: None,
        }
    }

    /// Places that are found, how the trial went, and the commands that follow.
    type Case<'a> = (&'a [Found], Option<&'a Trial>, &'a [&'a str]);

    fn assert_commands(cases: &[Case<'_>]) {
        for (found, trial, expected) in cases {
            assert_eq!(typed(found, *trial), *expected, "{found:?} {trial:?}");
        }
    }

    #[test]
    fn commands_follow_from_sockets() {
        let refused = Trial::Fails("connect_timeout: 1 s".to_owned());
        let (http, cable) = (at(Service::Http, "http://h:1/"), at(Service::ActionCable, "ws://h:1/cable"));
        let strict = Found { origin: Some("http://h:1".to_owned()), ..cable };
        let locked = Found { barrier: Some(Barrier::Login("401".to_owned())), ..at(Service::Plain, URL) };
        assert_commands(&[
            (
                &[at(Service::Plain, URL)],
                Some(&Trial::Echoes),
                &["throng echo ws://h:1/ --clients 100 -d 10s"],
            ),
            (
                &[at(Service::Plain, URL)],
                Some(&Trial::Connects),
                &[
                    "throng idle ws://h:1/ --clients 100 -d 10s",
                    "throng init --from plain",
                    "throng run app.toml ws://h:1/ --clients 50",
                ],
            ),
            (
                &[http, at(Service::Plain, URL), strict],
                Some(&refused),
                &[
                    "throng record http://h:1",
                    "throng init --from actioncable",
                    "throng run app.toml ws://h:1/cable --clients 50 --origin http://h:1",
                    "throng http http://h:1/ -c 50 -d 10s",
                ],
            ),
            (
                &[locked],
                None,
                &[
                    "throng ws://h:1/ -H 'Cookie: NAME=VALUE'",
                    "throng record http://h:1",
                    "throng init --from plain",
                    "throng run app.toml ws://h:1/ --clients 50",
                ],
            ),
        ]);
        let echo = typed(&[at(Service::Graphql, "ws://h:1/graphql")], Some(&Trial::Echoes));
        assert_eq!(echo, ["throng echo ws://h:1/graphql --protocol graphql --clients 100 -d 10s"]);
    }

    #[test]
    fn commands_follow_from_pages() {
        let http = at(Service::Http, "http://h:1/");
        let moved = Found {
            barrier: Some(Barrier::Redirect("https://h/".to_owned())),
            is_good: false,
            ..at(Service::Http, "http://h/")
        };
        let bare = Found { is_good: false, ..http.clone() };
        let fault = Some(Barrier::Fault("500 Internal Server Error".to_owned()));
        let broken = Found { barrier: fault, ..bare.clone() };
        assert_commands(&[
            (&[], None, &[]),
            (std::slice::from_ref(&bare), None, &["throng record http://h:1"]),
            (
                std::slice::from_ref(&http),
                None,
                &["throng record http://h:1", "throng http http://h:1/ -c 50 -d 10s"],
            ),
            (
                &[http.clone(), at(Service::Plain, URL)],
                Some(&Trial::Echoes),
                &["throng echo ws://h:1/ --clients 100 -d 10s", "throng http http://h:1/ -c 50 -d 10s"],
            ),
            (&[moved], None, &["throng https://h/"]),
            (&[broken], None, &["throng http://h:1/"]),
        ]);
    }

    #[test]
    fn commands_follow_from_streams() {
        let asked = Found { path: "/stream".to_owned(), ..at(Service::Plain, "ws://h:1/stream") };
        assert_commands(&[
            (
                &[at(Service::Answer(Some("openai")), "http://h:1/v1/chat/completions")],
                None,
                &[
                    "throng stream http://h:1/v1/chat/completions --api openai -c 10 -d 10s",
                    "throng init --from stream",
                    "throng run app.toml http://h:1/v1/chat/completions --clients 50",
                ],
            ),
            (
                &[asked],
                Some(&Trial::Connects),
                &[
                    "throng idle ws://h:1/stream --clients 100 -d 10s",
                    "throng stream ws://h:1/stream --body TEXT --end MARK -c 10 -d 10s",
                    "throng init --from plain",
                    "throng run app.toml ws://h:1/stream --clients 50",
                ],
            ),
            (
                &[at(Service::EventStream, "http://h:1/e")],
                Some(&Trial::Connects),
                &[
                    "throng idle http://h:1/e --protocol sse --clients 100 -d 10s",
                    "throng broadcast http://h:1/e --protocol sse --publish-url /PATH --clients 100",
                    "throng init --from sse",
                    "throng run app.toml http://h:1/e --clients 50",
                ],
            ),
        ]);
    }

    #[test]
    fn commands_carry_certificates_and_origin() {
        let locked = Found { barrier: Some(Barrier::Login("401".to_owned())), ..at(Service::Plain, URL) };
        let access = AccessArgs {
            origin: Some("http://app".to_owned()),
            ca: Some("my ca.pem".into()),
            cert: Some("c.pem".into()),
            key: Some("k.pem".into()),
            ..AccessArgs::default()
        };
        let words: Vec<String> =
            commands(&[locked], None, &access).into_iter().map(|command| command.words).collect();
        let flags = "--origin http://app --cert c.pem --key k.pem --ca 'my ca.pem'";
        assert_eq!(words[0], format!("throng {URL} -H 'Cookie: NAME=VALUE' {flags}"));
        assert_eq!(words[1], "throng record http://h:1 --ca 'my ca.pem'");
        assert!(words[3].ends_with(&format!(" --clients 50 {flags}")), "{words:?}");
    }

    #[test]
    fn paths_without_a_request_are_named() {
        let (found, access) = ([at(Service::Http, "http://h:1/")], AccessArgs::default());
        let left_out = ["/ws".to_owned(), "/websocket".to_owned()];
        let view = View { requests: 11, left_out: &left_out, found: &found, ..view(&access) };
        let text = view.text();
        assert!(text.contains("not asked: /ws, /websocket\n"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn refusals_without_an_origin_name_its_flag() {
        let access = AccessArgs::default();
        for is_origin_left_out in [false, true] {
            let text = View { is_origin_left_out, ..view(&access) }.text();
            assert_eq!(text.contains("--origin"), is_origin_left_out, "{text}");
        }
    }

    #[test]
    fn next_commands_carry_no_masks() {
        let url = "ws://h:1/cable?token=***ab12&room=1&sig=***cd34";
        let found = [at(Service::ActionCable, url)];
        let access = AccessArgs::default();
        let text = |url: &str| {
            let trial = Some(&Trial::Connects);
            View { url: url.to_owned(), found: &found, trial, ..view(&access) }.text()
        };
        let probed = text(url);
        let (shown, next) = probed.split_once("Next").unwrap();
        assert!(shown.contains(url) && next.starts_with(", with"), "{probed}");
        assert!(next.contains("throng idle 'ws://h:1/cable?room=1' ") && !next.contains(HIDDEN), "{next}");
        assert!(text("ws://h:1/cable?room=1").contains("Next:"));
    }

    #[test]
    fn a_refusal_names_the_ways_to_log_in() {
        let found = [at(Service::ActionCable, "ws://h:1/cable")];
        let trial = Trial::Fails("disconnect_unauthorized: unauthorized".to_owned());
        let headers = vec![("X-User".to_owned(), "ann".into())];
        let access = AccessArgs { headers, ..AccessArgs::default() };
        let text = View { found: &found, trial: Some(&trial), ..view(&access) }.text();
        for part in
            ["ws://h:1/: 3 requests", "In the way at ws://h:1/cable", "--token", "[[login]]", "same -H"]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}
