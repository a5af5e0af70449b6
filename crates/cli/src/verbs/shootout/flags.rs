//! A scenario's verb and flags, checked by the command line's own definition: there is no second one.

use std::path::Path;

use clap::error::{ContextKind, ContextValue};
use clap::{Command, CommandFactory, Parser};
use suite::Scenario;
use suite::suite::FlagMistake;
use wire::DialectId;

use crate::estimate::Estimate;
use crate::exit::Failure;
use crate::flags::dialect_args::dialects_of;
use crate::secrets;
use crate::verbs::loads::LoadVerb;

/// The command line of a scenario.
#[derive(Parser)]
#[command(name = "throng")]
struct Line {
    #[command(subcommand)]
    verb: LoadVerb,
}

/// The flags that name a file, which is beside the suite.
const OF_FILES: [&str; 5] = ["app", "users", "people", "payload-rows", "data"];

/// Turns the names of files that are relative to the suite into what they are from here.
pub(super) fn find_files(flags: &mut [(String, String)], folder: &Path) {
    for (_, file) in flags.iter_mut().filter(|(name, _)| OF_FILES.contains(&name.as_str())) {
        *file = folder.join(&*file).display().to_string();
    }
}

/// How long a scenario takes with one server, as far as its flags tell.
pub(super) fn estimate(scenario: &Scenario) -> Result<Estimate, Failure> {
    let line = Line::try_parse_from(command_line(scenario.verb.name(), &scenario.flags));
    line.expect("checked with the suite").verb.estimate()
}

/// Formats a scenario's flags as on a command line.
pub(super) fn words(flags: &[(String, String)]) -> impl Iterator<Item = String> + '_ {
    flags.iter().map(|(name, value)| word(name, value))
}

/// Formats the flags as on a command line, without those of other dialects: a target with several dialects
/// has its flags for all of them in one place.
pub(super) fn words_for(dialect: DialectId, flags: &[(String, String)]) -> impl Iterator<Item = String> + '_ {
    let concerns = move |name: &str| dialects_of(name).is_none_or(|dialects| dialects.contains(&dialect));
    flags.iter().filter(move |(name, _)| concerns(name)).map(|(name, value)| word(name, value))
}

fn word(name: &str, value: &str) -> String {
    match value {
        "" => format!("--{name}"),
        value => format!("--{name}={value}"),
    }
}

/// Refuses a verb or flags that the command line would not take.
pub(super) fn check(verb: &str, flags: &[(String, String)]) -> Result<(), FlagMistake> {
    let line = Line::command();
    let Some(of_verb) = line.find_subcommand(verb) else {
        let verbs: Vec<&str> = line.get_subcommands().map(Command::get_name).collect();
        return Err(FlagMistake {
            flag: None,
            message: format!("{verb:?} is not a verb that loads a server"),
            help: Some(format!("there are {}", verbs.join(", "))),
        });
    };
    let known: Vec<&str> = of_verb.get_arguments().filter_map(|argument| argument.get_long()).collect();
    let is_secret = |name: &str, value: &str| !secrets::in_command([word(name, value)]).is_empty();
    if let Some((literal, _)) = flags.iter().find(|(name, value)| is_secret(name, value)) {
        return Err(FlagMistake {
            flag: Some(literal.clone()),
            message: "a suite must not contain secrets, because it is kept with its results".to_owned(),
            help: Some("name where it is: env:NAME or file:PATH".to_owned()),
        });
    }
    if let Some((unknown, _)) = flags.iter().find(|(name, _)| !is_flag(of_verb, name)) {
        return Err(FlagMistake {
            flag: Some(unknown.clone()),
            message: format!("throng {verb} has no flag --{unknown}"),
            help: Some(format!("its flags are {}", known.join(", "))),
        });
    }
    match line.clone().try_get_matches_from(command_line(verb, flags)) {
        Ok(_) => Ok(()),
        Err(error) => Err(mistake(&error, flags)),
    }
}

