# SPDX-License-Identifier: BSD-3-Clause
"""An open viewer as a person meets it: where voxels lie on the screen, what is written, what colour a pixel has.
Places on the screen come from the grid and the canvas alone, not from the viewer's own arithmetic."""
import base64
import json
import re
import time

import nibabel
import numpy as np

from pages import Wrong, must

AXES = {"z": (0, 1), "y": (0, 2), "x": (1, 2)}  # what runs to the right, and upwards


class Image:
    """v[t][z, y, x], and its grid."""

    def __init__(self, path):
        file = nibabel.load(path)
        v = np.asarray(file.dataobj, float).T
        self.v = v if v.ndim == 4 else v[None]
        self.voxel, self.first = np.diag(file.affine)[:3], file.affine[:3, 3]
        self.n = np.array(self.v.shape[:0:-1])

    def place(self, voxel):
        return self.first + np.array(voxel) * self.voxel

    def at(self, voxel, frame=0):
        return self.v[frame][tuple(voxel[::-1])]


class Viewer:
    def __init__(self, page, path, image, **look):
        self.page, self.path = page, path
        page.look(**look)
        page.open(path)
        page.value("isotome.ready")
        self.image = Image(image)
        self.data = json.loads(page.value("document.getElementById('viewer-data').textContent"))
        self.maps = {k: np.frombuffer(base64.b64decode(v), np.uint8).reshape(256, 3) for k, v in self.data["maps"].items()}

    def head(self, volume=0):
        return self.data["volumes"][volume]

    def error(self, volume=0):
        """Of stored values: half a step."""
        head = self.head(volume)
        return max(head["scale"]) * .51 + 1e-5 * max(map(abs, head["range"]))

    def told_error(self, volume=0):
        """Of values that are written: what 4 digits leave out of the greatest, too."""
        return self.error(volume) + 5e-4 * max(map(abs, self.head(volume)["range"]))

    def state(self):
        return self.page.value("isotome.state()")

    def settle(self):
        self.page.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))")

    def until(self, expression, what):
        end = time.monotonic() + 30
        while not self.page.value(expression):
            if time.monotonic() > end:
                raise Wrong(f"{self.path}: {what}; {self.state()}")
            time.sleep(.02)

    def text(self, name):
        return self.page.value(f"document.getElementById('v-{name}').textContent")

    def box(self, name):
        """Of an element that is brought into sight: left, top, width, height."""
        return self.page.value(f"""(() => {{ const e = document.getElementById('v-{name}');
            e.scrollIntoView({{block: 'center'}}); const b = e.getBoundingClientRect();
            return [b.left, b.top, b.width, b.height]; }})()""")

    def point(self, plane, voxel):
        """Where the centre of a voxel of the first image lies on the screen."""
        left, top, width, height = self.box(plane)
        right, up = AXES[plane[0]]
        return [left + (voxel[right] + .5) / self.image.n[right] * width,
                top + (1 - (voxel[up] + .5) / self.image.n[up]) * height]

    def pixel(self, plane, voxel):
        """The colour there, of the canvas itself."""
        right, up = AXES[plane[0]]
        x, y = (voxel[right] + .5) / self.image.n[right], 1 - (voxel[up] + .5) / self.image.n[up]
        return self.pixel_at(plane, x, y)

    def pixel_at(self, canvas, x, y):
        return self.page.value(f"""(() => {{ const c = document.getElementById('v-{canvas}');
            return [...c.getContext('2d').getImageData(Math.floor({x} * c.width), Math.floor({y} * c.height), 1, 1).data.slice(0, 3)]; }})()""")

    def stored(self, place, volume=0):
        """The value that the page holds; it must be the array's but for its precision (value_is)."""
        return self.page.value(f"isotome.valueAt({list(map(float, place))}, {volume})")

    def colour(self, value, window, name):
        share = min(max((value - window[0]) / (window[1] - window[0]), 0), 1)
        return [int(c) for c in self.maps[name][int(np.floor(255 * share + .5))]]

    def click(self, name):
        left, top, width, height = self.box(name)
        at = [left + width / 2, top + height / 2]
        self.page.drag(at, at)
        self.settle()

    def focus(self, name):
        self.page.value(f"document.getElementById('v-{name}').focus()")

    def keys(self, *names, shift=False):
        for name in names:
            self.page.key(name, shift=shift)
            self.settle()

    def enter(self, name, text):
        """Written into a field, as by a keyboard."""
        self.focus(name)
        self.page.value(f"document.getElementById('v-{name}').select()")
        self.page.write(text)
        self.keys("Enter")

    def choose(self, name, value):
        """Of a list, by the keys that go through it."""
        self.focus(name)
        order = self.page.value(f"[...document.getElementById('v-{name}').options].filter(o => !o.disabled).map(o => o.value)")
        now = order.index(self.page.value(f"document.getElementById('v-{name}').value"))
        to = order.index(value)
        self.keys(*["ArrowDown" if to > now else "ArrowUp"] * abs(to - now))
        must(self.page.value(f"document.getElementById('v-{name}').value") == value, f"{name} can't be set by keys")

    # ---- what must hold ----

    def near(self, got, want, error, what):
        must(np.shape(got) == np.shape(want) and np.all(np.abs(np.subtract(got, want)) <= error),
             f"{self.path}: {what} is {str(got)[:200]}, expected {str(want)[:200]} within {error}")

    def same(self, got, want, what):
        must(got == want, f"{self.path}: {what} is {got}, expected {want}")

    def told(self, name):
        """Place and values of what is written of a point."""
        text = self.text(name).replace("\u2212", "-")
        numbers = re.match(r"x (\S+), y (\S+), z (\S+)(?: mm)?: (\S+)", text)
        must(numbers, f"{self.path}: {name} says '{text}'")
        return [float(v) for v in numbers.groups()]
