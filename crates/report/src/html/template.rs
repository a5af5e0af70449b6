//! The frame of every page: the frame and the templates in it, the script and the style that it carries along.

use minijinja::value::Value;
use minijinja::{AutoEscape, Environment, context};

/// The script, bundled with the chart library and its licences: `make page`. It draws whatever it finds in a page: a
/// report's data, a live run, a form.
pub const SCRIPT: &str = include_str!("../../page/dist/report.js");
/// The SHA-256 of the script, base64, as a content security policy names it.
const SCRIPT_SHA256: &str = include_str!("../../page/dist/report.sha256");
/// The style sheet of the report and of the pages of `throng ui`.
pub const STYLE: &str = include_str!("../../page/style.css");
const TEMPLATES: [(&str, &str); 3] = [
    ("frame.html", include_str!("frame.html")),
    ("page.html", include_str!("page.html")),
    ("shootout.html", include_str!("shootout/shootout.html")),
];

/// A template with what every page carries along.
pub(super) fn render(name: &str, view: Value) -> String {
    let mut environment = Environment::new();
    // All of them, whatever their names end in: names of servers and what they said are filled in.
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    for (name, text) in TEMPLATES {
        environment.add_template(name, text).expect("the templates are constants");
    }
    let template = environment.get_template(name).expect("one of them");
    let page = context! { style => STYLE, script => SCRIPT, policy => policy(), ..view };
    template.render(page).expect("the view has what the template asks for")
}

/// The page's content security policy: its own script, and nothing from anywhere.
pub fn policy() -> String {
    include_str!("policy.txt").replace("{script}", SCRIPT_SHA256.trim())
}
