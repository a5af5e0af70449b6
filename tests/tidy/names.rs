//! Names of scenarios, figures and counts stand in one table each (`results::Scenario`, `stats::{Timed, Count}`): code
//! that compares one as text has a second table, which nobody thinks of when the first gets a row.

use std::collections::BTreeSet;

use syn::visit::{self, Visit};

use super::{assert_none, read, rust_files};

/// Crates that know of scenarios, or of figures.
const KNOWING: &[&str] =
    &["stats", "results", "report", "engine", "crew", "fleet", "store", "suite", "web", "cli"];

/// Names that are words of something else, too: of a URL's scheme, a dialect, a fault, a visit in an app's file.
const AMBIGUOUS: &[&str] = &["http", "tls", "service", "corrupt", "join", "leave", "login"];
/// Words beside one where it is meant.
const MEANT_BY: &[&str] = &["scenario", "verb", "figure", "timed", "count"];

/// Names of dialects and protocols that are words of something else, too, and what stands beside one where it is meant.
const AMBIGUOUS_DIALECTS: &[&str] = &["http", "json", "binary", "raw", "plain", "standard", "custom"];
const DIALECT_MEANT_BY: &[&str] = &["dialect", "protocol", "spoken", "speaks"];

#[test]
fn scenarios_and_figures_are_not_compared_as_text() {
    let files = rust_files();
    let knowing = files.iter().filter(|file| is_of(file, KNOWING));
    assert_none("names that are compared as text", found_in(knowing, Compared::scenarios_and_figures));
}

/// Consequences of a dialect are in its facts: `wire::Facts`, which the protocol's folder declares.
#[test]
fn nothing_outside_wire_compares_a_dialect() {
    let files = rust_files();
    let outside = files.iter().filter(|file| file.contains("/src/") && !super::in_source_of(file, "wire"));
    assert_none("dialects that are compared outside wire", found_in(outside, Compared::dialects));
}

/// Comparisons in files that are not only tests.
fn found_in<'a>(files: impl Iterator<Item = &'a String>, compared: fn() -> Compared) -> Vec<String> {
    let mut found = Vec::new();
    for file in files.filter(|file| !file.contains("tests")) {
        let syntax = syn::parse_file(&read(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        let mut compared = compared();
        compared.visit_file(&syntax);
        found.extend(compared.found.iter().map(|name| format!("{file}: {name:?}")));
    }
    found
}

#[test]
fn each_way_to_compare_is_seen() {
    for (code, is_wrong) in [
        ("run.scenario == \"echo\"", true),
        ("\"storm\" != run.scenario", true),
        ("match figure { \"rtt\" | \"missing\" => 1, _ => 2 }", true),
        ("match (a, b) { (Some(\"send_lag\"), _) => 1, _ => 2 }", true),
        ("matches!(scenario, \"idle\" | \"storm\")", true),
        ("[\"idle\", \"storm\"].contains(&scenario)", true),
        ("names.contains(&\"connect_timeouts\")", true),
        ("scenario == \"http\"", true),
        ("url.scheme() == \"http\"", false),
        ("scenario == Scenario::Echo", false),
        ("label(\"rtt\")", false),
    ] {
        let mut compared = Compared::scenarios_and_figures();
        compared.visit_expr(&syn::parse_str(code).unwrap());
        assert_eq!(!compared.found.is_empty(), is_wrong, "{code}");
    }
    for (code, is_wrong) in [
        ("dialect == \"actioncable\"", true),
        ("name == \"socket.io\"", true),
        ("plan.speech.dialect == \"http\"", true),
        ("url.scheme() == \"http\"", false),
        ("format == \"json\"", false),
        ("dialect == DialectId::Raw", true),
        ("!matches!(dialect, wire::DialectId::Raw | wire::DialectId::Json)", true),
        ("match dialect { DialectId::Phoenix => 1, _ => 2 }", true),
        ("if let Some(DialectId::Http) = dialect {}", true),
        ("[DialectId::Http].contains(&dialect)", true),
        ("plan(DialectId::Http)", false),
        ("dialect == other", false),
        ("dialect.facts().asks", false),
    ] {
        let mut compared = Compared::dialects();
        compared.visit_expr(&syn::parse_str(code).unwrap());
        assert_eq!(!compared.found.is_empty(), is_wrong, "{code}");
    }
}

fn is_of(file: &str, crates: &[&str]) -> bool {
    crates.iter().any(|name| super::in_source_of(file, name))
}

fn names() -> BTreeSet<&'static str> {
    let scenarios = results::Scenario::ALL.into_iter().map(results::Scenario::name);
    let timed = stats::Timed::ALL.into_iter().map(stats::Timed::name);
    scenarios.chain(timed).chain(stats::Count::ALL.into_iter().map(stats::Count::name)).collect()
}

/// Finds names in comparisons, in patterns and in what is asked whether it contains something.
struct Compared {
    names: BTreeSet<&'static str>,
    /// Names that count only beside one of the words.
    ambiguous: &'static [&'static str],
    meant_by: &'static [&'static str],
    /// An enum of which nothing may be compared either.
    banned: Option<&'static str>,
    found: Vec<String>,
}

