//! The screen's contents: state, and how it is laid out on a terminal of any size.

use std::collections::VecDeque;
use std::time::Duration;

use crew::Progress;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Gauge, Paragraph, RenderDirection, Sparkline};
use report::{bytes, count, duration};
use results::{Run, Second};

/// Seconds kept for the curves: more than any terminal has columns.
const SECONDS_MAX: usize = 600;
/// Below this, curves say nothing.
const CURVE_ROWS_MIN: u16 = 2;
/// Lines without the curves: title, how far the step has come, clients and rates, percentiles, CPU, errors.
const LINES: u16 = 6;
/// The space of the curves' axes: their values, and the time.
const VALUES_WIDTH: u16 = 9;
const TIME_LINES: u16 = 1;

/// A figure over time.
struct Curve {
    name: &'static str,
    colour: Color,
    value: fn(&Second) -> Option<u64>,
    show: fn(u64) -> String,
}

const RECEIVED: Curve =
    Curve { name: "received/s", colour: Color::Green, value: |second| Some(second.received), show: count };
const P99: Curve = Curve { name: "p99", colour: Color::Cyan, value: |second| second.p99_ns, show: duration };

/// The figures on the screen.
pub(crate) struct View {
    title: String,
    has_colour: bool,
    step: usize,
    /// How many there are, if that is known.
    steps: Option<u32>,
    now: Progress,
    /// The newest first, as curves are drawn from the right.
    seconds: VecDeque<Second>,
}

impl View {
    pub(crate) fn new(run: &Run, steps: Option<u32>, has_colour: bool) -> Self {
        let target = run.target.name.as_ref().unwrap_or(&run.target.url);
        let title = format!("throng {} · {} · {target}", run.scenario, run.dialect);
        let title = title.replace(char::is_control, "·");
        let step = run.steps.len() + 1;
        Self { title, has_colour, step, steps, now: Progress::default(), seconds: VecDeque::new() }
    }

    pub(crate) fn handle_progress(&mut self, progress: &Progress) {
        self.now = progress.clone();
        let Some(second) = &progress.second else { return };
        if self.seconds.front().is_none_or(|newest| newest.t_ns < second.t_ns) {
            self.seconds.push_front(second.clone());
            self.seconds.truncate(SECONDS_MAX);
        }
    }

    pub(crate) fn handle_step(&mut self, run: &Run) {
        self.step = run.steps.len() + 1;
    }

    /// Draws everything that there is room for: lines first, then the curves.
    pub(crate) fn render(&self, frame: &mut Frame<'_>, elapsed: Duration) {
        let area = frame.area();
        let curves = area.height.saturating_sub(LINES + TIME_LINES + 2) / 2;
        let curves = if curves < CURVE_ROWS_MIN { 0 } else { curves };
        let caption = u16::from(curves > 0);
        let heights = [1, 1, 1, 1, 1, 1, caption, curves, caption, curves, caption].map(Constraint::Length);
        let [title, step, rates, latency, cpu, errors, of_rate, rate, of_latency, latency_curve, time] =
            Layout::vertical(heights).areas(area);
        self.line(frame, title, vec![self.title.clone()], Modifier::BOLD);
        self.step(frame, step, elapsed);
        self.line(frame, rates, self.rates(), Modifier::empty());
        self.line(frame, latency, self.latency(), Modifier::empty());
        self.line(frame, cpu, self.cpu(), Modifier::empty());
        self.errors(frame, errors);
        if curves > 0 {
            self.curve(frame, of_rate, rate, &RECEIVED);
            self.curve(frame, of_latency, latency_curve, &P99);
            self.time(frame, time);
        }
    }

    fn style(&self, colour: Color) -> Style {
        if self.has_colour { Style::new().fg(colour) } else { Style::new() }
    }

    /// As many of the parts as fit, whole.
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
        let of = self.steps.filter(|steps| *steps > 1).map(|steps| format!(" of {steps}"));
        let label = format!(
            "step {}{}: {} {:.0}%, {} elapsed",
            self.step,
            of.unwrap_or_default(),
            self.now.phase,
            100.0 * self.now.done,
            whole_seconds(elapsed)
        );
        let gauge = Gauge::default().ratio(self.now.done.clamp(0.0, 1.0)).label(label);
        frame.render_widget(gauge.gauge_style(self.style(Color::Blue)), area);
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
            format!("{} received in all", count(self.now.received)),
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

