#!/usr/bin/env python3
"""Makes throng's packages, all from one program, which is linked statically: it runs on any Linux of its architecture,
whatever the distribution and its age.

    tarball, .deb and .rpm, a Python wheel, npm packages, a bill of materials, SHA256SUMS

gather.py makes a release of what was made for several architectures. Beside cargo it needs git, npm, Python's venv, and go, with which it builds nfpm.

--target aarch64-unknown-linux-gnu makes those of another architecture, with rustup's target of that name, its compiler and its C library
(Debian: gcc-aarch64-linux-gnu, libc6-dev-arm64-cross), and qemu-user-static, which runs the program for its manual pages.
"""

import argparse
import gzip
import hashlib
import json
import os
import shutil
import stat
import string
import subprocess
import sys
import tarfile
import tomllib
import venv
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
HERE = ROOT / "deploy/packages"
NFPM = "github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.43.4"
# What the Python and npm packages are called: in both registries `throng` is somebody else's.
REGISTRY_NAME = "throng-bench"
SUMMARY = "Load generator for realtime servers: WebSocket, Action Cable, Phoenix, SockJS, Socket.IO, GraphQL, server-sent events, HTTP"
LICENCE = "MIT OR Apache-2.0"
DOCUMENTS = ["README.md", "METHODOLOGY.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"]


@dataclass(frozen=True)
class Platform:
    """An architecture, by the names that the kinds of packages have for it."""

    machine: str
    debian: str
    node: str

    def wheel_tag(self) -> str:
        """A program without libraries runs beside any of them."""
        machine = self.machine
        return f"py3-none-manylinux_2_17_{machine}.manylinux2014_{machine}.musllinux_1_1_{machine}"


PLATFORMS = {
    "x86_64": Platform("x86_64", "amd64", "x64"),
    "aarch64": Platform("aarch64", "arm64", "arm64"),
}


def main() -> None:
    arguments = parse()
    if arguments.out == default_out():
        shutil.rmtree(arguments.out, ignore_errors=True)
    arguments.out.mkdir(parents=True)
    packages = Packages(
        out=arguments.out,
        target=arguments.target,
        version=cargo_package()["version"],
        homepage=cargo_package()["repository"],
        maintainer=arguments.maintainer,
    )
    packages.stage(build(arguments.target))
    packages.make_tarball()
    packages.make_deb_and_rpm()
    packages.make_wheel()
    packages.make_npm()
    bill = output([sys.executable, ROOT / "deploy/sbom.py"])
    (arguments.out / "throng.cdx.json").write_text(bill)
    made = sorted(arguments.out.iterdir())
    (arguments.out / "SHA256SUMS").write_text("".join(f"{sha256(path)}  {path.name}\n" for path in made))
    for path in made:
        print(f"{path.stat().st_size / 2**20:6.1f} MiB  {path.name}")


def parse() -> argparse.Namespace:
    (host,) = [line.split()[1] for line in output(["rustc", "-vV"]).splitlines() if line.startswith("host:")]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", default=host, help="what to build for, by rustc's name [default: %(default)s]")
    parser.add_argument("--out", type=Path, default=default_out(), help="a new folder [default: %(default)s, made anew]")
    parser.add_argument("--maintainer", default="throng maintainers <throng@localhost>", help="[default: %(default)s]")
    arguments = parser.parse_args()
    machine, *rest = arguments.target.split("-")
    if machine not in PLATFORMS or "linux" not in rest:
        parser.error(f"--target: throng runs on Linux, and there are packages for {' and '.join(PLATFORMS)}")
    arguments.out = arguments.out.resolve()
    if arguments.out.exists() and arguments.out != default_out():
        parser.error(f"--out: {arguments.out} is there already, and is not replaced; name a new folder")
    return arguments


def cargo_package() -> dict[str, str]:
    """What all crates share."""
    return tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]


def machine_of(target: str) -> str:
    return target.split("-")[0]


def is_foreign(target: str) -> bool:
    """Whether it takes an emulator to run here what is built for it."""
    return machine_of(target) != os.uname().machine


