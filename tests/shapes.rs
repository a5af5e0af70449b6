//! The shapes that load can have, each against the reference server, with an outcome that is arithmetic.

use std::io::{Read, Write};
use std::time::Duration;

use rustix::process::{Signal, kill_process_group};
use serde_json::Value;

use crate::support;
use crate::support::process::Process;
use crate::support::throng::{Outcome, Server, finish, run, sum_of, throng};
use crate::support::wait_until;

/// A run of a few seconds, on a busy machine.
const RUN_MAX: Duration = Duration::from_secs(60);

/// A run with these words after the URL.
fn ran(server: &Server, verb: &str, flags: &str) -> Outcome {
    let url = if verb == "http" { server.url().replacen("ws", "http", 1) } else { server.url() };
    run(throng([verb, &url, "--format", "json", "--quiet"]).args(flags.split_whitespace()), RUN_MAX)
}

/// One that held.
fn outcome(server: &Server, verb: &str, flags: &str) -> Outcome {
    let outcome = ran(server, verb, flags);
    outcome.assert_held();
    outcome
}

/// A run that ends with this code.
fn outcome_that_ends(code: i32, server: &Server, verb: &str, flags: &str) -> Outcome {
    let outcome = ran(server, verb, flags);
    assert_eq!(outcome.code, Some(code), "{outcome}");
    outcome
}

/// The results of such a run.
fn results(server: &Server, verb: &str, flags: &str) -> Value {
    outcome(server, verb, flags).json()
}

#[test]
fn a_ramp_sends_the_area_under_its_line() {
    let server = Server::start(&[]);
    for (rate, sent, asked_per_s) in [
        ("100..500/2s", 600, 300.0),
        ("0→400/1s,400..0/1s", 400, 200.0),
        ("200/1s,600 --duration 2s", 800, 400.0),
    ] {
        let results = results(&server, "echo", &format!("--clients 7 --threads 2 --rate {rate}"));
        assert_eq!((sum_of(&results, "sent"), sum_of(&results, "received")), (sent, sent), "{rate}");
        assert_eq!(results["steps"][0]["duration_s"], 2.0, "{rate}");
        assert_eq!(results["steps"][0]["rates"]["asked_per_s"], asked_per_s, "{rate}");
    }
}

#[test]
fn warm_clients_count_in_the_first_step() {
    let server = Server::start(&[]);
    let one = results(&server, "echo", "--clients 1 --warmup 100ms -s 50");
    assert_eq!((sum_of(&one, "connects"), sum_of(&one, "received")), (0, 50), "{one:#}");
    let sweep = results(
        &server,
        "saturate",
        "--levels 10,20 --warmup 100ms --first-rate 100 --max-rate 200 --duration 200ms --refine 0",
    );
    assert!(sweep["steps"].as_array().unwrap().len() >= 4, "{sweep:#}");
}

#[test]
fn leaving_clients_are_replaced_without_loss() {
    let server = Server::start(&["--threads", "2"]);
    for flags in [
        "echo --clients 100 --churn 10%/s --rate 200 --duration 2s --threads 2",
        "echo --clients 100 --churn 10%/s -c 5 --duration 2s --protocol json",
        "broadcast --clients 100 --churn 10%/s --rate 50 --duration 2s --threads 2",
    ] {
        let (verb, flags) = flags.split_once(' ').unwrap();
        let results = results(&server, verb, flags);
        let of = |name| sum_of(&results, name);
        let connected = of("connected") + of("connecting");
        assert_eq!((of("left"), of("connects"), connected), (20, 120, 120), "{flags}: {results:#}");
        assert_eq!((of("missing"), of("disconnects"), of("duplicate")), (0, 0, 0), "{flags}: {results:#}");
        assert_eq!(of("expected"), of("received") + of("in_flight"), "{flags}: {results:#}");
        // A client that leaves has a message or two under way at the most, on a machine that is not busy.
        assert!(of("received") > 0 && of("in_flight") < of("received") / 2, "{flags}: {results:#}");
        assert_eq!(results["steps"][0]["counts"]["errors"], serde_json::json!({}), "{flags}");
        if flags.contains("--rate") {
            let messages = if verb == "echo" { 400 } else { 100 };
            assert_eq!(of("sent"), messages, "{flags}: the others carry the rate");
            assert_eq!(results["steps"][0]["rtt"]["count"], messages, "{flags}: nothing drops out");
        }
    }
}

