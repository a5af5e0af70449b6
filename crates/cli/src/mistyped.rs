//! Errors of the command line that clap finds, told as all others are: the flag, the problem, and the next thing to
//! type. clap's own take up to six lines.

use std::error::Error as _;
use std::net::SocketAddr;

use clap::Command;
use clap::error::{ContextKind, Error, ErrorKind};

use crate::stand_in;

/// A tip for a conflict of flags, where users of other tools mean something else by one of them.
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

/// A flag that other load generators have, or that is easily guessed, and those of ours that do the same, of
/// which a verb has one.
struct Foreign {
    name: &'static str,
    ours: &'static [&'static str],
}

const CLIENTS: &[&str] = &["--clients", "--connections"];
const RATE: &[&str] = &["--rate"];
const MESSAGES: &[&str] = &["--sample-size", "--amount"];

/// Flags of k6, Artillery, hey, oha, autocannon and wrk; and names that could mean two things here.
const FOREIGN: [Foreign; 18] = [
    Foreign { name: "-c", ours: CLIENTS },
    Foreign { name: "-u", ours: CLIENTS },
    Foreign { name: "--vus", ours: CLIENTS },
    Foreign { name: "--connections", ours: CLIENTS },
    Foreign { name: "--count", ours: CLIENTS },
    Foreign { name: "--qps", ours: RATE },
    Foreign { name: "--rps", ours: RATE },
    Foreign { name: "--arrival-rate", ours: RATE },
    Foreign { name: "--iterations", ours: MESSAGES },
    Foreign { name: "--requests", ours: MESSAGES },
    Foreign { name: "--timeout", ours: &["--connect-timeout"] },
    Foreign { name: "--threshold", ours: &["--limit"] },
    Foreign { name: "--thresholds", ours: &["--limit"] },
    Foreign { name: "-k", ours: &["--insecure"] },
    Foreign { name: "--rooms", ours: &["--room-count"] },
    Foreign { name: "--people", ours: &["--users"] },
    Foreign { name: "--users", ours: &["--sessions"] },
    Foreign { name: "--data", ours: &["--payload-rows", "--body"] },
];

/// The verb that a URL alone stands for, and the one that loads a server.
const LOOK: &str = "probe";
const LOAD: &str = "echo";

/// The words of an error of the command line `words`, on one line: `--vus: no such flag of throng echo; …`.
pub(crate) fn told(error: &Error, command: &Command, words: &[String]) -> String {
    let named = |kind| error.get(kind).map(ToString::to_string).unwrap_or_default();
    let flag = flag(&named(ContextKind::InvalidArg));
    let value = named(ContextKind::InvalidValue);
    let verb = verb(words, command);
    let of = verb.get_bin_name().unwrap_or("throng");
    match error.kind() {
        ErrorKind::UnknownArgument => unknown(&named(ContextKind::InvalidArg), error, &verb, command, words),
        ErrorKind::InvalidSubcommand => {
            let (given, known) =
                (named(ContextKind::InvalidSubcommand), named(ContextKind::SuggestedSubcommand));
            let all = format!("all commands: {of} --help");
            match known.is_empty() {
                true => format!("{given}: no such command; {all}"),
                false => format!("{given}: no such command; {} ({all})", did_you_mean(&known)),
            }
        }
        ErrorKind::InvalidValue => {
            let known = named(ContextKind::ValidValue);
            let among = if known.is_empty() { String::new() } else { format!(": one of {known}") };
            let meant = named(ContextKind::SuggestedValue);
            let meant = if meant.is_empty() { meant } else { format!("{} ", did_you_mean(&meant)) };
            match value.is_empty() {
                true => format!("{flag}: needs a value{among}"),
                false => format!("{flag} {value}: {meant}expected{}", among.trim_start_matches(':')),
            }
        }
        ErrorKind::ValueValidation => {
            let why = error.source().map(ToString::to_string).unwrap_or_default();
            if why.contains(&value) { format!("{flag}: {why}") } else { format!("{flag} {value}: {why}") }
        }
        ErrorKind::ArgumentConflict => {
            let prior: Vec<String> = named(ContextKind::PriorArg).split(", ").map(self::flag).collect();
            match prior.iter().all(|prior| *prior == flag) {
                true => format!("{flag}: given twice; leave one of them out"),
                false => {
                    let tip = tip(&flag, &prior, words).unwrap_or_else(|| "leave one of them out".to_owned());
                    format!("{flag}: not together with {}; {tip}", prior.join(", "))
                }
            }
        }
        ErrorKind::MissingRequiredArgument => {
            let missing: Vec<String> = named(ContextKind::InvalidArg).split(", ").map(self::flag).collect();
            format!("{}: missing; type {of} -h for its use", missing.join(", "))
        }
        _ => in_a_line(&error.to_string()),
    }
}

