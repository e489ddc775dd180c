"""Speaks the protocol of rspamd's fuzzy storage."""
import hashlib
import socket
import struct
from collections import namedtuple

from clearinghouse import PATIENCE

CHECK, WRITE, DELETE, STAT, PING = range(5)
Reply = namedtuple("Reply", "value flag tag probability digest time")
MISS = (0, 0, 0)


def name(text):
    """The digest of a mail."""
    return hashlib.sha512(text.encode()).digest()


def shingles(text):
    return [int.from_bytes(hashlib.sha1(f"{text} {i}".encode()).digest()[:8], "little")
            for i in range(32)]


def copy_of(text, shared, other="copy"):
    """Shingles of a mail that has some in common with another."""
    return shingles(text)[:shared] + shingles(text + other)[shared:]


def request(op, digest, some=None, flag=0, value=0, tag=7, version=4, count=None, more=b"", order="<"):
    count = (32 if some else 0) if count is None else count
    text = struct.pack(order + "BBBBiI", version, op, count, flag, value, tag) + digest
    return text + (struct.pack(order + "32Q", *some) if some else b"") + more


class Fuzzy:
    """A client, from any address of loopback."""

    def __init__(self, server, source="127.0.0.1"):
        place = [w[6:] for w in server.ready_line().split() if w.startswith("fuzzy=")][0]
        host, port = place.rsplit(":", 1)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.settimeout(PATIENCE)
        self.socket.bind((source, 0))
        self.socket.connect((host, int(port)))

    def send(self, data):
        self.socket.send(data)

    def ask(self, *words, **more):
        self.send(request(*words, **more))
        data = self.socket.recv(1000)
        assert len(data) == 96 and data[84:] == bytes(12), data
        value, flag, tag, probability = struct.unpack("<iIIf", data[:16])
        return Reply(value, flag, tag, probability, data[16:80], struct.unpack("<I", data[80:84])[0])

    def write(self, text, value=10, flag=11, **more):
        r = self.ask(WRITE, name(text), shingles(text), flag=flag, value=value, **more)
        return r.value, r.flag, r.probability

    def delete(self, text, flag=11):
        r = self.ask(DELETE, name(text), shingles(text), flag=flag)
        return r.value, r.flag, r.probability

    def check(self, text, some=None):
        """Value, flag and common shingles of a mail; some: the shingles of a copy of it."""
        digest = name(text if some is None else text + "copy")
        r = self.ask(CHECK, digest, shingles(text) if some is None else some)
        if r.probability:
            assert r.digest == name(text), (r, text)
        return r.value, r.flag, r.probability * 32

    def exact(self, text):
        return self.check(text)

    def near(self, text, shared=25):
        """A shingle of the copy's own may lead to the mail by chance: then it counts one more."""
        value, flag, common = self.check(text, copy_of(text, shared))
        return (value, flag, shared) if common == shared + 1 and shared > 16 else (value, flag, common)
