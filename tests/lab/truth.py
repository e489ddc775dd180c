#!/usr/bin/env python3
"""truth.py - the traces that netlab.py's network gives, without building it.

  truth.py [netlab's options of up] [--cut A,B]... [--text]

Prints one trace a line in scamper's JSON, or with --text as 'netlab.py truth'
does. The graph follows from the options and the seed alone. Needs no root.
"""
import argparse, io, json, os, sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import netlab


def describe(a):
    """what netlab's up would have built"""
    links = netlab.create_graph(a)
    hosts = {}
    for i, l in enumerate(links):
        for n in l:
            if n[0] == "r":
                continue
            hosts[n] = ["%s/30" % netlab.link_addr(i, -1)]
            if n[0] == "d":
                hosts[n].append("10.200.%d.0/24" % int(n[1:]))
    cut = [i for i, l in enumerate(links) if set(l) in [set(c.split(",")) for c in a.cut]]
    return dict(links=links, hosts=hosts, cut=cut, per_dest=a.per_dest, outbound=False)


def as_json(line, source):
    monitor, dst, *hops = line.split()
    hops.append(dst)
    return json.dumps({
        "type": "trace", "version": "0.1", "method": "icmp-echo-paris", "src": source[monitor], "dst": dst,
        "stop_reason": "COMPLETED", "start": {"sec": 1794768519}, "hop_count": len(hops), "firsthop": 1,
        "hops": [{"addr": h, "probe_ttl": t, "probe_id": 0, "icmp_type": 0 if h == dst else 11, "icmp_code": 0}
                 for t, h in enumerate(hops, 1)]})


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--routers", type=int, default=12)
    p.add_argument("--monitors", type=int, default=3)
    p.add_argument("--dests", type=int, default=8)
    p.add_argument("--per-dest", type=int, default=1)
    p.add_argument("--extra", type=int)
    p.add_argument("--stubs", type=int)
    p.add_argument("--topology")
    p.add_argument("--cut", action="append", default=[])
    p.add_argument("--text", action="store_true")
    a = p.parse_args()
    lab = netlab.Lab("truth", None)
    lab.d = describe(a)
    text = io.StringIO()
    lab.truth(text)
    source = {n: netlab.link_addr(i, l.index(n)) for i, l in enumerate(lab.d["links"]) for n in l if n[0] == "m"}
    for line in text.getvalue().splitlines():
        print(line if a.text else as_json(line, source))


main()
