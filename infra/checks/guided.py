"""Checks that `sam deploy --guided`, answered with Enter alone, reaches the point where it needs an AWS account.

Usage: guided.py PROJECT

Runs the real `sam` on a copy of the project in a pseudo-terminal, where it asks as it asks a person.
"""

import os
import pty
import shutil
import signal
import sys
import tempfile
from pathlib import Path

# Before this line `sam` has asked everything; after it, it asks AWS.
END_OF_PROMPTS = "Looking for resources needed for deployment"
# Every prompt ends so: `Stack Name [dataperf]: `, `Save arguments to configuration file [Y/n]: `.
PROMPT = "]: "
MAX_PROMPTS = 200


def answer_with_enter(project):
    """What `sam deploy --guided` prints up to the end of its prompts, or up to its own end."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(project)
        os.execvp("sam", ["sam", "deploy", "--guided"])
    printed, n_answered = "", 0
    try:
        while END_OF_PROMPTS not in printed and n_answered < MAX_PROMPTS:
            try:
                chunk = os.read(terminal, 65536)
            except OSError:  # the program has ended
                break
            if not chunk:
                break
            printed += chunk.decode(errors="replace")
            if printed.endswith(PROMPT):
                os.write(terminal, b"\n")
                n_answered += 1
                printed += "\n"
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(terminal)
    return printed


def main(project):
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        for name in ("template.yaml", "samconfig.toml"):
            shutil.copy(project / name, copy)
        shutil.copytree(project / "infra", copy / "infra")
        printed = answer_with_enter(copy)
    if END_OF_PROMPTS not in printed:
        sys.exit(f"`sam deploy --guided` stops before it needs an account:\n{printed[-2000:]}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
