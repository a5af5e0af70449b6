#!/usr/bin/env python3
"""Tells a pull request what came out: one comment for each job, written anew by every push. An unclear comparison fails no job."""

import json
import os
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

PER_PAGE = 100
# More comments than that are not searched: the pull request gets another one.
PAGES_MAX = 10
# What GitHub takes as one comment, in characters.
CHARACTERS_MAX = 65_536
NO_RESULT = "## throng has no result\n\nThe reason is in the log of the job.\n"
CUT = "\n\n… (the rest is on the job's summary page)\n"


def main() -> None:
    summary = Path(os.environ["OUT"], "summary.md")
    number = pull_request()
    if os.environ["COMMENT"] != "true" or number is None:
        return
    # By which the next push finds it. All legs of a matrix have the same job.
    name = " ".join(filter(None, [os.environ.get("GITHUB_JOB"), os.environ.get("HEADER")]))
    marker = f"<!-- throng: {name} -->\n"
    # A comment about the push before would be read as one about this.
    text = summary.read_text() if summary.is_file() else ""
    body = marker + (text or NO_RESULT)
    if len(body) > CHARACTERS_MAX:
        body = body[: CHARACTERS_MAX - len(CUT)] + CUT
    issues = f"{os.environ['GITHUB_API_URL']}/repos/{os.environ['GITHUB_REPOSITORY']}/issues"
    try:
        before = next((old["url"] for old in comments(f"{issues}/{number}/comments") if old["body"].startswith(marker)), None)
        method, url = ("PATCH", before) if before else ("POST", f"{issues}/{number}/comments")
        ask(method, url, {"body": body})
    except urllib.error.HTTPError as error:
        why = "; the job needs 'permissions: pull-requests: write', which one of a fork does not get" if error.code == 403 else ""
        warn(f"HTTP {error.code} from {error.url}{why}")
    except OSError as error:
        warn(str(error))


def pull_request() -> int | None:
    event = json.loads(Path(os.environ["GITHUB_EVENT_PATH"]).read_text())
    return event.get("pull_request", {}).get("number")


def comments(url: str) -> Iterator[dict]:
    for page in range(1, PAGES_MAX + 1):
        found = ask("GET", f"{url}?per_page={PER_PAGE}&page={page}")
        yield from found
        if len(found) < PER_PAGE:
            return


def ask(method: str, url: str, body: object = None) -> list:
    request = urllib.request.Request(url, json.dumps(body).encode() if body else None, method=method)
    request.add_header("Authorization", f"Bearer {os.environ['TOKEN']}")
    request.add_header("Accept", "application/vnd.github+json")
    request.add_header("Content-Type", "application/json")
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def warn(why: str) -> None:
    print(f"::warning title=throng::the pull request was not told: {why}", file=sys.stderr)


if __name__ == "__main__":
    main()
