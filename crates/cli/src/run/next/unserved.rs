//! Rules for a server that served no client: it let none in, was not there, is gone, or knows other messages.

use results::conclusion::Conclusion;
use results::finding::Cause;
use results::{Run, Scenario};
use stats::error_kind;
use wire::DialectId;

use super::failure::{cause, failed, has_ended, is_endless, is_misunderstood, serves_none};
use super::line::{DRAIN_TIMEOUT_NS, Line, Next, is_taken};
use crate::flags::access;

/// Flags without which a server may say something else to a client that looks.
const ACCESS: [&str; 6] = ["origin", "header", "ca", "cert", "key", "insecure"];

/// Proposes the ways to log in, of users or of those who publish.
pub(super) fn log_in(run: &Run, _: &Conclusion) -> Option<Next> {
    let is_refusal = |text: &str| {
        access::is_refusal(text) || ["HTTP 401", "HTTP 403"].iter().any(|status| text.contains(status))
    };
    let mut errors = run.steps.iter().flat_map(|step| step.errors.iter());
    let (kind, _) = errors.find(|(_, error)| is_refusal(&error.example))?;
    // What clients log in with is not sent with published messages.
    if error_kind::is_of_publishers(kind) {
        let what = "log in where messages are published: --publish-header, or headers in [publish]";
        return Some(Next { key: "log_in_to_publish", what: what.into(), words: None });
    }
    let (key, what) = ("log_in", "log in as users do: -H, --token");
    if run.scenario == Scenario::Http {
        return Some(Next { key, what: what.into(), words: None });
    }
    let what = format!("{what}, or [[login]] in an app file, which this writes:");
    Some(Next { key, what, words: writing_app(run) })
}

/// The command that writes an app file of the run's protocol.
fn writing_app(run: &Run) -> Option<Vec<String>> {
    // By the name that the verb knows the file's kind by: of streams the scenario's, of most the protocol's.
    let program = run.command.first()?;
    let names = [run.scenario.name(), &run.dialect, "plain"];
    let words = names.map(|from| [program, "init", "--from", from].map(str::to_owned).to_vec());
    words.into_iter().find(|words| is_taken(words))
}

/// A server that is gone answers no search either.
pub(super) fn restart_server(run: &Run, _: &Conclusion) -> Option<Next> {
    has_ended(run).then_some(())?;
    Some(Line::of(run)?.to("restart_server", "see why the server ended, start it again, and repeat:"))
}

/// Proposes to wait for a server that was not there, as it may start after the load in a script.
pub(super) fn start_server(run: &Run, _: &Conclusion) -> Option<Next> {
    let refused = failed(run)?.errors.get(error_kind::REFUSED)?;
    (serves_none(run) && refused.count >= failed(run)?.clients).then_some(())?;
    let line = Line::of(run)?.with("wait-for", "30s")?;
    Some(line.to("start_server", "start the server at this address, and repeat:"))
}

/// Proposes a look at a server that served no client: it says what is served, and where.
pub(super) fn look_at_server(run: &Run, conclusion: &Conclusion) -> Option<Next> {
    let is_answered = log_in(run, conclusion).or_else(|| start_server(run, conclusion)).is_some();
    if !serves_none(run) || has_ended(run) || is_answered {
        return None;
    }
    let url = Some(run.target.url.clone()).filter(|url| !url.contains("***"))?;
    let program = run.command.first()?.clone();
    // A look takes no unix socket, and would ask another server.
    let access = Line::of(run).filter(|line| !line.has("socket"))?.words_of(&ACCESS);
    let words = [program, url].into_iter().chain(access).collect();
    Some(Next {
        key: "look_at_server",
        what: "see what the server says to one client:".into(),
        words: Some(words),
    })
}

/// A server answers only the messages that it knows.
pub(super) fn speak_its_words(run: &Run, _: &Conclusion) -> Option<Next> {
    (is_misunderstood(run) && !has_ended(run)).then_some(())?;
    let key = "speak_its_words";
    if Line::given_to(run)?.is_of_app() {
        let is_of_file = cause(run).is_some_and(Cause::is_of_file);
        let has_come = failed(run).is_some_and(|step| step.errors.get(error_kind::UNRECOGNISED).is_some());
        let what = match (is_of_file, has_come) {
            (true, _) => "correct the file where WHY says: throng docs app",
            (false, true) => {
                "put {id} where the server relays it, and name what came in the file: throng docs app"
            }
            (false, false) => "send messages that the server knows, and name its answers: throng docs app",
        };
        return Some(Next { key, what: what.into(), words: None });
    }
    let what = "if the server does not know throng's messages, write your own:";
    Some(Next { key, what: what.into(), words: Some(writing_app(run)?) })
}

/// Flags of a stream that go along to the verb that holds it open.
const HELD: [&str; 5] = ["socket", "users", "token", "token-in", "http2"];

/// Streams without an end are held open, as users do; answers that have one, such as a model's, are waited for.
pub(super) fn hold_streams(run: &Run, _: &Conclusion) -> Option<Next> {
    let line = Line::of(run).filter(|_| is_endless(run))?;
    let is_asked_for = ["api", "app", "body", "method"].into_iter().any(|flag| line.has(flag));
    if is_asked_for || !run.target.url.starts_with("http") {
        let line = line.with_longer("drain-timeout", DRAIN_TIMEOUT_NS)?;
        return Some(line.to("wait_for_streams", "wait longer for the ends of answers:"));
    }
    let (program, url) = (run.command.first()?.as_str(), run.target.url.as_str());
    let words = [program, "idle", url, "--protocol", DialectId::Sse.name()].map(str::to_owned);
    let words = words.into_iter().chain(line.words_of(&ACCESS)).chain(line.words_of(&HELD)).collect();
    let what = "hold streams that have no end open, as users do:".to_owned();
    Some(Next { key: "hold_streams", what, words: Some(words) })
}
