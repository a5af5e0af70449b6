//! Pages of docs/ whose files and commands tests run.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::throng::{Outcome, run, throng};

/// A run of ten seconds, on a busy machine.
pub const WITHIN: Duration = Duration::from_secs(90);

const SECRETS: [(&str, &str); 6] = [
    ("JWT_SECRET", "open-sesame"),
    ("JWT_KEY", "open-sesame"),
    ("API_KEY", "open-too"),
    ("PUSHER_SECRET", "app-secret"),
    ("SUPABASE_KEY", "anon"),
    ("CENTRIFUGO_SECRET", "open-sesame"),
];

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A page in Markdown.
pub struct Page {
    pub text: String,
}

impl Page {
    /// Reads a page, by its path in the repository.
    pub fn open(path: &str) -> Page {
        Page { text: fs::read_to_string(root().join(path)).unwrap() }
    }

    /// The blocks in this language, in their order.
    pub fn blocks(&self, language: &str) -> Vec<String> {
        let mut blocks = Vec::new();
        let mut lines = self.text.lines();
        while let Some(line) = lines.next() {
            let Some(named) = line.strip_prefix("```") else { continue };
            let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            if named == language {
                blocks.push(block.join("\n") + "\n");
            }
        }
        blocks
    }

    /// The command lines, without their prompts and comments.
    pub fn lines(&self) -> Vec<String> {
        let blocks = [self.blocks(""), self.blocks("console")].concat();
        let lines = blocks.iter().flat_map(|block| block.lines());
        let lines = lines.map(|line| line.strip_prefix("$ ").unwrap_or(line));
        lines.map(|line| line.split(" # ").next().unwrap_or(line).trim_end().to_owned()).collect()
    }

    /// The arguments of the command lines that begin with `throng`.
    pub fn commands(&self) -> Vec<String> {
        self.lines().iter().filter_map(|line| Some(line.strip_prefix("throng ")?.to_owned())).collect()
    }

    /// The file that stands before this text.
    pub fn file_before(&self, text: &str) -> Option<&str> {
        let (before, _) = self.text.split_once(text)?;
        let (_, block) = before.rsplit_once("```toml\n")?;
        Some(block.split_once("```")?.0)
    }

    /// Asserts that each file is an app's, and that nothing but a server is lacking; returns their number.
    pub fn assert_files_are_apps(&self, folder: &Path, is_left_out: impl Fn(&str) -> bool) -> usize {
        let files = self.blocks("toml");
        for file in files.iter().filter(|file| !is_left_out(file)) {
            // Parts of a file whose other parts say which data there are.
            let lacks_data =
                (file.contains("{data.") || file.contains("{person.")) && !file.contains("data =");
            let data = if lacks_data { "data = \"users.csv\"\n" } else { "" };
            fs::write(folder.join("part.toml"), data.to_owned() + file).unwrap();
            let outcome = run_in(folder, "idle ws://127.0.0.1:9/ --app part.toml --clients 1", &[]);
            assert_eq!(
                outcome.code,
                Some(1),
                "nobody is there, and nothing else is wrong: {file}\n{outcome}"
            );
        }
        files.len()
    }
}

/// A folder in which commands of pages find what they name.
pub fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let examples = root().join("examples").canonicalize().unwrap();
    std::os::unix::fs::symlink(examples, folder.path().join("examples")).unwrap();
    let users = "login,user,name,password,token,room\nada,ada,Ada,secret,t1,1\nbob,bob,Bob,secret,t2,2\n";
    fs::write(folder.path().join("users.csv"), users).unwrap();
    folder
}

/// Runs the arguments of a command line in such a folder.
pub fn run_in(folder: &Path, line: &str, more: &[&str]) -> Outcome {
    let mut command = throng([]);
    command.args(words(line)).args(more).args(["--quiet", "--format", "json"]);
    run(command.current_dir(folder).envs(SECRETS), WITHIN)
}

/// Runs the arguments of `throng init` in such a folder.
pub fn init_in(folder: &Path, line: &str) {
    let written = run(throng([]).args(words(line)).current_dir(folder), WITHIN);
    assert_eq!(written.code, Some(0), "{line}: {written}");
}

/// The line with every server of its own machine at a port where nobody listens.
pub fn elsewhere(line: &str) -> String {
    const HOST: &str = "127.0.0.1:";
    let mut parts = line.split(HOST);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |line, part| line + HOST + "9" + part.trim_start_matches(|c: char| c.is_ascii_digit()))
}

/// Words as a shell has them, as far as pages need it.
pub fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut is_quoted) = (Vec::new(), String::new(), false);
    for letter in line.chars() {
        match letter {
            '\'' => is_quoted = !is_quoted,
            ' ' if !is_quoted => words.extend((!word.is_empty()).then(|| std::mem::take(&mut word))),
            letter => word.push(letter),
        }
    }
    words.push(word);
    words
}
