//! One row per step, RFC 4180; a figure that does not apply is an empty cell.

use std::collections::BTreeSet;

use ::csv::{Terminator, WriterBuilder};
use results::finding;
use results::{Rate, RoleFigures, Run, SayFigures, Step};
use stats::{Count, CountOf, Histogram, Timed};

use crate::reading;

/// The statistics of each timed figure, in ms.
/// Each with the quantile that makes it a lower bound where what never came decides that.
const STATISTICS: [(&str, Option<f64>); 11] = [
    ("count", None),
    ("mean_ms", Some(1.0)),
    ("sd_ms", Some(1.0)),
    ("min_ms", Some(0.0)),
    ("p50_ms", Some(0.5)),
    ("p90_ms", Some(0.9)),
    ("p95_ms", Some(0.95)),
    ("p99_ms", Some(0.99)),
    ("p999_ms", Some(0.999)),
    ("p9999_ms", Some(0.9999)),
    ("max_ms", Some(1.0)),
];

/// The runs' steps as comma-separated values, with one header: what one of them has is a column of all.
pub fn csv(runs: &[Run]) -> String {
    // From the same function as the rows, so that a column cannot stand under another's name.
    let present = Present::of(runs);
    let columns = |run: &Run, step: &Step| columns(&present, run, step).into_iter();
    let header = columns(&Run::default(), &Step::default()).map(|(name, _)| name).collect();
    let steps = runs.iter().flat_map(|run| run.steps.iter().map(move |step| (run, step)));
    let rows = steps.map(|(run, step)| columns(run, step).map(|(_, cell)| cell).collect());
    text([header].into_iter().chain(rows))
}

/// Rows of cells, quoted where they must be.
pub(crate) fn text(rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut writer = WriterBuilder::new().terminator(Terminator::CRLF).from_writer(Vec::new());
    for row in rows {
        writer.write_record(&row).expect("memory takes rows of one length");
    }
    let bytes = writer.into_inner().expect("memory takes all that was written");
    String::from_utf8(bytes).expect("made of strings")
}

type Column = (String, String);

/// Parts that are columns because one of the runs has them. A table has one header: the cells of the other
/// runs are empty.
struct Present<'a> {
    /// Sizes of rooms, of which there are many.
    rooms: Vec<Timed>,
    says: BTreeSet<&'a str>,
    roles: BTreeSet<&'a str>,
}

impl<'a> Present<'a> {
    fn of(runs: &'a [Run]) -> Self {
        let steps = || runs.iter().flat_map(|run| &run.steps);
        let is_there = |figure: &Timed| steps().any(|step| !step.figures.get(*figure).is_empty());
        let rooms = Timed::ALL.into_iter().filter(|figure| figure.facts().rooms.is_some());
        Present {
            rooms: rooms.filter(is_there).collect(),
            says: steps().flat_map(|step| &step.says).map(|say| say.name.as_str()).collect(),
            roles: steps().flat_map(|step| &step.roles).map(|role| role.name.as_str()).collect(),
        }
    }

    fn has(&self, figure: Timed) -> bool {
        figure.facts().rooms.is_none() || self.rooms.contains(&figure)
    }
}

/// Every column with its cell, in order: the header is that of an empty step.
fn columns(present: &Present<'_>, run: &Run, step: &Step) -> Vec<Column> {
    let mut columns = whole_run(run);
    columns.extend(load(step));
    let figures = step.figures.iter().filter(|(figure, _)| present.has(*figure));
    columns.extend(figures.flat_map(|(figure, histogram)| {
        let columns = timed(figure, Some(histogram).filter(|_| step.is_latency(figure)));
        columns.into_iter().chain([column(&format!("{figure}_at_least"), bounds(step, figure))])
    }));
    columns.extend(counts(step));
    columns.extend(says(present, step));
    columns.extend(roles(present, step));
    columns.extend(resources(step));
    columns
}

