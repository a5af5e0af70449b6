"""The programs compared: how each is started, and how its work is counted.

A tool runs at a size, which means what it can be told: messages, seconds, or clients. Its cost is the slope between a
small and a large run, so that starting, connecting and ending cancel out.
"""

import atexit
import functools
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

HERE = Path(__file__).resolve().parent

ECHO_CLIENTS = 50
HTTP_CONNECTIONS = 50
HTTP2_CONNECTIONS, HTTP2_STREAMS = 10, 100
UNIX_CONNECTIONS = 10  # `autocannon -c 10 -S star.sock`, the benchmark of docs/logs/SEEDS.md
PACED_CLIENTS = 10_000
IDLE_HOLD_S = 3
K6_QUIET = ["--quiet", "--no-usage-report", "--summary-mode=disabled", "--address="]
RAW_BYTES = 33  # what throng sends, as wsdemo did
LOAD_TEST_WINDOW_S = 4
EVENTS_FILE = Path(tempfile.gettempdir()) / f"throng-bench-{os.getpid()}.parquet"


@dataclass(frozen=True)
class Program:
    """Something to run: named by an environment variable, or else found on the PATH by its own name."""

    name: str
    variable: str
    default: str | None

    def path(self) -> str | None:
        named = os.environ.get(self.variable) or self.default
        return shutil.which(named) if named else None

    def missing(self) -> str | None:
        """What to do about it, if it is not here."""
        return None if self.path() else f"set {self.variable}=…"


@dataclass(frozen=True)
class Tool(Program):
    """A client. `argv` takes a program, a URL and a size, `count` its output and the size."""

    sizes: tuple[int, int]
    argv: Callable[[str, str, int], list[str]]
    count: Callable[[str, int], float]
    env: Callable[[str, int], dict[str, str]] = lambda url, size: {}
    done: Callable[[str, int], bool] | None = None


@dataclass(frozen=True)
class Server(Program):
    """A server that echoes, and speaks websocket-bench's JSON protocol. `argv` takes a program and a port."""

    argv: Callable[[str, int], list[str]]


def throng(sizes: tuple[int, int], count: Callable[[dict], float], *words: str) -> Tool:
    """A throng verb and its flags, where `{}` stands for the size; `count` takes the results of a step."""
    return Tool(
        "throng", "THRONG", None, sizes,
        argv=lambda program, url, size: [
            program, *(word.replace("{}", str(size)) for word in words), "--threads=1", "--format=json", "--quiet", "--no-store", url
        ],
        count=lambda output, size: count(last_step(output)),
    )


def last_step(output: str) -> dict:
    """The results of throng's last step. What was not done in full has no price; who is idle receives nothing."""
    step = json.loads(output)["steps"][-1]
    counts = step["counts"]
    if counts.get("received") != counts.get("expected") or counts["connected"] < step["clients"]:
        raise ValueError(f"not all that was asked for came about: {counts}")
    return step


def received(step: dict) -> float:
    return step["counts"]["received"]


def websocket_bench(sizes: tuple[int, int], count: Callable[[int], float], *words: str) -> Tool:
    """Without --total-steps and with a limit of nothing it stops after the first step."""
    verb, *flags = words
    return Tool(
        "websocket-bench", "WEBSOCKET_BENCH", "websocket-bench", sizes,
        argv=lambda program, url, size: [
            program, verb, url, *(flag.replace("{}", str(size)) for flag in flags), "--limit-rtt=0s"
        ],
        count=lambda output, size: count(size),
    )


def k6(sizes: tuple[int, int], clients: Callable[[int], int], echoes: Callable[[int], int]) -> Tool:
    return Tool(
        "k6", "K6", "k6", sizes,
        argv=lambda program, url, size: [program, "run", *K6_QUIET, str(HERE / "k6.js")],
        count=lambda output, size: size,
        env=lambda url, size: {
            "URL": url, "VUS": str(clients(size)), "ECHOES": str(echoes(size)), "HOLD_MS": str(IDLE_HOLD_S * 1000),
            "K6_AUTO_EXTENSION_RESOLUTION": "false",
        },
    )


def load_test_windows(output: str) -> list[float]:
    return [float(rate) for rate in re.findall(r"Msg/sec: ([\d.]+)", output)]


# It never ends, and prints the rate of each window: its size is a number of windows.
LOAD_TEST = Tool(
    "µWebSockets load_test", "UWS_LOAD_TEST", "load_test", (1, 2),
    argv=lambda program, url, size: [
        "stdbuf", "-oL", program, str(ECHO_CLIENTS), "127.0.0.1", str(urlsplit(url).port), "0", "0", str(RAW_BYTES)
    ],
    count=lambda output, size: sum(load_test_windows(output)) * LOAD_TEST_WINDOW_S,
    done=lambda output, size: len(load_test_windows(output)) >= size,
)

