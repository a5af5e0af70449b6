//! Answers that come in pieces, whose events are late, stalled, lost or doubled as the query says.

use super::claims::Truth;
use super::rows::{Meddling, Row};

/// Claims that most stalls have one of these owners.
fn owned(truth: &mut Truth<'_>, owners: &[&str]) {
    let shares = &truth.step["stall_owners_percent"];
    let percent: f64 = owners.iter().filter_map(|owner| shares[owner].as_f64()).sum();
    truth.says(&owners.join(", "), "≥ 80%", format!("{percent:.0}%"), percent >= 80.0);
}

/// The rows.
pub(super) fn rows() -> Vec<Row> {
    vec![
        Row::of(
            "the first event 50 ms late",
            "stream?first=50ms&gap=5ms&events=20 -c 20 -n 200 --end [DONE]",
            |truth| {
                truth.at_least("first", 50.0);
                truth.just_above("first", "p50", 50.0);
                truth.exactly("events", 200 * 20);
            },
        ),
        Row::of("20 ms between two events", "stream?gap=20ms&events=50 -c 10 -n 40 --end [DONE]", |truth| {
            truth.about("gap", "mean", 20.0, 0.5);
            truth.exactly("events", 40 * 50);
        }),
        Row::of(
            "every tenth answer stalls for 1 s",
            "stream?gap=20ms&events=50&stall=1s@25:3%10 -c 20 -n 100 --end [DONE]",
            |truth| {
                truth.reaches("gap", 1_000.0);
                let stalls = truth.rare("stalls");
                truth.says("stalls", "≥ 10", stalls.to_string(), stalls >= 10);
                truth.exactly("events", 100 * 50);
                owned(truth, &["server_asleep", "server_cpu"]);
            },
        ),
        Row {
            meddling: Meddling::StopGenerator,
            ..Row::of(
                "none; the generator is stopped for 1 s",
                "stream?gap=20ms&events=100 -c 20 -n 40 --end [DONE]",
                |truth| {
                    truth.reaches("gap", 1_000.0);
                    let stalls = truth.rare("stalls");
                    truth.says("stalls", "≥ 20", stalls.to_string(), stalls >= 20);
                    truth.exactly("events", 40 * 100);
                    owned(truth, &["generator"]);
                },
            )
        },
        Row::of(
            "every tenth answer has one of six faults",
            "stream?events=20&gap=10ms&break=8:1%10&end=missing:2%10&end=doubled:3%10&swap=8:5%10&hang=12:6%10\
             &error=9:7%10 -c 200 -n 200 --end [DONE] --order /n --drain-timeout 4s",
            |truth| {
                for fault in ["broken_off", "unmarked", "after_end", "misordered", "unended"] {
                    let found = truth.rare(fault);
                    truth.counts(fault, 20, found);
                }
                let errors = truth.errors("http_error_event");
                truth.counts("http_error_event", 20, errors);
                truth.exactly("events", 160 * 20 + 20 * 8 + 20 * 12);
                truth.exits(3);
            },
        ),
    ]
}
