//! NATS logins, their secrecy, and agents' policies for coordinators.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use fleet::VERSION;

use crate::support::arena::Arena;
use crate::support::fleet::Bus;
use crate::support::operator::Operator;
use crate::support::process::Process;
use crate::support::throng::{Outcome, Server, run, throng};
use crate::support::{REACTS_WITHIN, START_MAX, wait_until};

const RUN_MAX: Duration = Duration::from_secs(60);
/// The text that must not be seen.
const SECRET: &str = "s3cret-marker";
/// The seed of an nkey, and the user that it is.
const SEED: &str = "SUANQDPB2RUOE4ETUA26CNX7FUKE5ZZKFCQIIW63OX225F2CO7UEXTM7ZY";
const USER_KEY: &str = "UAMMBNV2EYR65NYZZ7IAK5SIR5ODNTTERJOBOF4KJLMWI45YOXOSWULM";

/// Echoes from whoever is free at this NATS.
fn echo(nats: &[&str], server: &Server) -> Outcome {
    let mut command = throng(["echo", &server.url(), "--clients", "4", "-s", "40", "--format", "json"]);
    run(command.arg("--fleet").args(nats), RUN_MAX)
}

/// The arguments of every process of this user but the tests' own, with a line for each.
fn all_arguments() -> String {
    let read =
        |entry: std::io::Result<std::fs::DirEntry>| std::fs::read(entry.ok()?.path().join("cmdline")).ok();
    let lines = std::fs::read_dir("/proc").unwrap().filter_map(read);
    lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " ") + "\n").collect()
}

#[test]
fn passwords_and_tokens_open_the_bus() {
    let logins: [(&str, &[&str]); 2] = [
        (&format!("me:{SECRET}@"), &["--user", "me", "--pass", SECRET]),
        (&format!("{SECRET}@"), &["--auth", SECRET]),
    ];
    let server = Server::start(&[]);
    for (login, flags) in logins {
        let Some(bus) = Bus::start_with(login, flags) else { return };
        let _agent = bus.agent(&["--name", "a", "--threads", "1", "--allow", "ws://127.0.0.0/8:*"]);
        bus.await_agents(1);
        let let_in = echo(&[&bus.url], &server);
        let_in.assert_held();
        assert_eq!(let_in.json()["steps"][0]["counts"]["received"], 40, "{let_in}");
        assert!(!format!("{let_in}").contains(SECRET), "{let_in}");
        for wrong in ["", "me:wrong@", "wrong@"] {
            let url = format!("nats://{wrong}{}", &bus.open_url()["nats://".len()..]);
            let refused = echo(&[&url], &server);
            refused.assert_failed(6, "generator.start_workers.denied", &["nats://USER:PASSWORD@HOST"]);
            assert!(!refused.stderr.contains("wrong"), "{refused}");
        }
    }
}

#[test]
fn an_nkey_lets_us_in() {
    let folder = tempfile::tempdir().unwrap();
    let (config, seed) = (folder.path().join("nats.conf"), folder.path().join("seed"));
    std::fs::write(&config, format!("authorization {{ users: [ {{ nkey: {USER_KEY} }} ] }}\n")).unwrap();
    std::fs::write(&seed, format!("{SEED}\n")).unwrap();
    let (config, seed) = (config.display().to_string(), seed.display().to_string());
    let Some(bus) = Bus::start_with("", &["-c", &config]) else { return };
    let list = |flags: &[&str]| run(throng(["fleet", "list", "--nats", &bus.url]).args(flags), RUN_MAX);
    let let_in = list(&["--nkey", &seed]);
    assert_eq!((let_in.code, let_in.stdout.starts_with("no agents")), (Some(0), true), "{let_in}");
    let denied = list(&[]);
    assert_eq!(denied.code, Some(1), "without the key: {denied}");
    assert!(denied.stderr.contains("--nkey"), "{denied}");
}

