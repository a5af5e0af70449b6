#!/usr/bin/env python3
"""Builds the fuzz targets once, with a stable compiler, and runs each for a while.

usage: fuzz/run.py [--same] SECONDS [TARGET...]
       fuzz/run.py --keep [TARGET...]

What cargo-fuzz does beside this needs a nightly compiler: the address sanitizer, which code without `unsafe` has no use
for. libfuzzer-sys brings libFuzzer itself, and rustc's own flags have the code count its branches. Each target starts
from the inputs kept in corpus/TARGET and leaves what it learns in target/corpus/TARGET; an input that fails is left in
artifacts/TARGET, and is to become a unit test. --keep makes corpus/TARGET anew of the shortest inputs that were learnt.
With --same, nothing that was learnt is used and the seed is the same each time, so that what fails is a change's fault
and not chance's.
"""

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
# So much is kept of each target: enough to begin with, and little to look at.
KEPT_MAX = 16
KEPT_BYTES_MAX = 256


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
    """How it went, in a line, and whether well."""
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
        return f"{name}: did not end within {seconds + GRACE_SECONDS} s", False
    said = done.stdout.decode(errors="replace")
    if done.returncode != 0:
        tail = "\n".join(said.splitlines()[-LINES_OF_A_FAILURE:])
        return f"{name}: FAILED ({done.returncode}); the input is in {artifacts}\n{tail}", False
    runs = re.search(r"number_of_executed_units:\s*(\d+)", said)
    covered = re.findall(r"cov: (\d+)", said)
    if not runs or not covered:
        return f"{name}: ran, but libFuzzer said nothing of it", False
    inputs = f"{int(runs[1]):,} inputs in {time.monotonic() - start:.0f} s"
    return f"{name}: {inputs}, {int(covered[-1]):,} branches seen", int(runs[1]) > 0


def keep(program):
    """Makes the corpus of a target anew."""
    sources = [target_directory() / "corpus" / program.name, HERE / "corpus" / program.name]
    with tempfile.TemporaryDirectory() as merged:
        command = [program, "-merge=1", f"-max_len={KEPT_BYTES_MAX}", merged]
        command += [source for source in sources if source.is_dir()]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        inputs = sorted(pathlib.Path(merged).iterdir(), key=lambda path: (path.stat().st_size, path.name))
        shutil.rmtree(sources[1], ignore_errors=True)
        sources[1].mkdir(parents=True)
        # From the shortest to the longest, but not all of the shortest.
        chosen = inputs[:: max(1, -(-len(inputs) // KEPT_MAX))]
        for path in chosen:
            shutil.copy(path, sources[1])
    print(f"fuzz: {program.name}: {len(chosen)} inputs kept of {len(inputs)}", flush=True)


def main():
    is_same = sys.argv[1:2] == ["--same"]
    wanted, *chosen = sys.argv[2 if is_same else 1 :] or [""]
    if wanted != "--keep" and not wanted.isdecimal():
        sys.exit(__doc__)
    names = sorted(path.stem for path in (HERE / "fuzz_targets").glob("*.rs"))
    unknown = set(chosen) - set(names)
    if unknown:
        sys.exit(f"fuzz/run.py: no target {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    programs = build()
    if wanted == "--keep":
        for name in chosen or names:
            keep(programs / name)
        return
    seconds, well = int(wanted), True
    with ThreadPoolExecutor(AT_ONCE) as pool:
        jobs = [pool.submit(run, programs / name, seconds, is_same) for name in chosen or names]
        for job in jobs:
            line, is_well = job.result()
            print(f"fuzz: {line}", flush=True)
            well &= is_well
    sys.exit(0 if well else 1)


if __name__ == "__main__":
    main()
