# %% [markdown]
# # Where does latency begin to rise, and is it the server's?
# A run that adds clients step by step: `throng broadcast --step-size 500 --total-steps 4 --out results`

# %%
import sys

import throng_results as throng

run = throng.read(sys.argv[1] if len(sys.argv) > 1 else "results")[-1]
print(run.scenario, "of", run.target)
print("RESULT ", run.result)
print("WHY    ", run.why)
for caveat in run.caveats:
    print("CAVEAT ", caveat)

# %% [markdown]
# Every step beside the one before. A quantile with a question mark rests on too few samples; a step without answers has none.


# %%
def shown(ms: float | None) -> str:
    return "–" if ms is None else f"{ms:.2f} ms"


before = None
print(f"{'clients':>8} {'median':>10} {'p99':>11} {'rises':>7} {'missing':>8}  bottleneck")
for step in run.steps:
    rtt = step.metrics["rtt"]
    median, p99 = rtt.quantile_ms(0.5), rtt.quantile_ms(0.99)
    rises = f"{p99 / before:.1f}×" if before and p99 else ""
    mark = "?" if rtt.is_uncertain(0.99) else " "
    print(f"{step.clients:8} {shown(median):>10} {shown(p99):>10}{mark} {rises:>6} {step.counts['missing']:8}  {step.bottleneck}")
    before = p99

# %% [markdown]
# Of what does a round trip consist? A generator that sends late has the difference in its own metrics.

# %%
late = throng.merged(step.metrics["send_lag"] for step in run.steps).quantile_ms(0.99)
all_trips = throng.merged(step.metrics["rtt"] for step in run.steps)
print(f"p99 of all {len(all_trips)} round trips: {shown(all_trips.quantile_ms(0.99))}, of which up to {shown(late)} late sending")
