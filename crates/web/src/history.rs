//! Pages of past runs: the list, a run's report, and runs side by side.

use axum::extract::{Form, Path, Query, RawQuery, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_SECURITY_POLICY;
use axum::response::{Html, IntoResponse, Redirect, Response};
use results::conclusion::Status;
use results::scenario::UnknownScenario;
use results::{Run, Scenario};
use serde::{Deserialize, Serialize};
use store::Entry;
use url::form_urlencoded;

use crate::app::Shared;
use crate::trend::{self, Trend};

/// Runs on the page; more are found by searching.
const LISTED_MAX: u64 = 200;
/// Runs in one comparison: as many as there are colours to tell apart.
const COMPARED_MAX: usize = 8;

/// Tags that a page may give a run: more than anybody reads.
const TAGS_MAX: usize = 32;
const TAG_CHARS_MAX: usize = 64;

/// The query.
#[derive(Default, Deserialize, Serialize)]
pub(crate) struct Search {
    #[serde(default)]
    text: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    tag: String,
    #[serde(default)]
    scenario: String,
}

impl Search {
    /// The fields that are filled in, by name.
    fn given(&self) -> Vec<(&'static str, String)> {
        let Search { text, name, tag, scenario } = self;
        let all = [("text", text), ("name", name), ("tag", tag), ("scenario", scenario)];
        let given = all.into_iter().filter(|(_, value)| !value.trim().is_empty());
        given.map(|(name, value)| (name, value.trim().to_owned())).collect()
    }

    /// The address of what it finds.
    fn address(&self) -> String {
        let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(self.given()).finish();
        if query.is_empty() { "/".to_owned() } else { format!("/?{query}") }
    }
}

#[derive(Serialize)]
struct HistoryView {
    title: &'static str,
    search: Search,
    /// The fields of it that are filled in, which a form of the page sends along.
    given: Vec<(&'static str, String)>,
    scenarios: [&'static str; Scenario::ALL.len()],
    /// The trend of the runs with the name or the tag that is searched for.
    trend: Option<Trend>,
    runs: Vec<RunRow>,
    /// The number of the run under way.
    running: Option<usize>,
    compared_max: usize,
}

#[derive(Serialize)]
struct RunRow {
    id: String,
    /// The last part of its page's address.
    path: String,
    name: Option<String>,
    note: Option<String>,
    /// The address of all runs of its name.
    series: String,
    /// The status of its RESULT, and the class of that.
    outcome: &'static str,
    tone: &'static str,
    started: String,
    scenario: String,
    dialect: String,
    target: String,
    clients: String,
    figure: &'static str,
    p50: String,
    p95: String,
    p99: String,
    errors: String,
    bottleneck: String,
    trusted: bool,
    unfinished: bool,
    tags: Vec<String>,
}

/// `GET /`
pub(crate) async fn history(State(app): Shared, Query(search): Query<Search>) -> Response {
    let given = |text: &str| (!text.trim().is_empty()).then(|| text.trim().to_owned());
    let scenario = match given(&search.scenario).map(|name| name.parse()).transpose() {
        Ok(scenario) => scenario,
        Err(error) => {
            let problem = UnknownScenario::to_string(&error);
            return app.pages.message(StatusCode::BAD_REQUEST, "Nothing can be listed", &problem);
        }
    };
    let query = store::Query {
        name: given(&search.name),
        tag: given(&search.tag),
        scenario,
        text: given(&search.text),
        limit: Some(LISTED_MAX),
    };
    let entries = match app.ask(|store| store.list(&query)) {
        Ok(entries) => entries,
        Err(page) => return *page,
    };
    // Runs without a common name or tag are of many kinds: a line through them would mean nothing.
    let trend = query.name.as_ref().or(query.tag.as_ref()).and_then(|_| Trend::of(&entries));
    app.pages.render(
        "history.html",
        HistoryView {
            title: "Runs",
            given: search.given(),
            search,
            trend,
            scenarios: Scenario::ALL.map(Scenario::name),
            runs: entries.into_iter().map(row).collect(),
            running: app.jobs.running().map(|job| job.number),
            compared_max: COMPARED_MAX,
        },
    )
}

fn row(entry: Entry) -> RunRow {
    let latency = |ns: Option<u64>, is_bound| ns.map(|ns| report::latency(ns, is_bound)).unwrap_or_default();
    let [p50, p95, p99] = entry.at_least;
    RunRow {
        started: results::file::started(entry.started_unix_ns),
        clients: report::count(entry.clients),
        figure: entry.figure.map(|figure| figure.words()).unwrap_or_default(),
        outcome: entry.outcome.map_or("–", Status::word),
        tone: trend::tone(entry.outcome),
        p50: latency(entry.p50_ns, p50),
        p95: latency(entry.p95_ns, p95),
        p99: latency(entry.p99_ns, p99),
        errors: report::count(entry.errors + entry.missing),
        bottleneck: entry.bottleneck.unwrap_or_default(),
        trusted: entry.trusted,
        unfinished: entry.unfinished,
        path: trend::path(&entry.id),
        id: entry.id,
        series: Search { name: entry.name.clone().unwrap_or_default(), ..Search::default() }.address(),
        name: entry.name,
        note: entry.note,
        scenario: entry.scenario,
        dialect: entry.dialect,
        target: entry.target,
        tags: entry.tags,
    }
}

/// `GET /runs/{id}`: the same page that `throng report` writes.
pub(crate) async fn run(State(app): Shared, Path(id): Path<String>) -> Response {
    match app.ask(|store| store.find(&id).and_then(|id| store.load(&id))) {
        Ok(run) => page(&[run]),
        Err(page) => *page,
    }
}

/// `GET /compare?run=A&run=B`
pub(crate) async fn compare(State(app): Shared, RawQuery(query): RawQuery) -> Response {
    let query = query.unwrap_or_default();
    let ids: Vec<String> = form_urlencoded::parse(query.as_bytes())
        .filter(|(name, _)| name == "run")
        .map(|(_, id)| id.into_owned())
        .collect();
    if !(2..=COMPARED_MAX).contains(&ids.len()) {
        let how = format!("Tick two to {COMPARED_MAX} runs in the history, then press Compare.");
        return app.pages.message(StatusCode::BAD_REQUEST, "Which runs?", &how);
    }
    let runs: Result<Vec<Run>, _> =
        app.ask(|store| ids.iter().map(|id| store.find(id).and_then(|id| store.load(&id))).collect());
    match runs {
        Ok(mut runs) => {
            // What changed since then is asked, in whatever order the list is.
            runs.sort_by_key(|run| run.started_unix_ns);
            page(&runs)
        }
        Err(page) => *page,
    }
}

fn page(runs: &[Run]) -> Response {
    let page = report::html(&report::Page { runs, home: Some("/"), ..Default::default() });
    // A page in a file cannot say this about itself: no other page may show it in a frame.
    let policy = report::policy() + "; frame-ancestors 'none'";
    ([(CONTENT_SECURITY_POLICY, policy)], Html(page)).into_response()
}

/// Tags to add and to take away, and the search in whose page that is done.
#[derive(Deserialize)]
pub(crate) struct Tagging {
    #[serde(default)]
    add: String,
    #[serde(default)]
    remove: String,
    #[serde(flatten)]
    search: Search,
}

/// `POST /runs/{id}/tags`
pub(crate) async fn tag(
    State(app): Shared,
    Path(id): Path<String>,
    Form(tagging): Form<Tagging>,
) -> Response {
    let new: Vec<&str> = tagging.add.split_whitespace().collect();
    let are_short = new.iter().all(|tag| tag.chars().count() <= TAG_CHARS_MAX);
    let tagged = app.ask(|store| {
        let id = store.find(&id)?;
        let mut all = store.tags(&id)?;
        all.extend(new.iter().map(|&tag| tag.to_owned()));
        all.sort();
        all.dedup();
        let fits = are_short && (new.is_empty() || all.len() <= TAGS_MAX);
        if fits {
            new.iter().try_for_each(|tag| store.tag(&id, tag))?;
        }
        // Also where the new ones do not fit: taking away makes room.
        if !tagging.remove.is_empty() {
            store.untag(&id, &tagging.remove)?;
        }
        Ok(fits)
    });
    match tagged {
        Ok(true) => Redirect::to(&tagging.search.address()).into_response(),
        Ok(false) => {
            let how =
                format!("A run has at most {TAGS_MAX} tags, of at most {TAG_CHARS_MAX} characters each.");
            app.pages.message(StatusCode::BAD_REQUEST, "Not tagged", &how)
        }
        Err(page) => *page,
    }
}
