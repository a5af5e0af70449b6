//! Replays of the kept inputs and of mutations of these, without libFuzzer: the same sequence each time.

use std::collections::BTreeSet;
use std::fs;
use std::panic::{catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use fastrand::Rng;

/// Time for the mutations of each target, once its kept inputs have passed.
const MUTATING_FOR: Duration = Duration::from_secs(1);
/// Time for one input, on a busy machine: libFuzzer gives it ten seconds (fuzz/run.py).
const INPUT_MAX: Duration = Duration::from_secs(60);
const SEED: u64 = 1;
const EDITS_MAX: usize = 4;
const INSERTED_BYTES_MAX: usize = 16;

macro_rules! replays {
    ($($name:ident)*) => {
        const REPLAYED: &[&str] = &[$(stringify!($name)),*];

        $(#[test]
        fn $name() {
            replay(stringify!($name), crate::$name::run);
        })*
    };
}

replays! {
    custom_client
    deflate
    event_stream
    har
    http2_client
    http2_server
    http_request
    http_response
    login
    pieces
    socketio
    sockjs
    stamp
    tunnel_client
    ws_client
    ws_server
}

fn fuzz_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn replay(name: &str, run: fn(&[u8])) {
    let kept = kept_inputs(name);
    assert!(!kept.is_empty(), "no inputs in fuzz/corpus/{name}");
    watch(move |begin| {
        for input in &kept {
            check(run, input, &begin);
        }
        let (mut rng, start) = (Rng::with_seed(SEED), Instant::now());
        while start.elapsed() < MUTATING_FOR {
            check(run, &mutated(&kept, &mut rng), &begin);
        }
    });
}

/// Runs a replay, which sends each input before it is run. Panics as the replay does, or with an input whose
/// run does not end.
fn watch(replay: impl FnOnce(Sender<Vec<u8>>) + Send + 'static) {
    let (begin, begun) = mpsc::channel();
    let replay = thread::spawn(move || replay(begin));
    let mut input = Vec::new();
    loop {
        match begun.recv_timeout(INPUT_MAX) {
            Ok(next) => input = next,
            Err(RecvTimeoutError::Timeout) => panic!("hangs on b\"{}\"", input.escape_ascii()),
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    if let Err(panic) = replay.join() {
        resume_unwind(panic);
    }
}

/// The inputs of a target, in an order that does not depend on the file system.
fn kept_inputs(name: &str) -> Vec<Vec<u8>> {
    let folder = fuzz_folder().join("corpus").join(name);
    let files = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let paths: BTreeSet<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

/// Panics with the input if the target does.
fn check(run: fn(&[u8]), input: &[u8], begin: &Sender<Vec<u8>>) {
    // Nobody is told once the replay has failed.
    let _ = begin.send(input.to_owned());
    if catch_unwind(|| run(input)).is_err() {
        panic!("fails on b\"{}\"", input.escape_ascii());
    }
}

/// One of the inputs with a few bytes changed, removed, inserted or taken from another.
fn mutated(kept: &[Vec<u8>], rng: &mut Rng) -> Vec<u8> {
    let pick = |rng: &mut Rng| &kept[rng.usize(..kept.len())];
    let mut input = pick(rng).clone();
    for _ in 0..rng.usize(1..=EDITS_MAX) {
        let at = rng.usize(..=input.len());
        match rng.u8(..4) {
            0 if at < input.len() => input[at] ^= 1 << rng.u8(..8),
            1 if at < input.len() => drop(input.drain(at..rng.usize(at..=input.len()))),
            2 => {
                let added: Vec<u8> = (0..rng.usize(..=INSERTED_BYTES_MAX)).map(|_| rng.u8(..)).collect();
                input.splice(at..at, added);
            }
            _ => {
                let other = pick(rng);
                input.splice(at.., other[rng.usize(..=other.len())..].iter().copied());
            }
        }
    }
    input
}

#[test]
fn each_target_of_libfuzzer_is_replayed() {
    let programs = fs::read_dir(fuzz_folder().join("fuzz_targets")).unwrap();
    let names: BTreeSet<String> = programs
        .map(|program| program.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    assert_eq!(names, REPLAYED.iter().map(|&name| name.to_owned()).collect());
}
