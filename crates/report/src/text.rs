//! Text for a terminal.

use results::{Run, Step};

use crate::Style;

/// The lines of one step, each ending in a newline, for printing as soon as the step ends.
pub fn step_lines(step: &Step, style: &Style) -> String {
    let ms = |q| step.figures.rtt.quantile_ns(q).div_ceil(1_000_000);
    format!(
        "clients: {:5}    {}per-rtt: {:3}ms    min-rtt: {:3}ms    median-rtt: {:3}ms    max-rtt: {:3}ms\n",
        step.clients,
        style.percentile,
        ms(style.percentile / 100.0),
        step.figures.rtt.min_ns() / 1_000_000,
        ms(0.5),
        ms(1.0)
    )
}

/// The block that ends a run: how much, where does it break, can it be believed.
pub fn summary(run: &Run) -> String {
    run.verdict
        .bottleneck
        .as_ref()
        .map_or_else(String::new, |finding| format!("bottleneck: {}\n", finding.bottleneck))
}
