"""Writes one wheel: FOLDER OUT FACTS. It runs where the library `wheel` is installed, whose WheelFile keeps the record of hashes."""

import json
import sys
from pathlib import Path

from wheel.wheelfile import WheelFile


def main(staged: Path, out: Path, facts: dict) -> None:
    name = f"{facts['name']}-{facts['version']}"
    info, data = f"{name}.dist-info", f"{name}.data"
    with WheelFile(out / f"{name}-{facts['tag']}.whl", "w") as wheel:
        wheel.write(staged / "throng", f"{data}/scripts/throng")
        for folder, share in [("man", "man"), ("share", "throng")]:
            for file in sorted(path for path in (staged / folder).rglob("*") if path.is_file()):
                wheel.write(file, f"{data}/data/share/{share}/{file.relative_to(staged / folder)}")
        for licence in ["LICENSE-MIT", "LICENSE-APACHE"]:
            wheel.write(staged / "doc" / licence, f"{info}/licenses/{licence}")
        readme = (staged / "doc/README.md").read_text()
        wheel.writestr(f"{info}/METADATA", "\n".join(facts["metadata"]) + "\n\n" + readme)
        python, abi, platforms = facts["tag"].split("-")
        tags = "".join(f"Tag: {python}-{abi}-{platform}\n" for platform in platforms.split("."))
        head = "Wheel-Version: 1.0\nGenerator: throng\nRoot-Is-Purelib: false\n"
        wheel.writestr(f"{info}/WHEEL", head + tags)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), json.loads(sys.argv[3]))
