#!/usr/bin/env python3
"""Run the test of what programs write and how much fuel they use on processors that this machine does not have.

QEMU emulates whole machines, instruction by instruction and without the virtualization of this processor: a kernel of Debian starts on each, from memory, with the
test and the command that cargo has built and the files that they read, at the places that they have here. The test holds every byte and every unit of fuel against
the numbers in cli/tests/closed/determinism.rs, under the filters of system calls and the kernel's limits, without which no program is run; the escape drills say that
these hold there as well.
"""

import argparse
import json
import re
import stat
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from checks import Checks

# the package names the newest of its kind
KERNEL = "linux-image-cloud-amd64"
SHELL = "busybox-static"
# each with flags of /proc/cpuinfo that it has and that it has not
MODELS = {
    "Nehalem": (["sse4_2", "popcnt"], ["avx", "avx2", "fma", "bmi1", "avx512f"]),
    "Opteron_G1": (["sse2"], ["ssse3", "sse4_1", "sse4_2", "popcnt", "avx", "fma", "avx512f"]),
    "Haswell": (["avx", "avx2", "fma", "bmi1"], ["avx512f"]),
}
# outputs and fuel; and what the filters and limits of the kernel there hold, by themselves and without each other
TESTS = "determinism:: drills:: process::it_has_no_environment"
N_TESTS = 11
# what the test reads of the project
FILES = ["demo/acquisition", "demo/debugging", "demo/selection", "demo/speech-selection", "examples/closed"]
MEMORY_MIB = 4096
PATIENCE_SECONDS = 3600
INIT = """#!/bin/busybox sh
/bin/busybox mkdir -p /proc /sys /dev /tmp
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t devtmpfs devtmpfs /dev
/bin/busybox grep -m 1 '^vendor_id' /proc/cpuinfo
/bin/busybox grep -m 1 '^model name' /proc/cpuinfo
/bin/busybox grep -m 1 '^flags' /proc/cpuinfo
cd {directory}
DATAPERF_RUNS={n_runs} {test} --nocapture --test-threads=1 {tests}
echo "ended with the status $?"
/bin/busybox poweroff -f
"""


class Archive:
    """An archive of files in the form that the kernel unpacks into memory (cpio, "newc")."""

    def __init__(self) -> None:
        self.parts, self.names = [], set()

    def add(self, path: str, mode: int, content: bytes = b"", device: tuple = (0, 0)) -> None:
        name = path.strip("/")
        if name in self.names:
            return
        parent = str(Path(name).parent)
        if parent != "." and name != "TRAILER!!!":
            self.add(parent, stat.S_IFDIR | 0o755)
        self.names.add(name)
        encoded = name.encode() + b"\0"
        fields = [len(self.names), mode, 0, 0, 1, 0, len(content), 0, 0, *device, len(encoded), 0]
        head = b"070701" + b"".join(b"%08X" % field for field in fields) + encoded
        for part in (head, content):
            self.parts.append(part + b"\0" * (-len(part) % 4))

    def file(self, path: Path, content: bytes = None) -> None:
        """A file at the place that it has on this machine, as it is here or with other content."""
        self.add(str(path), stat.S_IFREG | 0o755, path.read_bytes() if content is None else content)

    def whole(self) -> bytes:
        self.add("TRAILER!!!", 0)
        return b"".join(self.parts)


