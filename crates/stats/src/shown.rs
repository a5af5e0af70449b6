//! The characters of foreign text that may be shown on a terminal, a page or a table.

/// Returns whether a character may be shown: it is not a control character, does not change the direction of
/// the text around it (Unicode UAX #9; CVE-2021-42574), and is visible, unlike tags and joiners.
pub fn is_shown(c: char) -> bool {
    !c.is_control()
        && !matches!(
            c,
            '\u{ad}'
                | '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_shown_and_direction_marks_hidden() {
        let hidden = "\0\n\u{1b}\u{7f}\u{9b}\u{ad}\u{200f}\u{202e}\u{2066}\u{2069}\u{feff}\u{e0041}";
        assert!(!hidden.contains(is_shown));
        assert!(['a', 'é', 'ש', '漢', '🙂', '\u{301}'].into_iter().all(is_shown));
    }
}