#[test]
fn connections_are_renewed_after_their_messages() {
    let server = Server::start(&["--threads", "2"]);
    for (flags, connections) in [
        ("echo --clients 1 --pipelining 1 --sample-size 100 --messages-per-connection 10", Some(10)),
        ("echo --clients 1 --pipelining 16 --sample-size 100 --messages-per-connection 10", Some(10)),
        (
            "echo --clients 20 --pipelining 16 --sample-size 2000 --messages-per-connection 10 --threads 3",
            None,
        ),
        (
            "echo --clients 20 --pipelining 1 --sample-size 2000 --messages-per-connection 10 --processes 2",
            None,
        ),
        ("echo --clients 20 --rate 1000 --duration 1s --messages-per-connection 10", None),
        // Each message has to wait for a connection.
        ("echo --clients 1 --rate 200 --duration 1s --messages-per-connection 1", Some(200)),
        ("http --clients 1 --amount 100 --requests-per-connection 10", Some(10)),
        ("http --clients 5 --pipelining 16 --amount 1000 --messages-per-connection 10", None),
    ] {
        let (verb, words) = flags.split_once(' ').unwrap();
        let clients: u64 = words.split(' ').nth(1).unwrap().parse().unwrap();
        let results = results(&server, verb, words);
        let of = |name| sum_of(&results, name);
        let (sent, left) = (of("sent"), of("left"));
        assert_eq!(
            (of("expected"), of("received"), of("in_flight")),
            (sent, sent, 0),
            "{flags}: {results:#}"
        );
        assert_eq!((of("missing"), of("disconnects"), of("duplicate")), (0, 0, 0), "{flags}: {results:#}");
        assert_eq!(of("connects"), clients + left, "{flags}: {results:#}");
        // The last of those that come in place of others may still be connecting.
        let connected = of("connects") - of("connecting");
        assert_eq!(of("connected"), connected, "{flags}: {results:#}");
        let per_connection = if connections == Some(200) { 1 } else { 10 };
        // Each that was ended had all its messages, and none had more.
        assert!(
            left * per_connection <= sent && sent <= (clients + left) * per_connection,
            "{flags}: {left}"
        );
        assert!(connections.is_none_or(|connections| connections == clients + left), "{flags}: {left}");
        assert_eq!(results["steps"][0]["handshake"]["count"], connected, "{flags}: each is timed");
        assert_eq!(results["steps"][0]["rtt"]["count"], sent, "{flags}: nothing drops out");
        assert_eq!(results["steps"][0]["counts"]["errors"], serde_json::json!({}), "{flags}");
    }
}

#[test]
fn invalid_numbers_of_messages_are_named() {
    let server = Server::start(&[]);
    for (verb, flags) in [
        ("echo", "--messages-per-connection 0"),
        ("echo", "--messages-per-connection 10 --churn 10%/s"),
        ("http", "--requests-per-connection 10 --no-keep-alive"),
        ("broadcast", "--messages-per-connection 10"),
    ] {
        let outcome = outcome_that_ends(2, &server, verb, flags);
        assert!(outcome.stderr.contains("-per-connection"), "{flags}: {outcome}");
    }
}

#[test]
fn refused_connections_are_retried_without_loss() {
    let server = Server::start(&["--fault", "refuse=9%10"]);
    let flags = "--clients 20 --pipelining 1 --sample-size 3000 --messages-per-connection 10 --no-preflight";
    let results = run(
        throng(["echo", &server.url(), "--format", "json", "--quiet"]).args(flags.split_whitespace()),
        RUN_MAX,
    )
    .json();
    let of = |name| sum_of(&results, name);
    assert_eq!((of("sent"), of("received"), of("missing")), (3_000, 3_000, 0), "{results:#}");
    assert_eq!(of("connects"), of("connected") + of("connect_failures"), "{results:#}");
    assert!(of("connect_failures") > 20 && of("left") > 250, "{results:#}");
}