def build(target: str) -> Path:
    """The program, with its C library in it."""
    flags = [os.environ.get("RUSTFLAGS", ""), "-C target-feature=+crt-static"]
    environment = {**os.environ, "RUSTFLAGS": " ".join(flags).strip()}
    if is_foreign(target):
        compiler, name = f"{machine_of(target)}-linux-gnu-gcc", target.replace("-", "_")
        environment.setdefault(f"CARGO_TARGET_{name.upper()}_LINKER", compiler)
        environment.setdefault(f"CC_{name}", compiler)
    run(["cargo", "build", "--release", "--locked", "-p", "throng", "--target", target], cwd=ROOT, env=environment)
    return target_folder() / target / "release/throng"


@dataclass(frozen=True)
class Packages:
    """One version of throng for one target."""

    out: Path
    target: str
    version: str
    homepage: str
    maintainer: str

    @property
    def platform(self) -> Platform:
        return PLATFORMS[machine_of(self.target)]

    @property
    def work(self) -> Path:
        return target_folder() / "packages-work"

    @property
    def staged(self) -> Path:
        return self.work / "stage"

    def stage(self, program: Path) -> None:
        """Everything that packages hold, in one folder, with the time of the commit."""
        shutil.rmtree(self.work, ignore_errors=True)
        stage = self.staged
        copy(program, stage / "throng")
        start = [f"qemu-{self.platform.machine}-static", program] if is_foreign(self.target) else [program]
        run([*start, "man", "--all", stage / "man"])
        for page in list((stage / "man").glob("man*/*")):
            page.with_name(f"{page.name}.gz").write_bytes(gzip.compress(page.read_bytes(), mtime=0))
            page.unlink()
        (stage / "completions").mkdir()
        for shell, name in [("bash", "throng.bash"), ("zsh", "_throng"), ("fish", "throng.fish")]:
            (stage / "completions" / name).write_text(output([*start, "completions", shell]))
        for name in output(["git", "ls-files", "suites", "targets", "examples"], cwd=ROOT).splitlines():
            copy(ROOT / name, stage / "share" / name)
        for name in DOCUMENTS:
            copy(ROOT / name, stage / "doc" / name)
        unit = (ROOT / "deploy/systemd/throng-agent.service").read_text()
        (stage / "throng-agent.service").write_text(unit.replace("/usr/local/bin/", "/usr/bin/"))
        for path in stage.rglob("*"):
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & stat.S_IXUSR else 0o644)
            os.utime(path, (commit_time(), commit_time()))

    def make_tarball(self) -> None:
        path = self.out / f"throng-{self.version}-{self.target}.tar.gz"
        folder = path.name.removesuffix(".tar.gz")

        def root_owns(member: tarfile.TarInfo) -> tarfile.TarInfo:
            member.uid = member.gid = 0
            member.uname = member.gname = "root"
            return member

        with open(path, "wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=0) as compressed:
            with tarfile.open(fileobj=compressed, mode="w") as tar:
                for staged in sorted(self.staged.rglob("*")):
                    name = f"{folder}/{staged.relative_to(self.staged)}"
                    tar.add(staged, name, recursive=False, filter=root_owns)

    def make_deb_and_rpm(self) -> None:
        """With what Debian's policy wants beside: its own changelog, the licences in its form, and why the program is static."""
        debian = self.work / "debian"
        debian.mkdir()
        values = {
            "VERSION": self.version,
            "MAINTAINER": self.maintainer,
            "DATE": output(["date", "--rfc-email", f"--date=@{commit_time()}"]).strip(),
        }
        changelog = string.Template((HERE / "debian/changelog").read_text()).substitute(values)
        (debian / "changelog.Debian.gz").write_bytes(gzip.compress(changelog.encode(), mtime=0))
        whole = (self.staged / "doc/CHANGELOG.md").read_bytes()
        (debian / "changelog.gz").write_bytes(gzip.compress(whole, mtime=0))
        for name in ["copyright", "overrides"]:
            copy(HERE / "debian" / name, debian / name)
        environment = {
            **os.environ,
            "ARCH": self.platform.debian,
            "VERSION": self.version,
            "MAINTAINER": self.maintainer,
            "HOMEPAGE": self.homepage,
            "STAGE": str(self.staged),
            "DEBIAN": str(debian),
            "SOURCE_DATE_EPOCH": str(commit_time()),
        }
        for packager in ["deb", "rpm"]:
            config = ["--config", HERE / "nfpm.yaml", "--packager", packager, "--target", self.out]
            run([nfpm(), "package", *config], env=environment, stdout=subprocess.DEVNULL)

    def make_wheel(self) -> None:
        """The program among a wheel's scripts: `pip install` and `uvx` put it on the PATH, and its suites and targets beside it."""
        python = self.work / "venv"
        venv.create(python, with_pip=True)
        requirements = ["--require-hashes", "-r", HERE / "requirements.txt"]
        run([python / "bin/pip", "install", "--quiet", "--disable-pip-version-check", *requirements])
        facts = {
            "name": REGISTRY_NAME.replace("-", "_"),
            "version": self.version,
            "tag": self.platform.wheel_tag(),
            "metadata": [
                "Metadata-Version: 2.4",
                f"Name: {REGISTRY_NAME}",
                f"Version: {self.version}",
                f"Summary: {SUMMARY}",
                f"License-Expression: {LICENCE}",
                "License-File: LICENSE-MIT",
                "License-File: LICENSE-APACHE",
                "Description-Content-Type: text/markdown",
                *(f"Project-URL: {name}, {self.homepage}" for name in ["Homepage", "Repository"]),
            ],
        }
        environment = {**os.environ, "SOURCE_DATE_EPOCH": str(commit_time())}
        command = [python / "bin/python", HERE / "write_wheel.py", self.staged, self.out, json.dumps(facts)]
        run(command, env=environment)

    def make_npm(self) -> None:
        """A package with the program for each platform, and one that depends on all and starts the one that fits."""
        of_platform = f"{REGISTRY_NAME}-linux-{self.platform.node}"
        common = {
            "version": self.version,
            "license": LICENCE,
            "homepage": self.homepage,
            "repository": f"git+{self.homepage}.git",
        }
        of_program = {
            "name": of_platform,
            "description": f"throng's program for Linux on {self.platform.machine}",
            "os": ["linux"],
            "cpu": [self.platform.node],
            "files": ["bin", "share", "LICENSE-*"],
        }
        launcher = {
            "name": REGISTRY_NAME,
            "description": SUMMARY,
            "os": ["linux"],
            "cpu": [platform.node for platform in PLATFORMS.values()],
            "bin": {"throng": "bin/throng.js"},
            "files": ["bin", "LICENSE-*"],
            "engines": {"node": ">=18"},
            "optionalDependencies": {
                f"{REGISTRY_NAME}-linux-{platform.node}": self.version for platform in PLATFORMS.values()
            },
        }
        for manifest, program, source in [
            (of_program, "throng", self.staged / "throng"),
            (launcher, "throng.js", HERE / "npm/throng.js"),
        ]:
            folder = self.work / "npm" / manifest["name"]
            copy(source, folder / "bin" / program)
            if manifest is of_program:
                shutil.copytree(self.staged / "share", folder / "share/throng")
            for licence in ["LICENSE-MIT", "LICENSE-APACHE"]:
                copy(ROOT / licence, folder / licence)
            copy(HERE / "npm/README.md", folder / "README.md")
            (folder / "package.json").write_text(json.dumps({**manifest, **common}, indent=2) + "\n")
            run(["npm", "pack", "--silent", "--pack-destination", self.out], cwd=folder, stdout=subprocess.DEVNULL)


def nfpm() -> Path:
    """The program that makes .deb and .rpm, built once for each version of it."""
    folder = target_folder() / "nfpm" / NFPM.rpartition("@")[2]
    program = folder / "nfpm"
    if not program.exists():
        run(["go", "install", NFPM], env={**os.environ, "GOBIN": str(folder), "CGO_ENABLED": "0"})
    return program


def target_folder() -> Path:
    return Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target").resolve()


def default_out() -> Path:
    return (target_folder() / "packages").resolve()


def commit_time() -> int:
    return int(output(["git", "log", "-1", "--format=%ct"], cwd=ROOT))


def copy(source: Path, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, to)


def sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def output(command: list, **options) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout


def run(command: list, **options) -> None:
    subprocess.run(command, check=True, **options)


if __name__ == "__main__":
    main()
