//! `--metrics`: the metrics so far as a page that Prometheus asks for.

use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crew::http;

use super::measures::Measures;
use super::prometheus;
use crate::exit::Failure;
use crate::stderr;

/// How long a client may take to send its request, and to read the answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// When descriptors have run out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// The page's path.
const PATH: &str = "/metrics";

/// A page that is served while the run is on.
pub(crate) struct Metrics {
    page: Arc<Mutex<String>>,
}

impl Metrics {
    /// Listens at the address, on a thread of its own that ends with the process.
    pub(crate) fn listen(address: SocketAddr) -> Result<Self, Failure> {
        let cannot = |error| Failure::could_not("listen", format!("listen at {address} (--metrics)"), error);
        let listener = TcpListener::bind(address).map_err(cannot)?;
        if address.port() == 0 {
            let chosen = listener.local_addr().map_err(cannot)?;
            stderr::line(format_args!("throng: metrics at http://{chosen}{PATH}"));
        }
        let page = Arc::new(Mutex::new(String::new()));
        let shared = Arc::clone(&page);
        let serve = move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else {
                    thread::sleep(ACCEPT_PAUSE);
                    continue;
                };
                let page = |path: &str| match path {
                    PATH => Ok(shared.lock().unwrap_or_else(PoisonError::into_inner).clone()),
                    _ => Err(format!("the metrics are at {PATH}\n")),
                };
                // One that asks badly, or goes away, is its own loss.
                let _ = http::serve(stream, PATIENCE, prometheus::KIND, page);
            }
        };
        thread::Builder::new().name("metrics".into()).spawn(serve).map_err(cannot)?;
        Ok(Self { page })
    }

    /// The page from now on.
    pub(crate) fn show(&self, measures: &Measures) {
        *self.page.lock().unwrap_or_else(PoisonError::into_inner) = prometheus::page(measures);
    }
}
