//! Help texts: alone, and with `-h`. (`--help` and the manual say everything.)

use clap::Command;

/// `throng` without a word.
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

/// The flags changed in most runs, by their long names. Of a verb that loads a server, `-h` shows these and no others.
const USUAL: [&str; 32] = [
    "clients",
    "connections",
    "duration",
    "rate",
    "concurrent",
    "interval",
    "levels",
    "share",
    "restart-command",
    "echo",
    "amount",
    "pipelining",
    "method",
    "body",
    "to",
    "room-size",
    "step-size",
    "limit-rtt",
    "search",
    "dialect",
    "app",
    "event",
    "payload-padding",
    "header",
    "token",
    "people",
    "connect-rate",
    "wait-for",
    "limit",
    "strict",
    "format",
    "out",
];

/// The command whose verbs that load a server show with `-h` what is usual.
pub(crate) fn brief(command: Command) -> Command {
    command.mut_subcommands(|verb| if is_load(&verb) { brief_verb(verb) } else { verb })
}

/// They all end in a report, unless they are told not to.
fn is_load(verb: &Command) -> bool {
    verb.get_arguments().any(|argument| argument.get_id() == "no_report") && verb.get_name() != "shootout"
}

fn brief_verb(verb: Command) -> Command {
    let all = verb
        .get_arguments()
        .filter(|argument| argument.get_long().is_some() && !argument.is_hide_set())
        .count();
    let more = format!("throng {} --help has all {all} flags.", verb.get_name());
    verb.after_help(more).after_long_help("").mut_args(|argument| {
        let is_usual = argument.get_long().is_none_or(|name| USUAL.contains(&name));
        argument.hide_short_help(!is_usual)
    })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::Cli;

    #[test]
    fn short_help_fits_a_terminal() {
        let command = brief(Cli::command());
        let verbs: Vec<&Command> = command.get_subcommands().filter(|verb| is_load(verb)).collect();
        assert_eq!(verbs.len(), 8, "echo, broadcast, saturate, http, idle, storm, run, audit");
        for verb in &verbs {
            let shown = verb
                .get_arguments()
                .filter(|argument| !argument.is_hide_set() && !argument.is_hide_short_help_set());
            let shown = shown.count();
            assert!((8..=25).contains(&shown), "{}: {shown}", verb.get_name());
        }
        let is_flag = |name: &&str| {
            verbs.iter().any(|verb| verb.get_arguments().any(|argument| argument.get_long() == Some(name)))
        };
        let unknown: Vec<&str> = USUAL.into_iter().filter(|name| !is_flag(name)).collect();
        assert!(unknown.is_empty(), "no verb has {unknown:?}");
    }

    #[test]
    fn the_welcome_fits_a_terminal() {
        assert!(WELCOME.lines().all(|line| line.chars().count() <= 79));
    }
}
