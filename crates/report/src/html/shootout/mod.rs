//! A shootout to one HTML file: for each question a ranking with intervals, then beside now, and a section
//! for each server.
//!
//! All of it is text and shapes that the template fills in, so it is whole without a script; the script filters.

use super::template::render;
use minijinja::context;
use minijinja::value::{Serde, Value};

mod axis;
mod curve;
mod model;
mod view;

pub use curve::Curve;
pub use model::{Question, Row, Server, Shootout, Source};

/// The page of a shootout, as HTML that needs no other file.
pub fn shootout(shootout: &Shootout) -> String {
    render("shootout.html", context! { view => Value::from(Serde(view::view(shootout))) })
}

#[cfg(test)]
mod tests;
