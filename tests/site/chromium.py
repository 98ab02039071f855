# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium, driven by its DevTools protocol."""

import itertools
import json
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path

import websocket

# No name resolves: a page that needs the network fails.
FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
         "--hide-scrollbars", "--remote-debugging-port=0", "--remote-allow-origins=*",
         "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "about:blank"]


class Chromium:
    def __init__(self, program="chromium"):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.process = subprocess.Popen([program, f"--user-data-dir={self.profile.name}", *FLAGS],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.ids = itertools.count(1)
        self.events = []
        self.socket = websocket.create_connection(self._address(), timeout=60)
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def _address(self):
        """Of the one page; the browser writes its port to a file when it listens."""
        port = Path(self.profile.name, "DevToolsActivePort")
        for _ in range(600):
            if port.exists() and port.read_text():
                number = port.read_text().split()[0]
                pages = json.load(urllib.request.urlopen(f"http://127.0.0.1:{number}/json"))
                for page in pages:
                    if page["type"] == "page":
                        return page["webSocketDebuggerUrl"]
            time.sleep(0.1)
        raise RuntimeError("Chromium does not start")

    def call(self, method, **parameters):
        wanted = next(self.ids)
        self.socket.send(json.dumps({"id": wanted, "method": method, "params": parameters}))
        while True:
            message = json.loads(self.socket.recv())
            if message.get("id") == wanted:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']['message']}")
                return message["result"]
            self.events.append(message)

    def open(self, url):
        self.events.clear()
        self.call("Page.navigate", url=url)
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self.events.append(json.loads(self.socket.recv()))

    def show(self, width, scheme, height=900):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def evaluate(self, script):
        result = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"]["exception"]["description"])
        return result["result"].get("value")

    def errors(self):
        """What the page has written to the console as an error, since it was opened."""
        for event in self.events:
            parameters = event.get("params", {})
            if event["method"] == "Runtime.exceptionThrown":
                yield parameters["exceptionDetails"].get("exception", {}).get("description", "exception")
            elif event["method"] == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "assert"):
                yield " ".join(str(a.get("value", a.get("description"))) for a in parameters["args"])
            elif event["method"] == "Log.entryAdded" and parameters["entry"]["level"] == "error":
                yield f"{parameters['entry']['text']} {parameters['entry'].get('url', '')}"

    def close(self):
        self.socket.close()
        self.process.terminate()
        self.process.wait()
        self.profile.cleanup()
