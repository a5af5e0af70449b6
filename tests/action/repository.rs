//! The workspace of a job: a repository with a server in it, and a release of throng.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest, Sha256};
use tempfile::TempDir;

use crate::action::comments::Comments;
use crate::action::job::Job;
use crate::support::throng::program;
use crate::support::{free_address, is_listening};

/// Its clients' messages.
const APP: &str = include_str!("../../examples/apps/actioncable.toml");

/// A repository with a server in it, as a pull request's job has it checked out.
pub(crate) struct Repository {
    folder: TempDir,
    /// `throng`, where it is installed.
    programs: PathBuf,
    pub(crate) port: u16,
}

/// How the repository's server is started, and what it does beside. Like Rails, it lets in who says that they
/// come from its own pages.
fn server(more: &str) -> String {
    let program = program();
    let program = program.to_string_lossy();
    format!(
        "#!/bin/sh\nexec \"{program}\" serve --listen 127.0.0.1:$PORT --origin http://127.0.0.1:$PORT {more}\n"
    )
}

fn write_program(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

impl Repository {
    /// The main branch has a server that does nothing beside; the pull request's does this.
    pub(crate) fn new(changed: &str) -> Repository {
        let folder = tempfile::tempdir().unwrap();
        let (upstream, clone) = (folder.path().join("upstream"), folder.path().join("chat"));
        let programs = folder.path().join("programs");
        fs::create_dir(&programs).unwrap();
        let git = |work: &Path, words: &[&str]| {
            let mut git = Command::new("git");
            git.args(["-c", "user.name=t", "-c", "user.email=t@t", "-C"]).arg(work).args(words);
            let output = git.output().unwrap();
            assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        };
        fs::create_dir(&upstream).unwrap();
        git(&upstream, &["init", "--quiet", "--initial-branch", "main"]);
        write_program(&upstream.join("bin/rails"), &server(""));
        write_program(&upstream.join("bin/setup"), "#!/bin/sh\ntouch tmp-is-ready\n");
        fs::write(upstream.join("app.toml"), APP).unwrap();
        git(&upstream, &["add", "."]);
        git(&upstream, &["commit", "--quiet", "-m", "A chat"]);
        git(folder.path(), &["clone", "--quiet", "upstream", "chat"]);
        write_program(&clone.join("bin/rails"), &server(changed));
        git(&clone, &["commit", "--quiet", "--allow-empty", "-am", "A change"]);
        Repository { programs, port: two_free_ports(), folder }
    }

    pub(crate) fn installed(self) -> Repository {
        symlink(program(), self.programs.join("throng")).unwrap();
        self
    }

    pub(crate) fn folder(&self) -> PathBuf {
        self.folder.path().join("chat")
    }

    pub(crate) fn job(&self, comments: &Comments) -> Job {
        Job::new(&self.folder(), &self.programs, &comments.served())
    }

    /// The action's inputs, and these.
    pub(crate) fn inputs(&self, more: &[(&str, &str)]) -> BTreeMap<String, String> {
        let port = self.port.to_string();
        let usual = [
            ("serve", "bin/rails server"),
            ("port", &port),
            (
                "run",
                "echo \"ws://127.0.0.1:$PORT/ws\" --origin http://127.0.0.1:$PORT --clients 5 --rate 200 --duration 500ms --limit 'p50<20s'",
            ),
        ];
        usual.iter().chain(more).map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    pub(crate) fn assert_stopped(&self) {
        assert!(!is_listening_at(self.port) && !is_listening_at(self.port + 1), "a server is still there");
        let left = fs::read_dir(self.folder()).unwrap().map(|entry| entry.unwrap().file_name());
        let left: Vec<_> = left.filter(|name| name != "load").collect();
        assert_eq!(left.len(), 3, "the checkout is as it was: {left:?}");
    }
}

/// The first of two, one after the other.
fn two_free_ports() -> u16 {
    let mut given = free_address().port();
    loop {
        let next = free_address().port();
        if next == given + 1 {
            return given;
        }
        given = next;
    }
}

fn is_listening_at(port: u16) -> bool {
    is_listening(([127, 0, 0, 1], port).into())
}

/// A release: its static program, which here is a script that starts the build's own.
pub(crate) fn release(folder: &Path) {
    let version = env!("CARGO_PKG_VERSION");
    let name = format!("throng-{version}-{}-unknown-linux-gnu", std::env::consts::ARCH);
    let (release, staged) = (folder.join(format!("v{version}")), folder.join(&name));
    fs::create_dir(&release).unwrap();
    write_program(
        &staged.join("throng"),
        &format!("#!/bin/sh\nexec \"{}\" \"$@\"\n", program().to_string_lossy()),
    );
    let tarball = release.join(format!("{name}.tar.gz"));
    let tar = Command::new("tar").arg("czf").arg(&tarball).arg("-C").arg(folder).arg(&name).status();
    assert!(tar.unwrap().success());
    let digest: String =
        Sha256::digest(fs::read(&tarball).unwrap()).iter().map(|byte| format!("{byte:02x}")).collect();
    fs::write(release.join("SHA256SUMS"), format!("{digest}  {name}.tar.gz\n")).unwrap();
}
