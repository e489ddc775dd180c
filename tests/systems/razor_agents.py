"""Debian's razor-agents, with homes of their own."""
import os
import subprocess

from clearinghouse import check

SPAM, NOT_SPAM, ERROR = 0, 1, 2  # of razor-check


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


class Agents:
    """razor-agents with a home of their own."""

    def __init__(self, server, name="agents"):
        self.dir = server.path(name)
        self.server = server
        address = "%s:%d\n" % server.razor
        write(self.dir + "/razor-agent.conf",
              f"razorhome = {self.dir}\nlogfile = {self.dir}/log\ndebuglevel = 9\n"
              f"razordiscovery = {address}")
        for kind in "catalogue", "nomination", "discovery":
            write(f"{self.dir}/servers.{kind}.lst", address)

    def run(self, command, *words, text=""):
        environment = dict(os.environ, HOME=self.dir)
        return subprocess.run([command, f"-conf={self.dir}/razor-agent.conf", *words],
                              input=text, capture_output=True, text=True,
                              env=environment, check=False)

    def code(self, command, *words, text=""):
        return self.run(command, *words, text=text).returncode

    def check(self, text):
        return self.code("razor-check", text=text)

    def log(self):
        with open(self.dir + "/log", encoding="utf-8") as file:
            return file.read()

    def servers(self, kind):
        with open(f"{self.dir}/servers.{kind}.lst", encoding="utf-8") as file:
            return sorted(file.read().split())

    def identify(self, user, password):
        """Says who it is, without asking the server."""
        write(f"{self.dir}/identity-{user}", f"user = {user}\npass = {password}\n")
        link = self.dir + "/identity"
        if os.path.lexists(link):
            os.unlink(link)
        os.symlink(f"identity-{user}", link)


def discovered_and_registered(server, name="agents", user="alice@example.org", password="secret1"):
    agents = Agents(server, name)
    check("discovery", agents.code("razor-admin", "-discover"), 0)
    ended = agents.run("razor-admin", "-register", f"-user={user}", f"-pass={password}")
    check("registration", (ended.returncode, "Register successful" in ended.stdout), (0, True))
    return agents
