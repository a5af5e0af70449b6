#!/usr/bin/env python3
"""Compiles a crate for cargo (RUSTC_WORKSPACE_WRAPPER), and makes the documentation of what is no test of it.

`cargo doc` would check every dependency once more, which takes as long as all that it is asked for. COMPILER names the
compiler; without it, it is the one that cargo names.
"""

import os
import subprocess
import sys
from pathlib import Path

# Arguments of rustc that rustdoc does not know or that name what it shall not write.
WITHOUT = ("--emit", "--error-format", "--json", "--diagnostic-width")
WITHOUT_VALUE = ("-C", "--out-dir", "--crate-type")


def documented(arguments: list[str]) -> list[str] | None:
    """The arguments of rustdoc; None for what `cargo doc` leaves out: tests, benches, examples, build scripts."""
    kept, values = [], {}
    rest = iter(arguments)
    for argument in rest:
        if argument in WITHOUT_VALUE:
            values[argument] = next(rest)
        elif not argument.startswith(WITHOUT):
            kept.append(argument)
        if argument == "--crate-name":
            kept.append(values.setdefault(argument, next(rest)))
    name, kind = values.get("--crate-name"), values.get("--crate-type")
    if "--test" in arguments or (kind, name) != ("bin", "throng") and kind != "lib":
        return None
    folder = Path(values["--out-dir"]).parents[1] / "doc"
    # Nothing of a program is public.
    private = ["--document-private-items"] if kind == "bin" else []
    return [*kept, "--crate-type", kind, "--out-dir", str(folder), "-D", "warnings", *private]


def main() -> int:
    compiler = [os.environ["COMPILER"]] if "COMPILER" in os.environ else []
    arguments = sys.argv[2:]
    # cargo's jobserver is an open file.
    status = subprocess.run([*compiler, *sys.argv[1:]], close_fds=False).returncode
    asked = documented(arguments) if status == 0 else None
    return subprocess.run(["rustdoc", *asked], close_fds=False).returncode if asked else status


if __name__ == "__main__":
    sys.exit(main())