#[test]
fn slow_readers_are_load_alone() {
    let server = Server::start(&[]);
    let flags = "--clients 20 --slow 25%:2KiB/s --rate 200 --duration 3s --payload 300 --threads 2";
    let outcome = outcome(&server, "broadcast", flags);
    let results = outcome.json();
    let of = |name| sum_of(&results, name);
    assert_eq!((of("slow"), of("sent")), (5, 600));
    assert_eq!((of("expected"), of("received"), of("missing")), (15 * 600, 15 * 600, 0), "{results:#}");
    assert_eq!(results["steps"][0]["delivery"]["count"], 15 * 600);
    // At most what they may read while the run lasts, of messages that are longer than 400 bytes: a fraction of 3,000.
    let read_max = 5 * 2_048 * outcome.elapsed.as_secs().max(7) / 400;
    assert!((1..=read_max).contains(&of("slow_received")), "{}", of("slow_received"));
}

#[test]
fn sized_messages_come_back_as_sent() {
    let server = Server::start(&[]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("people.csv");
    std::fs::write(&file, "user,text\nann,hello\nbob,\"say \"\"hi\"\"\"\neve,päuschen\n").unwrap();
    let data = format!("--payload-rows {}", file.display());
    for flags in [
        "echo --payload 100..4KiB",
        "echo --protocol json --payload 0..20000 --threads 2",
        &format!("echo {data} --text"),
        &format!("broadcast --protocol json {data} --threads 2"),
    ] {
        let (verb, flags) = flags.split_once(' ').unwrap();
        let results = results(&server, verb, &format!("--clients 5 --rate 200 --duration 1s {flags}"));
        let of = |name| sum_of(&results, name);
        assert_eq!((of("sent"), of("received")), (200, of("expected")), "{flags}: {results:#}");
        assert_eq!((of("missing"), of("corrupt"), of("unexpected")), (0, 0, 0), "{flags}: {results:#}");
    }
    // Evenly spaced from 100 to 730, 64 sizes; a server that takes no more than 400 bytes takes those up to there.
    let narrow = Server::start(&["--max-message", "400"]);
    let flags = "--clients 64 --rate 64 --duration 1s --payload 100..730 --threads 1";
    let results = outcome_that_ends(3, &narrow, "echo", flags).json();
    assert_eq!(sum_of(&results, "received"), 31, "{results:#}");
}

#[test]
fn restarted_servers_get_everybody_back() {
    let server = Server::start(&["--threads", "1"]);
    let throng = env!("CARGO_BIN_EXE_throng");
    // Not in the generator's process group's foreground: the command ends, the server stays.
    let restart = format!(
        "kill -KILL {}; sleep 3; '{throng}' serve --quiet --threads 1 --listen {} &",
        server.process.pid().as_raw_nonzero(),
        server.address,
    );
    let mut command = support::throng::throng(["storm", &server.url(), "--format", "json", "--quiet"]);
    command.args(["--clients", "20", "--lead", "500ms", "--duration", "8s", "--drain-timeout", "1s"]);
    // The server is killed in the midst of what it answers.
    command.args(["--limit", "missing<50%"]);
    let outcome = run(command.args(["--restart-command", &restart]), RUN_MAX);
    outcome.assert_held();
    let results = outcome.json();
    assert_eq!((sum_of(&results, "disconnects"), sum_of(&results, "connected")), (20, 40), "{outcome}");
    let recovery = &results["steps"][0]["recovery"];
    assert_eq!(recovery["count"], 20, "{outcome}");
    // Counted from when a client notices its loss, for which a busy machine has most of the three seconds.
    assert!(recovery["min_ms"].as_f64() > Some(500.0), "nobody was back before the server was\n{outcome}");
    let caveats = results["verdict"]["caveats"].to_string();
    assert!(!caveats.contains("restart"), "{outcome}");
}

#[test]
fn restart_commands_survive_interrupts() {
    let (server, folder) = (Server::start(&[]), tempfile::tempdir().unwrap());
    let [begun, ended] = ["begun", "ended"].map(|name| folder.path().join(name));
    let restart = format!("touch '{}'; sleep 1; touch '{}'", begun.display(), ended.display());
    let mut command =
        throng(["storm", &server.url(), "--clients", "5", "--lead", "300ms", "--duration", "20s"]);
    let storm = Process::start(command.args(["--no-store", "--quiet", "--restart-command", &restart]));
    assert!(wait_until(RUN_MAX, || begun.exists()));
    // As a terminal does on Ctrl-C.
    kill_process_group(storm.pid(), Signal::INT).unwrap();
    // Before the end of the run is waited for, with which the whole group ends here.
    assert!(wait_until(RUN_MAX, || ended.exists()), "the command was interrupted");
    let outcome = finish(storm, RUN_MAX);
    assert_eq!(outcome.code, Some(130), "{outcome}");
}

/// The only message is due at the beginning, and the storm comes after it.
#[test]
fn quiet_storms_are_watched_to_the_end() {
    let server = Server::start(&[]);
    let flags = "--clients 20 --share 95% --interval 1m --lead 500ms -d 1s --threads 1 --no-preflight";
    let results = results(&server, "storm", flags);
    assert_eq!((sum_of(&results, "connected"), sum_of(&results, "not_back")), (39, 0), "{results:#}");
    assert_eq!(results["steps"][0]["recovery"]["count"], 19, "{results:#}");
}

#[test]
fn late_returns_break_their_limits() {
    let server = Server::start(&[]);
    // Action Cable's clients wait for 6 s at least.
    let url = format!("ws://{}/cable", server.address);
    let flags =
        "--protocol actioncable --clients 20 --share 50% --lead 200ms -d 1s --drain-timeout 1s --format json";
    let mut command = support::throng::throng(["storm", &url, "--quiet"]);
    command.args(flags.split(' ')).args(["--limit", "recovery.p99<5s", "--limit", "handshake.p50<1m"]);
    let outcome = run(&mut command, RUN_MAX);
    assert_eq!(outcome.code, Some(3), "{outcome}");
    let results = outcome.json();
    assert_eq!((sum_of(&results, "not_back"), sum_of(&results, "connected")), (10, 20), "{outcome}");
    let limits = &results["steps"][0]["limits"];
    assert_eq!((&limits[0]["passed"], &limits[0]["at_least"]), (&false.into(), &true.into()), "{outcome}");
    assert_eq!((&limits[1]["passed"], &limits[1]["at_least"]), (&true.into(), &Value::Null), "{outcome}");
    let lost = support::throng::loss(&results, "not_back");
    assert_eq!((&lost["missing"], &lost["of"]), (&10.into(), &10.into()), "{outcome}");
}

#[test]
fn the_targets_own_metrics_are_on_the_timeline() {
    let server = Server::start(&[]);
    for (form, name) in [
        ("# TYPE asked counter\nasked{by=\"throng\"} {n}\nlat_bucket{le=\"1\"} 5\n", "asked{by=\"throng\"}"),
        ("{\"own\": {\"asked\": {n}, \"name\": \"x\"}}", "own.asked"),
    ] {
        let metrics = Metrics::serve(form);
        let flags =
            format!("--clients 5 --rate 50 --duration 3s --scrape http://{}/metrics", metrics.address);
        let results = results(&server, "echo", &flags);
        let series = results["steps"][0]["series"].as_array().unwrap();
        let read: Vec<f64> = series.iter().filter_map(|second| second["metrics"][name].as_f64()).collect();
        assert!(read.len() >= 2 && read.windows(2).all(|two| two[0] < two[1]), "{series:#?}");
        let kept = series.iter().filter_map(|second| second["metrics"].as_object());
        assert!(
            kept.into_iter().all(|metrics| metrics.len() == 1),
            "nothing else was asked for: {series:#?}"
        );
    }
    let nobody = format!("http://{}/metrics", support::free_address());
    let outcome =
        run(throng(["echo", &server.url(), "-d", "1s", "--scrape", &nobody]).arg("--quiet"), RUN_MAX);
    assert_eq!(outcome.code, Some(1), "{outcome}");
    assert!(outcome.stderr.contains("--scrape") && outcome.stderr.contains("refused"), "{outcome}");
}

/// An endpoint that counts how often it is asked.
struct Metrics {
    address: std::net::SocketAddr,
}

impl Metrics {
    fn serve(form: &'static str) -> Metrics {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for (n, stream) in listener.incoming().enumerate() {
                let mut stream = stream.unwrap();
                let _ = stream.read(&mut [0; 1024]);
                let body = form.replace("{n}", &n.to_string());
                let _ = write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
            }
        });
        Metrics { address }
    }
}
