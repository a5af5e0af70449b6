#!/usr/bin/env bash
# Looks for the programs that building and testing use, and installs what is missing where it may: as root on a Debian.
# Elsewhere it says what is missing. Without a compiler nothing works; a test that lacks something else says so and
# skips. `tools.sh build` stops at what building needs: the rest can be installed meanwhile.
set -euo pipefail

compilers=("cc gcc" "c++ g++" "python3 python3-venv")
others=(
    "git git"
    "node nodejs"
    "npm npm"
    "go golang-go"
    "prlimit util-linux"
    "ip iproute2"
    "nats-server nats-server"
    "strace strace"
    "haproxy haproxy"
    "h2load nghttp2-client"
    "chromium chromium"
    "prometheus prometheus"
    "prometheus-pushgateway prometheus-pushgateway"
)

# Prints the Debian packages of the programs that are not here; each argument is a program and its package.
packages_of_missing() {
    local program package
    for tool in "$@"; do
        read -r program package <<<"$tool"
        command -v "$program" >/dev/null || echo "$package"
    done
}

if ! command -v cargo >/dev/null; then
    echo "tools: cargo is missing: install Rust 1.89 or later, see https://rustup.rs" >&2
    exit 1
fi

[[ ${1-} == build ]] && others=()
mapfile -t missing < <(packages_of_missing "${compilers[@]}" "${others[@]}")
python3 -c 'import ensurepip' 2>/dev/null || missing+=(python3-venv)
if ((${#missing[@]} > 0)) && [[ $EUID -eq 0 ]] && command -v apt-get >/dev/null; then
    echo "tools: installing ${missing[*]}"
    apt-get update -q
    DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"
elif ((${#missing[@]} > 0)); then
    echo "tools: missing: ${missing[*]}" >&2
    [[ -z $(packages_of_missing "${compilers[@]}") ]]
fi
