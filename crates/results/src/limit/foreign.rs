//! Names that other load generators give to metrics: who comes from them types these first.

use super::figure::Figure;
use crate::scenario::Scenario;

/// Words of k6, wrk, hey, oha, autocannon, Artillery, Gatling and Locust, and those that stand for them here;
/// empty for the main figure.
const WORDS: [(&str, &str); 21] = [
    ("average", "mean"),
    ("avg", "mean"),
    ("duration", ""),
    ("err", "errors"),
    ("error", "errors"),
    ("error_rate", "errors"),
    ("fail_ratio", "errors"),
    ("failed", "errors"),
    ("failures", "errors"),
    ("http_req_duration", ""),
    ("http_req_failed", "errors"),
    ("http_reqs", "rate"),
    ("latency", ""),
    ("med", "median"),
    ("qps", "rate"),
    ("reqs", "rate"),
    ("response_time", ""),
    ("rps", "rate"),
    ("stddev", "sd"),
    ("stdev", "sd"),
    ("throughput", "rate"),
];

/// The name here of what `name` says elsewhere, if the scenario has it: `p95` for k6's `http_req_duration p(95)`.
pub(super) fn own_name(name: &str, scenario: Scenario) -> Option<String> {
    let words: Vec<String> = name.split([' ', '.', ':']).map(own_word).filter(|w| !w.is_empty()).collect();
    let own = match &words[..] {
        // A latency whose statistic is not named.
        [] => "p95".to_owned(),
        words => words.join("."),
    };
    Figure::parse(&own, scenario).map(|_| own)
}

fn own_word(word: &str) -> String {
    // p(95) and P95 are p95.
    let word = word.to_ascii_lowercase().replace(['(', ')'], "");
    WORDS.iter().find(|(theirs, _)| *theirs == word).map_or(word, |(_, own)| (*own).to_owned())
}
