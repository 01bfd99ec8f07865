"""The parent of all warm trainers of a test run: imports the libraries once instead of once per service.

    python warm_parent.py SOCKET -m trainer warm

A client (`warm_client.py`, in place of `python -m trainer warm`) connects to the Unix socket and sends its working
directory and environment as JSON with its standard streams. A fork then serves as that warm trainer. This process
ends when its standard input ends. The arguments after SOCKET show in a list of processes what the forks are.
"""

import fcntl
import json
import os
import select
import signal
import socket
import sys

from trainer import preload, warm


def become(order: dict, streams: list[int]) -> None:
    """Turns the fork into a warm trainer; does not return."""
    code = 1
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for target, stream in enumerate(streams):
            os.dup2(stream, target)
            os.close(stream)
        os.environ.clear()
        os.environ.update(order["env"])
        os.environ.update(preload.SINGLE_THREADED)
        os.chdir(order["cwd"])
        code = warm.serve()
    finally:
        os._exit(code)


def main() -> None:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(sys.argv[1])
    # Clients may connect during the imports.
    listener.listen(64)
    assert preload.load(warm.MODULES)
    # The kernel then reaps the forks.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while 0 not in select.select([0, listener], [], [])[0]:
        connection, _ = listener.accept()
        # The length of the JSON comes with the streams.
        length, streams, _, _ = socket.recv_fds(connection, 4, 3)
        with connection.makefile("rb") as file:
            text = file.read(int.from_bytes(length, "big"))
        # A client that was killed may have sent a part, or nothing.
        order = json.loads(text) if len(streams) == 3 and text.endswith(b"}}") else None
        if order is not None and os.fork() == 0:
            # It keeps the connection open until it ends; a job that it forks, which may live longer, does not.
            listener.close()
            os.register_at_fork(after_in_child=connection.close)
            # A client that is killed takes it with it: SIGIO ends a process that does not handle it.
            fcntl.fcntl(connection, fcntl.F_SETOWN, os.getpid())
            fcntl.fcntl(connection, fcntl.F_SETFL, os.O_ASYNC)
            become(order, streams)
        for stream in streams:
            os.close(stream)
        connection.close()


main()
