#!/usr/bin/env python3
"""packets.py UMBEL-PACKETS [--attacks N] [--packets N] [PART...] - marks, loops and witnesses on real routers.

30 routers in network namespaces (netlab.py) forward real packets through
'umbel packets mark' and record them with 'umbel packets witness'. Attackers forge
sources and the initial bits of the filter. Needs root, iproute2, iptables with
NFQUEUE, and tcpdump.

  mark      every attack is traced back, with wildcards, without, and with a plain filter
  loop      packets in loops of 2 to 20 routers are cut within one round; others pass
  cost      forwarding through mark, beside the same program that only accepts (NULL-QUEUE)
  witness   packets are found at every router of their path, and only there
  traffic   TCP (curl, iperf3) passes through marking routers of IPv4 and IPv6

Ends with "N passed, N failed, N skipped"; exit status 1 if any failed, 77 when
nothing could run.
"""
import argparse, collections, contextlib, json, math, os, random, re, shutil, signal, socket, struct, subprocess, sys, time

from stopset import Lab, Skip, check, check_at_most, need

HERE = os.path.dirname(os.path.abspath(__file__))
BITS = 256
SIGMAS = 5
PRESETS = ("ones", "zeros", "random")
PORT = 9


# --- packets of an attacker: packets.py --send ... inside a namespace ------

