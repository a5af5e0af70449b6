"""The folder that packages are made in, and the project's page in each."""

import contextlib
import io
import json
import os
import tempfile
import tomllib
import unittest
from pathlib import Path
from unittest import mock

import make


class Make(unittest.TestCase):
    def parsed(self, out: Path) -> Path:
        with (
            mock.patch("sys.argv", ["make.py", "--target", "x86_64-unknown-linux-gnu", "--out", str(out)]),
            mock.patch.object(make, "output", return_value="host: x86_64-unknown-linux-gnu\n"),
            contextlib.redirect_stderr(io.StringIO()),
        ):
            return make.parse().out

    def test_only_its_own_folder_is_replaced(self) -> None:
        with tempfile.TemporaryDirectory() as folder, mock.patch.dict("os.environ", CARGO_TARGET_DIR=folder):
            made = Path(folder, "packages").resolve()
            made.mkdir()
            new = made.parent / "new"
            self.assertEqual([self.parsed(made), self.parsed(new)], [made, new])
            with self.assertRaises(SystemExit):
                self.parsed(made.parent)

    def test_every_package_has_the_projects_page(self) -> None:
        page = make.cargo_package()["repository"]
        self.assertTrue(page.startswith("https://"))
        with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, CARGO_TARGET_DIR=folder):
            made = make.Packages(Path(folder), "x86_64-unknown-linux-gnu", "9.9.9", page, "somebody <a@b>")
            (made.staged / "doc").mkdir(parents=True)
            (made.staged / "doc/CHANGELOG.md").touch()
            (made.staged / "share/suites").mkdir(parents=True)
            (made.staged / "throng").touch()
            with mock.patch.object(make, "run") as run, mock.patch.object(make.venv, "create"):
                made.make_deb_and_rpm()
                made.make_wheel()
                made.make_npm()
            manifests = [json.loads(file.read_text()) for file in made.work.rglob("package.json")]
        nfpm = [call.kwargs["env"] for call in run.mock_calls if "package" in call.args[0]]
        self.assertEqual([env["HOMEPAGE"] for env in nfpm], [page, page])
        (wheel,) = [call.args[0][-1] for call in run.mock_calls if make.HERE / "write_wheel.py" in call.args[0]]
        self.assertIn(f"Project-URL: Homepage, {page}", json.loads(wheel)["metadata"])
        found = [(manifest["homepage"], manifest["repository"]) for manifest in manifests]
        self.assertEqual(found, [(page, f"git+{page}.git")] * 2)
        notebooks = tomllib.loads((make.ROOT / "python/pyproject.toml").read_text())["project"]
        self.assertEqual(notebooks["urls"], {"Repository": page})


if __name__ == "__main__":
    unittest.main()
