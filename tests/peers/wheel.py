#!/usr/bin/env python3
"""Build the Python package's wheel with the commands that its README has, install it into a fresh environment, and run its tests there."""

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
    """The commands that build and install the wheel."""
    [command] = [block.strip() for block in re.findall(r"^```sh\n(.*?)^```$", readme, flags=re.MULTILINE | re.DOTALL) if "pip wheel" in block]
    return command


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", required=True, type=Path)
    parser.add_argument("--bin", required=True, type=Path, help="where `dataperf` and the functions are")
    parser.add_argument("--tests", required=True, type=Path, help="a Python with what the tests import: NumPy and pandas")
    args = parser.parse_args()
    checks, package = Checks(), args.root / "python"
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        command = documented((package / "README.md").read_text()).replace("dist", str(scratch / "dist"))
        command = command.replace("../target/release/dataperf", str(args.bin / "dataperf"))
        venv.create(scratch / "fresh", with_pip=True)
        paths = [scratch / "fresh" / "bin", os.environ["PATH"]] # nothing names the command
        env = {name: value for name, value in os.environ.items() if not name.startswith(("DATAPERF_", "PYTHONPATH"))}
        env |= {"PATH": ":".join(map(str, paths)), "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        ran = subprocess.run(["bash", "-c", f"set -e\n{command}"], cwd=package, env=env, capture_output=True, text=True, check=False)
        checks("the documented commands build the wheel and install it", ran.returncode == 0, ran.stderr[-2000:])
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
