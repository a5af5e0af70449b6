#!/usr/bin/env bash
# Ends what serve.sh has started: first by asking, then by force.
set -euo pipefail

for file in "$OUT"/*.pid; do
    [[ -e $file ]] || continue
    group=$(<"$file")
    kill -TERM -- "-$group" 2>/dev/null || true
    for _ in {1..50}; do
        kill -0 -- "-$group" 2>/dev/null || break
        sleep 0.1
    done
    kill -KILL -- "-$group" 2>/dev/null || true
    rm "$file"
done
rm -f "$OUT/baseline.commit"
baseline=$RUNNER_TEMP/throng-baseline
[[ ! -e $baseline ]] || git worktree remove --force "$baseline"
