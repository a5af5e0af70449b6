//! Words in braces that stand for what is known only when a target runs ([`Place`](crate::Place)).

/// Every placeholder.
pub(crate) const NAMES: [&str; 6] = ["{host}", "{port}", "{admin_port}", "{socket}", "{cores}", "{throng}"];

/// A word in braces that is no placeholder.
pub(crate) fn unknown(text: &str) -> Option<&str> {
    let known = |name: &&str| NAMES.contains(name);
    let mut names = text.match_indices('{').filter_map(|(start, _)| {
        let end = start + text[start..].find('}')?;
        Some(&text[start..=end])
    });
    names.find(|name| !known(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_are_found() {
        assert_eq!(unknown("ws://{host}:{port}/{room}"), Some("{room}"));
        assert_eq!(unknown("http://{host}:{admin_port}/"), None);
    }
}
