# SPDX-License-Identifier: BSD-3-Clause
"""What a viewer shows is what the arrays hold: values, colours, two images at once, frames, projections."""
import numpy as np

from viewer import AXES, Image, Viewer

SOME = [(0, 0, 0), (21, 17, 13), (3, 11, 7), (16, 2, 9)]  # voxels of image.nii


def value_under_the_pointer(page, **look):
    v = Viewer(page, "alone.html", "image.nii", **look)
    for voxel in SOME:
        for plane, (right, up) in AXES.items():
            page.mouse("Moved", v.point(plane, voxel))
            got = v.told("cursor")
            want = np.array(v.state()["at"])
            want[[right, up]] = v.image.place(voxel)[[right, up]]
            v.near(got[:3], want, .2, f"the place in plane {plane}")  # a pixel is not a point
            hit = np.array(v.state()["voxel"])
            hit[[right, up]] = np.array(voxel)[[right, up]]
            v.near(got[3], v.image.at(hit), v.told_error(), f"the value of {hit}")


def cross_hair(page, **look):
    v = Viewer(page, "alone.html", "image.nii", **look)
    for plane, (right, up) in AXES.items():
        voxel = np.array(v.state()["voxel"])
        voxel[right], voxel[up] = 4, 9
        at = v.point(plane, voxel)
        page.drag(at, at)
        v.settle()
        v.same(v.state()["voxel"], voxel.tolist(), f"the voxel after a click in {plane}")
        got = v.told("cross")
        v.near(got[:3], v.image.place(voxel), 1e-3, "the place of the cross-hair")
        v.near(got[3], v.image.at(voxel), v.told_error(), "the value at the cross-hair")
        for other, axis in zip("xyz", range(3)):  # the planes are linked
            slider = page.value(f"+document.getElementById('v-slice-{other}').value")
            v.same(slider, int(voxel[axis]), f"slice {other}")
            v.near(v.pixel(other, voxel), v.colour(v.stored(v.image.place(voxel)), v.state()["window"], v.state()["map"]),
                   0, f"the colour in plane {other}")


def window_and_map(page, **look):
    v = Viewer(page, "alone.html", "image.nii", **look)

    def colours_are(window, name):
        s = v.state()
        v.near(s["window"], window, 1e-6, "the window")
        v.same(s["map"], name, "the map")
        for voxel in SOME:
            for plane, axes in AXES.items():
                hit = np.array(s["voxel"])
                hit[list(axes)] = np.array(voxel)[list(axes)]
                value = v.stored(v.image.place(hit))
                v.near(value, v.image.at(hit), v.error(), "a stored value")
                v.near(v.pixel(plane, hit), v.colour(value, window, name), 0, f"the colour of {hit} in {plane}, {window} {name}")

    start = v.head()["window"]
    colours_are(start, v.head()["map"])
    v.enter("low", "0.5")
    v.enter("high", "1.25")
    colours_are([.5, 1.25], v.head()["map"])
    for name in v.maps:
        v.choose("map", name)
        colours_are([.5, 1.25], name)
    v.focus("high-range")
    v.keys("End")
    colours_are([.5, v.head()["range"][1]], name)
    v.click("reset")
    colours_are(start, v.head()["map"])
    grey = v.maps["grey"][:, 0].astype(int)
    v.near(v.maps["grey"], np.stack([grey] * 3, axis=1), 0, "the map grey")
    v.same([grey[0], grey[-1], bool(np.all(np.diff(grey) >= 0))], [0, 255, True], "its ends and order")
    voxel = v.state()["voxel"]
    page.drag(v.point("z", voxel), np.add(v.point("z", voxel), [0, -30]).tolist(), shift=True)
    v.until(f"isotome.state().window[1] > {start[1]} * 1.1", "dragging up with Shift does not change the window")
    v.same(v.state()["voxel"], voxel, "the voxel after that")


def blend(a, b, opacity):
    return np.asarray(a) * (1 - opacity) + np.asarray(b) * opacity


