"""Port the Autobahn testsuite, which is Python 2 only, to Python 3.

    python port_py3.py SDISTS SITE_PACKAGES

SDISTS holds the source distributions of autobahntestsuite 0.8.2 and autobahn 0.10.9; the patched packages replace
whatever SITE_PACKAGES has under those names. It runs under the interpreter that will run the suite, 3.11 or 3.12:
later ones have no lib2to3.

The suite treats byte strings as text throughout, and its cases hold payloads in string literals. Rather than retype 517
cases, a Python 2 byte string becomes a `str` of code points 0-255 (Latin-1), and turns into bytes only where the suite
meets the protocol library, which is Python 3 already. Every edit names the text it replaces and fails if it is not
there, so that another release cannot be half ported.
"""

import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

SUITE, LIBRARY = "autobahntestsuite", "autobahn"
VERSIONS = {SUITE: "0.8.2", LIBRARY: "0.10.9"}

# The fuzzers and what they import; the rest (WAMP, command line, mass connect, web server) is not needed to run cases.
KEPT = {"_version.py", "caseset.py", "fuzzing.py", "report.py", "spectemplate.py", "util.py"}

FIXERS = """basestring dict except exec filter has_key import itertools long map ne next numliterals print raise reduce
tuple_params unicode xrange zip""".split()

PY2 = '''"""Python 2 byte strings, as `str` of code points 0-255."""
import binascii


def B(text):
    return text.encode("latin-1") if isinstance(text, str) else text


def S(data):
    return data.decode("latin-1") if isinstance(data, (bytes, bytearray)) else data


def b2a_hex(text):
    return S(binascii.b2a_hex(B(text)))


hexlify = b2a_hex
'''

MAIN = '''"""python -m autobahntestsuite fuzzingclient|fuzzingserver SPEC"""
import json
import sys

import txaio

txaio.use_twisted()

from autobahn.twisted.websocket import listenWS
from autobahntestsuite.fuzzing import FuzzingClientFactory, FuzzingServerFactory
from twisted.internet import reactor

mode, path = sys.argv[1:]
with open(path) as file:
    spec = json.load(file)
if mode == "fuzzingclient":
    FuzzingClientFactory(spec)
else:
    listenWS(FuzzingServerFactory(spec), interface="127.0.0.1")
reactor.run()
'''

# Where the cases meet the library: payloads become bytes on their way out.
SHIM = '''
   def sendFrame(self, opcode, payload=b"", fin=True, rsv=0, mask=None, payload_len=None, chopsize=None, sync=False):
      return super().sendFrame(opcode, B(payload), fin, rsv, B(mask), payload_len, chopsize, sync)

   def sendMessage(self, payload, isBinary=False, fragmentSize=None, sync=False, doNotCompress=False):
      return super().sendMessage(B(payload), isBinary, fragmentSize, sync, doNotCompress)

   def sendMessageFrameData(self, payload, sync=False):
      return super().sendMessageFrameData(B(payload), sync)

   def sendCloseFrame(self, code=None, reasonUtf8=None, isReply=False):
      return super().sendCloseFrame(code, B(reasonUtf8), isReply)
'''

PY2_BINASCII = "from autobahntestsuite import py2 as binascii"

