//! A run as it happens.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Redirect, Response};
use futures_util::stream;
use serde::Serialize;
use tokio::sync::watch;

use crate::app::{App, Shared};
use crate::jobs::{End, Job};

/// A proxy, or a laptop that slept, notices a dead connection by this.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

#[derive(Serialize)]
struct LiveView {
    title: &'static str,
    number: usize,
    command: String,
    /// Names of the figures of which the first that a step has is its latency.
    latencies: String,
    /// Names of the counts that are failures.
    defects: String,
}

/// `GET /live/{number}`
pub(crate) async fn page(State(app): Shared, Path(number): Path<usize>) -> Response {
    let Some(job) = app.jobs.get(number) else { return unknown(&app, number) };
    let command = job.command.clone();
    let latencies = report::latency_names().collect::<Vec<_>>().join(" ");
    let defects = report::defect_names().collect::<Vec<_>>().join(" ");
    app.pages.render("live.html", LiveView { title: "Live run", number, command, latencies, defects })
}

/// `GET /live/{number}/events`: everything from the run's start, then what comes, then how it ended. A page that is
/// loaded again gets the same from the beginning.
pub(crate) async fn events(State(app): Shared, Path(number): Path<usize>) -> Response {
    let Some(job) = app.jobs.get(number) else { return unknown(&app, number) };
    // Watched before it is read: nothing is added in between unseen.
    let reader = Reader { changed: job.watch(), job, told: 0, is_over: false };
    let stream = stream::unfold(reader, |mut reader| async {
        let event = reader.next().await?;
        Some((Ok::<_, Infallible>(event), reader))
    });
    Sse::new(stream).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response()
}

/// `POST /live/{number}/stop`
pub(crate) async fn stop(State(app): Shared, Path(number): Path<usize>) -> Response {
    let Some(job) = app.jobs.get(number) else { return unknown(&app, number) };
    job.stop();
    Redirect::to(&format!("/live/{number}")).into_response()
}

fn unknown(app: &App, number: usize) -> Response {
    let why =
        format!("No run {number} was started by this throng ui; runs that have ended are in the history.");
    app.pages.message(StatusCode::NOT_FOUND, "No such run", &why)
}

/// One page that watches.
struct Reader {
    job: Arc<Job>,
    changed: watch::Receiver<()>,
    /// Lines it has been told.
    told: usize,
    is_over: bool,
}

enum Next {
    Lines(String),
    End(End),
    Wait,
}

impl Reader {
    /// All lines that are new, or the end. `None` after the end.
    async fn next(&mut self) -> Option<Event> {
        while !self.is_over {
            // Marked as seen before it is looked at: what is added meanwhile wakes us again.
            self.changed.mark_unchanged();
            match self.look() {
                Next::Lines(lines) => return Some(Event::default().event("rows").data(lines)),
                Next::End(end) => {
                    self.is_over = true;
                    let end = serde_json::to_string(&end).expect("plain data");
                    return Some(Event::default().event("end").data(end));
                }
                Next::Wait => self.changed.changed().await.ok()?,
            }
        }
        None
    }

    fn look(&mut self) -> Next {
        let log = self.job.log();
        // Of a run that was long ago there may be none any more.
        let lines = log.lines.get(self.told..).unwrap_or_default();
        if !lines.is_empty() {
            let text = lines.join("\n");
            self.told = log.lines.len();
            return Next::Lines(text);
        }
        log.end.clone().map_or(Next::Wait, Next::End)
    }
}
