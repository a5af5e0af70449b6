//! `--otlp`: the metrics so far, each second, pushed to an OpenTelemetry collector as JSON over HTTP (OTLP 1.3,
//! "OTLP/HTTP").

use net::clock;
use serde_json::{Value as Json, json};
use stats::explicit_buckets::bounds_ns;

use super::measures::{Measure, Measures, Value};

const CUMULATIVE: u32 = 2;

/// The body of a push: the metrics so far.
pub(crate) fn body(measures: &Measures) -> Vec<u8> {
    request(measures, clock::realtime_ns()).to_string().into_bytes()
}

/// An `ExportMetricsServiceRequest`.
fn request(measures: &Measures, now_unix_ns: u64) -> Json {
    let run = measures.labels().iter().map(|(name, value)| attribute(&format!("throng.{name}"), value));
    let attributes: Vec<Json> = [attribute("service.name", "throng")].into_iter().chain(run).collect();
    let times = [measures.since_unix_ns(), now_unix_ns];
    let metrics: Vec<Json> = measures.all().into_iter().map(|measure| metric(measure, times)).collect();
    let scope = json!({ "name": "throng", "version": env!("CARGO_PKG_VERSION") });
    json!({ "resourceMetrics": [{
        "resource": { "attributes": attributes },
        "scopeMetrics": [{ "scope": scope, "metrics": metrics }],
    }] })
}

fn attribute(key: &str, value: &str) -> Json {
    json!({ "key": key, "value": { "stringValue": value } })
}

fn metric(measure: Measure, times: [u64; 2]) -> Json {
    // 64 bits do not fit into JSON's numbers: proto3's JSON writes them as text.
    let [started, now] = times.map(|unix_ns| unix_ns.to_string());
    let point = |attributes: &[Json], value: f64| json!({ "attributes": attributes, "startTimeUnixNano": started, "timeUnixNano": now, "asDouble": value });
    let points = |label: &str, values: Vec<(&str, f64)>| -> Vec<Json> {
        values.into_iter().map(|(of, value)| point(&[attribute(label, of)], value)).collect()
    };
    let sum = |points: &[Json]| json!({ "aggregationTemporality": CUMULATIVE, "isMonotonic": true, "dataPoints": points });
    let (kind, data) = match measure.value {
        Value::Counter(value) => ("sum", sum(&[point(&[], value)])),
        Value::Gauge(value) => ("gauge", json!({ "dataPoints": [point(&[], value)] })),
        Value::Counters(label, values) => ("sum", sum(&points(label, values))),
        Value::Gauges(label, values) => ("gauge", json!({ "dataPoints": points(label, values) })),
        Value::Histogram(explicit_buckets) => {
            let points = [json!({
                "startTimeUnixNano": started,
                "timeUnixNano": now,
                "count": explicit_buckets.count().to_string(),
                "sum": explicit_buckets.sum_s(),
                "bucketCounts": explicit_buckets.counts().iter().map(u64::to_string).collect::<Vec<_>>(),
                "explicitBounds": bounds_ns().map(|ns| ns as f64 / 1e9).collect::<Vec<_>>(),
            })];
            ("histogram", json!({ "aggregationTemporality": CUMULATIVE, "dataPoints": points }))
        }
    };
    json!({ "name": measure.name, "description": measure.help, "unit": measure.unit, kind: data })
}