#[test]
fn credentials_files_open_signed_buses() {
    let folder = tempfile::tempdir().unwrap();
    let operator = Operator::in_folder(folder.path());
    let Some(bus) = Bus::start_with("", &["-c", &operator.config.display().to_string()]) else { return };
    let [creds, false_creds] =
        [&operator.creds, &operator.false_creds].map(|path| path.display().to_string());
    let flags = ["--name", "a", "--threads", "1", "--creds", &creds, "--allow", "ws://127.0.0.0/8:*"];
    let _agent = Process::start(throng(["agent", "--nats", &bus.url]).args(flags));
    let list = |flags: &[&str]| run(throng(["fleet", "list", "--nats", &bus.url]).args(flags), RUN_MAX);
    let is_there = || list(&["--creds", &creds]).stdout.contains("  free");
    assert!(wait_until(START_MAX, is_there), "{}", list(&["--creds", &creds]));
    let let_in = echo(&[&bus.url, "--creds", &creds], &Server::start(&[]));
    let_in.assert_held();
    assert_eq!(let_in.json()["steps"][0]["counts"]["received"], 40, "{let_in}");
    for flags in [&[][..], &["--creds", &false_creds]] {
        let refused = list(flags);
        assert!(refused.code == Some(1) && refused.stderr.contains("--creds"), "{flags:?}\n{refused}");
    }
}

#[test]
fn shootouts_keep_passwords_out_of_arguments() {
    let login = format!("me:{SECRET}@");
    let (Some(bus), arena) =
        (Bus::start_with(&login, &["--user", "me", "--pass", SECRET]), Arena::echoing_for(4))
    else {
        return;
    };
    let variable = "THRONG_TEST_BUS";
    let mut agent =
        throng(["agent", "--nats", &format!("env:{variable}"), "--role", "target", "--name", "vault"]);
    agent.args(["--advertise", "127.0.0.29", "--targets-dir", &arena.targets()]).env(variable, &bus.url);
    let _agent = Process::start(&mut agent);
    let is_there = || bus.list().lines().any(|line| line.starts_with("vault") && line.contains(" free"));
    assert!(wait_until(START_MAX, is_there), "{}", bus.list());
    // Whoever writes the password on the command line has it there; what that starts must not.
    let mut shootout =
        throng(["shootout", "tiny", "--target-agent", "vault", "--nats", &bus.url, "--out", "kept"]);
    let mut shootout = Process::start(shootout.current_dir(arena.folder()));
    let is_measuring = || all_arguments().lines().any(|line| line.contains("--target-agent=vault"));
    let is_seen = wait_until(RUN_MAX, || is_measuring() || shootout.wait(Duration::ZERO).is_some());
    let measuring: Vec<String> = all_arguments()
        .lines()
        .filter(|line| line.contains("--target-agent=vault"))
        .map(str::to_owned)
        .collect();
    assert!(is_seen && !measuring.is_empty(), "no measurement was seen");
    assert!(measuring.iter().all(|line| !line.contains(SECRET)), "{measuring:?}");
    let status = shootout.wait(RUN_MAX);
    let (stdout, stderr) = shootout.into_output();
    assert_eq!(status.and_then(|status| status.code()), Some(0), "{stdout}\n{stderr}");
    let kept = Command::new("grep").args(["-rl", SECRET]).arg(arena.path("kept")).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&kept.stdout), "", "files with the password");
}

#[test]
fn agents_name_the_flag_to_allow_more() {
    let Some(bus) = Bus::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("x.sock").display().to_string();
    let server = Server::start(&["--socket", &socket]);
    let port = server.address.port();
    let run_with = |flags: &[&str]| {
        let mut command = throng(["echo", &server.url(), "--clients", "2", "-s", "20", "--format", "json"]);
        run(command.args(["--fleet", &bus.url]).args(flags), RUN_MAX)
    };
    let refuses = |allowed: &str, flags: &[&str], asked: &str| {
        let allowed: &[&str] = if allowed.is_empty() { &[] } else { &["--allow", allowed] };
        let _agent = Process::start(throng(["agent", "--nats", &bus.url, "--name", "a"]).args(allowed));
        bus.await_agents(1);
        let outcome = run_with(flags);
        let names = ["agent a: ", &format!("--allow {asked}")];
        outcome.assert_failed(6, "generator.start_workers.agent", &names);
    };
    refuses("", &[], &format!("ws://127.0.0.1:{port}"));
    refuses("wss://127.0.0.1:*,10.0.0.0/8:*", &[], &format!("ws://127.0.0.1:{port}"));
    // A socket of the machine, such as a container engine's, is nothing that a network's name allows.
    refuses("*:*", &["--socket", &socket], &format!("unix:{socket}"));
    assert!(wait_until(REACTS_WITHIN, || bus.list().starts_with("no agents")), "{}", bus.list());
    let unix = format!("unix:{socket}");
    let _agent = bus.agent(&["--name", "a", "--allow", &format!("ws://localhost:{port}"), "--allow", &unix]);
    bus.await_agents(1);
    for flags in [&[][..], &["--socket", &socket]] {
        let outcome = run_with(flags);
        outcome.assert_held();
        assert_eq!(outcome.json()["steps"][0]["counts"]["received"], 20, "{outcome}");
    }
}

