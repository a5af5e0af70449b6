"""A release of packages that were made for two architectures."""

import contextlib
import fnmatch
import hashlib
import io
import re
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import gather

REPOSITORY = gather.cargo_package()["repository"]
IMAGE = "registry.example/throng"
TARBALLS = {
    "intel": "throng-9.9.9-x86_64-unknown-linux-gnu.tar.gz",
    "arm": "throng-9.9.9-aarch64-unknown-linux-gnu.tar.gz",
}


class Gather(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        for architecture, tarball in TARBALLS.items():
            self.write(architecture, {tarball: architecture, "throng-bench-9.9.9.tgz": "starts the others"})

    def write(self, architecture: str, files: dict[str, str]) -> None:
        made = self.folder / architecture
        made.mkdir(exist_ok=True)
        for name, text in files.items():
            (made / name).write_text(text)
        sums = {name: digest((made / name).read_text()) for name in files}
        (made / "SHA256SUMS").write_text("".join(f"{sum}  {name}\n" for name, sum in sums.items()))

    def gather(self) -> Path:
        out = self.folder / "release"
        folders = [str(self.folder / architecture) for architecture in TARBALLS]
        arguments = ["gather.py", *folders, "--out", str(out), "--image", IMAGE]
        with mock.patch.object(sys, "argv", arguments), contextlib.redirect_stderr(io.StringIO()):
            gather.main()
        return out

    def test_it_has_what_was_made_everywhere_once(self) -> None:
        out = self.gather()
        names = {*TARBALLS.values(), "throng-bench-9.9.9.tgz", "throng-chart-9.9.9.tgz", "throng.rb"}
        sums = dict(reversed(line.split("  ")) for line in (out / "SHA256SUMS").read_text().splitlines())
        self.assertEqual(set(sums), names)
        self.assertEqual(sums[TARBALLS["arm"]], digest("arm"))
        formula = (out / "throng.rb").read_text()
        self.assertIn(f'homepage "{REPOSITORY}"\n', formula)
        for clause, architecture in [("on_intel", "intel"), ("on_arm", "arm")]:
            expected = f'  {clause} do\n    url "{REPOSITORY}/releases/download/v9.9.9/{TARBALLS[architecture]}"\n    sha256 "{digest(architecture)}"\n  end'
            self.assertIn(expected, formula)
        self.assertIn("### Load", (out / "NOTES.md").read_text())

    def test_the_chart_has_the_pushed_image_and_the_manifests(self) -> None:
        with tarfile.open(self.gather() / "throng-chart-9.9.9.tgz") as tar:
            read = {member.name: tar.extractfile(member).read().decode() for member in tar if member.isfile()}
        self.assertIn(f"repository: {IMAGE}\n", read["throng/values.yaml"])
        self.assertIn(f"home: {REPOSITORY}\n", read["throng/Chart.yaml"])
        self.assertIn("kind: Job\n", read["throng/kubernetes/agents.yaml"])

    def test_a_file_that_was_damaged_on_its_way_is_refused(self) -> None:
        (self.folder / "arm" / TARBALLS["arm"]).write_text("cut")
        with self.assertRaisesRegex(SystemExit, "is not what SHA256SUMS says"):
            self.gather()

    def test_architectures_that_disagree_are_refused(self) -> None:
        self.write("arm", {TARBALLS["arm"]: "arm", "throng-bench-9.9.9.tgz": "starts something else"})
        with self.assertRaisesRegex(SystemExit, "differs from that of another architecture"):
            self.gather()

    def test_the_image_is_made_of_tarballs_that_a_release_has(self) -> None:
        dockerfile = (gather.ROOT / "deploy/Dockerfile").read_text()
        patterns = [line.split()[1] for line in dockerfile.splitlines() if line.startswith("ADD ")]
        self.assertEqual([fnmatch.filter(TARBALLS.values(), of) for of in patterns], [[name] for name in TARBALLS.values()])
        workflow = (gather.ROOT / ".github/workflows/release.yml").read_text()
        for part in ["--file deploy/Dockerfile", '--tag "$name:${GITHUB_REF_NAME#v}"', '--image "$IMAGE"']:
            self.assertIn(part, workflow)
        # Checksums over all files, so that the chart and the formula have a signed statement, too.
        self.assertIn("subject-checksums: release/SHA256SUMS\n", workflow)
        machines = re.search(r"--platform (\S+)", workflow).group(1).split(",")
        stages = re.findall(r"^FROM scratch AS program-(\w+)$", dockerfile, re.MULTILINE)
        self.assertEqual(machines, [f"linux/{stage}" for stage in stages])

    def test_the_chart_is_of_the_programs_version(self) -> None:
        about = (gather.ROOT / "deploy/helm/Chart.yaml").read_text()
        version = gather.cargo_package()["version"]
        for key in ["version", "appVersion"]:
            self.assertIn(f"\n{key}: {version}\n", about)
        self.assertIn(gather.LOCAL_IMAGE, (gather.ROOT / "deploy/helm/values.yaml").read_text())

    def test_the_action_asks_for_a_tarball_that_a_release_has(self) -> None:
        script = (gather.ROOT / "deploy/action/install.sh").read_text()
        (asked,) = [line.removeprefix("folder=") for line in script.splitlines() if line.startswith("folder=")]
        machines = {"intel": "x86_64", "arm": "aarch64"}
        names = {of: asked.replace("$version", "9.9.9").replace("$machine", name) for of, name in machines.items()}
        self.assertEqual({of: f"{name}.tar.gz" for of, name in names.items()}, TARBALLS)


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


if __name__ == "__main__":
    unittest.main()
