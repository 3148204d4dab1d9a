# SPDX-License-Identifier: BSD-3-Clause
"""A browser's part of a live page, for the tests: starts `isotome recon ... --live`, and asks what the page would."""
import http.client
import json
import re
import struct
import subprocess
import threading
import time
from urllib.parse import urlsplit


class Run:
    """A run with a live page: its process, its address, and what it says on stderr."""

    def __init__(self, program, *words, stdin=None, live=("--live",)):
        self.process = subprocess.Popen([program, "recon", *words, *live], stdin=stdin, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE, text=True)
        self.lines = []
        self.address = None
        for line in self.process.stderr:
            self.lines.append(line)
            found = re.search(r"live: (http://\S+/)$", line)
            if found:
                self.address = found.group(1)
                break
        if not self.address:
            raise SystemExit(f"no address of a live page: {''.join(self.lines)}")
        parts = urlsplit(self.address)
        self.host, self.port, self.path = parts.hostname, parts.port, parts.path
        self.token = self.path.strip("/")
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stderr:
            self.lines.append(line)

    def wait(self, seconds=120):
        code = self.process.wait(seconds)
        self.reader.join(5)
        return code

    def resident_kib(self):
        with open(f"/proc/{self.process.pid}/status") as f:
            return int(re.search(r"VmRSS:\s+(\d+) kB", f.read()).group(1))

    def connect(self, timeout=20):
        return http.client.HTTPConnection(self.host, self.port, timeout=timeout)

    def ask(self, name, method="GET", connection=None, headers=None):
        """Status, head and body of an answer; name is what stands behind the token."""
        c = connection or self.connect()
        c.request(method, self.path + name, headers=headers or {})
        answer = c.getresponse()
        body = answer.read()
        if not connection:
            c.close()
        return answer.status, answer.headers, body

    def state(self, connection=None):
        status, _, body = self.ask("state", connection=connection)
        if status != 200:
            raise SystemExit(f"state: {status}")
        return json.loads(body)

    def until(self, what, seconds=60):
        """The first state that `what` is true of."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            s = self.state()
            if what(s):
                return s
            time.sleep(.05)
        raise SystemExit(f"the page never showed it: {s}")


def watched(start, attempts=5):
    """A run that `start` starts, seen to its end: the run, its last state and its last image. A short run may end before
    its page is open: then once more."""
    for _ in range(attempts):
        r = start()
        s, body = {}, b""
        try:
            c = r.connect()
            while not (s := r.state(c))["ended"]:
                time.sleep(.02)
            body = r.ask("image", connection=c)[2]
        except (OSError, http.client.HTTPException):
            pass
        require(r.wait() == 0, "".join(r.lines))
        if body:
            return r, s, image(body)
    raise SystemExit("a page was never open as its run ended")


def image(body):
    """The image of a live page, as docs/live.md describes it."""
    magic, version, n = struct.unpack_from("<8sQI", body)
    require(magic == b"ISOLIVE2", "the image begins otherwise")
    at, size = struct.unpack_from("<3I", body, 20), struct.unpack_from("<3I", body, 32)
    place, (value, low, high) = struct.unpack_from("<3d", body, 44), struct.unpack_from("<3d", body, 68)
    (last,) = struct.unpack_from("<d", body, 92)
    planes, pixels = [], 100 + 32 * n
    for k in range(n):
        axis, w, h, step, x, y, dx, dy = struct.unpack_from("<6I2f", body, 100 + 32 * k)
        q = struct.unpack_from(f"<{w * h}H", body, pixels)
        planes.append({"axis": axis, "n": (w, h), "step": step, "cross": (x, y), "mm": (dx, dy),
                       "v": [low + v * (high - low) / 65534 for v in q]})
        pixels += 2 * w * h
    require(pixels == len(body), "the image has another length")
    return {"version": version, "at": at, "size": size, "place": place, "value": value, "low": low, "high": high, "last": last,
            "planes": planes}


def require(true, text):
    if not true:
        raise SystemExit(text)
