"""Messages of the exchange between servers, byte by byte: docs/PROTOCOL.md."""

import hashlib
import struct

from link import checksum

HELLO, HAVE, UPDATE, STATEMENT, CONTRADICTION, LOG = range(1, 7)


def varint(x):
    out = b""
    while x >= 128:
        out += bytes([x & 127 | 128])
        x >>= 7
    return out + bytes([x])


def u64(x):
    return struct.pack("<Q", x)


def message(kind, body):
    data = bytes([kind]) + struct.pack("<I", len(body)) + body
    return data + checksum(data)


def repair(data):
    """A message with another body, with the checksum that it should have."""
    return data[:-8] + checksum(data[:-8])


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def bytes(self, n):
        self.at += n
        assert self.at <= len(self.data), "cut short"
        return self.data[self.at - n:self.at]

    def left(self):
        return len(self.data) - self.at

    def u64(self):
        return struct.unpack("<Q", self.bytes(8))[0]

    def varint(self):
        x = shift = 0
        while True:
            byte = self.bytes(1)[0]
            x |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return x


class List:
    """A list as a server describes it in its HELLO."""

    def __init__(self, name, epoch_seconds, page_bytes, head, agree=b""):
        self.name, self.epoch_seconds, self.page_bytes, self.head, self.agree = (
            name, epoch_seconds, page_bytes, head, agree)

    def encode(self):
        return (varint(len(self.name)) + self.name + varint(self.epoch_seconds) +
                varint(self.page_bytes) + varint(len(self.head)) + self.head)

    def digest(self):
        return hashlib.blake2b(self.name + b"\0" + u64(self.epoch_seconds) +
                               u64(self.page_bytes) + self.head + self.agree, digest_size=32,
                               key=b"umbel-sync-list1").digest()


class Hello:
    def __init__(self, data):
        r = Reader(data[5:-8])
        assert data[0] == HELLO, data[0]
        self.version, self.flags = r.bytes(2)
        self.session, self.to_session = r.u64(), r.u64()
        self.origin = r.bytes(32)
        self.lists = []
        for _ in range(r.varint()):
            name = r.bytes(r.varint())
            seconds, page = r.varint(), r.varint()
            self.lists.append(List(name, seconds, page, r.bytes(r.varint())))
        for _ in range(r.varint() if r.left() else 0):
            number = r.varint()
            self.lists[number].agree = r.bytes(r.varint())


def agreed(lists):
    """What lists agree on beside their shape, by their place in a HELLO."""
    some = [(i, one.agree) for i, one in enumerate(lists) if one.agree]
    if not some:
        return b""
    return varint(len(some)) + b"".join(varint(i) + varint(len(text)) + text for i, text in some)


def hello(session, to_session, origin, lists, version=1, flags=1):
    return message(HELLO, bytes([version, flags]) + u64(session) + u64(to_session) + origin +
                   varint(len(lists)) + b"".join(one.encode() for one in lists) + agreed(lists))


def copy_id(list_, origin, incarnation, epoch):
    return list_.digest()[:8] + origin + u64(incarnation) + varint(epoch)


def have(session, to_session, copies, flags=1):
    """copies: (id, version, first 8 bytes of the root, version that was refused)"""
    body = u64(session) + u64(to_session) + bytes([flags]) + varint(len(copies))
    for id_, version, root, refused in copies:
        body += id_ + varint(version) + root + varint(refused)
    return message(HAVE, body + varint(0))


def update(session, id_, version, keys, signature, pages, base=0, base_root=bytes(8)):
    return message(UPDATE, u64(session) + id_ + varint(base) + base_root + varint(version) +
                   varint(keys) + varint(0) + b"\1" + signature + pages)


class Update:
    """The fields of an UPDATE before its pages."""

    def __init__(self, data):
        r = Reader(data[5:-8])
        assert data[0] == UPDATE, data[0]
        self.session = r.u64()
        self.list, self.origin = r.bytes(8), r.bytes(32)
        self.incarnation, self.epoch = r.u64(), r.varint()
        self.base, self.base_root = r.varint(), r.bytes(8)
        self.version, self.keys = r.varint(), r.varint()
        self.part, self.last = r.varint(), r.bytes(1)[0]
        self.signature = r.bytes(64)
        self.pages = r.data[r.at:]
