#!/usr/bin/env python3
"""Builds the fuzz targets once, with a stable compiler, and runs each for a while.

usage: fuzz/run.py [--same | --total] SECONDS [TARGET...]
       fuzz/run.py --keep [TARGET...]

What cargo-fuzz does beside this needs a nightly compiler: the address sanitizer, which code without `unsafe` has no use
for. libfuzzer-sys brings libFuzzer itself, and rustc's own flags have the code count its branches. Each target starts
from the inputs kept in corpus/TARGET and leaves what it learns in target/fuzz/corpus/TARGET; an input that fails is
left in artifacts/TARGET, and is to become a unit test. --keep makes corpus/TARGET anew of the fewest inputs that were
learnt and see every branch that all of them see. With --same, nothing that was learnt is used and the seed is the same
each time, so that what fails is a change's fault and not chance's. With --total, SECONDS count from a target's first
run on: target/fuzz/ledger/TARGET.json has those that are done, and one that was interrupted goes on. It begins anew
with other code, or without that file. CARGO_TARGET_DIR is the target of these paths, if it is set.
"""

import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

HERE = pathlib.Path(__file__).resolve().parent
# As many as have a CPU each, so that the seconds are theirs.
AT_ONCE = len(os.sched_getaffinity(0))
# The flags of cargo-fuzz but for the sanitizer.
COVERAGE = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Ccodegen-units=1",
    "--cfg=fuzzing",
]
INPUT_BYTES_MAX = 4096
# One input takes microseconds: this is one that hangs.
INPUT_SECONDS_MAX = 10
# Beyond the seconds asked for: reading the corpus, and writing down what failed.
GRACE_SECONDS = 120
LINES_OF_A_FAILURE = 30
# An interrupted run loses at most this.
SLICE_SECONDS = 60


class Failed(Exception):
    """A target that did not run to its end, in a line or several."""


def target_directory():
    return pathlib.Path(os.environ.get("CARGO_TARGET_DIR", HERE / "target")) / "fuzz"


def build():
    """The directory of the programs."""
    host = re.search(r"host: (\S+)", subprocess.check_output(["rustc", "-vV"], text=True))[1]
    environment = {**os.environ, "CARGO_ENCODED_RUSTFLAGS": "\x1f".join(COVERAGE), "RUSTC_BOOTSTRAP": "1"}
    directory = target_directory()
    command = [os.environ.get("CARGO", "cargo"), "build", "--bins", "--profile", "fuzz"]
    command += ["--manifest-path", HERE / "Cargo.toml", "--target-dir", directory]
    # With a target named, build scripts and macros are built without the flags.
    subprocess.run([*command, "--target", host], check=True, env=environment)
    return directory / host / "fuzz"


def run(program, seconds, is_same):
    """What a target has done in these seconds: seconds, inputs, and branches seen."""
    name = program.name
    learnt, artifacts = target_directory() / ("same" if is_same else "corpus") / name, HERE / "artifacts" / name
    if is_same:
        shutil.rmtree(learnt, ignore_errors=True)
    for directory in (learnt, artifacts):
        directory.mkdir(parents=True, exist_ok=True)
    # What is new goes to the first directory.
    kept = [path for path in [HERE / "corpus" / name] if path.is_dir()]
    command = [program, learnt, *kept, *(["-seed=1"] if is_same else [])]
    command += [f"-max_total_time={seconds}", f"-timeout={INPUT_SECONDS_MAX}"]
    command += [f"-max_len={INPUT_BYTES_MAX}", f"-artifact_prefix={artifacts}/", "-print_final_stats=1"]
    start = time.monotonic()
    try:
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=seconds + GRACE_SECONDS
        )
    except subprocess.TimeoutExpired:
        raise Failed(f"{name}: did not end within {seconds + GRACE_SECONDS} s") from None
    said = done.stdout.decode(errors="replace")
    if done.returncode != 0:
        tail = "\n".join(said.splitlines()[-LINES_OF_A_FAILURE:])
        raise Failed(f"{name}: FAILED ({done.returncode}); the input is in {artifacts}\n{tail}")
    runs = re.search(r"number_of_executed_units:\s*(\d+)", said)
    covered = re.findall(r"cov: (\d+)", said)
    if not runs or not covered or not int(runs[1]):
        raise Failed(f"{name}: ran, but libFuzzer said nothing of it")
    return {"seconds": time.monotonic() - start, "inputs": int(runs[1]), "branches": int(covered[-1])}


