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
    "chromium|chromium-browser|google-chrome chromium"
    "nginx nginx-light"
    "prometheus prometheus"
)

# Prints the Debian packages of the programs that are not here; each argument is a program, by any of its names, and its
# package.
packages_of_missing() {
    local names package tool
    for tool in "$@"; do
        read -r names package <<<"$tool"
        IFS='|' read -ra names <<<"$names"
        command -v "${names[@]}" >/dev/null || echo "$package"
    done
}

install() {
    apt-get install -q -y --no-install-recommends "$@"
}

if ! command -v cargo >/dev/null; then
    echo "tools: cargo is missing: install Rust 1.89 or later, see https://rustup.rs" >&2
    exit 1
fi

[[ ${1-} == build ]] && others=()
mapfile -t missing < <(packages_of_missing "${compilers[@]}" "${others[@]}")
python3 -c 'import ensurepip' 2>/dev/null || missing+=(python3-venv)
((${#missing[@]} == 0)) && exit
if [[ $EUID -eq 0 ]] && command -v apt-get >/dev/null; then
    echo "tools: installing ${missing[*]}"
    # Packages ask this whether they may start services of their own.
    policy=${POLICY:-/usr/sbin/policy-rc.d}
    if [[ ! -e $policy ]]; then
        trap 'rm -f "$policy"' EXIT
        printf '#!/bin/sh\nexit 101\n' >"$policy"
        chmod +x "$policy"
    fi
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -q || true
    # One that the archive lacks, such as Chromium on Ubuntu, would keep out all others.
    install "${missing[@]}" || for package in "${missing[@]}"; do
        install "$package" || echo "tools: cannot be had: $package" >&2
    done
else
    echo "tools: missing: ${missing[*]}" >&2
fi
[[ -z $(packages_of_missing "${compilers[@]}") ]]
