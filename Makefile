# `make test` is what a change must pass; CI runs it as it is. The other targets are its parts, and what takes longer.

CARGO ?= cargo

.PHONY: build page screenshots test test-times check truth probe-truth sentences owners findings seeds targets records bench bench-dialects bench-fleet bench-steps autobahn autobahn-quick test-fleet recordings fuzz fuzz-check torture tidy lint docs sbom deny packages try-packages publish-check tools clean
.NOTPARALLEL:

build:
	$(CARGO) build --release --locked

# All parts at once where that is faster: tests/run.py builds everything a single time, and ends with the counts of the tests.
test:
	tests/tools.sh build
	tests/run.py

# The same, with the thirty slowest tests.
test-times:
	tests/tools.sh build
	tests/run.py --times

# Before a commit: formatting, clippy, the rules of tests/tidy, and the unit tests. Three minutes where all has been built once.
check: lint
	$(CARGO) test --workspace --locked --lib --bins --test tidy --test supply

# The script of the HTML report, from its TypeScript; it is committed, so that building throng needs no Node.js.
page:
	cd crates/report/page && npm ci --no-audit --no-fund && npm run build

# The pictures in docs/images, of records and of a run made for them, in a real Chromium; and of a terminal.
screenshots: build
	cd tests/clients/pages && npm ci --no-audit --no-fund
	node tests/clients/pages/screenshots.js target/release/throng docs/images $(lastword $(sort $(wildcard records/*/2026)))
	node tests/clients/pages/recording.js target/release/throng docs/images/run.svg

# Formatting, clippy, and the Python scripts' own tests.
lint:
	$(CARGO) fmt --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	python3 -m unittest discover -s tests
	python3 -m unittest discover -s tests/autobahn
	python3 -m unittest discover -s deploy/packages

docs:
	RUSTDOCFLAGS='-D warnings' $(CARGO) doc --workspace --no-deps --locked

# Layers, purity, file sizes, complete targets: seconds, and no other test.
tidy:
	$(CARGO) test --workspace --locked --test tidy

# The Autobahn testsuite in both roles: 307 cases in half a minute, or all 517 in a quarter of an hour.
autobahn-quick:
	python3 tests/autobahn/run.py --quick

autobahn:
	python3 tests/autobahn/run.py

# The program that these measure with, or tell records with: only its own code needs to be fast.
truth probe-truth sentences owners seeds targets records: export THRONG = $(abspath $(or $(CARGO_TARGET_DIR),target)/release/throng)

# throng against a server whose lies have a known arithmetic: asked beside reported, into docs/logs/TRUTH.md. Five minutes.
truth: build
	$(CARGO) test --locked -p throng --test end_to_end -- --ignored --nocapture alone::truth::

# Limits that are planted in servers beside what `throng probe` finds, into docs/logs/PROBE.md. Ten minutes, a compiler's included.
probe-truth: build
	$(CARGO) test --locked -p throng --test end_to_end -- --ignored --nocapture probe_truth::

# What throng says in situations whose truth is known, into docs/logs/SENTENCES.md: eight minutes; with BUSY=4 beside four busy loops, with
# ONLY=storm those of that name or group.
sentences: build
	$(CARGO) test --locked -p throng --test end_to_end -- --ignored --nocapture sentences::

# Whose the time of slow messages is said to be where that is known, into docs/logs/OWNERS.md: a quarter of an hour; with
# ONLY=http, those cells whose row has that.
owners: build
	$(CARGO) test --locked -p throng --test end_to_end -- --ignored --nocapture owners::

# The key and the sentence of every finding, into docs/FINDINGS.md.
findings:
	$(CARGO) test --locked -p throng --test tidy -- --ignored findings::page_is_written

# Every command line of docs/logs/SEEDS.md as printed, and what it said below it: twenty minutes; with ONLY=003:, those of one seed.
seeds: build
	$(CARGO) test --locked -p throng --test end_to_end -- --ignored --nocapture seeds::

# What takes long of docs/RELIABILITY.md: processes that stand still at every phase, a store that fails or is killed at every
# call of the kernel, the memory of the largest recordings, each fuzz target in libFuzzer. Twenty minutes.
torture: tools fuzz-check
	$(CARGO) test --locked -p throng -p throng-har --tests -p throng-crew --lib torture -- --ignored --test-threads=1

# Installs and checks every target, into docs/logs/TARGETS.md. An hour, most of it compilers'.
# A target that fails is a row, and an exit status beside a whole table.
targets: build
	$(THRONG) targets check --all --format md > docs/logs/TARGETS.md.part || test -s docs/logs/TARGETS.md.part
	mv docs/logs/TARGETS.md.part docs/logs/TARGETS.md

# The tables of every record anew, and the newest shootout of each suite beside what was published, into docs/logs/RESULTS.md.
records: build
	for record in records/*/*/; do $(THRONG) report $$record --md > report.part && mv report.part $$record/report.md || exit 1; done
	$(THRONG) shootout --recap records --format md > docs/logs/RESULTS.md.part
	mv docs/logs/RESULTS.md.part docs/logs/RESULTS.md

# Apps that two users use in a Chromium, and the files that are written from it: all of them, into docs/logs/RECORDINGS.md. Ten minutes.
recordings: tools
	$(CARGO) test --locked -p throng --test end_to_end -- --include-ignored --test-threads=2 recorded_apps::

# Fleets over NATS: on the loopback interface, and with a network namespace for each member, as root. Two minutes.
test-fleet: tools
	$(CARGO) test --locked -p throng --test end_to_end -- --include-ignored --test-threads=1 fleet:: fleet_networks::

# throng beside other programs in the same run; see bench/run.py for how it finds them.
bench: bench-steps
	python3 bench/run.py

# What a step costs a run of many, and those who read its results.
bench-steps:
	python3 bench/steps.py

# The same broadcast over every dialect: what a protocol costs.
bench-dialects:
	python3 bench/dialects.py

# What it costs to spread a load over child processes, and over agents with NATS between.
bench-fleet:
	python3 bench/fleet.py

# Each fuzz target in libFuzzer for 5 seconds with the same seed: three minutes on two CPUs, most of it the compiler's. `make test` replays
# the kept inputs without it (fuzz/targets).
fuzz-check:
	fuzz/run.py --same 5

# An hour of CPU for each: a working day on two CPUs; one that was interrupted goes on. FUZZ_SECONDS=600 is shorter;
# TARGETS=ws_client runs that one.
FUZZ_SECONDS ?= 3600
fuzz:
	fuzz/run.py --total $(FUZZ_SECONDS) $(TARGETS)

# What the program is made of, as CycloneDX: crates with their checksums and licences, and what is bundled into the pages.
sbom:
	@python3 deploy/sbom.py > sbom.json.part && mv sbom.json.part sbom.json && echo sbom.json

# Tarball, .deb, .rpm, wheel and npm packages of one static program, into target/packages: what a release uploads. PACKAGES passes flags on.
packages:
	python3 deploy/packages/make.py $(PACKAGES)

# Each of them installed where nothing of throng is, used and removed: as root, two minutes.
try-packages: packages
	python3 deploy/packages/try.py

# What `cargo publish` would upload, in the order of the crates' dependencies, built from those files alone.
publish-check:
	$(CARGO) publish --workspace --dry-run --locked

# Licences, sources and bans as deny.toml has them, and advisories: these from a database that cargo-deny fetches from GitHub, so
# that it is no part of `make test`, which has the rest (tests/supply.rs).
deny:
	@command -v cargo-deny >/dev/null || { echo "make deny: cargo install --locked cargo-deny@0.20.2 first" >&2; exit 1; }
	$(CARGO) deny check

tools:
	tests/tools.sh

clean:
	$(CARGO) clean
	rm -rf targets/*/node_modules targets/*/.venv targets/*/build
