//! The user's session as a target finds it: terminals, shared memory, keys, credentials, sockets.

use std::fs::{self, Permissions};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::process::{Command, id};
use std::time::Duration;

use tempfile::TempDir;

use crate::support::skip;
use crate::support::throng::{Outcome, run, throng};
use crate::targets::manifest;

const RUN_MAX: Duration = Duration::from_secs(90);

/// A program that tries what it can reach, and prints what came of it. Arguments: the folder of the user's
/// files, a socket in a passing folder, a port, and the number by which the user's things are known.
const REACHING: &str = r#"
use POSIX (); use Socket;
my ($user, $socket, $port, $number) = @ARGV;
my $is_arm = (POSIX::uname())[4] eq 'aarch64';
my ($keyctl, $prlimit, $watch, $add) = $is_arm ? (219, 261, 26, 27) : (250, 302, 294, 254);
my @terminals = ('/dev/tty', map { "/dev/pts/$_" } 0..99);
my $name = "throng-$number";
sub try { my ($what, $does) = @_; print "$what: ", ($does->() ? "yes" : "no"), "\n" }
sub opened { my ($how, $path) = @_; my $file; open($file, $how, $path) ? $file : undef }
sub reads { my $file = opened('<', $_[0]); $file && defined(scalar <$file>) }
sub types { my $file = $_[0]; my $done; for my $c (split //, "typed\n") { $done = 1 if ioctl($file, 0x5412, $c) } $done }
sub types_at { my $file = opened(@_); $file && types($file) }
sub connects { my ($kind, $at) = @_; my $s; socket($s, $kind, SOCK_STREAM, 0); connect($s, $at) }
sub guards { grep { (firstline("/proc/$_/cmdline") // '') =~ /guard/ } map { m{(\d+)} } glob('/proc/[0-9]*') }
sub firstline { my $file = opened('<', $_[0]); $file && <$file> }
try 'open a terminal', sub { grep { opened('+<', $_) } @terminals };
try 'type into a terminal', sub { grep { types_at('+<', $_) } @terminals };
try 'type into what it inherits', sub { grep { types_at('<&', $_) } 0..31 };
try 'look into its guard', sub { grep { defined readlink("/proc/$_/fd/0") } guards() };
try 'find its guard', sub { guards() };
try 'end its guard', sub { grep { kill 0, $_ } guards() };
try 'change its manifest', sub { opened('>>', 'target.toml') };
try 'replace its manifest', sub { rename('target.toml', 'moved') && rename('moved', 'target.toml') };
try 'read shared memory', sub { reads("/dev/shm/$name") };
try 'attach a segment', sub { defined shmget($number, 16, 0) };
try 'find a key of the session', sub { my ($type, $of) = ("user\0", "$name\0"); syscall($keyctl, 10, -3, $type, $of, 0) >= 0 };
try 'find a key of the user', sub { my ($type, $of) = ("user\0", "$name\0"); syscall($keyctl, 10, -4, $type, $of, 0) >= 0 };
try 'read credentials', sub { reads("$user/cargo/credentials.toml") };
try 'read the cache beside', sub { reads("$user/cargo/config.toml") };
try 'read passwords', sub { reads('/etc/shadow') };
try 'read a private file', sub { reads("$user/beside/private") };
try 'read the home', sub { reads("$user/home/marker") };
try 'learn a size in the home', sub { -s "$user/home/marker" };
try 'watch the home', sub { my $home = "$user/home/marker\0"; syscall($add, syscall($watch, 0), $home, 0x100) > 0 };
try 'limit a process outside', sub { my $limit = "\0" x 16; syscall($prlimit, int($number / 4), 7, 0, $limit) == 0 };
try 'leave a setuid program', sub { opened('>', 'left') && chmod(04755, 'left') && (stat 'left')[2] & 04000 };
try 'read a file that a variable names', sub { reads($ENV{PIP_CONFIG_FILE}) && reads($ENV{npm_config_userconfig}) };
try 'read a folder that a variable names', sub { reads("$ENV{JAVA_HOME}/release") };
try 'change a mode outside', sub { chmod 0600, "$user/beside/private" };
try 'change a time outside', sub { utime 0, 0, "$user/beside/private" };
try 'write outside', sub { opened('>>', "$user/beside/written") };
try 'reach a passing socket', sub { connects(PF_UNIX, pack_sockaddr_un($socket)) };
try 'reach a socket elsewhere', sub { connects(PF_UNIX, pack_sockaddr_un("$user/socket")) };
try 'reach the network', sub { connects(PF_INET, pack_sockaddr_in($port, INADDR_LOOPBACK)) };
"#;

/// A program that has a segment of shared memory and a key of the session and of the user while it runs its
/// arguments.
const WITH_MEMORY: &str = r#"
use POSIX ();
my $number = shift;
my ($add, $keyctl) = (POSIX::uname())[4] eq 'aarch64' ? (217, 219) : (248, 250);
my ($type, $name, $key) = ("user\0", "throng-$number\0", "secret");
syscall($keyctl, 1, 0) >= 0 && syscall($add, $type, $name, $key, 6, -3) >= 0 or die "no key: $!";
(my $of_user = syscall($add, $type, $name, $key, 6, -4)) >= 0 or die "no key of the user: $!";
defined(my $segment = shmget($number, 16, 01600)) or die "no segment: $!";
my $ended = system(@ARGV);
shmctl($segment, 0, 0);
syscall($keyctl, 9, $of_user, -4);
exit($ended >> 8);
"#;

/// How a target is confined.
#[derive(Clone, Copy, PartialEq)]
enum Walls {
    Whole,
    /// Around a server, which sees other processes.
    OfServer,
    /// While packages of the distribution are installed.
    OfPackages,
    /// By a kernel that grants no mounts and no IPC of its own.
    WithoutNamespaces,
}

/// Folders of which a target sees nothing.
const HIDDEN: [&str; 6] = ["/home", "/root", "/mnt", "/media", "/tmp", "/var/tmp"];
/// Folders of which it cannot even learn names, or reach sockets, where it has mounts of its own.
pub(crate) const PASSING: [&str; 3] = ["/tmp", "/var/tmp", "/run"];

/// A user at a terminal, with a target that reaches for what is the user's.
struct Session {
    user: TempDir,
    passing: TempDir,
    number: u32,
    _listeners: (UnixListener, UnixListener, TcpListener),
}

impl Session {
    /// A target of which `more` is in the manifest; the number is of no other session of this process.
    fn new(more: &str, nth: u32) -> Session {
        let user = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let (passing, number) = (tempfile::tempdir().unwrap(), id() * 4 + nth);
        let socket = passing.path().join("socket");
        let at = |path: &str| user.path().join(path);
        let [passing_socket, other_socket] =
            [&socket, &at("socket")].map(|path| UnixListener::bind(path).unwrap());
        let listeners = (passing_socket, other_socket, TcpListener::bind("127.0.0.1:0").unwrap());
        let port = listeners.2.local_addr().unwrap().port();
        for folder in ["home/java", "beside", "cargo", "targets/sh-none"] {
            fs::create_dir_all(at(folder)).unwrap();
        }
        let named = ["home/pip.conf", "home/npmrc", "home/java/release"];
        let private = ["home/marker", "cargo/credentials.toml", "beside/private"];
        for file in named.into_iter().chain(private).map(at).chain([shared(number)]) {
            fs::write(&file, "private").unwrap();
            fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
        }
        fs::write(at("cargo/config.toml"), "open").unwrap();
        fs::write(at("with_memory.pl"), WITH_MEMORY).unwrap();
        fs::write(at("targets/sh-none/reach.pl"), REACHING).unwrap();
        let reach =
            format!("perl reach.pl '{}' '{}' {port} {number}", user.path().display(), socket.display());
        let parts = manifest(r#"["sh", "-c", "REACH; exec \"$THRONG\" serve --listen $AT"]"#);
        let parts = parts.replace("echo 1.2.3", "REACH >version.log; echo 1.2.3");
        let install = "install = { command = [\"sh\", \"-c\", \"REACH\"] }\n";
        fs::write(at("targets/sh-none/target.toml"), (parts + install + more).replace("REACH", &reach))
            .unwrap();
        Session { user, passing, number, _listeners: listeners }
    }

    /// A verb of `throng targets`, typed into a shell on a terminal of its own, which another descriptor also
    /// leads to; what the terminal showed from then on, and what was read from it afterwards.
    fn type_in(&self, verb: &str, under: &str) -> Outcome {
        let at = |path: &str| self.user.path().join(path).display().to_string();
        let line = format!(
            "exec 3<>/dev/tty; perl '{}' {} {under} '{}' targets {verb} sh-none --targets-dir '{}' >'{}' 2>&1; echo \"[$?]\"; head -n 1",
            at("with_memory.pl"),
            self.number,
            throng([]).get_program().display(),
            at("targets"),
            at("said"),
        );
        let mut command = Command::new("script");
        command.args(["--quiet", "--return", "--command", &line, "/dev/null"]);
        command.env("HOME", at("home")).env("CARGO_HOME", at("cargo"));
        command.env("PIP_CONFIG_FILE", at("home/pip.conf")).env("npm_config_userconfig", at("home/npmrc"));
        command.env("JAVA_HOME", at("home/java"));
        run(&mut command, RUN_MAX)
    }

    /// The lines that the target printed at one of its steps.
    fn told(&self, log: &str) -> Vec<String> {
        let path = self.user.path().join("targets/sh-none").join(log);
        let told =
            fs::read_to_string(&path).unwrap_or_else(|error| panic!("{log}: {error}\n{}", self.said()));
        told.lines()
            .take_while(|line| line.ends_with(": yes") || line.ends_with(": no"))
            .map(str::to_owned)
            .collect()
    }

    fn said(&self) -> String {
        fs::read_to_string(self.user.path().join("said")).unwrap_or_default()
    }

    /// Its lines from within these walls.
    fn expected(&self, walls: Walls) -> Vec<String> {
        let has_packages = walls == Walls::OfPackages;
        let is_bare = walls == Walls::WithoutNamespaces;
        let is_root = rustix::process::geteuid().is_root();
        let is_passing = |folder: &TempDir| PASSING.iter().any(|passing| folder.path().starts_with(passing));
        // Packages are installed with the temporary files that all have.
        let is_hidden = HIDDEN.iter().any(|folder| self.user.path().starts_with(folder))
            && !(has_packages && is_passing(&self.user));
        let is_gone = |folder: &TempDir| !has_packages && !is_bare && is_passing(folder);
        let expected = [
            ("open a terminal", false),
            ("type into a terminal", false),
            ("type into what it inherits", false),
            ("look into its guard", false),
            ("find its guard", true),
            ("end its guard", false),
            ("change its manifest", is_bare),
            ("replace its manifest", is_bare),
            ("read shared memory", false),
            ("attach a segment", is_bare),
            ("find a key of the session", false),
            // A user namespace has a user keyring of its own; root needs none to mount.
            ("find a key of the user", is_root || is_bare),
            ("read credentials", false),
            ("read the cache beside", true),
            ("read passwords", has_packages && is_root),
            ("read a private file", !is_hidden),
            ("read the home", false),
            ("learn a size in the home", !is_gone(&self.user)),
            ("watch the home", !is_gone(&self.user)),
            ("limit a process outside", is_bare || walls == Walls::OfServer),
            ("leave a setuid program", true),
            ("read a file that a variable names", true),
            ("read a folder that a variable names", true),
            ("change a mode outside", has_packages || is_bare),
            ("change a time outside", has_packages || is_bare),
            ("write outside", has_packages && !is_hidden),
            ("reach a passing socket", !is_gone(&self.passing)),
            ("reach a socket elsewhere", !is_gone(&self.user)),
            ("reach the network", true),
        ];
        expected.map(|(what, is)| format!("{what}: {}", if is { "yes" } else { "no" })).to_vec()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = fs::remove_file(shared(self.number));
    }
}

/// A file of the user's shared memory.
fn shared(number: u32) -> PathBuf {
    format!("/dev/shm/throng-{number}").into()
}

/// Returns why these tests cannot be made here, if they cannot.
fn lacking() -> Option<&'static str> {
    let is_there = |program| Command::new(program).arg("--version").output().is_ok();
    let has = |program, what| (!is_there(program)).then_some(what);
    let walls = (!net::walls::are_available()).then_some("a kernel with Landlock");
    walls.or(has("script", "script(1)")).or(has("perl", "perl(1)"))
}

#[test]
fn sessions_are_out_of_reach() {
    let namespaces = Command::new("unshare").args(["--map-root-user", "--mount", "--ipc", "true"]).output();
    let has_namespaces = namespaces.is_ok_and(|output| output.status.success());
    if let Some(lacking) = lacking().or((!has_namespaces).then_some("namespaces")) {
        return skip("a target in a session", lacking);
    }
    let session = Session::new("", 0);
    for verb in ["install", "check"] {
        let shown = session.type_in(verb, "");
        assert_eq!(shown.stdout.trim(), "[0]", "{verb}: {shown}\n{}", session.said());
    }
    let parts = [Walls::Whole, Walls::Whole, Walls::OfServer];
    for (log, walls) in ["install.log", "version.log", "server.log"].into_iter().zip(parts) {
        assert_eq!(session.told(log), session.expected(walls), "{log}");
    }
}

#[test]
fn installers_of_packages_write_the_system() {
    let is_debian = Command::new("apt-get").arg("--version").output().is_ok();
    if let Some(lacking) = lacking().or((!is_debian).then_some("apt-get")) {
        return skip("a target of packages", lacking);
    }
    let requires = "requires = [{ command = [\"apt-get\", \"--version\"], missing = \"Debian\" }]\n";
    let session = Session::new(requires, 1);
    let shown = session.type_in("install", "");
    assert_eq!(shown.stdout.trim(), "[0]", "{shown}\n{}", session.said());
    assert_eq!(session.told("install.log"), session.expected(Walls::OfPackages));
}

#[test]
fn targets_without_namespaces_reach_more() {
    let has_strace = Command::new("strace").arg("--version").output().is_ok();
    if let Some(lacking) = lacking().or((!has_strace).then_some("strace")) {
        return skip("a target without namespaces", lacking);
    }
    let session = Session::new("", 2);
    let shown = session.type_in("install", "strace -f -qq -o /dev/null -e inject=unshare:error=EPERM");
    assert_eq!(shown.stdout.trim(), "[0]", "{shown}\n{}", session.said());
    assert_eq!(session.told("install.log"), session.expected(Walls::WithoutNamespaces));
}
