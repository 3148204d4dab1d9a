# SPDX-License-Identifier: BSD-3-Clause
"""A headless Chromium, driven by its DevTools protocol over a pair of pipes; the standard library alone.

    with Browser("chromium", folder) as browser:
        page = browser.page(width=1280)
        page.open("report.html")
        page.value("document.title")
"""
import base64
import fcntl
import json
import os
import re
import select
import subprocess
import time

WAIT_S = 60  # for any answer: a slow machine, not a fast one, is what this is for


KEYS = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "PageUp": 33, "PageDown": 34, "End": 35, "Home": 36,
        "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}


class Failed(Exception):
    """What the browser refused, or did not do in time."""


def out_of_the_way(fd):
    """The same descriptor by a number that the child's 3 and 4 do not meet."""
    high = fcntl.fcntl(fd, fcntl.F_DUPFD, 20)
    os.close(fd)
    return high


class Browser:
    def __init__(self, program, folder):
        to_child, self.write_end = map(out_of_the_way, os.pipe())
        self.read_end, from_child = map(out_of_the_way, os.pipe())
        words = [program, "--headless", "--remote-debugging-pipe", f"--user-data-dir={folder}/profile",
                 "--no-first-run", "--no-default-browser-check", "--disable-gpu", "--disable-dev-shm-usage",
                 "--disable-extensions", "--disable-sync", "--disable-background-networking",
                 "--disable-component-update", "--force-color-profile=srgb",
                 "--host-resolver-rules=MAP * ~NOTFOUND",
                 "--no-sandbox"]  # root has none, nor have many containers; the pages are our own
        self.log = open(f"{folder}/chromium.log", "w+b")
        self.child = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{to_child} 4>&{from_child} {to_child}<&- {from_child}>&-', "chromium", *words],
            pass_fds=(to_child, from_child), stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
            env={**os.environ, "HOME": folder})
        os.close(to_child)
        os.close(from_child)
        self.rest, self.last, self.events = b"", 0, []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.call("Browser.close")
            self.child.wait(10)
        except (Failed, OSError, subprocess.TimeoutExpired):
            self.child.kill()
            self.child.wait()
        os.close(self.read_end)
        os.close(self.write_end)
        self.log.close()

    def receive(self, until):
        """The next message, or None at the time `until`."""
        while b"\0" not in self.rest:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.read_end], [], [], left)[0]:
                return None
            some = os.read(self.read_end, 1 << 20)
            if not some:
                self.log.seek(0)
                raise Failed("the browser has ended: " + self.log.read()[-1000:].decode(errors="replace"))
            self.rest += some
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def send(self, data):
        while data:
            data = data[os.write(self.write_end, data):]

    def call(self, method, session=None, **parameters):
        """The result of a method; events that arrive before it are kept."""
        self.last += 1
        message = {"id": self.last, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        self.send(json.dumps(message).encode() + b"\0")
        until = time.monotonic() + WAIT_S
        while True:
            got = self.receive(until)
            if got is None:
                raise Failed(f"{method}: no answer in {WAIT_S} s")
            if got.get("id") == self.last:
                if "error" in got:
                    raise Failed(f"{method}: {got['error']['message']}")
                return got["result"]
            self.events.append(got)

    def page(self, **look):
        return Page(self, **look)


class Page:
    """One tab: its requests, the errors of its scripts and what they wrote to the console are kept."""

    def __init__(self, browser, **look):
        self.browser = browser
        self.target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=self.target, flatten=True)["sessionId"]
        for domain in "Page", "Network", "Runtime", "Log":
            self.call(f"{domain}.enable")
        self.look(**look)

    def call(self, method, **parameters):
        return self.browser.call(method, self.session, **parameters)

    def close(self):
        self.browser.call("Target.closeTarget", targetId=self.target)

    def look(self, width=1280, height=800, dark=False, scripts=True, touch=False, ratio=1):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=ratio,
                  mobile=touch)
        self.call("Emulation.setTouchEmulationEnabled", enabled=touch)
        self.call("Emulation.setEmulatedMedia", media="",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)

    def events(self, *methods):
        """Those of this page that have arrived, from the oldest; they are forgotten."""
        mine = [e for e in self.browser.events if e.get("sessionId") == self.session and e["method"] in methods]
        self.browser.events = [e for e in self.browser.events if e not in mine]
        return [e["params"] for e in mine]

    def wait_event(self, method):
        until = time.monotonic() + WAIT_S
        while not (found := self.events(method)):
            got = self.browser.receive(until)
            if got is None:
                raise Failed(f"no {method} in {WAIT_S} s")
            self.browser.events.append(got)
        return found[0]

    def open(self, path):
        """A file, up to its load event. What the page before it has sent is forgotten."""
        self.browser.events = [e for e in self.browser.events if e.get("sessionId") != self.session]
        self.url = "file://" + os.path.abspath(path)
        got = self.call("Page.navigate", url=self.url)
        if got.get("errorText"):
            raise Failed(f"{path}: {got['errorText']}")
        self.wait_event("Page.loadEventFired")

    def requests(self):
        """Addresses that were asked for since the page was opened, but for itself and what it has inside."""
        asked = [e["request"]["url"] for e in self.events("Network.requestWillBeSent")]
        return [url for url in asked if url != self.url and not re.match(r"(data|blob):", url)]

    def complaints(self):
        """What scripts threw, and what the browser wrote about the page (its policy among it)."""
        thrown = [e["exceptionDetails"].get("exception", {}).get("description") or e["exceptionDetails"]["text"]
                  for e in self.events("Runtime.exceptionThrown")]
        return thrown + [e["entry"]["text"] for e in self.events("Log.entryAdded")]

    def value(self, expression):
        """Of an expression in the page; promises are waited for. Works on pages whose own scripts are off."""
        got = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in got:
            details = got["exceptionDetails"]
            raise Failed(f"{expression}: {details.get('exception', {}).get('description', details['text'])}")
        return got["result"].get("value")

    def key(self, name, shift=False):
        """Pressed and released where the focus is."""
        text = name if len(name) == 1 else {"Enter": "\r"}.get(name, "")
        same = {"key": name, "modifiers": 8 if shift else 0,
                "windowsVirtualKeyCode": KEYS.get(name, ord(name.upper()) if name.isalnum() and len(name) == 1 else 0)}
        self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **same)
        self.call("Input.dispatchKeyEvent", type="keyUp", **same)

    def write(self, text):
        self.call("Input.insertText", text=text)

    def mouse(self, kind, at, held=False, shift=False, **more):
        """kind: Moved, Pressed, Released, Wheel."""
        button = "left" if held or kind in ("Pressed", "Released") else "none"
        self.call("Input.dispatchMouseEvent", type=f"mouse{kind}", x=at[0], y=at[1], button=button,
                  buttons=1 if held or kind == "Pressed" else 0, clickCount=1 if kind in ("Pressed", "Released") else 0,
                  modifiers=8 if shift else 0, **more)

    def drag(self, begin, end, shift=False):
        self.mouse("Moved", begin)
        self.mouse("Pressed", begin, shift=shift)
        for share in .5, 1:
            self.mouse("Moved", [a + share * (b - a) for a, b in zip(begin, end)], held=True, shift=shift)
        self.mouse("Released", end, shift=shift)

    def touch(self, *places):
        """From the first place on, each a list of fingers, to the last."""
        for i, fingers in enumerate(places):
            self.call("Input.dispatchTouchEvent", type="touchMove" if i else "touchStart",
                      touchPoints=[{"x": x, "y": y, "id": k} for k, (x, y) in enumerate(fingers)])
        self.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])

    def downloads(self, folder):
        self.browser.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=folder, eventsEnabled=True)

    def pdf(self):
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"])

    def picture(self, path):
        """Of the whole page, as PNG: for people to look at."""
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        with open(path, "wb") as f:
            f.write(base64.b64decode(shot["data"]))
