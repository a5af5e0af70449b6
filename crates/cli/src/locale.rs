//! Tells terminals with more than ASCII from others.

use std::env;

use report::Style;

/// Variables that name the character set; the first that is set speaks (POSIX, "Locale Variables").
const LOCALE: [&str; 3] = ["LC_ALL", "LC_CTYPE", "LANG"];
/// Terminals without other signs: the console of Linux has 256 or 512 of them.
const TERMINALS: [&str; 2] = ["dumb", "linux"];

/// Returns whether locale or terminal say that there is only ASCII. Without a locale, as in most containers,
/// the output is taken to be shown by a modern terminal.
pub(crate) fn is_ascii() -> bool {
    let set = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
    has_ascii_alone(LOCALE.iter().find_map(|name| set(name)).as_deref(), set("TERM").as_deref())
}

/// Text for people in letters that the terminal has; outside of tables, whose columns would shift.
pub(crate) fn spelled(text: String) -> String {
    if is_ascii() { in_ascii(&text) } else { text }
}

fn in_ascii(text: &str) -> String {
    Style { ascii: true, ..Style::PLAIN }.in_letters(text.replace('…', "..."))
}

fn has_ascii_alone(locale: Option<&str>, terminal: Option<&str>) -> bool {
    let is_unicode = |locale: &str| {
        // language_TERRITORY.charset@modifier (POSIX, "Internationalization Variables").
        let locale = locale.split('@').next().unwrap_or_default().to_ascii_lowercase();
        locale.ends_with("utf-8") || locale.ends_with("utf8")
    };
    // The console of Linux draws no box whatever the locale says.
    locale.is_some_and(|locale| !is_unicode(locale)) || terminal.is_some_and(|name| TERMINALS.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ellipses_have_three_dots() {
        assert_eq!(in_ascii("phoenix, …: 5 µs"), "phoenix, ...: 5 us");
    }

    #[test]
    fn modifiers_do_not_hide_utf8() {
        assert!(!has_ascii_alone(Some("ca_ES.UTF-8@valencia"), None));
        assert!(has_ascii_alone(Some("de_DE@euro"), None));
    }

    #[test]
    fn locale_and_terminal_decide() {
        for (locale, terminal, expected) in [
            (None, None, false),
            (Some("C.UTF-8"), Some("xterm-256color"), false),
            (Some("de_DE.utf8"), None, false),
            (Some("C"), None, true),
            (Some("en_US.ISO-8859-1"), Some("xterm"), true),
            (None, Some("dumb"), true),
            (Some("C.UTF-8"), Some("linux"), true),
        ] {
            assert_eq!(has_ascii_alone(locale, terminal), expected, "{locale:?} {terminal:?}");
        }
    }
}
