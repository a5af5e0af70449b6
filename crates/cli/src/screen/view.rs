//! The screen's contents: state, and how it is laid out on a terminal of any size.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use crew::Progress;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::symbols::bar;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Gauge, Paragraph, RenderDirection, Sparkline};
use report::{bytes, count, duration};
use results::format::printable;
use results::{Run, Second};

use super::plots::{self, PERCENTILES};

/// Seconds kept for the curves: more than any terminal has columns.
const SECONDS_MAX: usize = 600;
/// Below this, curves say nothing.
const CURVE_ROWS_MIN: u16 = 2;
/// Lines without the curves: title, how far the step has come, clients and rates, percentiles, CPU, errors.
const LINES: u16 = 6;
/// Lines around the curves: a caption for each of the two rows of them, and the time.
const CAPTIONS: u16 = 3;
/// The space of the curves' axes.
const VALUES_WIDTH: u16 = 9;
/// The distribution stands beside the percentiles where both have room; columns.
const BESIDE_MIN: u16 = 70;
const DISTRIBUTION_WIDTH: u16 = 34;
/// The last column but one: a share has at most four characters.
const SHARE_WIDTH: usize = 5;
const KEYS: &str = "Ctrl-C: end the run and report it   twice: at once, with what there is";

/// Bars of what has no other characters: eighths are rounded to halves.
const ASCII_BARS: bar::Set<'_> = bar::Set {
    full: "#",
    seven_eighths: "#",
    three_quarters: "#",
    five_eighths: "=",
    half: "=",
    three_eighths: "-",
    one_quarter: "-",
    one_eighth: ".",
    empty: " ",
};

/// The figures on the screen.
pub(crate) struct View {
    title: String,
    has_colour: bool,
    is_ascii: bool,
    step: usize,
    /// How many there are, if that is known.
    steps: Option<u32>,
    now: Progress,
    /// The newest first, as curves are drawn from the right.
    seconds: VecDeque<Second>,
    /// Samples of the step under way by latency ([`stats::density`]).
    cells: BTreeMap<u8, u64>,
}

impl View {
    pub(crate) fn new(run: &Run, steps: Option<u32>, has_colour: bool, is_ascii: bool) -> Self {
        let target = run.target.name.as_ref().unwrap_or(&run.target.url);
        let title = format!("throng {} · {} · {target}", run.verb(), run.dialect);
        let title = printable(&title);
        let step = run.steps.len() + 1;
        let (seconds, cells) = (VecDeque::new(), BTreeMap::new());
        Self { title, has_colour, is_ascii, step, steps, now: Progress::default(), seconds, cells }
    }

    pub(crate) fn handle_progress(&mut self, progress: &Progress) {
        // A warm-up ends without a step.
        if self.now.is_warmup && !progress.is_warmup {
            self.cells.clear();
        }
        self.now = progress.clone();
        let Some(second) = &progress.second else { return };
        if self.seconds.front().is_none_or(|newest| newest.t_ns < second.t_ns) {
            self.seconds.push_front(second.clone());
            self.seconds.truncate(SECONDS_MAX);
            // While clients connect, what is timed are handshakes.
            if second.received > 0 {
                for &(cell, samples) in &second.density {
                    *self.cells.entry(cell).or_default() += samples;
                }
            }
        }
    }

    pub(crate) fn handle_step(&mut self, run: &Run) {
        self.step = run.steps.len() + 1;
        self.cells.clear();
    }

    /// Draws everything that there is room for: lines first, then the curves.
    pub(crate) fn render(&self, frame: &mut Frame<'_>, elapsed: Duration) {
        let area = frame.area();
        let room = area.height.saturating_sub(LINES + CAPTIONS + 1);
        // Latency has more to show than the rate.
        let rate = (room / 3).max(CURVE_ROWS_MIN);
        let latency = room.saturating_sub(rate);
        let has_curves = latency >= CURVE_ROWS_MIN;
        let rows = |lines: u16| Constraint::Length(if has_curves { lines } else { 0 });
        let line = Constraint::Length(1);
        let heights =
            [line, line, line, line, line, line, rows(1), rows(rate), rows(1), rows(latency), rows(1), line];
        let [title, step, rates, quantiles, cpu, errors, of_rate, rate, of_latency, latency, time, keys] =
            Layout::vertical(heights).areas(area);
        self.line(frame, title, vec![self.title.clone()], Modifier::BOLD);
        self.step(frame, step, elapsed);
        self.line(frame, rates, self.rates(), Modifier::empty());
        self.line(frame, quantiles, self.latency(), Modifier::empty());
        self.line(frame, cpu, self.cpu(), Modifier::empty());
        self.errors(frame, errors);
        if has_curves {
            self.received(frame, of_rate, rate);
            let [of_time, of_samples] = beside(of_latency);
            let [over_time, samples] = beside(latency);
            self.percentiles(frame, of_time, over_time);
            self.distribution(frame, of_samples, samples);
            self.time(frame, beside(time)[0]);
        }
        self.line(frame, keys, vec![KEYS.into()], Modifier::DIM);
        // Last, so that no sign is forgotten: names and units have some, too.
        let letters = report::Style { ascii: self.is_ascii, ..report::Style::PLAIN };
        for cell in &mut frame.buffer_mut().content {
            if self.is_ascii && !cell.symbol().is_ascii() {
                cell.set_symbol(&letters.in_letters(cell.symbol().to_owned()));
            }
        }
    }

