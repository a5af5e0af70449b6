//! Shared state of all handlers: the options, the runs, the store, and the templates of their pages.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract;
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Response};
use minijinja::value::{Serde, Value};
use minijinja::{Environment, context};
use serde::Serialize;
use store::{Store, StoreError};

use crate::jobs::Jobs;
use crate::options::Options;

/// Shared state of all handlers.
pub(crate) struct App {
    pub(crate) options: Options,
    /// The address it listens on.
    pub(crate) address: SocketAddr,
    pub(crate) jobs: Jobs,
    pub(crate) pages: Pages,
}

impl App {
    /// Asks the store; a page says why that could not be.
    pub(crate) fn ask<T>(
        &self,
        ask: impl FnOnce(&mut Store) -> Result<T, StoreError>,
    ) -> Result<T, Box<Response>> {
        // Opened for each question: the file may be moved or deleted while the server runs.
        Store::open(&self.options.store).and_then(|mut store| ask(&mut store)).map_err(|error| {
            let (status, title) = match error {
                StoreError::NoRun { .. } | StoreError::Ambiguous { .. } => {
                    (StatusCode::NOT_FOUND, "No such run")
                }
                _ => (StatusCode::INTERNAL_SERVER_ERROR, "The store cannot be used"),
            };
            Box::new(self.pages.message(status, title, &error.to_string()))
        })
    }
}

/// How handlers get it.
pub(crate) type Shared = extract::State<Arc<App>>;

/// The pages' templates; their names end in .html, by which everything that is filled in is escaped.
pub(crate) struct Pages(Environment<'static>);

impl Pages {
    pub(crate) fn new() -> Self {
        let mut environment = Environment::new();
        for (name, text) in [
            ("layout.html", include_str!("pages/layout.html")),
            ("history.html", include_str!("pages/history.html")),
            ("new.html", include_str!("pages/new.html")),
            ("live.html", include_str!("pages/live.html")),
            ("message.html", include_str!("pages/message.html")),
        ] {
            environment.add_template(name, text).expect("the template is a constant");
        }
        Pages(environment)
    }

    /// A page; `view` has what its template asks for.
    pub(crate) fn render(&self, name: &str, view: impl Serialize) -> Response {
        let template = self.0.get_template(name).expect("one of ours");
        let text =
            template.render(Value::from(Serde(view))).expect("the view has what the template asks for");
        Html(text).into_response()
    }

    /// A page that says what went wrong, and what to do.
    pub(crate) fn message(&self, status: StatusCode, title: &str, text: &str) -> Response {
        let template = self.0.get_template("message.html").expect("one of ours");
        let page =
            template.render(context! { title, text }).expect("the view has what the template asks for");
        (status, Html(page)).into_response()
    }
}
