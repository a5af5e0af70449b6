//! Starting a run: the form, the command line it stands for, and the start itself.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::{Form, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use serde::Serialize;

use crate::app::{App, Shared};
use crate::form;
use crate::options::{Field, Verb};

type Pairs = Vec<(String, String)>;

#[derive(Serialize)]
struct NewView<'a> {
    title: &'static str,
    verbs: &'a [Verb],
    verbs_with_files: Vec<&'a str>,
    groups: Vec<Group<'a>>,
    running: Option<usize>,
    /// The fields filled in.
    given: BTreeMap<String, String>,
    problem: Option<String>,
}

/// The flags under one heading of the help.
#[derive(Serialize)]
struct Group<'a> {
    name: &'a str,
    fields: Vec<&'a Field>,
}

/// `GET /new`
pub(crate) async fn page(State(app): Shared) -> Response {
    blank(&app, Vec::new(), None)
}

/// The form, with what was filled in, except for its secrets, and what is wrong with it.
fn blank(app: &App, given: Pairs, problem: Option<String>) -> Response {
    let options = &app.options;
    let (given, lost) = form::without_secrets(&given, options);
    let problem = problem.map(|problem| match lost.is_empty() {
        true => problem,
        false => {
            format!("{}. Fill in the secrets again: {}.", problem.trim_end_matches('.'), lost.join(", "))
        }
    });
    let with_files = options.verbs.iter().filter(|verb| verb.has_file);
    app.pages.render(
        "new.html",
        NewView {
            title: "New run",
            verbs: &options.verbs,
            verbs_with_files: with_files.map(|verb| verb.name.as_str()).collect(),
            groups: groups(&options.fields),
            running: app.jobs.running().map(|job| job.number),
            given,
            problem,
        },
    )
}

/// Groups in the order in which the help has them first.
fn groups(fields: &[Field]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for field in fields {
        match groups.iter_mut().find(|group| group.name == field.group) {
            Some(group) => group.fields.push(field),
            None => groups.push(Group { name: &field.group, fields: vec![field] }),
        }
    }
    groups
}

/// The command line that a form stands for.
#[derive(Serialize)]
pub(crate) struct Preview {
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

/// `GET /new/command?verb=…`
pub(crate) async fn command(State(app): Shared, Query(pairs): Query<Pairs>) -> Json<Preview> {
    Json(match form::command(&pairs, &app.options) {
        Ok(words) => Preview { command: Some(form::shown(&words, app.options.mask)), problem: None },
        Err(problem) => Preview { command: None, problem: Some(problem) },
    })
}

/// `POST /new`
pub(crate) async fn start(State(app): Shared, Form(pairs): Form<Pairs>) -> Response {
    let words = match form::command(&pairs, &app.options) {
        Ok(words) => words,
        Err(problem) => return (StatusCode::BAD_REQUEST, blank(&app, pairs, Some(problem))).into_response(),
    };
    match app.jobs.start(&app.options, &words) {
        Ok(job) => Redirect::to(&format!("/live/{}", job.number)).into_response(),
        Err(None) => {
            let why = "Two runs at once would measure each other: wait for the one under way, or stop it.";
            (StatusCode::CONFLICT, blank(&app, pairs, Some(why.to_owned()))).into_response()
        }
        Err(Some(error)) => {
            let status = StatusCode::INTERNAL_SERVER_ERROR;
            app.pages.message(status, "throng could not be started", &error.to_string())
        }
    }
}
