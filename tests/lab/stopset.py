#!/usr/bin/env python3
"""stopset.py UMBEL-STOPSET [PART...] - umbel-stopset on real networks.

Labs of network namespaces (netlab.py), whose paths are known exactly: every
trace is held against that truth, every count against packet counters of the
kernel in the monitor's namespace. Without PART all of them run; a part that lacks
a program is skipped with a message. Needs root and iproute2.

Ends with "N passed, N failed, N skipped"; exit status 1 if any failed, 77 when
nothing could run.
"""
import collections, contextlib, glob, json, os, random, shutil, signal, subprocess, sys, tempfile, time

HERE = os.path.dirname(os.path.abspath(__file__))
NETLAB = [sys.executable, os.path.join(HERE, "netlab.py")]
LARGE = ["--routers", "100", "--monitors", "10", "--dests", "50", "--per-dest", "20"]
MONITORS = ["m%d" % i for i in range(10)]
ALLOW = ["--allow", "10.200.0.0/16,fd00:200::/32"]
PACE = ["--rate", "50000"]


class Skip(Exception):
    """What is missing."""


def need(*programs):
    for p in programs:
        if not shutil.which(p):
            raise Skip("%s is not installed (tools/deps systems)" % p)


def check(got, want, what):
    if got != want:
        raise AssertionError("%s: %s instead of %s" % (what, got, want))


def check_at_most(got, limit, what):
    if not got <= limit:
        raise AssertionError("%s: %s, at most %s" % (what, got, limit))


