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
# without counters. A broken one fails after as many runs as its file says.
LIBFUZZER = """#!/bin/sh
echo "$@" >>"$0.log"
[ -e "$0.broken" ] && [ "$(wc -l <"$0.log")" -gt "$(cat "$0.broken")" ] && exit 77
case " $* " in
*" -merge=1 "*) shift 3; to=$1; shift; for from; do cp "$from"/* "$to"; done; [ -e "$0.lossy" ] && rm "$to/b"
    case "$(tail -n 1 "$0.log")" in *"-use_counters=0 "*) [ -e "$0.coarse" ] && rm "$to/b" ;; esac ;;
*" -runs=0 "*) shift 2; echo "#2 INITED cov: $(find "$@" -type f | wc -l)" ;;
*) echo "number_of_executed_units: 10"; echo "#1 DONE cov: 5" ;;
esac
exit 0
"""

ROOT = Path(__file__).parents[1]


class Fuzz(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        spec = importlib.util.spec_from_file_location("fuzz_run", ROOT / "fuzz/run.py")
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
        Path(f"{self.program}.broken").write_text("1")
        with self.assertRaises(self.fuzz.Failed):
            self.fuzz.go_on(self.program, 90)
        os.remove(f"{self.program}.broken")
        self.assertEqual(self.fuzz.go_on(self.program, 90)["seconds"], 90)
        self.assertEqual(self.times(), [30, 60, 60])

    def test_slices_before_a_failure_count(self):
        Path(f"{self.program}.broken").write_text("2")
        with self.assertRaises(self.fuzz.Failed):
            self.fuzz.go_on(self.program, 200)
        ledger = self.folder / "target/ledger/pieces.json"
        self.assertEqual(json.loads(ledger.read_text())["seconds"], 120)
        os.remove(f"{self.program}.broken")
        # Of a process that was killed while it wrote.
        ledger.with_suffix(".part").write_text('{"seco')
        self.assertEqual(self.fuzz.go_on(self.program, 200)["inputs"], 40)
        self.assertEqual(self.times(), [60, 60, 60, 60, 20])

    def test_lost_ledgers_begin_anew(self):
        self.fuzz.go_on(self.program, 60)
        os.remove(self.folder / "target/ledger/pieces.json")
        self.assertEqual(self.fuzz.go_on(self.program, 60)["inputs"], 10)
        self.assertEqual(self.times(), [60, 60])

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

    def main(self, words, **does):
        """The exit code and the output of a command line about the targets a and b, in which these are done."""
        (self.folder / "fuzz_targets").mkdir()
        for name in ["a", "b"]:
            (self.folder / f"fuzz_targets/{name}.rs").touch()
        said = io.StringIO()
        with (
            mock.patch.multiple(self.fuzz, build=lambda: self.folder, **does),
            mock.patch.object(sys, "argv", ["run.py", *words]),
            contextlib.redirect_stdout(said),
            self.assertRaises(SystemExit) as ended,
        ):
            self.fuzz.main()
        return ended.exception.code, said.getvalue()

    def test_lost_branches_hold_up_no_other(self):
        keep = mock.Mock(side_effect=[self.fuzz.Failed("a: lost"), None])
        self.assertEqual(self.main(["--keep", "a", "b"], keep=keep), (1, "fuzz: a: lost\n"))
        self.assertEqual(keep.call_count, 2)

    def test_failures_hold_up_no_other(self):
        def go_on(program, seconds):
            if program.name == "a":
                raise self.fuzz.Failed("a: failed")
            return {"seconds": seconds, "inputs": 1_000, "branches": 5}

        expected = "fuzz: a: failed\nfuzz: b: 1,000 inputs in 70 s, 5 branches seen\n"
        self.assertEqual(self.main(["--total", "70"], go_on=go_on), (1, expected))

    def test_totals_are_of_chosen_targets(self):
        go_on = mock.Mock(return_value={"seconds": 70, "inputs": 10, "branches": 5})
        self.assertEqual(self.main(["--total", "70", "b"], go_on=go_on)[0], 0)
        go_on.assert_called_once_with(self.folder / "b", 70)


class Targets(unittest.TestCase):
    def test_each_is_kept_and_told(self):
        table = (ROOT / "fuzz/README.md").read_text()
        coverage = (ROOT / "docs/RELIABILITY.md").read_text().split("Branches seen:")[1].split("\n\n")[0]
        targets = [path.stem for path in (ROOT / "fuzz/fuzz_targets").glob("*.rs")]
        self.assertGreater(len(targets), 0)
        for name in targets:
            with self.subTest(name):
                self.assertGreater(len(list((ROOT / "fuzz/corpus" / name).iterdir())), 0)
                self.assertIn(f"\n| `{name}` |", table)
                self.assertRegex(coverage, rf"`{name}`\s[\d,]+[,.]")


if __name__ == "__main__":
    unittest.main()
