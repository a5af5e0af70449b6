#!/usr/bin/env python3
"""Installs each of the packages that make.py has made where nothing of throng is, uses it, and removes it without a trace.

The tarball runs in a folder that has nothing but the program in it; the .deb in a fresh Debian (debootstrap), the .rpm in an empty
root; the wheel in a new environment of Python, the npm packages in a new folder. Needs root, debootstrap, lintian and rpm: what is
not here is installed where apt-get may, or named as skipped.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
# What a first-time user would run: its own server, in a few seconds.
FIRST_RUN = ["broadcast", "--initial-clients", "100", "--total-steps", "1", "--no-store"]
RUN_MAX_S = 60


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    target = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target")
    parser.add_argument("packages", nargs="?", type=Path, default=target / "packages", help="[default: %(default)s]")
    packages = parser.parse_args().packages.resolve()
    if os.geteuid() != 0:
        sys.exit("packages: trying them needs root, for chroot and dpkg")
    tools()
    tries = [in_nothing, in_debian, in_rpm_root, with_pip, with_npm, without_lintian_s_complaints]
    skipped = []
    for attempt in tries:
        began = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="throng-packages-") as folder:
            problem = attempt(packages, Path(folder))
        name = attempt.__name__.replace("_", " ")
        if problem:
            skipped.append(name)
        print(f"{name}: {problem or f'fine, {time.monotonic() - began:.0f} s'}", flush=True)
    print(f"{len(tries) - len(skipped)} passed, 0 failed, {len(skipped)} skipped")


def tools() -> None:
    missing = [tool for tool in ["debootstrap", "lintian", "rpm"] if not shutil.which(tool)]
    if missing and shutil.which("apt-get"):
        run(["apt-get", "update", "-q"], stdout=subprocess.DEVNULL)
        run(["apt-get", "install", "-q", "-y", "--no-install-recommends", *missing], stdout=subprocess.DEVNULL)


def in_nothing(packages: Path, root: Path) -> str | None:
    with tarfile.open(only(packages, "throng-*.tar.gz")) as tar:
        tar.extraction_filter = getattr(tarfile, "tar_filter", None)
        tar.extractall(root)
    (program,) = root.glob("*/throng")
    mounted = Mounts(root)
    with mounted:
        use(["chroot", root, f"/{program.relative_to(root)}"], root)
    return None


def in_debian(packages: Path, root: Path) -> str | None:
    if not shutil.which("debootstrap"):
        return "skipped: debootstrap is missing"
    run(["debootstrap", "--variant=minbase", "bookworm", root], stdout=subprocess.DEVNULL)
    package = only(packages, "*.deb")
    shutil.copy(package, root / "throng.deb")
    before = entries(root)
    with Mounts(root):
        began = time.monotonic()
        run(["chroot", root, "dpkg", "--install", "/throng.deb"], stdout=subprocess.DEVNULL)
        use(["chroot", root, "throng"], root)
        print(f"  installed and first run in {time.monotonic() - began:.1f} s")
        run(["chroot", root, "dpkg", "--purge", "throng"], stdout=subprocess.DEVNULL)
    assert_nothing_left(before, entries(root))
    return None


def in_rpm_root(packages: Path, root: Path) -> str | None:
    if not shutil.which("rpm"):
        return "skipped: rpm is missing"
    run(["rpm", "--root", root, "--initdb"])
    before = entries(root)
    run(["rpm", "--root", root, "--nodeps", "--noscripts", "--install", only(packages, "*.rpm")])
    with Mounts(root):
        use(["chroot", root, "/usr/bin/throng"], root)
    run(["rpm", "--root", root, "--noscripts", "--erase", "throng"])
    assert_nothing_left(before, entries(root))
    return None


def with_pip(packages: Path, folder: Path) -> str | None:
    venv.create(folder / "venv", with_pip=True)
    (folder / "home").mkdir()
    before = entries(folder)
    pip = [folder / "venv/bin/pip", "--quiet", "--disable-pip-version-check"]
    run([*pip, "install", "--no-index", only(packages, "*.whl")])
    use([folder / "venv/bin/throng"], folder / "home", home=folder / "home")
    run([*pip, "uninstall", "--yes", "throng-bench"])
    # pip leaves empty folders where a package had files.
    assert_nothing_left(before, {path for path in entries(folder) if not path.is_dir()})
    return None


def with_npm(packages: Path, folder: Path) -> str | None:
    if not shutil.which("npm"):
        return "skipped: npm is missing"
    machine = {"x86_64": "x64", "aarch64": "arm64"}[os.uname().machine]
    tarballs = [only(packages, f"throng-bench-linux-{machine}-*.tgz"), only(packages, "throng-bench-[0-9]*.tgz")]
    (folder / "package.json").write_text('{"private": true}')
    (folder / "home").mkdir()
    npm = ["npm", "--silent", "--no-audit", "--no-fund"]
    before = entries(folder)
    run([*npm, "install", *tarballs], cwd=folder)
    use([folder / "node_modules/.bin/throng"], folder / "home", home=folder / "home")
    run([*npm, "uninstall", "throng-bench", f"throng-bench-linux-{machine}"], cwd=folder)
    assert_nothing_left(before, entries(folder))
    return None


def without_lintian_s_complaints(packages: Path, _folder: Path) -> str | None:
    if not shutil.which("lintian"):
        return "skipped: lintian is missing"
    # Whoever publishes gives an address of their own: make.py --maintainer.
    local = ["--suppress-tags", "bogus-mail-host,bogus-mail-host-in-debian-changelog"]
    run(["lintian", "--allow-root", *local, "--fail-on", "error,warning", only(packages, "*.deb")])
    return None


class Mounts:
    """The kernel's own folders, below a root for as long as this lasts, and a folder for temporary files, which any system has."""

    def __init__(self, root: Path) -> None:
        (root / "tmp").mkdir(exist_ok=True)
        self.points = [(source, root / source.lstrip("/")) for source in ["/proc", "/dev"]]
        self.made: list[Path] = []

    def __enter__(self) -> None:
        for source, point in self.points:
            point.mkdir(exist_ok=True)
            run(["mount", "--bind", source, point])
            self.made.append(point)

    def __exit__(self, *_: object) -> None:
        for point in reversed(self.made):
            run(["umount", point])


