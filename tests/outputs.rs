//! Results that cannot be written: nobody reads them, the output is closed, the disk is full. A run that keeps them
//! nowhere else says so and fails, and what was measured is printed where that is possible.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader};
use std::process::Command;
use std::time::Duration;

use crate::support::process::Process;
use crate::support::skip;
use crate::support::throng::{Server, echo, finish, run, sum_of, throng, under};

/// A run of one second, with five to connect and two to drain, on a busy machine.
const RUN_MAX: Duration = Duration::from_secs(30);

const COULD_NOT_RUN: Option<i32> = Some(1);
const LIMIT_BROKEN: Option<i32> = Some(3);

#[test]
fn output_that_nobody_takes() {
    let server = Server::start(&[]);

    // As in `throng … | head -0`: the reader has gone, which is no failure of ours.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let closed = finish(Process::start_onto(&mut echo(&server.url(), 2, "1s"), writer), RUN_MAX);
    assert_eq!(closed.code, Some(0), "{closed}");

    // As in `throng … 2>&1 | head -1`: nobody reads the remarks either, and the run ends as it would.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let folder = tempfile::tempdir().unwrap();
    let mut nobody = echo(&server.url(), 2, "1s");
    nobody.args(["--limit", "p95<1us", "--out"]).arg(folder.path());
    let mut nobody = under("sh", &["-c", r#"exec "$@" 2>&1"#, "sh"], &nobody);
    nobody.env("XDG_DATA_HOME", folder.path().join("data"));
    let nobody = finish(Process::start_onto(&mut nobody, writer), RUN_MAX);
    assert_eq!(nobody.code, LIMIT_BROKEN, "{nobody}");
    let files = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
    assert!(files.into_iter().any(|file| file.extension().is_some_and(|kind| kind == "html")));

    // The results are nowhere else.
    let unkept = || {
        let mut unkept = echo(&server.url(), 2, "300ms");
        unkept.arg("--no-store");
        unkept
    };
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let lost = finish(Process::start_onto(&mut unkept(), writer), RUN_MAX);
    assert_eq!(lost.code, COULD_NOT_RUN, "{lost}");
    assert!(lost.stderr.contains("--no-store"), "{lost}");

    // A stream on standard output is the same: its reader has all of it, or none has.
    let stream = |command: &mut Command| {
        let (reader, writer) = std::io::pipe().unwrap();
        let process = Process::start_onto(command.arg("--stream=-"), writer);
        let mut first = String::new();
        BufReader::new(reader).read_line(&mut first).unwrap();
        assert!(first.contains(r#""event":"start""#), "{first}");
        finish(process, RUN_MAX)
    };
    let lost = stream(&mut unkept());
    assert_eq!(lost.code, COULD_NOT_RUN, "{lost}");
    assert!(lost.stderr.contains("--no-store"), "{lost}");
    let kept = stream(echo(&server.url(), 2, "300ms").env("XDG_DATA_HOME", folder.path().join("data")));
    assert_eq!(kept.code, Some(0), "{kept}");
    let read = run(unkept().arg("--stream=-"), RUN_MAX);
    assert!(read.code == Some(0) && read.stdout.contains(r#""event":"end""#), "{read}");

    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let full = finish(Process::start_onto(&mut echo(&server.url(), 2, "1s"), full), RUN_MAX);
    assert_eq!(full.code, COULD_NOT_RUN, "{full}");
    assert!(full.stderr.contains("No space left"), "{full}");
}

/// As in `throng … >&-`: Rust's runtime puts /dev/null in the place of what is closed.
#[test]
fn output_that_is_closed() {
    let server = Server::start(&[]);
    let folder = tempfile::tempdir().unwrap();
    let closed = |command: &Command| {
        let mut closed = under("sh", &["-c", r#"exec "$@" >&-"#, "sh"], command);
        closed.env("XDG_DATA_HOME", folder.path());
        run(&mut closed, RUN_MAX)
    };
    for format in ["text", "json"] {
        // Found out before the load, not after it.
        let mut unkept =
            throng(["echo", &server.url(), "--format", format, "--no-store", "--duration", "60s"]);
        let unkept = closed(unkept.arg("--clients=2"));
        assert_eq!(unkept.code, COULD_NOT_RUN, "{unkept}");
        assert!(unkept.stderr.contains("closed"), "{unkept}");
    }
    let kept = closed(&echo(&server.url(), 2, "300ms"));
    assert!(kept.code == COULD_NOT_RUN && kept.stderr.contains("kept as run"), "{kept}");
    let printed: [&[&str]; 3] = [&["runs", "list"], &["runs", "show", "last"], &["report", "last", "--md"]];
    for words in printed {
        let mut command = throng([]);
        let outcome = closed(command.args(words));
        assert_eq!(outcome.code, COULD_NOT_RUN, "{words:?}: {outcome}");
        assert!(outcome.stderr.contains("closed"), "{words:?}: {outcome}");
    }
}

#[test]
fn results_that_cannot_be_kept() {
    let server = Server::start(&[]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a file");
    File::create(&file).unwrap();

    // Found out before the load, not after it.
    let not_a_folder = run(echo(&server.url(), 2, "60s").arg("--out").arg(&file), RUN_MAX);
    not_a_folder.assert_failed(1, "could_not.make_directory", &["a file"]);

    let limited = echo(&server.url(), 2, "1s");
    let mut limited = under("prlimit", &["--fsize=4096", "--"], &limited);
    let limited = run(limited.arg("--out").arg(folder.path()), RUN_MAX);
    assert_eq!(limited.code, COULD_NOT_RUN, "{limited}");
    assert!(limited.stderr.contains("File too large"), "{limited}");
    assert!(sum_of(&limited.json(), "received") > 0, "what was measured is lost\n{limited}");

    let script = r#"mount -t tmpfs -o size=64k none "$0" && { cat /dev/zero >"$0/fill"; exec "$@"; }"#;
    let mut full = Command::new("unshare");
    full.args(["--map-root-user", "--mount", "sh", "-c", script]).arg(folder.path());
    let echo = echo(&server.url(), 2, "1s");
    full.arg(echo.get_program()).args(echo.get_args()).arg("--out").arg(folder.path());
    let full = run(&mut full, RUN_MAX);
    if full.stderr.starts_with("unshare:") || full.stderr.starts_with("mount:") {
        return skip("a full disk", &full.stderr);
    }
    assert_eq!(full.code, COULD_NOT_RUN, "{full}");
    assert!(full.stderr.contains("No space left"), "{full}");
    assert!(sum_of(&full.json(), "received") > 0, "what was measured is lost\n{full}");
}

#[test]
fn a_disk_that_has_room_again_costs_nothing() {
    let server = Server::start(&[]);
    let folder = tempfile::tempdir().unwrap();
    let (out, said) = (folder.path().join("out"), folder.path().join("said"));
    std::fs::create_dir(&out).unwrap();
    let script = r#"out=$0 said=$1; shift; mount -t tmpfs -o size=1m none "$out" || exit 99
        cat /dev/zero >"$out/fill" 2>"$said"; "$@" 2>"$said" & run=$!
        for i in $(seq 100); do grep -q 'could not write' "$said" && break; sleep 0.05; done
        rm "$out/fill"; wait $run; code=$?; cat "$said" "$out"/*.json >&2; exit $code"#;
    let mut walk = throng(["echo", "--protocol", "json", "--format", "json", "--no-report", "--no-store"]);
    walk.args("--step-size 2 --total-steps 3 --interval 100ms --duration 1s --limit-rtt 20s".split(' '));
    let mut full = Command::new("unshare");
    full.args(["--map-root-user", "--mount", "sh", "-c", script]).args([&out, &said]);
    full.arg(walk.get_program()).args(walk.get_args()).arg(server.url()).arg("--out").arg(&out);
    let outcome = run(&mut full, RUN_MAX);
    if outcome.code == Some(99) || outcome.stderr.starts_with("unshare:") {
        return skip("a full disk", &outcome.stderr);
    }
    assert_eq!(outcome.code, Some(0), "the file is whole\n{outcome}");
    assert_eq!(outcome.stderr.matches("No space left").count(), 1, "said once, when it is\n{outcome}");
    assert!(outcome.stderr.contains("\"steps\""), "{outcome}");
}
