"""An echo server on Autobahn and Twisted: one process, or PROCESSES of them that share the port."""

import contextlib
import os
import signal
import socket
import sys


def serve(listener):
    # Importing it makes the reactor, whose epoll must not be shared: so not before the fork.
    import echo

    echo.serve(listener)


def supervise(count, run):
    """Runs so many processes and hands them the signal to stop; when one ends by itself, all do, and it is named."""
    children = {fork(run) for _ in range(count)}
    is_stopped = False

    def stop_all(*_):
        nonlocal is_stopped
        is_stopped = True
        for pid in children:
            # A signal may come before the one that was waited for is out of the set.
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)

    for signum in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signum, stop_all)
    failure = None
    while children:
        pid, status = os.wait()
        children.remove(pid)
        if not is_stopped:
            failure = f"process {pid} ended by itself: {describe(status)}"
        stop_all()
    return failure


def describe(status):
    if os.WIFSIGNALED(status):
        return f"signal {os.WTERMSIG(status)}"
    return f"status {os.WEXITSTATUS(status)}"


def fork(run):
    pid = os.fork()
    if pid == 0:
        run()
        os._exit(0)
    return pid


def main():
    host = os.environ.get("HOST", "127.0.0.1")
    port = int(os.environ.get("PORT", "3334"))
    processes = int(os.environ.get("PROCESSES", "1"))
    # Bound before the fork, so that every process accepts from the same queue.
    listener = socket.create_server((host, port), backlog=4096)
    listener.setblocking(False)

    if processes > 1:
        sys.exit(supervise(processes, lambda: serve(listener)))
    else:
        serve(listener)


if __name__ == "__main__":
    main()
