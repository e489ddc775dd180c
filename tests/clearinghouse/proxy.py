"""Between two servers: what a bad network does, with a seeded random generator.

StreamProxy drops, repeats, swaps, stalls and cuts pieces of the stream: the link notices, ends and
comes back. MessageProxy owns the keys of both servers, and does the same to whole messages of a
link that stays.
"""

import random
import socket
import threading
import time

import link


class Proxy:
    """Takes calls for a server at an address of its own; each direction has a thread."""

    def __init__(self, space, target, seed, **chances):
        self.target = target
        self.space = space
        self.random = random.Random(seed)
        self.chances = chances  # of what may happen to a piece, by name
        self.seen = {name: 0 for name in (*chances, "passed", "calls")}
        self.open = []
        self.closed = False
        self.shut = False  # calls are not let through
        self.lock = threading.Lock()
        with space:
            self.listener = socket.create_server((space.address, 0))
        self.address = self.listener.getsockname()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while not self.closed:
            try:
                caller = self.listener.accept()[0]
            except OSError:
                return
            threading.Thread(target=self.join, args=(caller,), daemon=True).start()

    def join(self, caller):
        if self.shut:
            caller.close()
            return
        try:
            with self.space:
                called = socket.create_connection(self.target, 10)
        except OSError:
            caller.close()
            return
        called.settimeout(None)
        with self.lock:
            self.seen["calls"] += 1
            self.open += [caller, called]
        try:
            ends = self.ends(caller, called)
        except (link.LinkEnded, OSError):
            self.cut(caller, called)
            return
        for one, other in (ends, ends[::-1]):
            threading.Thread(target=self.pump, args=(one, other, caller, called),
                             daemon=True).start()

    def fate(self):
        """What happens to the next piece."""
        with self.lock:
            at = self.random.random()
            for name, chance in self.chances.items():
                if at < chance:
                    self.seen[name] += 1
                    return name
                at -= chance
            self.seen["passed"] += 1
            return "passed"

    def pump(self, source, sink, *sockets):
        late = None
        try:
            while True:
                piece = self.take(source)
                fate = self.fate()
                if fate == "cut":
                    break
                if fate == "stall":
                    time.sleep(self.random.random())
                if fate == "swap" and late is None:
                    late = piece
                    continue
                if fate != "drop":
                    self.give(sink, piece)
                if fate == "repeat":
                    self.give(sink, piece)
                if late is not None:
                    self.give(sink, late)
                    late = None
        except (link.LinkEnded, OSError):
            pass
        self.cut(*sockets)

    def cut(self, *sockets):
        for s in sockets:
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            s.close()
        with self.lock:
            self.open = [s for s in self.open if s not in sockets]

    def heal(self):
        """From now on everything passes."""
        with self.lock:
            self.chances = {}

    def close(self):
        self.closed = True
        try:
            self.listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.listener.close()
        self.cut(*list(self.open))


class StreamProxy(Proxy):
    def ends(self, caller, called):
        return caller, called

    def take(self, source):
        piece = source.recv(65536)
        if not piece:
            raise link.LinkEnded("closed")
        return piece

    def give(self, sink, piece):
        sink.sendall(piece)


class MessageProxy(Proxy):
    """Pretends to each to be the other one."""

    def __init__(self, space, caller, called, seed, **chances):
        self.caller_key = link.read_key(caller.path("key"))
        self.called_key = link.read_key(called.path("key"))
        super().__init__(space, called.address, seed, **chances)

    def ends(self, caller, called):
        far = link.Link(called, self.caller_key, True)
        return link.Link(caller, self.called_key, False), far

    def take(self, source):
        return source.receive()

    def give(self, sink, piece):
        sink.send(piece)