    fn style(&self, colour: Color) -> Style {
        if self.has_colour { Style::new().fg(colour) } else { Style::new() }
    }

    /// Draws a line of as many parts as fit completely.
    fn line(&self, frame: &mut Frame<'_>, area: Rect, parts: Vec<String>, modifier: Modifier) {
        let mut text = String::new();
        for part in parts {
            let gap = if text.is_empty() { 0 } else { 3 };
            if !text.is_empty() && text.chars().count() + gap + part.chars().count() > usize::from(area.width)
            {
                break;
            }
            text += if text.is_empty() { "" } else { "   " };
            text += &part;
        }
        frame.render_widget(
            Paragraph::new(Line::from(Span::raw(text))).style(Style::new().add_modifier(modifier)),
            area,
        );
    }

    /// A bar of how far the phase has come.
    fn step(&self, frame: &mut Frame<'_>, area: Rect, elapsed: Duration) {
        let label = format!(
            "{}: {} {:.0}%, {} elapsed",
            self.name(),
            self.now.phase,
            100.0 * self.now.done,
            whole_seconds(elapsed)
        );
        if self.is_ascii {
            return self.line(frame, area, vec![label], Modifier::empty());
        }
        let gauge = Gauge::default().ratio(self.now.done.clamp(0.0, 1.0)).label(label);
        frame.render_widget(gauge.gauge_style(self.style(Color::Blue)), area);
    }

    /// The name of the step under way.
    fn name(&self) -> String {
        match self.steps {
            _ if self.now.is_warmup => "warm-up".into(),
            Some(steps @ 2..) => format!("step {} of {steps}", self.step),
            _ => format!("step {}", self.step),
        }
    }

    fn rates(&self) -> Vec<String> {
        let Progress { clients, usable, .. } = self.now;
        let clients = format!("{} of {} clients", count(usable), count(clients.into()));
        let Some(second) = &self.now.second else {
            return vec![clients, "waiting for the first second".into()];
        };
        vec![
            clients,
            format!("{} sent/s", count(second.sent)),
            format!("{} received/s", count(second.received)),
            format!("{} received in this step", count(self.now.received)),
        ]
    }

    fn latency(&self) -> Vec<String> {
        let Some(second) = &self.now.second else { return Vec::new() };
        let known =
            [("p50", second.p50_ns), ("p95", second.p95_ns), ("p99", second.p99_ns), ("max", second.max_ns)];
        known.into_iter().filter_map(|(name, ns)| Some(format!("{name} {}", duration(ns?)))).collect()
    }

    fn cpu(&self) -> Vec<String> {
        let Some(second) = &self.now.second else { return Vec::new() };
        let server = second.server_cpu_percent.map(|percent| format!("server CPU {percent:.0}%"));
        let memory = second.server_rss_bytes.map(|size| format!("server RSS {}", bytes(size as f64)));
        let generator = second.generator_cpu_percent.map(|percent| format!("generator CPU {percent:.0}%"));
        [server, generator, memory].into_iter().flatten().collect()
    }

    fn errors(&self, frame: &mut Frame<'_>, area: Rect) {
        let text = match self.now.errors {
            0 => Span::raw("no errors"),
            n => Span::styled(
                format!("{} errors", count(n)),
                self.style(Color::Red).add_modifier(Modifier::BOLD),
            ),
        };
        frame.render_widget(Paragraph::new(Line::from(text)), area);
    }

