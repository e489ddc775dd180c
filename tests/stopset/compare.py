#!/usr/bin/env python3
"""compare.py OURS THEIRS - do both files hold the same traces?

OURS is the output of stopset_dump. THEIRS is scamper's JSON (sc_warts2json, of
traces or tracelb), or RIPE Atlas results, which are read here by Python alone. Exits with 1 at the
first difference.
"""
import gzip, ipaddress, json, sys


def address(text):
    a = ipaddress.ip_address(text)
    return getattr(a, "ipv4_mapped", None) or a


def number(x):
    return round(float(x) * 1000)


def scamper(t):
    replies = ("reply_ttl", "reply_tos", "reply_ipid", "reply_size")  # absent if unknown
    hops = [(h["probe_ttl"], max(h["probe_id"], 1), address(h["addr"]), number(h.get("rtt", 0)), h["icmp_type"], h["icmp_code"])
            + tuple(h.get(r, 0) for r in replies) for h in t["hops"]]
    hops.sort(key=lambda h: h[0])  # sc_warts2json sorts by TTL
    return (address(t["src"]), address(t["dst"]), t["start"]["sec"], t["start"]["usec"], t.get("probe_size", 0), t["stop_reason"],
            t["hop_count"], hops)


def atlas(t):
    """late replies answer an earlier probe"""
    hops = [(h["hop"], i, address(r["from"]), number(r.get("rtt", 0)), 0, 0, 0, 0, 0, 0)
            for h in t["result"] for i, r in enumerate(h.get("result", []), 1) if "from" in r and "late" not in r]
    last = max([h["hop"] for h in t["result"]], default=0)
    return address(t.get("src_addr") or t["from"]), address(t["dst_addr"]), t["timestamp"], 0, 0, "NONE", last, hops


def paths(t):
    """A tracelb as its different (TTL, node) pairs. The first node answered one TTL before those after it."""
    nodes = {(p["ttl"], address(link["addr"])) for n in t.get("nodes", []) for at in n["links"] for link in at
             for p in link.get("probes", [])}
    for n in t.get("nodes", [])[:1]:
        nodes.add((n["links"][0][0]["probes"][0]["ttl"] - 1, address(n["addr"])))
    return (address(t["src"]), address(t["dst"]), t["start"]["sec"], t["start"]["usec"], t["probe_size"], sorted(nodes, key=str))


def as_paths(t):
    return t[:5] + (sorted({(h[0], h[2]) for h in t[7]}, key=str),)


def load(path):
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt") as f:
        for line in f:
            t = json.loads(line)
            if t.get("type") == "trace":
                yield scamper(t)
            elif t.get("type") == "traceroute":
                yield atlas(t)
            elif t.get("type") == "tracelb":
                yield paths(t)


ours, theirs = (list(load(p)) for p in sys.argv[1:3])
if len(ours) != len(theirs):
    sys.exit("%d traces here, %d there" % (len(ours), len(theirs)))
for i, (a, b) in enumerate(zip(ours, theirs)):
    a = as_paths(a) if len(b) == 6 else a
    if a != b and not (len(b) == 6 and not b[5]):  # sc_warts2json leaves out a node without links
        sys.exit("trace %d:\nours   %s\ntheirs %s" % (i, a, b))
print("%d traces, %d replies: the same" % (len(ours), sum(len(t[7]) for t in ours)))
