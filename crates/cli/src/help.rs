//! The help texts of throng: without arguments, with `-h`, and with `--help`. (The manual has the same text
//! as `--help`.)

use clap::builder::Resettable;
use clap::{Arg, Command};
use textwrap::{Options, WordSeparator, WordSplitter};

/// The output of `throng` without arguments.
pub(crate) const WELCOME: &str = "\
How much does your realtime server hold, where does it break, and can you
believe the number? Three things to try:

  throng HOST:PORT                          look at a server: what it speaks,
                                            and which command loads it
  throng echo --clients 100 --duration 10s  a first result, with throng's own
                                            server (or with yours: add its URL)
  throng init                               write an app file: what your app's
                                            clients send and receive

Every command is in throng --help, the usual flags of one in throng echo -h.
";

/// The text of `throng -h`: all verbs, by their purpose.
pub(crate) const OVERVIEW: &str = "\
How much does your realtime server hold, where does it break, and can you
believe the number?

Usage: throng COMMAND [OPTIONS]     all flags: throng COMMAND --help
       throng URL                   look at a server: what it speaks

Load a server (without a URL: throng's own)
  echo         each client sends, and the server sends it back: latency
  broadcast    each message goes to every client: how many clients?
  saturate     raise the rate until the server is overloaded
  http         requests per second and latency
  stream       answers that come in pieces: first event, gaps, stalls
  idle         connections that do nothing: memory for each
  storm        clients lose their connections: how long until all are back?
  audit        which messages arrive when clients drop?
  run          your own app, as a file describes it
  init         write such a file
  record       write it from a session of your app in a browser
  probe        a server's data sheet: limits, timeouts
  serve        throng's own server, to try things on

Results
  runs         list, trend, show, tag, delete, export and import finished runs
  report       a run as a page, a table or data
  compare      is B slower than A, beyond noise?
  events       print an event log
  ui           runs in the browser, also live

Many servers, many machines, this machine
  shootout     install, check, load and rank servers
  targets      the servers that can be installed here
  agent        join a fleet
  fleet        the agents of a fleet
  doctor       can this machine hold N clients?
  calibrate    what can the generator do on this machine?
  completions  for a shell
  man          the manual page of a verb
  docs         the documentation: topics, and each of their pages

Exit codes: 0 success, 1 could not run, 2 bad usage, 3 a limit was broken,
4 limited by generator or machine (--strict), 5 unclear (compare --fail-if),
6 the generator could not go on, 130 interrupted (what was measured is kept)
";

/// Columns of a terminal, and the margin of what is said of a flag.
pub(crate) const COLUMNS: usize = 80;
const INDENT: usize = 10;

/// A flag's long name, and the line that `-h` has for it.
type Row = (&'static str, &'static str);

/// The flags that nine of ten runs need.
const OF_LOADS: [Row; 41] = [
    ("clients", "clients"),
    ("connections", "connections"),
    ("levels", "numbers of clients, one after another"),
    ("duration", "how long it lasts: 30s, 5m; 30 is seconds"),
    ("rate", "messages or requests per second (open model)"),
    ("concurrent", "messages under way at once (closed model)"),
    ("sample-size", "messages in a step of a closed model (also -n)"),
    ("amount", "stop after this many requests (also -n)"),
    ("interval", "each client sends once in this time"),
    ("share", "share of the clients that drop, e.g. 50%"),
    ("restart-command", "restart the server by this instead"),
    ("pipelining", "messages or requests under way per connection"),
    ("search", "find how many clients are too many"),
    ("step-size", "add this many clients at each step"),
    ("total-steps", "end after this many steps"),
    ("limit-rtt", "end the steps above this round trip"),
    ("protocol", "raw, json, actioncable, phoenix, socketio, …"),
    ("app", "a file that describes your app (throng init)"),
    ("event", "the name of your app's message"),
    ("body", "the body of a message or request"),
    ("method", "GET, POST, …"),
    ("api", "ask as clients of openai, ollama, … do"),
    ("prompt", "the prompt that --api sends"),
    ("end", "the text that ends an answer, e.g. [DONE]"),
    ("payload-padding", "bytes of padding in a message"),
    ("users", "a CSV file with a row for each client"),
    ("room-size", "clients that share a room"),
    ("to", "receivers of a message: all or others"),
    ("header", "a header: 'Cookie: …'; secrets as env:NAME"),
    ("token", "a token that lets clients in, as env:NAME"),
    ("origin", "the Origin header"),
    ("connect-rate", "new connections per second"),
    ("connect-timeout", "time for a client to connect [default: 2s]"),
    ("wait-for", "wait this long for a server that starts"),
    ("limit", "exit code 3 unless this holds: 'p95<250ms'"),
    ("strict", "exit code 4 if throng may be the limit"),
    ("format", "text, json, csv, md, junit"),
    ("out", "write the results file into this directory"),
    ("name", "a name: runs of one name are a series"),
    ("quiet", "print the result alone"),
    ("echo", "echoes instead of broadcasts or silence"),
];

const OF_SERVE: [Row; 12] = [
    ("listen", "address and port [default: 127.0.0.1:9000]"),
    ("port", "the port, at 127.0.0.1 or --host"),
    ("cert", "TLS: the certificate chain (PEM)"),
    ("key", "TLS: its private key (PEM)"),
    ("origin", "serve only this origin"),
    ("login", "clients log in by the form at /login"),
    ("jwt-secret", "clients bring a JWT signed with this"),
    ("threads", "threads in each process [default: by CPUs]"),
    ("processes", "processes, for more connections"),
    ("history", "keep messages for clients that resume"),
    ("fault", "misbehave: drop=1/1000,delay=5ms,…"),
    ("quiet", "print nothing"),
];

const OF_SHOOTOUT: [Row; 10] = [
    ("targets", "only these servers"),
    ("only", "only these scenarios of the suite"),
    ("scale", "shorten everything, e.g. 0.1"),
    ("repeats", "rounds of each server"),
    ("budget", "begin no round that ends after this time"),
    ("no-install", "leave out what is not installed"),
    ("out", "keep everything in this directory"),
    ("resume", "continue the shootout in this directory"),
    ("recap", "print the newest shootout of each suite"),
    ("format", "text, md or json"),
];

/// Text of `-h` of a verb with many flags; `None`: clap's own text has room for all of its flags.
pub(crate) fn brief(command: &Command, verb: &str) -> Option<String> {
    let verb = command.get_subcommands().find(|known| known.get_name() == verb)?;
    let rows = rows(verb)?;
    let name = verb.get_name();
    let places: String = verb.get_positionals().map(|place| format!(" {place}")).collect();
    let about = verb.get_about().map(ToString::to_string).unwrap_or_default();
    let mut text = format!("{about}\n\nUsage: throng {name} [OPTIONS]{places}\n\n");
    let flags: Vec<(&Arg, &str)> = usual(verb, rows).collect();
    let width = flags.iter().map(|(flag, _)| spelled(flag).chars().count()).max().unwrap_or_default();
    for (flag, line) in &flags {
        text.push_str(&format!("  {:width$}  {line}\n", spelled(flag)));
    }
    // Counted as `--help` lists them.
    let is_shown = |argument: &&Arg| argument.get_long().is_some() && !argument.is_hide_set();
    let all = verb.get_arguments().filter(is_shown).count();
    text.push_str(&format!("\nAll {all} flags: throng {name} --help\n"));
    Some(text)
}

/// Rows of `-h` of a verb with many flags.
fn rows(verb: &Command) -> Option<&'static [Row]> {
    match verb.get_name() {
        "serve" => Some(&OF_SERVE),
        "shootout" => Some(&OF_SHOOTOUT),
        _ if is_load(verb) => Some(&OF_LOADS),
        _ => None,
    }
}

