"""Debian's SpamAssassin with the settings of docs/GUIDE.md, for one clearinghouse.

It has all rules and plugins that it comes with, but for SpamCop, which would send mail. Nobody asks a name server. Each reporter has a home and a Bayes database of its own.
"""
import glob
import os
import re
import subprocess

from clearinghouse import connect, read_all
from guide import piece
from razor_agents import write

RULES, SITE = "/usr/share/spamassassin", "/etc/spamassassin"
MAIL = """Return-Path: <win@spam.example.com>
Received: from mx.example.net (mx.example.net [192.0.2.7]) by mx.example.com; Tue, 17 Nov 2026 00:00:00 +0000
From: Winner <win@spam.example.com>
To: b@example.com
Subject: about {0}
Date: Tue, 17 Nov 2026 00:00:00 +0000
Message-ID: <{0}@spam.example.com>

Dear friend, you have won the great prize of the {0}, which is a long road in
the hills and a garden with a view; send us your name and the keys of your {0}
and we will bring it to you on Monday, before the weather changes again.
"""
SYMBOLS = {"DCC_CHECK", "PYZOR_CHECK", "RAZOR2_CHECK", "RAZOR2_CF_RANGE_51_100"}
REPORTERS = 5  # as many reports as PYZOR_CHECK needs


def settings_of(server, agents, dir_):
    """The files of the GUIDE, with the addresses of this server."""
    return {"umbel.pre": piece("spamassassin umbel.pre"),
            "local.cf": piece("spamassassin local.cf",
                              **{"127.0.0.1:10045": "%s:%d" % server.dccifd,
                                 "/etc/spamassassin/pyzor": dir_ + "/pyzor",
                                 "/etc/razor/razor-agent.conf": agents + "/razor-agent.conf"})}


def printed_by(server, agents, dir_):
    """The files of the lines that the server prints for SpamAssassin."""
    files, name = {}, None
    s = connect(server.path("data/control"))
    s.sendall(b"settings\n")
    for line in read_all(s).decode().splitlines():
        if not line.startswith("    "):
            begin = re.match(r"SpamAssassin, in ([a-z.]+)", line)
            name = begin and begin.group(1)
        elif name:
            files[name] = files.get(name, "") + line[4:] + "\n"
    local = files["local.cf"]
    for old, new in ("/etc/spamassassin/pyzor", dir_ + "/pyzor"), ("/etc/razor", agents):
        if old not in local:
            raise SystemExit(f"FAILED: {old} is not in {local}")
        local = local.replace(old, new)
    return dict(files, **{"local.cf": local})


class Assassin:
    """Debian's, with a site directory and a home of its own."""

    def __init__(self, server, agents, name, files_of=settings_of):
        self.dir = server.path("sa-" + name)
        files = files_of(server, agents, self.dir)
        write(self.dir + "/pyzor/servers", "%s:%d\n" % server.pyzor)
        for part in "bayes", "home":
            os.makedirs(f"{self.dir}/{part}")
        for file in glob.glob(SITE + "/*.pre"):
            with open(file, encoding="utf-8") as pre:
                write(f"{self.dir}/site/" + os.path.basename(file),
                      "".join(line for line in pre if "Plugin::SpamCop" not in line))
        write(self.dir + "/site/umbel.pre", files["umbel.pre"])
        write(self.dir + "/site/local.cf", files["local.cf"] + "dns_available no\nskip_rbl_checks 1\nbayes_auto_learn 0\n"
              f"bayes_path {self.dir}/bayes/db\nrazor_timeout 60\npyzor_timeout 60\ndcc_timeout 60\n")

    def run(self, *words, text):
        command = ["spamassassin", "--configpath", RULES, "--siteconfigpath", self.dir + "/site",
                   "--nocreate-prefs", "--prefspath", self.dir + "/prefs", *words]
        ended = subprocess.run(command, input=text, capture_output=True, text=True, check=False,
                               env=dict(os.environ, HOME=self.dir + "/home"))
        if ended.returncode:
            raise SystemExit(f"FAILED: {command}: {ended.stderr}")
        return ended.stdout

    def symbols(self, text):
        printed = self.run("-t", text=text)
        if "X-Spam-Status:" not in printed:
            raise SystemExit(f"FAILED: no verdict: {printed}")
        return {name for name in SYMBOLS if re.search(rf"\b{name}\b", printed)}
