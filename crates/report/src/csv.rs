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
        assert_snapshot!(text.lines().next().unwrap(), @"id,target,scenario,dialect,clients,agents,duration_s,asked_per_s,achieved_per_s,sent_per_s,received_per_s,received_bytes_per_s,connects_per_s,events_per_s,tokens_per_s,handshake_count,handshake_mean_ms,handshake_sd_ms,handshake_min_ms,handshake_p50_ms,handshake_p90_ms,handshake_p95_ms,handshake_p99_ms,handshake_p999_ms,handshake_p9999_ms,handshake_max_ms,handshake_at_least,tcp_count,tcp_mean_ms,tcp_sd_ms,tcp_min_ms,tcp_p50_ms,tcp_p90_ms,tcp_p95_ms,tcp_p99_ms,tcp_p999_ms,tcp_p9999_ms,tcp_max_ms,tcp_at_least,tls_count,tls_mean_ms,tls_sd_ms,tls_min_ms,tls_p50_ms,tls_p90_ms,tls_p95_ms,tls_p99_ms,tls_p999_ms,tls_p9999_ms,tls_max_ms,tls_at_least,login_count,login_mean_ms,login_sd_ms,login_min_ms,login_p50_ms,login_p90_ms,login_p95_ms,login_p99_ms,login_p999_ms,login_p9999_ms,login_max_ms,login_at_least,upgrade_count,upgrade_mean_ms,upgrade_sd_ms,upgrade_min_ms,upgrade_p50_ms,upgrade_p90_ms,upgrade_p95_ms,upgrade_p99_ms,upgrade_p999_ms,upgrade_p9999_ms,upgrade_max_ms,upgrade_at_least,ready_count,ready_mean_ms,ready_sd_ms,ready_min_ms,ready_p50_ms,ready_p90_ms,ready_p95_ms,ready_p99_ms,ready_p999_ms,ready_p9999_ms,ready_max_ms,ready_at_least,rtt_count,rtt_mean_ms,rtt_sd_ms,rtt_min_ms,rtt_p50_ms,rtt_p90_ms,rtt_p95_ms,rtt_p99_ms,rtt_p999_ms,rtt_p9999_ms,rtt_max_ms,rtt_at_least,service_count,service_mean_ms,service_sd_ms,service_min_ms,service_p50_ms,service_p90_ms,service_p95_ms,service_p99_ms,service_p999_ms,service_p9999_ms,service_max_ms,service_at_least,delivery_count,delivery_mean_ms,delivery_sd_ms,delivery_min_ms,delivery_p50_ms,delivery_p90_ms,delivery_p95_ms,delivery_p99_ms,delivery_p999_ms,delivery_p9999_ms,delivery_max_ms,delivery_at_least,completion_count,completion_mean_ms,completion_sd_ms,completion_min_ms,completion_p50_ms,completion_p90_ms,completion_p95_ms,completion_p99_ms,completion_p999_ms,completion_p9999_ms,completion_max_ms,completion_at_least,replay_count,replay_mean_ms,replay_sd_ms,replay_min_ms,replay_p50_ms,replay_p90_ms,replay_p95_ms,replay_p99_ms,replay_p999_ms,replay_p9999_ms,replay_max_ms,replay_at_least,join_count,join_mean_ms,join_sd_ms,join_min_ms,join_p50_ms,join_p90_ms,join_p95_ms,join_p99_ms,join_p999_ms,join_p9999_ms,join_max_ms,join_at_least,leave_count,leave_mean_ms,leave_sd_ms,leave_min_ms,leave_p50_ms,leave_p90_ms,leave_p95_ms,leave_p99_ms,leave_p999_ms,leave_p9999_ms,leave_max_ms,leave_at_least,presence_count,presence_mean_ms,presence_sd_ms,presence_min_ms,presence_p50_ms,presence_p90_ms,presence_p95_ms,presence_p99_ms,presence_p999_ms,presence_p9999_ms,presence_max_ms,presence_at_least,send_lag_count,send_lag_mean_ms,send_lag_sd_ms,send_lag_min_ms,send_lag_p50_ms,send_lag_p90_ms,send_lag_p95_ms,send_lag_p99_ms,send_lag_p999_ms,send_lag_p9999_ms,send_lag_max_ms,send_lag_at_least,first_count,first_mean_ms,first_sd_ms,first_min_ms,first_p50_ms,first_p90_ms,first_p95_ms,first_p99_ms,first_p999_ms,first_p9999_ms,first_max_ms,first_at_least,first_token_count,first_token_mean_ms,first_token_sd_ms,first_token_min_ms,first_token_p50_ms,first_token_p90_ms,first_token_p95_ms,first_token_p99_ms,first_token_p999_ms,first_token_p9999_ms,first_token_max_ms,first_token_at_least,gap_count,gap_mean_ms,gap_sd_ms,gap_min_ms,gap_p50_ms,gap_p90_ms,gap_p95_ms,gap_p99_ms,gap_p999_ms,gap_p9999_ms,gap_max_ms,gap_at_least,push_gap_count,push_gap_mean_ms,push_gap_sd_ms,push_gap_min_ms,push_gap_p50_ms,push_gap_p90_ms,push_gap_p95_ms,push_gap_p99_ms,push_gap_p999_ms,push_gap_p9999_ms,push_gap_max_ms,push_gap_at_least,push_age_count,push_age_mean_ms,push_age_sd_ms,push_age_min_ms,push_age_p50_ms,push_age_p90_ms,push_age_p95_ms,push_age_p99_ms,push_age_p999_ms,push_age_p9999_ms,push_age_max_ms,push_age_at_least,push_ahead_count,push_ahead_mean_ms,push_ahead_sd_ms,push_ahead_min_ms,push_ahead_p50_ms,push_ahead_p90_ms,push_ahead_p95_ms,push_ahead_p99_ms,push_ahead_p999_ms,push_ahead_p9999_ms,push_ahead_max_ms,push_ahead_at_least,silence_count,silence_mean_ms,silence_sd_ms,silence_min_ms,silence_p50_ms,silence_p90_ms,silence_p95_ms,silence_p99_ms,silence_p999_ms,silence_p9999_ms,silence_max_ms,silence_at_least,recovery_count,recovery_mean_ms,recovery_sd_ms,recovery_min_ms,recovery_p50_ms,recovery_p90_ms,recovery_p95_ms,recovery_p99_ms,recovery_p999_ms,recovery_p9999_ms,recovery_max_ms,recovery_at_least,sent,expected,received,missing,in_flight,late,duplicate,in_passing,batched,reordered,unexpected,leaked,offline_due,recovered,lost_offline,unacknowledged,corrupt,waited,nobody_to_send,pushed,push_skipped,push_repeated,push_compared,push_differing,events,tokens,stalls,stalls_here,broken_off,unended,unmarked,after_end,misordered,connects,connected,connect_timeouts,connect_failures,connecting,disconnects,left,cut,visits,join_failures,seen_due,seen,unseen,not_back,tls_resumed,slow,slow_received,errors,statuses,server_cpu_percent_mean,server_rss_bytes_peak,generator_cpu_percent_mean,generator_rss_bytes_peak,bottleneck,broken_limits,marks");
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
