//! The pages of `throng ui`: what has been measured, run by run and side by side, and a run as it happens.
//!
//! One thread serves everything; it is for the person at this machine. `guard` decides who may ask, and `form` what may
//! be started: the pages start this very program with flags that have been checked one by one, and nothing else. A run
//! under way belongs to the server and not to the page: reload it, or close it, and the run goes on.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Router, middleware};
use tokio::net::TcpListener;

mod app;
mod form;
mod guard;
mod history;
mod jobs;
mod live;
mod options;
mod serving;
mod start;
mod trend;

pub use options::{Check, Field, Kind, Options, Verb};

use app::{App, Pages, Shared};
use jobs::Jobs;

/// How often the server asks whether it should stop.
const STOP_INTERVAL: Duration = Duration::from_millis(100);

/// Serves until `stop` says so, asked ten times a second. `ready` is told the address.
///
/// # Errors
/// The address cannot be listened on.
pub fn serve(options: Options, ready: impl FnOnce(SocketAddr), stop: impl Fn() -> bool) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind(options.listen).await?;
        let address = listener.local_addr()?;
        let app = Arc::new(App { address, jobs: Jobs::default(), pages: Pages::new(), options });
        let serving = serving::serve(listener, routes(&app));
        ready(address);
        tokio::select! {
            ended = serving => ended,
            () = asked(stop) => Ok(()),
        }
        // The jobs end with the app: their processes are asked to stop, and waited for.
    })
}

async fn asked(stop: impl Fn() -> bool) {
    while !stop() {
        tokio::time::sleep(STOP_INTERVAL).await;
    }
}

fn routes(app: &Arc<App>) -> Router {
    Router::new()
        .route("/", get(history::history))
        .route("/runs/{id}", get(history::run))
        .route("/runs/{id}/tags", post(history::tag))
        .route("/compare", get(history::compare))
        .route("/new", get(start::page).post(start::start))
        .route("/new/command", get(start::command))
        .route("/live/{number}", get(live::page))
        .route("/live/{number}/events", get(live::events))
        .route("/live/{number}/stop", post(live::stop))
        .route("/page.js", get(script))
        .route("/page.css", get(style))
        .route("/favicon.ico", get(icon))
        .fallback(not_found)
        .layer(middleware::from_fn_with_state(app.clone(), guard::guard))
        .with_state(app.clone())
}

async fn script() -> Response {
    ([(CONTENT_TYPE, "text/javascript; charset=utf-8")], report::SCRIPT).into_response()
}

async fn style() -> Response {
    ([(CONTENT_TYPE, "text/css; charset=utf-8")], report::STYLE).into_response()
}

/// There is none, and each page says so; browsers ask all the same now and then.
async fn icon() -> StatusCode {
    StatusCode::NO_CONTENT
}

async fn not_found(State(app): Shared) -> Response {
    app.pages.message(StatusCode::NOT_FOUND, "No such page", "The history has everything there is.")
}
