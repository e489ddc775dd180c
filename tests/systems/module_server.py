"""module_server.py - real servers with umbel.so, and a small RESP client."""
import atexit
import glob
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../clearinghouse"))
from ports import free_port  # noqa: E402

CLUSTER_BUS = 10000  # above the port of a node
VALKEY = os.path.join(HERE, "../../build/valkey/usr/bin/valkey-server")


class Error(Exception):
    """An error reply."""


class Client:
    """Speaks RESP2 or RESP3 to 127.0.0.1:port."""

    def __init__(self, port, resp=2, timeout=120):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.file = self.socket.makefile("rb", 1 << 16)
        if resp == 3:
            self("HELLO", 3)

    @staticmethod
    def pack(words):
        out = [b"*%d\r\n" % len(words)]
        for word in words:
            if not isinstance(word, bytes):
                word = str(word).encode()
            out.append(b"$%d\r\n%s\r\n" % (len(word), word))
        return b"".join(out)

    def read(self):
        line = self.file.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError("the server closed the connection")
        kind, text = line[:1], line[1:-2]
        if kind == b"+":
            return text.decode()
        if kind == b"-":
            return Error(text.decode())
        if kind == b":":
            return int(text)
        if kind == b",":
            return float(text)
        if kind == b"#":
            return text == b"t"
        if kind == b"_" or text == b"-1":
            return None
        if kind in b"$=":
            return self.file.read(int(text) + 2)[:-2]
        n = int(text)
        if kind == b"%":
            return {self.name(self.read()): self.read() for _ in range(n)}
        return [self.read() for _ in range(n)]

    @staticmethod
    def name(key):
        return key.decode() if isinstance(key, bytes) else key

    def send(self, *words):
        self.socket.sendall(self.pack(words))

    def __call__(self, *words):
        """Returns the reply; an error reply is raised."""
        self.send(*words)
        reply = self.read()
        if isinstance(reply, Error):
            raise reply
        return reply

    def refused(self, *words):
        """Returns the text of the error reply, which must come."""
        self.send(*words)
        reply = self.read()
        assert isinstance(reply, Error), (words, reply)
        return str(reply)

    def many(self, commands):
        """Sends all commands at once and returns the replies."""
        self.socket.sendall(b"".join(self.pack(c) for c in commands))
        return [self.read() for _ in commands]

    def info(self, section):
        lines = self("INFO", section).decode().splitlines()
        return dict(l.split(":", 1) for l in lines if ":" in l)

    def fields(self, *words):
        """A map of RESP3, or the flat array of RESP2, as a dictionary."""
        reply = self(*words)
        if isinstance(reply, dict):
            return reply
        return {self.name(k): v for k, v in zip(reply[::2], reply[1::2])}

    def close(self):
        self.file.close()
        self.socket.close()


class Server:
    """One server in a directory of its own. args are lines of its settings."""

    def __init__(self, program, module, *args, port=None, module_args=()):
        self.program, self.module = program, os.path.abspath(module)
        self.args, self.module_args = list(args), list(module_args)
        self.dir = tempfile.mkdtemp(prefix="umbel-module-")
        self.port = port or free_port(partner=CLUSTER_BUS)
        self.process = None
        self.sanitized = sanitized(module)
        self.start()

    def environment(self):
        env = dict(os.environ)
        if self.sanitized:
            library = subprocess.check_output(
                ["gcc", "-print-file-name=libasan.so"], text=True).strip()
            env["LD_PRELOAD"] = library
            env["ASAN_OPTIONS"] = "detect_leaks=0:abort_on_error=0:exitcode=99"
        return env

    def start(self, wait=True):
        command = [self.program, "--port", str(self.port), "--bind", "127.0.0.1",
                   "--dir", self.dir, "--save", "", "--enable-debug-command", "yes",
                   "--repl-diskless-sync-delay", "0", *self.args,
                   "--loadmodule", self.module, *self.module_args]
        self.log = open(os.path.join(self.dir, "log"), "ab")
        self.process = subprocess.Popen(command, stdout=self.log, stderr=self.log,
                                        env=self.environment(), cwd=self.dir)
        self.log.close()
        atexit.register(self.process.kill)  # if a test fails
        if wait:
            self.wait()

    def wait(self):
        """Until it answers and has loaded its data."""
        while True:
            if self.process.poll() is not None:
                raise RuntimeError("the server ended:\n" + self.text())
            try:
                c = Client(self.port)
                c("PING")
                c.close()
                return
            except (OSError, Error):
                time.sleep(0.02)

    def text(self):
        with open(os.path.join(self.dir, "log"), errors="replace") as f:
            return f.read()

    def client(self, resp=2):
        return Client(self.port, resp)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self, keep=False):
        """Ends it, and requires that it was well until then."""
        if self.process.poll() is None:
            self.process.terminate()
        code = self.process.wait()
        assert code in (0, -signal.SIGTERM, -signal.SIGKILL), self.text()[-4000:]
        assert "AddressSanitizer" not in self.text(), self.text()[-4000:]
        if not keep:
            shutil.rmtree(self.dir, ignore_errors=True)

    def restart(self):
        self.stop(keep=True)
        self.start()

    def memory(self):
        c = self.client()
        used = int(c.info("memory")["used_memory"])
        c.close()
        return used


def sanitized(module):
    return b"libasan" in subprocess.check_output(["ldd", module])


def servers(module):
    """The programs to test: jemalloc inside Valkey and a sanitizer exclude each
    other, so a sanitizer build runs in Redis alone."""
    if not shutil.which("redis-server"):
        print("skipped: install redis-server (tools/deps systems)")
        sys.exit(77)
    programs = [shutil.which("redis-server")]
    if sanitized(module):
        return programs
    if not os.path.exists(VALKEY):
        print("skipped: Valkey is not below build/valkey (tools/deps systems)")
        sys.exit(77)
    return programs + [VALKEY]


def module_of(umbel):
    """Installs umbel.so as make install does, and returns its path: tests load what
    users get, which the server must be allowed to execute."""
    build, place = os.path.dirname(os.path.abspath(umbel)), tempfile.mkdtemp(prefix="umbel-installed-")
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    subprocess.run(["cmake", "--install", build, "--component", "module", "--prefix", place],
                   check=True, stdout=subprocess.DEVNULL)
    return glob.glob(place + "/**/umbel.so", recursive=True)[0]


def wait_until(what, seconds=60):
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "waited for too long"
        time.sleep(0.02)


def run_tests(module, tests):
    """Runs each test on each server; a test gets (program, module). ONLY in the
    environment is a text that the server's name or the test's must contain, such
    as valkey, or two of them: valkey,damaged."""
    only = [word for word in os.environ.get("ONLY", "").split(",") if word]
    for program in servers(module):
        for test in tests:
            name = os.path.basename(program) + " " + test.__name__
            if not all(word in name for word in only):
                continue
            start = time.monotonic()
            test(program, module)
            print("%-16s %-45s %.1f s" % (os.path.basename(program), test.__name__,
                                          time.monotonic() - start), flush=True)