THRONG_ECHO_RAW, THRONG_ECHO_JSON = (
    throng(
        (100_000, 500_000), received, "echo", f"--protocol={dialect}", f"--concurrent={ECHO_CLIENTS}",
        f"--step-size={ECHO_CLIENTS}", "--sample-size={}", "--total-steps=1"
    )
    for dialect in ("raw", "json")
)
# The same, writing every event down: what that costs, the log's thread included.
THRONG_ECHO_EVENTS = throng(
    (100_000, 500_000), received, "echo", "--protocol=raw", f"--concurrent={ECHO_CLIENTS}",
    f"--step-size={ECHO_CLIENTS}", "--sample-size={}", "--total-steps=1", f"--events={EVENTS_FILE}"
)
THRONG_ECHO_PLAIN = replace(THRONG_ECHO_RAW, name="throng without --events")
WEBSOCKET_BENCH_ECHO = websocket_bench(
    (20_000, 100_000), lambda size: size, "echo", f"--concurrent={ECHO_CLIENTS}", f"--step-size={ECHO_CLIENTS}",
    "--sample-size={}"
)
K6_ECHO = k6((20_000, 100_000), lambda size: ECHO_CLIENTS, lambda size: size // ECHO_CLIENTS)


# HttpArena's generator and its two questions: so many connections, each with one message under way, or 16.
ARENA_CLIENTS = 512


def throng_pipelined(depth: int, sizes: tuple[int, int]) -> Tool:
    return throng(
        sizes, received, "echo", "--protocol=raw", f"--clients={ARENA_CLIENTS}", f"--pipelining={depth}", "--sample-size={}"
    )


def gcannon(depth: int) -> Tool:
    """Its size is in seconds."""
    return Tool(
        "gcannon", "GCANNON", "gcannon", (1, 4),
        argv=lambda program, url, size: [
            program, url.replace("ws:", "http:", 1), "--ws", "--ws-msg", "x" * RAW_BYTES,
            "-c", str(ARENA_CLIENTS), "-t", "1", "-d", f"{size}s", "-p", str(depth),
        ],
        count=lambda output, size: int(re.search(r"(\d+) frames received", output)[1]),
    )


PIPELINED_TOOLS = {
    depth: (throng_pipelined(depth, sizes), gcannon(depth))
    for depth, sizes in ((1, (100_000, 500_000)), (16, (500_000, 3_000_000)))
}


def throng_broadcast(clients: int, sizes: tuple[int, int], *flags: str) -> Tool:
    return throng(
        sizes, received, "broadcast", f"--step-size={clients}", "--sample-size={}", "--total-steps=1", *flags
    )


def websocket_bench_broadcast(clients: int, sizes: tuple[int, int], *flags: str) -> Tool:
    return websocket_bench(
        sizes, lambda size: size * clients, "broadcast", f"--step-size={clients}", "--sample-size={}", *flags
    )


def at(place: str, tool: Tool) -> Tool:
    """The same tool, given the URL of another place on the server."""
    return replace(tool, argv=lambda program, url, size: tool.argv(program, url + place, size))


def bare_receives(clients: int, sizes: tuple[int, int]) -> Tool:
    """What stamps and bins every copy, and does nothing else: what is left is the kernel."""
    return Tool(
        "bare receives", "BARE_RECEIVES", None, sizes,
        argv=lambda program, url, size: [program, str(urlsplit(url).port), str(clients), str(size)],
        count=lambda output, size: int(output.split()[0]),
    )


# Clients, and a broadcast of each.
BROADCASTS = {
    clients: (
        throng_broadcast(clients, sizes, "--protocol=json"), bare_receives(clients, sizes),
        websocket_bench_broadcast(clients, theirs)
    )
    for clients, sizes, theirs in ((1000, (100, 1000), (40, 400)), (9000, (20, 120), (8, 48)))
}
# The flags of seed 003 in docs/logs/SEEDS.md, which both programs take.
CABLE_FLAGS = ["--server-type=actioncable", "--origin=http://0.0.0.0", "--payload-padding=200"]
CABLE_TOOLS = (
    at("cable", throng_broadcast(1000, (100, 1000), *CABLE_FLAGS)),
    at("cable", websocket_bench_broadcast(1000, (40, 400), *CABLE_FLAGS)),
)


def throng_paced_broadcast(clients: int, *flags: str, rate: int = 2000, seconds: tuple[int, int] = (2, 8)) -> Tool:
    """At a pace, because clients that hear more often would read several copies at once."""
    return throng(
        seconds, received, "broadcast", "--protocol=json", f"--clients={clients}", f"--rate={rate}", "--duration={}s",
        *flags
    )


# Each broadcast has ten copies: in one of a hundred rooms, or to everybody there is.
ROOM_TOOLS = (
    at("ws?room={room}", throng_paced_broadcast(1000, "--room-size=10")),
    replace(throng_paced_broadcast(10), name="throng, 10 clients without rooms"),
)
# The same broadcast to the same clients, as members of a room and as everybody.
ONE_ROOM_TOOLS = (
    at("ws?room={room}", throng_broadcast(1000, (100, 1000), "--protocol=json", "--room-size=1000")),
    replace(throng_broadcast(1000, (100, 1000), "--protocol=json"), name="throng without --room-size"),
)
# The same broadcasts to clients of which some are always away, and to clients that stay.
FLAP_TOOLS = tuple(
    replace(throng_paced_broadcast(1000, *flags, rate=200, seconds=(5, 20)), name=name)
    for name, flags in (("throng", ["--flap=10s..20s:2s"]), ("throng without --flap", []))
)
# One at a time, with pauses, so that none waits for another; nobody tries first, because bare sends begin with whoever is there.
THRONG_SPACED = throng(
    (PACED_CLIENTS, PACED_CLIENTS), received, "broadcast", "--protocol=json", "--clients={}", "--rate=5", "--duration=5s",
    "--no-preflight"
)

# Its clients say something once a minute, so nearly all of them are silent.
def throng_idle(*flags: str) -> Tool:
    return throng(
        (1000, 10_000), lambda step: step["clients"], "echo", *flags, "--clients={}", "--interval=1m",
        f"--duration={IDLE_HOLD_S}s"
    )


THRONG_IDLE = throng_idle("--protocol=raw")
# The same, each with a token of its own, or after a request that it keeps something of for its upgrade.
SIGNED_TOOLS = (
    throng_idle("--protocol=raw", "--jwt-secret=" + "k" * 32, "--token-in=query:token"),
    replace(THRONG_IDLE, name="throng without --jwt-secret"),
)
LOGIN_TOOLS = (
    throng_idle(f"--app={HERE / 'login.toml'}"), replace(THRONG_IDLE, name="throng without a login"),
)
# Everyone once a second, which is what its own lag is told of.
THRONG_PACED = throng(
    (PACED_CLIENTS, PACED_CLIENTS), received, "echo", "--protocol=raw", "--clients={}", "--interval=1s", "--duration=5s"
)
# The few echoes keep it alive for long enough after connecting that its memory is seen.
WEBSOCKET_BENCH_IDLE = websocket_bench(
    (1000, 10_000), lambda size: size, "echo", "--step-size={}", "--concurrent=1", "--sample-size=2000"
)
K6_IDLE = k6((100, 1000), lambda size: size, lambda size: 0)


def over_http(tool: Tool) -> Tool:
    """The same tool, given an http URL."""
    return replace(tool, argv=lambda program, url, size: tool.argv(program, url.replace("ws:", "http:", 1), size))


def throng_http(connections: int, *flags: str) -> Tool:
    return over_http(
        throng((100_000, 500_000), received, "http", f"--connections={connections}", "--amount={}", *flags)
    )


def oha(connections: int, *flags: str) -> Tool:
    return over_http(Tool(
        "oha", "OHA", "oha", (50_000, 250_000),
        argv=lambda program, url, size: [
            program, "--no-tui", "--output-format=json", f"-c{connections}", f"-n{size}", *flags, url
        ],
        count=lambda output, size: json.loads(output)["statusCodeDistribution"]["200"],
    ))


def autocannon(connections: int) -> Tool:
    return over_http(Tool(
        "autocannon", "AUTOCANNON", "autocannon", (20_000, 100_000),
        argv=lambda program, url, size: [program, "-n", "-j", f"-c{connections}", f"-a{size}", url],
        count=lambda output, size: json.loads(output.splitlines()[-1])["2xx"],
    ))


def over_unix_socket(tool: Tool, flag: str) -> Tool:
    """The same tool, given nginx's unix socket by this flag of its."""
    return replace(tool, argv=lambda program, url, size: [
        *tool.argv(program, url, size), f"{flag}={unix_socket(urlsplit(url).port)}"
    ])


# Its size is in seconds.
WRK = over_http(Tool(
    "wrk", "WRK", "wrk", (1, 4),
    argv=lambda program, url, size: [program, "-t1", f"-c{HTTP_CONNECTIONS}", f"-d{size}s", url],
    count=lambda output, size: int(re.search(r"(\d+) requests in", output)[1]),
))
HTTP_TOOLS = (throng_http(HTTP_CONNECTIONS), WRK, oha(HTTP_CONNECTIONS), autocannon(HTTP_CONNECTIONS))
H2LOAD = over_http(Tool(
    "h2load", "H2LOAD", "h2load", (100_000, 500_000),
    argv=lambda program, url, size: [
        program, "-t1", f"-c{HTTP2_CONNECTIONS}", f"-m{HTTP2_STREAMS}", f"-n{size}", url
    ],
    count=lambda output, size: int(re.search(r"(\d+) succeeded", output)[1]),
))
HTTP2_TOOLS = (
    throng_http(HTTP2_CONNECTIONS, "--http2", f"--streams={HTTP2_STREAMS}"),
    H2LOAD,
    oha(HTTP2_CONNECTIONS, "--http2", f"-p{HTTP2_STREAMS}"),
)
# wrk knows no unix sockets.
UNIX_TOOLS = (
    over_unix_socket(throng_http(UNIX_CONNECTIONS), "--socketPath"),
    over_unix_socket(oha(UNIX_CONNECTIONS), "--unix-socket"),
    over_unix_socket(autocannon(UNIX_CONNECTIONS), "--socketPath"),
)

# Answers of `throng serve` in OpenAI's form: a hundred events, 10 ms apart. Sizes are connections, with as many answers
# on each, so that both runs take as long, and what a tool costs each second cancels out. Twenty leave guidellm no CPU,
# and guidellm's start takes as much CPU time as tens of thousands of events.
STREAM_SIZES, STREAM_ANSWERS = (2, 12), 40


def with_answers(tool: Tool) -> Tool:
    """The same tool, given the number of answers to read."""
    return replace(tool, argv=lambda program, url, size: [
        *tool.argv(program, url, size), f"--amount={STREAM_ANSWERS * size}"
    ])


THRONG_STREAM = with_answers(over_http(throng(
    STREAM_SIZES, lambda step: step["counts"]["events"], "stream", "--api=openai", "--model=mock", "--prompt=Say hello.",
    "--connections={}"
)))


def guidellm_run(program: str, url: str, size: int) -> list[str]:
    """Prints its report, a file, in place of its log. Prompts are lines of a text file, of which each is used once."""
    folder = Path(tempfile.mkdtemp(prefix="throng-bench-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    prompts, report = folder / "prompts.txt", folder / "report.json"
    prompts.write_text("Say hello.\n" * STREAM_ANSWERS * size)
    return [
        "sh", "-c", f'"$@" >/dev/null 2>&1 && cat {report}', "sh", program, "run", "--disable-console",
        "--backend", f"kind=openai_http,target={url.rstrip('/')},model=mock,validate_backend=false",
        "--data", f"kind=text_file,path={prompts}", "--profile", f"kind=concurrent,streams={size}",
        "--constraint", f"kind=max_requests,count={STREAM_ANSWERS * size}", "--output", f"kind=json,path={report}",
    ]


def guidellm_events(output: str, size: int) -> int:
    answers = json.loads(output)["benchmarks"][0]["requests"]["successful"]
    if len(answers) != STREAM_ANSWERS * size:
        raise ValueError(f"{len(answers)} answers of {STREAM_ANSWERS * size}")
    return sum(answer["info"]["timings"]["token_iterations"] for answer in answers)


GUIDELLM = over_http(Tool(
    "guidellm", "GUIDELLM", "guidellm", STREAM_SIZES, argv=guidellm_run, count=guidellm_events,
    env=lambda url, size: {"GUIDELLM__MAX_WORKER_PROCESSES": "1"},
))
STREAM_TOOLS = (THRONG_STREAM, GUIDELLM)


def first_event_ms(tool: Tool, output: str) -> float:
    """The median time to the first event, as the tool reports it."""
    if tool is GUIDELLM:
        return json.loads(output)["benchmarks"][0]["metrics"]["time_to_first_token_ms"]["successful"]["median"]
    return last_step(output)["first"]["p50_ms"]


def secured(tool: Tool) -> Tool:
    """The same tool, given a URL with TLS."""
    return replace(tool, argv=lambda program, url, size: tool.argv(program, url.replace("ws:", "wss:", 1), size))


def s_time(flag: str) -> Tool:
    """OpenSSL's own measure of handshakes: as many connections as it makes in so many seconds, a request on each."""
    return Tool(
        "openssl s_time", "OPENSSL", "openssl", (1, 5),
        argv=lambda program, url, size: [
            program, "s_time", flag, "-tls1_3", "-www=/", f"-time={size}", f"-connect={urlsplit(url).netloc}"
        ],
        count=lambda output, size: int(re.search(r"(\d+) connections in [\d.]+s;", output)[1]),
    )


def throng_handshakes(*flags: str) -> Tool:
    """A connection for each request, one after the other."""
    tool = throng(
        (500, 3000), lambda step: step["counts"]["connected"], "http", "--connections=1", "--amount={}",
        "--requests-per-connection=1", "--insecure", *flags
    )
    return replace(tool, argv=lambda program, url, size: tool.argv(program, url.replace("ws:", "https:", 1), size))


HANDSHAKE_TOOLS = (throng_handshakes("--no-tls-resumption"), s_time("-new"))
RESUMPTION_TOOLS = (throng_handshakes(), s_time("-reuse"))

NGINX_CONFIG = """
daemon off; master_process off; pid {folder}/pid; events {{ worker_connections 1024; }}
http {{
    access_log off; keepalive_requests 1000000000;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
    server {{ listen 127.0.0.1:{port}{listens}; listen unix:{socket}; location / {{ return 200 ""; }} }}
}}
"""
NGINX_TLS = " ssl; ssl_protocols TLSv1.3; ssl_certificate {cert}; ssl_certificate_key {key}"


@functools.cache
def identity() -> tuple[Path, Path]:
    """A certificate that nobody has signed, and its key (P-256), which last as long as this program."""
    folder = Path(tempfile.mkdtemp(prefix="throng-bench-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    cert, key = folder / "cert.pem", folder / "key.pem"
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=127.0.0.1"]
    made = ["-addext", "basicConstraints=critical,CA:FALSE", "-days", "2", "-keyout", key, "-out", cert]
    subprocess.run(["openssl", "req", "-x509", *curve, *made], check=True, capture_output=True)
    return cert, key


def unix_socket(port: int) -> Path:
    """Where nginx listens beside this port."""
    return Path(tempfile.gettempdir()) / f"throng-bench-{os.getpid()}-{port}.sock"


def nginx(program: str, port: int, listens: str = "") -> list[str]:
    """Starts it with a configuration of its own, whose folder lasts as long as this program."""
    folder, socket = Path(tempfile.mkdtemp(prefix="throng-bench-")), unix_socket(port)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    atexit.register(socket.unlink, missing_ok=True)
    socket.unlink(missing_ok=True)  # nginx was killed, if this port was another's before
    (folder / "nginx.conf").write_text(NGINX_CONFIG.format(folder=folder, port=port, socket=socket, listens=listens))
    return [program, "-e", "stderr", "-p", str(folder), "-c", str(folder / "nginx.conf")]


NGINX = Server("nginx", "NGINX", "nginx", nginx)
# By prior knowledge, and nothing else.
NGINX_HTTP2 = Server("nginx", "NGINX", "nginx", lambda program, port: nginx(program, port, " http2"))
NGINX_SECURED = replace(NGINX, name="nginx over TLS", argv=lambda program, port: nginx(
    program, port, NGINX_TLS.format(cert=identity()[0], key=identity()[1])
))


def throng_serve(name: str, *flags: Callable[[], str]) -> Server:
    return Server(name, "THRONG", None, lambda program, port: [
        program, "serve", f"--listen=127.0.0.1:{port}", "--threads=1", *(flag() for flag in flags)
    ])


THRONG_SERVE = throng_serve("throng serve")
THRONG_SERVE_SECURED = throng_serve(
    "throng serve over TLS", lambda: f"--cert={identity()[0]}", lambda: f"--key={identity()[1]}"
)
THRONG_SERVE_COMPRESSED = throng_serve(
    "throng serve, compressed", lambda: "--compress", lambda: "--no-context-takeover"
)
THRONG_SERVE_PLAIN = replace(THRONG_SERVE, name="throng, plain ws://")
COSTLY_CONNECTIONS = (
    ("over TLS", THRONG_SERVE_SECURED, secured(throng_idle("--protocol=raw", "--insecure"))),
    ("compressed, no window kept", THRONG_SERVE_COMPRESSED,
        throng_idle("--protocol=raw", "--compress", "--no-context-takeover")),
)
BARE_SENDS = Server(
    "bare sends", "BARE_SENDS", None, lambda program, port: [program, str(port), str(PACED_CLIENTS)]
)
UWS_SERVER = Server("µWebSockets", "UWS_SERVER", None, lambda program, port: [program, str(port)])
