"""An echo server on Autobahn and Twisted: one process, or PROCESSES of them that share the port."""

import os
import signal
import socket


def serve(listener):
    # Importing it makes the reactor, whose epoll must not be shared: so not before the fork.
    import echo

    echo.serve(listener)


def supervise(count, run):
    """Runs so many processes and hands them the signal to stop; when one ends by itself, all do."""
    children = {fork(run) for _ in range(count)}

    def stop_all(*_):
        for pid in children:
            os.kill(pid, signal.SIGTERM)

    for signum in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signum, stop_all)
    while children:
        pid, _ = os.wait()
        children.remove(pid)
        stop_all()


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
        supervise(processes, lambda: serve(listener))
    else:
        serve(listener)


if __name__ == "__main__":
    main()
