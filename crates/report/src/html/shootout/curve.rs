//! How a server behaved under load, as a small drawing: latency against the rate of a sweep, or else by percentile.

use results::conclusion::shown;
use results::format::rate;
use results::verdict::is_refuted;
use results::{Run, Step, Unit};
use serde::Serialize;
use stats::Timed;

use super::axis::{Axis, tick};
use crate::html::curve::{FigureData, ms};
use crate::html::page::main_timed;

/// The drawing's size, and the part of it that its points may have.
const WIDTH: f64 = 340.0;
const HEIGHT: f64 = 170.0;
const LEFT: f64 = 52.0;
const RIGHT: f64 = WIDTH - 12.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = HEIGHT - 38.0;
/// Labels below it have this much room, of a hundred.
const LABEL_ROOM: f64 = 12.0;

/// A curve of latencies in milliseconds, over the load or over percentiles.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    of: Of,
    points: Vec<Reading>,
}

/// A latency at a load or a percentile.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Reading {
    load: f64,
    ms: f64,
    /// True if messages without an answer make it a lower bound.
    is_bound: bool,
    /// True if the limits were kept there.
    kept: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    /// The 99th percentile, by messages per second asked.
    Rates,
    /// Quantiles, by 1/(1 − q).
    Percentiles,
}

impl Curve {
    /// The curve of one run; `None` if nothing was timed in it, or nothing answered.
    pub fn of(run: &Run) -> Option<Curve> {
        if !run.verdict.levels.is_empty() {
            let mut points: Vec<_> = run
                .steps
                .iter()
                .filter(|step| !is_refuted(&run.steps, &run.verdict, step))
                .filter_map(of_rate)
                .collect();
            // A sweep narrows a gap, and so does not measure in rising order.
            points.sort_by(|a, b| a.load.total_cmp(&b.load));
            return (points.len() > 1).then_some(Curve { of: Of::Rates, points });
        }
        let step = run.steps.get(shown(run))?;
        let timed = latency(step)?;
        let reading = |(rest, ms): (f64, f64)| {
            let is_bound = step.is_open(timed, 1.0 - 1.0 / rest);
            Reading { load: rest, ms, is_bound, kept: true }
        };
        let points = FigureData::of(step.figures.get(timed), true, |_| false)?.into_curve();
        let mut points: Vec<Reading> = points.into_iter().map(reading).collect();
        if let Some(longest) = points.last_mut() {
            // The last point is the maximum, which a single message without an answer decides.
            longest.is_bound = step.has_open(timed);
        }
        Some(Curve { of: Of::Percentiles, points })
    }

    pub(super) fn drawing(&self) -> Drawing {
        let x_axis = Axis::decades(&self.points.iter().map(|point| point.load).collect::<Vec<_>>());
        let y_axis = Axis::decades(&self.points.iter().map(|point| point.ms).collect::<Vec<_>>());
        let x = |value| place(LEFT, RIGHT, x_axis.at(value));
        let y = |value| place(BOTTOM, TOP, y_axis.at(value));
        let point = |&Reading { load, ms, kept, .. }: &Reading| Point { x: x(load), y: y(ms), kept };
        let points: Vec<Point> = self.points.iter().map(point).collect();
        let line =
            points.iter().map(|point| format!("{},{}", point.x, point.y)).collect::<Vec<_>>().join(" ");
        let x_label = |value: f64| match self.of {
            Of::Rates => tick(value, Unit::Count),
            Of::Percentiles => percentile(value),
        };
        let label = |at: f64, text: String| Label { at, text };
        let mut x_labels: Vec<Label> = Vec::new();
        for value in x_axis.ticks() {
            let at = x(value);
            // Labels that would lie over the one before are left out.
            if x_labels.last().is_none_or(|last| at - last.at >= WIDTH * LABEL_ROOM / 100.0) {
                x_labels.push(label(at, x_label(value)));
            }
        }
        let (first, last) = (self.points[0], self.points[self.points.len() - 1]);
        let [from, to] = match self.of {
            Of::Rates => [first, last].map(|end| rate(end.load, "")),
            // The last point of the curve is the longest of all, whatever its percentile.
            Of::Percentiles => ["the shortest", "the longest"].map(str::to_owned),
        };
        let says = match self.of {
            Of::Rates => "99th percentile of the latency by the rate asked",
            Of::Percentiles => "Latency by percentile",
        };
        let latency =
            |end: Reading| format!("{}{}", if end.is_bound { "≥ " } else { "" }, tick(end.ms, Unit::Ms));
        Drawing {
            says: format!("{says}: {} at {from}, {} at {to}", latency(first), latency(last)),
            title: says,
            x_name: if self.of == Of::Rates { "messages asked per second" } else { "percentile" },
            marks: if points.len() <= MARKED_MAX { points } else { Vec::new() },
            line,
            x_labels,
            y_labels: y_axis.ticks().iter().map(|value| label(y(*value), tick(*value, Unit::Ms))).collect(),
        }
    }
}