impl Compared {
    fn scenarios_and_figures() -> Self {
        let (ambiguous, meant_by) = (AMBIGUOUS, MEANT_BY);
        Self { names: names(), ambiguous, meant_by, banned: None, found: Vec::new() }
    }

    fn dialects() -> Self {
        let facts = || wire::DialectId::ALL.iter().map(|dialect| dialect.facts());
        let own = facts().flat_map(|facts| [facts.name, facts.protocol]);
        let names = own.chain(facts().flat_map(|facts| facts.aliases.iter().copied())).collect();
        let (ambiguous, meant_by) = (AMBIGUOUS_DIALECTS, DIALECT_MEANT_BY);
        Self { names, ambiguous, meant_by, banned: Some("DialectId"), found: Vec::new() }
    }

    /// Notes what stands there of the enum that is banned.
    fn note_banned(&mut self, words: &Words) {
        let at = words.identifiers.iter().position(|word| Some(word.as_str()) == self.banned);
        self.found.extend(at.and_then(|at| words.identifiers.get(at + 1)).cloned());
    }

    /// Notes the names among `texts`; `beside` is what they are held against.
    fn note(&mut self, texts: Vec<String>, beside: &[String]) {
        let is_meant = beside.iter().any(|word| self.meant_by.contains(&word.as_str()));
        let is_name = |text: &String| {
            self.names.contains(text.as_str()) && (is_meant || !self.ambiguous.contains(&text.as_str()))
        };
        self.found.extend(texts.into_iter().filter(is_name));
    }
}

impl<'ast> Visit<'ast> for Compared {
    fn visit_expr_binary(&mut self, binary: &'ast syn::ExprBinary) {
        if matches!(binary.op, syn::BinOp::Eq(_) | syn::BinOp::Ne(_)) {
            let [left, right] = [&binary.left, &binary.right].map(|side| Words::of_expr(side));
            for (one, other) in [(&left, &right), (&right, &left)] {
                self.note_banned(one);
                // A text alone, or a reference to it: what is called with one is no comparison of it.
                if one.identifiers.is_empty() {
                    self.note(one.texts.clone(), &other.identifiers);
                }
            }
        }
        visit::visit_expr_binary(self, binary);
    }

    fn visit_expr_match(&mut self, expr: &'ast syn::ExprMatch) {
        let beside = Words::of_expr(&expr.expr).identifiers;
        for arm in &expr.arms {
            let mut words = Words::default();
            words.visit_pat(&arm.pat);
            self.note_banned(&words);
            self.note(words.texts, &beside);
        }
        visit::visit_expr_match(self, expr);
    }

    fn visit_expr_let(&mut self, expr: &'ast syn::ExprLet) {
        let mut words = Words::default();
        words.visit_pat(&expr.pat);
        self.note_banned(&words);
        self.note(words.texts, &Words::of_expr(&expr.expr).identifiers);
        visit::visit_expr_let(self, expr);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        if ["contains", "eq", "starts_with", "strip_prefix"].iter().any(|name| call.method == name) {
            let mut words = Words::of_expr(&call.receiver);
            for argument in &call.args {
                words.visit_expr(argument);
            }
            self.note_banned(&words);
            self.note(words.texts, &words.identifiers);
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        if call.path.is_ident("matches") {
            let body = call.tokens.to_string();
            let (value, pattern) = body.split_once(',').unwrap_or((&body, ""));
            let quoted = pattern.split('"').skip(1).step_by(2).map(str::to_owned).collect();
            let words = |text: &str| -> Vec<String> {
                let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
                words.map(str::to_owned).collect()
            };
            self.note_banned(&Words { texts: Vec::new(), identifiers: words(pattern) });
            self.note(quoted, &words(value));
        }
    }

    /// Tests compare what was said with what they expect.
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if module.ident != "tests" {
            visit::visit_item_mod(self, module);
        }
    }
}

/// The texts and the identifiers in a piece of code.
#[derive(Default)]
struct Words {
    texts: Vec<String>,
    identifiers: Vec<String>,
}

impl Words {
    fn of_expr(expr: &syn::Expr) -> Self {
        let mut words = Self::default();
        words.visit_expr(expr);
        words
    }
}

impl<'ast> Visit<'ast> for Words {
    fn visit_lit_str(&mut self, text: &'ast syn::LitStr) {
        self.texts.push(text.value());
    }

    fn visit_ident(&mut self, identifier: &'ast syn::Ident) {
        self.identifiers.push(identifier.to_string());
    }
}
