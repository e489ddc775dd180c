#!/usr/bin/env python3
"""ports.py - ports for servers that a test starts; as a program it prints one.

They are below the ports that the kernel gives to clients, so that no connection of
another test takes one before the server listens.
"""
import random
import socket


def free_port(partner=0):
    """Returns a port of 127.0.0.1 that no program uses, by TCP or UDP; with partner, nobody
    uses the port that is so much above it, either."""
    while True:
        port = random.randrange(10240, 32768 - partner)
        try:
            for number in {port, port + partner}:
                for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
                    with socket.socket(socket.AF_INET, kind) as s:
                        s.bind(("127.0.0.1", number))
            return port
        except OSError:
            pass


if __name__ == "__main__":
    print(free_port())
