//! The steps of a run as a table of text, for every format that has tables.

use results::format::{bytes, cores, count, rate, statuses};
use results::{RoleFigures, Run, SayFigures, ServerUse, Step};

use stats::{Counts, Timed};

use crate::reading;

/// Names of the columns and a row of cells for each step, as plain text.
pub(crate) struct StepTable {
    /// One for each column.
    pub(crate) names: Vec<String>,
    /// One for each step; a figure that does not apply is an empty cell.
    pub(crate) rows: Vec<Vec<String>>,
}

/// The steps of a run in three parts, for a table whose rows are figures: what stands before the latencies, a
/// row for each timed figure with its name and [`STATISTICS`], and what stands behind.
pub(crate) struct StepSheet {
    /// The load.
    pub(crate) load: StepTable,
    /// One for each step.
    pub(crate) latencies: Vec<Vec<[String; 1 + STATISTICS.len()]>>,
    /// The outcome.
    pub(crate) outcome: StepTable,
}

/// Names of what is shown of a timed figure, with the quantiles.
pub(crate) const STATISTICS: [(&str, f64); 4] = [("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("max", 1.0)];
const LOAD: [&str; 2] = ["clients", "asked"];
const OUTCOME: [&str; 8] =
    ["rate", "received", "missing", "errors", "statuses", "server CPU", "server RSS", "bottleneck"];

/// The steps of a run, without the columns that no step has anything for.
pub(crate) fn step_table(run: &Run) -> StepTable {
    let figures = shown(run);
    let timed = figures
        .iter()
        .flat_map(|timed| STATISTICS.map(|(statistic, _)| format!("{} {statistic}", timed.words())));
    let names = LOAD.map(String::from).into_iter().chain(timed).chain(OUTCOME.map(String::from)).collect();
    let row = |step: &Step| {
        let timed = figures.iter().flat_map(|&timed| statistics(step, timed));
        load_cells(step).into_iter().chain(timed).chain(outcome_cells(step)).collect()
    };
    StepTable::new(names, run.steps.iter().map(row).collect())
}

/// Lays out the same in parts.
pub(crate) fn step_sheet(run: &Run) -> StepSheet {
    let figures = shown(run);
    let part = |names: &[&str], cells: fn(&Step) -> Vec<String>| {
        StepTable::new(names.iter().map(ToString::to_string).collect(), run.steps.iter().map(cells).collect())
    };
    let latency = |step: &Step, timed: Timed| {
        let [p50, p95, p99, max] = statistics(step, timed);
        [timed.words().to_owned(), p50, p95, p99, max]
    };
    let latencies = |step: &Step| figures.iter().map(|&timed| latency(step, timed)).collect();
    StepSheet {
        load: part(&LOAD, load_cells),
        latencies: run.steps.iter().map(latencies).collect(),
        outcome: part(&OUTCOME, outcome_cells),
    }
}

fn statistics(step: &Step, timed: Timed) -> [String; STATISTICS.len()] {
    STATISTICS.map(|(_, q)| reading::marked_quantile(step, timed, q))
}

/// The deliveries of a run by the size of the message's room, where rooms of several sizes had any.
pub(crate) fn room_table(run: &Run) -> Option<StepTable> {
    let steps = || run.steps.iter().filter(|step| sizes_of_rooms(step).count() > 1);
    let names = ["clients", "rooms", "deliveries", "p50", "p95", "p99", "max"].map(String::from).to_vec();
    let row = |step: &Step, timed: Timed| {
        let rooms = timed.facts().rooms.expect("it is of rooms").trim_start_matches("rooms ");
        let counted = count(step.figures.get(timed).count());
        [&[count(step.clients), rooms.to_owned(), counted], &statistics(step, timed)[..]].concat()
    };
    let rows: Vec<_> =
        steps().flat_map(|step| sizes_of_rooms(step).map(move |timed| row(step, timed))).collect();
    (!rows.is_empty()).then_some(StepTable { names, rows })
}

/// Figures of a run by kind of messages, where it has several.
pub(crate) fn say_table(run: &Run) -> Option<StepTable> {
    let names = [
        "clients",
        "messages",
        "room",
        "sent",
        "received",
        "due",
        "missing",
        "leaked",
        "round trip p50",
        "round trip p99",
        "delivery p50",
        "delivery p99",
        "max",
    ];
    let row = |step: &Step, say: &SayFigures| {
        let Counts { sent, received, expected, missing, leaked, .. } = say.counts;
        let cell = |timed, figure, q| reading::quantile_of_part(step, timed, figure, q);
        let mut cells = vec![count(step.clients), say.name.clone(), say.room.clone()];
        cells.extend([sent, received, expected, missing, leaked].map(count));
        cells.extend([0.5, 0.99].map(|q| cell(Timed::Rtt, &say.rtt, q)));
        cells.extend([0.5, 0.99, 1.0].map(|q| cell(Timed::Delivery, &say.delivery, q)));
        cells
    };
    let rows: Vec<_> =
        run.steps.iter().flat_map(|step| step.says.iter().map(move |say| row(step, say))).collect();
    (!rows.is_empty()).then(|| StepTable::new(names.map(String::from).to_vec(), rows))
}

/// Figures of a run by role, where it has roles.
pub(crate) fn role_table(run: &Run) -> Option<StepTable> {
    let names = [
        "clients",
        "role",
        "users",
        "not connected",
        "lost",
        "sent",
        "received",
        "due",
        "missing",
        "leaked",
        "handshake p99",
        "round trip p50",
        "round trip p99",
        "delivery p50",
        "delivery p99",
        "max",
    ];
    let row = |step: &Step, role: &RoleFigures| {
        let Counts { connect_timeouts, connect_failures, disconnects, .. } = role.counts;
        let Counts { sent, received, expected, missing, leaked, .. } = role.counts;
        let cell = |timed, figure, q| reading::quantile_of_part(step, timed, figure, q);
        let mut cells = vec![count(step.clients), role.name.clone(), count(role.people)];
        cells.extend([connect_timeouts + connect_failures, disconnects].map(count));
        cells.extend([sent, received, expected, missing, leaked].map(count));
        cells.push(cell(Timed::Handshake, &role.handshake, 0.99));
        cells.extend([0.5, 0.99].map(|q| cell(Timed::Rtt, &role.rtt, q)));
        cells.extend([0.5, 0.99, 1.0].map(|q| cell(Timed::Delivery, &role.delivery, q)));
        cells
    };
    let rows: Vec<_> =
        run.steps.iter().flat_map(|step| step.roles.iter().map(move |role| row(step, role))).collect();
    (!rows.is_empty()).then(|| StepTable::new(names.map(String::from).to_vec(), rows))
}

/// The sizes of rooms in which anything was delivered.
pub(crate) fn sizes_of_rooms(step: &Step) -> impl Iterator<Item = Timed> {
    Timed::BY_ROOM_SIZE.into_iter().filter(|timed| !step.figures.get(*timed).is_empty())
}

impl StepTable {
    /// Without the columns that are empty from top to bottom.
    pub(crate) fn new(mut names: Vec<String>, mut rows: Vec<Vec<String>>) -> Self {
        let is_used = |column: usize| rows.is_empty() || rows.iter().any(|row| !row[column].is_empty());
        let used: Vec<bool> = (0..names.len()).map(is_used).collect();
        for cells in rows.iter_mut().chain([&mut names]) {
            let mut used = used.iter();
            cells.retain(|_| *used.next().expect("a row has a cell for each column"));
        }
        StepTable { names, rows }
    }
}

/// The timed figures that any step has, of those that belong in the table.
fn shown(run: &Run) -> Vec<Timed> {
    let any = |timed: &Timed| run.steps.iter().any(|step| !step.figures.get(*timed).is_empty());
    let exchanged = [
        Timed::First,
        Timed::FirstToken,
        Timed::Gap,
        Timed::Rtt,
        Timed::Delivery,
        Timed::Completion,
        Timed::Recovery,
        Timed::Replay,
        Timed::Join,
        Timed::Leave,
        Timed::Presence,
        Timed::PushGap,
        Timed::PushAge,
    ];
    let exchanged: Vec<_> = exchanged.into_iter().filter(any).collect();
    // Where nothing was sent, connecting is what was measured.
    if exchanged.is_empty() { vec![Timed::Handshake] } else { exchanged }
}

fn load_cells(step: &Step) -> Vec<String> {
    vec![count(step.clients), step.rates.asked_per_s.map(|per_s| rate(per_s, "")).unwrap_or_default()]
}

fn outcome_cells(step: &Step) -> Vec<String> {
    let counted = |value| if step.counts.has_messages() { count(value) } else { String::new() };
    let server = step.server.as_ref();
    vec![
        step.rates.achieved_per_s.map(|per_s| rate(per_s, "")).unwrap_or_default(),
        counted(step.counts.received),
        counted(step.counts.missing),
        count(step.errors.total()),
        statuses(&step.statuses),
        server.and_then(server_cpu).unwrap_or_default(),
        server.and_then(|s| s.rss_bytes_peak).map(|rss| bytes(rss as f64)).unwrap_or_default(),
        step.bottleneck.as_ref().map(|finding| finding.bottleneck.to_string()).unwrap_or_default(),
    ]
}

/// CPU of the server, of all cores that it may use: `62%` of one, `31% of 2 cores`.
pub(crate) fn server_cpu(server: &ServerUse) -> Option<String> {
    let (percent, all) = (server.cpu_percent_of_cores()?, server.cores_or_one());
    let of = if all == 1.0 { String::new() } else { format!(" of {}", cores(all)) };
    Some(format!("{percent:.0}%{of}"))
}

#[cfg(test)]
mod tests {
    use results::Scenario;

    use super::*;
    use crate::sample;

    #[test]
    fn server_cpu_names_several_cores() {
        let said = |cores| {
            server_cpu(&ServerUse { cpu_percent_mean: Some(62.4), cores, ..ServerUse::default() }).unwrap()
        };
        assert_eq!(
            [None, Some(1.0), Some(2.0), Some(0.5)].map(said),
            ["62%", "62%", "31% of 2 cores", "125% of 0.5 cores"]
        );
    }

    #[test]
    fn tables_say_round_trip() {
        let steps = vec![sample::step_of_kinds(), sample::step_of_roles()];
        let run = Run { scenario: Scenario::Broadcast, steps, ..Run::default() };
        let tables = [Some(step_table(&run)), say_table(&run), role_table(&run)];
        for StepTable { names, .. } in tables.into_iter().map(|table| table.expect("the run has its rows")) {
            assert!(names.iter().any(|name| name == "round trip p50"), "{names:?}");
            assert!(
                names.iter().flat_map(|name| name.split(' ')).all(|word| word != "rtt" && word != "people")
            );
        }
    }
}
