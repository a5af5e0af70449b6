//! Names that tell things apart.

use std::collections::HashSet;
use std::iter;

/// Names that no other has: one that comes again has a number.
pub(crate) fn unique(names: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut taken = HashSet::new();
    let own = |name: String| {
        let numbered = (2u32..).map(|number| format!("{name} ({number})"));
        let mut names = iter::once(name.clone()).chain(numbered);
        // A name with its number may be another's own, too.
        names.find(|name| taken.insert(name.clone())).expect("numbers do not end")
    };
    names.into_iter().map(own).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_names_have_numbers() {
        let names = ["a", "a", "a (2)", "b", "a"].map(String::from);
        assert_eq!(unique(names), ["a", "a (2)", "a (2) (2)", "b", "a (3)"]);
    }
}
