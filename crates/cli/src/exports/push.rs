//! Pushes metrics each second: over plain HTTP, from a thread of its own, so that no receiver slows the run.

use std::sync::mpsc::{self, SyncSender, TrySendError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crew::http::{Request, Source, Timeouts};
use url::Url;

use super::measures::Measures;
use crate::exit::Failure;
use crate::secrets;
use crate::stderr;

/// A receiver that takes longer misses a second.
const PATIENCE: Timeouts = Timeouts { word: Duration::from_secs(2), answer: Duration::from_secs(2) };
/// Seconds that wait for a slow receiver; further ones are left out, but not the last.
const QUEUE_SECONDS: usize = 8;
/// How often it is looked whether the user has had enough of waiting.
const LOOK: Duration = Duration::from_millis(20);

/// Moments of a push: with more to come, or at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    Now,
    End,
}

/// A way to push.
pub(crate) struct Way {
    pub(crate) flag: &'static str,
    /// An example of its URL, for errors about a wrong one.
    pub(crate) example: &'static str,
    pub(crate) method: &'static str,
    /// The default port and path.
    pub(crate) port: u16,
    pub(crate) path: String,
    /// Header fields, the type of the body among them.
    pub(crate) fields: &'static [(&'static str, &'static str)],
    pub(crate) body: fn(&Measures, Moment) -> Vec<u8>,
}

/// A push that is under way.
pub(crate) struct Push {
    body: fn(&Measures, Moment) -> Vec<u8>,
    queue: SyncSender<Vec<u8>>,
    thread: JoinHandle<()>,
}

impl Push {
    /// Checks the URL and starts the thread. A receiver that is not there yet is a remark.
    pub(crate) fn start(way: Way, text: &str) -> Result<Self, Failure> {
        let Way { flag, method, fields, body, .. } = way;
        let wrong = |why: &str| Failure::usage(flag, format!("{:?}: {why}", secrets::url(text)));
        let url = Url::parse(text).map_err(|error| wrong(&error.to_string()))?;
        let has_credentials = !url.username().is_empty() || url.password().is_some();
        let source = source(&url, text, &way).filter(|_| url.scheme() == "http" && !has_credentials);
        let source = source.ok_or_else(|| {
            let expected = format!("expected something like {}, without credentials", way.example);
            wrong(&format!("{expected}; a collector beside throng can speak TLS and log in"))
        })?;
        let (queue, bodies) = mpsc::sync_channel::<Vec<u8>>(QUEUE_SECONDS);
        // In a thread of its own: a receiver that hangs must not hold up the coordinator, on which steps wait.
        let push = move || {
            // Once: a receiver that is gone for an hour would fill the screen.
            let mut is_told = false;
            for body in bodies {
                if let Err(error) = send(&source, Request { method, fields, body: &body })
                    && !std::mem::replace(&mut is_told, true)
                {
                    let url = secrets::url(url.as_str());
                    stderr::line(format_args!("throng: {flag}: {url}: {error}; the run goes on"));
                }
            }
        };
        let thread = thread::Builder::new().name("push".into()).spawn(push);
        let thread = thread.map_err(|error| Failure::could_not("start_thread", "start a thread", error))?;
        Ok(Self { body, queue, thread })
    }

    /// Queues the figures of this moment.
    pub(crate) fn push(&self, measures: &Measures) {
        // A full queue drops this second's figures: the run does not wait, and counters make up for it.
        let _ = self.queue.try_send((self.body)(measures, Moment::Now));
    }

    /// Pushes the last figures, and waits until all that is queued has gone out, or `is_over`; the rest is
    /// dropped then.
    pub(crate) fn finish(self, measures: &Measures, is_over: &dyn Fn() -> bool) {
        let mut last = (self.body)(measures, Moment::End);
        // Without a thread to take it, there is nothing to wait for.
        while let Err(TrySendError::Full(back)) = self.queue.try_send(last) {
            if is_over() {
                return;
            }
            last = back;
            thread::sleep(LOOK);
        }
        drop(self.queue);
        while !self.thread.is_finished() && !is_over() {
            thread::sleep(LOOK);
        }
    }
}

/// The endpoint of a URL and its text: of the port that `http` has anyway, a [`Url`] does not tell whether it
/// was named.
fn source(url: &Url, text: &str, way: &Way) -> Option<Source> {
    let host = url.host_str()?.trim_matches(['[', ']']).to_owned();
    let mut path = if url.path() == "/" { way.path.clone() } else { url.path().to_owned() };
    if let Some(query) = url.query() {
        path = format!("{path}?{query}");
    }
    let with_port = text.strip_prefix("http").and_then(|rest| Url::parse(&format!("any{rest}")).ok());
    let port = with_port.and_then(|url| url.port()).unwrap_or(way.port);
    Some(Source { host, port, path })
}

fn send(source: &Source, request: Request<'_>) -> Result<(), String> {
    let answer = source.send(request, PATIENCE)?;
    match answer.status {
        200..300 => Ok(()),
        status => {
            let said = String::from_utf8_lossy(&answer.body);
            let said = said.lines().next().unwrap_or_default().trim();
            let gap = if said.is_empty() { "" } else { ": " };
            Err(format!("HTTP {status}{gap}{}", results::format::printable(said)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_have_the_servers_default_port() {
        let way = Way {
            flag: "--otlp",
            example: "",
            method: "POST",
            port: 4318,
            path: "/v1/metrics".into(),
            fields: &[],
            body: |_, _| Vec::new(),
        };
        for (text, host, port, path) in [
            ("http://collector", "collector", 4318, "/v1/metrics"),
            ("http://collector:80/", "collector", 80, "/v1/metrics"),
            ("http://[::1]:9/push?tenant=a", "::1", 9, "/push?tenant=a"),
        ] {
            let source = source(&Url::parse(text).unwrap(), text, &way).unwrap();
            assert_eq!(
                (source.host.as_str(), source.port, source.path.as_str()),
                (host, port, path),
                "{text}"
            );
        }
    }
}
