//! Results to one HTML file that needs nothing else: no server, no network, no other file.
//!
//! Everything that a reader must see in any case (the answers, the steps, the environment, the command) is text that
//! [`view`] fills into `page.html`. What is drawn is data for the script of `crates/report/page`, which is built from
//! TypeScript and carried along whole. Nothing from the wire or the user is markup: the template escapes, the data is
//! escaped JSON, and the page's own policy lets no script run but this one.

use minijinja::context;
use minijinja::value::{Serde, Value};

mod absences;
mod answers;
mod curve;
mod data;
mod page;
mod repeats;
mod series;
mod shootout;
mod template;
mod view;

pub use page::{Page, Published, defect_names, latency_names};
pub use repeats::middle_repeat;
pub use shootout::{Curve, Question, Row, Server, Shootout, Source, shootout};
pub use template::{SCRIPT, STYLE, policy};

/// One page about some runs.
///
/// # Panics
/// Without a run there is nothing to say.
pub fn html(page: &Page<'_>) -> String {
    let &Page { runs, home, .. } = page;
    assert!(!runs.is_empty(), "a report is about at least one run");
    let data = in_script(&data::json(page));
    template::render("page.html", context! { view => Value::from(Serde(view::view(page))), data, home })
}

/// JSON that cannot end the element it stands in, nor open a comment in it.
fn in_script(json: &str) -> String {
    // Every such end and comment begins with this sign; in JSON, it stands only in strings.
    json.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

#[cfg(test)]
mod tests;
