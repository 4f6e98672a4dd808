"""Parts of `infra/release`: the functions' names, the check of scores, the bill of materials, and digests."""

import hashlib
import json
import platform
import subprocess
import sys
import tomllib
from pathlib import Path

from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.license import LicenseExpression
from cyclonedx.output.json import JsonV1Dot6
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL

TOLERANCE = 1e-9  # of `expected_scores.json`, which other libraries made


def functions() -> list[str]:
    """The programs of the crate of functions."""
    manifest = tomllib.loads(Path("functions/Cargo.toml").read_text())
    return [program["name"] for program in manifest["bin"]]


def run(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([root / "bin" / "dataperf", *arguments], cwd=root, capture_output=True, text=True, check=False)


def check_scores(root: Path) -> None:
    """Scores each submission of the demo whose score is known, and tries the closed division."""
    n, problems = 0, []
    for path in sorted(root.glob("demo/*/expected_scores.json")):
        benchmark = path.parent.name
        dataset = f"frozen/{benchmark}"
        imported = run(root, "dataset", "import", benchmark, "--from", f"demo/{benchmark}", "--out", dataset)
        if imported.returncode != 0:
            problems.append(f"{benchmark} can't be imported: {imported.stderr}")
            continue
        for file, expected in json.loads(path.read_text())["scored"].items():
            leaderboard, artifact = file.split("/")[0], f"demo/{benchmark}/submissions/{file}"
            scored = run(root, "score", benchmark, "--leaderboard", leaderboard, "--dataset", dataset, artifact, "--format", "json")
            n += 1
            if scored.returncode != 0 or abs(json.loads(scored.stdout)["score"] - expected["score"]) > TOLERANCE:
                problems.append(f"{benchmark} {file}: {scored.stdout}{scored.stderr}, expected {expected['score']}")
    probe = run(root, "closed", "probe", "--here")
    is_confined = platform.system() == "Linux" and platform.machine() == "x86_64"
    if is_confined != (probe.returncode == 0) or not (is_confined or "on Linux on x86_64 only" in probe.stderr):
        problems.append(f"`dataperf closed probe --here` ends with {probe.returncode}: {probe.stderr}")
    if problems:
        sys.exit("\n".join(problems))
    print(f"{n} scores are the expected ones")


def bill_of_materials(metadata: dict) -> str:
    """The packages that the programs are made of, without those that only tests and build scripts need, as CycloneDX 1.6."""
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    waiting = [package["id"] for package in metadata["packages"] if package["name"] in ("dataperf-cli", "dataperf-functions")]
    reached = set(waiting)
    while waiting:
        for dependency in nodes[waiting.pop()]["deps"]:
            is_normal = any(kind["kind"] is None for kind in dependency["dep_kinds"])
            if is_normal and dependency["pkg"] not in reached:
                reached.add(dependency["pkg"])
                waiting.append(dependency["pkg"])
    checksums = {
        (package["name"], package["version"]): package.get("checksum") for package in tomllib.loads(Path("Cargo.lock").read_text())["package"]
    }
    bom, components = Bom(), {}
    for package_id in sorted(reached):
        package = packages[package_id]
        name, version = package["name"], package["version"]
        checksum = checksums.get((name, version))
        url = PackageURL("cargo", name=name, version=version)
        components[package_id] = Component(
            type=ComponentType.LIBRARY,
            name=name,
            version=version,
            purl=url,
            bom_ref=str(url),
            licenses=[LicenseExpression(package["license"].replace("/", " OR "))] if package["license"] else [],
            hashes=[HashType(alg=HashAlgorithm.SHA_256, content=checksum)] if checksum else [],
        )
        bom.components.add(components[package_id])
    for package_id, component in components.items():
        needs = [components[dependency["pkg"]] for dependency in nodes[package_id]["deps"] if dependency["pkg"] in components]
        bom.register_dependency(component, needs)
    text = JsonV1Dot6(bom).output_as_string(indent=1)
    if fault := JsonStrictValidator(SchemaVersion.V1_6).validate_str(text):
        sys.exit(f"the bill of materials is not CycloneDX: {fault}")
    return text


def main() -> None:
    match sys.argv[1:]:
        case ["functions"]:
            print("\n".join(functions()))
        case ["scores", root]:
            check_scores(Path(root))
        case ["sbom"]:
            print(bill_of_materials(json.load(sys.stdin)))
        case ["digests"]:
            for path in sorted(Path.cwd().iterdir()):
                print(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}")


if __name__ == "__main__":
    main()
