# SPDX-License-Identifier: BSD-3-Clause
"""How fast viewers are: by hand, never asserted.

    speed.py CHROMIUM PAGE...       size, least time from opening to the first picture, frames a second
"""
import os
import sys
import tempfile

from devtools import Browser

# Slices by the wheel, one a frame of the browser; and the projection, turned by a degree a frame. ms each.
SCROLL = """(async () => {
    const canvas = document.getElementById('v-z'), frame = () => new Promise(requestAnimationFrame), n = 120;
    const begin = await frame();
    for (let i = 0; i < n; i++) {
        canvas.dispatchEvent(new WheelEvent('wheel', { deltaY: i % 60 < 30 ? -1 : 1, cancelable: true }));
        await frame();
    }
    return (await frame() - begin) / (n + 1);
})()"""
TURN = """(async () => {
    const frame = () => new Promise(requestAnimationFrame), n = 60, begin = await frame();
    for (let i = 0; i < n; i++) {
        isotome.set({ angle: i });
        await frame();
    }
    return (await frame() - begin) / (n + 1);
})()"""
# The script's own part of a frame: the least ms of 60, whatever else the machine does.
DRAW = """(async () => {
    let least = Infinity;
    for (let i = 0; i < 60; i++) {
        const at = isotome.state().at.map(place => place + (i % 2 ? 5 : -5)), begin = performance.now();
        await isotome.set({ at });
        least = Math.min(least, performance.now() - begin);
    }
    return least;
})()"""
LOADED = "isotome.ready.then(() => performance.now())"  # ms since the navigation began


def main():
    program, *paths = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder, Browser(program, folder) as browser:
        page = browser.page()
        for path in paths:
            loaded = []
            for _ in range(3):
                page.open(path)
                loaded.append(page.value(LOADED))
            scroll, turn = page.value(SCROLL), page.value(TURN)
            print(f"{path}: {os.path.getsize(path) / 1e6:.2f} MB, first picture after {min(loaded):.0f} ms, slices at "
                  f"{1000 / scroll:.0f} frames a second ({page.value(DRAW):.1f} ms to draw one), projection at {1000 / turn:.0f}")


if __name__ == "__main__":
    main()