/// Each kind of messages that a run has: what was due, what came of it, and how long that took.
fn says(present: &Present<'_>, step: &Step) -> Vec<Column> {
    let nothing = SayFigures::default();
    let of_one = |name: &str| {
        let found = step.says.iter().find(|say| say.name == name);
        let messages = Count::ALL.into_iter().filter(|count| count.facts().of == CountOf::Messages);
        let counts = messages.map(|count| (count.name(), found.map(|say| *say.counts.get(count))));
        let say = found.unwrap_or(&nothing);
        let figures = [(Timed::Rtt, &say.rtt), (Timed::Delivery, &say.delivery)];
        part(step, &format!("say_{name}"), counts, figures)
    };
    present.says.iter().copied().flat_map(of_one).collect()
}

/// Each role that a run has: its people, what they sent and were due, and how long that took.
fn roles(present: &Present<'_>, step: &Step) -> Vec<Column> {
    let nothing = RoleFigures::default();
    let of_one = |name: &str| {
        let found = step.roles.iter().find(|role| role.name == name);
        let people = [("people", found.map(|role| role.people))].into_iter();
        let usual = Count::ALL.into_iter().filter(|count| !count.facts().is_rare);
        let counts = usual.map(|count| (count.name(), found.map(|role| *role.counts.get(count))));
        let role = found.unwrap_or(&nothing);
        let figures =
            [(Timed::Handshake, &role.handshake), (Timed::Rtt, &role.rtt), (Timed::Delivery, &role.delivery)];
        part(step, &format!("role_{name}"), people.chain(counts), figures)
    };
    present.roles.iter().copied().flat_map(of_one).collect()
}