def overlay(page, **look):
    """Another grid, in its place in mm; by opacity between both."""
    v, under = Viewer(page, "over.html", "image.nii", **look), Image("under.nii")
    v.same(v.state()["mode"], "overlay", "the mode with an overlay")
    for steps, opacity in (["Home"], 0), (["End"], 1), (["Home"] + ["ArrowRight"] * 9, .09):
        v.focus("opacity")
        v.keys(*steps)
        s = v.state()
        v.near(s["opacity"], opacity, 1e-9, "the opacity")
        for voxel in (3, 11, 7), (16, 5, 9), (10, 10, 4):
            voxel = [voxel[0], voxel[1], s["voxel"][2]]
            place = v.image.place(voxel)
            there = np.floor((place - under.first) / under.voxel + .5).astype(int)
            v.near(v.stored(place, 1), under.at(there), v.error(1), "the overlay's value")
            first = v.colour(v.stored(place), s["window"], s["map"])
            second = v.colour(v.stored(place, 1), s["window2"], s["map2"])
            v.near(v.pixel("z", voxel), blend(first, second, opacity), 2, f"the colour of {voxel}, opacity {opacity}")


def overlay_of_its_own(page, **look):
    """The colours and the opacity that the command named."""
    v = Viewer(page, "tinted.html", "image.nii", **look)
    s = v.state()
    v.same([s["map2"], s["opacity"]], ["tide", .7], "the overlay's colours and opacity")
    bar = v.pixel_at("bar2", .9, 0)
    v.near(bar, v.maps["tide"][230], 6, "the bar of the overlay")


def side_by_side(page, **look):
    v = Viewer(page, "pair.html", "image.nii", **look)
    truth = Image("truth.nii")
    v.choose("second", "1")
    v.until("Number.isFinite(isotome.valueAt(isotome.state().at, 1))", "the second image is not unpacked")
    v.same(v.state()["mode"], "overlay", "the mode once there is a second image")
    v.choose("mode", "side")
    s, voxel = v.state(), [6, 12, 5]
    page.drag(v.point("z2", voxel), v.point("z2", voxel))  # in the second image's plane
    v.settle()
    v.same(v.state()["voxel"], [6, 12, s["voxel"][2]], "the voxel after a click beside")
    place = v.image.place(v.state()["voxel"])
    v.near(v.stored(place, 1), truth.at(v.state()["voxel"]), v.error(1), "the truth's value")
    for plane in AXES:
        v.near(v.pixel(plane, v.state()["voxel"]), v.colour(v.stored(place), s["window"], s["map"]), 0, f"plane {plane}")
        v.near(v.pixel(plane + "2", v.state()["voxel"]), v.colour(v.stored(place, 1), s["window2"], s["map2"]), 0,
               f"plane {plane}, beside")


def difference(page, **look):
    """Of the image, at the scale that fits the truth, less the truth."""
    v, truth = Viewer(page, "pair.html", "image.nii", **look), Image("truth.nii")
    fit = np.vdot(v.image.v[0], truth.v[0]) / np.vdot(v.image.v[0], v.image.v[0])
    v.near(v.head()["factor"], fit, 1e-6 * fit, "the scale of the image")
    v.choose("second", "1")
    v.until("Number.isFinite(isotome.valueAt(isotome.state().at, 1))", "the second image is not unpacked")
    v.choose("mode", "difference")
    s = v.state()
    for x, y in (3, 11), (16, 5), (10, 10):
        voxel = [x, y, s["voxel"][2]]
        place = v.image.place(voxel)
        want = fit * v.stored(place) - v.stored(place, 1)
        v.near(want, fit * v.image.at(voxel) - truth.at(voxel), fit * v.error() + v.error(1), "the difference")
        v.near(v.pixel("z", voxel), v.colour(want, s["window"], s["map"]), 3, f"the colour of the difference at {voxel}")
        page.mouse("Moved", v.point("z", voxel))
        told = float(v.text("cursor").replace("\u2212", "-").rsplit("difference: ", 1)[1])
        v.near(told, want, 5e-4 * max(1, abs(want)), "the difference that is told")


