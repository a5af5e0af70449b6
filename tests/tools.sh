#!/usr/bin/env bash
# Looks for the programs that the tests use, and installs what is missing where it may: as root on a Debian.
# Elsewhere it says what is missing; only a missing Rust is fatal, since a test that lacks a program says so and skips.
set -euo pipefail

# A program, and Debian's package of it.
tools=(
    "cc gcc"
    "git git"
    "python3 python3-venv"
    "node nodejs"
    "npm npm"
    "go golang-go"
    "prlimit util-linux"
)

if ! command -v cargo >/dev/null; then
    echo "tools: cargo is missing: install Rust 1.88 or later, see https://rustup.rs" >&2
    exit 1
fi

missing=()
for tool in "${tools[@]}"; do
    read -r program package <<<"$tool"
    command -v "$program" >/dev/null || missing+=("$package")
done
python3 -c 'import ensurepip' 2>/dev/null || missing+=(python3-venv)

if ((${#missing[@]} == 0)); then
    exit 0
fi
if [[ $EUID -eq 0 ]] && command -v apt-get >/dev/null; then
    echo "tools: installing ${missing[*]}"
    apt-get update -q
    DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"
else
    echo "tools: missing, and left out by the tests that need them: ${missing[*]}" >&2
fi
