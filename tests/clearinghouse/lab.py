"""Clearinghouses that are peers: each in a network of its own, joined by a bridge.

A network ends with the process that made it, so nothing is left behind. Where namespaces
are not allowed, every server has a loopback address instead.
"""

import ctypes
import json
import os
import socket
import subprocess
import threading
import time

import clearinghouse

CLONE_NEWNET = 0x40000000
PORT = 24450
INTERVAL = 1000  # milliseconds between two exchanges
CONFIG = """
data = "{dir}/data"
durability = "{durability}"
origin = "{dir}/key"
secret = "{secret}"
pyzor {{ listen = {{"127.0.0.1:0"}} passwd = "{dir}/passwd" access = "{dir}/access" }}
http {{ listen = {{"127.0.0.1:0"}} }}
dccifd {{ listen = {{"127.0.0.1:0"}} {dccifd} }}
mail {{ workers = 1 }}
peers {{ listen = {{"{listen}"}} interval = "{interval}ms" {settings} }}
{peers}
{lists}
{more}
"""
LISTS = """
list "pyzor-reports" { capacity = 10000 }
list "pyzor-whitelist" { capacity = 10000 }
list "body" { capacity = 10000 }
list "fuz1" { capacity = 10000 }
list "fuz2" { capacity = 80000 }
"""
libc = ctypes.CDLL(None, use_errno=True)


# --- networks -----------------------------------------------------------------


class Loopback:
    """A place where there are no namespaces."""

    def __init__(self, number):
        self.address = "127.0.0.%d" % number

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        pass

    def free_port(self):
        with socket.socket() as s:
            s.bind((self.address, 0))
            return s.getsockname()[1]


def current_network():
    return os.open("/proc/thread-self/ns/net", os.O_RDONLY)


def enter_network(fd):
    if libc.setns(fd, CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "setns")


class Space:
    """A network namespace. Sockets and processes that a thread makes `with` it are in it."""

    def __init__(self, number):
        self.address = "10.77.0.%d" % number
        self.ports = PORT
        self.before = threading.local()
        here = current_network()
        if libc.unshare(CLONE_NEWNET):
            os.close(here)
            raise OSError(ctypes.get_errno(), "unshare")
        self.fd = current_network()
        enter_network(here)
        os.close(here)
        self.ip("link set lo up")

    def __enter__(self):
        if not hasattr(self.before, "fds"):
            self.before.fds = []
        self.before.fds.append(current_network())
        enter_network(self.fd)
        return self

    def __exit__(self, *ignored):
        fd = self.before.fds.pop()
        enter_network(fd)
        os.close(fd)

    def ip(self, *lines):
        with self:
            subprocess.run(["ip", "-batch", "-"], input="\n".join(lines) + "\n", text=True,
                           check=True, stderr=subprocess.PIPE)

    def free_port(self):
        self.ports += 1
        return self.ports - 1


def bridged_spaces(n):
    """One in the middle, with a bridge, and n around it."""
    middle = Space(254)
    middle.ip("link add br0 type bridge", "address add 10.77.0.254/24 dev br0",
              "link set br0 up")
    around = [Space(1 + i) for i in range(n)]
    for i, space in enumerate(around):
        middle.ip(f"link add p{i} type veth peer name eth0 netns "
                  f"/proc/{os.getpid()}/fd/{space.fd}",
                  f"link set p{i} master br0", f"link set p{i} up")
        space.ip(f"address add {space.address}/24 dev eth0", "link set eth0 up")
    return middle, around


def create_spaces(n):
    try:
        return bridged_spaces(n)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"no network namespaces ({error}): all servers are on loopback", flush=True)
        return Loopback(254), [Loopback(10 + i) for i in range(n)]


# --- servers ------------------------------------------------------------------


def umbel(*words):
    program = os.path.join(os.path.dirname(clearinghouse.server_program()), "umbel")
    return subprocess.run([program, *words], check=True, capture_output=True, text=True).stdout


def public_key(path):
    with open(path + ".pub", encoding="utf-8") as file:
        return file.read().split()[1]


class Node(clearinghouse.Clearinghouse):
    """A server with peers, in a network of its own."""

    def __init__(self, name, space, secret, durability="none", dccifd="", settings="",
                 lists=LISTS, more="", interval=INTERVAL):
        self.name, self.space, self.peers = name, space, {}
        self.address = (space.address, space.free_port())
        super().__init__(durability, dccifd=dccifd, more=more)
        umbel("keygen", "--sign", "-q", "-o", self.path("key"))
        self.key = public_key(self.path("key"))
        self.configure(secret=secret, settings=settings, lists=lists, interval=interval,
                       listen="%s:%d" % self.address)

    def configure(self, **changes):
        self.settings.update(changes)
        if "secret" not in self.settings:
            return  # of the constructor: not all is known
        peers = "".join(f'peer "{name}" {{ {address} key = "{key}" }}\n'
                        for name, (address, key) in self.peers.items())
        self.write("clearinghouse.conf", CONFIG.format(peers=peers, **self.settings))

    def knows(self, other, address=None):
        """Knows another server, or whatever has a name and a key, and calls it at that address."""
        self.peers[other.name] = (f'address = "%s:%d"' % address if address else "", other.key)
        self.configure()

    def start(self, *prefix, **more):
        with self.space:
            return super().start(*prefix, **more)

    def get(self, path):
        with self.space:
            return super().get(path)

    def client(self):
        with self.space:
            return clearinghouse.Client(self.pyzor)

    def counts(self, digest):
        return self.client().counts(digest)

    def agreement(self):
        """The words of all lists."""
        return {name: entry["agreement"] for name, entry in self.status()["lists"].items()}

    def peers_json(self):
        ended = self.run("peers", "--json")
        if ended.returncode:
            raise SystemExit(f"FAILED: peers --json: {ended.stderr}")
        return json.loads(ended.stdout)


class Lab:
    """Servers named A, B, C and so on, with one secret."""

    def __init__(self, n, **settings):
        self.middle, spaces = create_spaces(n)
        self.nodes = []
        self.proxies = []
        self.secret = None
        for i, space in enumerate(spaces):
            node = Node(chr(ord("A") + i), space, self.secret, **settings)
            if not self.secret:
                self.secret = node.path("common-secret")
                umbel("keygen", "-q", "-o", self.secret)
                node.configure(secret=self.secret)
            self.nodes.append(node)

    def join(self, caller, called, address=None):
        """The caller calls the other one, there or at another address."""
        caller.knows(called, address or called.address)
        called.knows(caller)

    def join_all(self, through=None):
        """Every pair; `through` makes a proxy for a pair and returns its address."""
        for i, caller in enumerate(self.nodes):
            for called in self.nodes[i + 1:]:
                address = through and through(self, caller, called)
                self.join(caller, called, address)
        return self

    def start(self):
        for node in self.nodes:
            node.start()
        return self

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        for proxy in self.proxies:
            proxy.close()
        for node in reversed(self.nodes):
            node.__exit__()


def agree(nodes):
    words = [node.agreement() for node in nodes]
    return all(word == words[0] for word in words)


def wait_for_agreement(nodes):
    """Waits until all answer the same; returns the seconds that it took."""
    began = time.monotonic()
    clearinghouse.wait_until(lambda: agree(nodes), "the servers agree")
    return time.monotonic() - began