def ledger(name):
    """The file of what a target has done altogether."""
    return target_directory() / "ledger" / f"{name}.json"


def go_on(program, seconds):
    """Runs a target until its ledger has these seconds; what the ledger has then."""
    path = ledger(program.name)
    path.parent.mkdir(parents=True, exist_ok=True)
    # What was done with other code says nothing of this.
    begun = {"program": hashlib.sha256(program.read_bytes()).hexdigest(), "seconds": 0, "inputs": 0, "branches": 0}
    total = json.loads(path.read_text()) if path.exists() else begun
    if total.get("program") != begun["program"]:
        total = begun
    while total["seconds"] < seconds:
        # Counted as asked for; libFuzzer's own count has the reading of the corpus in it, once a slice.
        piece = min(SLICE_SECONDS, seconds - total["seconds"])
        done = run(program, piece, False)
        total = {
            "program": begun["program"],
            "seconds": total["seconds"] + piece,
            "inputs": total["inputs"] + done["inputs"],
            "branches": max(total["branches"], done["branches"]),
        }
        beside = path.with_suffix(".part")
        beside.write_text(json.dumps(total) + "\n")
        beside.replace(path)
    return total


def line_of(name, done):
    return f"{name}: {done['inputs']:,} inputs in {done['seconds']:.0f} s, {done['branches']:,} branches seen"


def branches(program, *directories):
    """The number of branches that the inputs in these directories see."""
    command = [program, "-runs=0", f"-max_len={INPUT_BYTES_MAX}", *directories]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return int(re.findall(r"cov: (\d+)", done.stdout.decode(errors="replace"))[-1])


def keep(program):
    """Makes the corpus of a target anew."""
    kept = HERE / "corpus" / program.name
    sources = [path for path in [target_directory() / "corpus" / program.name, kept] if path.is_dir()]
    with tempfile.TemporaryDirectory() as merged:
        seen = branches(program, *sources)
        # From the shortest on, each that sees a branch that none before it has seen. A branch that only what other
        # inputs have left behind leads to may be lost: then how often each was seen counts, too, which keeps more.
        for counters in (0, 1):
            flags = ["-merge=1", f"-use_counters={counters}", f"-max_len={INPUT_BYTES_MAX}"]
            command = [program, *flags, merged, *sources]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            if (still := branches(program, merged)) >= seen:
                break
        if still < seen:
            raise Failed(f"{program.name}: the fewest inputs see {still:,} of {seen:,} branches; nothing is changed")
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(merged, kept)
    print(f"fuzz: {program.name}: {len(list(kept.iterdir()))} inputs kept, {still:,} branches seen", flush=True)


def main():
    mode = sys.argv[1] if sys.argv[1:2] in (["--same"], ["--total"]) else None
    wanted, *chosen = sys.argv[2 if mode else 1 :] or [""]
    if wanted != "--keep" and not wanted.isdecimal():
        sys.exit(__doc__)
    names = sorted(path.stem for path in (HERE / "fuzz_targets").glob("*.rs"))
    unknown = set(chosen) - set(names)
    if unknown:
        sys.exit(f"fuzz/run.py: no target {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    programs, well = build(), True
    if wanted == "--keep":
        for name in chosen or names:
            try:
                keep(programs / name)
            except Failed as failure:
                print(f"fuzz: {failure}", flush=True)
                well = False
        sys.exit(0 if well else 1)

    def fuzz(name):
        seconds = int(wanted)
        return go_on(programs / name, seconds) if mode == "--total" else run(programs / name, seconds, mode == "--same")

    with ThreadPoolExecutor(AT_ONCE) as pool:
        jobs = {name: pool.submit(fuzz, name) for name in chosen or names}
        for name, job in jobs.items():
            try:
                print(f"fuzz: {line_of(name, job.result())}", flush=True)
            except Failed as failure:
                print(f"fuzz: {failure}", flush=True)
                well = False
    sys.exit(0 if well else 1)


if __name__ == "__main__":
    main()
