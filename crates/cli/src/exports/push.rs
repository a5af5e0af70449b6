//! Pushes metrics to a collector each second: over plain HTTP, from a thread of its own, so that no collector
//! slows the run.

use std::sync::mpsc::{self, SyncSender, TrySendError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crew::http::{Request, Source, Timeouts};
use url::Url;

use super::measures::Measures;
use super::otlp;
use crate::exit::Failure;
use crate::secrets;
use crate::stderr;

const FLAG: &str = "--otlp";
/// The port and path of a collector that names none (OTLP/HTTP, "OTLP/HTTP Default Port" and "Request").
const PORT: u16 = 4318;
const PATH: &str = "/v1/metrics";
/// A collector that takes longer misses a second.
const PATIENCE: Timeouts = Timeouts { word: Duration::from_secs(2), answer: Duration::from_secs(2) };
/// Seconds that wait for a slow collector; further ones are left out, but not the last.
const QUEUE_SECONDS: usize = 8;
/// How often it is looked whether the user has had enough of waiting.
const LOOK: Duration = Duration::from_millis(20);

/// A push that is under way.
pub(crate) struct Push {
    queue: SyncSender<Vec<u8>>,
    thread: JoinHandle<()>,
}

impl Push {
    /// Checks the URL and starts the thread. A collector that is not there yet is a remark.
    pub(crate) fn start(text: &str) -> Result<Self, Failure> {
        let wrong = |why: &str| Failure::usage(FLAG, format!("{:?}: {why}", secrets::url(text)));
        let url = Url::parse(text).map_err(|error| wrong(&error.to_string()))?;
        let has_credentials = !url.username().is_empty() || url.password().is_some();
        let source = source(&url, text).filter(|_| url.scheme() == "http" && !has_credentials);
        let source = source.ok_or_else(|| {
            wrong(
                "expected something like http://127.0.0.1:4318, without credentials; a collector beside throng \
                 can speak TLS and log in",
            )
        })?;
        let (queue, bodies) = mpsc::sync_channel::<Vec<u8>>(QUEUE_SECONDS);
        // In a thread of its own: a collector that hangs must not hold up the coordinator, because every step
        // waits for it.
        let push = move || {
            // Once: a collector that is gone for an hour would fill the screen.
            let mut is_told = false;
            for body in bodies {
                if let Err(error) = send(&source, &body)
                    && !std::mem::replace(&mut is_told, true)
                {
                    let url = secrets::url(url.as_str());
                    stderr::line(format_args!("throng: {FLAG}: {url}: {error}; the run goes on"));
                }
            }
        };
        let thread = thread::Builder::new().name("push".into()).spawn(push);
        let thread = thread.map_err(|error| Failure::could_not("start_thread", "start a thread", error))?;
        Ok(Self { queue, thread })
    }

    /// Queues the metrics so far.
    pub(crate) fn push(&self, measures: &Measures) {
        // A full queue drops this second's metrics: the run does not wait, and counters make up for it.
        let _ = self.queue.try_send(otlp::body(measures));
    }

    /// Pushes the last metrics, and waits until all that is queued has gone out, or `is_over`; the rest is
    /// dropped then.
    pub(crate) fn finish(self, measures: &Measures, is_over: &dyn Fn() -> bool) {
        let mut last = otlp::body(measures);
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
fn source(url: &Url, text: &str) -> Option<Source> {
    let host = url.host_str()?.trim_matches(['[', ']']).to_owned();
    let mut path = if url.path() == "/" { PATH.to_owned() } else { url.path().to_owned() };
    if let Some(query) = url.query() {
        path = format!("{path}?{query}");
    }
    let with_port = text.strip_prefix("http").and_then(|rest| Url::parse(&format!("any{rest}")).ok());
    let port = with_port.and_then(|url| url.port()).unwrap_or(PORT);
    Some(Source { host, port, path })
}

fn send(source: &Source, body: &[u8]) -> Result<(), String> {
    let request = Request { method: "POST", fields: &[("Content-Type", "application/json")], body };
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
    fn urls_have_the_collectors_default_port() {
        for (text, host, port, path) in [
            ("http://collector", "collector", 4318, "/v1/metrics"),
            ("http://collector:80/", "collector", 80, "/v1/metrics"),
            ("http://[::1]:9/push?tenant=a", "::1", 9, "/push?tenant=a"),
        ] {
            let source = source(&Url::parse(text).unwrap(), text).unwrap();
            assert_eq!(
                (source.host.as_str(), source.port, source.path.as_str()),
                (host, port, path),
                "{text}"
            );
        }
    }
}
