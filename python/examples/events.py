# %% [markdown]
# # Who waited longest?
# From the event log: `throng broadcast --step-size 500 --total-steps 4 --events run.parquet`

# %%
import sys
from collections import defaultdict

from throng_results import events

log = events.read(sys.argv[1] if len(sys.argv) > 1 else "run.parquet", "receive")
print(f"{log.num_rows} deliveries")

# %% [markdown]
# The slowest copies, with who sent and who received each.

# %%
slowest = log.sort_by([("latency_ns", "descending")]).slice(0, 5)
for row in slowest.to_pylist():
    at, took = row["time_ns"] / 1e9, row["latency_ns"] / 1e6
    print(f"{at:6.2f} s: message {row['message']} of client {row['sender']} reached client {row['client']} after {took:.2f} ms")

# %% [markdown]
# Is it always the same clients? A fair server gives each the same share of its worst tenth.

# %%
latencies = defaultdict(list)
for client, latency_ns in zip(log["client"].to_pylist(), log["latency_ns"].to_pylist()):
    latencies[client].append(latency_ns / 1e6)
means = sorted((sum(of_client) / len(of_client), client) for client, of_client in latencies.items())
if means:
    (best, first), (worst, last) = means[0], means[-1]
    print(f"client {last} waited {worst:.2f} ms on average, client {first} {best:.2f} ms: {worst / best:.1f} times as long")
