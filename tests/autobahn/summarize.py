"""Judge Autobahn reports, since the suite's own exit status says nothing.

    python summarize.py REPORT...

REPORT is a directory with the index.json of one role. A case passes if its behaviour and its closing are OK or
INFORMATIONAL (the suite only describes what it saw, as in 7.1.6), or if ALLOWED names it and it is NON-STRICT.
Everything else fails, and so does a case that did not run: exit status 1.
"""

import json
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

PASSED = {"OK", "INFORMATIONAL"}

# (role, case) -> why NON-STRICT is right there. An entry that no longer applies is reported.
ALLOWED: dict[tuple[str, str], str] = {}


@dataclass
class Verdict:
    """How one role did: every case that ran, and one line for each that failed."""

    role: str
    behaviours: Counter
    failures: list[str]
    seconds: float

    def passed(self) -> bool:
        return not self.failures


def judge(report: Path, expected_cases: int | None = None) -> Verdict:
    """Reads the report in a directory named for its role, such as `server`."""
    role = report.name
    try:
        agents = json.loads((report / "index.json").read_text())
    except FileNotFoundError:
        return Verdict(role, Counter(), [f"{role}: no report was written"], 0.0)
    cases = {case: outcome for outcomes in agents.values() for case, outcome in outcomes.items()}
    failures = [
        f"{role} {case}: {outcome['behavior']}, closing {outcome['behaviorClose']}"
        for case, outcome in sorted(cases.items(), key=lambda item: case_order(item[0]))
        if not passes(role, case, outcome)
    ]
    failures += [
        f"{role} {case}: allowed to be NON-STRICT ({reason}), and it is not: remove it from ALLOWED"
        for (owner, case), reason in ALLOWED.items()
        if owner == role and case in cases and cases[case]["behavior"] != "NON-STRICT"
    ]
    if expected_cases is not None and len(cases) != expected_cases:
        failures.append(f"{role}: {len(cases)} of {expected_cases} cases ran")
    behaviours = Counter(outcome["behavior"] for outcome in cases.values())
    return Verdict(role, behaviours, failures, sum(outcome["duration"] for outcome in cases.values()) / 1000)


def passes(role: str, case: str, outcome: dict) -> bool:
    permitted = PASSED | ({"NON-STRICT"} if (role, case) in ALLOWED else set())
    return outcome["behavior"] in permitted and outcome["behaviorClose"] in PASSED


def case_order(case: str) -> list[int]:
    return [int(part) for part in case.split(".")]


def table(verdicts: list[Verdict]) -> str:
    """One row for each role; behaviours that no role showed are left out, but for OK."""
    seen = {behaviour for verdict in verdicts for behaviour in verdict.behaviours} - {"OK"}
    columns = ["OK", *sorted(seen)]
    rows = [["role", "cases", *columns, "failed", "seconds"]]
    for verdict in verdicts:
        counts = [verdict.behaviours[behaviour] for behaviour in columns]
        row = [verdict.role, verdict.behaviours.total(), *counts, len(verdict.failures), round(verdict.seconds)]
        rows.append([str(cell) for cell in row])
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(row, widths)) for row in rows)


def report(verdicts: list[Verdict]) -> int:
    """Prints the failures and the table; the exit status."""
    for verdict in verdicts:
        for failure in verdict.failures:
            print(f"FAILED {failure}")
    print(table(verdicts))
    return 0 if all(verdict.passed() for verdict in verdicts) else 1


if __name__ == "__main__":
    sys.exit(report([judge(Path(directory)) for directory in sys.argv[1:]]))
