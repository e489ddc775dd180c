"""The encrypted link between two servers, in Python: docs/PROTOCOL.md, by libsodium.

For tests that own the keys of both sides: they can listen between two servers, lose, repeat
and change messages, or be a peer that says what no server says.
"""

import ctypes
import ctypes.util
import hashlib
import socket
import struct

MAGIC = b"umbel link 1\n".ljust(16, b"\0")
HELLO = 16 + 32 + 32
HEAD = 24
EXTRA = 17
FRAME = 16384
MORE, LAST = 0, 1
sodium = ctypes.CDLL(ctypes.util.find_library("sodium") or "libsodium.so.23")
xxhash = ctypes.CDLL(ctypes.util.find_library("xxhash") or "libxxhash.so.0")
xxhash.XXH3_64bits.restype = ctypes.c_uint64
xxhash.XXH3_64bits.argtypes = ctypes.c_char_p, ctypes.c_size_t
sodium.sodium_init()
STATE = sodium.crypto_secretstream_xchacha20poly1305_statebytes()
pull = sodium.crypto_secretstream_xchacha20poly1305_pull
push = sodium.crypto_secretstream_xchacha20poly1305_push
ulonglong = ctypes.c_ulonglong


def checksum(data):
    return struct.pack("<Q", xxhash.XXH3_64bits(bytes(data), len(data)))


def sign(key, text):
    signature = ctypes.create_string_buffer(64)
    sodium.crypto_sign_detached(signature, None, bytes(text), ulonglong(len(text)), key)
    return signature.raw


def read_key(path):
    """The 64 bytes of a signing key; the last 32 are its public part."""
    with open(path, encoding="utf-8") as file:
        return bytes.fromhex(file.read().split()[1])


def new_key():
    public, secret = ctypes.create_string_buffer(32), ctypes.create_string_buffer(64)
    sodium.crypto_sign_keypair(public, secret)
    return secret.raw


class LinkEnded(Exception):
    """The other side has closed, or what came is no message."""


class Link:
    """Messages over a connected socket."""

    def __init__(self, s, key, caller):
        self.socket, self.key, self.caller = s, key, caller
        self.buffer = b""
        public, secret = ctypes.create_string_buffer(32), ctypes.create_string_buffer(32)
        sodium.crypto_kx_keypair(public, secret)
        own = MAGIC + key[32:] + public.raw
        s.sendall(own)
        other = self.read(HELLO)
        if other[:16] != MAGIC:
            raise LinkEnded("not a link")
        self.peer = other[16:48]
        hellos = own + other if caller else other + own
        read, write = ctypes.create_string_buffer(32), ctypes.create_string_buffer(32)
        make = sodium.crypto_kx_client_session_keys if caller else sodium.crypto_kx_server_session_keys
        if make(read, write, public, secret, other[48:]):
            raise LinkEnded("a bad key")
        read, write = (hashlib.blake2b(hellos, digest_size=32, key=k.raw).digest()
                       for k in (read, write))
        self.to, self.come = ctypes.create_string_buffer(STATE), ctypes.create_string_buffer(STATE)
        head = ctypes.create_string_buffer(HEAD)
        sodium.crypto_secretstream_xchacha20poly1305_init_push(self.to, head, write)
        s.sendall(head.raw + self.encrypt(sign(key, (b"c" if caller else b"a") + hellos)))
        sodium.crypto_secretstream_xchacha20poly1305_init_pull(self.come, self.read(HEAD), read)
        self.receive()  # the proof: who it is does not matter to a test

    def read(self, n):
        while len(self.buffer) < n:
            try:
                piece = self.socket.recv(65536)
            except ConnectionError as error:
                raise LinkEnded("cut") from error
            if not piece:
                raise LinkEnded("closed")
            self.buffer += piece
        data, self.buffer = self.buffer[:n], self.buffer[n:]
        return data

    def frame(self, piece, tag):
        out = ctypes.create_string_buffer(len(piece) + EXTRA)
        push(self.to, out, None, bytes(piece), ulonglong(len(piece)), None, ulonglong(0),
             ctypes.c_ubyte(tag))
        return struct.pack("<H", len(out)) + out.raw

    def encrypt(self, message):
        frames = b""
        while len(message) > FRAME:
            frames += self.frame(message[:FRAME], MORE)
            message = message[FRAME:]
        return frames + self.frame(message, LAST)

    def send(self, message):
        self.socket.sendall(self.encrypt(message))

    def receive(self):
        """The next message."""
        message, tag = b"", ctypes.c_ubyte(MORE)
        while tag.value == MORE:
            size, = struct.unpack("<H", self.read(2))
            if size < EXTRA:
                raise LinkEnded("a short frame")
            data = self.read(size)
            piece = ctypes.create_string_buffer(size - EXTRA + 1)
            if pull(self.come, piece, None, ctypes.byref(tag), data, ulonglong(size), None,
                    ulonglong(0)):
                raise LinkEnded("a changed frame")
            message += piece.raw[:size - EXTRA]
        return message

    def close(self):
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.socket.close()


def call(address, key, patience=60):
    return Link(socket.create_connection(address, patience), key, True)
