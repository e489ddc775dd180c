"""Clients of a clearinghouse, as Debian has them, with homes and settings of their own."""

import contextlib
import json
import os
import re
import socket
import subprocess
import urllib.request

from clearinghouse import PATIENCE, wait_until
from ports import free_port

MAIL = "From: a@example.org\nSubject: offer\n\n{}\n"
# Words of ten letters and more are dropped from digests.
BODY = "this is mail {} with some plain words to count"
RULES = "/usr/share/spamassassin"


def mail(i):
    return MAIL.format(BODY.format(i))


def mbox(*mails):
    return "".join(f"From a@example.org Tue Nov 17 00:00:00 2026\n{m}\n" for m in mails)


def network(server):
    """Where a server is reached."""
    return getattr(server, "space", contextlib.nullcontext())


class Pyzor:
    """The command with a home of its own."""

    def __init__(self, server, account=""):
        self.server = server
        self.home = server.path("home" + account)
        self.address = "%s:%d" % server.pyzor
        os.makedirs(self.home)
        with open(os.path.join(self.home, "servers"), "w", encoding="utf-8") as file:
            file.write(self.address + "\n")
        if account:
            name, key = account.split(",")
            host, port = server.pyzor
            with open(os.path.join(self.home, "accounts"), "w", encoding="utf-8") as file:
                file.write(f"{host} : {port} : {name} : salt,{key}\n")

    def run(self, *words, text=""):
        command = ["pyzor", "--homedir", self.home, *words]
        with network(self.server):
            ended = subprocess.run(command, input=text, capture_output=True, text=True,
                                   check=False)
        return ended.returncode, ended.stdout.replace(self.address, "SERVER")

    def counts(self, text, *words):
        """Exit status and counts of a check."""
        code, printed = self.run(*words, "check", text=text)
        return code, [tuple(map(int, line.split("\t")[2:])) for line in printed.splitlines()]


class SpamAssassin:
    """A private one: rules, settings, the Bayes database. It loads nothing else that would use
    the network. The settings name its directory {dir}."""

    def __init__(self, server, name, rules, plugins, settings):
        self.server = server
        self.dir = server.path("sa-" + name)
        for part in "rules", "site", "bayes", "home":
            os.makedirs(os.path.join(self.dir, part))
        for file in "10_default_prefs.cf", rules, "50_scores.cf":
            os.symlink(f"{RULES}/{file}", f"{self.dir}/rules/{file}")
        self.write("site/init.pre", "".join(f"loadplugin Mail::SpamAssassin::Plugin::{p}\n"
                                            for p in ("Check", "Bayes", *plugins)))
        self.write("site/local.cf", "use_bayes 1\nbayes_auto_learn 0\n"
                   f"bayes_path {self.dir}/bayes/db\n" + settings.format(dir=self.dir))

    def write(self, name, text):
        path = os.path.join(self.dir, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def run(self, *words, text=""):
        command = ["spamassassin", "--configpath", self.dir + "/rules",
                   "--siteconfigpath", self.dir + "/site", "--nocreate-prefs",
                   "--prefspath", self.dir + "/prefs", *words]
        with network(self.server):
            ended = subprocess.run(command, input=text, capture_output=True, text=True,
                                   check=False, env=dict(os.environ, HOME=self.dir + "/home"))
        if ended.returncode:
            raise SystemExit(f"FAILED: {command}: {ended.stderr}")
        return ended.stdout

    def run_all(self, *words, mails):
        """Several mails in one run, because most of its time is its start."""
        self.write("mbox", mbox(*mails))
        return self.run(*words, "--mbox", self.dir + "/mbox")

    def hits(self, rule, *mails):
        """Which mails hit that rule, by their names: SpamAssassin chooses the order of
        different mails."""
        answers = self.run_all("-t", mails=mails).split("X-Spam-Checker-Version:")[1:]
        if len(answers) != len(mails):
            raise SystemExit(f"FAILED: {len(answers)} answers for {len(mails)} mails")
        found = {}
        for head in (answer.split("\n\n", 1)[0] for answer in answers):
            name = re.search("Message-ID: <(.*)@", head).group(1)
            found.setdefault(name, []).append(rule in head)
        return found


RSPAMD = """
options {{ pidfile = "{dir}/pid"; dns {{ nameserver = ["127.0.0.1:1"]; }} local_addrs = []; filters = "{filters}"; }}
logging {{ type = "file"; filename = "{dir}/log"; level = "info"; }}
lua = "/usr/share/rspamd/rules/rspamd.lua";
modules {{ {modules} }}
worker "normal" {{ bind_socket = "127.0.0.1:{port}"; count = 1; }}
worker "controller" {{ bind_socket = "127.0.0.1:{control}"; count = 1; secure_ip = ["127.0.0.1"]; }}
{settings}
"""


class Rspamd:
    """One that loads nothing but some plugins, with settings for them."""

    def __init__(self, server, plugins, settings, filters=""):
        self.dir = server.path("rspamd")
        os.makedirs(self.dir)
        self.port, self.control = free_port(), free_port()
        modules = " ".join(f'path = "/usr/share/rspamd/plugins/{p}.lua";' for p in plugins)
        with open(self.dir + "/conf", "w", encoding="utf-8") as file:
            file.write(RSPAMD.format(dir=self.dir, port=self.port, control=self.control,
                                     filters=filters, modules=modules, settings=settings))
        self.process = subprocess.Popen(
            ["rspamd", "-f", "-i", "-c", self.dir + "/conf", "--var=DBDIR=" + self.dir,
             "--var=RUNDIR=" + self.dir, "--var=LOGDIR=" + self.dir],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(self.listens, "rspamd listens")

    def log(self):
        with open(self.dir + "/log", encoding="utf-8") as file:
            return file.read()

    def listens(self):
        if self.process.poll() is not None:
            raise SystemExit("FAILED: rspamd ended: " + self.log())
        with socket.socket() as s, socket.socket() as t:
            return s.connect_ex(("127.0.0.1", self.port)) == 0 and \
                t.connect_ex(("127.0.0.1", self.control)) == 0

    def answer(self, text):
        ask = urllib.request.Request(f"http://127.0.0.1:{self.port}/checkv2", text.encode(),
                                     {"From": "s@example.com", "Rcpt": "b@example.com",
                                      "Ip": "192.0.2.7"})
        with urllib.request.urlopen(ask, timeout=PATIENCE) as answer:
            return json.load(answer)

    def symbols(self, text):
        return set(self.answer(text)["symbols"])

    def results(self, text):
        """Symbols, with what they say: [flag:digest:probability:part]."""
        return {name: symbol.get("options", [])
                for name, symbol in self.answer(text)["symbols"].items()}

    def rspamc(self, *words, text=""):
        return subprocess.run(["rspamc", "-h", f"127.0.0.1:{self.control}", *words], input=text,
                              capture_output=True, text=True, check=False, timeout=PATIENCE)

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        self.close()

    def close(self):
        self.process.terminate()
        self.process.wait(PATIENCE)
