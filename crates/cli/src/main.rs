//! The `throng` binary: reads the command line and hands over to one file per verb.

// They panic when the reader is gone; `stderr` and `output` do not.
#![deny(clippy::print_stderr, clippy::print_stdout)]

mod answer;
mod app_file;
mod archive;
mod browser;
mod buffered_output;
mod builtin;
mod calibration;
mod doctor;
#[cfg(test)]
mod documented;
mod estimate;
mod exit;
mod exports;
mod flags;
mod help;
mod hidden;
mod history;
mod inputs;
mod installed;
mod interrupts;
mod locale;
mod look;
mod mistyped;
mod output;
mod pages;
mod people;
mod plan;
mod preflight;
mod processes;
mod progress;
mod protocol_flags;
mod publishing;
mod request;
mod restarts;
mod results_file;
mod run;
mod screen;
mod secrets;
mod stand_in;
mod stderr;
mod target;
mod terminal;
mod trial;
mod verbs;

use std::env;
use std::ffi::OsString;
use std::process::{self, ExitCode};

use clap::error::ErrorKind::{self, DisplayHelpOnMissingArgumentOrSubcommand};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::exit::{Exit, Failure};
use crate::verbs::calibrate::Calibrate;
use crate::verbs::doctor::Doctor;
use crate::verbs::loads::LoadVerb;
use crate::verbs::report::Report;
use crate::verbs::shootout::Shootout;
use crate::verbs::targets::Targets;
use crate::verbs::ui::Ui;
use crate::verbs::{
    agent, audit, compare, completions, docs, events, fleet, init, probe, record, run as run_app, runs, serve,
};

/// Results outlive a lack of memory.
#[global_allocator]
static ALLOCATOR: net::reserve::Allocator = net::reserve::Allocator;

/// How much does your realtime server hold, where does it break, and can you believe the number?
#[derive(Parser)]
#[command(name = "throng", version, override_help = help::OVERVIEW, max_term_width = help::COLUMNS)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
#[allow(clippy::large_enum_variant)] // there is one in a process
enum Verb {
    Serve(serve::Serve),
    #[command(flatten)]
    Load(LoadVerb),
    Run(run_app::Run),
    Audit(audit::Audit),
    Init(init::Init),
    Record(record::Record),
    Probe(probe::Probe),
    Runs(runs::Runs),
    Report(Report),
    Shootout(Shootout),
    Ui(Ui),
    Targets(Targets),
    Compare(compare::Compare),
    Events(events::Events),
    Agent(agent::Agent),
    Fleet(fleet::Fleet),
    Doctor(Doctor),
    Calibrate(Calibrate),
    Completions(completions::Completions),
    Man(completions::Man),
    Docs(docs::Docs),
    #[command(hide = true, name = hidden::CHILD)]
    Child,
    #[command(hide = true, name = hidden::GUARD)]
    Guard,
    #[command(hide = true, name = hidden::WORDS)]
    Words {
        /// The command line as others may see it
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        shown: Vec<String>,
    },
}

fn main() -> ExitCode {
    if let Err(error) = net::signals::survive_file_size_limit() {
        return Failure::without_signals(&error).report().into();
    }
    let outcome = command_line().and_then(|cli| match cli.verb {
        Verb::Serve(serve) => serve.run(),
        Verb::Load(load) => load.run(),
        Verb::Run(run) => run.run(),
        Verb::Audit(audit) => audit.run(),
        Verb::Init(init) => init.run(),
        Verb::Record(record) => record.run(),
        Verb::Probe(probe) => probe.run(),
        Verb::Runs(runs) => runs.run(),
        Verb::Report(report) => report.run(),
        Verb::Shootout(shootout) => shootout.run(),
        Verb::Ui(ui) => ui.run(Cli::command),
        Verb::Targets(targets) => targets.run(),
        Verb::Compare(compare) => compare.run(),
        Verb::Events(events) => events.run(),
        Verb::Agent(agent) => agent.run(),
        Verb::Fleet(fleet) => fleet.run(),
        Verb::Doctor(doctor) => doctor.run(),
        Verb::Calibrate(calibrate) => calibrate.run(),
        Verb::Completions(completions) => completions.run(&Cli::command()),
        Verb::Man(man) => man.run(Cli::command()),
        Verb::Docs(docs) => docs.run(),
        Verb::Child => hidden::run_child(),
        Verb::Guard => hidden::run_guard(),
        Verb::Words { .. } => {
            Err(Failure::usage(hidden::WORDS, "what it reads is a command line of another verb"))
        }
    });
    outcome.unwrap_or_else(|failure| failure.report()).into()
}