def frames(page, **look):
    v = Viewer(page, "series.html", "series.nii", **look)
    v.same(v.state()["frame"], 0, "the frame that is shown first, which has the greatest values")
    for frame, middle in enumerate((30, 90, 210, 450, 750)):
        if frame:
            v.focus("frame")
            v.keys("ArrowRight")
        v.until(f"isotome.state().frame === {frame} && Number.isFinite(isotome.valueAt(isotome.state().at))",
                f"the slider does not reach frame {frame}")
        v.settle()
        if f"{middle} s" not in v.text("frame-label"):
            v.same(v.text("frame-label"), f"... {middle} s", "the label of the frame")
        voxel = v.state()["voxel"]
        page.mouse("Moved", v.point("z", [7, 7, voxel[2]]))
        v.near(v.told("cursor")[3], v.image.at([7, 7, voxel[2]], frame), v.told_error(), f"a value of frame {frame}")


def voxel_in_time(page, **look):
    """The curve of the cross-hair's voxel, drawn and saved, follows the cross-hair; a line stands at the frame."""
    v = Viewer(page, "series.html", "series.nii", **look)
    v.until("document.querySelectorAll('#v-time circle').length === 5", "there is no curve of the voxel")
    for place in v.image.place([7, 7, 5]), v.image.place([15, 4, 9]):
        page.value(f"isotome.set({{at: {place.tolist()}, frame: 2}})")
        v.settle()
        voxel = v.state()["voxel"]
        rows = page.value("isotome.file('time').then(f => new TextDecoder().decode(f.bytes))").split()
        v.same(rows[0], "time,value", "the head of the saved curve")
        got = np.array([[float(x) for x in row.split(",")] for row in rows[1:]])
        v.near(got[:, 0], [30, 90, 210, 450, 750], 1e-6, "the times of the curve")
        v.near(got[:, 1], [v.image.at(voxel, t) for t in range(5)], v.error(), "the curve of the voxel")
        at = page.value("[...document.querySelectorAll('#v-time circle')].map(c => [+c.getAttribute('cx'), +c.getAttribute('cy')])")
        heights = -np.array(at)[:, 1]
        v.same(np.argsort(heights).tolist(), np.argsort(got[:, 1]).tolist(), "the order of the points")
        line = page.value("document.querySelector('#v-time path[stroke-dasharray]').getAttribute('d')")
        v.near(float(line[1:].split()[0]), at[2][0], .1, "the line at the frame")


def ink(v, canvas, side):
    """Whether something is drawn at an edge of the canvas of marks: where a letter stands."""
    x, y = {"left": (.04, .5), "right": (.96, .5), "bottom": (.5, .96), "top": (.5, .04)}[side]
    return v.page.value(f"""(() => {{ const c = document.getElementById('v-{canvas}').nextElementSibling, s = 24 * devicePixelRatio;
        const x = Math.min(Math.max({x} * c.width - s / 2, 0), c.width - s), y = Math.min(Math.max({y} * c.height - s / 2, 0), c.height - s);
        const copy = document.createElement('canvas').getContext('2d', {{willReadFrequently: true}});
        copy.drawImage(c, x, y, s, s, 0, 0, s, s);
        const d = copy.getImageData(0, 0, s, s).data; let n = 0;
        for (let i = 3; i < d.length; i += 4) n += d[i] > 128;
        return n / devicePixelRatio ** 2; }})()""")


def letters(page, **look):
    """R L A P S I at all edges; x, y and z where they grow, if the axes are a scanner's own or are asked for."""
    for path, image, sides, names in (
            ("alone.html", "image.nii", "left right bottom top", ["Transverse", "Coronal", "Sagittal"]),
            ("axes.html", "image.nii", "right top", ["Across z", "Across y", "Across x"]),
            ("heard.html", "heard.nii", "right top", ["Across z", "Across y", "Across x"])):
        v = Viewer(page, path, image, **look)
        page.value(f"isotome.set({{at: {v.image.place(v.image.n // 4).tolist()}}})")  # the cross-hair meets no letter
        v.settle()
        for canvas in "zyx":
            found = [side for side in ("left", "right", "bottom", "top") if ink(v, canvas, side) > 20]
            v.same(found, [s for s in ("left", "right", "bottom", "top") if s in sides.split()], f"the letters of plane {canvas}")
        v.same([v.text(f"name-{axis}") for axis in "zyx"], names, "the names of the planes")


