//! A timed figure in the file: the summary for people, the histogram for programs.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use stats::{Histogram, QUANTILES, Summary};

use super::mirror::{ms_from_ns, ns_from_ms};

#[derive(Serialize, Deserialize)]
struct FileFigure {
    count: u64,
    mean_ms: f64,
    sd_ms: f64,
    min_ms: f64,
    p50_ms: f64,
    p90_ms: f64,
    p95_ms: f64,
    p99_ms: f64,
    p999_ms: f64,
    p9999_ms: f64,
    max_ms: f64,
    /// Names of the quantiles above that rest on too few samples.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    marked: Vec<String>,
    /// HdrHistogram V2 in µs, deflated, base64.
    histogram: String,
}

/// Writes a histogram that is not empty; an empty one is a figure that does not apply, and is left out.
pub(super) fn serialize<S: Serializer>(histogram: &Histogram, serializer: S) -> Result<S::Ok, S::Error> {
    let summary = histogram.summary().expect("empty figures are left out");
    let Summary { count, mean_ns, sd_ns, min_ns, max_ns, .. } = summary;
    let [p50_ms, p90_ms, p95_ms, p99_ms, p999_ms, p9999_ms] =
        QUANTILES.map(|(_, q)| ms_from_ns(histogram.quantile_ns(q) as f64));
    let figure = FileFigure {
        count,
        mean_ms: ms_from_ns(mean_ns),
        sd_ms: ms_from_ns(sd_ns),
        min_ms: ms_from_ns(min_ns as f64),
        p50_ms,
        p90_ms,
        p95_ms,
        p99_ms,
        p999_ms,
        p9999_ms,
        max_ms: ms_from_ns(max_ns as f64),
        marked: summary.marked().map(String::from).collect(),
        histogram: histogram.to_base64(),
    };
    figure.serialize(serializer)
}

/// Reads the histogram and puts its exact figures back.
pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Histogram, D::Error> {
    let figure = FileFigure::deserialize(deserializer)?;
    let (min_ns, max_ns) = (ns_from_ms(figure.min_ms), ns_from_ms(figure.max_ms));
    Histogram::from_base64(&figure.histogram)
        .and_then(|buckets| buckets.with_moments(figure.mean_ms * 1e6, figure.sd_ms * 1e6, min_ns, max_ns))
        .map_err(D::Error::custom)
}
