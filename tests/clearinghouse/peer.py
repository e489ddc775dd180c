"""Servers that count together, for tests."""
import os
import subprocess

from clearinghouse import Client, Clearinghouse, check, digest, server_program

FAST = 'listen = {{"{link}"}} interval = 50ms'


def umbel(*words):
    program = os.path.join(os.path.dirname(server_program()), "umbel")
    return subprocess.run([program, *words], check=True, capture_output=True, text=True).stdout


class Peer(Clearinghouse):
    """A server with a key of its own, and the secret that all share."""

    secret = None

    def __init__(self, name, **more):
        super().__init__(**more)
        self.name = name
        umbel("keygen", "-q", "--sign", "-o", self.path("origin"))
        with open(self.path("origin.pub"), encoding="utf-8") as file:
            self.key = file.read().split()[1]
        if Peer.secret is None:
            umbel("keygen", "-q", "-o", self.path("secret"))
            with open(self.path("secret"), encoding="utf-8") as file:
                Peer.secret = file.read()
        self.write("secret", Peer.secret)
        os.chmod(self.path("secret"), 0o600)
        self.know()

    def know(self, *sections, settings=FAST):
        """Configures peers."""
        self.configure(more=f'origin = "{self.path("origin")}"\nsecret = "{self.path("secret")}"\n'
                       f'peers {{ {settings.format(link=self.path("link"))} }}\n' + "\n".join(sections))

    def as_peer(self, calls=True):
        address = f'address = "{self.path("link")}"' if calls else ""
        return f'peer "{self.name}" {{ {address} key = "{self.key}" }}'

    def count(self, what):
        return Client(self.pyzor).counts(digest(what))[0]

    def report(self, *what):
        answer = Client(self.pyzor).op("report", *[digest(w) for w in what])
        check("reported", answer["Code"], "200")


def pair(calls=(True, True), **more):
    a, b = Peer("a", **more), Peer("b", **more)
    a.know(b.as_peer(calls[0]))
    b.know(a.as_peer(calls[1]))
    return a, b
