//! `--otlp`: the figures of each second, pushed to an OpenTelemetry collector as JSON over HTTP (OTLP 1.3, "OTLP/HTTP").

use std::sync::mpsc::{self, SyncSender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crew::http::{Patience, Source};
use net::clock;
use results::Run;
use serde_json::{Value, json};
use url::Url;

use super::measures::{Measure, Measures};
use crate::exit::Failure;
use crate::secrets;
use crate::stderr;

/// Where metrics go when the URL names no path.
const PATH: &str = "/v1/metrics";
const PORT: u16 = 4318;
/// A collector that takes longer misses a second.
const PATIENCE: Patience = Patience { word: Duration::from_secs(2), answer: Duration::from_secs(2) };
/// Seconds that wait for a slow collector; further ones are left out.
const QUEUE_SECONDS: usize = 8;
const CUMULATIVE: u32 = 2;

/// Pushes from a thread of its own, so that no collector slows the run.
pub(crate) struct Otlp {
    started_unix_ns: u64,
    queue: SyncSender<String>,
    thread: JoinHandle<()>,
}

impl Otlp {
    /// Checks the URL and starts the thread; a collector that is not there yet is a remark.
    pub(crate) fn new(text: &str, run: &Run) -> Result<Self, Failure> {
        let wrong = |why: &str| Failure::usage("--otlp", format!("{:?}: {why}", secrets::url(text)));
        let url = Url::parse(text).map_err(|error| wrong(&error.to_string()))?;
        let collector = collector(&url).filter(|_| url.scheme() == "http").ok_or_else(|| {
            wrong("expected something like http://127.0.0.1:4318; a collector beside throng can speak TLS")
        })?;
        let (queue, bodies) = mpsc::sync_channel::<String>(QUEUE_SECONDS);
        let push = move || {
            let mut is_told = false;
            for body in bodies {
                if let Err(error) = post(&collector, &body)
                    && !std::mem::replace(&mut is_told, true)
                {
                    let url = secrets::url(url.as_str());
                    stderr::line(format_args!("throng: --otlp: {url}: {error}; the run goes on"));
                }
            }
        };
        let thread = thread::Builder::new().name("otlp".into()).spawn(push);
        let thread = thread.map_err(|error| Failure::could_not("start a thread", error))?;
        Ok(Self { started_unix_ns: run.started_unix_ns, queue, thread })
    }

    /// Queues the figures of this moment.
    pub(crate) fn push(&self, measures: &Measures) {
        let _ =
            self.queue.try_send(request(measures, self.started_unix_ns, clock::realtime_ns()).to_string());
    }

    /// Pushes once more and waits for all that is queued.
    pub(crate) fn finish(self, measures: &Measures) {
        self.push(measures);
        drop(self.queue);
        let _ = self.thread.join();
    }
}

/// Where a collector takes metrics.
fn collector(url: &Url) -> Option<Source> {
    let host = url.host_str()?.trim_matches(['[', ']']).to_owned();
    let path = if url.path() == "/" { PATH } else { url.path() };
    Some(Source { host, port: url.port().unwrap_or(PORT), path: path.to_owned() })
}

fn post(collector: &Source, body: &str) -> Result<(), String> {
    match collector.post("application/json", body.as_bytes(), PATIENCE)?.status {
        200..300 => Ok(()),
        status => Err(format!("the collector answered HTTP {status}")),
    }
}

/// An `ExportMetricsServiceRequest`.
fn request(measures: &Measures, started_unix_ns: u64, now_unix_ns: u64) -> Value {
    let text = |key: &str, value: &str| json!({ "key": key, "value": { "stringValue": value } });
    let run = measures.labels().iter().map(|(name, value)| text(&format!("throng.{name}"), value));
    let attributes: Vec<Value> = [text("service.name", "throng")].into_iter().chain(run).collect();
    let metric = |measure: Measure| {
        let point = |(label, value): &(Option<(&str, &str)>, f64)| {
            let attributes: Vec<Value> = label.iter().map(|(name, value)| text(name, value)).collect();
            json!({
                "attributes": attributes,
                // 64 bits do not fit into JSON's numbers: proto3's JSON writes them as text.
                "startTimeUnixNano": started_unix_ns.to_string(),
                "timeUnixNano": now_unix_ns.to_string(),
                "asDouble": value,
            })
        };
        let points: Vec<Value> = measure.values.iter().map(point).collect();
        let (kind, data) = if measure.is_counter {
            (
                "sum",
                json!({ "aggregationTemporality": CUMULATIVE, "isMonotonic": true, "dataPoints": points }),
            )
        } else {
            ("gauge", json!({ "dataPoints": points }))
        };
        json!({ "name": measure.name, "description": measure.help, "unit": measure.unit, kind: data })
    };
    let metrics: Vec<Value> = measures.all().into_iter().map(metric).collect();
    let scope = json!({ "name": "throng", "version": env!("CARGO_PKG_VERSION") });
    json!({ "resourceMetrics": [{
        "resource": { "attributes": attributes },
        "scopeMetrics": [{ "scope": scope, "metrics": metrics }],
    }] })
}
