# SPDX-License-Identifier: BSD-3-Clause
"""What a person does with a viewer, by mouse, wheel, fingers and keys alone; and what is measured and saved."""
import csv
import io
import json
import os
import subprocess
import time
import xml.dom.minidom

import nibabel
import numpy as np

from pages import must
from viewer import AXES, Image, Viewer

ACROSS = {"z": 2, "y": 1, "x": 0}


def isotome(*words):
    """What the program says as JSON."""
    return json.loads(subprocess.run([os.environ["ISOTOME"], *words, "--json"], check=True, capture_output=True).stdout)


def wheel(page, **look):
    v = Viewer(page, "alone.html", "image.nii", **look)
    for plane, axis in ACROSS.items():
        before = v.state()["voxel"]
        page.mouse("Wheel", v.point(plane, before), deltaX=0, deltaY=-100)
        page.mouse("Wheel", v.point(plane, before), deltaX=0, deltaY=-100)
        page.mouse("Wheel", v.point(plane, before), deltaX=0, deltaY=100)
        v.until(f"isotome.state().voxel[{axis}] === {before[axis] + 1}", f"two notches up and one down in {plane}")
        v.settle()
        v.same(page.value(f"+document.getElementById('v-slice-{plane}').value"), before[axis] + 1, f"the slider of {plane}")


def slice_sliders(page, **look):
    v = Viewer(page, "alone.html", "image.nii", **look)
    for plane, axis in ACROSS.items():
        v.focus(f"slice-{plane}")
        for key, slice_ in ("Home", 0), ("ArrowRight", 1), ("End", v.image.n[axis] - 1):
            v.keys(key)
            v.same(v.state()["voxel"][axis], slice_, f"slice {plane} after {key}")
        voxel = v.state()["voxel"]
        want = v.colour(v.stored(v.image.place(voxel)), v.state()["window"], v.state()["map"])
        v.near(v.pixel(plane, voxel), want, 0, f"the colour in plane {plane}")


def fingers(page, **look):
    """One moves the cross-hair, two go through the slices, and the page does not scroll away."""
    v = Viewer(page, "alone.html", "image.nii", **{**look, "touch": True})
    voxel = [4, 12, v.state()["voxel"][2]]
    at = v.point("z", voxel)
    page.touch([v.point("z", [9, 5, 0])], [at])
    v.until(f"String(isotome.state().voxel) === '{','.join(map(str, voxel))}'", "a finger does not move the cross-hair")
    before, (x, y) = page.value("scrollY"), at
    page.touch([[x, y], [x + 30, y]], *([[x, y - 8 * k], [x + 30, y - 8 * k]] for k in range(1, 5)))
    v.until(f"isotome.state().voxel[2] > {voxel[2]}", "two fingers upwards do not go to the next slices")
    v.same(page.value("scrollY"), before, "the page's place")


# Key, with Shift, and what it must do to the state `s` and the voxel `w` before it; on the plane across z.
KEYS = [
    ("ArrowRight", False, lambda s, w, n: {"voxel": [w[0] + 1, w[1], w[2]]}),
    ("ArrowUp", False, lambda s, w, n: {"voxel": [w[0], w[1] + 1, w[2]]}),
    ("ArrowLeft", True, lambda s, w, n: {"voxel": [max(w[0] - 10, 0), w[1], w[2]]}),
    ("ArrowDown", True, lambda s, w, n: {"voxel": [w[0], max(w[1] - 10, 0), w[2]]}),
    ("PageUp", False, lambda s, w, n: {"voxel": [w[0], w[1], w[2] + 1]}),
    ("PageDown", False, lambda s, w, n: {"voxel": [w[0], w[1], w[2] - 1]}),
    (".", False, lambda s, w, n: {"voxel": [w[0], w[1], w[2] + 1]}),
    (",", False, lambda s, w, n: {"voxel": [w[0], w[1], w[2] - 1]}),
    ("Home", False, lambda s, w, n: {"voxel": [w[0], w[1], 0]}),
    ("PageDown", False, lambda s, w, n: {"voxel": w}),  # there is none before the first
    ("End", False, lambda s, w, n: {"voxel": [w[0], w[1], n[2] - 1]}),
    ("]", False, lambda s, w, n: {"frame": 1}),
    ("[", False, lambda s, w, n: {"frame": 0}),
    ("[", False, lambda s, w, n: {"frame": 0}),
    ("+", False, lambda s, w, n: {"window": [s["window"][0], s["window"][0] + .9 * (s["window"][1] - s["window"][0])]}),
    ("-", False, lambda s, w, n: {"window": [s["window"][0], s["window"][0] + (s["window"][1] - s["window"][0]) / .9]}),
    ("-", False, lambda s, w, n: {"window": [s["window"][0], s["window"][0] + (s["window"][1] - s["window"][0]) / .9]}),
    ("l", False, lambda s, w, n: {"tool": "line"}),
    ("r", False, lambda s, w, n: {"tool": "region"}),
    ("c", False, lambda s, w, n: {"tool": "cross"}),
    ("v", False, lambda s, w, n: {"mode": "one"}),  # there is no second image
    ("s", False, lambda s, w, n: {"spinning": True}),
    ("s", False, lambda s, w, n: {"spinning": False}),
]


