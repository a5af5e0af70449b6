"""python -m unittest tests/autobahn/test_summarize.py"""

import json
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).parent))

import summarize


def outcome(behavior: str, closing: str = "OK") -> dict:
    return {"behavior": behavior, "behaviorClose": closing, "duration": 500}


class Judge(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.report = Path(directory.name) / "server"
        self.report.mkdir()

    def judge(self, cases: dict, expected: int | None = None) -> summarize.Verdict:
        (self.report / "index.json").write_text(json.dumps({"throng": cases}))
        return summarize.judge(self.report, expected)

    def test_ok_and_informational_pass(self):
        verdict = self.judge({"1.1.1": outcome("OK"), "7.1.6": outcome("INFORMATIONAL", "INFORMATIONAL")}, 2)
        self.assertEqual(verdict.failures, [])
        self.assertEqual(verdict.seconds, 1.0)

    def test_every_other_behaviour_or_closing_fails(self):
        for bad in ("FAILED", "NON-STRICT", "UNIMPLEMENTED"):
            self.assertEqual(self.judge({"1.1.1": outcome(bad)}).failures, [f"server 1.1.1: {bad}, closing OK"])
        self.assertFalse(self.judge({"1.1.1": outcome("OK", "UNCLEAN")}).passed())

    def test_an_allowed_case_may_be_non_strict_and_nothing_worse(self):
        with mock.patch.dict(summarize.ALLOWED, {("server", "6.4.1"): "why"}):
            self.assertTrue(self.judge({"6.4.1": outcome("NON-STRICT")}).passed())
            self.assertFalse(self.judge({"6.4.1": outcome("FAILED")}).passed())
            self.assertFalse(self.judge({"6.4.1": outcome("NON-STRICT", "WRONG CODE")}).passed())

    def test_an_allowance_no_longer_needed_fails(self):
        with mock.patch.dict(summarize.ALLOWED, {("server", "6.4.1"): "why"}):
            self.assertIn("remove it from ALLOWED", self.judge({"6.4.1": outcome("OK")}).failures[0])

    def test_cases_that_did_not_run_fail(self):
        self.assertEqual(self.judge({"1.1.1": outcome("OK")}, 2).failures, ["server: 1 of 2 cases ran"])
        self.assertFalse(summarize.judge(self.report.parent / "client").passed())


if __name__ == "__main__":
    unittest.main()
