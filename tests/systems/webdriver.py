"""Debian's Chromium, driven by WebDriver (HTTP and JSON) and its debugging protocol."""

import base64
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../clearinghouse"))
from ports import free_port  # noqa: E402

PATIENCE = 60  # seconds until something hangs, on the slowest machine
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
TAB, ENTER, SPACE = "\ue004", "\ue007", " "
FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--no-first-run",
    "--window-size=1200,900",
]


class Browser:
    """A browser with a profile of its own."""

    def __init__(self):
        self.profile = tempfile.TemporaryDirectory()
        port = free_port()
        self.base = f"http://127.0.0.1:{port}"
        self.driver = subprocess.Popen(
            ["chromedriver", f"--port={port}"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=dict(os.environ, HOME=self.profile.name),
        )
        self.session = None

    def __enter__(self):
        end = time.monotonic() + PATIENCE
        while True:
            try:
                self.call("GET", "/status")
                break
            except OSError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.02)
        options = {"args": FLAGS + [f"--user-data-dir={self.profile.name}/data"]}
        wanted = {"goog:chromeOptions": options,
                  "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}
        got = self.call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self.session = "/session/" + got["sessionId"]
        self.open("about:blank")
        self.addresses()  # of the page that it begins with
        return self

    def __exit__(self, *ignored):
        try:
            if self.session:
                self.call("DELETE", self.session)
        finally:
            self.driver.terminate()
            self.driver.wait(PATIENCE)
            self.profile.cleanup()

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data, method=method,
                                         headers={"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return json.loads(answer.read())["value"]

    def open(self, url):
        self.call("POST", self.session + "/url", {"url": url})

    def devtools(self, command, **params):
        return self.call("POST", self.session + "/goog/cdp/execute", {"cmd": command, "params": params})

    def run(self, script):
        """The value of an expression, also while scripts of pages are disabled."""
        got = self.devtools("Runtime.evaluate", expression=script, returnByValue=True)
        if "exceptionDetails" in got:
            raise SystemExit("FAILED: " + json.dumps(got["exceptionDetails"]))
        return got["result"].get("value")

    def text(self, selector):
        """The text of an element, with blanks as they are seen."""
        return self.run(f"(document.querySelector({json.dumps(selector)}) || {{}}).innerText")

    def press(self, key):
        actions = [{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]
        keyboard = {"type": "key", "id": "keyboard", "actions": actions}
        self.call("POST", self.session + "/actions", {"actions": [keyboard]})

    def log(self, kind):
        return self.call("POST", self.session + "/se/log", {"type": kind})

    def addresses(self):
        """What the browser has asked for since the last call."""
        messages = [json.loads(entry["message"])["message"] for entry in self.log("performance")]
        return [message["params"]["request"]["url"] for message in messages
                if message["method"] == "Network.requestWillBeSent"]

    def prefer(self, **features):
        """Sets media features such as prefers_color_scheme="dark"."""
        pairs = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
        self.devtools("Emulation.setEmulatedMedia", features=pairs)

    def resize(self, width, height, phone=False):
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=height,
                      deviceScaleFactor=2 if phone else 1, mobile=phone)

    def picture(self, path):
        got = self.devtools("Page.captureScreenshot", captureBeyondViewport=True, format="png")
        with open(path, "wb") as file:
            file.write(base64.b64decode(got["data"]))
