"""The folder that packages are made in."""

import contextlib
import io
import tempfile
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


if __name__ == "__main__":
    unittest.main()
