"""python3 -m unittest discover -s tests"""

import contextlib
import hashlib
import importlib.util
import io
import json
import os
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

# libFuzzer, as far as fuzz/run.py hears of it: an input is a branch. A lossy merge loses one, and a coarse one does
# without counters.
LIBFUZZER = """#!/bin/sh
echo "$@" >>"$0.log"
[ -e "$0.broken" ] && exit 77
case " $* " in
*" -merge=1 "*) shift 3; to=$1; shift; for from; do cp "$from"/* "$to"; done; [ -e "$0.lossy" ] && rm "$to/b"
    case "$(tail -n 1 "$0.log")" in *"-use_counters=0 "*) [ -e "$0.coarse" ] && rm "$to/b" ;; esac ;;
*" -runs=0 "*) shift 2; echo "#2 INITED cov: $(find "$@" -type f | wc -l)" ;;
*) echo "number_of_executed_units: 10"; echo "#1 DONE cov: 5" ;;
esac
exit 0
"""


class Fuzz(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        spec = importlib.util.spec_from_file_location("fuzz_run", Path(__file__).parents[1] / "fuzz/run.py")
        self.fuzz = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.fuzz)
        self.fuzz.HERE = self.folder
        self.fuzz.target_directory = lambda: self.folder / "target"
        self.program = self.folder / "pieces"
        self.program.write_text(LIBFUZZER)
        self.program.chmod(0o755)

    def times(self):
        words = Path(f"{self.program}.log").read_text().split()
        return [int(word.split("=")[1]) for word in words if word.startswith("-max_total_time=")]

    def test_interrupted_seconds_are_made_up(self):
        self.fuzz.go_on(self.program, 70)
        total = self.fuzz.go_on(self.program, 200)
        self.assertEqual(self.times(), [60, 10, 60, 60, 10])
        program = hashlib.sha256(LIBFUZZER.encode()).hexdigest()
        self.assertEqual(total, {"program": program, "seconds": 200, "inputs": 50, "branches": 5})
        self.assertEqual(json.loads((self.folder / "target/ledger/pieces.json").read_text()), total)

    def test_other_code_begins_anew(self):
        self.fuzz.go_on(self.program, 60)
        self.program.write_text(LIBFUZZER + "# changed\n")
        total = self.fuzz.go_on(self.program, 60)
        self.assertEqual((self.times(), total["seconds"], total["inputs"]), ([60, 60], 60, 10))

    def test_failed_seconds_do_not_count(self):
        self.fuzz.go_on(self.program, 30)
        Path(f"{self.program}.broken").touch()
        with self.assertRaises(self.fuzz.Failed):
            self.fuzz.go_on(self.program, 90)
        os.remove(f"{self.program}.broken")
        self.assertEqual(self.fuzz.go_on(self.program, 90)["seconds"], 90)
        self.assertEqual(self.times(), [30, 60, 60])

    def test_kept_inputs_lose_no_branch(self):
        for folder, name in [("target/corpus/pieces", "a"), ("corpus/pieces", "b")]:
            (self.folder / folder).mkdir(parents=True)
            (self.folder / folder / name).write_text("branch\n")
        kept = self.folder / "corpus/pieces"
        Path(f"{self.program}.lossy").touch()
        with self.assertRaises(self.fuzz.Failed):
            self.fuzz.keep(self.program)
        self.assertEqual(os.listdir(kept), ["b"])
        os.remove(f"{self.program}.lossy")
        Path(f"{self.program}.coarse").touch()
        self.fuzz.keep(self.program)
        self.assertEqual(sorted(os.listdir(kept)), ["a", "b"])

    def test_lost_branches_hold_up_no_other(self):
        (self.folder / "fuzz_targets").mkdir()
        for name in ["a", "b"]:
            (self.folder / f"fuzz_targets/{name}.rs").touch()
        said = io.StringIO()
        keep = mock.Mock(side_effect=[self.fuzz.Failed("a: lost"), None])
        with (
            mock.patch.multiple(self.fuzz, build=lambda: self.folder, keep=keep),
            mock.patch.object(sys, "argv", ["run.py", "--keep", "a", "b"]),
            contextlib.redirect_stdout(said),
            self.assertRaises(SystemExit) as ended,
        ):
            self.fuzz.main()
        self.assertEqual((ended.exception.code, said.getvalue(), keep.call_count), (1, "fuzz: a: lost\n", 2))


if __name__ == "__main__":
    unittest.main()
