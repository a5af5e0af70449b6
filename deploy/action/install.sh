#!/usr/bin/env bash
# Puts throng on the job's PATH: the one that is installed already if no version is asked for, or else a release's static program, whose
# checksum is that release's.
set -euo pipefail

fail() {
    echo "::error title=throng::$1" >&2
    exit 1
}

# Those of an earlier use of the action in this job would be told as this one's, if it ends before it measures.
rm -f "$OUT/summary.md"

if [[ -z $VERSION ]] && command -v throng >/dev/null; then
    echo "throng is installed already: $(throng --version)"
    exit 0
fi

# The action at v0.2.0 installs throng 0.2.0; at a branch, nothing says which.
version=${VERSION:-$ACTION_REF}
version=${version#v}
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+ ]] ||
    fail "version: expected one such as 0.1.0, found '$version'; use the action at a release's tag, or say which version is meant"
machine=$(uname -m)
[[ $(uname -s) == Linux && $machine =~ ^(x86_64|aarch64)$ ]] || fail "throng runs on Linux, on x86-64 and ARM64, not on $(uname -sm)"

releases=${RELEASES:-$GITHUB_SERVER_URL/$ACTION_REPOSITORY/releases/download}
folder=throng-$version-$machine-unknown-linux-gnu
work=$RUNNER_TEMP/throng
mkdir -p "$work"
cd "$work"
for file in SHA256SUMS "$folder.tar.gz"; do
    curl --fail --silent --show-error --location --retry 3 --connect-timeout 30 --speed-limit 1024 --speed-time 60 \
        --output "$file" "$releases/v$version/$file" ||
        fail "$releases/v$version/$file cannot be had"
done
sums=$(grep " $folder.tar.gz\$" SHA256SUMS) || fail "SHA256SUMS of $releases/v$version does not list $folder.tar.gz"
sha256sum --check --quiet <<<"$sums" || fail "$folder.tar.gz is not what SHA256SUMS says"
tar xzf "$folder.tar.gz"
echo "$work/$folder" >>"$GITHUB_PATH"
echo "installed: $("$work/$folder/throng" --version)"
