//! Sentences with holes for what differs from run to run.

use regex::Regex;

/// `{number}` is one such as `1,234.5`, `{time}` one such as `9.46ms` or `1m 2s`, `{any}` whatever there is.
const HOLES: [(&str, &str); 3] = [
    (r"\{number\}", r"[0-9][0-9,.]*"),
    (r"\{time\}", r"[0-9][0-9.]*(ns|µs|ms|s|m|h)( [0-9.]+s)?"),
    (r"\{any\}", ".*"),
];

/// Returns whether the text, all of it, is what the pattern says.
pub(crate) fn fits(pattern: &str, text: &str) -> bool {
    let mut expression = regex::escape(pattern);
    for (hole, of) in HOLES {
        expression = expression.replace(hole, of);
    }
    Regex::new(&format!("^(?s:{expression})$")).expect("holes are expressions").is_match(text)
}

#[test]
fn holes_are_for_figures() {
    assert!(fits("{number} clients, {any}", "1,234 clients, all of them"));
    assert!(fits("the first after {time}", "the first after 2.00s"));
    assert!(fits("p99<{time} was {time}", "p99<50ms was 1m 2s"));
    assert!(!fits("{number} clients", "failed at 300 clients"));
    assert!(!fits("{number} clients", "300 clients, 5 missing"));
}