def ip4_checksum(header):
    total = sum(struct.unpack("!%dH" % (len(header) // 2), header))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def preset_bits(preset, rng):
    return {"ones": b"\xff" * 32, "zeros": bytes(32), "random": rng.randbytes(32)}[preset]


def udp(payload):
    return struct.pack("!HHHH", 4000, PORT, 8 + len(payload), 0) + payload


def packet4(src, dst, ident, payload, option=b"", ttl=64):
    body = udp(payload)
    length = 20 + len(option) + len(body)
    head = struct.pack("!BBHHHBBH4s4s", 4 << 4 | (20 + len(option)) // 4, 0, length, ident, 0, ttl, 17, 0,
                       socket.inet_aton(src), socket.inet_aton(dst)) + option
    return head[:10] + struct.pack("!H", ip4_checksum(head)) + head[12:] + body


def packet6(src, dst, label, payload, option=b"", ttl=64):
    body, first = udp(payload), 17
    if option:
        body, first = bytes([17, 4]) + option + b"\1\0" + body, 0
    return struct.pack("!IHBB", 6 << 28 | label, len(body), first, ttl) + socket.inet_pton(socket.AF_INET6, src) + \
        socket.inet_pton(socket.AF_INET6, dst) + body


def send(spec):
    """Sends what the JSON text describes."""
    s = json.loads(spec)
    rng = random.Random(s["seed"])
    family = socket.AF_INET6 if s["v6"] else socket.AF_INET
    raw = socket.socket(family, socket.SOCK_RAW, socket.IPPROTO_RAW)
    shape = s.get("shape")
    for i in range(s["count"]):
        name = ("%s %d;" % (s["name"], i)).encode().ljust(s.get("size", 0), b".")
        option = b""
        if s["preset"]:
            option = bytes([0x3E if s["v6"] else 158, 34 if s["v6"] else 36, shape, 0]) + preset_bits(s["preset"], rng)
        if s["v6"]:
            src = "fd99::%x" % (1 + rng.randrange(0xFFFF)) if s["forge"] else s["src"]
            data = packet6(src, s["dst"], rng.randrange(1 << 20), name, option, s["ttl"])
            raw.sendto(data, (s["dst"], 0))
        else:
            src = "198.18.%d.%d" % (rng.randrange(256), 1 + rng.randrange(254)) if s["forge"] else s["src"]
            raw.sendto(packet4(src, s["dst"], rng.randrange(65536), name, option, s["ttl"]), (s["dst"], 0))
        if s.get("pace") and i % s["pace"] == 0:
            time.sleep(0.002)


def read_pcap(path):
    """Yields (name of the attack, number) of the packets of a capture, None for others."""
    data = open(path, "rb").read()
    at = 24
    while at + 16 <= len(data):
        length = struct.unpack_from("<I", data, at + 8)[0]
        m = re.search(rb"([a-z0-9-]+) (\d+);", data[at + 16:at + 16 + length])
        yield (m.group(1).decode(), int(m.group(2))) if m else None
        at += 16 + length


# --- the lab ----------------------------------------------------------------

class Net(Lab):
    """A lab whose routers run umbel packets."""

    def __init__(self, tool, *options, links=None):
        self.tool = os.path.abspath(tool)
        self.running = {}
        super().__init__(*options)
        if links:
            with open(self.path("links"), "w") as f:
                f.write("".join("%s %s\n" % l for l in links))
            self.options += ["--topology", self.path("links")]

    def __enter__(self):
        super().__enter__()
        self.links = [tuple(l) for l in json.load(open(self.state))["links"]]
        self.routers = sorted({n for l in self.links for n in l if n[0] == "r"}, key=lambda r: int(r[1:]))
        self.address = {}
        for i, ends in enumerate(self.links):
            for side, node in enumerate(ends):
                n = i * 4 + 1 + side
                self.address["10.%d.%d.%d" % (n >> 16, n >> 8 & 255, n & 255)] = node
        self.key = self.path("key")
        with open(os.open(self.key, os.O_CREAT | os.O_WRONLY, 0o600), "w") as f:
            f.write("umbel-secret-1 %032x\n" % 7)  # fixed: so are the cells of all routers
        self.queued = False
        return self

    def __exit__(self, *what):
        self.stop_all()
        super().__exit__(*what)

    def path_of(self, monitor, dst):
        """routers from the one next to the destination back to the source"""
        for (m, d), paths in self.truth().items():
            if m == monitor and d == dst:
                return [self.address[a] for a in paths[0][:-1]][::-1]
        raise AssertionError("no path from %s to %s" % (monitor, dst))

    def topology(self, victim):
        with open(self.path("topology"), "w") as f:
            f.write("victim %s\n" % victim)
            f.write("".join("%s %s\n" % l for l in self.links if l[0][0] == "r" and l[1][0] == "r"))
        return self.path("topology")

    def queue(self, v6=False):
        """Lets the kernel queue what the routers forward."""
        for r in [] if self.queued else self.routers:
            for tool in ["iptables-legacy"] + (["ip6tables-legacy"] if v6 else []):
                self.run(r, tool, "-t", "mangle", "-A", "FORWARD", "-j", "NFQUEUE", "--queue-num", "0")
        self.queued = True

    def start(self, name, node, *command, ready="ready"):
        log = open(self.path(name + ".log"), "w+")
        p = subprocess.Popen(self.command(node, *command), stdout=subprocess.PIPE, stderr=log, text=True)
        self.running[name] = (p, log)
        return p, log, ready

    def wait_ready(self, started):
        for p, log, ready in started:
            limit = time.time() + 60
            while ready not in open(log.name).read():
                if p.poll() is not None or time.time() > limit:
                    raise AssertionError("%s: %s" % (" ".join(p.args[4:7]), open(log.name).read()[-300:]))
                time.sleep(0.01)

    def stop(self, name):
        """Stops a program; returns what it printed."""
        p, log = self.running.pop(name)
        p.send_signal(signal.SIGINT)
        out = p.communicate(timeout=60)[0]
        if p.returncode:
            raise AssertionError("%s: exit %d: %s" % (name, p.returncode, open(log.name).read()[-300:]))
        return out

    def interrupt(self, prefix):
        """Asks programs to stop; returns their names."""
        names = [n for n in self.running if n.startswith(prefix)]
        for name in names:
            self.running[name][0].send_signal(signal.SIGINT)
        return names

    def stop_all(self):
        for name in list(self.running):
            with contextlib.suppress(Exception):
                self.stop(name)

    def mark(self, *options, routers=None):
        """Starts a marker on each router."""
        self.queue("--ipv6" in self.options)
        self.wait_ready([self.start("mark-" + r, r, self.tool, "mark", "--queue", "0", "--router", r, "--key-file", self.key,
                                    "--json", *options) for r in routers or self.routers])

    def await_idle(self):
        """Waits until no packet is in a queue, and none has come since the last look."""
        before = None
        while True:
            now = []
            for name in self.running:
                if name.startswith("mark-"):
                    now += self.run(name[5:], "cat", "/proc/net/netfilter/nfnetlink_queue").stdout.split()
            # Columns: queue, owner, waiting, mode, range, dropped twice, packets so far, 1.
            if now == before and not any(int(x) for x in now[2::9]):
                return
            before = now

    def unmark(self):
        """Stops them; returns the reports by router."""
        self.await_idle()
        return {n[5:]: json.loads(self.stop(n)) for n in self.interrupt("mark-")}

    def capture(self, node):
        need("tcpdump")
        pcap = self.path("capture.pcap")
        self.wait_ready([self.start("tcpdump", node, "tcpdump", "-i", "any", "-B", "32768", "-Z", "root", "-w", pcap, "-Q", "in",
                                    "-s", "0", "-U", "udp or ip6", ready="listening on")])
        return pcap

    def await_packets(self, pcap, names):
        """Waits until the capture has that many packets of each name, or nothing comes any more."""
        have, since = {}, time.time()
        while time.time() - since < 5:
            now = collections.Counter(n[0] for n in read_pcap(pcap) if n)
            if all(now[n] >= k for n, k in names.items()):
                break
            if now != have:
                have, since = now, time.time()
            time.sleep(0.05)
        return self.stop("tcpdump")

    def send(self, node, **spec):
        spec = {"v6": False, "preset": None, "forge": True, "ttl": 64, "seed": 1, **spec}
        self.run(node, sys.executable, os.path.abspath(__file__), "--send", json.dumps(spec))

    def trace_back(self, pcap, topology, *options):
        p = subprocess.run([self.tool, "trace-back", pcap, "--topology", topology, "--key-file", self.key, "--json", *options],
                           text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if p.returncode:
            raise AssertionError("trace-back: exit %d: %s" % (p.returncode, p.stderr))
        return [json.loads(line) for line in p.stdout.splitlines()]


# --- the paper's formulas ---------------------------------------------------

def missed_share(hops, k0, k1):
    """Equation (11) with distinct cells: the mean share of routers of the path that are missed."""
    q0, q1 = k0 / BITS, k1 / BITS
    share = 0
    for later in range(hops):
        left = (1 - q0 - q1) ** later
        zero = (q0 + q1 * left) / (q0 + q1) if k0 + k1 else 1
        one = (q1 + q0 * left) / (q0 + q1)
        share += 1 - zero ** k0 * one ** k1
    return share / hops


def sigmas(seen, expected, variance):
    return abs(seen - expected) / math.sqrt(variance) if variance > 1e-9 else (0 if abs(seen - expected) < 1e-6 else math.inf)


# --- parts ------------------------------------------------------------------

def attack(net, monitor, dst, victim, shape, n, v6=False):
    """Sends n attacks with each preset; returns the capture and its names."""
    pcap = net.capture(victim)
    for preset in PRESETS:
        net.send(monitor, name=preset, count=n, preset=preset, dst=dst, shape=shape, v6=v6, pace=20, seed=1 + PRESETS.index(preset))
    net.await_packets(pcap, {p: n for p in PRESETS})
    return pcap, list(read_pcap(pcap))


def by_preset(rows, names):
    out = collections.defaultdict(list)
    for row in rows:
        name = names[row["packet"] - 1]
        if name:
            out[name[0]].append(row)
    return out


def check_attacks(net, pcap, names, path, k0, k1, n, label):
    topology = net.topology(path[0])
    every = by_preset(net.trace_back(pcap, topology, "--every", "--reset", str(k0), "--set", str(k1)), names)
    wild = by_preset(net.trace_back(pcap, topology, "--reset", str(k0), "--set", str(k1)), names)
    strict = by_preset(net.trace_back(pcap, topology, "--no-wildcards", "--reset", str(k0), "--set", str(k1)), names)
    hops, others = len(path), len(net.routers) - len(path)
    for preset in PRESETS:
        check(len(every[preset]), n, "%s, %s: marked packets that arrived" % (label, preset))
        missed = false = expected = variance = 0
        for row in every[preset]:
            missed += len(set(path) - set(row["candidates"]))
            false += len(set(row["candidates"]) - set(path))
            p = row["expected_false"] / len(net.routers)
            expected += others * p
            variance += others * p * (1 - p)
        share = missed_share(hops, k0, k1) if k0 else 0
        off_missed = sigmas(missed, n * hops * share, n * hops * share * (1 - share))
        off_false = sigmas(false, expected, variance)
        found = sum(path[-1] in row["candidates"] for row in wild[preset])
        exact = sum(row["path"] == path for row in wild[preset])
        alone = sum(path[-1] in row["candidates"] for row in strict[preset])
        extra = sum(len(set(row["candidates"]) - set(path)) for row in wild[preset]) / n
        print("  %s, %-6s: missed %d (expected %.0f, %.1f sigmas), false %d (%.1f, %.1f sigmas); source found %d, without wildcards "
              "%d; path exact %d, false routers a packet %.2f" % (label, preset, missed, n * hops * share, off_missed, false, expected,
                                                               off_false, found, alone, exact, extra))
        check(found, n, "%s, %s: sources found" % (label, preset))
        check_at_most(off_missed, SIGMAS, "%s, %s: missed routers, in sigmas" % (label, preset))
        check_at_most(off_false, SIGMAS, "%s, %s: false routers, in sigmas" % (label, preset))


def chain(routers, hops):
    """Links of a network whose longest path has that many routers; the others hang from it."""
    links = [("r%d" % i, "r%d" % (i + 1)) for i in range(hops - 1)]
    links += [("r%d" % i, "r%d" % ((i - hops) % hops)) for i in range(hops, routers)]
    return links + [("m0", "r%d" % (hops - 1)), ("d0", "r0")]


def part_mark(options):
    need("iptables-legacy", "tcpdump")
    with Net(options.tool, "--ipv6", links=chain(30, 12)) as net:
        path = net.path_of("m0", "10.200.0.1")
        check(len(path), 12, "routers on the path")
        v6 = next(d for m, d in net.truth(True) if m == "m0")
        shapes = [(4, 4, False), (0, 4, False), (4, 4, True)] + ([(2, 2, False), (1, 1, False)] if options.attacks >= 500 else [])
        for k0, k1, ipv6 in shapes:
            net.mark("--reset", str(k0), "--set", str(k1))
            label = ("plain filter, k = %d" % k1 if not k0 else "%d + %d" % (k0, k1)) + (", IPv6" if ipv6 else "")
            pcap, names = attack(net, "m0", v6 if ipv6 else "10.200.0.1", "d0", k0 << 4 | k1, options.attacks, ipv6)
            reports = net.unmark()
            check(sum(r["kernel_drops"] for r in reports.values()), 0, "packets that the kernel dropped")
            check_attacks(net, pcap, names, path, k0, k1, options.attacks, label)


def ring_links():
    """A ring of 20 routers, with a chord from the first to each other one."""
    links = [("r%d" % i, "r%d" % (i + 1)) for i in range(19)]
    return links + [("r0", "r%d" % i) for i in range(2, 20)] + [("m0", "r0"), ("d0", "r19")]


def route(net, prefix, hops):
    """Routes a prefix along a list of nodes."""
    at = {frozenset(l): i for i, l in enumerate(net.links)}
    for x, y in zip(hops, hops[1:]):
        i = at[frozenset((x, y))]
        n = i * 4 + 1 + net.links[i].index(y)
        net.run(x, "ip", "route", "replace", prefix, "via", "10.%d.%d.%d" % (n >> 16, n >> 8 & 255, n & 255))


def drop_share(hops, k, suspicions):
    """The probability that a packet without a loop is dropped: states are the ones so far, and the last routers that changed
    nothing."""
    state, dropped = {(0, 0): 1.0}, 0.0
    total = math.comb(BITS, k)
    for _ in range(hops):
        after = collections.defaultdict(float)
        for (ones, row), p in state.items():
            for fresh in range(k + 1):
                q = p * math.comb(max(BITS - ones, 0), fresh) * math.comb(ones, k - fresh) / total
                if q == 0:
                    continue
                if fresh:
                    after[ones + fresh, 0] += q
                elif row + 1 < suspicions:
                    after[ones, row + 1] += q
                else:
                    dropped += q
        state = after
    return dropped


def part_loop(options):
    need("iptables-legacy")
    n = 200
    with Net(options.tool, links=ring_links()) as net:
        for r in net.routers:
            net.run(r, "sh", "-c", "echo 0 >/proc/sys/net/ipv4/conf/all/send_redirects")
        for length in range(2, 21):
            route(net, "10.250.%d.0/24" % length, ["r%d" % i for i in range(length)] + ["r0"])
        route(net, "10.251.0.0/24", ["r%d" % i for i in range(20)] + ["d0"])
        worst = 0
        for length in range(2, 21) if options.attacks >= 500 else (2, 3, 20):
            net.mark("--policy", "loop", routers=net.routers[:length])
            net.send("m0", name="loop", count=n, dst="10.250.%d.1" % length, ttl=255, pace=20, seed=length)
            reports = net.unmark()
            loops = sum(r["loops"] for r in reports.values())
            hops = sum(r["packets"] for r in reports.values())
            check(loops, n, "packets cut in a loop of %d" % length)
            check_at_most(hops, n * 2 * length, "routers that the packets of a loop of %d passed" % length)
            worst = max(worst, hops / n / length)
        print("  loops of 2 to 20 routers: %d packets each, all cut, after %.2f rounds at most" % (n, worst))
        net.mark("--policy", "loop", "--set", str(options.loop_set))
        net.send("m0", name="straight", count=options.packets, dst="10.251.0.1", pace=200, forge=True)
        reports = net.unmark()
        hops = sum(r["packets"] for r in reports.values())
        drops = sum(r["loops"] for r in reports.values())
        lost = sum(r["kernel_drops"] for r in reports.values())
        share = drop_share(20, options.loop_set, 2)
        expected = options.packets * share
        print("  %d packets over 20 routers without a loop (%d markings): %d dropped, %.2f predicted" % (options.packets, hops, drops,
                                                                                                  expected))
        check(lost, 0, "packets that the kernel dropped")
        check(reports["r0"]["packets"], options.packets, "packets at the first router")
        check(reports["r19"]["packets"] >= options.packets - drops, True, "packets at the last router")
        check_at_most(abs(drops - expected), SIGMAS * math.sqrt(expected + 1), "drops beside the prediction")


def cpu_of(pid):
    fields = open("/proc/%d/stat" % pid).read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def part_cost(options):
    need("iptables-legacy")
    n = max(options.packets, 20000)
    with Net(options.tool, links=[("m0", "r0"), ("d0", "r0")]) as net:
        net.queue()
        helper = os.path.join(os.path.dirname(net.tool), "tests", "packets_helper")
        best = {"accept": math.inf, "mark": math.inf}
        for _ in range(3):
            for what in best:
                command = [helper, "accept", "0"] if what == "accept" else \
                    [net.tool, "mark", "--queue", "0", "--router", "r0", "--key-file", net.key, "--json"]
                net.wait_ready([net.start(what, "r0", *command)])
                pid = net.running[what][0].pid
                before = cpu_of(pid)
                for size in (64, 1000):
                    net.run("m0", helper, "flood", "10.200.0.1", "9", str(n // 2), str(size))
                time.sleep(0.2)
                spent = cpu_of(pid) - before
                report = json.loads(net.stop(what))
                best[what] = min(best[what], spent / report["packets"])
        print("  CPU time a packet, best of 3 runs of %d: accept %.2f us, mark %.2f us; rate %.2f of the other" % (
            n, 1e6 * best["accept"], 1e6 * best["mark"], best["accept"] / best["mark"]))
        if options.packets >= 100000:  # shorter runs are too short for a clock of 10 ms
            check_at_most(0.8, best["accept"] / best["mark"], "rate of mark by that of accept")


def part_witness(options):
    need("tcpdump")
    n = 500
    with Net(options.tool, links=chain(30 if options.attacks >= 500 else 16, 10)) as net:
        path = net.path_of("m0", "10.200.0.1")
        place = {frozenset(l): i for i, l in enumerate(net.links)}
        way = ["d0"] + path
        started, dirs = [], []
        for r in net.routers:
            towards = way[way.index(r) - 1] if r in path else next(b if a == r else a for a, b in net.links if r in (a, b))
            d = net.path("slices-" + r)
            os.mkdir(d)
            os.chmod(d, 0o777)
            dirs.append(d)
            started.append(net.start("witness-" + r, r, net.tool, "witness", "--interface", "v%d" % place[frozenset((r, towards))],
                                     "--dir", d, "--slice", "10s", "--capacity", "10000", "--router", r, "--seed", "1", "--json"))
        net.wait_ready(started)
        pcap = net.capture("d0")
        net.send("m0", name="packet", count=n, dst="10.200.0.1", pace=20)
        net.await_packets(pcap, {"packet": n})
        reports = {n: json.loads(net.stop(n)) for n in net.interrupt("witness-")}
        check(sum(r["kernel_drops"] for r in reports.values()), 0, "packets that the kernel dropped")
        p = subprocess.run([net.tool, "did", *dirs, pcap, "--topology", net.topology(path[0]), "--json"], text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        check(p.returncode, 0, "exit code of did: " + p.stderr[-300:])
        hops = collections.defaultdict(dict)
        for line in p.stdout.splitlines():
            row = json.loads(line)
            hops[row["digest"]][row["router"]] = row["hop"]
        check(len(hops), n, "packets that were seen")
        wanted = {r: i + 1 for i, r in enumerate(path)}
        for found in hops.values():
            check({r: h for r, h in found.items() if r in wanted}, wanted, "routers of the path, by hop")
        off = sum(len(found) - len(path) for found in hops.values())
        print("  %d packets found at each of %d routers, with the right hop; %d false answers of %d others" % (
            n, len(path), off, n * (len(net.routers) - len(path))))
        check_at_most(off, 10, "false answers")  # 10,000 questions, of which at most 5 should be false


def part_traffic(options):
    need("iptables-legacy", "curl", "iperf3")
    with Net(options.tool, "--ipv6", links=chain(6, 4)) as net:
        for host in ("m0", "d0"):  # leave space for the option
            for family in ("-4", "-6"):
                default = net.run(host, "ip", family, "route", "show", "default").stdout.split()
                net.run(host, "ip", family, "route", "replace", *default[:default.index("dev") + 2], "mtu", "1440")
        v6 = next(d for m, d in net.truth(True) if m == "m0")
        net.mark()
        os.mkdir(net.path("www"))
        data = random.Random(1).randbytes(1 << 20)
        with open(net.path("www/file"), "wb") as f:
            f.write(data)
        net.wait_ready([net.start("http", "d0", sys.executable, "-u", "-c",
                                  "import http.server as h, socket, sys\nclass S(h.ThreadingHTTPServer):\n address_family=socket.AF_INET6\n"
                                  "s=S(('::',80),lambda *a:h.SimpleHTTPRequestHandler(*a,directory=sys.argv[1]))\n"
                                  "print('ready',file=sys.stderr)\ns.serve_forever()", net.path("www"))])
        for address in ("10.200.0.1", "[%s]" % v6):
            net.run("m0", "curl", "-sS", "-m", "20", "-o", net.path("got"), "http://%s/file" % address)
            check(open(net.path("got"), "rb").read() == data, True, "the file that curl got from " + address)
        p, log = net.running.pop("http")
        p.kill()
        p.wait()
        server = subprocess.Popen(net.command("d0", "iperf3", "-s", "-1"), stdout=subprocess.DEVNULL)
        limit = time.time() + 20
        while True:
            p = subprocess.run(net.command("m0", "iperf3", "-c", "10.200.0.1", "-n", "4M", "-J"), text=True, stdout=subprocess.PIPE)
            if p.returncode == 0 or time.time() > limit:
                break
            time.sleep(0.1)
        server.wait(timeout=20)
        sent = json.loads(p.stdout)["end"]["sum_sent"]["bytes"]
        reports = net.unmark()
        marked = sum(r["marked"] for r in reports.values())
        check_at_most(4 << 20, sent, "bytes that iperf3 sent")
        check(sum(r["too_large"] + r["no_space"] + r["malformed"] for r in reports.values()), 0, "packets that were not marked")
        print("  curl (IPv4, IPv6) and iperf3: %d markings" % marked)


def show(tool, what, limit, *args, code=(0, 1)):
    """Prints a command as one would type it, and the first lines of what it prints."""
    p = subprocess.run([tool, *args], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    print("    $ umbel packets %s" % what)
    for line in p.stdout.splitlines()[:limit]:
        print("    " + line)
    if p.returncode not in code:
        raise AssertionError("%s: exit %d" % (args[0], p.returncode))
    return p.stdout


def demo(options):
    """The demonstration: a forged flood, its flow, its path found in both ways, and a loop that is cut."""
    tool = os.path.abspath(options.tool)
    with Net(tool, links=chain(30, 9)) as net:
        path = net.path_of("m0", "10.200.0.1")
        place = {frozenset(l): i for i, l in enumerate(net.links)}
        way, dirs = ["d0"] + path, []
        print("A network of 30 routers. Each marks what it forwards, and records it:\n")
        print("    $ umbel packets mark --queue 0 --router r3 --key-file marks.key")
        print("    $ umbel packets witness --interface eth0 --dir r3")
        net.mark()
        started = []
        for r in net.routers:
            towards = way[way.index(r) - 1] if r in path else next(b if a == r else a for a, b in net.links if r in (a, b))
            dirs.append(net.path(r))
            os.mkdir(dirs[-1])
            os.chmod(dirs[-1], 0o777)
            started.append(net.start("witness-" + r, r, tool, "witness", "--interface", "v%d" % place[frozenset((r, towards))],
                                     "--dir", dirs[-1], "--capacity", "10000", "--json"))
        net.wait_ready(started)
        pcap = net.capture("d0")
        net.send("m0", name="flood", count=3000, dst="10.200.0.1", pace=50, preset="random", shape=0x44, size=400)
        net.await_packets(pcap, {"flood": 3000})
        for name in net.interrupt("witness-"):
            net.stop(name)
        net.unmark()
        topology = net.topology(path[0])
        print("\n1. Somebody floods the victim from forged addresses, with random bits in the option. Whom?\n")
        show(tool, "flows flood.pcap --by dst --threshold 100kB --interval 0", 2, "flows", pcap, "--by", "dst", "--threshold", "100kB",
             "--interval", "0")
        one = net.path("one.pcap")
        subprocess.run(["tcpdump", "-r", pcap, "-w", one, "-c", "1", "udp"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        print("\n2. Where does it come from? One packet is enough. Its marks say (the attacker is behind %s):\n" % path[-1])
        out = show(tool, "trace-back one.pcap --topology links --key-file marks.key", 1, "trace-back", one, "--topology", topology,
                   "--key-file", net.key)
        check(path[-1] in out.split(), True, "the source by marks")
        print("\n3. The slices of the routers say the same, with the probability that each answer is wrong:\n")
        out = show(tool, "did r0 r1 ... r29 one.pcap --topology links", 9, "did", *dirs, one, "--topology", topology)
        check([line.split()[1] for line in out.splitlines() if " hop " in line][:len(path)], path, "the path by slices")
    with Net(tool, links=ring_links()) as net:
        print("\n4. Routes that are wrong send 500 packets around in a loop of seven routers, with a TTL of 255:\n")
        route(net, "10.250.0.0/24", ["r%d" % i for i in range(7)] + ["r0"])
        for policy, text in (("mark", "without loop detection"), ("loop", "with --policy loop")):
            net.mark("--policy", policy, routers=net.routers[:7])
            net.send("m0", name="loop", count=500, dst="10.250.0.1", ttl=255, pace=20)
            reports = net.unmark()
            print("    %s: each packet passed %.1f routers" % (text, sum(r["packets"] for r in reports.values()) / 500))


PARTS = {"mark": part_mark, "loop": part_loop, "cost": part_cost, "witness": part_witness, "traffic": part_traffic}


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--send":
        return send(sys.argv[2])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tool")
    parser.add_argument("parts", nargs="*", metavar="PART")
    parser.add_argument("--attacks", type=int, default=40, help="of each preset (40)")
    parser.add_argument("--packets", type=int, default=2000, help="without a loop, and for the cost (2000)")
    parser.add_argument("--demo", action="store_true", help="show a flood and a loop, for make demo-packets")
    parser.add_argument("--loop-set", type=int, default=8, help="cells of a router, for loops (8)")
    options = parser.parse_intermixed_args()
    if os.geteuid() != 0 or not shutil.which("ip"):
        print("skipped: network namespaces need root and iproute2")
        return 77
    if options.demo:
        return demo(options)
    results = collections.Counter()
    for name in options.parts or PARTS:
        start = time.time()
        try:
            PARTS[name](options)
            outcome, why = "passed", ""
        except Skip as e:
            outcome, why = "skipped", ": %s" % e
        except (AssertionError, subprocess.CalledProcessError, OSError) as e:
            outcome, why = "failed", ": %s" % e
        results[outcome] += 1
        print("%s %s (%.1f s)%s" % (outcome, name, time.time() - start, why), flush=True)
    print("%d passed, %d failed, %d skipped" % (results["passed"], results["failed"], results["skipped"]))
    return 1 if results["failed"] else 0 if results["passed"] else 77


if __name__ == "__main__":
    sys.exit(main())
