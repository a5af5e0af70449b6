//! The form that starts a run, made of the command line: its verbs, their usual flags, and its parser.

use clap::{Arg, ArgAction, Command};
use results::Limit;
use web::{Field, Kind, Verb};
use wire::DialectId;

use crate::help;
use crate::verbs::loads;

/// Flags that are the page's own (it follows the run and keeps it), write where the user has not looked, or
/// run programs.
const NOT_OF_A_PAGE: [&str; 4] = ["format", "out", "quiet", "restart-command"];
/// The heading of flags that have none.
const LOAD: &str = "Load";

/// The verbs that load a server, in the order of the help.
pub(super) fn verbs(command: &Command) -> Vec<Verb> {
    let verb = |(verb, _): (&Command, _)| Verb {
        name: verb.get_name().to_owned(),
        about: verb.get_about().map(ToString::to_string).unwrap_or_default(),
        has_file: verb.get_positionals().any(|argument| value_name(argument).starts_with("FILE")),
    };
    help::loads(command).map(verb).collect()
}

/// Their flags, each once.
pub(super) fn fields(command: &Command) -> Vec<Field> {
    let mut fields: Vec<Field> = Vec::new();
    for (verb, flags) in help::loads(command) {
        for (flag, line) in flags {
            let name = flag.get_long().expect("it has a row by that");
            if NOT_OF_A_PAGE.contains(&name) {
                continue;
            }
            match fields.iter_mut().find(|field| field.name == name) {
                Some(field) => field.verbs.push(verb.get_name().to_owned()),
                None => fields.push(field(verb, flag, name, line)),
            }
        }
    }
    fields
}

fn field(verb: &Command, flag: &Arg, name: &str, line: &str) -> Field {
    let kind = match value_name(flag) {
        _ if !flag.get_action().takes_values() => Kind::Switch,
        value if value.starts_with("FILE") => Kind::File,
        // Given several times, and no list in one.
        _ if matches!(flag.get_action(), ArgAction::Append) && flag.get_value_delimiter().is_none() => {
            Kind::Lines
        }
        _ => Kind::Text,
    };
    let values: Vec<String> = match name {
        // Runs of plain requests have a verb of their own, and the form has no URL to publish at.
        "protocol" => DialectId::conversing().map(|dialect| dialect.name().to_owned()).collect(),
        _ if kind == Kind::Switch => Vec::new(),
        _ => flag.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect(),
    };
    let default = flag.get_default_values().first().map(|value| value.to_string_lossy().into_owned());
    Field {
        name: name.to_owned(),
        label: line.to_owned(),
        group: flag.get_help_heading().unwrap_or(LOAD).to_owned(),
        example: default.unwrap_or_else(|| value_name(flag).to_owned()),
        values,
        verbs: vec![verb.get_name().to_owned()],
        kind,
    }
}

fn value_name(argument: &Arg) -> &str {
    let names = argument.get_value_names().unwrap_or_default();
    names.first().map_or(argument.get_id().as_str(), |name| name.as_str())
}

/// Asks the parser of the command line about the words after `throng`, and the limits about themselves.
pub(super) fn check(command: Command, words: &[String]) -> Result<(), String> {
    let all = ["throng".to_owned()].into_iter().chain(words.iter().cloned());
    let read = command.try_get_matches_from(all);
    read.map_err(|error| {
        let text = error.to_string();
        // What is missing, or in conflict, stands below the first line; the usage is behind an empty one.
        let said = text.lines().map(str::trim).take_while(|line| !line.is_empty()).collect::<Vec<_>>();
        said.join(" ").trim_start_matches("error: ").to_owned()
    })?;
    let scenarios = loads::scenarios(&words[0]);
    let limits = words.iter().filter_map(|word| word.strip_prefix("--limit="));
    for limit in limits {
        let mut errors = Vec::new();
        for &scenario in &scenarios {
            errors.extend(Limit::parse(limit, scenario).err());
        }
        if errors.len() == scenarios.len() {
            return Err(format!("--limit: {}", errors[0]));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::Cli;

    fn checked(words: &[&str]) -> Result<(), String> {
        check(Cli::command(), &words.iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    #[test]
    fn forms_have_every_verb_that_loads() {
        let verbs = verbs(&Cli::command());
        let names: Vec<&str> = verbs.iter().map(|verb| verb.name.as_str()).collect();
        for name in ["echo", "broadcast", "saturate", "http", "idle", "storm", "run"] {
            assert!(names.contains(&name), "{names:?}");
        }
        let unmeasured: Vec<_> = names.iter().filter(|name| loads::scenarios(name).is_empty()).collect();
        assert!(unmeasured.is_empty(), "{unmeasured:?}");
        let with_files: Vec<&str> =
            verbs.iter().filter(|verb| verb.has_file).map(|verb| verb.name.as_str()).collect();
        assert_eq!(with_files, ["run"]);
    }

    #[test]
    fn fields_are_the_usual_flags() {
        let fields = fields(&Cli::command());
        let of = |name: &str| fields.iter().find(|field| field.name == name);
        let kind = |name: &str| of(name).map(|field| (field.kind, field.group.as_str()));
        assert_eq!(kind("clients"), Some((Kind::Text, LOAD)));
        assert_eq!(kind("header").map(|(kind, _)| kind), Some(Kind::Lines));
        assert_eq!(kind("app"), Some((Kind::File, "Messages")));
        assert_eq!(kind("strict"), Some((Kind::Switch, "Output")));
        assert!(of("protocol").is_some_and(|field| field.values.iter().any(|name| name == "phoenix")));
        assert!(of("levels").is_some_and(|field| field.verbs == ["saturate"]));
        for name in NOT_OF_A_PAGE {
            assert!(of(name).is_none(), "{name}");
        }
    }

    #[test]
    fn mistakes_are_found_before_a_run() {
        for words in [
            &["echo", "--clients=7", "--limit=p99<250ms"][..],
            &["run", "--clients=7", "app.toml"],
            &["run", "--limit=first.p95<1s", "app.toml"],
            &["audit", "--limit=delivery.p95<1s"],
            &["saturate", "--levels=5,10", "--header=A: b"],
        ] {
            assert_eq!(checked(words), Ok(()), "{words:?}");
        }
        for words in [
            &["echo", "--clients=soon"][..],
            &["echo", "--duration=$(reboot)"],
            &["echo", "--limit=--strict"],
            &["run", "--limit=sixth.p95<1s", "app.toml"],
            &["audit", "--limit=first.p95<1s"],
            &["echo", "--header=Cookie"],
            &["saturate", "--levels=5,--out"],
            &["echo", "--levels=5"],
        ] {
            assert!(checked(words).is_err_and(|problem| !problem.contains('\n')), "{words:?}");
        }
        assert!(checked(&["run"]).is_err_and(|problem| problem.contains("<FILE>")));
    }
}
