#!/usr/bin/env python3
"""The AWS command line, imported once and forked for each call: its start is most of what a call takes.

Usage: aws_server.py SOCKET
"""

import json
import os
import signal
import socket
import sys

import awscli.clidriver


def answer(connection: socket.socket) -> None:
    """Runs one command in this process: its arguments and environment, and where its output goes."""
    said, descriptors, _, _ = socket.recv_fds(connection, 1 << 20, 3)
    arguments, environment = json.loads(said)
    directory, *outputs = descriptors
    os.fchdir(directory)
    for number, descriptor in zip((1, 2), outputs):
        os.dup2(descriptor, number)
    own = os.environ["AWS_DATA_PATH"]  # made by the import, for what describes the services
    os.environ.clear()
    os.environ.update(environment | {"AWS_DATA_PATH": own})
    sys.argv = ["aws", *arguments]
    try:
        code = awscli.clidriver.main()
    except SystemExit as exit:
        code = exit.code
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    connection.sendall(str(code).encode())


if __name__ == "__main__":
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the forks
    server = socket.socket(socket.AF_UNIX)
    server.bind(sys.argv[1])
    server.listen()
    while True:
        connection, _ = server.accept()
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            answer(connection)
            os._exit(0)
        connection.close()
