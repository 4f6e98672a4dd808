"""Checks that a built function runs on Amazon Linux 2023: the processor it is for and the C library it needs.

Usage: binary.py BOOTSTRAP x86_64|arm64
"""

import re
import sys
from pathlib import Path

ELF_MACHINES = {"x86_64": 62, "arm64": 183}
AL2023_GLIBC = (2, 34)


def inspect(path, architecture):
    """A sentence about the binary; raises ValueError when Lambda could not run it."""
    binary = Path(path).read_bytes()
    if binary[:6] != b"\x7fELF\x02\x01":
        raise ValueError(f"{path} is no 64-bit little-endian ELF file")
    machine = int.from_bytes(binary[18:20], "little")
    if machine != ELF_MACHINES[architecture]:
        raise ValueError(f"{path} is for ELF machine {machine}, {architecture} is {ELF_MACHINES[architecture]}")
    versions = {tuple(map(int, found.split(b"."))) for found in re.findall(rb"GLIBC_(\d+\.\d+)", binary)}
    needed = max(versions, default=(0, 0))
    if needed > AL2023_GLIBC:
        raise ValueError(f"{path} needs glibc {needed[0]}.{needed[1]}, provided.al2023 has {AL2023_GLIBC[0]}.{AL2023_GLIBC[1]}")
    return f"{architecture}, glibc {needed[0]}.{needed[1]} or later, {len(binary) / 1e6:.1f} MB"


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[2] not in ELF_MACHINES:
        sys.exit(__doc__)
    try:
        print(inspect(sys.argv[1], sys.argv[2]))
    except ValueError as error:
        sys.exit(str(error))
