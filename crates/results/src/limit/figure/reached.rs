//! A limit that no run can break is none: each figure, of each scenario that has it, breaks one.

use stats::Counts;

use super::*;
use crate::limit::Limit;
use crate::step::Step;
use crate::{GeneratorUse, Rates, ServerUse, standing};

const MS: u64 = 1_000_000;

fn slow() -> Histogram {
    let mut histogram = Histogram::default();
    histogram.record_n_ns(900 * MS, 20);
    histogram.record_ns(1_800 * MS);
    histogram
}

/// Rates of a server that does a fraction of what is asked.
const RATES_OF_WORST: Rates = Rates {
    asked_per_s: Some(100.0),
    achieved_per_s: Some(4.0),
    sent_per_s: Some(9.0),
    sent_bytes_per_s: Some(900.0),
    received_per_s: Some(4.0),
    received_bytes_per_s: Some(400.0),
    connects_per_s: Some(80.0),
    events_per_s: Some(4.0),
    tokens_per_s: Some(4.0),
};

/// Nothing went well, and everything was measured.
fn worst() -> Step {
    let mut counts = Counts {
        sent: 90,
        expected: 90,
        received: 40,
        missing: 50,
        late: 30,
        duplicate: 4,
        batched: 8,
        reordered: 5,
        unexpected: 6,
        leaked: 6,
        offline_due: 9,
        recovered: 6,
        lost_offline: 3,
        corrupt: 7,
        connects: 100,
        connected: 80,
        connect_timeouts: 10,
        connect_failures: 10,
        disconnects: 9,
        pushed: 30,
        push_skipped: 5,
        push_repeated: 2,
        push_compared: 20,
        push_differing: 3,
        events: 100,
        tokens: 90,
        stalls: 9,
        stalls_here: 2,
        broken_off: 4,
        unended: 3,
        unmarked: 2,
        after_end: 5,
        misordered: 6,
        visits: 60,
        join_failures: 7,
        seen_due: 50,
        seen: 40,
        unseen: 10,
        unacknowledged: 4,
        not_back: 8,
        tls_resumed: 70,
        ..Counts::default()
    };
    // At least 1 of everything that a limit can be on, new rows of the table included.
    for count in Count::ALL.into_iter().filter(|count| count.facts().share_of.is_some()) {
        let value = counts.get_mut(count);
        *value = (*value).max(1);
    }
    let mut step = Step {
        clients: 100,
        usable: Some(80),
        duration_ns: 10_000 * MS,
        counts,
        rates: RATES_OF_WORST,
        ..Step::default()
    };
    for timed in Timed::ALL {
        *step.figures.get_mut(timed) = slow();
    }
    step.errors.add("reset", 0, "connection reset");
    (step.server, step.generator) = (Some(busy_server()), Some(busy_generator()));
    step
}

fn busy_server() -> ServerUse {
    let (mean, peak) = (Some(90.0), Some(95.0));
    let rss_bytes_peak = Some(1 << 30);
    ServerUse { cpu_percent_mean: mean, cpu_percent_peak: peak, rss_bytes_peak, ..ServerUse::default() }
}

fn busy_generator() -> GeneratorUse {
    GeneratorUse { cpu_percent_mean: Some(90.0), rss_bytes_peak: Some(1 << 30), ..GeneratorUse::default() }
}

/// Limits that a run without any trouble keeps, one for each figure.
fn limits(scenario: Scenario) -> Vec<String> {
    let known = |figure: &Figure| figure.is_of(scenario);
    let counted = Counted::all().map(Figure::Counted).filter(known);
    let counted = counted.map(|figure| format!("{}==0", figure.name()));
    let rates = Rate::ALL.into_iter().map(Figure::Rate).filter(known);
    let rates = rates.map(|figure| format!("{}>=1000/s", figure.name()));
    let gauges = GAUGES.iter().filter(|&&(_, gauge)| known(&Figure::Gauge(gauge)));
    let gauges = gauges.map(|(name, gauge)| match gauge {
        Gauge::Delivered => format!("{name}>=99%"),
        Gauge::ServerCpu | Gauge::GeneratorCpu => format!("{name}<5%"),
        Gauge::ServerRss | Gauge::GeneratorRss => format!("{name}<1MiB"),
        Gauge::MessagesPerFrame => format!("{name}<1.1"),
    });
    let statistics = || STATISTICS.iter().map(|entry| entry.0).chain(["p95", "p99.9"]);
    let timed = scenario
        .timed()
        .flat_map(|timed| statistics().map(move |statistic| format!("{timed}.{statistic}<1us")));
    counted.chain(rates).chain(gauges).chain(timed).collect()
}

#[test]
fn each_figure_can_break_a_limit() {
    let step = worst();
    for scenario in Scenario::ALL {
        for text in limits(scenario) {
            let limit = Limit::parse(&text, scenario).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert!(!limit.check(&step).passed(), "no {scenario} can break {text}");
        }
    }
}

#[test]
fn each_standing_limit_can_be_broken() {
    let step = worst();
    for scenario in Scenario::ALL {
        for limit in standing::limits(scenario, &[], 0.0) {
            let outcomes = standing::check(std::slice::from_ref(&limit), &step);
            assert!(outcomes.iter().any(|outcome| !outcome.passed()), "no {scenario} can break {limit}");
        }
    }
}