def keys(page, **look):
    v = Viewer(page, "series.html", "series.nii", **look)
    v.focus("z")
    for name, shift, effect in KEYS:
        before = v.state()
        v.keys(name, shift=shift)
        for key, want in effect(before, before["voxel"], v.image.n.tolist()).items():
            got = v.state()[key]
            if key == "window":
                v.near(got, want, 1e-6 * abs(want[1]), f"the window after {name}")
            else:
                v.same(got, want, f"{key} after {name}")
    maps, now = list(v.maps), v.state()["map"]
    v.keys("m")
    v.same(v.state()["map"], maps[(maps.index(now) + 1) % len(maps)], "the map after m")
    v.keys("0")
    v.near(v.state()["window"], v.head()["window"], 1e-9, "the window after 0")
    first = v.state()["at"]
    v.keys("l", "a", *["ArrowRight"] * 4, "b")
    line = v.state()["line"]
    v.near([line["from"], line["to"]], [first, v.state()["at"]], 1e-9, "the line of a and b")
    must(not page.value("document.getElementById('v-profile-box').hidden"), "the profile of a and b is not shown")
    v.keys("Escape")
    v.same([v.state()["line"], page.value("document.getElementById('v-profile-box').hidden")], [None, True], "the line after Escape")


def in_a_hurry(page, **look):
    """Redrawn while frames are still being unpacked: the last one asked for is shown, and nothing is thrown."""
    v = Viewer(page, "series.html", "series.nii", **look)
    page.value("""(async () => {
        const all = [1, 2, 3, 4].map(frame => isotome.set({ frame }));
        document.getElementById('v-planes').style.width = '90%';
        document.getElementById('v-z').dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight' }));
        isotome.set({ spinning: true });
        await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
        isotome.set({ spinning: false });
        await Promise.all(all);
    })()""")
    v.settle()
    s = v.state()
    v.same(s["frame"], 4, "the frame")
    value = v.stored(v.image.place(s["voxel"]))
    v.near(value, v.image.at(s["voxel"], 4), v.error(), "the value of the last frame")
    v.near(v.pixel("z", s["voxel"]), v.colour(value, s["window"], s["map"]), 0, "its colour")


def modes_by_keys(page, **look):
    v = Viewer(page, "over.html", "image.nii", **look)
    v.focus("z")
    for mode in "side", "difference", "one", "overlay":
        v.keys("v")
        v.same(v.state()["mode"], mode, "the mode after v")


