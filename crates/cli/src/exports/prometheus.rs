//! The metrics so far as a page for Prometheus: families of samples (text exposition format 0.0.4).

use std::fmt::Write as _;

use stats::explicit_buckets::bounds_ns;

use super::measures::{Measure, Measures, Value};

/// The page's content type.
pub(crate) const KIND: &str = "text/plain; version=0.0.4; charset=utf-8";

/// A metric.
struct Family {
    name: String,
    help: &'static str,
    kind: &'static str,
    samples: Vec<Sample>,
}

/// A value of one of its series.
struct Sample {
    /// The suffix of the family's name.
    suffix: &'static str,
    /// The label beside those that all have.
    label: Option<(&'static str, String)>,
    value: f64,
}

fn family(measure: Measure) -> Family {
    let name = name_of(&measure);
    let sample = |suffix, label, value| Sample { suffix, label, value };
    let (kind, samples) = match measure.value {
        Value::Counter(value) => ("counter", vec![sample("", None, value)]),
        Value::Gauge(value) => ("gauge", vec![sample("", None, value)]),
        Value::Counters(label, values) => ("counter", labelled(label, values)),
        Value::Gauges(label, values) => ("gauge", labelled(label, values)),
        Value::Histogram(explicit_buckets) => {
            let bounds = bounds_ns().map(|ns| (ns as f64 / 1e9).to_string()).chain(["+Inf".to_owned()]);
            let mut samples = Vec::new();
            let mut below = 0;
            for (bound, in_bucket) in bounds.zip(explicit_buckets.counts()) {
                below += in_bucket;
                samples.push(sample("_bucket", Some(("le", bound)), below as f64));
            }
            samples.push(sample("_sum", None, explicit_buckets.sum_s()));
            samples.push(sample("_count", None, explicit_buckets.count() as f64));
            ("histogram", samples)
        }
    };
    Family { name, help: measure.help, kind, samples }
}

fn labelled(label: &'static str, values: Vec<(&str, f64)>) -> Vec<Sample> {
    let sample = |(of, value): (&str, f64)| Sample { suffix: "", label: Some((label, of.to_owned())), value };
    values.into_iter().map(sample).collect()
}

/// Prometheus' naming: underscores, the unit at the end, and then `_total` on counters.
fn name_of(measure: &Measure) -> String {
    let unit = match measure.unit {
        "s" => "_seconds",
        "By" => "_bytes",
        _ => "",
    };
    let total = if matches!(measure.value, Value::Counter(_) | Value::Counters(..)) { "_total" } else { "" };
    format!("{}{unit}{total}", measure.name.replace('.', "_"))
}

/// The page.
pub(crate) fn page(measures: &Measures) -> String {
    let common: Vec<String> =
        measures.labels().iter().map(|(name, value)| format!("{name}=\"{}\"", escape(value))).collect();
    let mut page = String::new();
    for Family { name, help, kind, samples } in measures.all().into_iter().map(family) {
        // Writing to a string does not fail.
        let _ = write!(page, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
        for Sample { suffix, label, value } in samples {
            let own = label.map(|(name, value)| format!("{name}=\"{value}\""));
            let labels: Vec<String> = common.iter().cloned().chain(own).collect();
            let _ = writeln!(page, "{name}{suffix}{{{}}} {value}", labels.join(","));
        }
    }
    page
}

fn escape(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crew::Progress;
    use results::{Run, Scenario, Second, Target};
    use stats::Figures;

    use super::*;

    #[test]
    fn the_page_is_prometheus_text() {
        let target = Target { url: "ws://a/\"b\"".into(), ..Target::default() };
        let run = Run {
            id: "r1".into(),
            scenario: Scenario::Echo,
            dialect: "json".into(),
            target,
            ..Run::default()
        };
        let mut measures = Measures::new(&run);
        let second = Second { p99_ns: Some(2_500_000), server_rss_bytes: Some(4096), ..Second::default() };
        let mut figures: Figures = Figures::default();
        figures.rtt.record_n_ns(12_000, 3);
        figures.rtt.record_ns(250_000_000_000);
        let figures = Some(Arc::new(figures.explicit_buckets()));
        measures.handle_progress(&Progress { sent: 7, second: Some(second), figures, ..Progress::default() });
        let page = page(&measures);
        let labels = "run=\"r1\",scenario=\"echo\",dialect=\"json\",target=\"ws://a/\\\"b\\\"\"";
        for line in [
            "# TYPE throng_messages_sent_total counter".to_owned(),
            format!("throng_messages_sent_total{{{labels}}} 7"),
            "# TYPE throng_latency_seconds gauge".to_owned(),
            format!("throng_latency_seconds{{{labels},quantile=\"0.99\"}} 0.0025"),
            format!("throng_server_memory_bytes{{{labels}}} 4096"),
            "# TYPE throng_rtt_seconds histogram".to_owned(),
            format!("throng_rtt_seconds_bucket{{{labels},le=\"0.00001\"}} 0"),
            format!("throng_rtt_seconds_bucket{{{labels},le=\"0.000015\"}} 3"),
            format!("throng_rtt_seconds_bucket{{{labels},le=\"100\"}} 3"),
            format!("throng_rtt_seconds_bucket{{{labels},le=\"+Inf\"}} 4"),
            format!("throng_rtt_seconds_sum{{{labels}}} 250.000036"),
            format!("throng_rtt_seconds_count{{{labels}}} 4"),
        ] {
            assert!(page.lines().any(|found| found == line), "{line}\n{page}");
        }
        assert!(!page.contains("throng_server_cpu"), "what is not known is left out");
        assert!(!page.contains("throng_delivery_seconds"), "nor what was not timed");
    }
}