/// The verb's flags that have a row, with its line.
fn usual<'a>(verb: &'a Command, rows: &'static [Row]) -> impl Iterator<Item = (&'a Arg, &'static str)> {
    rows.iter().filter_map(|&(long, line)| {
        let is_it = |argument: &&Arg| argument.get_long() == Some(long) && !argument.is_hide_set();
        Some((verb.get_arguments().find(is_it)?, line))
    })
}

/// Verbs that load a server, each with the usual flags that `-h` lists.
pub(crate) fn loads(command: &Command) -> impl Iterator<Item = (&Command, Vec<(&Arg, &'static str)>)> {
    let loads = command.get_subcommands().filter(|verb| is_load(verb));
    loads.map(|verb| (verb, usual(verb, &OF_LOADS).collect()))
}

/// `-d, --duration <TIME>`
fn spelled(flag: &Arg) -> String {
    let short = flag.get_short().map_or("    ".to_owned(), |short| format!("-{short}, "));
    let long = flag.get_long().unwrap_or_default();
    let takes_value = flag.get_action().takes_values();
    let names = flag.get_value_names().filter(|_| takes_value).unwrap_or_default();
    let value = names.first().map(|name| format!(" <{name}>")).unwrap_or_default();
    format!("{short}--{long}{value}")
}

/// Verbs that load a server all end in a report, unless they are told not to.
fn is_load(verb: &Command) -> bool {
    verb.get_arguments().any(|argument| argument.get_id() == "no_report") && verb.get_name() != "shootout"
}

/// The command as `--help` shows it: every flag, each beside its text and without an empty line between them.
pub(crate) fn full(command: Command) -> Command {
    command.mut_subcommands(|verb| {
        let about = verb.get_long_about().or(verb.get_about()).cloned();
        let after = verb.get_after_long_help().or(verb.get_after_help()).cloned();
        let verb = verb.about(Resettable::from(about)).long_about(Resettable::Reset);
        let verb = verb.after_help(Resettable::from(after)).after_long_help(Resettable::Reset);
        // When clap comes to this verb: the texts of all verbs' flags took longer than the rest of a start.
        full(verb).defer(|verb| verb.mut_args(compact))
    })
}

/// Text of `--help` of a verb with many flags; `None`: clap's own text is short enough. Beside a column of flags,
/// half of a terminal would be left for what is said of them, and most of that would take three lines.
pub(crate) fn whole(command: &Command, verb: &str) -> Option<String> {
    let mut command = full(command.clone());
    command.build();
    let verb = command.get_subcommands().find(|known| known.get_name() == verb)?;
    rows(verb)?;
    let about = verb.get_about().map(ToString::to_string).unwrap_or_default();
    let mut text: String = about.lines().map(|line| filled(line, 0) + "\n").collect();
    text.push_str(&format!("\n{}\n", verb.clone().render_usage()));
    let is_shown = |argument: &&Arg| !argument.is_hide_set();
    let shown: Vec<&Arg> = verb.get_arguments().filter(is_shown).collect();
    let heading = |argument: &Arg| argument.get_help_heading().map(str::to_owned);
    let mut headings: Vec<Option<String>> = Vec::new();
    for argument in &shown {
        let heading = heading(argument);
        if !headings.contains(&heading) {
            headings.push(heading);
        }
    }
    // What has none is what stands in the usage.
    headings.sort_by_key(Option::is_some);
    for group in headings {
        text.push_str(&group.as_ref().map_or("\n".to_owned(), |name| format!("\n{name}:\n")));
        for argument in shown.iter().filter(|argument| heading(argument) == group) {
            text.push_str(&filled(&described(argument), INDENT));
            text.push('\n');
        }
    }
    let after = verb.get_after_help().map(|after| format!("\n{after}\n"));
    Some(text + &after.unwrap_or_default())
}

/// A flag and all that is said of it, its default and its values included.
fn described(argument: &Arg) -> String {
    let name = if argument.is_positional() { argument.to_string() } else { spelled(argument) };
    let mut text = format!("  {name}  {}", argument.get_help().map(ToString::to_string).unwrap_or_default());
    let list = |names: Vec<String>| names.join(", ");
    let takes_value = argument.get_action().takes_values();
    let defaults = argument.get_default_values().iter().map(|value| value.to_string_lossy().into_owned());
    let defaults = list(defaults.filter(|_| takes_value && !argument.is_hide_default_value_set()).collect());
    let aliases = argument.get_visible_aliases().unwrap_or_default();
    let aliases = list(aliases.into_iter().map(|alias| format!("--{alias}")).collect());
    let values = argument.get_possible_values();
    let is_listed = takes_value && !argument.is_hide_possible_values_set();
    let values = list(values.iter().filter(|_| is_listed).map(|value| value.get_name().to_owned()).collect());
    for (what, names) in [("default", defaults), ("also", aliases), ("possible values", values)] {
        if !names.is_empty() {
            text.push_str(&format!(" [{what}: {names}]"));
        }
    }
    text
}

/// Text in lines of a terminal, of which those after the first begin further in.
fn filled(text: &str, indent: usize) -> String {
    let margin = " ".repeat(indent);
    let options = Options::new(COLUMNS).subsequent_indent(&margin).word_splitter(WordSplitter::NoHyphenation);
    textwrap::fill(text, options.word_separator(WordSeparator::AsciiSpace).break_words(false))
}

/// A flag whose text, names of values and all, is on as few lines as it needs: clap would put it below the
/// flag.
fn compact(flag: Arg) -> Arg {
    let text = flag.get_long_help().or(flag.get_help()).map(ToString::to_string).unwrap_or_default();
    let mut text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let values = flag.get_possible_values();
    if values.iter().any(|value| value.get_help().is_some()) {
        let names: Vec<&str> = values.iter().map(|value| value.get_name()).collect();
        text.push_str(&format!(" [possible values: {}]", names.join(", ")));
    }
    let is_listed = text.contains("[possible values");
    flag.help(text).long_help(Resettable::Reset).hide_possible_values(is_listed)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::Cli;

    const BRIEF_LINES_MAX: usize = 45;
    const FULL_LINES_MAX: usize = 250;

    /// The command lines of all verbs, with the texts of `-h` and `--help`.
    fn texts() -> Vec<(String, String, String)> {
        let command = Cli::command();
        let verbs: Vec<String> = command.get_subcommands().map(|verb| verb.get_name().to_owned()).collect();
        let rendered = |command: &Command, name: &str| {
            let verb = command.get_subcommands().find(|verb| verb.get_name() == name).expect("a verb");
            verb.clone().term_width(COLUMNS).render_help().to_string()
        };
        let full = full(Cli::command());
        let of = |name: String| {
            let short = brief(&command, &name).unwrap_or_else(|| rendered(&command, &name));
            let long = whole(&command, &name).unwrap_or_else(|| rendered(&full, &name));
            (name, short, long)
        };
        verbs.into_iter().map(of).collect()
    }

    #[test]
    fn help_fits_a_terminal() {
        let texts = texts();
        assert!(texts.len() > 20, "{}", texts.len());
        let mut wrong = Vec::new();
        for (verb, short, long) in &texts {
            let lines = (short.lines().count(), long.lines().count());
            if lines.0 > BRIEF_LINES_MAX || lines.1 > FULL_LINES_MAX {
                wrong.push(format!("{verb}: {lines:?} lines"));
            }
            let wide = short.lines().chain(long.lines()).filter(|line| line.chars().count() > COLUMNS);
            wrong.extend(wide.map(|line| format!("{verb}: {line}")));
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn long_help_has_every_flag() {
        let command = Cli::command();
        for verb in command.get_subcommands() {
            let Some(text) = whole(&command, verb.get_name()) else { continue };
            for flag in verb.get_arguments().filter(|flag| !flag.is_hide_set()) {
                let name = flag.get_long().map_or_else(|| flag.to_string(), |long| format!("--{long}"));
                assert!(text.lines().any(|line| line.contains(&name)), "{}: {name}", verb.get_name());
            }
            assert!(text.contains(&format!("Usage: throng {}", verb.get_name())), "{text}");
        }
        let echo = whole(&command, "echo").unwrap();
        for part in ["[URL]", "[default: 128]", "[possible values: ", "[also: --", "Print help", "\nSteps:\n"]
        {
            assert!(echo.contains(part), "{part}: {echo}");
        }
    }

    #[test]
    fn lines_are_of_flags_that_there_are() {
        let command = Cli::command();
        let has = |is: fn(&Command) -> bool, long: &str| {
            let mut verbs = command.get_subcommands().filter(|verb| is(verb));
            verbs.any(|verb| verb.get_arguments().any(|argument| argument.get_long() == Some(long)))
        };
        let unknown = |rows: &[Row], is: fn(&Command) -> bool| -> Vec<&str> {
            rows.iter().map(|(long, _)| *long).filter(|long| !has(is, long)).collect()
        };
        let none: [&str; 0] = [];
        assert_eq!(unknown(&OF_LOADS, is_load), none);
        assert_eq!(unknown(&OF_SERVE, |verb| verb.get_name() == "serve"), none);
        assert_eq!(unknown(&OF_SHOOTOUT, |verb| verb.get_name() == "shootout"), none);
        for verb in ["echo", "broadcast"] {
            let text = brief(&command, verb).unwrap();
            for flag in ["--origin", "--connect-timeout", "--search", "--header"] {
                assert!(text.contains(flag), "{verb} -h has no {flag}: {text}");
            }
        }
    }

    #[test]
    fn the_overview_has_every_verb() {
        let command = Cli::command();
        let verbs = command.get_subcommands().filter(|verb| !verb.is_hide_set());
        let missing: Vec<&str> = verbs
            .map(Command::get_name)
            .filter(|verb| !OVERVIEW.lines().any(|line| line.starts_with(&format!("  {verb} "))))
            .collect();
        assert!(missing.is_empty(), "{missing:?}");
        for text in [OVERVIEW, WELCOME] {
            assert!(text.lines().count() <= BRIEF_LINES_MAX && text.lines().all(|line| line.len() <= 79));
        }
    }
}
