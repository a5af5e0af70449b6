"""python3 -m unittest discover -s tests"""

import contextlib
import io
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).parent))

import run

FAILING = """
running 4 tests
test a::passes ... ok <0.125s>
test a::says_that_it_skips ... ok
test a::fails ... FAILED
test b::takes_long ... ignored, five minutes: make torture

failures:

---- a::fails stdout ----
thread 'a::fails' panicked at tests/a.rs:1:1

test result: FAILED. 2 passed; 1 failed; 1 ignored; 0 measured; 3 filtered out; finished in 0.13s

"""


class Runs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.tally = run.Tally()
        self.addCleanup(mock.patch.stopall)
        mock.patch.object(run, "TALLY", self.tally).start()

    def run_tests(self, script: str) -> str:
        """What is printed of a program of tests that is this script."""
        path = self.folder / "program"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            run.run_tests(run.Program("p", str(path), str(self.folder)), is_timed=False)
        return printed.getvalue()

    def test_counts_and_failures(self):
        said = "echo 'skipped: [a::says_that_it_skips] node: needs node' >&2"
        printed = self.run_tests(f"{said}\ncat <<'END'\n{FAILING}END\nexit 101")
        counts = (self.tally.passed, self.tally.failed, self.tally.skipped)
        self.assertEqual(counts, (1, 1, 2))
        self.assertEqual(self.tally.failures, ["p: a::fails"])
        self.assertEqual(self.tally.seconds, [(0.125, "p: a::passes")])
        self.assertIn("panicked at tests/a.rs", printed)
        self.assertIn("five minutes: make torture", printed)
        self.assertIn("needs node", printed)

    def run_twice(self, script: str) -> tuple[int, str]:
        """The exit status and what is printed where the tests of this script run, and some of them again."""
        path = self.folder / "program"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        program = run.Program("p", str(path), str(self.folder))
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            run.run_tests(program, is_timed=False)
            run.run_again([program], is_timed=False)
            status = run.report(is_timed=False)
        return status, printed.getvalue()

    def test_what_passes_alone_is_flaky_and_what_does_not_has_failed(self):
        status, printed = self.run_twice("""
case "$*" in
*--exact*) echo 'test a::by_chance ... ok'; echo 'test a::always ... FAILED'
    echo 'test result: FAILED. 1 passed; 1 failed; 0 ignored' ;;
*) echo 'test a::by_chance ... FAILED'; echo 'test a::always ... FAILED'
    for name in by_chance always; do
        echo "---- a::$name stdout ----"
        echo "thread 'a::$name' (7) panicked at tests/support/throng.rs:90:43:"
        echo 'still running after 60s'
    done
    echo 'test result: FAILED. 0 passed; 2 failed; 0 ignored' ;;
esac
exit 101
""")
        self.assertEqual((self.tally.flaky, self.tally.failures), (["p: a::by_chance"], ["p: a::always"]))
        self.assertEqual((self.tally.passed, self.tally.failed, status), (1, 1, 1))
        self.assertIn("once more, alone: p: a::by_chance: still running after 60s", printed)
        self.assertIn("FLAKY: p: a::by_chance: passed when it ran alone; before: still running after 60s", printed)

    def test_what_failed_otherwise_does_not_run_again(self):
        status, printed = self.run_twice("""
case "$*" in
*--exact*) echo 'test a::lost ... ok'; echo 'test result: ok. 1 passed; 0 failed; 0 ignored'; exit 0 ;;
esac
echo 'test a::lost ... FAILED'
echo '---- a::lost stdout ----'
echo "thread 'a::lost' (7) panicked at tests/a.rs:1:1:"
echo '12 of 13 arrived'
echo 'test result: FAILED. 0 passed; 1 failed; 0 ignored'
exit 101
""")
        self.assertEqual((self.tally.flaky, self.tally.failures, status), ([], ["p: a::lost"], 1))
        self.assertIn("FAILED: p: a::lost: 12 of 13 arrived", printed)
        self.assertNotIn("once more", printed)

    def test_a_test_of_times_runs_again(self):
        status, printed = self.run_twice("""
case "$*" in
*--exact*) echo 'test a::x ... ok'; echo 'test result: ok. 1 passed; 0 failed; 0 ignored'; exit 0 ;;
esac
echo 'retried: [a::x] times: 3 ms, not 2' >&2
echo 'retried: [a::y] times: 3 ms, not 2' >&2
echo 'test a::x ... FAILED'
echo 'test a::y ... FAILED'
echo '---- a::x stdout ----'
echo "thread 'a::x' (7) panicked at tests/a.rs:1:1:"
echo 'times: 4 ms, not 2'
echo '---- a::y stdout ----'
echo "thread 'a::y' (8) panicked at tests/a.rs:2:1:"
echo '12 of 13 arrived'
echo 'test result: FAILED. 0 passed; 2 failed; 0 ignored'
exit 101
""")
        self.assertEqual((self.tally.flaky, self.tally.failures, status), (["p: a::x"], ["p: a::y"], 1))
        self.assertIn("before: times: 4 ms, not 2", printed)

    def test_a_wrong_count_before_a_late_time_does_not_run_again(self):
        self.run_tests("""
echo 'test a::x ... FAILED'
echo '---- a::x stdout ----'
echo "thread '<unnamed>' (7) panicked at tests/a.rs:1:1:"
echo 'the client left'
echo "thread 'a::x' (8) panicked at tests/a.rs:2:1:"
echo '12 of 13 arrived'
echo "thread 'a::x' (9) panicked at tests/a.rs:3:1:"
echo 'still running after 60s'
echo 'test result: FAILED. 0 passed; 1 failed; 0 ignored'
exit 101
""")
        self.assertEqual((self.tally.failures, self.tally.timing), (["p: a::x"], set()))

    def test_a_program_that_dies_is_a_failure(self):
        self.run_tests("echo 'test a::passes ... ok'; kill -9 $$")
        self.assertEqual(self.tally.failed, 1)
        self.assertEqual(self.tally.failures, ["p: exit status -9"])

    def test_a_program_that_dies_after_a_failure_has_failed(self):
        status, _ = self.run_twice("""
case "$*" in
*--exact*) echo 'test a::x ... ok'; echo 'test result: ok. 1 passed; 0 failed; 0 ignored' ;;
*) echo 'test a::x ... FAILED'; echo '---- a::x stdout ----'; echo 'not within 90s'; kill -9 $$ ;;
esac
""")
        self.assertEqual((self.tally.failed, self.tally.failures, status), (1, ["p: exit status -9"], 1))
        self.assertEqual(self.tally.flaky, ["p: a::x"])

    def test_a_part_that_cannot_start_has_failed(self):
        refused = mock.patch("subprocess.Popen", side_effect=OSError(11, "no task"))
        with refused, contextlib.redirect_stdout(io.StringIO()):
            run.in_threads(lambda: run.part("docs", ["true"]))
        self.assertEqual((self.tally.failed, self.tally.failures), (1, ["not run: [Errno 11] no task: 'nice -n 0 true'"]))

    def test_a_program_without_a_summary_is_one_test(self):
        self.run_tests("echo 5 tests of processes passed")
        self.assertEqual((self.tally.passed, self.tally.failed), (1, 0))

    def test_a_part_stops_at_the_first_command_that_fails(self):
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            self.assertFalse(run.part("both", ["sh", "-c", "echo first; exit 3"], ["echo", "second"]))
        self.assertIn("exit status 3", printed.getvalue())
        self.assertNotIn("second", printed.getvalue())
        self.assertEqual(self.tally.failures, ["both"])

    def test_a_part_has_an_environment_of_its_own(self):
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            self.assertTrue(run.part("says", ["sh", "-c", "echo $COMPILER"], COMPILER="one of its own"))
        self.assertIn("one of its own\n", printed.getvalue())

    def test_a_part_that_hangs_is_ended(self):
        with mock.patch.object(run, "PART_SECONDS_MAX", 0.2), contextlib.redirect_stdout(io.StringIO()) as printed:
            self.assertFalse(run.part("hangs", ["sleep", "60"]))
        self.assertIn("hangs: not done after", printed.getvalue())

    def test_users_without_a_name_have_a_home(self):
        known = mock.Mock(pw_dir="/users/known")
        for environment, user, expected in [
            ({"HOME": "/users/mine"}, {"return_value": known}, "/users/mine"),
            ({}, {"return_value": known}, "/users/known"),
            ({"HOME": ""}, {"return_value": known}, "/users/known"),
            ({}, {"side_effect": KeyError}, str(self.folder / "target/home")),
        ]:
            here = mock.patch.object(run, "ROOT", self.folder)
            with mock.patch.dict("os.environ", environment, clear=True), mock.patch("pwd.getpwuid", **user), here:
                self.assertEqual(run.home(), expected)
        self.assertTrue((self.folder / "target/home").is_dir())

    def test_times_are_of_the_slowest(self):
        self.tally.seconds = [(float(seconds), f"p: takes_{seconds}") for seconds in range(31)]
        self.tally.parts = [(0.9, "short"), (1.5, "middle"), (60.0, "long")]
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            run.report(is_timed=True)
        lines = printed.getvalue().splitlines()
        self.assertEqual(lines[0], "the slowest 30 tests")
        self.assertEqual([line.split()[-1] for line in lines[1:31]], [f"takes_{seconds}" for seconds in range(30, 0, -1)])
        self.assertEqual([line.split()[0] for line in lines[31:]], ["parts", "60", "2", "0"])

    def test_tests_are_timed_where_asked(self):
        path = self.folder / "program"
        path.write_text("#!/bin/sh\nprintf 'test a::says ... ok <0.125s>\\n%s\\n' \"$*\"\n")
        path.chmod(0o755)
        for is_timed in [True, False]:
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                run.run_tests(run.Program("p", str(path), str(self.folder)), is_timed)
            self.assertEqual("--report-time" in printed.getvalue(), is_timed)

    def test_the_last_line_counts(self):
        self.tally.add_result(3, 0, 1)
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            self.assertEqual(run.report(is_timed=False), 0)
        self.assertEqual(printed.getvalue().splitlines()[-1], "3 passed, 0 failed, 1 skipped")


class Compiler(unittest.TestCase):
    def compile(self, text: str, *arguments: str) -> tuple[int, list[str]]:
        """Compiles a crate as cargo does; its status, and the names of documented crates."""
        with tempfile.TemporaryDirectory() as folder:
            source, out = Path(folder, "lib.rs"), Path(folder, "target/debug/deps")
            source.write_text(text)
            command = [sys.executable, run.ROOT / "tests/rustc.py", "rustc", "--crate-name", "small", "--edition=2024"]
            command += [source, "--crate-type", "lib", "--emit=metadata", "-C", "opt-level=0", "--out-dir", out, *arguments]
            done = subprocess.run(command, capture_output=True, cwd=folder)
            return done.returncode, [path.name for path in Path(folder, "target/doc").glob("small")]

    def test_libraries_have_documentation_without_warnings(self):
        self.assertEqual(self.compile("//! Says [`u8`]."), (0, ["small"]))
        self.assertNotEqual(self.compile("//! Says [`Missing`].")[0], 0)

    def test_tests_have_no_documentation(self):
        self.assertEqual(self.compile("//! Says [`Missing`].", "--test"), (0, []))


if __name__ == "__main__":
    unittest.main()