def window_by_the_object(page, **look):
    """One hot voxel of the last plane sets neither window nor place; what is never negative has colours without sign."""
    v = Viewer(page, "hot.html", "hot.nii", **look)
    s = v.state()
    v.near(s["window"], [0, 1], 1e-2, "the window")
    v.same(s["voxel"], [6, 8, 5], "the voxel that is shown first")
    v = Viewer(page, "heard.html", "heard.nii", **look)
    s = v.state()
    v.same([s["map"], s["window"][0]], ["ember", 0], "the colours of what is never negative")
    v.same("Values below 0 are shown as 0" in v.text("note"), True, "whether that is said")
    v.choose("map", "blue-red")
    v.near(v.state()["window"][0], -s["window"][1], 1e-9, "the window with a sign")
    v.choose("map", "ember")
    v.same(v.state()["window"], s["window"], "the window without")


def planes_leave_no_hole(page, **look):
    """Both columns of planes end at about the same height, whatever the shape of the image."""
    for path, image in ("wide.html", "spheres.nii"), ("alone.html", "image.nii"), ("tall.html", "tall.nii"):
        v = Viewer(page, path, image, **look)
        ends = page.value("[...document.getElementById('v-planes').children].map(e => Math.max(...[...e.children].map(f => f.getBoundingClientRect().bottom)))")
        whole = page.value("document.getElementById('v-planes').getBoundingClientRect().height")
        narrow = page.value("matchMedia('(max-width: 40rem)').matches")
        if not narrow:
            v.same(len(ends), 2, "the number of columns")
            v.near(ends[0], ends[1], .2 * whole, "the end of the first column")
        longest = page.value("Math.max(...['cross', 'note', 'reach', 'place-z'].map(id => Math.max(0, ...(document.getElementById('v-' + id).textContent"
                             ".match(/[0-9]+[.]?[0-9]*(?=e|[^0-9.]|$)/g) || []).map(n => n.replace(/^0*[.]?0*/, '').replace('.', '').replace(/0+$/, '').length))))")
        v.same(longest <= 4, True, "whether no number has more than four digits")
        v.same(".." in v.text("note") + v.text("reach"), False, "whether a sentence ends with two stops")


def projection(page, **look):
    """The greatest value along each line, from four sides."""
    v = Viewer(page, "alone.html", "image.nii", **look)
    n, size = v.image.n, v.image.n * v.image.voxel
    across, s = np.hypot(size[0], size[1]), v.state()
    s["window"][1] *= v.head()["mip"]  # greatest values have a wider window
    for angle, axis, sign in (0, 0, 1), (90, 1, 1), (180, 0, -1), (270, 1, -1):
        page.value(f"isotome.set({{angle: {angle}}})")
        most = v.image.v[0].max(axis=1 if axis == 0 else 2)  # [z, x] or [z, y]
        for i, z in (2, 3), (9, 8), (15, 12):
            x = .5 + sign * (i - (n[axis] - 1) / 2) * v.image.voxel[axis] / across
            y = 1 - (z + .5) / n[2]
            got = v.pixel_at("mip", x, y)
            scale = v.error() / (s["window"][1] - s["window"][0])
            near = [v.colour(most[z, i] + k * scale, s["window"], s["map"]) for k in (-1, 0, 1)]
            if got not in near:
                v.same(got, near[1], f"the projection at {angle} degrees, {'xy'[axis]} {i}, z {z}")
    v.focus("mip")
    v.keys("ArrowRight", "ArrowRight", "ArrowLeft")
    v.same(v.state()["angle"], 275, "the angle after keys")
    v.click("spin")
    v.until("isotome.state().spinning && isotome.state().angle !== 275", "it does not spin")
    v.same(page.value("document.getElementById('v-spin').getAttribute('aria-pressed')"), "true", "the button")
    v.click("spin")
    v.same(v.state()["spinning"], False, "spinning")


CHECKS = [value_under_the_pointer, cross_hair, window_and_map, overlay, side_by_side, difference, frames, projection,
          voxel_in_time, letters, window_by_the_object, planes_leave_no_hole, overlay_of_its_own]