/// The words for an argument that the verb does not take.
fn unknown(given: &str, error: &Error, verb: &Command, program: &Command, words: &[String]) -> String {
    let of = verb.get_bin_name().unwrap_or("throng");
    let all = format!("all flags: {of} --help");
    let (what, problem) = match given.starts_with('-') {
        true => (flag(given), "no such flag of"),
        false => (given.to_owned(), "one argument too many for"),
    };
    if let Some(without) = without(verb, &what) {
        return format!("{what}: {problem} {of}; {without} ({all})");
    }
    let loads = verb.get_name() == LOOK || reports(verb);
    let is_of_load = loads && program.find_subcommand(LOAD).is_some_and(|load| has(load, &what));
    let load = || is_of_load.then(|| format!("throng {LOAD}"));
    // clap's own is the flag whose name looks most like it. A flag of another verb is hardly mistyped.
    let similar = error.get(ContextKind::SuggestedArg).map(ToString::to_string);
    let is_like = |arg: &String| !is_of_load || what.starts_with(arg.as_str());
    let similar = similar.filter(|arg| !arg.is_empty() && is_like(arg));
    // wrk has no verbs.
    if of == program.get_name() && what.starts_with('-') && similar.is_none() {
        return format!("{what}: {problem} {of}; begin with a command: throng echo, throng http ({all})");
    }
    let meant = ours(verb, &what).map(str::to_owned).or_else(|| elsewhere(verb, &what, words));
    // A URL alone is looked at: whoever adds a load means to load it.
    let first = if verb.get_name() == LOOK { load() } else { None };
    match first.or(meant).or(similar).or_else(load) {
        Some(meant) => format!("{what}: {problem} {of}; {} ({all})", did_you_mean(&meant)),
        None => format!("{what}: {problem} {of}; {all}"),
    }
}

/// Returns whether a verb loads a server: such verbs end in a report, unless they are told not to.
fn reports(verb: &Command) -> bool {
    has(verb, "--no-report")
}

/// The state of things without a flag that the verb does not have, where it is what the flag is for.
fn without(verb: &Command, flag: &str) -> Option<&'static str> {
    match flag {
        // Of wrk and wrk2.
        "--latency" | "-L" if reports(verb) => Some("latencies are always printed, leave it out"),
        "--stream" if verb.get_name() == "serve" => Some("it answers at /stream anyway: throng docs streams"),
        _ => None,
    }
}

/// Returns whether a verb has a flag that its help shows, by its long or its short name.
fn has(verb: &Command, flag: &str) -> bool {
    verb.get_arguments().filter(|argument| !argument.is_hide_set()).any(|argument| {
        match flag.strip_prefix("--") {
            Some(long) => argument.get_long() == Some(long),
            None => argument.get_short().is_some_and(|short| flag.chars().eq(['-', short])),
        }
    })
}

/// The flag without the name of its value: `--clients` of `--clients <N>`, `URL` of `[URL]`.
fn flag(argument: &str) -> String {
    let name = argument.split([' ', '=']).next().unwrap_or_default();
    name.trim_matches(['<', '>', '[', ']', '.']).to_owned()
}

/// The verb's flag that does what one of another program does.
fn ours(verb: &Command, flag: &str) -> Option<&'static str> {
    // wrk has long flags with one dash, which clap takes for several short ones.
    let foreign = FOREIGN.iter().find(|foreign| foreign.name == flag)?;
    foreign.ours.iter().copied().find(|ours| has(verb, ours))
}

/// The verb's own way to what an argument means that it does not have: verbs differ in how they take a format,
/// and an address stands for a flag elsewhere.
fn elsewhere(verb: &Command, unknown: &str, words: &[String]) -> Option<String> {
    let flag = |long: &str| verb.get_arguments().find(|argument| argument.get_long() == Some(long));
    if unknown.parse::<SocketAddr>().is_ok() {
        return flag("listen").map(|_| format!("--listen {unknown}"));
    }
    if ["--format", "-f"].contains(&unknown) {
        let format = *stand_in::formats(words.iter().map(String::as_str)).first()?;
        return flag(format).map(|_| format!("--{format}"));
    }
    let format = unknown.strip_prefix("--")?;
    let known = flag("format")?.get_possible_values();
    known.iter().any(|value| value.get_name() == format).then(|| format!("--format {format}"))
}

/// The command that the words name, with its full name: `throng runs show`.
fn verb(words: &[String], program: &Command) -> Command {
    let mut command = program.clone();
    command.build();
    for word in words.iter().skip(1) {
        let Some(verb) = command.find_subcommand(word).cloned() else { break };
        command = verb;
    }
    command
}

fn did_you_mean(known: &str) -> String {
    format!("did you mean {known}?")
}

/// The tip for these flags, of which one was given with the others.
fn tip(flag: &str, prior: &[String], words: &[String]) -> Option<String> {
    let is_named = |name: &&str| *name == flag || prior.iter().any(|prior| prior == name);
    let tip = TIPS.iter().find(|tip| tip.flags.iter().all(is_named))?;
    let given = words.windows(2).find(|pair| pair[0] == tip.value_of);
    Some(tip.text.replace('N', given.map_or("N", |pair| pair[1].as_str())))
}

