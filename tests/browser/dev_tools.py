"""A headless Chromium, spoken to over its DevTools pipe: JSON messages with a zero byte behind each."""

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


def find_chromium():
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    def __init__(self, program):
        self.folder = tempfile.TemporaryDirectory(prefix="refit-browser-")
        to_browser, self.out = os.pipe()
        self.inp, from_browser = os.pipe()
        # The browser reads its fd 3 and writes its fd 4. Ours could be these numbers, so they are moved away first.
        command = f'exec "$0" "$@" 3<&{to_browser} 4>&{from_browser}'
        self.process = subprocess.Popen(
            ["/bin/bash", "-c", command, program, "--headless", "--no-sandbox", "--disable-gpu",
             "--disable-dev-shm-usage", "--hide-scrollbars", "--remote-debugging-pipe",
             f"--user-data-dir={self.folder.name}", "about:blank"],
            pass_fds=(to_browser, from_browser), stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.pending, self.number, self.session = b"", 0, None
        self.events = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(domain + ".enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.folder.cleanup()

    def _message(self):
        while b"\0" not in self.pending:
            more = os.read(self.inp, 1 << 20)
            if not more:
                raise RuntimeError("the browser ended")
            self.pending += more
        text, self.pending = self.pending.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, **parameters):
        self.number += 1
        request = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.out, json.dumps(request).encode() + b"\0")
        while True:
            message = self._message()
            if message.get("id") == self.number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']['message']}")
                return message["result"]
            self.events.append(message)

    def js(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def until(self, expression):
        """Whether it becomes true in a while."""
        for _ in range(200):
            if self.js(expression):
                return True
            time.sleep(0.05)
        return False

    def open(self, path, width=1280, scheme="light"):
        self.events.clear()
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        self.scheme(scheme)
        self.call("Page.navigate", url="file://" + os.path.abspath(path))
        self.until("location.protocol === 'file:' && document.documentElement?.dataset.ready")

    def scheme(self, name):
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def press(self, key, text=None):
        for kind in ("keyDown", "keyUp"):
            parameters = {"type": kind, "key": key}
            if text and kind == "keyDown":
                parameters["text"] = text
            self.call("Input.dispatchKeyEvent", **parameters)

    def pictures(self, stem, width, part=1500):
        """The whole page, in parts of a height that can be looked at: STEM_0.png, …"""
        height = self.js("document.documentElement.scrollHeight")
        for top in range(0, height, part):
            picture = self.call("Page.captureScreenshot", captureBeyondViewport=True,
                                clip={"x": 0, "y": top, "width": width, "height": min(part, height - top), "scale": 1})
            with open(f"{stem}_{top // part}.png", "wb") as file:
                file.write(base64.b64decode(picture["data"]))

    def complaints(self):
        """Errors on the console, exceptions, dialogs, and requests for anything but the page itself."""
        found = []
        for event in self.events:
            method, p = event.get("method"), event.get("params", {})
            if method == "Runtime.exceptionThrown":
                found.append(f"exception: {p['exceptionDetails'].get('exception', {}).get('description', p)}")
            elif method == "Runtime.consoleAPICalled" and p["type"] in ("error", "warning", "assert"):
                found.append(f"console: {p['args']}")
            elif method == "Log.entryAdded" and p["entry"]["level"] in ("error", "warning"):
                found.append(f"log: {p['entry']['text']}")
            elif method == "Page.javascriptDialogOpening":
                found.append(f"dialog: {p['message']}")
            elif method == "Network.requestWillBeSent" and p.get("type") != "Document" \
                    and not p["request"]["url"].startswith(("data:", "blob:")):
                found.append(f"request: {p['request']['url']}")
        return found
