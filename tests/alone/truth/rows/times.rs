//! Lies about time: late answers, stalls and queues.

use super::{Length, Row, echo, row};

/// The index of quantile `q` of `n` samples.
fn rank(q: f64, n: u64) -> u64 {
    (q * n as f64 - 1e-9).ceil() as u64 - 1
}

pub(super) fn latencies(length: Length) -> Vec<Row> {
    let full = length == Length::Full;
    let wave = |period_ms, stall_ms| Wave { period_ms, stall_ms };
    // The stall, and how long the load goes on (s).
    let (usual, stalled_s) = if full { (wave(10_000, 1_000), 30) } else { (wave(3_000, 300), 6) };
    // Long enough for the tail to be less than a hundredth.
    let (fixed_s, hundredth_s) = if full { (20, 10) } else { (10, 2) };
    vec![
        row("every answer 50 ms late", "delay=50ms", echo(200, fixed_s), |truth| {
            truth.at_least("rtt", 50.0);
            for stat in ["p50", "p99", "mean"] {
                truth.just_above("rtt", stat, 50.0);
            }
            truth.achieves(200.0, 0.0);
        }),
        row("every 100th 1 s late", "delay=1s@99%100", echo(1_000, hundredth_s), move |truth| {
            let n = 1_000 * hundredth_s;
            let rtt = truth.histogram("rtt");
            let slow: u64 = rtt.recorded().filter(|(ns, _)| *ns >= 1_000_000_000).map(|(_, n)| n).sum();
            truth.says("samples ≥ 1 s", (n / 100).to_string(), slow.to_string(), slow == n / 100);
            let p99_ms = rtt.quantile_ns(0.99) as f64 / 1e6;
            truth.says("rtt p99", "< 500 ms", format!("{p99_ms:.1} ms"), p99_ms < 500.0);
            let next_ms = rtt.quantile_ns(0.9901) as f64 / 1e6;
            truth.says("rtt p99.01", "≥ 1000 ms", format!("{next_ms:.1} ms"), next_ms >= 1_000.0);
            truth.just_above("rtt", "mean", 10.0);
        }),
        waves("does nothing for a while", "stall", 200, usual, stalled_s),
        waves(
            "does nothing for a while, at a high rate",
            "stall",
            10_000,
            // What piles up in so short a stall is worked off in a millisecond, of which the arithmetic does
            // not know; and in so short a time this machine is not often late by more than in the second that
            // it is known from.
            wave(1_000, 100),
            6,
        ),
        waves("does not read for a while", "deaf", 200, usual, stalled_s),
        waves("one stall (wrk2's case)", "stall", 1_000, usual, usual.period_ms / 1_000),
    ]
}

pub(super) fn queues(length: Length) -> Vec<Row> {
    let full = length == Length::Full;
    let (overloaded_s, within_s, ticks_s) = if full { (10, 10, 20) } else { (2, 1, 4) };
    vec![
        row(
            "one at a time, 10 ms each, 2× overloaded",
            "service=10ms",
            echo(200, overloaded_s),
            move |truth| {
                let n = 200 * overloaded_s;
                let latency = |k: u64| (10 + 5 * k) as f64;
                for (stat, q) in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("max", 1.0)] {
                    // The histogram keeps three digits.
                    let asked = latency(rank(q, n));
                    truth.about("rtt", stat, asked, asked / 1_000.0);
                }
                truth.at_least("rtt", 10.0);
                for (name, figure) in [("received_per_s", "received /s"), ("achieved_per_s", "achieved /s")] {
                    let rate = truth.step["rates"][name].as_f64().expect("a rate");
                    truth.says(figure, "100", format!("{rate:.2}"), (97.0..=100.0).contains(&rate));
                }
                let found = truth.bottleneck().to_owned();
                truth.says("bottleneck", "server", &found, found == "server");
            },
        ),
        row("the same, within its means", "service=10ms", echo(50, within_s), |truth| {
            truth.at_least("rtt", 10.0);
            truth.just_above("rtt", "p50", 10.0);
            truth.just_above("rtt", "p99", 10.0);
        }),
        // Not at 200/s: then every 20th message would meet the same part of the tick.
        row("answers only every 100 ms", "tick=100ms", echo(199, ticks_s), |truth| {
            for (stat, asked) in [("p50", 50.0), ("p90", 90.0), ("p99", 99.0)] {
                truth.about("rtt", stat, asked, 5.0);
            }
        }),
        row(
            "acknowledges now, delivers after 300 ms",
            "delay=300ms",
            "broadcast --clients 20 --rate 50 -d 2s",
            |truth| {
                truth.at_least("delivery", 300.0);
                truth.just_above("delivery", "p50", 300.0);
                truth.just_above("delivery", "p99", 300.0);
                truth.just_above("rtt", "p50", 0.0);
            },
        ),
    ]
}

/// A server that stands still for a part of each period.
#[derive(Clone, Copy)]
struct Wave {
    period_ms: u64,
    stall_ms: u64,
}

/// Nothing for P of every T: p(q) = P(1 − (1−q)T/P) for the quantiles that it reaches, and a mean of P²/2T.
fn waves(lie: &'static str, fault: &str, rate: u64, wave: Wave, seconds: u64) -> Row {
    let Wave { period_ms, stall_ms } = wave;
    let fault = format!("{fault}={stall_ms}ms/{period_ms}ms");
    row(lie, fault, echo(rate, seconds), move |truth| {
        let (period, stall, between) = (period_ms as f64, stall_ms as f64, 1_000.0 / rate as f64);
        for (stat, q) in [("p95", 0.95), ("p99", 0.99), ("max", 1.0)] {
            // Where in the stall the first message falls is chance.
            truth.about("rtt", stat, stall - (1.0 - q) * period, between + stall / 1_000.0);
        }
        truth.about("rtt", "mean", stall * stall / (2.0 * period), stall * between / period);
        truth.exactly("missing", 0);
    })
}
