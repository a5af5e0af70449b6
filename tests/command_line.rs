//! Users' mistakes with a run: wrong flags, servers out of reach, files that are none. Each ends with the documented
//! exit code and a word on what to do, never with a panic.

use std::time::Duration;

use net::errors::ErrorKind;
use stats::is_shown;

use crate::support::black_hole::BlackHole;
use crate::support::cases::check_all;
use crate::support::free_address;
use crate::support::process::Process;
use crate::support::throng::{Outcome, Server, echo, finish, run, sum_of, throng};

/// A run of one second, with five to connect and two to drain, on a busy machine.
const RUN_MAX: Duration = Duration::from_secs(30);

/// DNS servers are out of our hands.
const RESOLVE_MAX: Duration = Duration::from_secs(60);

const COULD_NOT_RUN: Option<i32> = Some(1);
const BAD_USAGE: Option<i32> = Some(2);
const LIMIT_BROKEN: Option<i32> = Some(3);

/// Arguments, the error's key behind `usage.`, and names and numbers that its text has.
type Usage = (&'static str, &'static str, &'static str);

#[test]
fn wrong_usage_is_named() {
    assert_refused(&[
        ("sing ws://127.0.0.1:1/", "sing.invalid_subcommand", "sing"),
        ("echo ftp://127.0.0.1/", "url", "ftp"),
        ("echo ws://", "url", "ws://"),
        ("http ws://127.0.0.1/", "url", "throng echo ws://127.0.0.1/"),
        ("echo ws://127.0.0.1:99999/", "url", "99999"),
        ("echo ws://127.0.0.1:http/", "url", "127.0.0.1:http"),
        ("echo ws://127.0.0.1:1/ --clients 0", "clients", "0"),
        ("echo ws://127.0.0.1:1/ --clients many", "clients.value_validation", "many"),
        ("echo ws://127.0.0.1:1/ --duration 5parsecs", "duration.value_validation", "5parsecs 1m30s"),
        ("echo ws://127.0.0.1:1/ --protocol klingon", "protocol", "klingon phoenix --app"),
        ("echo ws://127.0.0.1:1/ --limit p95<", "limit", "p95< p95<250ms"),
        ("echo ws://127.0.0.1:1/ --limit tea<5ms", "limit", "tea p99.9 missing"),
        ("echo ws://127.0.0.1:1/ --format pdf", "format.invalid_value", "pdf junit"),
        ("echo ws://127.0.0.1:1/ --bogus", "bogus.unknown_argument", "--bogus"),
        ("broadcast ws://127.0.0.1:1/ --limit-percentile 101", "limit_percentile.value_validation", "101"),
        // To hey and oha, a rate; here, quiet.
        ("echo ws://127.0.0.1:1/ -q 50", "q", "--rate 50"),
        ("app.toml ws://127.0.0.1:1/", "app.toml", "throng run app.toml"),
        ("probe ws://127.0.0.1:1/ --max 201", "max.value_validation", "201 200"),
        ("shootout quick --only tea", "only", "tea broadcast"),
        // What no machine does, or nobody can mean.
        ("echo ws://127.0.0.1:1/ --duration=-3", "duration.value_validation", "-3"),
        ("echo ws://127.0.0.1:1/ --rate 0", "rate.value_validation", "--rate 0"),
        ("echo ws://127.0.0.1:1/ --rate 100..5k", "rate.value_validation", "100..5k/60s"),
        ("echo ws://127.0.0.1:1/ --rate 100..5k/60s -d 5s", "duration", "60s --rate"),
        ("echo ws://127.0.0.1:1/ --interval 0", "interval", ""),
        ("echo ws://127.0.0.1:1/ --pipelining 0", "pipelining.value_validation", "1024"),
        ("echo ws://127.0.0.1:1/ --pipelining 4 --rate 9", "pipelining.argument_conflict", "--rate"),
        ("echo ws://127.0.0.1:1/ --pipelining 4 --step-size 9", "pipelining", "-c"),
        ("echo ws://127.0.0.1:1/ --connect-rate 0", "connect_rate", ""),
        ("echo ws://127.0.0.1:1/ --connect-timeout 0", "connect_timeout", ""),
        ("echo ws://127.0.0.1:1/ --churn 1%", "churn.value_validation", "1%/s"),
        ("echo ws://127.0.0.1:1/ --payload 4KiB..100", "payload_padding.value_validation", "4096 100"),
        ("echo ws://127.0.0.1:1/ --payload 10..100", "payload_padding", "28 16777216 --max-message"),
        ("echo ws://127.0.0.1:1/ --protocol phoenix --payload 10..100", "payload_padding", "raw json"),
        ("echo ws://127.0.0.1:1/ --payload-rows /no/such.csv", "payload_rows", "/no/such.csv"),
        ("http http://127.0.0.1:1/ --max-message 1MiB", "max_message", "http"),
        ("broadcast ws://127.0.0.1:1/ --step-size 0", "initial_clients", "--step-size"),
        ("broadcast ws://127.0.0.1:1/ --clients 20 --slow 1%:1KiB/s", "slow", "1% 20"),
        ("storm ws://127.0.0.1:1/ --share 120%", "share", "0% 100%"),
        ("storm ws://127.0.0.1:1/ --clients 10 --share 5%", "share", "5% 10"),
        (
            "storm ws://127.0.0.1:1/ --share 50% --restart-command true",
            "share.argument_conflict",
            "--restart-command",
        ),
        ("saturate ws://127.0.0.1:1/ --first-rate 100 --max-rate 10", "first_rate", "--max-rate"),
        ("saturate ws://127.0.0.1:1/ --max-rate 2G", "max_rate", "1G"),
        (
            "echo ws://127.0.0.1:1/ --scrape https://127.0.0.1/metrics",
            "scrape.value_validation",
            "http://127.0.0.1:9100/metrics",
        ),
        ("echo ws://127.0.0.1:1/ --scrape-only up", "scrape.missing_required_argument", ""),
    ]);
}

#[test]
fn flags_that_contradict_one_another_are_named() {
    assert_refused(&[
        ("echo ws://127.0.0.1:1/ --rate 5 -c 3", "rate.argument_conflict", "--concurrent"),
        ("broadcast ws://127.0.0.1:1/ --rate 5 -s 30", "rate.argument_conflict", "--sample-size"),
        ("broadcast ws://127.0.0.1:1/ -s 30 -d 3s", "sample_size.argument_conflict", "--duration"),
        ("echo ws://127.0.0.1:1/ --interval 1s -s 30", "interval.argument_conflict", "--sample-size"),
        (
            "echo ws://127.0.0.1:1/ --payload 99 --payload-rows x.csv",
            "payload_padding.argument_conflict",
            "--payload-rows",
        ),
        ("echo ws://127.0.0.1:1/ --protocol json --text", "text", "raw json"),
        ("broadcast ws://127.0.0.1:1/ --search --total-steps 3", "search.argument_conflict", "--total-steps"),
        ("broadcast ws://127.0.0.1:1/ --search --clients 3", "clients", "--initial-clients --step-size"),
        (
            "broadcast ws://127.0.0.1:1/ --search --max-clients 5 --initial-clients 9",
            "initial_clients",
            "9 5 --max-clients",
        ),
        ("echo ws://127.0.0.1:1/ --max-clients 3", "search.missing_required_argument", ""),
        ("echo ws://127.0.0.1:1/ --search --fleet nats://127.0.0.1:1", "max_clients", "100k"),
        // What ends steps, where there is one.
        ("broadcast ws://127.0.0.1:1/ --clients 50 --rate 20 --limit-rtt 1us", "limit_rtt", "--step-size"),
        ("broadcast ws://127.0.0.1:1/ --clients 50 --limit-rtt 1us", "limit_rtt", "rtt.p95<=1000ns"),
        ("echo ws://127.0.0.1:1/ --limit-percentile 99", "limit_percentile", "rtt.p99<=500ms"),
        // Of a network for documentation (RFC 5737): nobody has it.
        ("echo ws://127.0.0.1:1/ --local-addr 127.0.0.1,192.0.2.1", "local_addr", "192.0.2.1"),
        // Limits on what the scenario does not measure: what there is, is named.
        ("echo ws://127.0.0.1:1/ --limit delivery.p95<5ms", "limit", "delivery.p95 rtt handshake"),
        ("idle ws://127.0.0.1:1/ --limit rate>=5", "limit", "connect_rate"),
        (
            "echo ws://127.0.0.1:1/ --clients 10 --rate 10 --limit rate>=1000",
            "limit",
            "rate>=1000 10.0/s --rate",
        ),
        ("idle ws://127.0.0.1:1/ --limit missing==0", "limit", "connect_timeouts"),
        ("storm ws://127.0.0.1:1/ --limit completion.p95<5ms", "limit", "completion.p95 recovery"),
        // An address and a certificate that are none.
        ("echo ws://127.0.0.1:1/ --fleet 127.0.0.1", "fleet", "nats://HOST:4222"),
        ("echo wss://127.0.0.1:1/ --ca /etc/hostname", "ca", "/etc/hostname"),
    ]);
}

#[test]
fn flags_of_other_dialects_are_named() {
    assert_refused(&[
        ("echo ws://127.0.0.1:1/ --channel Chat", "channel.other_dialect", "actioncable raw"),
        ("echo ws://127.0.0.1:1/ --channel-params {}", "channel_params.other_dialect", "actioncable raw"),
        ("idle ws://127.0.0.1:1/ --subscriptions 2", "subscriptions.other_dialect", "actioncable raw"),
        ("storm ws://127.0.0.1:1/ --topic room:1", "topic.other_dialect", "phoenix raw"),
        ("broadcast ws://127.0.0.1:1/ --join-params {}", "join_params.other_dialect", "phoenix json"),
        ("saturate ws://127.0.0.1:1/ --vsn 1.0.0", "vsn.other_dialect", "phoenix json"),
        ("echo ws://127.0.0.1:1/ --info", "info.other_dialect", "sockjs raw"),
        ("echo ws://127.0.0.1:1/ --transport polling", "transport.other_dialect", "sockjs socketio raw"),
        ("echo ws://127.0.0.1:1/ --namespace /", "namespace.other_dialect", "socketio raw"),
        ("echo ws://127.0.0.1:1/ --auth {}", "auth.other_dialect", "socketio raw"),
        ("echo ws://127.0.0.1:1/ --eio 3", "eio.other_dialect", "socketio raw"),
        ("echo ws://127.0.0.1:1/ --binary", "binary.other_dialect", "phoenix socketio raw"),
        ("echo ws://127.0.0.1:1/ --ack copy", "ack.other_dialect", "json binary raw"),
        ("broadcast ws://127.0.0.1:1/ --ack callback", "ack.other_dialect", "callback socketio json"),
        (
            "echo ws://127.0.0.1:1/ --protocol phoenix --channel Chat",
            "channel.other_dialect",
            "actioncable phoenix",
        ),
        ("http http://127.0.0.1:1/ --topic room:1", "topic", "--help"),
    ]);
}

/// Every command line is refused before anything is measured, and the error names what is wrong with it.
fn assert_refused(cases: &[Usage]) {
    check_all(
        cases,
        |case| case.0.to_owned(),
        |(arguments, key, names)| {
            let mut command = throng([]);
            let outcome = run(command.args(arguments.split_whitespace()).args(["--format", "json"]), RUN_MAX);
            let names: Vec<&str> = names.split_whitespace().collect();
            outcome.assert_failed(2, &format!("usage.{key}"), &names);
        },
    );
}

/// Without `--format`, there is no error for programs: standard output stays empty.
#[test]
fn verbs_without_a_format_name_the_flag() {
    for (arguments, flag) in [
        ("", "throng init"),
        ("serve --listen nowhere", "--listen"),
        ("serve --host 0.0.0.0 --listen 127.0.0.1:0", "--host"),
        ("serve --pin 1023", "--pin: "),
        ("serve --ping-interval 0", "--ping-interval"),
        ("serve --cable-ping-interval 0", "--cable-ping-interval"),
        ("serve --sockjs-heartbeat 0s", "--sockjs-heartbeat"),
        ("fleet list --nats 127.0.0.1", "--nats: "),
        ("echo ws://127.0.0.1:1/ --clients 0", "--clients: "),
    ] {
        let outcome = run(throng([]).args(arguments.split_whitespace()), RUN_MAX);
        assert_eq!((outcome.code, &*outcome.stdout), (BAD_USAGE, ""), "{outcome}");
        assert!(outcome.stderr.contains(flag), "{outcome}");
    }
}

#[test]
fn help_names_defaults_and_what_the_verb_takes() {
    let help = |verb: &str| {
        let help = run(&mut throng([verb, "--help"]), RUN_MAX).stdout;
        help.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    for verb in ["echo", "broadcast"] {
        let help = help(verb);
        for flag in
            ["clients", "duration", "concurrent", "sample-size", "step-size", "total-steps", "max-clients"]
        {
            let (_, about) = help.split_once(&format!("--{flag} <")).expect(flag);
            let about = about.split(" --").next().unwrap();
            assert!(about.contains("[default"), "{verb} --{flag}: {about}");
        }
    }
    let http = help("http");
    assert!(http.contains("http://127.0.0.1:8080/") && !http.contains("ws://"), "{http}");
    for foreign in
        ["Messages:", "Protocol:", "--protocol", "--app", "--topic", "--ack", "--subprotocol", "--text"]
    {
        assert!(!http.contains(foreign), "{foreign}: {http}");
    }
    assert!(http.contains("--token-in"), "a token goes into any request: {http}");
}

/// Checks that the usual flags fit on one screen or two; the rest is a word away.
#[test]
fn short_help_has_the_usual_flags() {
    let help = |flag: &str| run(&mut throng(["echo", flag]), RUN_MAX).stdout;
    let (short, long) = (help("-h"), help("--help"));
    assert!(short.contains("--clients") && !short.contains("--connect-parallel"), "{short}");
    assert!(short.contains("throng echo --help"), "{short}");
    assert!(
        long.contains("--connect-parallel") && long.find("\nLoad:") < long.find("\nConnections:"),
        "{long}"
    );
}

#[test]
fn help_has_eighty_columns_in_a_pipe() {
    for verb in ["init", "record", "probe", "doctor", "runs"] {
        let help = run(&mut throng([verb, "--help"]), RUN_MAX).stdout;
        assert!(help.contains("--help"), "{verb}: {help}");
        let wide = help.lines().filter(|line| line.chars().count() > 80);
        assert_eq!(wide.collect::<Vec<_>>(), Vec::<&str>::new(), "{verb}");
    }
}

/// Hidden verbs are those by which throng starts itself.
#[test]
fn completions_offer_what_is_typed() {
    for shell in ["bash", "zsh", "fish"] {
        let script = run(&mut throng(["completions", shell]), RUN_MAX).stdout;
        assert!(script.contains("broadcast") && script.contains("connect-timeout"), "{shell}");
        for hidden in ["child-agent", "guard", "from-stdin"] {
            assert!(!script.contains(hidden), "{shell}: {hidden}");
        }
    }
}

#[test]
fn every_verb_has_a_manual_page() {
    let page = |words: &[&str]| run(throng(["man"]).args(words), RUN_MAX);
    let (all, echo) = (page(&[]), page(&["echo"]));
    assert!(all.stdout.contains(".TH throng 1") && all.stdout.contains("throng\\-echo(1)"), "{all}");
    assert!(echo.stdout.contains(".TH throng-echo 1") && echo.stdout.contains("\\-\\-interval"), "{echo}");
    assert!(page(&["runs", "list"]).stdout.contains(".TH throng-runs-list 1"));
    let folder = tempfile::tempdir().unwrap();
    let written = run(throng(["man", "--all"]).arg(folder.path()), RUN_MAX);
    assert!(written.code == Some(0) && folder.path().join("man1/throng-runs-list.1").exists(), "{written}");
    assert_eq!(std::fs::read_to_string(folder.path().join("man1/throng-echo.1")).unwrap(), echo.stdout);
    let none = page(&["sing"]);
    assert_eq!(none.code, BAD_USAGE, "{none}");
    assert!(["sing", "serve", "echo"].iter().all(|verb| none.stderr.contains(verb)), "{none}");
}

#[test]
fn a_dialect_s_other_names_take_its_flags() {
    let server = Server::start(&[]);
    let flags = ["--protocol", "wsdemo", "--text", "--clients", "1", "--duration", "1s", "--no-store"];
    let outcome = run(throng(["echo", &server.url(), "--format", "json"]).args(flags), RUN_MAX);
    assert_eq!((outcome.code, outcome.json()["dialect"].as_str()), (Some(0), Some("raw")), "{outcome}");
}

/// As in a job that starts both: the server comes up while throng waits.
#[test]
fn starting_servers_are_waited_for() {
    let address = free_address();
    let url = format!("ws://{address}/ws");
    let mut command = throng(["echo", &url, "--clients", "2", "--duration", "200ms", "--wait-for", "30s"]);
    let waiting = Process::start(command.args(["--format", "json", "--no-store", "--quiet"]));
    std::thread::sleep(Duration::from_millis(500));
    let mut serve = throng(["serve", "--listen", &address.to_string()]);
    let _server = Process::start(&mut serve);
    let outcome = finish(waiting, RUN_MAX);
    assert_eq!((outcome.code, sum_of(&outcome.json(), "connected")), (Some(0), 2), "{outcome}");

    let never = run(
        throng(["echo", &format!("ws://{}/", free_address())]).args([
            "--wait-for",
            "300ms",
            "--format",
            "json",
        ]),
        RUN_MAX,
    );
    never.assert_failed(1, "could_not.reach.wait_for", &["0.3 s", "--wait-for"]);
    let wrong = run(&mut throng(["echo", "ftp://127.0.0.1/", "--wait-for", "20s"]), RUN_MAX);
    assert!(wrong.code == BAD_USAGE && wrong.elapsed < Duration::from_secs(10), "{wrong}");
}

#[test]
fn servers_out_of_reach() {
    let refused = run(&mut echo(&format!("ws://{}/", free_address()), 2, "1s"), RUN_MAX);
    refused.assert_no_server("refused", 2);

    let unresolved = run(&mut echo("ws://no-such-host.invalid/", 2, "1s"), RESOLVE_MAX);
    unresolved.assert_failed(1, "could_not.find_host", &["no-such-host.invalid"]);

    let hole = BlackHole::open();
    let swallowed = run(&mut echo(&format!("ws://{}/", hole.address), 2, "1s"), RUN_MAX);
    swallowed.assert_no_server("connect_timeout", 2);

    // Of class E, which no Linux routes.
    let unreachable = run(&mut echo("ws://240.0.0.1:9/", 2, "1s"), RUN_MAX);
    assert_eq!(unreachable.code, COULD_NOT_RUN, "{unreachable}");
}

#[test]
fn a_taken_port_is_named() {
    let server = Server::start(&[]);
    let outcome = run(&mut throng(["serve", "--listen", &server.address.to_string()]), RUN_MAX);
    assert_eq!(outcome.code, COULD_NOT_RUN, "{outcome}");
    assert_eq!(outcome.stderr.matches(&server.address.to_string()).count(), 1, "{outcome}");
    assert!(outcome.stderr.contains(ErrorKind::AddrInUse.remedy().expect("there is one")), "{outcome}");
}

#[test]
fn a_broken_limit_exits_3() {
    let server = Server::start(&[]);
    let kept = run(echo(&server.url(), 2, "1s").args(["--limit", "p95<60s"]), RUN_MAX);
    assert_eq!(kept.code, Some(0), "{kept}");
    let broken = run(echo(&server.url(), 2, "1s").args(["--limit", "p95<1us"]), RUN_MAX);
    assert_eq!(broken.code, LIMIT_BROKEN, "{broken}");
}

#[test]
fn a_file_that_is_cut_short_is_named() {
    let server = Server::start(&[]);
    let folder = tempfile::tempdir().unwrap();
    let whole = run(&mut echo(&server.url(), 2, "1s"), RUN_MAX).stdout;
    let file = folder.path().join("cut.json");
    std::fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    for verb in [&["report"][..], &["runs", "import"]] {
        let outcome = run(throng([]).args(verb).arg(&file), RUN_MAX);
        assert_eq!(outcome.code, COULD_NOT_RUN, "{outcome}");
        assert!(outcome.stderr.contains("cut.json"), "{outcome}");
        assert!(outcome.stdout.is_empty(), "{outcome}");
    }
}

#[test]
fn hidden_characters_reach_no_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let targets = folder.path().join("targets");
    let node = include_str!("../targets/node-ws/target.toml");
    file("targets/good\u{1b}[31m/target.toml", &node.replace("JavaScript", "\\u001b[31m\\u202e"));
    file("targets/bad\u{202e}/target.toml", "language = \"\u{1b}[31m\u{202e}\"\n");
    for arguments in [
        &["run", "no\u{202e}.toml"][..],
        &["echo", "--fo\u{202e}o"],
        &["ec\u{202e}ho"],
        &["docs", "x\u{1b}[31m"],
        &["shootout", &file("suite.toml", "title = \"\u{1b}]0;x\u{7}\u{202e}\"\n")],
        &["run", &file("app.toml", "[\"\u{1b}[31m\u{202e}\"]\n")],
        &["targets", "list", "--targets-dir", targets.to_str().unwrap()],
    ] {
        let Outcome { stdout, stderr, .. } = run(throng([]).args(arguments), RUN_MAX);
        let said = stdout + &stderr;
        assert!(!said.is_empty() && said.chars().all(|c| c == '\n' || is_shown(c)), "{said:?}");
    }
}
