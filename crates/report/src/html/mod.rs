//! Results to one HTML file that needs nothing else: no server, no network, no other file.
//!
//! What a reader must see in any case (the answers, the steps, the environment, the command) is text that
//! [`view`] fills into `page.html`. What is drawn is data for the script of `crates/report/page`, which is built from
//! TypeScript and carried along whole. Nothing from the wire or the user is markup: the template escapes, the data is
//! escaped JSON, and the page's own policy lets no script run but this one.

use minijinja::value::{Serde, Value};
use minijinja::{AutoEscape, Environment, context};

mod absences;
mod answers;
mod curve;
mod data;
mod page;
mod repeats;
mod series;
mod view;

/// The script, bundled with the chart library and its licences: `make page`. It draws whatever it finds in a page: a
/// report's data, a live run, a form.
pub const SCRIPT: &str = include_str!("../../page/dist/report.js");
/// The SHA-256 of the script, base64, as a content security policy names it.
const SCRIPT_SHA256: &str = include_str!("../../page/dist/report.sha256");
/// The style sheet of the report and of the pages of `throng ui`.
pub const STYLE: &str = include_str!("../../page/style.css");
const TEMPLATE: &str = include_str!("page.html");

pub use page::{Page, Published};
pub use repeats::middle_repeat;

/// One page about some runs.
///
/// # Panics
/// Without a run there is nothing to say.
pub fn html(page: &Page<'_>) -> String {
    let &Page { runs, home, .. } = page;
    assert!(!runs.is_empty(), "a report is about at least one run");
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    let template = environment.template_from_str(TEMPLATE).expect("the template is a constant");
    let data = in_script(&data::json(page));
    let page = context! {
        view => Value::from(Serde(view::view(page))),
        data,
        home,
        style => STYLE,
        script => SCRIPT,
        policy => policy(),
    };
    template.render(page).expect("the view has what the template asks for")
}

/// The page's content security policy: its own script, and nothing from anywhere.
pub fn policy() -> String {
    include_str!("policy.txt").replace("{script}", SCRIPT_SHA256.trim())
}

/// JSON that cannot end the element it stands in, nor open a comment in it.
fn in_script(json: &str) -> String {
    json.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

#[cfg(test)]
mod tests;
