#!/usr/bin/env python3
"""Build the Python package's wheel with the command that its README has, install it into a fresh environment, and run its tests there."""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from checks import Checks


def documented(readme: str) -> str:
    """The command that builds and installs the wheel."""
    [command] = [block.strip() for block in re.findall(r"^```sh\n(.*?)^```$", readme, flags=re.MULTILINE | re.DOTALL) if "maturin" in block]
    return command


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", required=True, type=Path)
    parser.add_argument("--bin", required=True, type=Path, help="where `dataperf` is with the cloud on one machine, which the wheel's does not have")
    parser.add_argument("--tests", required=True, type=Path, help="a Python with what the tests import: NumPy and pandas")
    parser.add_argument("--size", default="full", choices=["quick", "full"], help="quick: without optimisation, in a part of the time")
    args = parser.parse_args()
    checks, package = Checks(), args.root / "python"
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        command = documented((package / "README.md").read_text()).replace("dist", str(scratch / "dist"))
        if args.size == "quick":
            command = command.replace(" --release", "")
        venv.create(scratch / "fresh", with_pip=True)
        # pip is the fresh environment's, pipx this one's, and nothing names the command
        paths = [scratch / "fresh" / "bin", Path(sys.executable).parent, os.environ["PATH"]]
        env = {name: value for name, value in os.environ.items() if not name.startswith(("DATAPERF_", "PYTHONPATH"))}
        # of its own: the command there has no cloud, and would replace the one in `--bin`
        env["CARGO_TARGET_DIR"] = str(args.root / "target" / "wheel")
        env |= {"PATH": ":".join(map(str, paths)), "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        ran = subprocess.run(["bash", "-c", f"set -e\n{command}"], cwd=package, env=env, capture_output=True, text=True, check=False)
        checks("the documented command builds the wheel and installs it", ran.returncode == 0, ran.stderr[-2000:])
        if ran.returncode != 0:
            return 1
        [wheel] = (scratch / "dist").glob("dataperf-*.whl")
        print(f"{wheel.name}: {wheel.stat().st_size / 2**20:.1f} MiB")
        fresh = scratch / "fresh" / "bin" / "python"
        where = subprocess.run(
            [fresh, "-c", "import dataperf._command as it; print(it.__file__, it.program())"], env=env, cwd=scratch, capture_output=True, text=True, check=False
        )
        found = where.stdout.split()
        checks("package and command are the wheel's", len(found) == 2 and all(path.startswith(str(scratch / "fresh")) for path in found), where.stdout + where.stderr)
        # NumPy and pandas are not installed again: the tests' environment lends them
        lent = subprocess.run([args.tests, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], capture_output=True, text=True, check=True)
        (scratch / "fresh" / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages" / "lent.pth").write_text(lent.stdout)
        env["DATAPERF_CLOUD_COMMAND"] = str(args.bin / "dataperf")
        ran = subprocess.run([fresh, package / "tests" / "test_package.py"], env=env, cwd=scratch, capture_output=True, text=True, check=False)
        checks("the package's tests pass with the wheel", ran.returncode == 0, ran.stderr[-4000:])
        print(ran.stderr.strip().splitlines()[-1] if ran.stderr.strip() else "")
    print(f"{checks.n - len(checks.failed)} of {checks.n} hold")
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main())
