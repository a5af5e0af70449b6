#!/usr/bin/env bash
# Measures the server, and then, where there is a baseline, both in turns. The job's summary page shows the tables, which stay in
# $OUT/summary.md for whoever comments.
set -euo pipefail

branch=$FIRST_PORT baseline=$((FIRST_PORT + 1))
summary=$OUT/summary.md
mkdir -p "$OUT"
: >"$summary"

# The words of the command as the shell reads them, with a port, quoted again for whoever splits them next.
words() {
    PORT=$1 bash -c "printf '%q ' $RUN"
}

# A server that ends takes its reason with it: its last words belong into the job's log.
last_words() {
    local log
    for log in "$OUT"/server.log "$OUT"/baseline.log; do
        if [[ -s $log ]]; then
            echo "::group::the end of $log"
            tail -n 30 "$log"
            echo "::endgroup::"
        fi
    done
}

# Ends the step with the code, having said what that means.
finish() {
    [[ -s $summary ]] || printf '## throng could not measure\n\nExit code %s: its reason is in the log of the job.\n' "$1" >"$summary"
    cat "$summary" >>"$GITHUB_STEP_SUMMARY"
    local outcome=passed
    case $1 in
    0) ;;
    5) outcome=unclear ;;
    *)
        outcome=failed
        last_words
        ;;
    esac
    echo "outcome=$outcome" >>"$GITHUB_OUTPUT"
    echo "throng: $outcome"
    [[ $1 -ne 5 || $UNCLEAR == fail ]] || exit 0
    exit "$1"
}

code=0
command=$(words "$branch")
eval "set -- $command"
[[ ${1-} != throng ]] || shift
GITHUB_STEP_SUMMARY=$summary throng "$@" --wait-for "$WAIT_FOR" --github --out "$OUT" || code=$?
[[ -n $BASELINE && $code -eq 0 ]] || finish "$code"

wait=" --wait-for $WAIT_FOR"
{
    printf '\n## throng: this branch (B) beside %s (A)\n\n' "$BASELINE"
    throng compare --format md --fail-if "$FAIL_IF" --budget "$BUDGET" \
        --run-a "$(words "$baseline")$wait --out $(printf %q "$OUT/baseline")" \
        --run-b "$(words "$branch")$wait --out $(printf %q "$OUT/branch")"
} >>"$summary" 2> >(tee "$OUT/compare.log" >&2) || code=$?
# What became of the rule is said beside the tables.
wait
grep '(--fail-if ' "$OUT/compare.log" | sed 's/^throng: /- /' >>"$summary" || true
finish "$code"