class Lab:
    """A lab that stands until the block ends."""
    made = 0

    def __init__(self, *options):
        Lab.made += 1
        self.prefix = "ums%d-%d" % (os.getpid(), Lab.made)
        self.options = list(options)
        self.dir = tempfile.mkdtemp(prefix="umbel-lab-")
        os.chmod(self.dir, 0o755)
        self.state = os.path.join(self.dir, "lab.json")

    def netlab(self, *args):
        return subprocess.run(NETLAB + list(args[:1]) + ["--prefix", self.prefix, "--state", self.state] + list(args[1:]),
                              check=True, text=True, stdout=subprocess.PIPE).stdout

    def __enter__(self):
        subprocess.run(NETLAB + ["up", "--prefix", self.prefix, "--state", self.state] + self.options, check=True,
                       stderr=subprocess.DEVNULL)
        return self

    def __exit__(self, *_):
        subprocess.run(NETLAB + ["down", "--prefix", self.prefix, "--state", self.state], stderr=subprocess.DEVNULL)
        shutil.rmtree(self.dir)

    def path(self, name):
        return os.path.join(self.dir, name)

    def command(self, node, *command):
        return ["ip", "netns", "exec", "%s-%s" % (self.prefix, node)] + list(command)

    def run(self, node, *command, code=0, **options):
        p = subprocess.run(self.command(node, *command), text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
        if p.returncode != code:
            raise AssertionError("%s: exit %d instead of %d: %s" % (" ".join(command[:3]), p.returncode, code, p.stderr[-500:]))
        return p

    def truth(self, v6=False):
        """(monitor, destination) -> [path], each with the destination at its end"""
        out = collections.defaultdict(list)
        for line in self.netlab("truth", *(["--ipv6"] if v6 else [])).splitlines():
            m, dst, *hops = line.split()
            out[m, dst].append(hops + [dst])
        return out

    def silence_one(self, truth, monitor):
        """Keeps a router from answering that some paths of a monitor pass and others do not; returns its addresses."""
        links = json.load(open(self.state))["links"]
        addresses = collections.defaultdict(set)
        for i, ends in enumerate(links):
            for side, node in enumerate(ends):
                n = i * 4 + 1 + side
                addresses[node].add("10.%d.%d.%d" % (n >> 16, n >> 8 & 255, n & 255))
        paths = [set(p[0]) for (m, _), p in truth.items() if m == monitor]
        for node, own in addresses.items():
            share = sum(bool(p & own) for p in paths) / len(paths)
            if node[0] == "r" and 0 < share < 1:
                for limit in ("icmp_msgs_per_sec", "icmp_msgs_burst"):
                    self.run(node, "sh", "-c", "echo 0 >/proc/sys/net/ipv4/" + limit)
                return own
        raise AssertionError("no router is on some paths and not on others")

    def count_probes(self, node):
        """Begins to count what leaves for the destinations."""
        need("iptables")
        for tool, net in (("iptables", "10.200.0.0/16"), ("ip6tables", "fd00:200::/32")):
            self.run(node, tool, "-A", "OUTPUT", "-d", net, "-j", "ACCEPT")

    def counted_bytes(self, node):
        """packets and bytes of IP since the last call"""
        packets = length = 0
        for tool in ("iptables", "ip6tables"):
            for line in self.run(node, tool, "-nvxL", "OUTPUT", "-Z").stdout.splitlines():
                if "ACCEPT" in line and "policy" not in line:
                    packets += int(line.split()[0])
                    length += int(line.split()[1])
        return packets, length

    def counted(self, node):
        return self.counted_bytes(node)[0]


class Tool:
    def __init__(self, program):
        self.program = os.path.abspath(program)

    def __call__(self, *args, code=0):
        p = subprocess.run([self.program] + list(args), text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if p.returncode != code:
            raise AssertionError("%s: exit %d instead of %d: %s" % (" ".join(args[:2]), p.returncode, code, p.stderr[-500:]))
        return p

    def trace(self, lab, monitor, targets, output, *options, user=None, code=0):
        """Traces; returns the summary."""
        with open(lab.path("targets"), "w") as f:
            f.write("".join(t + "\n" for t in targets))
        pace = [] if "--rate" in options else PACE
        command = [self.program, "trace", lab.path("targets"), "-o", output, "--json"] + ALLOW + pace + list(options)
        if user is not None:
            command = ["setpriv", "--reuid", str(user), "--regid", str(user), "--clear-groups"] + command
        return json.loads(lab.run(monitor, *command, code=code).stdout)


def read_traces(path):
    """destination -> ({ttl: address}, stop reason)"""
    out = {}
    for line in open(path):
        t = json.loads(line)
        if t["type"] == "trace":
            out[t["dst"]] = ({h["probe_ttl"]: h["addr"] for h in t.get("hops", [])}, t["stop_reason"])
    return out


def as_hops(path):
    return {i + 1: a for i, a in enumerate(path)}


def targets_of(truth, monitor):
    return list(dict.fromkeys(d for m, d in truth if m == monitor))


def compare(truth, monitor, traces, what):
    """Every trace is a true path, whole."""
    check(len(traces), len(targets_of(truth, monitor)), what + ": traces")
    for dst, (hops, stop) in traces.items():
        if stop != "COMPLETED" or hops not in [as_hops(p) for p in truth[monitor, dst]]:
            raise AssertionError("%s: %s to %s: %s %s, true: %s" % (what, monitor, dst, hops, stop, truth[monitor, dst]))


def add_up(total, summary):
    for k, v in summary.items():
        if isinstance(v, int):
            total[k] = total.get(k, 0) + v
    return total


def nodes_and_links(hops_of_traces):
    """Routers' addresses and the links between them, destinations left out."""
    nodes, links = set(), set()
    for dst, hops in hops_of_traces:
        routers = {t: a for t, a in hops.items() if a != dst}
        nodes |= set(routers.values())
        links |= {(a, routers[t + 1]) for t, a in routers.items() if t + 1 in routers}
    return nodes, links


def all_of(truth):
    return nodes_and_links((dst, as_hops(p)) for (m, dst), paths in truth.items() for p in paths)


# ------------------------------------------------------------------ the parts
def part_truth(tool):
    """All 10,000 traces are the truth, before and after links are cut."""
    with Lab(*LARGE, "--ipv6") as lab:
        for cuts in (None, ("r0", "r1"), ("r1", "r4")):
            if cuts:
                lab.netlab("cut", *cuts)
            if cuts == ("r0", "r1"):
                continue
            for v6 in (False, True):
                truth = lab.truth(v6)
                for method, user in (("icmp", None), ("udp", None), ("udp", 65534)):
                    for m in MONITORS:
                        out = lab.path("t-%s" % os.urandom(4).hex())
                        if user:
                            open(out, "w").close()
                            os.chmod(out, 0o666)
                        tool.trace(lab, m, targets_of(truth, m), out, "--method", method, user=user)
                        compare(truth, m, read_traces(out), "%s%s%s" % (method, " as nobody" if user else "", " IPv6" if v6 else ""))
                        os.unlink(out)


def part_loss(tool):
    """With loss hops are missing, and none is wrong."""
    need("iptables")
    with Lab("--routers", "60", "--monitors", "3", "--dests", "20", "--per-dest", "10", "--loss", "0.05") as lab:
        truth, missing = lab.truth(), 0
        for m in ("m0", "m1", "m2"):
            tool.trace(lab, m, targets_of(truth, m), lab.path("t"), "--wait", "0.3", "--attempts", "3")
            for dst, (hops, stop) in read_traces(lab.path("t")).items():
                want = as_hops(truth[m, dst][0])
                wrong = {t: a for t, a in hops.items() if want.get(t, dst) != a}
                check(wrong, {}, "wrong hops to " + dst)
                missing += len(set(want) - set(hops))
        check_at_most(missing, 200, "hops missing after three attempts, of about 4,000")


def part_ecmp(tool):
    """Where paths are of equal cost no link is invented; classic traceroute does."""
    need("traceroute")
    with Lab("--routers", "40", "--monitors", "2", "--dests", "20", "--per-dest", "5", "--extra", "40", "--ecmp", "--ipv6") as lab:
        other = 0
        for v6 in (False, True):
            truth = lab.truth(v6)
            several = [d for d in targets_of(truth, "m0") if len(truth["m0", d]) > 1]
            if len(several) < 10:
                raise AssertionError("the lab has too few destinations with several paths")
            for method in ("icmp", "udp"):
                tool.trace(lab, "m0", targets_of(truth, "m0"), lab.path("a"), "--method", method)
                compare(truth, "m0", read_traces(lab.path("a")), "equal-cost paths, " + method)
            tool.trace(lab, "m0", targets_of(truth, "m0"), lab.path("b"), "--method", "udp", "--flow", "7")
            compare(truth, "m0", read_traces(lab.path("b")), "another flow")
            a, b = read_traces(lab.path("a")), read_traces(lab.path("b"))
            other += sum(a[d][0] != b[d][0] for d in several)
        if not other:
            raise AssertionError("--flow 7 took the same path everywhere")
        truth, _ = lab.truth(), None
        links, invented = all_of(truth)[1], 0
        for dst in [d for d in targets_of(truth, "m0") if len(truth["m0", d]) > 1][:40]:
            hops = [l.split()[1] for l in lab.run("m0", "traceroute", "-n", "-q", "1", "-w", "0.2", dst).stdout.splitlines()[1:]]
            routers = [h for h in hops if h != dst]
            invented += sum(p not in links for p in zip(routers, routers[1:]))
        if not invented:
            raise AssertionError("classic traceroute invents no link here: the lab does not test anything")
        return "classic traceroute invents %d links on 40 traces, ours none" % invented


def trace_all(tool, lab, truth, name, *options):
    """All monitors; returns the added-up summary, with probes as the kernel counts them."""
    total = {}
    for m in MONITORS:
        summary = tool.trace(lab, m, targets_of(truth, m), lab.path("%s.%s" % (name, m)), *options)
        add_up(total, summary)
        total["counted"] = total.get("counted", 0) + lab.counted(m)
    check(total["counted"], total["probes"], name + ": probes by the kernel's counters and by our own word")
    return total


def traces_of(lab, name):
    return [(m, dst, hops, stop) for m in MONITORS for dst, (hops, stop) in read_traces(lab.path("%s.%s" % (name, m))).items()]


def learn(tool, lab, name, table):
    tool("learn", *[lab.path("%s.%s" % (name, m)) for m in MONITORS], "-o", lab.path(table), "--quiet")


def classify(lab, truth, name):
    """success, short, collision of a run with the red set"""
    out = collections.Counter()
    for m, dst, hops, stop in traces_of(lab, name):
        path = truth[m, dst][0]
        at = max(hops)
        out["success" if stop == "RED" and at == len(path) - 1 else "short" if stop == "RED" else "collision"] += 1
    return out["success"], out["short"], out["collision"]


def missed(lab, truth, name):
    """shares of nodes and links, in percent, that full traces find and these do not"""
    nodes, links = all_of(truth)
    got = nodes_and_links((dst, hops) for m, dst, hops, stop in traces_of(lab, name))
    return tuple(round(100 * len(want - have) / len(want), 1) for want, have in zip((nodes, links), got))


def part_red(tool):
    """The red set spares all destinations; where they are dense, the key decides."""
    need("iptables")
    for stubs, full, keys, after in (
            ([], 72840, {"hop": (62840, (10000, 0, 0), 0.0), "hop+prefix": (62840, (10000, 0, 0), 0.0)},
             {"hop": (64260, (10000, 0, 0)), "hop+prefix": (64260, (10000, 0, 0))}),
            (["--stubs", "0"], 62840, {"hop": (21140, (1240, 8760, 0), 58.1), "hop+prefix": (52840, (10000, 0, 0), 0.0)},
             {"hop": (23780, (1560, 8440, 0)), "hop+prefix": (54300, (9960, 0, 40))})):
        with Lab(*LARGE, *stubs) as lab:
            for m in MONITORS:
                lab.count_probes(m)
            truth = lab.truth()
            check(trace_all(tool, lab, truth, "full")["probes"], full, "full traces")
            learn(tool, lab, "full", "table")
            for key, (probes, kinds, nodes) in keys.items():
                tool("build", lab.path("table"), "--set", "red", "--key", key, "-o", lab.path(key), "--quiet")
                total = trace_all(tool, lab, truth, "red-" + key, "--red", lab.path(key))
                check(total["counted"], probes, key + ": probes")
                check(total["destination_probes"], 0, key + ": destination probes")
                check(classify(lab, truth, "red-" + key), kinds, key + ": success, short, collision")
                check(missed(lab, truth, "red-" + key)[0], nodes, key + ": nodes missed")
            lab.netlab("cut", "r0", "r1")
            lab.netlab("cut", "r1", "r4")
            truth = lab.truth()
            for key, (probes, kinds) in after.items():
                total = trace_all(tool, lab, truth, "cut-" + key, "--red", lab.path(key))
                check(total["counted"], probes, key + ": probes after the cuts")
                check(classify(lab, truth, "cut-" + key), kinds, key + ": success, short, collision after the cuts")


def part_unknown(tool):
    """An exact set that some monitors learned stops no trace of the others short."""
    with Lab("--routers", "20", "--monitors", "6", "--dests", "20") as lab:
        truth = lab.truth()
        for m in ("m0", "m1"):
            tool.trace(lab, m, targets_of(truth, m), lab.path("full." + m))
        tool("learn", lab.path("full.m0"), lab.path("full.m1"), "-o", lab.path("table"), "--quiet")
        tool("build", lab.path("table"), "--key", "hop+prefix", "--form", "exact", "-o", lab.path("red"), "--quiet")
        stopped = 0
        for m in ("m2", "m3", "m4", "m5"):
            tool.trace(lab, m, targets_of(truth, m), lab.path("t"), "--red", lab.path("red"))
            for dst, (hops, stop) in read_traces(lab.path("t")).items():
                at, path = max(hops), truth[m, dst][0]
                if stop == "RED" and at < len(path) - 1:
                    raise AssertionError("%s to %s stopped at hop %d of %d" % (m, dst, at, len(path)))
                stopped += stop == "RED"
        return "%d of 80 traces stopped before the destination, none of them short" % stopped


def part_doubletree(tool):
    """One monitor after the other, each with what those before it found."""
    need("iptables")
    with Lab(*LARGE) as lab:
        for m in MONITORS:
            lab.count_probes(m)
        truth, lines = lab.truth(), []
        full = trace_all(tool, lab, truth, "full")["probes"]
        learn(tool, lab, "full", "table")
        tool("build", lab.path("table"), "--set", "red", "--key", "hop+prefix", "-o", lab.path("red"), "--quiet")
        for form, size, limit in (("list", [], 0.0), ("exact", ["--bytes", "2500"], 0.5)):
            total, done = {}, []
            for m in MONITORS:
                options = ["--share"]
                if done:
                    tool("learn", *done, "-o", lab.path("seen"), "--quiet")
                    tool("build", lab.path("seen"), "--set", "global", "--key", "hop+prefix", "--form", form, *size, "-o", lab.path("global"), "--quiet")
                    options = ["--global", lab.path("global")]
                done.append(lab.path("dt.%s" % m))
                add_up(total, tool.trace(lab, m, targets_of(truth, m), done[-1], "--red", lab.path("red"), "--local", "--first-hop", "4", *options))
                total["counted"] = total.get("counted", 0) + lab.counted(m)
            check_at_most(total["counted"], 0.33 * full, form + ": probes")
            check_at_most(total["destination_probes"], 800, form + ": destination probes")
            lost = missed(lab, truth, "dt")
            check_at_most(max(lost), limit, form + ": nodes and links missed, percent")
            lines.append("%s: %d of %d probes (%.3f), %d destination probes, missed %s" % (
                form, total["counted"], full, total["counted"] / full, total["destination_probes"], lost))
        return "; ".join(lines)


def part_same(tool):
    """Our tracer, scamper driven by us, and replay stop at the same hop."""
    need("scamper")
    with Lab("--routers", "60", "--monitors", "3", "--dests", "20", "--per-dest", "5", "--stubs", "0") as lab:
        truth = lab.truth()
        targets = targets_of(truth, "m0")
        tool.trace(lab, "m0", targets, lab.path("full"))
        tool("learn", lab.path("full"), "-o", lab.path("table"), "--quiet")
        for key in ("hop", "hop+prefix"):
            for form in ("list", "bloom"):
                size = [] if form == "list" else ["--bytes", "300"]
                tool("build", lab.path("table"), "--set", "red", "--key", key, "--form", form, *size, "-o", lab.path("set"), "--quiet")
                tool.trace(lab, "m0", targets, lab.path("own"), "--red", lab.path("set"))
                with running_scamper(lab, "m0") as socket:
                    tool.trace(lab, "m0", targets, lab.path("via"), "--red", lab.path("set"), "--via-scamper", socket)
                own, via = read_traces(lab.path("own")), read_traces(lab.path("via"))
                check(own, via, "%s %s: ours and by scamper" % (key, form))
                replay = json.loads(tool("replay", lab.path("set"), "--on", lab.path("full"), "--json").stdout)
                check(replay["probes"], sum(max(h) for h, _ in own.values()), "%s %s: probes by replay" % (key, form))
                check(replay["short"] + replay["genuine"] + (replay["lucky"] or 0), sum(s == "RED" for _, s in own.values()),
                      "%s %s: stops by replay" % (key, form))


@contextlib.contextmanager
def running_scamper(lab, node):
    path = lab.path("scamper-%s" % os.urandom(3).hex())
    p = subprocess.Popen(lab.command(node, "scamper", "-p", "10000", "-U", path), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(200):
            if os.path.exists(path):
                break
            time.sleep(0.02)
        yield path
    finally:
        p.terminate()
        p.wait()


def check_facts(lab, t, method, v6, bytes_sent, started):
    """What CAIDA's reader prints of our trace is what happened. Linux answers with TTL 64, and quotes the whole probe."""
    head = 40 if v6 else 20
    check(t["probe_size"], bytes_sent, "probe_size by the kernel's counters")
    check(t["method"], "udp-paris" if method == "udp" else "icmp-echo-paris", "method")
    if method == "udp":
        check((t["sport"], t["dport"]), (44434, 33434), "ports")
    begun = t["start"]["sec"] + t["start"]["usec"] / 1e6
    if not started <= begun <= time.time():
        raise AssertionError("start %s is not between %s and now" % (begun, started))
    for h in t["hops"]:
        echo = h["icmp_type"] == (129 if v6 else 0)
        check(h["probe_size"], bytes_sent, "probe_size of a hop")
        check(h["reply_ttl"], 65 - h["probe_ttl"], "reply_ttl at TTL %d" % h["probe_ttl"])
        check(h["reply_size"], bytes_sent if echo else head + 8 + bytes_sent, "reply_size at TTL %d" % h["probe_ttl"])


def part_facts(tool):
    """Every number that CAIDA's reader finds in our warts is true."""
    need("sc_warts2json", "iptables")
    with Lab("--routers", "12", "--monitors", "1", "--dests", "4", "--ipv6") as lab:
        lab.count_probes("m0")
        for v6 in (False, True):
            targets = targets_of(lab.truth(v6), "m0")
            tool.trace(lab, "m0", targets, lab.path("warm-up"))
            for method, contact in (("icmp", []), ("udp", []), ("icmp", ["--contact", "ops@example.net"]), ("udp", ["--contact", "me"])):
                lab.counted("m0")
                started = time.time()
                tool.trace(lab, "m0", targets, lab.path("t.warts"), "--format", "warts", "--method", method, *contact)
                packets, bytes_sent = lab.counted_bytes("m0")
                check(bytes_sent % packets, 0, "probes of one length")
                lines = subprocess.run(["sc_warts2json", lab.path("t.warts")], check=True, text=True, stdout=subprocess.PIPE).stdout
                traces = [t for t in map(json.loads, lines.splitlines()) if t["type"] == "trace"]
                check(len(traces), len(targets), "traces")
                if not any(t["start"]["usec"] for t in traces):
                    raise AssertionError("no trace has microseconds")
                for t in traces:
                    check_facts(lab, t, method, v6, bytes_sent // packets, started)


def part_warts(tool):
    """Our warts, read by CAIDA's reader, are our JSON."""
    need("sc_warts2json")
    with Lab("--routers", "30", "--monitors", "1", "--dests", "10", "--per-dest", "5", "--ipv6", "--silent", "r0,r3") as lab:
        for v6 in (False, True):
            targets = targets_of(lab.truth(v6), "m0")
            tool.trace(lab, "m0", targets, lab.path("warm-up")) # neighbours get to know each other
            tool.trace(lab, "m0", targets, lab.path("t.warts"), "--format", "warts", "--wait", "0.5")
            lines = subprocess.run(["sc_warts2json", lab.path("t.warts")], check=True, text=True, stdout=subprocess.PIPE).stdout
            theirs = {t["dst"]: t for t in map(json.loads, lines.splitlines()) if t["type"] == "trace"}
            tool.trace(lab, "m0", targets, lab.path("t.json"), "--wait", "0.5")
            ours = {t["dst"]: t for t in map(json.loads, open(lab.path("t.json")))}
            check(set(ours), set(theirs), "destinations")
            for dst, t in ours.items():
                for field in t:
                    if field not in ("start", "hops"):
                        check(theirs[dst][field], t[field], "%s of %s" % (field, dst))
                both = [[{k: h[k] for k in ("addr", "probe_ttl", "probe_id", "probe_size", "icmp_type", "icmp_code")} for h in x["hops"]]
                        for x in (t, theirs[dst])]
                check(both[1], both[0], "hops of " + dst)


FORGER = r"""
import os, socket, struct, sys
# Time-exceeded messages about probes that nobody here has seen.
monitor, targets, n = sys.argv[1], sys.argv[2].split(","), int(sys.argv[3])
s = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
packed, own = [socket.inet_aton(t) for t in targets], socket.inet_aton(monitor)
noise = os.urandom(1 << 16)
for i in range(n):
    ident, total = noise[i % 65000:i % 65000 + 2], noise[(i * 7) % 65000:(i * 7) % 65000 + 2]
    quote = struct.pack("!BBHHHBBH", 0x45, 0, 50, i & 0xffff, 0, 1, 1, 0) + own + packed[i % len(packed)]
    quote += struct.pack("!BB", 8, 0) + total + ident + struct.pack("!BB", 0, 1 + i % 8)
    if i % 2: quote += noise[i % 65000:i % 65000 + 10]
    m = struct.pack("!BBHI", 11, 0, 0, 0) + quote
    c = sum(struct.unpack("!%dH" % (len(m) // 2), m))
    c = (c & 0xffff) + (c >> 16); c = ~((c & 0xffff) + (c >> 16)) & 0xffff
    try: s.sendto(m[:2] + struct.pack("!H", c) + m[4:], (monitor, 0))
    except OSError: pass
"""


def part_forged(tool):
    """A host that sends a million forged messages changes no trace."""
    with Lab("--routers", "12", "--monitors", "2", "--dests", "8", "--per-dest", "10") as lab:
        truth = lab.truth()
        targets = targets_of(truth, "m0")
        own = json.loads(lab.run("m0", "ip", "-j", "-4", "addr", "show", "scope", "global").stdout)[0]["addr_info"][0]["local"]
        forgers = [subprocess.Popen(lab.command(node, sys.executable, "-c", FORGER, own, ",".join(targets), "500000"))
                   for node in ("m1", "d0")]
        rounds = 0
        try:
            while any(f.poll() is None for f in forgers):
                tool.trace(lab, "m0", targets, lab.path("t"), "--rate", "300", "--wait", "1", "--attempts", "3")
                compare(truth, "m0", read_traces(lab.path("t")), "under a flood of forged answers")
                rounds += 1
        finally:
            for f in forgers:
                f.wait()
        return "%d runs of %d traces under the flood" % (rounds, len(targets))


def part_refusals(tool):
    """What must not be probed, or cannot be, is named; exit 2, no packet."""
    need("iptables")
    with Lab("--routers", "5", "--monitors", "1", "--dests", "2") as lab:
        lab.count_probes("m0")

        def refused(*args, word, user=None):
            command = [tool.program, "trace"] + list(args)
            if user is not None:
                command = ["setpriv", "--reuid", str(user), "--regid", str(user), "--clear-groups"] + command
            p = lab.run("m0", *command, code=2)
            if word not in p.stderr:
                raise AssertionError("%s: says %r, not %r" % (args, p.stderr, word))
        allow = ["--allow", "10.200.0.0/16"]
        refused("10.200.0.1", "192.0.2.1", *allow, word="192.0.2.1 must not be probed: it is not in --allow")
        refused("10.200.0.1", *allow, "--deny", "10.200.0.0/24", word="it is in --deny")
        refused("10.200.0.1", "--allow", "0.0.0.0/0", word="--yes-everything")
        refused("224.0.0.1", "--allow", "224.0.0.0/4", word="multicast")
        refused("255.255.255.255", "--allow", "255.255.255.255", word="broadcast")
        refused("10.200.0.1", *allow, "--rate", "0", word="--rate")
        refused("10.200.0.1", *allow, "--interface", "nosuch0", word="nosuch0")
        refused("10.200.0.1", *allow, "--method", "icmp", word="--method udp", user=65534)
        refused("10.200.0.1", *allow, "--via-scamper", "/nonexistent", word="/nonexistent")
        refused("10.200.0.1", "--allow", "10.200.0.1/16", word="bits behind the prefix")
        refused("example.org", *allow, word="example.org")
        with open(lab.path("yesterday"), "w") as f:
            f.write("traces\n")
        refused("10.200.0.1", *allow, "--interface", "nosuch0", "-o", lab.path("yesterday"), word="nosuch0")
        check(open(lab.path("yesterday")).read(), "traces\n", "the output of an earlier run, after a refused one")
        check(lab.counted("m0"), 0, "packets sent by refused runs")
        lab.run("m0", "ip", "route", "del", "default")
        p = lab.run("m0", tool.program, "trace", "10.200.0.1", *allow, "--json", "-o", lab.path("t"))
        check(json.loads(p.stdout)["probes"], 0, "probes without a route")
        if "unreachable" not in p.stderr:
            raise AssertionError("no route: says %r" % p.stderr)


def part_interrupted(tool):
    """Finished traces are in the file, the rest is named."""
    with Lab("--routers", "12", "--monitors", "1", "--dests", "8", "--per-dest", "50") as lab:
        truth = lab.truth()
        targets = targets_of(truth, "m0")
        quiet = lab.silence_one(truth, "m0")
        stuck = [t for t in targets if set(truth["m0", t][0]) & quiet]
        others = [t for t in targets if t not in stuck]
        with open(lab.path("targets"), "w") as f:
            f.write("".join(t + "\n" for t in stuck[:5] + others))
        p = subprocess.Popen(lab.command("m0", tool.program, "trace", lab.path("targets"), *ALLOW, "--rate", "100", "--window", "20",
                                         "--wait", "30", "-o", lab.path("t")), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        wait_for(lambda: os.path.exists(lab.path("t")) and os.path.getsize(lab.path("t")) > 0, "finished traces")
        p.send_signal(signal.SIGTERM)
        out, err = p.communicate(timeout=60)
        traces = read_traces(lab.path("t"))
        check({t for t, (_, stop) in traces.items() if stop == "HALTED"} >= set(stuck[:5]), True, "traces under way are HALTED")
        check(p.returncode, 1, "exit code of an interrupted run")
        if not any(stop == "COMPLETED" for _, stop in traces.values()):
            raise AssertionError("no trace is finished")
        left = 5 + len(others) - len(traces)
        if "%d of %d destinations were not begun" % (left, 5 + len(others)) not in err:
            raise AssertionError("says %r" % err)


# ------------------------------------------------------- the distributed system
NGINX = """
daemon off; pid {dir}/nginx.pid; error_log {dir}/nginx.err; worker_processes 1; user root;
events {{ }}
http {{
  log_format bytes "$request_method $uri $status $bytes_sent $request_length";
  access_log {dir}/nginx.log bytes;
  client_body_temp_path {dir}/tmp; proxy_temp_path {dir}/tmp; fastcgi_temp_path {dir}/tmp;
  uwsgi_temp_path {dir}/tmp; scgi_temp_path {dir}/tmp;
  server {{ listen {listen}; root {dir}/www; location /in/ {{ dav_methods PUT; }} }}
}}
"""
SERVER, PORT = "d0", "10.200.0.1:8080"


class Web:
    """nginx in a namespace behind the lab's routers."""
    def __init__(self, lab):
        self.lab, self.dir = lab, lab.path("web")
        for d in ("www/in", "www/site", "tmp"):
            os.makedirs(os.path.join(self.dir, d))
        with open(os.path.join(self.dir, "conf"), "w") as f:
            f.write(NGINX.format(dir=self.dir, listen=PORT))

    def __enter__(self):
        self.process = subprocess.Popen(self.lab.command(SERVER, "nginx", "-c", os.path.join(self.dir, "conf"), "-e", "stderr"),
                                        stderr=subprocess.DEVNULL)
        wait_for(lambda: os.path.exists(os.path.join(self.dir, "nginx.pid")), "nginx")
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def path(self, name):
        return os.path.join(self.dir, "www", name)

    def bytes(self, begins):
        """(sent, received) for addresses that begin so, since the last call"""
        log = os.path.join(self.dir, "nginx.log")
        rows = [l.split() for l in open(log)]
        open(log, "w").close()
        rows = [r for r in rows if r[1].startswith(begins)]
        return sum(int(r[3]) for r in rows), sum(int(r[4]) for r in rows)


def wait_for(condition, what, seconds=60):
    end = time.time() + seconds
    while not condition():
        if time.time() > end:
            raise AssertionError("%s: not within %d s" % (what, seconds))
        time.sleep(0.02)


def same_file(a, b):
    try:
        return open(a, "rb").read() == open(b, "rb").read()
    except OSError:
        return False


class Monitor:
    """Traces, sends what it learns, and keeps a set that it pulls."""
    def __init__(self, tool, umbel, lab, name):
        self.tool, self.umbel, self.lab, self.name = tool, umbel, lab, name
        self.set, self.watcher = lab.path("set-%s.umb" % name), None

    def watch(self, address):
        self.watcher = subprocess.Popen(self.lab.command(self.name, self.umbel, "pull", address, "-o", self.set, "--watch", "1", "--quiet"),
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def stop(self, number=signal.SIGTERM):
        if self.watcher:
            self.watcher.send_signal(number)
            self.watcher.wait()
            self.watcher = None

    def send(self, path, name):
        self.lab.run(self.name, "curl", "-sf", "-T", path, "http://%s/in/%s" % (PORT, name))


FORMS = {"bloom": ["--form", "bloom"], "retouched": ["--form", "retouched"], "groups": ["--form", "groups"], "exact": ["--form", "exact"]}


def publish_forms(tool, umbel, web, table):
    """Every form at equal bytes, in the publish directory; the list beside it."""
    build = ["build", table, "--set", "red", "--key", "hop+prefix"]
    tool(*build, "-o", web.path("site/list"), "--quiet")
    for form, options in FORMS.items():
        path = web.path("%s.umb" % form)
        tool(*build, *options, "--bytes", "320", "-o", path, "--quiet")
        umbel("publish", web.path("site"), path, "--quiet")
    umbel("convert", web.path("bloom.umb"), "--coded", "-o", web.path("coded.umb"), "--quiet")
    umbel("publish", web.path("site"), web.path("coded.umb"), "--quiet")


def fetch_all(lab, umbel, monitors, web, form):
    """Bytes that ten monitors move for a form."""
    web.bytes("/")
    for m in monitors:
        address = "http://%s/site/%s" % (PORT, form)
        if form == "list":
            lab.run(m.name, "curl", "-sf", address, "-o", lab.path("%s.%s" % (form, m.name)))
        else:
            lab.run(m.name, umbel.program, "pull", address, "-o", lab.path("%s.%s" % (form, m.name)), "--quiet")
    return web.bytes("/site/")[0]


def part_distribution(tool):
    """Ten monitors, a server behind the routers, five cycles, links cut between them."""
    need("nginx", "curl", "iptables")
    umbel = Tool(os.path.join(os.path.dirname(tool.program), "umbel"))
    with Lab(*LARGE) as lab, Web(lab) as web:
        truth, lines = lab.truth(), []
        monitors = [Monitor(tool, umbel.program, lab, m) for m in MONITORS]
        for m in monitors:
            lab.count_probes(m.name)

        # Cycle 1: full traces; monitors send their tables, and filters of their own.
        full = 0
        for m in monitors:
            full += tool.trace(lab, m.name, targets_of(truth, m.name), lab.path("c1." + m.name))["probes"]
            tool("learn", lab.path("c1." + m.name), "-o", lab.path(m.name + ".table"), "--quiet")
            m.send(lab.path(m.name + ".table"), m.name + ".table")
            tool("build", lab.path(m.name + ".table"), "--set", "red", "--key", "hop+prefix", "--form", "bloom", "--bits", "4096", "--hashes", "5",
                 "-o", lab.path(m.name + ".umb"), "--quiet")
            m.send(lab.path(m.name + ".umb"), m.name + ".umb")
        tables, filters = (sum(os.path.getsize(f) for f in glob.glob(web.path("in/*." + e))) for e in ("table", "umb"))
        check(full, 72840, "probes of the first cycle")

        # What the monitors built, merged, is what the server builds from everything.
        tool("learn", *glob.glob(web.path("in/*.table")), "-o", web.path("table"), "--quiet")
        tool("build", web.path("table"), "--set", "red", "--key", "hop+prefix", "--form", "bloom", "--bits", "4096", "--hashes", "5",
             "-o", web.path("plain.umb"), "--quiet")
        umbel("merge", *sorted(glob.glob(web.path("in/*.umb"))), "-o", web.path("merged.umb"), "--quiet")
        open(web.path("nothing"), "w").close()
        for name in ("plain", "merged"):
            umbel("convert", web.path(name + ".umb"), "--data", web.path("nothing"), "-o", web.path(name + ".bare"), "--quiet")
        check(cells_of(umbel, web.path("merged.bare")), cells_of(umbel, web.path("plain.bare")), "merged and plain cells")

        # The second cycle: what each form costs, and what it misses.
        publish_forms(tool, umbel, web, web.path("table"))
        for form in ["list", *FORMS, "coded"]:
            sent = fetch_all(lab, umbel, monitors, web, form)
            total = {}
            for m in monitors:
                lab.counted(m.name)
                add_up(total, tool.trace(lab, m.name, targets_of(truth, m.name), lab.path("c2-%s.%s" % (form, m.name)), "--red",
                                         lab.path("%s.%s" % (form, m.name))))
                total["counted"] = total.get("counted", 0) + lab.counted(m.name)
            check(total["counted"], total["probes"], form + ": probes")
            lines.append("%-10s %6d bytes to ten monitors, %d probes, %d destination probes, nodes and links missed %s" % (
                form, sent, total["probes"], total["destination_probes"], missed(lab, truth, "c2-" + form)))

        # Cycles 3 to 5 with pull --watch, while the network changes.
        for m in monitors:
            m.watch("http://%s/site/exact" % PORT)
        try:
            lines += drift(tool, umbel, lab, web, monitors)
        finally:
            for m in monitors:
                m.stop()
        lines.append("sent by monitors: %d bytes as tables, %d as filters" % (tables, filters))
        return "\n  " + "\n  ".join(lines)


def cells_of(umbel, path):
    """the file behind its head, which has the number of keys"""
    info = json.loads(umbel("info", path, "--json").stdout)
    return open(path, "rb").read()[-int(info["payload_bytes"]):] if "payload_bytes" in info else open(path, "rb").read()[64:]


def drift(tool, umbel, lab, web, monitors):
    lines = []
    for cycle, cut in ((3, ("r0", "r1")), (4, ("r1", "r4")), (5, None)):
        published = web.path("exact.umb")
        for m in monitors:
            wait_for(lambda: same_file(m.set, published), "%s has the set of cycle %d" % (m.name, cycle))
        if cycle == 4:
            kill_and_restart(monitors[3], published)
            refuse_ones(umbel, lab, web, monitors[4])
        if cut:
            lab.netlab("cut", *cut)
        truth, total = lab.truth(), {}
        for m in monitors:
            add_up(total, tool.trace(lab, m.name, targets_of(truth, m.name), lab.path("c%d.%s" % (cycle, m.name)), "--red", m.set,
                                     "--refresh", "5%", "--seed", str(cycle)))
            tool("learn", lab.path(m.name + ".table"), lab.path("c%d.%s" % (cycle, m.name)), "-o", lab.path(m.name + ".new"), "--quiet")
            os.replace(lab.path(m.name + ".new"), lab.path(m.name + ".table"))
            m.send(lab.path(m.name + ".table"), m.name + ".table")
        tool("learn", *glob.glob(web.path("in/*.table")), "-o", web.path("table"), "--quiet")
        web.bytes("/")
        publish_forms(tool, umbel, web, web.path("table"))
        for m in monitors:
            wait_for(lambda: same_file(m.set, published), "%s has the new set" % m.name)
        lines.append("cycle %d: %d probes, %d destination probes, missed %s; new set: %d bytes to ten monitors" % (
            cycle, total["probes"], total["destination_probes"], missed(lab, truth, "c%d" % cycle), web.bytes("/site/")[0]))
    return lines


def kill_and_restart(m, published):
    address = m.watcher.args[-6]
    m.stop(signal.SIGKILL)
    os.unlink(m.set)
    m.watch(address)
    wait_for(lambda: same_file(m.set, published), "a restarted monitor has the set")


def refuse_ones(umbel, lab, web, m):
    """A filter that matches nearly everything is refused, and the old one stays."""
    with open(lab.path("many"), "w") as f:
        f.write("".join("10.0.%d.%d 10.200.%d.0/24\n" % (i >> 8 & 255, i & 255, i % 50) for i in range(20000)))
    umbel("build", lab.path("many"), "--bits", "4096", "--addressing", "classic", "-o", web.path("exact-ones.umb"), "--quiet")
    umbel("publish", web.path("site"), web.path("exact-ones.umb"), "--force", "--quiet")
    before = open(m.set, "rb").read()
    p = subprocess.run(lab.command(m.name, umbel.program, "pull", "http://%s/site/exact-ones" % PORT, "-o", m.set, "--max-error", "5%"),
                       text=True, stderr=subprocess.PIPE, stdout=subprocess.PIPE)
    if p.returncode == 0:
        raise AssertionError("a filter of ones was taken")
    check(open(m.set, "rb").read(), before, "the set after a refused one")



def main(argv):
    if len(argv) < 2:
        print(__doc__)
        return 2
    if os.geteuid() != 0 or not shutil.which("ip"):
        print("skipped: labs of network namespaces need root and iproute2")
        return 77
    tool = Tool(argv[1])
    parts = {n[5:]: f for n, f in globals().items() if n.startswith("part_")}
    passed = failed = skipped = 0
    for name in argv[2:] or parts:
        start = time.time()
        try:
            said = parts[name](tool)
            print("%-12s passed in %.1f s%s" % (name, time.time() - start, ": " + said if said else ""), flush=True)
            passed += 1
        except Skip as why:
            print("%-12s skipped: %s" % (name, why), flush=True)
            skipped += 1
        except (AssertionError, subprocess.SubprocessError, OSError) as why:
            print("%-12s FAILED: %s" % (name, why), flush=True)
            failed += 1
    print("%d passed, %d failed, %d skipped" % (passed, failed, skipped))
    return 1 if failed else 0 if passed else 77


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda n, f: sys.exit(128 + n))
    sys.exit(main(sys.argv))