# Per file: (pattern, replacement) pairs, each of which must match.
EDITS = {
    "case/__init__.py": [(r"from \.case9_9_1 import \*\n", "")],  # in no case set, and needs Python 2's zope
    # Equal text can have unequal pickles.
    "case/case.py": [(r"pickle\.dumps\(obj1\) == pickle\.dumps\(obj2\)", "obj1 == obj2")],
    "case/case10_1_1.py": [(r"len\(self\.payload\) / self", "len(self.payload) // self")],
    "case/case6_x_x.py": [(r"\bvalidate\(([^()]+)\)", r"validate((\1).encode('latin-1'))")],
    "case/case12_x_x.py": [
        (r", binascii\n", f"\n{PY2_BINASCII}\n"),
        (r"msg = ''\n", "msg = payload[:0]\n"),
        (r"m\.update\(msg\)\n(   received_hash)", r"m.update(msg.encode('latin-1'))\n\1"),
        (r"(   received_hash = .*\n.*\n      msg = msg)\.decode", r"\1.encode('latin-1').decode"),
        (r"(payload\[:0\]\n\n.*\n      msg = msg)\.encode\(.*\)", r"\1.encode('utf-8')"),  # already real text
    ],
    "report.py": [(r"(?s)from zope\.interface import.*", "")],  # the WAMP report
    "fuzzing.py": [
        (r"json, binascii, (.*)\n", rf"json, \1\n{PY2_BINASCII}\nfrom autobahntestsuite.py2 import B, S\n"),
        (r"(def asciiLogData.*\n)", r"\1   data = B(data)\n"),
        (r'ellipses = " \.\.\."\n   try:', 'ellipses = b" ..."\n   try:'),
        (r"p = ''\.join\(payload\)", "p = b''.join(payload)"),
        (r"open\((.*), 'w'\)", r"open(\1, 'w', encoding='utf-8')"),
        (r"(% \(c\[0\], case\[c\[0\]\], c\[1\]\)\))\.encode\(.*\)\)", r"\1)"),
        (r"\bll\.encode\(.utf-8.\)\.decode\(.latin-1.\)", "ll"),
        (r"(separators = \(',', ': '\))\)", r"\1, default=S)"),
        (r"self\.runCase\.onPong\(payload\)", "self.runCase.onPong(S(payload))"),
        (r"self\.runCase\.onMessage\(msg, binary\)", "self.runCase.onMessage(S(msg), binary)"),
        (r"   MAX_WIRE_LOG_DATA = 256\n", lambda match: match[0] + SHIM),
    ],
}


def main(sdists: Path, site: Path) -> None:
    for name, version in VERSIONS.items():
        unpack(sdists / f"{name}-{version}.tar.gz", name, site)
    suite = site / SUITE
    for path in suite.glob("*.py"):
        if path.name not in KEPT:
            path.unlink()
    version = VERSIONS[SUITE]
    # Before the translation: 2to3 makes imports relative only in what it can see is a package.
    (suite / "__init__.py").write_text(f'version = __version__ = "{version}"\n')
    sources = [suite / name for name in sorted(KEPT)] + sorted((suite / "case").glob("*.py"))
    translate(sources)
    for path in sources:
        edit(path, lambda text: mend_literals(text, in_case=path.parent.name == "case"))
    for name, pairs in EDITS.items():
        edit(suite / name, lambda text: substitute(text, pairs, name))
    edit(site / LIBRARY / "websocket" / "protocol.py", mend_library, encoding="utf-8")
    (suite / "py2.py").write_text(PY2)
    (suite / "__main__.py").write_text(MAIN)


def unpack(sdist: Path, package: str, site: Path) -> None:
    """Replaces `site/package` by the package of that name in the source distribution."""
    with tarfile.open(sdist) as archive:
        # Debian 12's Python has no filters yet; pip has checked the archive's hash.
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(sdist.parent)
    target = site / package
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(sdist.parent / sdist.name.removesuffix(".tar.gz") / package, target)


def translate(sources: list[Path]) -> None:
    """2to3 over sources read as Latin-1: a byte of a literal becomes the code point of the same value."""
    for path in sources:
        edit(path, lambda text: "# coding=latin-1\n" + re.sub(r"(?m)^#\s*coding\s*=.*\n", "", text))
    fixers = [word for fixer in FIXERS for word in ("-f", fixer)]
    command = [sys.executable, "-W", "ignore", "-m", "lib2to3", "--write", "--nobackups", *fixers, *map(str, sources)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"2to3 failed:\n{done.stderr}")


def mend_literals(text: str, in_case: bool) -> str:
    """What every file needs and 2to3 cannot know: which strings are bytes."""
    text = text.replace("(object, Case", "(Case")
    text = re.sub(r"(?i)\.encode\((['\"])utf-?8\1\)", '.encode("utf-8").decode("latin-1")', text)
    return re.sub(r"(?m)^import binascii$", PY2_BINASCII, text) if in_case else text


def mend_library(text: str) -> str:
    pairs = [(r"payload_len / len\(payload\)", "payload_len // len(payload)")]
    return substitute(text, pairs, "protocol.py")


def substitute(text: str, pairs: list, name: str) -> str:
    for pattern, replacement in pairs:
        text, count = re.subn(pattern, replacement, text)
        if count == 0:
            sys.exit(f"{name}: nothing matches {pattern!r}; is this {SUITE} {VERSIONS[SUITE]}?")
    return text


def edit(path: Path, change, encoding: str = "latin-1") -> None:
    path.write_text(change(path.read_text(encoding)), encoding)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
