"""python3 -m unittest discover -s tests"""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

TOOLS = Path(__file__).parent / "tools.sh"

# The installer of an archive without Chromium.
APT = """#!/bin/sh
echo "$@" >>"$0.log"
"$POLICY" || echo "$?" >>"$POLICY.log"
case " $* " in *" chromium "*) exit 100 ;; esac
"""


class Tools(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        for name in ["bash", "cat", "chmod", "rm", "cc", "c++", "python3"]:
            os.symlink(shutil.which(name) or shutil.which("true"), self.folder / name)
        self.program("cargo", "#!/bin/sh\n")
        self.program("apt-get", APT)

    def program(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text)
        (self.folder / name).chmod(0o755)

    def run_tools(self) -> tuple[int, list[str]]:
        """The exit status, and the last words of each `apt-get install`."""
        bash = shutil.which("bash")
        env = {"PATH": str(self.folder), "POLICY": str(self.folder / "policy-rc.d")}
        done = subprocess.run([bash, TOOLS], env=env, capture_output=True, text=True)
        calls = (self.folder / "apt-get.log").read_text().splitlines()
        return done.returncode, [call.split()[-1] for call in calls if call.startswith("install")]

    @unittest.skipUnless(os.geteuid() == 0, "installs as root alone")
    def test_absent_packages_keep_no_other_out(self):
        status, installed = self.run_tools()
        self.assertEqual(status, 0)
        self.assertIn("nats-server", installed)
        self.assertIn("chromium", installed)
        self.assertEqual(set((self.folder / "policy-rc.d.log").read_text().split()), {"101"})
        self.assertFalse((self.folder / "policy-rc.d").exists())

    @unittest.skipUnless(os.geteuid() == 0, "installs as root alone")
    def test_programs_have_several_names(self):
        self.program("google-chrome", "#!/bin/sh\n")
        status, installed = self.run_tools()
        self.assertEqual((status, len(installed)), (0, 1))


if __name__ == "__main__":
    unittest.main()
