"""A server with an honest peer and one that is the test itself, and may say anything."""

import re
import secrets
import socket
import subprocess
import os
import threading
import time

import clearinghouse
import messages
from clearinghouse import PATIENCE, check, wait_until
from lab import Lab
from link import Link, LinkEnded, new_key

MEMORY = 256 * 10**6  # half of the default setting
# AddressSanitizer keeps what was freed, 256 MB of it by default.
os.environ["ASAN_OPTIONS"] = (os.environ.get("ASAN_OPTIONS", "") +
                              ":quarantine_size_mb=8:verify_asan_link_order=0")


class Stranger:
    """A peer that a server knows, and that is this test."""

    def __init__(self, name):
        self.name = name
        self.secret = new_key()
        self.key = self.secret[32:].hex()

    def call(self, node):
        with node.space:
            s = socket.create_connection(node.address, PATIENCE)
        self.link = Link(s, self.secret, True)
        return self

    def exchange_hello(self, node):
        """Calls, exchanges HELLO messages, and sends an empty HAVE."""
        self.call(node)
        self.session = secrets.randbits(63)
        self.hello = messages.Hello(self.next(messages.HELLO))
        self.link.send(messages.hello(self.session, self.hello.session, self.secret[32:],
                                      self.hello.lists))
        self.link.send(messages.have(self.session, self.hello.session, []))
        return self

    def next(self, kind):
        """The next message of that type."""
        while True:
            data = self.link.receive()
            if data and data[0] == kind:
                return data

    def epoch(self, which=0):
        """The present one of a list."""
        return int(time.time()) // self.hello.lists[which].epoch_seconds

    def id(self, origin=None, epoch=None, which=0):
        return messages.copy_id(self.hello.lists[which], origin or self.secret[32:], 1,
                                self.epoch(which) if epoch is None else epoch)


class Fixture:
    """A server A with an honest peer B, and a stranger."""

    def __init__(self, **settings):
        self.lab = Lab(2, **settings)
        self.stranger = Stranger("stranger")
        self.server, self.other = self.lab.nodes
        self.lab.join(self.other, self.server)
        self.server.knows(self.stranger)

    def __enter__(self):
        self.lab.start()
        return self

    def __exit__(self, kind, *ignored):
        try:
            if not kind:
                self.check_health()
        finally:
            self.lab.__exit__()

    def check_health(self):
        """The other peer receives a new report, and memory is bounded."""
        key = clearinghouse.digest(secrets.token_hex())
        check("report", self.server.client().op("report", key)["Code"], "200")
        wait_until(lambda: self.other.counts(key)[0] == 1, "the honest peer receives a report")
        with open(f"/proc/{self.server.process.pid}/status", encoding="utf-8") as file:
            peak = int(re.search(r"VmHWM:\s+(\d+) kB", file.read()).group(1)) * 1024
        if peak > MEMORY:
            raise SystemExit(f"FAILED: {peak} bytes of memory")

    def refusals(self):
        """{reason: how often the stranger was refused for it}"""
        for peer in self.server.peers_json():
            if peer["name"] == "stranger":
                return peer["reasons"]
        raise SystemExit("FAILED: the stranger is not among the peers")

    def refused(self, reason):
        return self.refusals().get(reason, 0)

    def wait_for_refusal(self, reason, words="", times=1):
        """It is counted, and logged once, with words that name the field."""
        wait_until(lambda: self.refused(reason) >= times, f"{times} refusals: {reason}")
        self.check_log(rf"stranger: refused \({reason}\).*{words}")

    def check_strangers(self, words):
        """Those that are no peers are in the log, but cannot fill it."""
        wait_until(lambda: re.search(words, self.server.log()), f"the log has {words}")
        lines = len(re.findall("peers: refused", self.server.log()))
        check(f"{lines} lines are not too many", lines < 10, True)

    def check_log(self, words):
        wait_until(lambda: re.search(words, self.server.log()), f"the log has {words}")
        lines = [line for line in self.server.log().splitlines() if re.search(words, line)]
        check(f"lines of the log with {words}: {lines}", len(lines), 1)


class Machine:
    """The machine of the library, whose messages go over the link of a stranger."""

    def __init__(self, node, key, incarnation=1):
        """With the lists of that server; key: seed and public key, which need not fit."""
        program = os.path.join(os.path.dirname(clearinghouse.server_program()), "tests", "clearinghouse_machine")
        self.process = subprocess.Popen([program, node.path("clearinghouse.conf"), key.hex(),
                                         str(incarnation)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def say(self, line):
        """Runs a command; returns the messages that it gives."""
        print(line, file=self.process.stdin, flush=True)
        found = []
        while (answer := self.process.stdout.readline().strip()) != ".":
            if not answer:
                raise SystemExit("FAILED: clearinghouse_machine ended")
            found.append(bytes.fromhex(answer))
        return found

    def run(self, link, lines=()):
        """Exchanges messages until the link ends."""
        try:
            for line in (*lines, "next"):
                for data in self.say(line):
                    link.send(data)
            while True:
                data = link.receive()
                for answer in self.say("message " + data.hex()) if data else ():
                    link.send(answer)
        except (LinkEnded, OSError):
            pass

    def start(self, link, *lines):
        threading.Thread(target=self.run, args=(link, lines), daemon=True).start()

    def close(self):
        self.process.kill()
        self.process.wait()