    fn curve(&self, frame: &mut Frame<'_>, caption: Rect, area: Rect, curve: &Curve) {
        let [axis, plot] = with_axis(area);
        let newest = self.seconds.iter().take(usize::from(plot.width));
        let values: Vec<Option<u64>> = newest.map(curve.value).collect();
        let highest = values.iter().flatten().max().copied().unwrap_or(0);
        frame.render_widget(Paragraph::new(curve.name), caption);
        let gap = vec![String::new(); usize::from(axis.height.saturating_sub(2))];
        let labels = [vec![(curve.show)(highest)], gap, vec!["0".to_owned()]].concat();
        let width = usize::from(axis.width.saturating_sub(1));
        let labels: Vec<Line<'_>> =
            labels.into_iter().map(|label| Line::from(format!("{label:>width$}"))).collect();
        frame.render_widget(Paragraph::new(labels), axis);
        let bars = Sparkline::default().data(values).direction(RenderDirection::RightToLeft);
        frame.render_widget(bars.max(highest.max(1)).style(self.style(curve.colour)), plot);
    }

    /// Labels the curves' ends: a column is a second.
    fn time(&self, frame: &mut Frame<'_>, area: Rect) {
        let [_, plot] = with_axis(area);
        let width = usize::from(plot.width.saturating_sub(3));
        let ago = format!("{}s ago", plot.width.saturating_sub(1));
        frame.render_widget(Paragraph::new(format!("{ago:width$}now")), plot);
    }
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
mod tests {
    use insta::assert_snapshot;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use results::{Scenario, Target};

    use super::*;

    const ELAPSED: Duration = Duration::from_secs(72);

    fn view(has_colour: bool) -> View {
        let target = Target { url: "ws://127.0.0.1:9000/ws".into(), ..Target::default() };
        let run = Run { scenario: Scenario::Echo, dialect: "json".into(), target, ..Run::default() };
        let mut view = View::new(&run, Some(3), has_colour);
        for k in 1..=12 {
            let second = Second {
                t_ns: k * 1_000_000_000,
                sent: 1_000 * k,
                received: 990 * k,
                p50_ns: Some(1_500_000),
                p95_ns: Some(4_000_000),
                p99_ns: Some(k * 1_000_000),
                max_ns: Some(20_000_000),
                server_cpu_percent: Some(61.4),
                server_rss_bytes: Some(4_660_000),
                generator_cpu_percent: Some(20.0),
                ..Second::default()
            };
            let progress = Progress {
                phase: "loading",
                done: 0.6,
                clients: 1_000,
                usable: 900,
                sent: 78_000,
                received: 77_220,
                errors: 100,
                second: Some(second),
                ..Progress::default()
            };
            view.handle_progress(&progress);
        }
        view
    }

    fn drawn(width: u16, height: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| view(true).render(frame, ELAPSED)).unwrap();
        terminal.backend().to_string()
    }

    #[test]
    fn a_wide_terminal_has_curves() {
        assert_snapshot!(drawn(72, 15), @r#"
        "throng echo · json · ws://127.0.0.1:9000/ws                             "
        "████████████████step 1 of 3: loading 60%, 1m 12s elapsed                "
        "900 of 1,000 clients   12,000 sent/s   11,880 received/s                "
        "p50 1.50ms   p95 4.00ms   p99 12.0ms   max 20.0ms                       "
        "server CPU 61%   generator CPU 20%   server RSS 4.44 MiB                "
        "100 errors                                                              "
        "received/s                                                              "
        "  11,880                                                            ▂▄▆█"
        "                                                                ▂▄▆█████"
        "       0                                                    ▂▄▆█████████"
        "p99                                                                     "
        "  12.0ms                                                            ▂▄▆█"
        "                                                                ▂▄▆█████"
        "       0                                                    ▂▄▆█████████"
        "         62s ago                                                     now"
        "#);
    }

    #[test]
    fn a_narrow_one_has_what_matters_most() {
        assert_snapshot!(drawn(30, 6), @r#"
        "throng echo · json · ws://127."
        "step 1 of 3: loading 60%, 1m 1"
        "900 of 1,000 clients          "
        "p50 1.50ms   p95 4.00ms       "
        "server CPU 61%                "
        "100 errors                    "
        "#);
    }

    #[test]
    fn any_size_is_drawn() {
        for (width, height) in [(1, 1), (5, 2), (200, 3), (3, 60), (300, 100)] {
            drawn(width, height);
        }
    }

    #[test]
    fn unwanted_colour_is_left_out() {
        let mut terminal = Terminal::new(TestBackend::new(72, 14)).unwrap();
        terminal.draw(|frame| view(false).render(frame, ELAPSED)).unwrap();
        let cells = terminal.backend().buffer().content();
        assert!(cells.iter().all(|cell| cell.fg == Color::Reset && cell.bg == Color::Reset));
    }
}
