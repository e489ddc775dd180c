"""A clearinghouse for tests: starts it on free ports, speaks Pyzor to it."""

import hashlib
import json
import math
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

PATIENCE = 300  # seconds until something hangs, on the slowest machine
LIST_ERROR = 5e-6  # of lists whose configuration names no error
CONFIG = """
{data}
durability = "{durability}"
pyzor {{ listen = {{"127.0.0.1:0"}} {passwd} {access} {pyzor} }}
{http}
list "pyzor-reports" {{ capacity = 10000 }}
list "pyzor-whitelist" {{ capacity = 10000 }}
{more}
dccifd {{ listen = {{{streams}}} {dccifd} }}
list "body" {{ capacity = 10000 }}
list "fuz1" {{ capacity = 10000 }}
list "fuz2" {{ capacity = 80000 }}
razor {{ listen = {{{places}}} {razor} }}
list "razor-spam" {{ {spam_capacity} {spam} }}
list "razor-revoked" {{ {revoked_capacity} {revoked} }}
{mail}
"""
FUZZY = '\nlist "fuzzy" { capacity = 1000 }\n'


def server_program():
    """The first argument, or the server beside that program."""
    directory = os.path.dirname(os.path.realpath(sys.argv[1]))
    return os.path.join(directory, "umbel-clearinghouse")


def wait_until(ready, what, seconds=PATIENCE):
    end = time.monotonic() + max(seconds, PATIENCE)
    while time.monotonic() < end:
        got = ready()
        if got:
            return got
        time.sleep(0.01)
    raise SystemExit("FAILED: gave up waiting until " + what)


def sha1(data):
    return hashlib.sha1(data)


def unless_in(text, setting):
    return "" if setting.split(" = ")[0] + " =" in text else setting


def with_section(more, name, setting):
    """A section with a setting: of its own, or in the one that is there. Returns it, and the others."""
    place = re.search(rf"(?m)^{name} {{(.*)$", more)
    if not place:
        return f"{name} {{ {setting} }}", more
    at = place.start(1)
    return "", more[:at] + " " + unless_in(place.group(1), setting) + more[at:]


class Clearinghouse:
    """A server with its files in a directory of its own."""

    def __init__(self, durability="none", pyzor="", dccifd="", more="",
                 razor="", spam="", revoked=""):
        self.temporary = tempfile.TemporaryDirectory()
        self.dir = self.temporary.name
        self.settings = {"dir": self.dir, "durability": durability, "pyzor": pyzor,
                         "dccifd": dccifd, "more": more,
                         "streams": f'"127.0.0.1:0", "{self.dir}/dccifd"',
                         "razor": razor, "spam": spam, "revoked": revoked,
                         "places": '"127.0.0.1:0", "127.0.0.2:0"'}
        self.process = None
        self.configure()

    def path(self, name):
        return os.path.join(self.dir, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)

    def configure(self, **changes):
        self.settings.update(changes)
        text = CONFIG.format(**{**self.settings, **self.defaults()})
        self.write("clearinghouse.conf", text + ("" if 'list "fuzzy"' in text else FUZZY))

    def defaults(self):
        """What tests may set otherwise: a setting stands once."""
        of = self.settings
        http, more = with_section(of["more"], "http", 'listen = {"127.0.0.1:0"}')
        mail, more = with_section(more, "mail", "workers = 1")
        return {"http": http, "mail": mail, "more": more,
                "data": unless_in(of["more"], f'data = "{self.dir}/data"'),
                "passwd": unless_in(of["pyzor"], f'passwd = "{self.dir}/passwd"'),
                "access": unless_in(of["pyzor"], f'access = "{self.dir}/access"'),
                "spam_capacity": unless_in(of["spam"], "capacity = 12000"),
                "revoked_capacity": unless_in(of["revoked"], "capacity = 12000")}

    def command(self, *more):
        return [server_program(), "--config", self.path("clearinghouse.conf"), *more]

    def start(self, prefix=(), **more):
        log = open(self.path("log"), "w", encoding="utf-8")
        self.process = subprocess.Popen([*prefix, *self.command()], stderr=log, **more)
        log.close()
        line = wait_until(self.ready_line, "the server is ready")
        places = dict(word.split("=", 1) for word in reversed(line.split()[1:]))
        host, port = places["pyzor"].rsplit(":", 1)
        self.pyzor = (host, int(port))
        if "dccifd" in places:
            host, port = places["dccifd"].rsplit(":", 1)
            self.dccifd = (host, int(port))
        if "razor" in places:
            host, port = places["razor"].rsplit(":", 1)
            self.razor = (host, int(port))
        self.http = "http://" + places["http"]
        return self

    def log(self):
        with open(self.path("log"), encoding="utf-8") as file:
            return file.read()

    def ready_line(self):
        for line in self.log().splitlines():
            if line.startswith("ready"):
                return line
        if self.process.poll() is not None:
            raise SystemExit("FAILED: the server ended: " + self.log())
        return None

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        code = self.process.wait(PATIENCE)
        self.process = None
        return code

    def reload(self):
        before = self.log().count("reloaded")
        self.process.send_signal(signal.SIGHUP)
        wait_until(lambda: self.log().count("reloaded") > before, "it is reloaded")

    def run(self, *more):
        return subprocess.run(self.command(*more), capture_output=True, text=True, check=False)

    def get(self, path):
        try:
            with urllib.request.urlopen(self.http + path, timeout=PATIENCE) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def peak_memory(self):
        """The most bytes that were resident so far."""
        with open(f"/proc/{self.process.pid}/status", encoding="utf-8") as file:
            return int(re.search(r"VmHWM:\s+(\d+) kB", file.read()).group(1)) * 1024

    def status(self):
        return json.loads(self.get("/status.json")[1])

    def __enter__(self):
        return self.start()

    def __exit__(self, *ignored):
        if self.process:
            self.process.kill()
            self.process.wait()
        self.temporary.cleanup()


