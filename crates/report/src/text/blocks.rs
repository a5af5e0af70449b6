//! A block of lines for each step, with every detail. Where websocket-bench's words are asked for, the first
//! line is its own, to the byte and in whole milliseconds, so that scripts that read it keep working.

use results::conclusion;
use results::format::{count, rate};
use results::rates::KEPT_PERCENT_MIN;
use results::{Bottleneck, Rates, Scenario, Step};
use stats::{CountOf, Timed};

use crate::reading;
use crate::style::{Colour, Style, Words};
use crate::text::row::Rows;
use crate::text::told::{self, errors, others, resources, slow_time, timed};
use crate::text::{absences, says};

/// The column at which the values of the lines below the first begin.
const LABEL_WIDTH: usize = 14;
/// The width of one metric, its name included: a row of them has 80 columns.
const CELL_WIDTH: usize = 11;

const COLUMNS: [(&str, f64); 4] = [("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("p99.9", 0.999)];

/// The lines of one step, each ending in a newline. A percentile with too few samples is followed by `?`.
pub(super) fn lines(scenario: Scenario, step: &Step, style: &Style) -> String {
    let rows = Rows { style, indent: 2, label: LABEL_WIDTH };
    let row = |label: &str, text: &str| rows.row(label, text);
    let mut lines = vec![first_line(scenario, step, style)];
    lines.extend(timed(step).map(|timed| row(timed.words(), &percentiles(step, timed))));
    lines.extend(connections(step).map(|text| row("clients", &text)));
    lines.extend(messages(step).map(|text| row("messages", &text)));
    lines.extend(told::pushes(step).map(|text| row("pushes", &text)));
    lines.extend(told::events(step).map(|text| row("events", &text)));
    lines.extend(says::lines(step).iter().map(|(label, text)| row(label, text)));
    lines.extend(absences::lines(step).iter().map(|text| row("away", text)));
    lines.extend(errors(step).iter().map(|text| rows.painted("error", text, Some(Colour::Yellow))));
    lines.extend(slow_time(step).map(|text| row("slow time", &text)));
    lines.extend(resources(step).iter().map(|(label, text)| row(label, text)));
    lines.extend(step.broken().map(|limit| {
        let text = conclusion::failing(scenario, step, limit);
        rows.painted("broken", &text.to_string(), Some(Colour::Red))
    }));
    lines.extend(bottleneck(step).map(|(text, colour)| rows.painted("bottleneck", &text, colour)));
    lines.extend(
        step.caveats.iter().map(|caveat| rows.painted("caveat", &caveat.to_string(), Some(Colour::Yellow))),
    );
    lines.join("\n") + "\n"
}

/// The load asked of the step; or websocket-bench's line.
fn first_line(scenario: Scenario, step: &Step, style: &Style) -> String {
    match style.words {
        Words::WebsocketBench(percentile) => line_of_websocket_bench(step, percentile),
        Words::Own | Words::Wsdemo => conclusion::asked(scenario, step),
    }
}

/// `clients: %5d    %dper-rtt: %3dms    min-rtt: %3dms    median-rtt: %3dms    max-rtt: %3dms`, rounded half up.
fn line_of_websocket_bench(step: &Step, percentile: f64) -> String {
    let rtt = &step.figures.rtt;
    // Numbers would be those of the time that was waited.
    if rtt.is_empty() || !step.has_answers() {
        return format!("clients: {:5}", step.clients);
    }
    let ms = |ns: u64| (ns + 500_000) / 1_000_000;
    format!(
        "clients: {:5}    {percentile}per-rtt: {:3}ms    min-rtt: {:3}ms    median-rtt: {:3}ms    max-rtt: {:3}ms",
        step.clients,
        ms(rtt.quantile_ns(percentile / 100.0)),
        ms(rtt.min_ns()),
        ms(rtt.quantile_ns(0.5)),
        ms(rtt.max_ns()),
    )
}

fn percentiles(step: &Step, figure: Timed) -> String {
    let cell = |name, q| format!("{name} {}", reading::marked_quantile(step, figure, q));
    let cells = COLUMNS.map(|(name, q)| format!("{:CELL_WIDTH$} ", cell(name, q)));
    cells.concat() + &cell("max", 1.0)
}

/// Said only when it is not simply all of them.
fn connections(step: &Step) -> Option<String> {
    let ((connected, all), others) = (told::connected(step), told::connections(step));
    if connected == all && others.is_empty() && !step.figures.rtt.is_empty() {
        return None;
    }
    let rate = step.rates.connects_per_s.map(|per_s| format!(" at {}", rate(per_s, ""))).unwrap_or_default();
    Some(format!("{} of {} connected{rate}{others}", count(connected), count(all)))
}

fn messages(step: &Step) -> Option<String> {
    let counts = &step.counts;
    if !counts.has_messages() {
        return None;
    }
    let Rates { asked_per_s, sent_per_s, .. } = step.rates;
    let sent_at = sent_per_s.map(|per_s| format!(" at {}", rate(per_s, ""))).unwrap_or_default();
    let asked = asked_per_s.map(|per_s| format!(" of {}", rate(per_s, ""))).unwrap_or_default();
    let completed = completed(&step.rates).map(|per_s| format!(", {} completed", rate(per_s, "")));
    let rates = sent_at + &asked + &completed.unwrap_or_default();
    let (sent, received, expected) = (count(counts.sent), count(counts.received), count(counts.expected));
    Some(format!(
        "{sent} sent{rates}, {received} of {expected} received{}",
        others(counts, CountOf::Messages)
    ))
}

/// At which rate messages of a schedule were answered, where that is well below the one at which they were sent.
fn completed(rates: &Rates) -> Option<f64> {
    let (_, sent, completed) = (rates.asked_per_s?, rates.sent_per_s?, rates.achieved_per_s?);
    (0.0 < completed && 100.0 * completed < KEPT_PERCENT_MIN * sent).then_some(completed)
}

fn bottleneck(step: &Step) -> Option<(String, Option<Colour>)> {
    let found = step.bottleneck.as_ref()?;
    let colour = match found.bottleneck {
        Bottleneck::None | Bottleneck::Unknown => None,
        Bottleneck::Server => Some(Colour::Yellow),
        _ => Some(Colour::Red),
    };
    Some((format!("{}: {}", found.bottleneck, found.cause), colour))
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use results::Run;

    use super::*;
    use crate::sample;
    use stats::{Counts, Histogram};

    #[test]
    fn websocket_benchs_line_is_its_own() {
        // Two published lines from their figures, and one whose figures are wider than their columns.
        for line in [
            "clients:  1000    95per-rtt:  47ms    min-rtt:   9ms    median-rtt:  20ms    max-rtt:  66ms",
            "clients:   100    95per-rtt:  94ms    min-rtt:  42ms    median-rtt:  73ms    max-rtt: 101ms",
            "clients: 10000    95per-rtt: 5147ms    min-rtt: 5147ms    median-rtt: 5147ms    max-rtt: 5147ms",
        ] {
            let numbers: Vec<u64> =
                line.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok()).collect();
            let [clients, _, p95, min, median, max] = numbers[..] else { panic!("{line}") };
            let mut step = Step { clients, ..Step::default() };
            for (ms, n) in [(min, 1), (median, 50), (p95, 45), (max, 4)] {
                step.figures.rtt.record_n_ns(ms * 1_000_000, n);
                step.figures.service.record_n_ns(ms * 1_000_000, n);
            }
            let style = Style { words: Words::WebsocketBench(95.0), ..Style::PLAIN };
            assert_eq!(lines(Scenario::Broadcast, &step, &style).lines().next(), Some(line));
        }
    }

    /// The step's lines, with keys for its findings.
    fn plain(scenario: Scenario, step: Step) -> String {
        let text = lines(scenario, &step, &Style::PLAIN);
        sample::keyed(&Run { scenario, steps: vec![step], ..Run::default() }, &text)
    }

    #[test]
    fn a_broadcast_step() {
        assert_snapshot!(plain(Scenario::Broadcast, sample::broadcast_step()), @"
        1,000 clients
          round trip    p50 37.5ms  p95 63.2ms  p99 65.4ms  p99.9 66.0ms? max 66.0ms
          delivery      p50 36.0ms  p95 66.6ms  p99 69.4ms  p99.9 70.0ms max 70.0ms
          last receiver p50 50.0ms  p95 68.0ms  p99 69.6ms  p99.9 70.0ms? max 70.0ms
          messages      1,000 sent at 50.0/s, 1,000,000 of 1,000,000 received
          server        62% of a core, 87.0 MiB
          generator     31% of a core, 9.00 MiB, p99 of its lag 80µs
          bottleneck    none: none.saturated
        ");
    }

    #[test]
    fn rooms_of_several_sizes_are_told_apart() {
        let text = lines(Scenario::Broadcast, &sample::step_in_rooms(), &Style::PLAIN);
        let told: Vec<&str> =
            text.lines().filter(|line| line.contains("rooms") || line.contains("delivery")).collect();
        assert_snapshot!(told.join("\n"), @"
        delivery      p50 36.0ms  p95 66.6ms  p99 69.4ms  p99.9 70.0ms max 70.0ms
        rooms ≤10     p50 11.0ms  p95 19.1ms  p99 19.8ms  p99.9 20.0ms max 20.0ms
        rooms ≤1k     p50 36.0ms  p95 66.6ms  p99 69.4ms  p99.9 70.0ms max 70.0ms
        ");
        let mut alike = sample::step_in_rooms();
        alike.figures.delivery_101_1000 = Histogram::new();
        assert!(
            !lines(Scenario::Broadcast, &alike, &Style::PLAIN).contains("rooms"),
            "they are all deliveries"
        );
    }

    #[test]
    fn a_step_in_trouble() {
        assert_snapshot!(plain(Scenario::Broadcast, sample::troubled_step()), @"
        4,000 clients
          round trip    p50 3.34s   p95 6.40s?  p99 6.67s?  p99.9 6.73s? max 6.73s
          delivery      p50 3.51s   p95 6.65s   p99 6.93s   p99.9 7.00s max 7.00s
          last receiver p50 ≥ 3.72s p95 ≥ 6.67s? p99 ≥ 6.93s? p99.9 ≥ 7.00s? max ≥ 7.00s
          clients       3,980 of 4,000 connected, 15 timed out, 5 failed
          messages      100 sent at 50.0/s, 397,510 of 398,000 received, 490 missing, 1,200 late, 3 duplicate
          error         refused 5, 2.0s to 6.0s: connection refused
          server        99% of a core, 87.0 MiB
          generator     31% of a core, 9.00 MiB, p99 of its lag 80µs
          broken        rtt.p95<=250ms was 6.40s
          broken        loss.clients
          broken        loss.missing
          broken        loss.wrong
          bottleneck    WHY
          caveat        caveat.samples
        ");
    }

    #[test]
    fn sending_rates_are_not_answer_rates() {
        let mut step = sample::troubled_step();
        step.rates = Rates { sent_per_s: Some(79_278.0), achieved_per_s: Some(39_629.0), ..Rates::default() };
        let line = |step: &Step| messages(step).unwrap();
        assert!(line(&step).starts_with("100 sent at 79,278/s, 397,510 of "), "{}", line(&step));
        step.rates = Rates { asked_per_s: Some(400.0), sent_per_s: Some(400.0), ..step.rates };
        for (achieved, told) in [(400.0, ""), (396.1, ""), (212.0, ", 212/s completed"), (0.0, "")] {
            step.rates.achieved_per_s = Some(achieved);
            let expected = format!("100 sent at 400/s of 400/s{told}, 397,510 of ");
            assert!(line(&step).starts_with(&expected), "{}", line(&step));
        }
    }

    #[test]
    fn clients_are_counted_once_however_often_they_connect() {
        let mut step = sample::troubled_step();
        let line = |step: &Step| connections(step).unwrap();
        (step.clients, step.reached) = (20, Some(20));
        step.counts =
            Counts { connects: 25, connected: 24, connect_timeouts: 1, disconnects: 4, ..Counts::default() };
        assert_eq!(line(&step), "20 of 20 connected, 24 of 25 connections made, 1 timed out, 4 lost");
        (step.clients, step.reached, step.usable) = (5, Some(5), Some(1));
        step.counts = Counts { connects: 5, connected: 5, disconnects: 5, ..Counts::default() };
        assert_eq!(line(&step), "5 of 5 connected, 5 lost");
        assert_eq!(step.unusable(), 0, "they were lost, and that is another count");
        step.counts = Counts { connects: 5, connected: 5, cut: 2, ..Counts::default() };
        assert_eq!(line(&step), "5 of 5 connected, 2 cut");
    }

    #[test]
    fn an_echo_step_shows_microseconds() {
        assert_snapshot!(plain(Scenario::Echo, sample::echo_step()), @"
        10,000 clients
          handshake     p50 7.15ms  p95 13.3ms  p99 13.9ms  p99.9 14.0ms max 14.0ms
          round trip    p50 1.20ms  p95 2.23ms  p99 2.32ms  p99.9 2.34ms max 2.35ms
          messages      300,000 sent at 10,000/s of 10,000/s, 300,000 of 300,000 received
          server        41% of a core
          bottleneck    none: none.saturated
        ");
    }

    #[test]
    fn server_cpu_is_of_all_cores() {
        let mut step = sample::broadcast_step();
        step.server.as_mut().unwrap().cores = Some(2.0);
        let text = lines(Scenario::Echo, &step, &Style::PLAIN);
        assert!(text.contains("  server        31% of 2 cores, 87.0 MiB\n"), "{text}");
    }

    #[test]
    fn an_idle_step_has_no_rtt() {
        assert_snapshot!(plain(Scenario::Idle, sample::idle_step()), @"
        20,000 clients
          handshake     p50 2.15ms  p95 3.81ms  p99 3.96ms  p99.9 4.00ms max 4.00ms
          clients       20,000 of 20,000 connected at 200/s
          bottleneck    unknown: unknown.server_unseen
        ");
    }

    #[test]
    fn a_server_cannot_write_to_the_terminal() {
        let mut step = sample::broadcast_step();
        step.errors.add("bad_status", 0, "HTTP/1.1 200 \x1b[2J\r\nnext");
        let text = lines(Scenario::Broadcast, &step, &Style::PLAIN);
        assert!(text.contains("bad_status 1, 0.0s to 0.0s: HTTP/1.1 200 ·[2J··next\n"), "{text}");
    }

    #[test]
    fn colours_only_change_colours() {
        let ansi =
            lines(Scenario::Broadcast, &sample::troubled_step(), &Style { ansi: true, ..Style::PLAIN });
        let mut plain = String::new();
        for (i, part) in ansi.split('\x1b').enumerate() {
            plain += if i == 0 { part } else { part.split_once('m').unwrap().1 };
        }
        assert_ne!(ansi, plain);
        let trimmed: Vec<_> = plain.lines().map(str::trim_end).collect();
        assert_eq!(
            trimmed.join("\n") + "\n",
            lines(Scenario::Broadcast, &sample::troubled_step(), &Style::PLAIN)
        );
    }
}
