//! Idioms that hide something: a tuple among the parameters has two values without a name between them, and
//! `for_each` is a loop that looks like a chain of values.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use syn::visit::{self, Visit};
use syn::{FnArg, Pat};

use super::{assert_none, read, rust_files};

/// The idioms of each file, read once for both rules.
static IDIOMS: LazyLock<BTreeMap<String, Idioms>> = LazyLock::new(|| {
    let files = rust_files().into_iter();
    files.map(|file| (file.clone(), Idioms::of(&read(&file)))).collect()
});

#[test]
fn parameters_are_no_tuples() {
    let sources = IDIOMS.iter().filter(|(file, _)| file.starts_with("crates/") && file.contains("/src/"));
    let found = sources
        .flat_map(|(file, idioms)| idioms.tuples.iter().map(move |function| format!("{file}: {function}")));
    assert_none("functions with a tuple among their parameters", found.collect());
}

#[test]
fn loops_are_loops() {
    let calls = IDIOMS.iter().filter(|(_, idioms)| idioms.for_each_calls > 0);
    let found = calls.map(|(file, idioms)| format!("{file}: {}", idioms.for_each_calls));
    assert_none("calls of for_each", found.collect());
}

#[test]
fn idioms_are_told_from_others() {
    for (code, tuples, for_each_calls) in [
        ("fn f((a, b): (u8, u8), c: u8) {}", 1, 0),
        ("impl S { fn f(&self, &(a, b): &(u8, u8)) {} }", 1, 0),
        ("fn f(pair: (u8, u8), Name(a): Name, [b, c]: [u8; 2]) {}", 0, 0),
        ("fn f() { pairs.map(|(a, b)| a + b); }", 0, 0),
        ("fn f() { all.iter().for_each(|one| one.go()); }", 0, 1),
        ("fn f() { all.iter().try_for_each(go) }", 0, 0),
    ] {
        let found = Idioms::of(code);
        assert_eq!((found.tuples.len(), found.for_each_calls), (tuples, for_each_calls), "{code}");
    }
}

/// The idioms in a piece of code.
#[derive(Default)]
struct Idioms {
    /// Functions that take a tuple apart among their parameters.
    tuples: Vec<String>,
    for_each_calls: usize,
}

impl Idioms {
    fn of(code: &str) -> Self {
        let syntax = syn::parse_file(code).unwrap_or_else(|error| panic!("{error}: {code}"));
        let mut idioms = Self::default();
        idioms.visit_file(&syntax);
        idioms
    }
}

impl<'ast> Visit<'ast> for Idioms {
    fn visit_signature(&mut self, signature: &'ast syn::Signature) {
        let takes_apart = |input: &FnArg| matches!(input, FnArg::Typed(typed) if is_tuple(&typed.pat));
        if signature.inputs.iter().any(takes_apart) {
            self.tuples.push(signature.ident.to_string());
        }
        visit::visit_signature(self, signature);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        self.for_each_calls += usize::from(call.method == "for_each");
        visit::visit_expr_method_call(self, call);
    }
}

fn is_tuple(pattern: &Pat) -> bool {
    match pattern {
        Pat::Tuple(_) => true,
        Pat::Reference(reference) => is_tuple(&reference.pat),
        _ => false,
    }
}