/// Our own command line, or the one that it says is to be read.
fn command_line() -> Result<Cli, Failure> {
    let mut words = look::spelled_out(env::args_os().collect());
    let mut cli = parse(&words);
    if let Verb::Words { .. } = cli.verb {
        words = hidden::read_words()?;
        cli = parse(&words);
    }
    secrets::begin(words);
    Ok(cli)
}

/// Reads a command line. One that makes no sense, or asks for help, ends the process.
fn parse(words: &[OsString]) -> Cli {
    if words.len() < 2 {
        stderr::text(help::WELCOME);
        process::exit(Exit::BadUsage as i32);
    }
    let texts: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    // Before anything can go wrong: a program that asked for JSON has to get some.
    stand_in::begin(texts.iter().map(String::as_str));
    if let Some(failure) = mistaken(&texts) {
        process::exit(failure.report() as i32);
    }
    // Before clap reads the words, because its errors quote them.
    secrets::know(secrets::in_command(texts.clone()));
    run::next::begin(Cli::command);
    let matches = help::full(Cli::command()).try_get_matches_from(words);
    matches.and_then(|matches| Cli::from_arg_matches(&matches)).unwrap_or_else(|error| {
        let is_help = error.kind() == ErrorKind::DisplayHelp;
        let is_mistake = error.use_stderr() && error.kind() != DisplayHelpOnMissingArgumentOrSubcommand;
        if is_mistake {
            process::exit(Failure::of_clap(&error, &Cli::command(), &texts).report() as i32);
        }
        if let Some(text) =
            texts.iter().skip(1).find(|word| *word != "help").filter(|_| is_help).and_then(|verb| {
                let is_brief = texts.iter().any(|word| word == "-h");
                let of = if is_brief { help::brief } else { help::whole };
                of(&Cli::command(), verb)
            })
        {
            print_help(text);
        }
        // Without colours, which is less than letters that a terminal does not have.
        if locale::is_ascii() && !error.use_stderr() {
            print_help(error.render().to_string());
        }
        error.exit()
    })
}

fn print_help(text: String) -> ! {
    let exit = output::print(&locale::spelled(text)).unwrap_or_else(Failure::report);
    process::exit(exit as i32);
}

/// The mistakes that clap cannot know: `-q 50`, which is a rate to hey and oha, and an app file without a
/// verb.
fn mistaken(words: &[String]) -> Option<Failure> {
    if let Some(file) = words.get(1).filter(|word| word.ends_with(".toml")) {
        let command = results::command_line(&["throng".to_owned(), "run".to_owned(), file.clone()]);
        return Some(Failure::usage(file, format!("an app file needs a verb; type {command}")));
    }
    let is_rate = |pair: &&[String]| pair[0] == "-q" && pair[1].parse::<f64>().is_ok();
    let rate = &words.windows(2).find(is_rate)?[1];
    let command = Cli::command();
    let verb = words.get(1).and_then(|verb| command.find_subcommand(verb));
    let has_rate = verb.is_some_and(|verb| verb.get_arguments().any(|arg| arg.get_long() == Some("rate")));
    let remedy = if has_rate { format!("; for a rate, type --rate {rate}") } else { String::new() };
    let problem = format!("-q takes no value: it prints the result alone{remedy}");
    Some(Failure::usage(&format!("-q {rate}"), problem))
}

#[cfg(test)]
mod tests {
    use clap::Command;

    use super::*;

    /// A terminal has 80 columns, and clap breaks what is longer without a thought for its alignment.
    const COLUMNS_MAX: usize = 78;

    #[test]
    fn aligned_help_fits_a_terminal() {
        fn check(command: &Command, wide: &mut Vec<String>) {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let is_wide = |line: &&str| line.starts_with(' ') && line.chars().count() > COLUMNS_MAX;
            wide.extend(help.lines().filter(is_wide).map(|line| format!("{}: {line}", command.get_name())));
            for verb in command.get_subcommands() {
                check(verb, wide);
            }
        }
        let mut wide = Vec::new();
        check(&Cli::command(), &mut wide);
        assert!(wide.is_empty(), "{}", wide.join("\n"));
    }

    #[test]
    fn rates_are_proposed_where_there_are_some() {
        for (verb, has_rate) in [("echo", true), ("serve", false), ("ws://h/", false)] {
            let words = ["throng", verb, "-q", "50"].map(str::to_owned);
            let failure = mistaken(&words).expect("-q has no value");
            assert_eq!(failure.to_string().contains("--rate 50"), has_rate, "{failure}");
        }
    }

    #[test]
    fn a_flag_s_other_names_are_other_names() {
        for verb in Cli::command().get_subcommands() {
            for argument in verb.get_arguments() {
                let aliases = argument.get_all_aliases().unwrap_or_default();
                let is_same = argument.get_long().is_some_and(|long| aliases.contains(&long));
                assert!(!is_same, "{}: {argument}", verb.get_name());
            }
        }
    }
}