def keyboard_alone(page, **look):
    """Tab reaches every control in the order of the page and leaves the last; so does Shift and Tab."""
    v = Viewer(page, "over.html", "image.nii", **look)
    wanted = page.value("""[...document.querySelectorAll('#viewer :is(canvas[tabindex], button, select, input, summary)')]
        .filter(e => e.checkVisibility() && !e.disabled && !(e.type === 'radio' && !e.checked)).map(e => e.id || e.localName)""")
    must(len(wanted) > 20, f"only {wanted} can be reached")
    page.value("document.activeElement.blur()")

    def walk(shift):
        reached = []
        for _ in range(len(wanted) + 4):
            page.key("Tab", shift=shift)
            reached.append(page.value("document.activeElement.id || document.activeElement.localName"))
            if reached[-1] == "body" or reached[-1] in reached[:-1]:
                break  # out of the page, or round it
        return reached[:-1]

    v.same(walk(False), wanted, "the order of Tab")
    v.same(walk(True), wanted[::-1], "the order of Shift and Tab")
    for name in "z", "map", "low", "reset":
        v.focus(name)
        page.key("Tab")  # and back: focus that came by a key is seen
        page.key("Tab", shift=True)
        seen = page.value("""(e => [e, e.closest('.v-plane') || e].some(o => parseFloat(getComputedStyle(o).outlineWidth) >= 2
            && getComputedStyle(o).outlineStyle !== 'none'))(document.activeElement)""")
        must(seen, f"the focus on {name} can't be seen")


def table(text):
    rows = list(csv.reader(io.StringIO(text)))
    return rows[0], np.array(rows[1:], float)


def saved(v, kind):
    """What hook file(kind) gives: the bytes that its button saves, as the downloads show."""
    return bytes(v.page.value(f"isotome.file('{kind}').then(f => [...f.bytes])"))


def profile(page, **look):
    """A line that is dragged is that of `measure profile`."""
    v = Viewer(page, "alone.html", "image.nii", **look)
    v.click("tool-line")
    z = v.state()["voxel"][2]
    page.drag(v.point("z", [2, 15, z]), v.point("z", [19, 3, z]))
    v.until("isotome.state().line !== null", "no line")
    v.settle()
    line = v.state()["line"]
    v.near(line["from"], v.image.place([2, 15, z]), .2, "where the line begins")
    v.near(line["to"], v.image.place([19, 3, z]), .2, "where it ends")
    for begin, end in (line["from"], line["to"]), ([-20, -20, -5], [30, 10, 30]):
        words = [",".join(f"{c:.9g}" for c in place) for place in (begin, end)]
        v.enter("from", words[0])
        v.enter("to", words[1])
        v.settle()
        subprocess.run([os.environ["ISOTOME"], "measure", "profile", "image.nii", "--from", words[0], "--to", words[1],
                        "-o", "profile.csv", "--force", "-q"], check=True)
        names, want = table(open("profile.csv").read())
        got_names, got = table(saved(v, "profile").decode())
        v.same(got_names, names, "the columns of the profile")
        v.near(got[:, :4], want[:, :4], 1e-4, "the places of the profile")
        v.near(got[:, 4], want[:, 4], v.error(), "the values of the profile")
        points = page.value("document.querySelector('#v-profile svg path[fill=none]').getAttribute('d').match(/[ML]/g).length")
        v.same(points, len(want), "the points of the curve that is drawn")
    v.click("remove")
    v.same(v.state()["line"], None, "the line that was removed")


def region(page, **look):
    """A ball that is dragged, its figures as of `measure roi`, and its curve over the frames."""
    v = Viewer(page, "series.html", "series.nii", **look)
    v.focus("z")
    v.keys("r")
    z = v.state()["voxel"][2]
    page.drag(v.point("z", [10, 9, z]), v.point("z", [14, 9, z]))
    v.until("isotome.state().region !== null && document.querySelector('#v-curve svg') !== null", "no region, or no curve")
    r = v.state()["region"]
    v.near([*r["centre"], r["radius"]], [*v.image.place([10, 9, z]), 12], .3, "the ball")
    want = [isotome("measure", "roi", f"frame{t}.nii", f"--sphere={','.join(f'{c:.9g}' for c in r['centre'])},{r['radius']:.9g}")
            ["results"]["regions"][0] for t in range(5)]
    got = page.value(f"isotome.region({r['centre']}, {r['radius']})")
    v.same(got["voxels"], want[0]["voxels"], "the voxels of the ball")
    for key in "mean", "min", "max":
        v.near(got[key], [w[key] for w in want], v.error(), f"{key} of the ball")
    v.near(got["sd"], [w["std"] for w in want], 2 * v.error(), "deviation in the ball")
    names, curve = table(saved(v, "curve").decode())
    v.same(names, ["time", "mean", "deviation"], "the columns of the curve")
    v.near(curve[:, 0], [30, 90, 210, 450, 750], 0, "the times of the curve")
    v.near(curve[:, 1], got["mean"], 1e-6, "the means of the curve")
    v.same(page.value("document.querySelectorAll('#v-curve svg circle').length"), 5, "the points of the curve that is drawn")