/// Points above which a line has no room for marks.
const MARKED_MAX: usize = 24;

/// A step of a sweep.
fn of_rate(step: &Step) -> Option<Reading> {
    let timed = latency(step)?;
    let ms = ms(step.figures.get(timed).quantile_ns(0.99) as f64);
    let is_bound = step.is_open(timed, 0.99);
    Some(Reading { load: step.rates.asked_per_s?, ms, is_bound, kept: step.has_passed() })
}

/// The latency that a reader means: of a broadcast, until the others have it. `None` if nothing was timed, or
/// nothing answered.
fn latency(step: &Step) -> Option<Timed> {
    let has_deliveries = !step.figures.get(Timed::Delivery).is_empty();
    let timed = if has_deliveries { Timed::Delivery } else { main_timed(step) };
    (step.is_latency(timed) && !step.figures.get(timed).is_empty()).then_some(timed)
}

/// 1/(1 − q) as a percentile.
fn percentile(rest: f64) -> String {
    let nines = rest.log10().round() as i32;
    match nines {
        ..=0 => "0%".to_owned(),
        1 => "90%".to_owned(),
        _ => format!("99{}{}%", if nines > 2 { "." } else { "" }, "9".repeat((nines - 2) as usize)),
    }
}

/// A percentage of the way, to a tenth of a pixel.
fn place(from: f64, to: f64, percent: f64) -> f64 {
    ((from + (to - from) * percent / 100.0) * 10.0).round() / 10.0
}

/// The template's data.
#[derive(Serialize)]
pub(super) struct Drawing {
    title: &'static str,
    says: String,
    x_name: &'static str,
    line: String,
    marks: Vec<Point>,
    x_labels: Vec<Label>,
    y_labels: Vec<Label>,
}

#[derive(Serialize)]
struct Point {
    x: f64,
    y: f64,
    kept: bool,
}

#[derive(Serialize)]
struct Label {
    at: f64,
    text: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn sweeps_are_drawn_by_rate() {
        let sweep = Curve::of(&sample::sweep_run()).expect("a sweep has rates");
        assert_eq!(sweep.of, Of::Rates);
        assert!(
            sweep.points.is_sorted_by(|a, b| a.load <= b.load)
                && sweep.points.iter().any(|point| !point.kept)
        );
        let drawing = sweep.drawing();
        assert_eq!(drawing.marks.len(), sweep.points.len());
        assert!(drawing.marks.iter().all(|mark| (LEFT..=RIGHT).contains(&mark.x) && mark.y <= BOTTOM));
        let echo = Curve::of(&sample::echo_run()).expect("it has round trips");
        assert_eq!(echo.of, Of::Percentiles);
        let mut again = sample::sweep_run();
        again.steps.insert(1, results::Step { stop: again.steps[2].stop.clone(), ..again.steps[1].clone() });
        assert_eq!(Curve::of(&again), Some(sweep), "the other try passed");
        assert_eq!(Curve::of(&Run::default()), None);
        assert!(echo.drawing().says.ends_with(" at the longest"), "{}", echo.drawing().says);
    }

    #[test]
    fn unanswered_messages_are_no_points() {
        let mut run = sample::sweep_run();
        for step in &mut run.steps {
            step.figures.delivery = Default::default();
            step.figures.service = step.figures.rtt.clone();
        }
        let all = Curve::of(&run).unwrap().points;
        assert!(all.iter().all(|point| !point.is_bound));
        let fastest = &mut run.steps[2];
        fastest.rates.asked_per_s = Some(1_414.213_5);
        fastest.figures.service = Default::default();
        assert_eq!(Curve::of(&run).unwrap().points.len(), all.len() - 1);
        run.steps[2].figures.service.record_n_ns(1_000_000, 900);
        let curve = Curve::of(&run).unwrap();
        assert!(curve.points.last().unwrap().is_bound);
        let says = curve.drawing().says;
        assert!(says.contains(", ≥ ") && says.ends_with("1,414/s"), "{says}");
    }

    #[test]
    fn quantiles_are_named_as_people_say_them() {
        assert_eq!([1.0, 10.0, 100.0, 1e3, 1e4].map(percentile), ["0%", "90%", "99%", "99.9%", "99.99%"]);
    }
}
