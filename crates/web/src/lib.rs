//! The pages of `throng ui`: what has been measured, run by run and side by side, and a run as it happens.
//!
//! One thread serves everything; it is for the person at this machine. Who may ask is `guard`'s business, what may be
//! started is `form`'s: the pages start this very program with flags that have been checked one by one, and nothing
//! else. A run under way belongs to the server and not to the page: reload it, or close it, and the run goes on.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::middleware;
use axum::routing::{get, post};
use secret::Mask;
use tokio::net::TcpListener;

mod form;
mod guard;
mod history;
mod jobs;
mod live;
mod pages;
mod serving;
mod start;

use jobs::Jobs;
use pages::Pages;

/// How often the server asks whether it should stop.
const STOP_INTERVAL: Duration = Duration::from_millis(100);

/// What the server needs to know.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where to listen; port 0 lets the system choose.
    pub listen: SocketAddr,
    /// What a visitor must present: other users of this machine reach the loopback interface, too.
    pub token: String,
    /// The store.
    pub store: PathBuf,
    /// The `throng` that runs are started with.
    pub program: PathBuf,
    /// Its hidden verb that reads a command line from standard input, as a line of JSON: lists of processes are for all.
    pub words_verb: &'static str,
    /// How secrets of a command line are shown.
    pub mask: &'static Mask,
    /// The dialects that a run may be started with.
    pub dialects: Vec<&'static str>,
}

/// What all handlers share.
struct App {
    options: Options,
    /// Where it listens indeed.
    address: SocketAddr,
    jobs: Jobs,
    pages: Pages,
}

type Shared = axum::extract::State<Arc<App>>;

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
        .route("/page.js", get(pages::script))
        .route("/page.css", get(pages::style))
        .fallback(pages::not_found)
        .layer(middleware::from_fn_with_state(app.clone(), guard::guard))
        .with_state(app.clone())
}