#[test]
fn target_agents_install_only_when_allowed() {
    let (Some(bus), arena) = (Bus::start(), Arena::echoing_for(1)) else { return };
    let target = Path::new(&arena.targets()).join("sh-copy");
    std::fs::remove_file(target.join("version")).unwrap();
    let manifest = target.join("target.toml");
    let install = "install = { command = [\"sh\", \"-c\", \"echo 1.0 > version\"] }\n";
    let text = std::fs::read_to_string(&manifest).unwrap() + install;
    std::fs::write(&manifest, text).unwrap();
    let shootout = |flags: &[&str], out: &str| {
        let flags = [&["--role", "target", "--name", "rack", "--advertise", "127.0.0.28"], flags].concat();
        let _agent = bus.agent(&[&flags[..], &["--targets-dir", &arena.targets()]].concat());
        let is_there = || bus.list().lines().any(|line| line.starts_with("rack") && line.contains(" free"));
        assert!(wait_until(START_MAX, is_there), "{}", bus.list());
        let mut command = throng(["shootout", "tiny", "--targets", "sh-copy", "--target-agent", "rack"]);
        command.args(["--nats", &bus.url, "--out", out]).current_dir(arena.folder());
        run(&mut command, RUN_MAX)
    };
    let refused = shootout(&[], "refused");
    assert!(refused.stderr.contains("start it with --allow-install"), "{refused}");
    assert!(!target.join("version").exists(), "it was installed");
    let allowed = shootout(&["--allow-install"], "allowed");
    assert!(target.join("version").exists(), "{allowed}");
    assert!(!allowed.stderr.contains("--allow-install"), "{allowed}");
}

/// An agent of another version of throng, which says so to whoever asks.
const OLD: &str = r#"{"version":"0.1.0/1","id":"0000000000000001","name":"old","threads":1,"clients_per_process":9,"sealed_to":"X""#;

#[test]
fn another_version_is_refused_with_a_sentence() {
    let Some(bus) = Bus::start() else { return };
    let server = Server::start(&[]);
    let host = r#","host":{"address":"127.0.0.1","machine":"m"}"#;
    for (host, verb, key) in [
        ("", "--fleet", "generator.start_workers.too_few"),
        (host, "--nats", "generator.watch_server.agents"),
    ] {
        let _old = bus.answer_calls(format!("{OLD}{host}}}"));
        let mut command = throng(["echo", &server.url(), "--clients", "2", "-s", "20", verb, &bus.url]);
        command.args(["--format", "json"]);
        if verb == "--nats" {
            command.args(["--target-agent", "old"]);
        }
        let refused = run(command.args(["--fleet-wait", "0s"]), RUN_MAX);
        refused.assert_failed(6, key, &["old ", "0.1.0/1", VERSION]);
    }
    let _agent = bus.agent(&["--name", "new"]);
    bus.await_agents(1);
    let id = bus.id_of("new");
    let claim = r#"{"version":"0.1.0/1","run":"r","index":0,"session":1}"#;
    let answer = bus.ask(&format!("throng.agent.{id}.claim"), claim.as_bytes());
    assert_eq!(answer, format!(r#"{{"refused":"it is throng {VERSION}"}}"#));
    assert!(bus.list().contains("free"), "{}", bus.list());
}
