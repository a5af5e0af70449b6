//! Files that programs of a target can see and change, where the kernel has walls, and the warning where it has none.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;

use crate::support::skip;
use crate::support::throng::{Outcome, run, throng, under};
use crate::target_session::PASSING;
use crate::targets::{manifest, target};

const RUN_MAX: Duration = Duration::from_secs(60);

/// Folders of which an installer sees nothing but its own.
const HIDDEN: [&str; 8] = ["/home", "/root", "/mnt", "/media", "/tmp", "/var/tmp", "/run", "/dev"];

/// Returns whether the kernel gives this user a PID namespace with a `/proc` of its own: what util-linux can
/// do, throng can.
fn hides_processes() -> bool {
    let mut command = Command::new("unshare");
    command.args(["--user", "--pid", "--fork", "--mount-proc", "true"]);
    command.output().is_ok_and(|output| output.status.success())
}

/// Returns whether the kernel gives this user mounts of his own, in which all but a target's folder is read-only.
fn has_own_mounts() -> bool {
    [&["--mount"][..], &["--user", "--map-root-user", "--mount"]].into_iter().any(|flags| {
        let output = Command::new("unshare").args(flags).arg("true").output();
        output.is_ok_and(|output| output.status.success())
    })
}

/// Variables that name caches of toolchains, with which another toolchain would start what is in them.
const CACHES: [&str; 16] = [
    "CARGO_HOME",
    "GOPATH",
    "GOMODCACHE",
    "GOCACHE",
    "npm_config_cache",
    "NPM_CONFIG_CACHE",
    "PIP_CACHE_DIR",
    "PYTHONPYCACHEPREFIX",
    "UV_CACHE_DIR",
    "GEM_HOME",
    "BUNDLE_USER_HOME",
    "MAVEN_USER_HOME",
    "MIX_HOME",
    "HEX_HOME",
    "LEIN_HOME",
    "CABAL_DIR",
];

/// A program that tries what it is not to do, and notes what came of it. Arguments: the folder of the user's
/// home, another's temporary folder, a process of another's, and the variables of caches.
const PRYING: &str = r#"
try() { if sh -c "$2" >/dev/null 2>&1; then echo "$1: yes"; else echo "$1: no"; fi; }
try "read the home" "cat '$1/home/marker'"
try "list the home" "ls '$1/home'"
try "write there" "echo x >'$1/home/written'"
try "remove there" "rm --interactive=never '$1/home/marker'"
try "run a toolchain" "'$1/home/tools/bin/tool'"
try "change a toolchain" "echo x >'$1/home/tools/bin/tool'"
try "read beside" "cat '$1/beside/file'"
try "write beside" "echo x >'$1/beside/written'"
try "read others' temporary files" "cat '$2/marker'"
try "write its folder" "echo x >written"
try "write its home" "mkdir -p ~/.cache && echo x >~/.cache/written"
try "make a temporary file" "rm \"$(mktemp)\""
try "end throng" "kill -0 $3"
try "change a mode outside" "chmod 777 '$1/beside/file'"
try "change a time outside" "touch -d 2001-01-01 '$1/beside/file'"
try "read the user's cache" "cat '$1/cargo/config.toml'"
try "change the user's cache" "echo x >'$1/cargo/bin/cargo'"
for name in $4; do
    eval "own=\$$name"
    try "write its own $name" "mkdir -p '$own/bin' && echo x >'$own/bin/cargo'"
done
try "make a device" "mknod disk b 259 0"
try "see its own process" "grep -qa pry.sh /proc/[0-9]*/cmdline"
at=$$
while [ "$at" -gt 1 ]; do
    cat /proc/$at/environ 2>/dev/null | tr '\0' '\n' | grep -q 'open sesame' && echo "process $at tells"
    at=$(awk '/^PPid/ { print $2 }' /proc/$at/status)
done
for all in /proc/[0-9]*/environ; do
    cat $all 2>/dev/null | tr '\0' '\n' | grep -q 'open sesame' && echo "$all tells"