def from_debian(package: str, into: Path) -> Path:
    """A package's files, unpacked into a folder and not installed."""
    folder = into / package
    if not folder.exists():
        name = package
        if package == KERNEL:
            depends = subprocess.run(["apt-cache", "depends", package], capture_output=True, text=True, check=True).stdout
            name = re.search(r"Depends: (linux-image-\S+)", depends)[1]
        with tempfile.TemporaryDirectory() as scratch:
            subprocess.run(["apt-get", "download", "-q", name], cwd=scratch, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            (archive,) = Path(scratch).glob("*.deb")
            subprocess.run(["dpkg-deb", "--extract", archive, f"{folder}.new"], check=True)
        Path(f"{folder}.new").rename(folder)
    return folder


def built(root: Path) -> tuple:
    """Has cargo build the test and the command that it starts; where both are."""
    command = ["cargo", "test", "--workspace", "--test", "closed", "--no-run", "--message-format", "json"]
    told = subprocess.run(command, cwd=root, stdout=subprocess.PIPE, text=True, check=True).stdout
    artifacts = [json.loads(line) for line in told.splitlines() if line.startswith("{")]
    places = {(*artifact["target"]["kind"], artifact["target"]["name"]): artifact["executable"] for artifact in artifacts if artifact.get("executable")}
    return Path(places["test", "closed"]), Path(places["bin", "dataperf"])


def libraries(program: Path) -> list:
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    return [Path(path) for path in re.findall(r"(/\S+) \(0x", listed)]


def initramfs(root: Path, test: Path, command: Path, shell: Path, n_runs: int, scratch: Path) -> bytes:
    archive = Archive()
    init = INIT.format(directory=root / "cli", test=test, n_runs=n_runs, tests=TESTS)
    archive.add("init", stat.S_IFREG | 0o755, init.encode())
    archive.add("bin/busybox", stat.S_IFREG | 0o755, shell.read_bytes())
    archive.add("dev/console", stat.S_IFCHR | 0o600, device=(5, 1))
    archive.add("tmp", stat.S_IFDIR | 0o777)
    archive.add("etc/hostname", stat.S_IFREG | 0o644, b"emulated\n")  # which a drill reads where nothing holds it
    archive.add(str(root / "cli"), stat.S_IFDIR | 0o755)
    for program in (test, command):
        stripped = scratch / "stripped"
        subprocess.run(["strip", "-o", stripped, program], check=True)
        archive.file(program, stripped.read_bytes())
        for library in libraries(program):
            archive.file(library)
    for name in FILES:
        for path in sorted((root / name).rglob("*")):
            if path.is_file():
                archive.file(path)
    return archive.whole()


def start(model: str, kernel: Path, initrd: Path) -> tuple:
    """Starts the machine, and tells what its test says; what it wrote to its console, and how many seconds that took."""
    command = [
        "qemu-system-x86_64", "-accel", "tcg", "-cpu", model, "-smp", "2", "-m", str(MEMORY_MIB), "-kernel", kernel, "-initrd", initrd,
        "-append", "console=ttyS0 quiet loglevel=1 panic=-1", "-no-reboot", "-display", "none", "-serial", "stdio", "-monitor", "none", "-nic", "none",
    ]
    began, console = time.monotonic(), ""
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace") as machine:
        late = threading.Timer(PATIENCE_SECONDS, machine.kill)
        late.start()
        for line in machine.stdout:
            console += line.rstrip("\r\n") + "\n"
            if "times the same" in line:
                print(f"         {model} after {time.monotonic() - began:.0f} s: {line.strip()}", flush=True)
        late.cancel()
    return console, time.monotonic() - began


def holds(checks: Checks, model: str, console: str, seconds: float) -> None:
    """What one machine has said: that it is what it should be, and that every test has passed there."""
    field = lambda name: (re.search(rf"^{name}\s*: (.*)$", console, flags=re.MULTILINE) or ["", ""])[1]
    flags, (has, lacks) = field("flags").split(), MODELS[model]
    is_it = all(flag in flags for flag in has) and not any(flag in flags for flag in lacks)
    what = f"{model} is of {field('vendor_id')}, `{field('model name')}`, with {' '.join(has)} and without {' '.join(lacks)}"
    checks(what, is_it, "" if is_it else " ".join(flags) or console[-3000:])
    passed = f"test result: ok. {N_TESTS} passed; 0 failed" in console and "ended with the status 0\n" in console
    checks(f"{model}: every byte and every unit of fuel is that of the test, and the drills hold", passed, f"{seconds:.0f} s" if passed else console[-6000:])


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", required=True, type=lambda path: Path(path).resolve())
    parser.add_argument("--packages", required=True, type=Path, help="where packages of Debian are unpacked, and stay")
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS))
    parser.add_argument("--runs", type=int, default=1, help="how often each program is run again")
    args = parser.parse_args()
    checks = Checks()
    args.packages.mkdir(parents=True, exist_ok=True)
    (kernel,) = (from_debian(KERNEL, args.packages) / "boot").glob("vmlinuz-*")
    shell = from_debian(SHELL, args.packages) / "bin" / "busybox"
    test, command = built(args.root)
    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch)
        initrd = scratch / "initrd"
        initrd.write_bytes(initramfs(args.root, test, command, shell, args.runs, scratch))
        for model in args.models:
            holds(checks, model, *start(model, kernel, initrd))
    print(f"{checks.n - len(checks.failed)} of {checks.n} hold")
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main())
