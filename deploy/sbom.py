#!/usr/bin/env python3
"""What throng is made of, as a CycloneDX 1.5 bill of materials (ECMA-424) on standard output.

Of the crates: what `cargo metadata` resolves from Cargo.lock for the program on Linux, without what only tests and
benchmarks need; build scripts and macros are in it, for they run when throng is built. Of JavaScript: what is bundled into
the pages (crates/report/page). C sources, SQLite's and Zstandard's, are part of the crates that carry them. The same sources
give the same bytes: there is no time in it, and its number comes from its contents.
"""

import base64
import json
import re
import subprocess
import sys
import tomllib
import uuid
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = "throng"
PLATFORM = "x86_64-unknown-linux-gnu"
PAGE = ROOT / "crates/report/page/package-lock.json"
# What the pages' bundle starts from; the other packages there build it.
BUNDLED = "echarts"


def main() -> None:
    components, edges = crates()
    more, more_edges = scripts()
    program = next(component for component in components if component["name"] == PROGRAM)
    components.remove(program)
    program["type"] = "application"
    edges[program["bom-ref"]] += [more[0]["bom-ref"]]
    bom = {
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": program, "properties": [{"name": "throng:platform", "value": PLATFORM}]},
        "components": sorted(components + more, key=lambda component: component["bom-ref"]),
        "dependencies": [
            {"ref": ref, "dependsOn": sorted(on)} for ref, on in sorted((edges | more_edges).items())
        ],
    }
    number = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(bom, sort_keys=True))
    json.dump({**bom, "serialNumber": f"urn:uuid:{number}"}, sys.stdout, indent=2)
    print()


def crates() -> tuple[list[dict], dict[str, list[str]]]:
    command = ["cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", PLATFORM]
    metadata = json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout)
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    locked = tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    checksums = {(package["name"], package["version"]): package.get("checksum") for package in locked}
    start = next(id for id in metadata["workspace_members"] if packages[id]["name"] == PROGRAM)
    built = what_is_built()
    used, waiting = {}, [start]
    while waiting:
        id = waiting.pop()
        if id not in used:
            needed = [dep["pkg"] for dep in nodes[id]["deps"] if any(kind["kind"] != "dev" for kind in dep["dep_kinds"])]
            used[id] = [dep for dep in needed if (packages[dep]["name"], packages[dep]["version"]) in built]
            waiting += used[id]
    ref = {id: purl(packages[id]) for id in used}
    components = [component(packages[id], ref[id], checksums) for id in used]
    return components, {ref[id]: [ref[dep] for dep in on] for id, on in used.items()}


def what_is_built() -> set[tuple[str, str]]:
    """Names and versions: the metadata has those of features, too, that nobody asks for."""
    command = ["cargo", "tree", "--locked", "--package", PROGRAM, "--target", PLATFORM, "--edges", "normal,build"]
    command += ["--prefix", "none", "--format", "{p}"]
    lines = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    return {(line.split(" ")[0], line.split(" ")[1].removeprefix("v")) for line in lines if line}


def purl(package: dict) -> str:
    return f"pkg:cargo/{package['name']}@{package['version']}"


def component(package: dict, ref: str, checksums: dict) -> dict:
    described = {"type": "library", "bom-ref": ref, "name": package["name"], "version": package["version"], "purl": ref}
    if package["license"]:
        # Cargo still takes the slash of old for OR.
        described["licenses"] = [{"expression": re.sub(r"\s*/\s*", " OR ", package["license"])}]
    if checksum := checksums.get((package["name"], package["version"])):
        described["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    if package["repository"]:
        described["externalReferences"] = [{"type": "vcs", "url": package["repository"]}]
    return described


def scripts() -> tuple[list[dict], dict[str, list[str]]]:
    """What is bundled, first of all what the bundle starts from."""
    locked = json.loads(PAGE.read_text())["packages"]
    names, components, edges = [BUNDLED], [], {}
    for name in names:
        package = locked[f"node_modules/{name}"]
        on = list(package.get("dependencies", {}))
        names += [other for other in on if other not in names]
        algorithm, digest = package["integrity"].split("-", 1)
        ref = f"pkg:npm/{name}@{package['version']}"
        components.append({
            "type": "library",
            "bom-ref": ref,
            "name": name,
            "version": package["version"],
            "purl": ref,
            "licenses": [{"expression": package["license"]}],
            "hashes": [{"alg": algorithm.replace("sha", "SHA-"), "content": base64.b64decode(digest).hex()}],
        })
        edges[ref] = [f"pkg:npm/{other}@{locked[f'node_modules/{other}']['version']}" for other in on]
    return components, edges


if __name__ == "__main__":
    main()
