#!/usr/bin/env python3
"""Makes one folder to publish of what make.py has made for one architecture or several: the files, SHA256SUMS over all, a Homebrew
formula, Helm's chart, and the release's notes, from CHANGELOG.md. Cargo.toml's repository is where they will be published."""

import argparse
import hashlib
import re
import shutil
import string
import sys
import tarfile
import tempfile
from pathlib import Path

from make import cargo_package

ROOT = Path(__file__).resolve().parent.parent.parent
HERE = ROOT / "deploy/packages"
# What Homebrew calls them.
ARCHITECTURES = {"x86_64": "on_intel", "aarch64": "on_arm"}
# The image's name in the chart of a clone: what deploy/Dockerfile builds on one's own machine.
LOCAL_IMAGE = "  repository: throng\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path, help="what make.py has made")
    parser.add_argument("--out", type=Path, required=True, help="the folder to publish; it must not be there yet")
    parser.add_argument("--image", required=True, help="the image that was pushed, without its tag, for the chart")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True)
    for folder in arguments.folders:
        check(folder)
        for file in sorted(folder.iterdir()):
            take(file, arguments.out / file.name)
    tarballs = sorted(arguments.out.glob("throng-*-linux-*.tar.gz"))
    version = tarballs[0].name.split("-")[1]
    homepage = cargo_package()["repository"]
    base_url = f"{homepage}/releases/download/v{version}"
    formula = {
        "HOMEPAGE": homepage,
        "VERSION": version,
        "BINARIES": "\n".join(binary(tarball, base_url) for tarball in tarballs),
    }
    text = string.Template((HERE / "throng.rb").read_text()).substitute(formula)
    (arguments.out / "throng.rb").write_text(text)
    write_chart(arguments.out / f"throng-chart-{version}.tgz", arguments.image, homepage)
    files = sorted(arguments.out.iterdir())
    (arguments.out / "SHA256SUMS").write_text("".join(f"{sha256(file)}  {file.name}\n" for file in files))
    (arguments.out / "NOTES.md").write_text(notes(version))


def check(folder: Path) -> None:
    """What was made elsewhere has come here whole."""
    for line in (folder / "SHA256SUMS").read_text().splitlines():
        digest, name = line.split("  ")
        if sha256(folder / name) != digest:
            sys.exit(f"gather: {folder / name} is not what SHA256SUMS says")


def take(file: Path, to: Path) -> None:
    """A file that every architecture makes, such as the npm package that starts the others, is the same everywhere."""
    if file.name == "SHA256SUMS":
        return
    if to.exists() and sha256(to) != sha256(file):
        sys.exit(f"gather: {file} differs from that of another architecture")
    shutil.copy(file, to)


def binary(tarball: Path, base_url: str) -> str:
    (clause,) = [clause for machine, clause in ARCHITECTURES.items() if f"-{machine}-" in tarball.name]
    lines = [f"{clause} do", f'  url "{base_url}/{tarball.name}"', f'  sha256 "{sha256(tarball)}"', "end"]
    return "\n".join(f"  {line}" for line in lines)


def write_chart(to: Path, image: str, homepage: str) -> None:
    """Helm's chart, whose pods have the pushed image, with the manifests that a link leads to in the clone."""
    with tempfile.TemporaryDirectory() as folder:
        chart = Path(folder, "throng")
        shutil.copytree(ROOT / "deploy/helm", chart)
        values = (chart / "values.yaml").read_text()
        (chart / "values.yaml").write_text(values.replace(LOCAL_IMAGE, f"  repository: {image}\n"))
        with (chart / "Chart.yaml").open("a") as about:
            about.write(f"home: {homepage}\n")
        with tarfile.open(to, "w:gz") as tar:
            tar.add(chart, chart.name)


def notes(version: str) -> str:
    """The changelog's section of this version; before its release, of what is not released yet."""
    text = (ROOT / "CHANGELOG.md").read_text()
    sections = {re.match(r"\[([^]]+)\]", part).group(1): part for part in text.split("\n## ")[1:]}
    section = sections.get(version, sections.get("Unreleased"))
    return section.partition("\n")[2].strip() + "\n"


def sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


if __name__ == "__main__":
    main()
