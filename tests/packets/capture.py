#!/usr/bin/env python3
"""Writes a pcap file (or pcapng, --ng) from lines of standard input.

A line is a packet: SECONDS SRC DST PROTOCOL SPORT DPORT BYTES [NUMBER]; BYTES is its length
on the wire with the Ethernet header, NUMBER how often it is repeated. "drops N" in a pcapng
file states that the kernel dropped N packets, "raw HEX" is a frame, at the time of the last.
"""
import ipaddress
import struct
import sys

SNAP = 96


def frame(src, dst, protocol, sport, dport, length):
    a, b = ipaddress.ip_address(src), ipaddress.ip_address(dst)
    v6 = a.version == 6
    ethernet = bytes(12) + (b"\x86\xdd" if v6 else b"\x08\x00")
    if v6:
        ip = struct.pack(">IHBB", 6 << 28, length - 54, protocol, 64) + a.packed + b.packed
    else:
        ip = struct.pack(">BBHHHBBH", 0x45, 0, length - 14, 0, 0, 64, protocol, 0) + a.packed + b.packed
    data = ethernet + ip + struct.pack(">HH", sport, dport)
    return (data + bytes(max(0, length - len(data))))[:SNAP]


def block(kind, body):
    body += bytes(-len(body) % 4)
    size = struct.pack("<I", len(body) + 12)
    return struct.pack("<I", kind) + size + body + size


def main():
    ng, out, time = "--ng" in sys.argv, sys.stdout.buffer, 0
    if ng:
        out.write(block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)))
        out.write(block(1, struct.pack("<HHI", 1, 0, SNAP)))
    else:
        out.write(struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, SNAP, 1))
    for line in sys.stdin:
        words = line.split()
        if words[0] == "drops":
            out.write(block(5, struct.pack("<IIIHHQ", 0, 0, 0, 5, 8, int(words[1]))))
            continue
        if words[0] == "raw":
            data, n = bytes.fromhex(words[1]), 1
            length = len(data)
        else:
            time, length = round(float(words[0]) * 1e6), int(words[6])
            data = frame(words[1], words[2], *map(int, words[3:7]))
            n = int(words[7]) if len(words) > 7 else 1
        if ng:
            packet = block(6, struct.pack("<IIIII", 0, time >> 32, time & 0xFFFFFFFF, len(data), length) + data)
        else:
            packet = struct.pack("<IIII", time // 1000000, time % 1000000, len(data), length) + data
        for _ in range(n):
            out.write(packet)


main()
