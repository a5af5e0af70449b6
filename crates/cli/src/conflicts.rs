//! Tips for flags that exclude each other, where users of other tools mean something else by one of them.

use clap::Error;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// A tip for a conflict of flags.
struct Tip {
    /// The flags' long names.
    flags: [&'static str; 2],
    /// The flag whose value takes the place of `N`.
    value_of: &'static str,
    text: &'static str,
}

const TIPS: [Tip; 1] = [
    // wrk2 takes both: `-c` connections share the rate `-R`.
    Tip {
        flags: ["--concurrent", "--rate"],
        value_of: "-c",
        text: "-c is messages under way at once; for N connections: --clients N",
    },
];

/// Adds to an error of the command line `words` the tip that there is for it.
pub(crate) fn with_tip(mut error: Error, words: &[String]) -> Error {
    let named = |kind| error.get(kind).map(ToString::to_string).unwrap_or_default();
    // As clap writes them: `--concurrent <N>`, with commas between several.
    let arguments = [ContextKind::InvalidArg, ContextKind::PriorArg].map(named).join(", ");
    let is_named = |flag: &&str| arguments.split([' ', ',']).any(|word| word == *flag);
    let is_conflict = error.kind() == ErrorKind::ArgumentConflict;
    if let Some(tip) = TIPS.iter().find(|tip| is_conflict && tip.flags.iter().all(is_named)) {
        let given = words.windows(2).find(|pair| pair[0] == tip.value_of);
        let value = given.map_or("N", |pair| pair[1].as_str());
        let text = StyledStr::from(tip.text.replace('N', value));
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![text]));
    }
    error
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::Cli;

    #[test]
    fn connections_of_wrk_become_clients() {
        for (line, tip) in [
            ("throng echo -c 50 -R 20000", Some("--clients 50")),
            ("throng broadcast --rate 5 -c 70", Some("--clients 70")),
            ("throng echo --rate 5 --concurrency=70", Some("--clients N")),
            ("throng echo --interval 1s -c 50", None),
        ] {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let error = Cli::command().try_get_matches_from(&words).unwrap_err();
            let text = with_tip(error, &words).render().to_string();
            let found = text.lines().find_map(|line| line.trim().strip_prefix("tip: "));
            assert_eq!(found.is_some(), tip.is_some(), "{line}: {text}");
            assert!(tip.is_none_or(|tip| text.contains(tip)), "{line}: {text}");
        }
    }
}
