#!/usr/bin/env bash
# Starts the server, and beside it the baseline's, from a checkout of its own.
set -euo pipefail
# Each in a group of its own, which stop.sh ends.
set -m

mkdir -p "$OUT"
out=$(realpath "$OUT")

fail() {
    echo "::error title=throng::$1" >&2
    exit 1
}

# Under a name, in a folder, on a port.
start() {
    (cd "$2" && PORT=$3 exec bash -c "$SERVE") >"$out/$1.log" 2>&1 </dev/null &
    echo $! >"$out/$1.pid"
}

if [[ -z $SERVE ]]; then
    [[ -z $BASELINE ]] || fail "baseline: it needs serve, which starts the servers that are compared"
    exit 0
fi
start server "$PWD" "$FIRST_PORT"

if [[ -n $BASELINE ]]; then
    # A checkout of one commit alone lacks that of a branch.
    git rev-parse --quiet --verify "origin/$BASELINE^{commit}" >"$out/baseline.commit" ||
        git rev-parse --quiet --verify "$BASELINE^{commit}" >"$out/baseline.commit" ||
        fail "baseline: this checkout has no $BASELINE; actions/checkout needs fetch-depth: 0"
    baseline=$RUNNER_TEMP/throng-baseline
    git worktree remove --force "$baseline" 2>/dev/null || true
    git worktree add --quiet --detach "$baseline" "$(<"$out/baseline.commit")"
    (cd "$baseline" && bash -e -c "$PREPARE")
    start baseline "$baseline" $((FIRST_PORT + 1))
fi