done
try "see other processes" "grep -qa '[e]nd_to_end' /proc/[0-9]*/cmdline"
"#;

/// The contents of private files, and their places.
const MARKER: &str = "a private marker";
const MARKED: [&str; 4] = ["home/marker", "beside/file", "cargo/config.toml", "cargo/bin/cargo"];

/// A user with a home, a folder beside it, a cache elsewhere, and a target whose steps are [`PRYING`].
struct Prying {
    user: TempDir,
    temporary: TempDir,
}

impl Prying {
    /// A target with a manifest whose parts these are; in them, `PRY` stands for the command that pries.
    fn new(parts: &str) -> Prying {
        let user = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let (temporary, outside) = (tempfile::tempdir().unwrap(), user.path().display());
        for folder in ["home/tools/bin", "beside", "cargo/bin", "targets/sh-none"] {
            fs::create_dir_all(user.path().join(folder)).unwrap();
        }
        for file in
            MARKED.map(|file| user.path().join(file)).into_iter().chain([temporary.path().join("marker")])
        {
            fs::write(file, MARKER).unwrap();
        }
        let tool = user.path().join("home/tools/bin/tool");
        fs::write(&tool, "#!/bin/sh\n").unwrap();
        fs::set_permissions(&tool, Permissions::from_mode(0o755)).unwrap();
        let own = user.path().join("targets/sh-none");
        fs::write(own.join("pry.sh"), PRYING).unwrap();
        let (others, caches) = (temporary.path().display(), CACHES.join(" "));
        let pry = format!("sh pry.sh '{outside}' '{others}' {} '{caches}'", std::process::id());
        fs::write(own.join("target.toml"), parts.replace("PRY", &pry)).unwrap();
        Prying { user, temporary }
    }

    /// A verb of `throng targets`, as the user whose home that is.
    fn targets(&self, verb: &str) -> Outcome {
        run(&mut self.command(verb), RUN_MAX)
    }

    fn command(&self, verb: &str) -> Command {
        let at = |path: &str| self.user.path().join(path);
        let mut command = throng(["targets", verb, "sh-none", "--format", "json", "--targets-dir"]);
        command.arg(at("targets")).env("HOME", at("home")).envs(CACHES.map(|name| (name, at("cargo"))));
        let path = std::env::var("PATH").unwrap();
        command.env("PATH", format!("{}:{path}", at("home/tools/bin").display()));
        command.env("AWS_SECRET_ACCESS_KEY", "open sesame");
        command
    }

    /// Its notes in a file of its folder, line by line.
    fn noted(&self, file: &str) -> Vec<String> {
        let noted = fs::read_to_string(self.user.path().join("targets/sh-none").join(file)).unwrap();
        noted.lines().map(str::to_owned).collect()
    }

    /// Its notes within walls, but for the processes that it sees.
    fn expected(&self) -> Vec<String> {
        // A clone may be anywhere. What is beside a target is seen unless it is among homes or temporary files.
        let is_hidden = HIDDEN.iter().any(|folder| self.user.path().starts_with(folder));
        let changes_outside = if has_own_mounts() { "no" } else { "yes" };
        let expected = [
            ("read the home", "no"),
            ("list the home", "no"),
            ("write there", "no"),
            ("remove there", "no"),
            ("run a toolchain", "yes"),
            ("change a toolchain", "no"),
            ("read beside", if is_hidden { "no" } else { "yes" }),
            ("write beside", "no"),
            ("read others' temporary files", "no"),
            ("write its folder", "yes"),
            ("write its home", "yes"),
            ("make a temporary file", "yes"),
            ("end throng", "no"),
            ("change a mode outside", changes_outside),
            ("change a time outside", changes_outside),
            ("read the user's cache", "yes"),
            ("change the user's cache", "no"),
        ];
        let caches = CACHES.map(|name| format!("write its own {name}: yes"));
        let last = ["make a device: no", "see its own process: yes"].map(str::to_owned);
        expected.map(|(what, is)| format!("{what}: {is}")).into_iter().chain(caches).chain(last).collect()
    }

