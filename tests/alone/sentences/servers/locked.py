"""An HTTP server that holds a lock for ten milliseconds in each answer, and sleeps meanwhile: locked.py PORT."""

import http.server
import sys
import threading
import time

LOCK = threading.Lock()


class Locked(http.server.BaseHTTPRequestHandler):
    """Answers GET, on connections that stay."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        with LOCK:
            time.sleep(0.01)
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    """A thread for each connection."""

    daemon_threads = True
    request_queue_size = 128


if __name__ == "__main__":
    Server(("127.0.0.1", int(sys.argv[1])), Locked).serve_forever()
