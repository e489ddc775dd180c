"""serve_client.py - starts umbel serve on a free port, and asks it."""
import atexit
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

PATIENCE = 300  # seconds until something hangs, on the slowest machine


def workplace():
    """A directory of its own, which becomes the working directory."""
    place = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    os.chdir(place)
    return place


def wait_until(condition, what):
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            sys.exit(f"FAILED: gave up waiting until {what}")
        time.sleep(0.01)


def build(umbel, path, keys, *options):
    """Builds a filter and renames it into place."""
    subprocess.run([umbel, "build", "-q", "-o", path + ".new", *options], check=True,
                   input="".join(f"{key}\n" for key in keys), text=True)
    os.rename(path + ".new", path)


class Server:
    """A running server, ended with the program."""

    def __init__(self, umbel, *filters, options=(), **more):
        self.path = os.path.abspath("socket")
        self.log = open("log", "w+", encoding="utf-8")
        self.process = subprocess.Popen(
            [umbel, "serve", *filters, "--listen", "127.0.0.1:0", "--socket", self.path, *options],
            stderr=self.log, **more)
        atexit.register(self.stop)
        wait_until(lambda: self.said("ready") or self.process.poll() is not None, "it is ready")
        assert self.process.poll() is None, self.text()
        self.port = int(re.search(r"http://127.0.0.1:(\d+)", self.text()).group(1))

    def text(self):
        with open("log", encoding="utf-8") as log:
            return log.read()

    def said(self, word):
        return word in self.text()

    def stop(self, number=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(number)
            self.process.wait(PATIENCE)
        return self.process.returncode

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), PATIENCE)

    def raw(self, text):
        """Sends bytes; returns all that comes until the server closes."""
        with self.connect() as s:
            s.sendall(text)
            got = b""
            try:
                while True:
                    some = s.recv(1 << 16)
                    if not some:
                        return got
                    got += some
            except ConnectionResetError:
                return got

    def http(self, target, body=None, kind=None, method=None):
        """Returns status and body of a request."""
        head = f"{method or ('GET' if body is None else 'POST')} {target} HTTP/1.1\r\n"
        head += "Host: localhost\r\nConnection: close\r\n"
        if kind:
            head += f"Content-Type: {kind}\r\n"
        if body is not None:
            head += f"Content-Length: {len(body)}\r\n"
        got = self.raw(head.encode("latin-1") + b"\r\n" + (body or b""))
        head, _, text = got.partition(b"\r\n\r\n")
        return int(head.split()[1]), text.decode("utf-8")

    def metric(self, name):
        found = re.search(rf"^{re.escape(name)} (\S+)$", self.http("/metrics")[1], re.M)
        return float(found.group(1)) if found else None


class Lines:
    """A connection to the unix socket."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(PATIENCE)
        self.socket.connect(path)
        self.file = self.socket.makefile("rb")

    def ask(self, line):
        self.socket.sendall(line + b"\n")
        return self.file.readline().rstrip(b"\n").split(b"\t")
