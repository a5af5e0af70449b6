//! The command lines that pages show are ones that the command line takes.

use std::fs;
use std::path::PathBuf;

use clap::{Arg, CommandFactory, Parser};

use crate::Cli;
use crate::look::spelled_out;

/// Folders of pages, from the root.
const FOLDERS: [&str; 4] = [".", "docs", "docs/apps", "python"];

/// Words from which on a line is the shell's business.
const SHELL: [&str; 4] = ["|", "||", ">", "&"];

fn pages() -> Vec<PathBuf> {
    let root = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let examples = fs::read_dir(root.join("examples")).unwrap().map(|entry| entry.unwrap().path());
    let folders = FOLDERS.map(|folder| root.join(folder)).into_iter().chain(examples);
    let files = folders.filter(|folder| folder.is_dir()).flat_map(|folder| fs::read_dir(folder).unwrap());
    let files = files.map(|entry| entry.unwrap().path());
    files.filter(|file| file.extension().is_some_and(|extension| extension == "md")).collect()
}

/// The word, with a secret in place of the name of one that is not here: the seed of a key, which passes for
/// any other.
fn known(word: String) -> String {
    let is_named = ["env:", "file:"].iter().any(|place| word.starts_with(place));
    if is_named { nkeys::KeyPair::new_user().seed().unwrap() } else { word }
}

/// The words of each command of throng in the page's blocks of code.
fn commands(text: &str) -> Vec<Vec<String>> {
    let (mut is_fenced, mut is_output) = (false, false);
    let mut commands = Vec::new();
    for line in text.replace("\\\n", " ").lines() {
        if let Some(language) = line.strip_prefix("```") {
            is_fenced = !is_fenced;
            is_output = language == "text";
        }
        if is_fenced && is_output {
            continue;
        }
        let line = if is_fenced { line } else { line.strip_prefix("    ").unwrap_or_default() };
        let line = line.split_once("$ ").map_or(line, |(_, typed)| typed).trim_start();
        if line.starts_with("throng ") {
            let words = shlex::split(line).unwrap_or_else(|| panic!("quotes of {line}"));
            let words = words.into_iter().take_while(|word| !SHELL.contains(&word.as_str()));
            commands.push(words.map(known).collect());
        }
    }
    commands
}

/// The words of each command of throng within prose, which may leave out all but its verbs and flags.
fn spans(text: &str) -> Vec<Vec<String>> {
    // Spans go on in the next line.
    let text = text.replace('\n', " ");
    let spans = text.split('`').filter(|span| span.starts_with("throng "));
    spans.map(|span| span.split_whitespace().map(str::to_owned).collect()).collect()
}

/// Returns whether the verb that the words begin with has their long flags; placeholders of verbs have any.
fn has_flags(command: &clap::Command, words: &[String]) -> bool {
    let Some(mut verb) = words.get(1).and_then(|word| command.find_subcommand(word)) else { return true };
    for word in &words[2..] {
        if let Some(below) = verb.find_subcommand(word) {
            verb = below;
        }
        let Some(flag) = word.strip_prefix("--") else { continue };
        let flag = flag.split(['=', ',']).next().unwrap_or(flag);
        let is_it = |arg: &Arg| {
            arg.get_long() == Some(flag) || arg.get_all_aliases().is_some_and(|names| names.contains(&flag))
        };
        if !verb.get_arguments().any(is_it) {
            return false;
        }
    }
    true
}

#[test]
fn flags_in_prose_exist() {
    let mut command = Cli::command();
    command.build();
    let mut count = 0;
    for page in pages() {
        for words in spans(&fs::read_to_string(&page).unwrap()) {
            count += 1;
            assert!(has_flags(&command, &words), "{}: {}", page.display(), words.join(" "));
        }
    }
    assert!(count > 100, "{count}");
    let [known, unknown] = ["throng runs\nlist --tag=x", "throng echo --clients 2 --no-such-flag"];
    assert!(has_flags(&command, &spans(&format!("`{known}`"))[0]));
    assert!(!has_flags(&command, &spans(&format!("`{unknown}`"))[0]));
}

#[test]
fn commands_in_pages_are_taken() {
    let mut count = 0;
    let mut refused = Vec::new();
    for page in pages() {
        for words in commands(&fs::read_to_string(&page).unwrap()) {
            count += 1;
            if let Err(error) = Cli::try_parse_from(spelled_out(words.iter().map(Into::into).collect())) {
                refused.push(format!("{}: {}\n{error}", page.display(), words.join(" ")));
            }
        }
    }
    assert!(count > 100, "{count}");
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}

#[test]
fn commands_are_those_in_code() {
    let text = "throng echo\n```text\nthrong echo · what it prints\n```\n\n    $ throng echo -d 1 \\\n      -c 2  # said\n```\nhost$ throng idle | cat\n```\n";
    let expected: [&[&str]; 2] = [&["throng", "echo", "-d", "1", "-c", "2"], &["throng", "idle"]];
    assert_eq!(commands(text), expected);
}
