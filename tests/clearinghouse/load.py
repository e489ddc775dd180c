"""Reports of a few digests, again and again, and what was answered of them."""

import random
import select
import socket

import clearinghouse

KEYS = 150  # digests that come again
EACH = 25  # digests of one report
WINDOW = 32  # requests that wait for their answers
KEY = [clearinghouse.digest(i) for i in range(KEYS)]


def request(op, digests, thread):
    text = f"Op: {op}\n" + "".join(f"Op-Digest: {d}\n" for d in digests)
    return (text + f"Thread: {thread}\nPV: 2.1\n\n").encode()


def fields(reply):
    return dict(line.split(": ", 1) for line in reply.decode()[:-2].split("\n"))


class Load:
    """A client that reports; it knows how often it sent each digest, and how often that was
    answered."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.sent = [0] * KEYS
        self.answered = [0] * KEYS
        self.reports = self.answers = 0

    def connect(self, server):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.connect(server.pyzor)
        self.socket.setblocking(False)
        self.waiting = {}

    def read_answers(self, seconds):
        """Notes the answers that are there, or come within that time."""
        select.select([self.socket], [], [], seconds)
        try:
            while True:
                answer = fields(self.socket.recv(4096))
                keys = self.waiting.pop(int(answer["Thread"]))
                clearinghouse.check("code of an answer", answer["Code"], "200")
                self.answers += 1
                for key in keys:
                    self.answered[key] += 1
        except (BlockingIOError, ConnectionRefusedError):
            pass

    def report(self, reports):
        """Sends reports, never more than a window ahead."""
        for _ in range(reports):
            keys = self.random.choices(range(KEYS), k=EACH)
            thread = 1024 + self.reports % 10000
            self.waiting[thread] = keys
            for key in keys:
                self.sent[key] += 1
            self.socket.send(request("report", [KEY[k] for k in keys], thread))
            self.reports += 1
            self.read_answers(0)
            while len(self.waiting) > WINDOW:
                self.read_answers(clearinghouse.PATIENCE)

    def finish(self):
        """Waits for all answers."""
        while self.waiting:
            self.read_answers(clearinghouse.PATIENCE)

    def counts(self):
        """What the server says of all digests."""
        found = [None] * KEYS
        for start in range(0, KEYS, WINDOW):
            some = range(start, min(start + WINDOW, KEYS))
            for key in some:
                self.socket.send(request("check", [KEY[key]], 1024 + key))
            for _ in some:
                select.select([self.socket], [], [], clearinghouse.PATIENCE)
                answer = fields(self.socket.recv(4096))
                found[int(answer["Thread"]) - 1024] = int(answer["Count"])
        return found


def check_bounds(counts, answered, sent):
    """Nothing that was answered is missing, nothing is there that was not sent."""
    for key, count in enumerate(counts):
        if not answered[key] <= count <= sent[key]:
            raise SystemExit(f"FAILED: key {key}: {count} is not within "
                             f"{answered[key]}..{sent[key]}")
