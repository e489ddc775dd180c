#!/usr/bin/env python3
"""compare.py OURS THEIRS - do both files hold the same traces?

OURS is the output of stopset_dump. THEIRS is scamper's JSON (sc_warts2json), or
RIPE Atlas results, which are read here by Python alone. Exits with 1 at the
first difference.
"""
import gzip, ipaddress, json, sys


def address(text):
    a = ipaddress.ip_address(text)
    return getattr(a, "ipv4_mapped", None) or a


def number(x):
    return round(float(x) * 1000)


def scamper(t):
    hops = [(h["probe_ttl"], max(h["probe_id"], 1), address(h["addr"]), number(h["rtt"]), h["icmp_type"], h["icmp_code"])
            for h in t["hops"]]
    hops.sort(key=lambda h: h[0])  # sc_warts2json sorts by TTL
    return address(t["src"]), address(t["dst"]), t["start"]["sec"], t["stop_reason"], t["hop_count"], hops


def atlas(t):
    """late replies answer an earlier probe"""
    hops = [(h["hop"], i, address(r["from"]), number(r.get("rtt", 0)), 0, 0)
            for h in t["result"] for i, r in enumerate(h.get("result", []), 1) if "from" in r and "late" not in r]
    last = max([h["hop"] for h in t["result"]], default=0)
    return address(t.get("src_addr") or t["from"]), address(t["dst_addr"]), t["timestamp"], "NONE", last, hops


def load(path):
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt") as f:
        for line in f:
            t = json.loads(line)
            if t["type"] == "trace":
                yield scamper(t)
            elif t["type"] == "traceroute":
                yield atlas(t)


ours, theirs = (list(load(p)) for p in sys.argv[1:3])
if len(ours) != len(theirs):
    sys.exit("%d traces here, %d there" % (len(ours), len(theirs)))
for i, (a, b) in enumerate(zip(ours, theirs)):
    if a != b:
        sys.exit("trace %d:\nours   %s\ntheirs %s" % (i, a, b))
print("%d traces, %d replies: the same" % (len(ours), sum(len(t[5]) for t in ours)))