    fn assert_untouched(&self) {
        for file in ["home/marker", "cargo/bin/cargo"].map(|file| self.user.path().join(file)) {
            assert_eq!(fs::read_to_string(file).unwrap(), MARKER);
        }
        assert!(self.temporary.path().join("marker").exists());
        let home = self.user.path().join("targets/sh-none/.home");
        assert!(home.join(".cache/written").exists(), "its home is in its folder");
    }
}

#[test]
fn targets_are_confined_to_their_folder() {
    if !net::walls::are_available() {
        return skip("walls around targets", "needs a kernel with Landlock");
    }
    let seen = format!("see other processes: {}", if hides_processes() { "no" } else { "yes" });
    let step = "install = { command = [\"sh\", \"-c\", \"PRY\"] }\n";
    let installer = Prying::new(&(manifest(r#"["true"]"#) + step));
    let outcome = installer.targets("install");
    assert_eq!(outcome.code, Some(0), "{outcome}");
    let with_processes = [installer.expected(), vec![seen.clone()]].concat();
    assert_eq!(installer.noted("install.log"), with_processes);
    assert!(!outcome.stderr.contains("Landlock"), "{outcome}");
    installer.assert_untouched();

    let server = manifest(r#"["sh", "-c", "PRY; exec \"$THRONG\" serve --listen $AT"]"#);
    let server = Prying::new(&server.replace("echo 1.2.3", "PRY >noted; echo 1.2.3"));
    let outcome = server.targets("check");
    assert_eq!((outcome.code, &outcome.json()[0]["verdict"]), (Some(0), &"passes".into()), "{outcome}");
    assert_eq!(server.noted("noted"), with_processes, "what tells its version");
    let noted = server.noted("server.log");
    // It is measured by the numbers of its processes.
    let with_processes = [server.expected(), vec!["see other processes: yes".to_owned()]].concat();
    assert_eq!(noted[..with_processes.len()], with_processes, "the server");
    server.assert_untouched();
}

#[test]
fn logs_lead_to_no_private_file() {
    let link = "ln -sf ../../home/marker build.log";
    let step =
        |name: &str, rest: &str| format!("{name} = {{ command = [\"sh\", \"-c\", \"{link}{rest}\"] }}\n");
    let linking = Prying::new(&(manifest(r#"["true"]"#) + &step("install", "") + &step("build", "; exit 1")));
    let outcome = linking.targets("install");
    assert_eq!(outcome.json()[0]["verdict"], "fails", "{outcome}");
    let log = linking.user.path().join("targets/sh-none/build.log");
    assert!(log.is_symlink() && !outcome.to_string().contains(MARKER), "{outcome}");
    assert_eq!(fs::read_to_string(linking.user.path().join("home/marker")).unwrap(), MARKER);
}

#[test]
fn a_server_without_walls_says_why() {
    let parts = manifest(r#"["sh", "-c", "cat ~/marker; echo; exec \"$THRONG\" serve --listen $AT"]"#);
    let bare = Prying::new(
        &parts.replace("[\"sh\", \"-c\", \"echo", "[\"sh\", \"-c\", \"cat ~/marker >noted; echo"),
    );
    let refused = bare.targets("check");
    assert_eq!(bare.noted("noted"), [""; 0], "{refused}");
    let path = bare.user.path().join("targets/sh-none/target.toml");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text + "no_walls = \"marked\"\n").unwrap();
    let outcome = bare.targets("check");
    assert_eq!((outcome.code, &outcome.json()[0]["verdict"]), (Some(0), &"passes".into()), "{outcome}");
    assert_eq!(outcome.json()[0]["no_walls"], "marked", "{outcome}");
    assert_eq!(
        (bare.noted("noted"), bare.noted("server.log")[0].as_str()),
        (vec![MARKER.to_owned()], MARKER)
    );
    let mut listed = throng(["targets", "list", "--targets-dir"]);
    let listed = run(listed.arg(bare.user.path().join("targets")), RUN_MAX);
    assert!(listed.stdout.contains("without walls: marked"), "{listed}");
}

/// Installs two targets with this command, where strace has system calls fail; what throng said, and the log
/// of the first.
fn installed_without(calls: &[&str], step: &str) -> Option<(Outcome, String)> {
    if let Err(error) = Command::new("strace").arg("--version").output() {
        skip("a kernel without walls", &format!("needs strace: {error}"));
        return None;
    }
    let folder = target("");
    for name in ["sh-none", "sh-other"] {
        let own = folder.path().join(name);
        fs::create_dir_all(&own).unwrap();
        let steps = format!("install = {{ command = [\"sh\", \"-c\", '{step}'] }}\n");
        let manifest = manifest(r#"["true"]"#).replace("none", name.strip_prefix("sh-").unwrap());
        fs::write(own.join("target.toml"), manifest + &steps).unwrap();
    }
    fs::write(folder.path().join("beside"), "here").unwrap();
    let mut plain = throng(["targets", "install", "--all", "--targets-dir"]);
    let injected: Vec<String> = calls.iter().map(|call| format!("--inject={call}")).collect();
    let words: Vec<&str> =
        ["-f", "-qq", "-o", "/dev/null"].into_iter().chain(injected.iter().map(String::as_str)).collect();
    let outcome = run(&mut under("strace", &words, plain.arg(folder.path())), RUN_MAX);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    let log = fs::read_to_string(folder.path().join("sh-none/install.log")).unwrap();
    Some((outcome, log))
}

#[test]
fn kernels_without_walls_are_said_once() {
    // With mounts of its own, it would still not see what is beside its folder.
    let calls = ["landlock_create_ruleset:error=ENOSYS", "unshare:error=EPERM"];
    let without = installed_without(&calls, "cat $TMPDIR/../../../beside");
    let Some((outcome, log)) = without else { return };
    assert_eq!(outcome.stderr.matches("no Landlock").count(), 1, "{outcome}");
    assert_eq!(log, "here");
}

#[test]
fn homes_are_read_without_landlock() {
    let has_strace = Command::new("strace").arg("--version").output().is_ok();
    if !(has_strace && has_own_mounts()) {
        return skip("mounts without Landlock", "needs strace and mount namespaces");
    }
    let step = "install = { command = [\"sh\", \"-c\", \"PRY\"] }\n";
    let installer = Prying::new(&(manifest(r#"["true"]"#) + step));
    let plain = installer.command("install");
    let injected = "--inject=landlock_create_ruleset:error=ENOSYS";
    let mut traced = under("strace", &["-f", "-qq", "-o", "/dev/null", injected], &plain);
    traced.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let outcome = run(&mut traced, RUN_MAX);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    assert_eq!(outcome.stderr.matches("no Landlock").count(), 1, "{outcome}");
    let noted = installer.noted("install.log");
    let is_seen = |place: &TempDir| !PASSING.iter().any(|folder| place.path().starts_with(folder));
    for (what, is) in [
        ("read the home", is_seen(&installer.user)),
        ("read beside", is_seen(&installer.user)),
        ("read others' temporary files", is_seen(&installer.temporary)),
        ("write there", false),
        ("remove there", false),
        ("change a toolchain", false),
        ("write beside", false),
        ("change a mode outside", false),
        ("change a time outside", false),
        ("change the user's cache", false),
        ("write its own CARGO_HOME", true),
    ] {
        let line = format!("{what}: {}", if is { "yes" } else { "no" });
        assert!(noted.contains(&line), "not {line:?}: {noted:?}");
    }
    installer.assert_untouched();
}

#[test]
fn visible_processes_are_said_once() {
    let step = "grep -la [e]nd_to_end /proc/[0-9]*/cmdline | wc -l";
    for calls in ["unshare:error=EPERM", "mount:error=EPERM"] {
        let Some((outcome, log)) = installed_without(&[calls], step) else { return };
        assert_eq!(outcome.stderr.matches("no PID namespace").count(), 1, "{outcome}");
        assert_ne!(log.trim(), "0", "{calls}");
    }
}