class Client:
    """Asks a server, one datagram at a time."""

    def __init__(self, address):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.settimeout(PATIENCE)
        self.socket.connect(address)

    def send(self, data):
        self.socket.send(data)
        return self.socket.recv(65536)

    def ask(self, data):
        """The fields of the answer to a datagram."""
        if isinstance(data, str):
            data = data.encode()
        reply = self.send(data).decode()
        assert reply.endswith("\n\n"), reply
        return dict(line.split(": ", 1) for line in reply[:-2].split("\n"))

    def op(self, op, *digests, more=""):
        text = f"Op: {op}\n" + "".join(f"Op-Digest: {d}\n" for d in digests)
        return self.ask(text + f"Thread: 4711\nPV: 2.1\n{more}\n")

    def counts(self, digest):
        answer = self.op("check", digest)
        assert answer["Code"] == "200" and answer["Thread"] == "4711", answer
        return int(answer["Count"]), int(answer["WL-Count"])


def connect(address, source=""):
    """A stream to (host, port), or to the path of a unix socket."""
    if isinstance(address, tuple):
        return socket.create_connection(address, PATIENCE, (source, 0))
    s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    s.settimeout(PATIENCE)
    s.connect(address)
    return s


def read_all(s):
    with s:
        return b"".join(iter(lambda: s.recv(65536), b""))


def envelope(words="header", client="192.0.2.7", sender="s@example.com", to=("r@example.org",)):
    lines = [words, client, "mx.example.net", sender, *to, ""]
    return "".join(line + "\n" for line in lines).encode()


def dccifd(address, mail, source="", **more):
    """What a server answers that speaks dccifd, in lines."""
    s = connect(address, source)
    s.sendall(envelope(**more) + mail.encode())
    s.shutdown(socket.SHUT_WR)
    return read_all(s).decode().split("\n")


def metrics(lines):
    """{"Body": "many", ...} and the words of an X-DCC line."""
    assert lines[2].startswith("X-DCC-umbel-Metrics: "), lines
    words = lines[2].split("; ", 1)[1].split()
    return dict(word.split("=") for word in words if "=" in word)


def signed(user, key, op, *digests, when=None, thread=4711):
    """A request as an account signs it."""
    when = int(time.time()) if when is None else when
    text = f"Op: {op}\n" + "".join(f"Op-Digest: {d}\n" for d in digests)
    text += f"Thread: {thread}\nPV: 2.1\nUser: {user}\nTime: {when}"
    hashed = sha1(f"{user}:{key.lower()}".encode()).hexdigest()
    tail = f":{when}:{hashed}".encode()
    signature = sha1(sha1(text.encode()).digest() + tail).hexdigest()
    return f"{text}\nSig: {signature}\n\n"


def digest(text):
    return sha1(str(text).encode()).hexdigest()


def most_collisions(digests):
    """Pairs of digests of a list that may share a fingerprint: five sigma, for secrets are drawn at random."""
    mean, most = digests * LIST_ERROR / 2, 0
    left = 1 - math.exp(-mean)
    while left > 2.9e-7:
        most += 1
        left -= math.exp(-mean) * mean ** most / math.factorial(most)
    return most


def check(what, got, want):
    if got != want:
        raise SystemExit(f"FAILED: {what}: {got!r} instead of {want!r}")


def run_tests(tests):
    """Runs functions whose names say what they test."""
    if not os.path.exists(server_program()):
        print("skipped: umbel-clearinghouse was not built")
        sys.exit(77)
    for test in tests:
        try:
            test()
        except BaseException:
            print("in:", test.__name__, flush=True)
            raise
    print(len(tests), "tests passed")