def use(program: list, folder: Path, home: Path = Path("/home")) -> None:
    """Runs the program from a folder without suites and targets, as somebody would who has just installed it: a first run, a page, the
    targets that it brings and a shootout of one of them. What the program keeps is the user's."""
    env = {"PATH": os.environ["PATH"], "HOME": str(home)}
    shootout = ["shootout", "quick", "--targets", "throng", "--scale", "0.1", "--repeats", "1", "--out", str(home / "kept")]
    for arguments, expected in [
        (["--version"], "throng "),
        (FIRST_RUN, "20,000 of 20,000"),
        (["docs", "app"], "# App files"),
        (["targets", "list", "node-ws"], "node-ws"),
        (shootout, "throng"),
    ]:
        outcome = subprocess.run(
            [*program, *arguments], capture_output=True, text=True, timeout=RUN_MAX_S, env=env, cwd=folder
        )
        if outcome.returncode != 0 or expected not in outcome.stdout:
            sys.exit(f"{program} {arguments}: exit code {outcome.returncode}\n{outcome.stdout}\n{outcome.stderr}")
    unknown = subprocess.run([*program, "sing"], capture_output=True, timeout=RUN_MAX_S, env=env, cwd=folder)
    if unknown.returncode != 2:
        sys.exit(f"{program}: exit code {unknown.returncode} for a verb that there is not")


def only(packages: Path, pattern: str) -> Path:
    found = list(packages.glob(pattern))
    if len(found) != 1:
        sys.exit(f"packages: {packages} has {len(found)} of {pattern}; make.py makes one")
    return found[0]


def entries(root: Path) -> set[Path]:
    """All files, and throng's folders: others, such as that of manual pages, a package shares."""
    found = (path for path in root.rglob("*") if not path.is_dir() or "throng" in path.name)
    return {path for path in found if not is_another_s(path, root)}


def is_another_s(path: Path, root: Path) -> bool:
    """The kernel's, the user's, and the databases and logs in which package managers keep what they have done."""
    system = ("proc/", "dev/", "home/", "var/log/", "var/lib/dpkg/", "var/lib/rpm/")
    return str(path.relative_to(root)).startswith(system) or path.name in ("package-lock.json", ".package-lock.json")


def assert_nothing_left(before: set[Path], after: set[Path]) -> None:
    if left := after - before:
        sys.exit(f"packages: left behind: {sorted(map(str, left))}")


def run(command: list, **options: object) -> None:
    subprocess.run(command, check=True, **options)


if __name__ == "__main__":
    main()