def wait_for(path):
    end = time.monotonic() + 30
    while not os.path.exists(path):
        must(time.monotonic() < end, f"{path} was not saved; there are {os.listdir(os.path.dirname(path))}")
        time.sleep(.02)
    return path


def downloads(page, **look):
    """The bytes that the buttons save."""
    v = Viewer(page, "alone.html", "image.nii", **look)
    folder = os.path.abspath(f"saved-{look.get('width', 1280)}-{look.get('dark', False)}")
    os.makedirs(folder, exist_ok=True)
    page.downloads(folder)
    for kind in "nii", "npy", "record", "png":
        v.click(f"save-{kind}")
    image = Image(wait_for(folder + "/image.page.nii"))
    v.near(image.v, v.image.v, v.error(), "the image that was saved")
    v.near([image.first, image.voxel], [v.image.first, v.image.voxel], 1e-4, "its grid")
    stored = nibabel.load(folder + "/image.page.nii").dataobj
    v.same(stored.get_unscaled().dtype.itemsize * 8, v.head()["bits"], "the bits that are stored")
    v.near(stored.slope, v.head()["scale"][0], 1e-6 * v.head()["scale"][0], "the slope")
    v.near(np.load(wait_for(folder + "/image.page.npy")), v.image.v[0], v.error(), "the array that was saved")
    with open(wait_for(folder + "/image.json"), encoding="utf-8") as f, open("image.json", encoding="utf-8") as g:
        v.same(json.load(f), json.load(g), "the record that was saved")
    with open(wait_for(folder + "/image.png"), "rb") as f:
        v.same(f.read(8), b"\x89PNG\r\n\x1a\n", "the picture's first bytes")
    for path in "image.page.nii", "image.page.npy":
        with open(f"{folder}/{path}", "rb") as f:
            v.same(f.read(), saved(v, path[-3:]), f"what {path} has, against the hook,")
    v.focus("z")
    v.keys("l", "a", *["ArrowRight"] * 4, "b")
    v.click("profile-save")
    v.click("save-charts")
    with open(wait_for(folder + "/image-profile.csv"), "rb") as f:
        v.same(f.read(), saved(v, "profile"), "the profile that was saved")
    drawn = xml.dom.minidom.parse(wait_for(folder + "/curves.svg"))
    must(drawn.getElementsByTagName("path") and "var(" not in drawn.toxml(), "the curves that were saved")


def without_it(page, **look):
    """Without scripts, and on paper, there is no viewer and all pictures; on screen the pictures of `view` give way."""
    for path in "alone.html", "pair.html":
        v = Viewer(page, path, "image.nii", **look)
        must(page.value("document.getElementById('viewer').checkVisibility()"), f"{path}: no viewer")
        must(page.value("[...document.images].some(i => i.checkVisibility())") == (path == "pair.html"),
             f"{path}: pictures beside the viewer")
        page.call("Emulation.setEmulatedMedia", media="print")
        must(not page.value("document.getElementById('viewer').checkVisibility()"), f"{path}: a viewer on paper")
        must(page.value("document.images.length > 2 && [...document.images].every(i => i.checkVisibility())"),
             f"{path}: pictures are missing on paper")
        page.look(**look, scripts=False)
        page.open(path)
        must(not page.value("document.getElementById('viewer').checkVisibility()"), f"{path}: a viewer without scripts")
        must(page.value("document.images.length > 2 && [...document.images].every(i => i.checkVisibility())"),
             f"{path}: pictures are missing without scripts")


CHECKS = [wheel, slice_sliders, fingers, keys, in_a_hurry, modes_by_keys, keyboard_alone, profile, region, downloads, without_it]