    fn received(&self, frame: &mut Frame<'_>, caption: Rect, area: Rect) {
        let [axis, plot] = with_axis(area);
        let values: Vec<u64> =
            self.seconds.iter().take(usize::from(plot.width)).map(|second| second.received).collect();
        let highest = values.iter().max().copied().unwrap_or(0);
        frame.render_widget(Paragraph::new("received/s"), caption);
        frame.render_widget(Paragraph::new(axis_labels(axis, [count(highest), "0".into()])), axis);
        let bars = Sparkline::default().data(values).direction(RenderDirection::RightToLeft);
        let bars = if self.is_ascii { bars.bar_set(ASCII_BARS) } else { bars };
        frame.render_widget(bars.max(highest.max(1)).style(self.style(Color::Green)), plot);
    }

    /// Percentiles over time, each with a character of its own.
    fn percentiles(&self, frame: &mut Frame<'_>, caption: Rect, area: Rect) {
        let names = PERCENTILES.iter().flat_map(|of| {
            let mark = Span::styled(of.mark.to_string(), self.style(of.colour));
            [mark, Span::raw(format!(" {}  ", of.name))]
        });
        frame.render_widget(Paragraph::new(Line::from_iter(names)), caption);
        let [axis, area] = with_axis(area);
        let (width, height) = (usize::from(area.width), usize::from(area.height));
        let Some(plot) = plots::over_time(self.seconds.iter(), width, height) else { return };
        let [low, high] = plot.ends_ns.map(duration);
        frame.render_widget(Paragraph::new(axis_labels(axis, [high, low])), axis);
        let cell = |cell: Option<usize>| match cell.map(|number| &PERCENTILES[number]) {
            Some(of) => Span::styled(of.mark.to_string(), self.style(of.colour)),
            None => Span::raw(" "),
        };
        let lines: Vec<Line<'_>> =
            plot.rows.into_iter().map(|row| Line::from_iter(row.into_iter().map(cell))).collect();
        frame.render_widget(Paragraph::new(lines), area);
    }

    /// The share of the step's samples by latency, the shortest at the top.
    fn distribution(&self, frame: &mut Frame<'_>, caption: Rect, area: Rect) {
        let bars = plots::bars(&self.cells, usize::from(area.height));
        if bars.is_empty() {
            return;
        }
        frame.render_widget(Paragraph::new("distribution in this step"), caption);
        let label = usize::from(VALUES_WIDTH) - 1;
        let width = usize::from(area.width).saturating_sub(label + 1 + SHARE_WIDTH);
        let highest = bars.iter().map(|(_, share)| *share).fold(f64::MIN_POSITIVE, f64::max);
        let full = if self.is_ascii { "#" } else { bar::FULL };
        let lines = bars.into_iter().map(|(from_ns, share)| {
            let bar = full.repeat((share / highest * width as f64).round() as usize);
            let [from, share] =
                [format!("{:>label$} ", duration(from_ns)), format!(" {:.0}%", 100.0 * share)];
            Line::from(vec![Span::raw(from), Span::styled(bar, self.style(Color::Cyan)), Span::raw(share)])
        });
        frame.render_widget(Paragraph::new(lines.collect::<Vec<_>>()), area);
    }

    /// Labels the curves' ends: a column is a second.
    fn time(&self, frame: &mut Frame<'_>, area: Rect) {
        let [_, plot] = with_axis(area);
        let width = usize::from(plot.width.saturating_sub(3));
        let ago = format!("{}s ago", plot.width.saturating_sub(1));
        frame.render_widget(Paragraph::new(format!("{ago:width$}now")), plot);
    }
}

/// Splits an area into the percentiles' part and the distribution's, which is empty where there is little
/// room.
fn beside(area: Rect) -> [Rect; 2] {
    let width = if area.width < BESIDE_MIN { 0 } else { DISTRIBUTION_WIDTH };
    Layout::horizontal([Constraint::Min(0), Constraint::Length(width)]).areas(area)
}

/// Lines of an axis with its upper and its lower end.
fn axis_labels(axis: Rect, [upper, lower]: [String; 2]) -> Vec<Line<'static>> {
    let gap = vec![String::new(); usize::from(axis.height.saturating_sub(2))];
    let width = usize::from(axis.width.saturating_sub(1));
    let label = |label: String| Line::from(format!("{label:>width$}"));
    [vec![upper], gap, vec![lower]].concat().into_iter().map(label).collect()
}

/// Splits an area into a curve's axis and the curve.
fn with_axis(area: Rect) -> [Rect; 2] {
    Layout::horizontal([Constraint::Length(VALUES_WIDTH), Constraint::Min(0)]).areas(area)
}

/// `5s`, `2m 05s`: it changes every second, and nothing below that.
fn whole_seconds(elapsed: Duration) -> String {
    let seconds = elapsed.as_secs();
    if seconds < 60 { format!("{seconds}s") } else { format!("{}m {:02}s", seconds / 60, seconds % 60) }
}

#[cfg(test)]
mod tests;
