//! Metrics in either form: Prometheus' text (version 0.0.4), or any JSON, whose numbers are named by their
//! paths.

use std::collections::BTreeMap;

use serde_json::Value;

/// The most characters of a line that an error quotes: an answer may be one line of megabytes.
const QUOTED_CHARS_MAX: usize = 80;

/// Metrics by name, with their labels as the endpoint writes them.
pub type Metrics = BTreeMap<String, f64>;

/// Reads the body of an answer.
///
/// # Errors
/// A line that is neither a comment nor a sample, or malformed JSON.
pub(super) fn parse(body: &str) -> Result<Metrics, String> {
    // A byte order mark is none of JSON (RFC 8259 §8.1), and some servers send one.
    let body = body.trim_start_matches('\u{feff}').trim();
    if body.starts_with(['{', '[']) {
        let value: Value = serde_json::from_str(body).map_err(|error| format!("not JSON: {error}"))?;
        let mut metrics = Metrics::new();
        flatten(&value, String::new(), &mut metrics);
        return Ok(metrics);
    }
    let lines = body.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut metrics = Metrics::new();
    for line in lines {
        let (name, value) = sample(line).ok_or_else(|| {
            let quoted: String = line.chars().take(QUOTED_CHARS_MAX).collect();
            format!("not a metric: {quoted:?}")
        })?;
        // NaN stands for no value yet, and JSON, in which results are, has neither it nor infinities.
        if value.is_finite() {
            metrics.insert(name.to_owned(), value);
        }
    }
    Ok(metrics)
}

/// `name{label="value",…} value [timestamp]`; blanks and braces may be in a label's value.
fn sample(line: &str) -> Option<(&str, f64)> {
    let end = match line.find('{') {
        // A brace behind a blank does not begin labels.
        Some(open) if !line[..open].contains(char::is_whitespace) => open + labels_end(&line[open..])?,
        _ => line.find(char::is_whitespace)?,
    };
    let (name, rest) = line.split_at(end);
    let value = rest.split_whitespace().next()?;
    let value = match value {
        "+Inf" => f64::INFINITY,
        "-Inf" => f64::NEG_INFINITY,
        number => number.parse().ok()?,
    };
    Some((name, value))
}

/// The end of the labels, behind the closing brace.
fn labels_end(labels: &str) -> Option<usize> {
    let (mut in_quotes, mut escaped) = (false, false);
    for (at, c) in labels.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => in_quotes = !in_quotes,
            '}' if !in_quotes => return Some(at + 1),
            _ => {}
        }
    }
    None
}

fn flatten(value: &Value, path: String, metrics: &mut Metrics) {
    let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    // Not deeper than `serde_json` reads, 128 levels: no body exhausts the stack.
    match value {
        Value::Number(number) => metrics.extend(number.as_f64().map(|number| (path, number))),
        Value::Object(fields) => {
            for (name, value) in fields {
                flatten(value, below(name), metrics);
            }
        }
        Value::Array(items) => {
            for (n, value) in items.iter().enumerate() {
                flatten(value, below(&n.to_string()), metrics);
            }
        }
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prometheus_own_example() {
        // From the description of the format, shortened.
        let text = r#"
# HELP http_requests_total The total number of HTTP requests.
# TYPE http_requests_total counter
http_requests_total{method="post",code="200"} 1027 1395066363000
# Escaping in label values:
msdos_file_access_time_seconds{path="C:\\DIR\\FILE.TXT",error="Cannot find file:\n\"FILE.TXT\" }"} 1.458255915e9
# Minimalistic line:
metric_without_timestamp_and_labels 12.47
something_weird{problem="division by zero"} +Inf -3982045
nothing NaN
"#;
        let metrics = parse(text).unwrap();
        let expected = [
            (r#"http_requests_total{method="post",code="200"}"#, 1027.0),
            ("metric_without_timestamp_and_labels", 12.47),
            (
                r#"msdos_file_access_time_seconds{path="C:\\DIR\\FILE.TXT",error="Cannot find file:\n\"FILE.TXT\" }"}"#,
                1.458255915e9,
            ),
        ];
        assert_eq!(metrics, expected.map(|(name, value)| (name.to_owned(), value)).into());
    }

    #[test]
    fn the_numbers_of_json_by_their_paths() {
        let metrics =
            parse(r#"{"up": true, "memory": {"rss": 5e6, "name": "x"}, "queues": [1, {"depth": 2}]}"#)
                .unwrap();
        let expected = [("memory.rss", 5e6), ("queues.0", 1.0), ("queues.1.depth", 2.0)];
        assert_eq!(metrics, expected.map(|(name, value)| (name.to_owned(), value)).into());
    }

    #[test]
    fn anything_else_is_refused() {
        for body in ["<html>", "{\"a\":", "up", "up{a=\"1\" 5", "up five", &"[".repeat(100_000)] {
            assert!(parse(body).is_err(), "{}", &body[..body.len().min(20)]);
        }
        assert_eq!(parse(""), Ok(Metrics::new()));
    }
}
