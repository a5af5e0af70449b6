//! The list of runs: a row of what is asked for most, without reading results.

use results::Scenario;
use results::conclusion::Status;
use rusqlite::{Connection, Row, named_params, params};
use stats::Timed;

use crate::rows::LISTED;

/// A run at a glance. Its clients and percentiles are of the step that stands for it: the heaviest that kept
/// its limits, or the last.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Entry {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: Option<String>,
    /// The remark on it.
    pub note: Option<String>,
    /// When it started, by the wall clock: nanoseconds since 1970 UTC.
    pub started_unix_ns: u64,
    /// The scenario's name, as it is kept: that of a newer throng may be of no [`Scenario`].
    pub scenario: String,
    /// The application protocol.
    pub dialect: String,
    /// The server: its name, or its URL.
    pub target: String,
    /// The command line, with spaces between its words.
    pub command: String,
    /// How many steps were measured.
    pub steps: u64,
    /// The clients that were asked for.
    pub clients: u64,
    /// The figure of the percentiles: the scenario's main one or, where nobody is answered, the deliveries;
    /// `None`: nothing came.
    pub figure: Option<Timed>,
    /// Its median, in ns.
    pub p50_ns: Option<u64>,
    /// Its 95th percentile, in ns.
    pub p95_ns: Option<u64>,
    /// The 95% interval of that, if the step was long enough for one.
    pub p95_interval_ns: Option<[u64; 2]>,
    /// Its 99th percentile, in ns.
    pub p99_ns: Option<u64>,
    /// True for each of the three percentiles that is a lower bound: messages that were never answered decide
    /// it.
    pub at_least: [bool; 3],
    /// Deliveries of that step that never came.
    pub missing: u64,
    /// Errors of all kinds in that step.
    pub errors: u64,
    /// The run's bottleneck: that of the lightest step that broke a limit, if one did.
    pub bottleneck: Option<String>,
    /// How many clients the server holds, when that was searched for.
    pub capacity: Option<u64>,
    /// The status of its RESULT; `None` if that is one of a newer throng.
    pub outcome: Option<Status>,
    /// How many limits were broken.
    pub broken_limits: u64,
    /// True if it has no caveat.
    pub trusted: bool,
    /// True if it has not come to its end: it was cut short, or is still under way.
    pub unfinished: bool,
    /// Its tags, sorted.
    pub tags: Vec<String>,
}

/// The runs to list: those that match everything that is given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// The name that they have.
    pub name: Option<String>,
    /// A tag that they have.
    pub tag: Option<String>,
    /// Runs of this scenario.
    pub scenario: Option<Scenario>,
    /// A text in the name, the note, the target, the command, the dialect or the id.
    pub text: Option<String>,
    /// At most this many, the newest.
    pub limit: Option<u64>,
}

const LIST: &str = "
    SELECT id, started_ns, scenario, dialect, target, command, runs.bottleneck, capacity, broken_limits, trusted,
        unfinished, name, note, outcome, p95_low_ns, p95_high_ns, shown_figure, shown_at_least, shown.step AS shown_step, shown.clients,
        shown.missing, shown.errors, (SELECT count(*) FROM steps WHERE run = id) AS steps,
        (SELECT group_concat(tag, char(10)) FROM (SELECT tag FROM tags WHERE run = id ORDER BY tag)) AS tags
    FROM runs LEFT JOIN steps AS shown
        ON shown.run = id AND shown.step = runs.shown_step
    WHERE (:tag IS NULL OR id IN (SELECT run FROM tags WHERE tag = :tag))
        AND (:name IS NULL OR name = :name)
        AND (:scenario IS NULL OR scenario = :scenario)
        AND (:text IS NULL OR instr(lower(concat_ws(char(10), id, name, note, target, url, command, dialect)), lower(:text)))
    ORDER BY started_ns DESC, id DESC
    LIMIT :limit";

const PERCENTILES: &str = "
    SELECT p50_ns, p95_ns, p99_ns FROM histograms WHERE run = ? AND step = ? AND figure = ?";

pub(crate) fn list(connection: &Connection, query: &Query) -> rusqlite::Result<Vec<Entry>> {
    // SQLite takes a negative limit as none.
    let limit = query.limit.map_or(-1, |limit| i64::try_from(limit).unwrap_or(i64::MAX));
    let mut statement = connection.prepare_cached(LIST)?;
    let rows = statement.query_map(
        named_params! {":name": query.name, ":tag": query.tag, ":scenario": query.scenario.map(Scenario::name), ":text": query.text, ":limit": limit},
        |row| Ok((entry(row)?, row.get::<_, Option<i64>>("shown_step")?)),
    )?;
    let entries = rows.collect::<rusqlite::Result<Vec<_>>>()?;
    let mut percentiles = connection.prepare_cached(PERCENTILES)?;
    // One by one: each has a figure of its own.
    let with_percentiles = |(mut entry, step): (Entry, Option<i64>)| {
        let Some(figure) = entry.figure else { return Ok(entry) };
        let mut rows = percentiles.query(params![entry.id, step, figure.name()])?;
        if let Some(row) = rows.next()? {
            let [p50, p95, p99] = [0, 1, 2].map(|column| unsigned(row, column));
            (entry.p50_ns, entry.p95_ns, entry.p99_ns) = (Some(p50?), Some(p95?), Some(p99?));
        }
        Ok(entry)
    };
    entries.into_iter().map(with_percentiles).collect()
}

fn entry(row: &Row<'_>) -> rusqlite::Result<Entry> {
    let optional = |column: &str| row.get::<_, Option<i64>>(column).map(|n| n.map(|n| n.max(0) as u64));
    let count = |column: &str| optional(column).map(Option::unwrap_or_default);
    let tags: Option<String> = row.get("tags")?;
    let bounds: Option<String> = row.get("shown_at_least")?;
    let is_bound = |name: &str| bounds.iter().flat_map(|bounds| bounds.split(' ')).any(|bound| bound == name);
    Ok(Entry {
        id: row.get("id")?,
        started_unix_ns: count("started_ns")?,
        scenario: row.get("scenario")?,
        dialect: row.get("dialect")?,
        target: row.get("target")?,
        command: row.get("command")?,
        steps: count("steps")?,
        clients: count("clients")?,
        name: row.get("name")?,
        note: row.get("note")?,
        figure: row.get::<_, Option<String>>("shown_figure")?.as_deref().and_then(Timed::named),
        p50_ns: None,
        p95_ns: None,
        p95_interval_ns: optional("p95_low_ns")?.zip(optional("p95_high_ns")?).map(Into::into),
        p99_ns: None,
        at_least: LISTED.map(|(name, _)| is_bound(name)),
        missing: count("missing")?,
        errors: count("errors")?,
        bottleneck: row.get("bottleneck")?,
        capacity: optional("capacity")?,
        outcome: row.get::<_, Option<String>>("outcome")?.as_deref().and_then(Status::of_word),
        broken_limits: count("broken_limits")?,
        trusted: row.get("trusted")?,
        unfinished: row.get("unfinished")?,
        tags: tags.map(|tags| tags.lines().map(String::from).collect()).unwrap_or_default(),
    })
}

fn unsigned(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    row.get::<_, i64>(column).map(|n| n.max(0) as u64)
}
