# SPDX-License-Identifier: BSD-3-Clause
"""Pictures: their pixels, what they are told to show, where show puts them; wrong words."""

import struct
import subprocess
import sys
import types
import zlib

import numpy as np
import pytest

import isotome
from isotome import Grid, Image, drawing

GRID = Grid((12, 10, 8), (2.0, 2.0, 4.0), (5.0, 0.0, 0.0))


def decode(png):
    """(height, width, 3) of a PNG of 8 bits a colour, by the standard."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    at, data = 8, b""
    while at < len(png):
        size, kind = struct.unpack(">I4s", png[at : at + 8])
        body = png[at + 8 : at + 8 + size]
        assert struct.unpack(">I", png[at + 8 + size : at + 12 + size])[0] == zlib.crc32(kind + body)
        if kind == b"IHDR":
            width, height, depth, colours = struct.unpack(">IIBB", body[:10])
            assert (depth, colours) == (8, 2)
        data += body if kind == b"IDAT" else b""
        at += size + 12
    data, row = zlib.decompress(data), 3 * width
    pixels, before = [], bytes(row + 3)  # three zeros in front of each row
    for y in range(height):
        kind, *line = data[y * (row + 1) : (y + 1) * (row + 1)]
        now = bytearray(3)
        for i, v in enumerate(line):
            a, b, c = now[i], before[i + 3], before[i]
            if kind == 4:
                v += min((abs(b - c), 0, a), (abs(a - c), 1, b), (abs(a + b - 2 * c), 2, c))[2]
            else:
                v += (0, a, b, (a + b) // 2)[kind]
            now.append(v % 256)
        pixels.append(now[3:])
        before = now
    return np.frombuffer(b"".join(pixels), np.uint8).reshape(height, width, 3)


@pytest.fixture
def image():
    x = np.random.default_rng(0).random(GRID.shape, dtype=np.float32)
    x[6, 7, 8] = 30
    return Image(x, GRID, "Bq/mL")


def test_pixels_and_what_they_show(image):
    p = isotome.picture(image, at="max")
    assert p.pixels.dtype == np.uint8 and p.pixels.ndim == 3 and p.pixels.shape[2] == 3
    assert p.info.max == 30 and p.info.map == "ember" and p.info.panels == 3
    assert p.info.window[0] == 0 and 0.8 < p.info.window[1] < 1.1  # the lone voxel of 30 does not count
    assert isotome.picture(image, percent=(0, 100)).info.window[1] == 30
    assert p.info.voxel == (8, 7, 6) and p.info.point == (10, 5, 10)
    assert isotome.picture(image, at=(10, 5, 10)).info.voxel == (8, 7, 6)
    assert isotome.picture(-image).info.map == "blue-red"
    below = Image(np.asarray(image) - 0.3, GRID, "Bq/mL")  # an activity is never below 0
    assert isotome.picture(below).info.map == "ember" and isotome.picture(below).info.window[0] == 0
    assert isotome.picture(image, percent=(10, 50)).info.window[1] < 1
    assert isotome.picture(image, kind="mip", crosshair=True).info.panels == 3
    assert isotome.picture(image, kind="montage", every=2, columns=2).info.panels == 4


def test_slices_cross_in_the_object():
    x = np.zeros(GRID.shape, np.float32)
    x[1:4, 2:5, 3:8] = 1
    x[-1, 0, 0] = 100
    assert isotome.picture(Image(x, GRID)).info.voxel == (5, 3, 2)
    assert isotome.picture(Image(x, GRID)).info.window == (0, 1)
    assert isotome.picture(Image(x, GRID), at="centre").info.voxel != (5, 3, 2)


def test_png_is_the_pixels(image, tmp_path):
    p = isotome.picture(image, zoom=1)
    assert np.array_equal(decode(p._repr_png_()), p.pixels)
    p.save(tmp_path / "x.png")
    assert (tmp_path / "x.png").read_bytes() == p._repr_png_()
    p.save(tmp_path / "x.png")
    with pytest.raises(isotome.ArgumentError, match="x.jpg"):
        p.save(tmp_path / "x.jpg")


@pytest.mark.parametrize("axis", "xyz")
def test_one_slice_shows_its_voxels(axis):
    """Black and white voxels, the last row of the array on top."""
    values = np.random.default_rng(1).integers(0, 2, GRID.shape).astype(np.float32)
    k = "zyx".index(axis)
    number = {"z": 5, "y": 7, "x": 3}[axis]
    grid_axis = 2 - k
    at = GRID.centre[grid_axis] + (number - (GRID.n[grid_axis] - 1) / 2) * GRID.voxel[grid_axis]
    plane = 255 * np.take(values, number, k)[::-1].astype(int)
    how = {"axis": axis, "map": "grey", "zoom": 4, "labels": "none"}
    for drawn, tall in (
        (isotome.picture(Image(values, GRID), "slice", at, **how), 4 if axis == "z" else 8),
        (isotome.picture(values, "slice", number, **how), 4),
    ):
        seen = drawn.pixels[:, :, 0].astype(int)
        panel = np.kron(plane, np.ones((tall, 4), int))
        height, width = panel.shape
        corners = np.argwhere(seen[: 1 - height, : 1 - width] == panel[0, 0])
        assert sum(np.array_equal(seen[y : y + height, x : x + width], panel) for y, x in corners) == 1


def test_a_slice_through_the_greatest_value_and_of_a_frame(image):
    series = Image(np.stack([np.zeros_like(image), image]), GRID)
    high = isotome.picture(series, "slice", "max", frame=1, axis="y")
    assert high.info.max == 30 and high.info.panels == 1
    low = isotome.picture(image, "slice", -14)
    assert low.info.max < 1 and low.info.window == isotome.picture(image).info.window
    assert isotome.picture(image, "slice", percent=(0, 50)).info.window[1] < 1
    assert isotome.picture(image, "slice", window=(1, 2)).info.window == (1, 2)
    assert isotome.picture(series, "slice", "max", frame=0).info.max == 0


def test_values_that_are_not_finite_are_magenta(image):
    image[4:, 5] = np.nan
    image[0, 0, 0] = np.inf
    p = isotome.picture(image)
    assert p.info.not_finite == 4 * 12 + 1
    assert (p.pixels == (255, 0, 255)).all(axis=2).any()
    assert isotome.picture(np.full((3, 4, 5), np.nan)).info.not_finite == 60


@pytest.mark.parametrize(
    "values",
    [
        np.arange(12).reshape(3, 4),
        np.arange(24, dtype=np.float64).reshape(2, 3, 4)[:, ::-1],
        np.eye(3, dtype=bool),
        np.broadcast_to(np.float32(1), (2, 3, 4, 5)),
        [[1, 2], [3, 4]],
        np.zeros((2, 2), np.uint64),
        np.full((2, 2), 1e300),
    ],
)
def test_any_real_array_is_drawn(values):
    assert isotome.picture(values).pixels.size


@pytest.mark.parametrize(
    "values, message",
    [
        (np.zeros((2, 2), complex), "given values of complex128"),
        (np.zeros(5, np.float32), "1 axes, must be 2 to 4"),
        (np.zeros((1,) * 5, np.float32), "5 axes, must be 2 to 4"),
        (np.zeros((1,) * 9, np.float32), "given an array of 9 axes"),
        (np.zeros((0, 4), np.float32), "not as many as its sizes"),
        (np.zeros((4, 0), np.float32), "not as many as its sizes"),
        ("image.nii", "given values of <U9"),
        (None, "given values of object"),
    ],
)
def test_what_is_no_image_is_refused(values, message):
    with pytest.raises(isotome.ArgumentError, match=message):
        isotome.picture(values)


@pytest.mark.parametrize(
    "how, message",
    [
        ({"kind": "slab"}, "kind: given 'slab', wanted one of slices, montage, mip, slice"),
        ({"kind": 2}, "kind: given 2"),
        ({"at": "top"}, "at: given 'top', wanted one of object, centre, max"),
        ({"at": (1, 2)}, r"at: given \(1, 2\), wanted 3 numbers"),
        ({"at": (1, 2, "a")}, "wanted 3 finite numbers"),
        ({"at": (1000, 0, 0)}, "outside the image"),
        ({"at": (np.nan, 0, 0)}, "3 finite numbers"),
        ({"at": 3}, "at: given 3, wanted 3 numbers"),
        ({"kind": "slice", "at": 1e300}, "outside the image"),
        ({"kind": "slice", "axis": "q"}, "axis: given 'q'"),
        ({"kind": "montage", "axis": 2}, "axis: given 2"),
        ({"kind": "montage", "every": -1}, "must be positive"),
        ({"kind": "montage", "columns": 2**80}, "columns: given"),
        ({"kind": "montage", "every": 1.5}, "every: given 1.5, wanted an integer"),
        ({"kind": "montage", "crosshair": True}, "crosshair: given for kind 'montage', which has none"),
        ({"kind": "slice", "crosshair": True}, "crosshair: given"),
        ({"kind": "montage", "at": (0, 0, 0)}, "at: given for kind 'montage'"),
        ({"kind": "mip", "axis": "x"}, "axis: given"),
        ({"every": 2}, "every: given"),
        ({"kind": "slice", "columns": 2}, "columns: given"),
        ({"frame": 1}, "frame 1 of an array with 1"),
        ({"kind": "slice", "frame": -7}, "frame -7"),
        ({"window": (1, 1)}, "window: given"),
        ({"window": (2, 1)}, "the second greater"),
        ({"window": (0, np.nan)}, "2 finite numbers"),
        ({"window": (0, np.inf)}, "2 finite numbers"),
        ({"window": "wide"}, "window: given 'wide', wanted 2 numbers"),
        ({"percent": (0, 200)}, "within 0 to 100"),
        ({"percent": 5}, "percent: given 5, wanted 2 numbers"),
        ({"window": (0, 1), "percent": (0, 1)}, "both window and percent"),
        ({"map": "jet"}, "jet"),
        ({"map": 3}, "map: given int"),
        ({"zoom": -1}, "zoom is -1"),
        ({"zoom": np.nan}, "zoom: given nan"),
        ({"zoom": 1e6}, "million"),
        ({"zoom": "big"}, "zoom: given 'big'"),
        ({"labels": "all"}, "labels: given 'all'"),
        ({"title": b"x"}, "title: given bytes"),
        ({"title": "a\0b"}, "without zeros"),
    ],
)
def test_wrong_words_are_refused(image, how, message):
    with pytest.raises(isotome.ArgumentError, match=message):
        isotome.picture(image, **how)


def test_long_titles_and_maps(image):
    assert isotome.picture(image, title="x" * 10000).pixels.size
    assert isotome.picture(image, title="\u03b1 \U0001f600 \udcff").pixels.size
    for name in drawing.maps():
        assert isotome.picture(image, map=name).info.map == name


# ---- several ----


def test_several_have_one_window(image):
    image.unit, how = "", {"labels": "none", "zoom": 4}
    wide = isotome.picture(2 * image).info.window
    assert wide[1] > 1.9 * isotome.picture(image).info.window[1]
    one = isotome.picture(image, window=wide, title="a", **how).pixels
    two = isotome.picture(2 * image, window=wide, title="b", **how).pixels
    for axis in (0, 1):
        both = isotome.pictures([image, 2 * image], ["a", "b"], columns=1 + axis, **how)
        assert np.array_equal(both.pixels, np.concatenate([one, two], axis=axis))
    assert drawing._common_window([np.zeros((2, 2)), np.full((2, 2), 1e-3)])[1] < 2e-3
    each = isotome.pictures([image, image], window="each", columns=1, **how)
    assert np.array_equal(each.pixels, np.concatenate([isotome.picture(image, **how).pixels] * 2))


def test_the_window_of_several_is_what_one_would_have(image):
    whole = np.stack([image, -0.5 * image])
    for how in ({}, {"map": "blue-red"}):
        alone = isotome.picture(whole.reshape(16, 10, 12), **how).info.window
        assert np.allclose(drawing._common_window([image, -0.5 * image], **how), alone, rtol=0.05)
    for map in (None, "grey", "blue-red"):
        alone = isotome.picture(whole.reshape(16, 10, 12), percent=(0, 99), map=map).info.window
        found = drawing._common_percentiles([image, -0.5 * image], (0, 99), map)
        assert np.allclose(found, alone, rtol=0.02)
    assert drawing._common_percentiles([np.full((2, 2), np.nan)], (0, 99), None) is None
    assert isotome.pictures([np.full((2, 2), np.nan), np.zeros((2, 2))]).pixels.size


def test_several_of_other_sizes_fill_a_sheet(image):
    many = isotome.pictures([image, image[2:], np.eye(4), image[0], image], kind="slices", zoom=2)
    assert many.info is None and many.pixels.shape[1] > many.pixels.shape[0] / 2
    row = isotome.pictures([image] * 3, kind="slice")
    assert row.pixels.shape[1] > 2 * row.pixels.shape[0] and row.pixels.shape[1] < 2200


@pytest.mark.parametrize(
    "images, how, message",
    [
        ([], {}, "given none"),
        ([np.eye(3)], {"titles": ["a", "b"]}, "given 2 for 1 images"),
        ([np.eye(3)], {"columns": -1}, "columns: given -1"),
        ([np.eye(3)], {"window": "same"}, "window: given 'same', wanted one of each"),
        ([np.eye(3), "x"], {}, "image 1: given values of <U1"),
        ([np.eye(3)], {"titles": [3]}, "title: given int"),
        ([np.eye(3)], {"percent": (0, 200)}, "wanted 0 to 100"),
    ],
)
def test_wrong_lists_are_refused(images, how, message):
    with pytest.raises(isotome.ArgumentError, match=message):
        isotome.pictures(images, **how)


# ---- show ----


def test_show_writes_where_it_is_told(image, tmp_path, capsys):
    image.show(path=tmp_path / "a.png", zoom=2)
    isotome.show([image, image], path=tmp_path / "b.png", titles=["a", "b"])
    assert decode((tmp_path / "a.png").read_bytes()).shape == isotome.picture(image, zoom=2).pixels.shape
    assert (tmp_path / "b.png").is_file() and capsys.readouterr().out == ""


def test_show_without_a_screen_says_the_path(image, monkeypatch, tmp_path, capsys):
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(sys, "platform", "linux")
    isotome.show(image)
    (path,) = tmp_path.iterdir()
    assert capsys.readouterr().out == f"{path}\n" and path.read_bytes()[:4] == b"\x89PNG"


def test_show_with_a_screen_opens_a_viewer(image, monkeypatch, tmp_path):
    (tmp_path / "bin").mkdir()
    opener, seen = tmp_path / "bin" / "xdg-open", tmp_path / "seen"
    opener.write_text(f'#!/bin/sh\necho "$1" > {seen}.part && mv {seen}.part {seen}\n')
    opener.chmod(0o755)
    started = []
    popen = subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", lambda *a, **k: started.append(popen(*a, **k)))
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(sys, "platform", "linux")
    isotome.show(image)
    assert started[0].wait(10) == 0
    assert seen.read_text().strip().endswith(".png")


def test_show_in_a_notebook_displays(image, monkeypatch, tmp_path):
    shown = []
    kernel = types.SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: kernel))
    monkeypatch.setitem(sys.modules, "IPython.display", types.SimpleNamespace(display=shown.append))
    isotome.show(image, path=tmp_path / "x.png")
    isotome.show(isotome.picture(image))
    assert [type(p) for p in shown] == [isotome.Picture] * 2 and (tmp_path / "x.png").is_file()


def test_images_draw_themselves(image):
    assert image._repr_png_()[:4] == b"\x89PNG"
    assert image[2]._repr_png_()[:4] == b"\x89PNG"
    assert (image > 0)._repr_png_()
    assert image.ravel()._repr_png_() is None and image[:0]._repr_png_() is None
    assert image.astype(complex)._repr_png_() is None


@pytest.mark.parametrize(
    "pixels", [np.zeros((2, 2), np.uint8), np.zeros((2, 2, 3)), np.zeros((0, 2, 3), np.uint8), 3]
)
def test_what_are_no_pixels(pixels):
    with pytest.raises(isotome.ArgumentError, match="pixels: given"):
        isotome.Picture(pixels)


def test_words_of_one_and_of_several_images(tmp_path):
    x = np.ones((3, 4, 5), np.float32)
    with pytest.raises(isotome.ArgumentError, match="title: given for several images, wanted titles="):
        isotome.show([x, x], title="both", path=tmp_path / "x.png")
    with pytest.raises(isotome.ArgumentError, match="titles: given for one image, wanted title="):
        isotome.show(x, titles=["one"], path=tmp_path / "x.png")
    with pytest.raises(isotome.ArgumentError, match="colour: show has no such word"):
        isotome.show(x, colour="red", path=tmp_path / "x.png")
    with pytest.raises(isotome.ArgumentError, match="kind: given with a Picture"):
        isotome.show(isotome.picture(x), kind="mip", path=tmp_path / "x.png")
    assert not list(tmp_path.iterdir())


def test_images_of_different_units_have_windows_of_their_own():
    ones = np.ones((6, 8, 8), np.float32)
    grid = isotome.Grid((8, 8, 6), (4, 4, 4))
    truth, image = isotome.Image(ones, grid, unit="kBq/mL"), isotome.Image(1e-3 * ones, grid, unit="counts/mm")
    own = isotome.pictures([truth, image]).pixels
    assert np.array_equal(own, isotome.pictures([truth, image], window="each").pixels)
    same = isotome.pictures([truth, isotome.Image(1e-3 * ones, grid, unit="kBq/mL")]).pixels
    assert not np.array_equal(own[own.shape[0] // 2 :], same[same.shape[0] // 2 :])