/// A part of what a run has: these counts, whose cells are empty in a step without it, and these figures.
fn part<'a>(
    step: &Step,
    of: &str,
    counts: impl Iterator<Item = (&'static str, Option<u64>)>,
    figures: impl IntoIterator<Item = (Timed, &'a Histogram)>,
) -> Vec<Column> {
    let counts = counts.map(|(count, n)| optional(count, n));
    let figures = figures.into_iter().flat_map(|(figure, histogram)| {
        let is_open = |q| reading::is_open_of_part(step, figure, histogram, q);
        let is_latency = step.is_latency(figure);
        let columns = timed(figure, Some(histogram).filter(|_| is_latency));
        let bounds = if is_latency { statistics(is_open) } else { String::new() };
        columns.into_iter().chain([column(&format!("{figure}_at_least"), bounds)])
    });
    counts.chain(figures).map(|(column, cell)| (format!("{of}_{column}"), cell)).collect()
}

fn column(name: &str, cell: impl ToString) -> Column {
    (name.into(), cell.to_string())
}

fn optional(name: &str, cell: Option<impl ToString>) -> Column {
    (name.into(), cell.map(|cell| cell.to_string()).unwrap_or_default())
}

/// Three decimals are all a rate or a percentage has to say.
fn number(name: &str, cell: Option<f64>) -> Column {
    optional(name, cell.map(|value| (value * 1e3).round() / 1e3))
}

fn whole_run(run: &Run) -> Vec<Column> {
    vec![
        column("id", &run.id),
        column("target", run.target.name.as_ref().unwrap_or(&run.target.url)),
        column("scenario", run.scenario),
        column("dialect", &run.dialect),
    ]
}

fn load(step: &Step) -> Vec<Column> {
    let load = [
        column("clients", step.clients),
        column("agents", step.agents),
        column("duration_s", step.duration_ns as f64 / 1e9),
    ];
    let rates = Rate::ALL.map(|rate| number(rate.key(), step.rates.get(rate)));
    load.into_iter().chain(rates).collect()
}

/// A figure's statistics, which are empty where it is not known.
fn timed(figure: Timed, histogram: Option<&Histogram>) -> Vec<Column> {
    let summary = histogram.and_then(Histogram::summary);
    let ms = |ns: u64| (ns as f64 / 1e6).to_string();
    let cells = summary.map(|s| {
        let (mean, sd) = (ms(s.mean_ns.round() as u64), ms(s.sd_ns.round() as u64));
        let quantiles = [s.p50_ns, s.p90_ns, s.p95_ns, s.p99_ns, s.p999_ns, s.p9999_ns].map(ms);
        [&[s.count.to_string(), mean, sd, ms(s.min_ns)], &quantiles[..], &[ms(s.max_ns)]].concat()
    });
    let cells = cells.unwrap_or_else(|| vec![String::new(); STATISTICS.len()]);
    STATISTICS
        .iter()
        .zip(cells)
        .map(|((statistic, _), cell)| (format!("{figure}_{statistic}"), cell))
        .collect()
}

/// The statistics of a figure that are lower bounds, because what never came decides them.
fn bounds(step: &Step, figure: Timed) -> String {
    if !step.is_latency(figure) {
        return String::new();
    }
    statistics(|q| step.is_open(figure, q))
}

/// The statistics for whose quantile `holds` is true.
fn statistics(holds: impl Fn(f64) -> bool) -> String {
    let found = STATISTICS.iter().filter(|(_, q)| q.is_some_and(&holds)).map(|(name, _)| *name);
    found.collect::<Vec<_>>().join(" ")
}

fn counts(step: &Step) -> Vec<Column> {
    let is_said = |count: Count| match count.facts().of {
        CountOf::Connections => true,
        CountOf::Pushes if step.counts.pushed > 0 => true,
        CountOf::Pushes | CountOf::Messages | CountOf::Streams => step.counts.has_messages(),
    };
    let counts = step.counts.iter().map(|(count, &n)| optional(count.name(), is_said(count).then_some(n)));
    let statuses: Vec<_> = step.statuses.iter().map(|(status, n)| format!("{status}:{n}")).collect();
    let statuses = column("statuses", statuses.join(" "));
    counts.chain([column("errors", step.errors.total()), statuses]).collect()
}

fn resources(step: &Step) -> Vec<Column> {
    let (server, generator) = (step.server.as_ref(), step.generator.as_ref());
    let broken: Vec<_> = step.broken().map(|limit| limit.of.to_string()).collect();
    vec![
        number("server_cpu_percent_mean", server.and_then(|server| server.cpu_percent_mean)),
        optional("server_rss_bytes_peak", server.and_then(|server| server.rss_bytes_peak)),
        number("generator_cpu_percent_mean", generator.and_then(|generator| generator.cpu_percent_mean)),
        optional("generator_rss_bytes_peak", generator.and_then(|generator| generator.rss_bytes_peak)),
        optional("bottleneck", step.bottleneck.as_ref().map(|finding| finding.bottleneck)),
        column("broken_limits", broken.join("; ")),
        column("marks", finding::join(&step.caveats, "; ")),
    ]
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;
    use crate::sample;

    #[test]
    fn every_row_has_every_column() {
        let text = csv(&[sample::echo_run()]);
        let widths: Vec<_> = text.lines().map(|line| line.split(',').count()).collect();
        assert_eq!(widths, [widths[0]; 2]);
        let header: Vec<&str> = text.lines().next().unwrap().split(',').collect();
        // The names of metrics and their order are their tables', which a new one is added to.
        let counts: Vec<&str> = header.iter().copied().filter(|name| Count::named(name).is_some()).collect();
        assert_eq!(counts, Count::ALL.map(Count::name));
        let is_of = |name: &str, timed: Timed| name.starts_with(&format!("{timed}_"));
        let handshake: Vec<&str> =
            header.iter().copied().filter(|name| is_of(name, Timed::Handshake)).collect();
        assert_snapshot!(handshake.join(","), @"handshake_count,handshake_mean_ms,handshake_sd_ms,handshake_min_ms,handshake_p50_ms,handshake_p90_ms,handshake_p95_ms,handshake_p99_ms,handshake_p999_ms,handshake_p9999_ms,handshake_max_ms,handshake_at_least");
        let is_other = |name: &&str| {
            Count::named(name).is_none() && !Timed::ALL.into_iter().any(|timed| is_of(name, timed))
        };
        let others: Vec<&str> = header.into_iter().filter(is_other).collect();
        assert_snapshot!(others.join(","), @"id,target,scenario,dialect,clients,agents,duration_s,asked_per_s,achieved_per_s,sent_per_s,sent_bytes_per_s,received_per_s,received_bytes_per_s,connects_per_s,events_per_s,tokens_per_s,errors,statuses,server_cpu_percent_mean,server_rss_bytes_peak,generator_cpu_percent_mean,generator_rss_bytes_peak,bottleneck,broken_limits,marks");
    }

    #[test]
    fn present_room_sizes_are_columns() {
        let mut run = sample::broadcast_run();
        assert!(!csv(std::slice::from_ref(&run)).contains("delivery_2_10"));
        run.steps[0] = sample::step_in_rooms();
        let text = csv(std::slice::from_ref(&run));
        assert!(
            text.contains(",delivery_2_10_max_ms,delivery_2_10_at_least,delivery_101_1000_count,"),
            "{text}"
        );
        assert!(text.contains(",20,,60000,"), "{text}");
    }

    #[test]
    fn unanswered_messages_are_no_latency() {
        let mut run = sample::echo_run();
        let cells = |run: &Run| {
            let text = csv(std::slice::from_ref(run));
            let mut rows = text.lines().map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>());
            let (header, cells) = (rows.next().unwrap(), rows.next().unwrap());
            let of = |name: &str| cells[header.iter().position(|column| column == name).unwrap()].clone();
            (of("rtt_p50_ms"), of("rtt_at_least"))
        };
        let figures = &mut run.steps[0].figures;
        let answered = figures.rtt.count();
        figures.service = figures.rtt.clone();
        figures.rtt.record_n_ns(10_000_000_000, answered / 9);
        assert_eq!(cells(&run).1, "mean_ms sd_ms p95_ms p99_ms p999_ms p9999_ms max_ms");
        run.steps[0].figures.service.clear();
        assert_eq!(cells(&run), (String::new(), String::new()), "nothing was answered");
    }

    #[test]
    fn unanswered_messages_are_bounds_of_kinds() {
        let mut run = sample::broadcast_run();
        run.steps[0] = sample::step_of_kinds();
        let cell = |run: &Run, name: &str| {
            let text = csv(std::slice::from_ref(run));
            let mut rows = text.lines().map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>());
            let (header, cells) = (rows.next().unwrap(), rows.next().unwrap());
            cells[header.iter().position(|column| column == name).unwrap()].clone()
        };
        let figures = &mut run.steps[0].figures;
        figures.service = figures.rtt.clone();
        assert_eq!(cell(&run, "say_own_rtt_at_least"), "");
        run.steps[0].figures.rtt.record_n_ns(10_000_000_000, 10);
        assert_eq!(cell(&run, "say_own_rtt_at_least"), "mean_ms sd_ms p99_ms p999_ms p9999_ms max_ms");
        assert_eq!(cell(&run, "say_own_delivery_at_least"), "");
        run.steps[0].figures.service.clear();
        let cells = ["say_own_rtt_p50_ms", "say_own_rtt_at_least"].map(|name| cell(&run, name));
        assert_eq!(cells, ["", ""], "nothing was answered");
    }

    #[test]
    fn present_kinds_are_columns() {
        let mut run = sample::broadcast_run();
        assert!(!csv(std::slice::from_ref(&run)).contains("say_"));
        run.steps[0] = sample::step_of_kinds();
        let text = csv(std::slice::from_ref(&run));
        assert!(text.contains(",say_group_sent,say_group_expected,say_group_received,"), "{text}");
        assert!(text.contains(",say_own_delivery_p99_ms,"), "{text}");
        let widths: Vec<_> = text.lines().map(|line| line.split(',').count()).collect();
        assert!(widths.iter().all(|width| *width == widths[0]), "{widths:?}");
    }

    #[test]
    fn fields_of_one_run_are_empty_in_others() {
        let (plain, mut of_kinds) = (sample::broadcast_run(), sample::broadcast_run());
        of_kinds.steps[0] = sample::step_of_kinds();
        let text = csv(&[plain, of_kinds]);
        let (header, rows) = text.split_once("\r\n").unwrap();
        let at = header.split(',').position(|name| name == "say_group_sent").unwrap();
        let cells: Vec<_> = rows.lines().map(|row| row.split(',').nth(at).unwrap()).collect();
        assert!(cells[0].is_empty() && cells.iter().any(|cell| !cell.is_empty()), "{cells:?}");
        assert!(text.lines().all(|line| line.split(',').count() == header.split(',').count()), "{text}");
    }

    #[test]
    fn cells_with_commas_and_quotes_are_quoted() {
        let mut run = sample::echo_run();
        run.target.name = Some("a \"b\", c".into());
        assert!(csv(std::slice::from_ref(&run)).contains(",\"a \"\"b\"\", c\",echo,"));
    }

    #[test]
    fn a_run_without_steps_is_a_header() {
        assert_eq!(csv(&[Run::default()]).lines().count(), 1);
    }
}