/// The scenario as it would be typed, against a server that is not asked.
fn command_line<'a>(verb: &str, flags: &'a [(String, String)]) -> impl Iterator<Item = String> + use<'a> {
    ["throng".to_owned(), verb.to_owned(), "ws://127.0.0.1:9/".to_owned()].into_iter().chain(words(flags))
}

fn is_flag(verb: &Command, name: &str) -> bool {
    verb.get_arguments().any(|argument| {
        argument.get_long() == Some(name)
            || argument.get_all_aliases().is_some_and(|aliases| aliases.contains(&name))
    })
}

/// clap's own words, without its usage, and the flag that they are about.
fn mistake(error: &clap::Error, flags: &[(String, String)]) -> FlagMistake {
    let about = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(argument)) => argument.clone(),
        _ => String::new(),
    };
    let flag = flags.iter().find(|(name, _)| {
        about
            .strip_prefix("--")
            .and_then(|rest| rest.strip_prefix(name.as_str()))
            .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '=']))
    });
    let text = error.to_string();
    let first = text.lines().next().unwrap_or_default();
    FlagMistake {
        flag: flag.map(|(name, _)| name.clone()),
        message: first.strip_prefix("error: ").unwrap_or(first).to_owned(),
        help: None,
    }
}

#[cfg(test)]
mod tests {
    use clap::Args;
    use suite::Suite;

    use super::*;
    use crate::flags::fleet_args::FleetArgs;

    fn flags(flags: &[(&str, &str)]) -> Vec<(String, String)> {
        flags.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn flags_of_targets_go_to_their_dialects() {
        let of_target = flags(&[("eio", "3"), ("token", "x"), ("vsn", "1.0.0")]);
        let words = |dialect| words_for(dialect, &of_target).collect::<Vec<_>>();
        assert_eq!(words(DialectId::Socketio), ["--eio=3", "--token=x"]);
        assert_eq!(words(DialectId::Phoenix), ["--token=x", "--vsn=1.0.0"]);
        assert_eq!(words(DialectId::Raw), ["--token=x"]);
    }

    #[test]
    fn suites_may_not_set_the_shootouts_flags() {
        let own = FleetArgs::augment_args(Command::new("throng"));
        let of_fleets = own.get_arguments().filter_map(|argument| argument.get_long());
        for flag in of_fleets.chain(["tui", "resume", "protocol", "socketPath", "insecure"]) {
            let text = format!(
                "title = \"\"\ncooldown = \"1s\"\n[[scenario]]\nname = \"a\"\nverb = \"echo\"\nsupports = []\n\
                 flags = {{ {flag} = \"1\" }}\nfigures = [\"rate\"]"
            );
            let refused = Suite::parse(Path::new("a.toml"), &text, 1.0, &|_, _| Ok(())).unwrap_err();
            assert_eq!(refused.to_string(), format!("the shootout itself sets {flag}"));
        }
    }

    #[test]
    fn the_command_line_says_what_is_wrong() {
        assert_eq!(check("echo", &flags(&[("clients", "10"), ("text", "")])), Ok(()));
        let wrong = check("echo", &flags(&[("clients", "10"), ("duration", "tomorrow")])).unwrap_err();
        assert_eq!(wrong.flag.as_deref(), Some("duration"));
        assert!(wrong.message.contains("\"tomorrow\" is not a duration"), "{wrong:?}");
        let unknown = check("idle", &flags(&[("interval", "1s")])).unwrap_err();
        assert_eq!(unknown.flag.as_deref(), Some("interval"));
        assert!(unknown.help.unwrap().contains("connect-rate"));
        let literal = check("echo", &flags(&[("token", "open sesame")])).unwrap_err();
        assert_eq!(literal.flag.as_deref(), Some("token"));
        assert!(!format!("{literal:?}").contains("sesame"));
        let verb = check("serve", &[]).unwrap_err();
        assert!(verb.flag.is_none() && verb.help.unwrap().contains("broadcast"));
    }
}
