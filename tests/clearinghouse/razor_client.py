"""A Razor2 client for tests, without Perl: signatures, MACs, requests."""

import hashlib
import socket

from clearinghouse import PATIENCE

ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
SEED = "7542-10"


def encode(digest):
    """Razor's base64: the bits of each hexadecimal digit, low bit first."""
    bits = "".join(f"{int(digit, 16):04b}"[::-1] for digit in digest.hex())
    bits += "0" * (-len(bits) % 24)
    return "".join(ALPHABET[int(bits[i:i + 6], 2)] for i in range(0, len(bits), 6))


def signature(text):
    return encode(hashlib.sha1(str(text).encode()).digest())


def mac(password, challenge):
    def padded(pad):
        key = password.encode().ljust(64, b"\0")
        return bytes(byte ^ pad for byte in key)

    inner = hashlib.sha1(padded(0x5c) + challenge.encode()).hexdigest()
    return encode(hashlib.sha1(padded(0x36) + inner.encode()).digest())


def fields(line):
    return dict(pair.split("=", 1) for pair in line.split("&"))


class Razor:
    """A connection. Each reply is read with one call, as razor-agents do."""

    def __init__(self, address, receive=1024, source=""):
        self.socket = socket.create_connection(address, PATIENCE, (source, 0))
        self.receive = receive
        self.greeting = self.read()

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        self.socket.close()

    def read(self):
        return self.socket.recv(self.receive).decode()

    def send(self, text):
        self.socket.sendall(text.encode("latin-1"))

    def ask(self, text):
        """The reply to a line or batch, without its last line's end."""
        self.send(text + "\r\n")
        reply = self.read()
        assert reply.endswith("\r\n"), reply
        return reply[:-2]

    def batch(self, *lines):
        """The replies to a batch."""
        reply = self.ask("-" + "\r\n".join(lines) + "\r\n.")
        if reply[0] != "-":
            return [reply]
        assert reply.endswith("\r\n."), reply
        return reply[1:-3].split("\r\n")

    def check(self, *signatures):
        replies = self.batch(*(f"a=c&e=4&ep4={SEED}&s={s}" for s in signatures))
        return replies if len(signatures) > 1 else replies[0]

    def register(self, user=None, password=None):
        line = "a=reg&registrar=test"
        if user:
            line += f"&user={user}"
        if password:
            line += f"&pass={password}"
        return fields(self.ask(line))

    def login(self, user, password):
        challenge = fields(self.ask(f"a=ai&user={user}&cn=test&cv=1"))
        if "err" in challenge:
            return challenge
        return fields(self.ask("a=auth&aresp=" + mac(password, challenge["achal"])))

    def report(self, text):
        return self.ask(f"a=r&e=4&ep4={SEED}&s={signature(text)}")

    def revoke(self, text):
        return self.ask(f"a=revoke&e=4&s={signature(text)}")

    def ended(self):
        """Returns true once the server has closed the connection."""
        try:
            return self.socket.recv(1) == b""
        except ConnectionResetError:
            return True


def reporter(server, user="alice", password="secret1", source=""):
    """A connection of an account, which is made if it does not exist."""
    client = Razor(server.razor, source=source)
    client.register(user, password)
    assert client.login(user, password) == {"res": "1"}
    return client