/// Shortens an error of the command line: without its usage.
pub(crate) fn in_a_line(error: &str) -> String {
    let (mistake, more) = error.split_once('\n').unwrap_or((error, ""));
    let tip = more.lines().find_map(|line| line.trim().strip_prefix("tip: "));
    let mistake = mistake.trim_start_matches("error: ");
    tip.map_or_else(|| mistake.to_owned(), |tip| format!("{mistake}; {tip}"))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::Cli;

    fn of(line: &str) -> String {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let error = Cli::command().try_get_matches_from(&words).unwrap_err();
        told(&error, &Cli::command(), &words)
    }

    #[test]
    fn connections_of_wrk_become_clients() {
        for (line, tip) in [
            ("throng echo -c 50 -R 20000", Some("--clients 50")),
            ("throng broadcast --rate 5 -c 70", Some("--clients 70")),
            ("throng echo --rate 5 --concurrency=70", Some("--clients N")),
            ("throng echo --interval 1s -c 50", None),
        ] {
            let text = of(line);
            assert_eq!(text.contains("--clients"), tip.is_some(), "{line}: {text}");
            assert!(tip.is_none_or(|tip| text.ends_with(tip)), "{line}: {text}");
        }
    }

    #[test]
    fn formats_and_addresses_find_their_flags() {
        for (line, meant, verb) in [
            ("throng echo ws://h/ --rate 10 --json", "--format json?", "throng echo"),
            ("throng runs show last --json", "--format json?", "throng runs show"),
            ("throng compare a b --csv", "--format csv?", "throng compare"),
            ("throng report last --format junit", " --junit?", "throng report"),
            ("throng report last -fjson", " --json?", "throng report"),
            ("throng serve 127.0.0.1:9777", "--listen 127.0.0.1:9777?", "throng serve"),
        ] {
            let text = of(line);
            assert!(text.contains(meant) && text.contains(&format!("{verb} --help")), "{line}: {text}");
        }
        let surplus = of("throng echo ws://a/ ws://b/?x=1");
        assert!(surplus.starts_with("ws://b/?x=1: one argument too many"), "{surplus}");
        // What no verb means has clap's own tip at most.
        for line in
            ["throng echo ws://h/ --bogus", "throng calibrate --format json", "throng idle 127.0.0.1:1 x"]
        {
            assert!(!of(line).contains("mean --format") && !of(line).contains("mean --listen"), "{line}");
        }
    }

    #[test]
    fn errors_are_a_line_with_their_flag() {
        for (line, flag, rest) in [
            ("throng echo --vus 10", "--vus", "--clients"),
            ("throng idle -c 5", "-c", "--clients?"),
            ("throng http --qps 10", "--qps", "--rate"),
            ("throng http --vus 10", "--vus", "--connections"),
            ("throng echo -u 10", "-u", "--clients?"),
            ("throng http --rps 10", "--rps", "--rate?"),
            ("throng http --threshold p95<1ms", "--threshold", "--limit?"),
            ("throng http --thresholds p95<1ms", "--thresholds", "--limit?"),
            ("throng http -k", "-k", "--insecure?"),
            ("throng http --iterations 10", "--iterations", "--amount"),
            ("throng echo --rooms 10", "--rooms", "--room-count?"),
            ("throng echo --people users.csv", "--people", "--users?"),
            ("throng record http://h/ --users 2", "--users", "--sessions?"),
            ("throng http --data x", "--data", "--body?"),
            ("throng echo --data rows.csv", "--data", "--payload-rows?"),
            ("throng http --latency", "--latency", "leave it out"),
            ("throng serve --stream", "--stream", "/stream"),
            ("throng -t2 -c10 http://h/", "-t", "throng http"),
            ("throng --verison", "--verison", "--version?"),
            ("throng probe --short ws://h/ --clients 5", "--clients", "throng echo?"),
            ("throng probe --short ws://h/ -c 5", "-c", "throng echo?"),
            ("throng idle --rate 5", "--rate", "throng echo?"),
            ("throng saturate --limit-rtt 1s", "--limit-rtt", "--limit?"),
            ("throng http --connections 10 --bogus", "--bogus", "throng http --help"),
            ("throng echo --clinets 10", "--clinets", "--clients"),
            ("throng ehco", "ehco", "echo"),
            ("throng sing", "sing", "throng --help"),
            ("throng echo --clients many", "--clients", "many"),
            ("throng echo --clients", "--clients", "value"),
            ("throng echo --format pdf", "--format pdf", "junit"),
            ("throng echo --quiet --quiet", "--quiet", "twice"),
            ("throng broadcast --search --total-steps 3", "--search", "--total-steps"),
            ("throng run", "FILE", "throng run -h"),
        ] {
            let text = of(line);
            assert!(text.starts_with(&format!("{flag}: ")), "{line}: {text}");
            assert!(text.contains(rest) && !text.contains('\n') && !text.contains(" -- "), "{line}: {text}");
        }
        let without_latencies = of("throng compare a b -L");
        assert!(!without_latencies.contains("leave it out"), "{without_latencies}");
    }
}
